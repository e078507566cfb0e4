package gametest_test

import (
	"testing"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/predict"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A whole game with queued commands has no correction without outside influence. Influences count
// in ticks of the server, which differ from the ticks of the commands that ran in them.
func TestQueuedArenaIsClean(t *testing.T) {
	for _, profile := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean} {
		for seed := range uint64(3) {
			def := arena.Game
			def.Commands = game.Queued
			rules, err := def.Rules()
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range rules.Kinds { // rockets fly in ticks of the server, so nobody runs them ahead here
				k.Ahead = schema.Playout
			}
			sim := queuedSim(t, rules, profile, seed, 8)
			sim.Measure()
			sim.Run(40 * time.Second)
			q := sim.Quality()
			if q.CleanMispredictions != 0 || q.Corrections < 20 {
				t.Errorf("%s, seed %d: %d of %d corrections without an influence", profile.Name, seed, q.CleanMispredictions,
					q.Corrections)
			}
			if err := sim.Diverged(); err != nil {
				t.Error(err)
			}
		}
	}
}

type trudger struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type trudge struct {
	Move geom.Vec2 `net:"stick,5bit"`
	Push bool      `net:"press"`
}

// In this game everything moves by commands alone, so a missing command is no influence. Each
// correction then follows a push by another player or by the server.
func TestQueuedCorrectionsHaveACause(t *testing.T) {
	for _, profile := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean} {
		trudgers := game.NewKind[trudger]("trudger")
		def := game.Definition[trudge]{
			Name: "trudges", Rate: 60, Kinds: game.Kinds(trudgers), Commands: game.Queued,
			Join: func(w *game.World, name string) game.ID { return trudgers.Spawn(w, trudger{}) },
			Act: func(w *game.World, me game.ID, c trudge) {
				p := trudgers.Get(w, me)
				p.Pos = p.Pos.Add(c.Move.Mul(3 * w.Dt()))
				if !c.Push {
					return
				}
				for id := range trudgers.All(w) {
					if id != me && (uint64(id)+uint64(w.Tick()))%3 == 0 {
						trudgers.Get(w, id).Pos.X += 0.5
					}
				}
			},
			Referee: func(w *game.World) {
				if w.Tick()%97 == 0 {
					for id := range trudgers.All(w) {
						trudgers.Get(w, id).Pos.Y += 0.5
						break
					}
				}
			},
			Bot: func(w *game.World, me game.ID) trudge {
				r := geom.NewRand(uint64(me), uint64(w.Tick()))
				return trudge{Move: (geom.Angle(w.Tick()) / 30).Dir(), Push: r.Chance(0.02)}
			},
		}
		rules, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		sim := queuedSim(t, rules, profile, 1, 4)
		corrected, clean := 0, 0
		for _, p := range sim.Players() {
			told := clock.Tick(0) // the server's tick of the newest confirmed state
			base := clock.Tick(0)
			expired := uint64(0)
			p.Client.OnConfirm = func(tick clock.Tick, o predict.Outcome, _ float64) {
				st, _ := sim.Server.Stats(p.ID)
				e, me := sim.Server.Engine(), p.Client.Me()
				caused := e.LastExternalChange(me) > told || e.LastSideEffect(me) > told || p.Client.LastSideEffect() > base ||
					st.Expired > expired
				known := told != 0
				told, base, expired = newestOwn(p), tick, st.Expired
				if !known || o.Stale || o.Unknown || !o.Corrected {
					return
				}
				if corrected++; !caused {
					clean++
				}
			}
		}
		sim.Run(60 * time.Second)
		if clean != 0 || corrected < 50 {
			t.Errorf("%s: %d of %d corrections without a cause", profile.Name, clean, corrected)
		}
		t.Logf("%s: %d corrections", profile.Name, corrected)
	}
}

func queuedSim(t *testing.T, rules *game.Rules, profile netsim.Profile, seed uint64, players int) *gametest.Sim {
	t.Helper()
	sim, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range players {
		if _, err := sim.Join("bot", profile, rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	sim.Run(10 * time.Second)
	return sim
}

// newestOwn returns the server's tick of the newest state of its avatar that the player's client
// received.
func newestOwn(p *gametest.Player) clock.Tick {
	if h := p.Client.Store().Find(uint32(p.Me())); h != nil {
		if s := h.Groups[snapshot.OwnerGroup].Newest(); s != nil {
			return s.Tick
		}
	}
	return 0
}
