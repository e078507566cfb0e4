package gametest_test

import (
	"strings"
	"testing"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/examples/kick"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

type footballer struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type football struct {
	Pos geom.Vec2 `net:"pos,1cm"`
	Vel geom.Vec2 `net:"vel,1cm/s"`
}

type dribble struct {
	Move geom.Vec2 `net:"stick,5bit"`
}

// playFootball plays a match of a first game: a ball that two players push away. It returns its
// errors, and what their clients note of wrong predictions.
func playFootball(option ...game.KindOption) (errs string, desyncs []string) {
	players, balls := game.NewKind[footballer]("player"), game.NewKind[football]("ball", option...)
	def := game.Definition[dribble]{
		Name: "football", Rate: 60, Kinds: game.Kinds(players, balls),
		Join: func(w *game.World, name string) game.ID {
			if balls.Len(w) == 0 {
				balls.Spawn(w, football{Pos: geom.Vec2{X: 3}})
			}
			return players.Spawn(w, footballer{})
		},
		Act: func(w *game.World, me game.ID, c dribble) {
			p := players.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(float64(5 * w.Dt())))
			for _, b := range balls.All(w) {
				if way := b.Pos.Sub(p.Pos); way.Len() < 1 {
					b.Vel = way.Unit().Mul(6)
				}
			}
		},
		Step: func(w *game.World) {
			for _, b := range balls.All(w) {
				b.Pos, b.Vel = b.Pos.Add(b.Vel.Mul(w.Dt())), b.Vel.Toward(geom.Vec2{}, float64(4*w.Dt()))
			}
		},
	}
	t := &recorder{name: "TestFootball"}
	m := gametest.New(t, &def, 7)
	bot := func(w *game.World, me game.ID) (c dribble) {
		for _, b := range balls.All(w) {
			c.Move = b.Pos.Sub(players.Get(w, me).Pos).Unit()
		}
		return c
	}
	m.Join("ann", netsim.HotelWiFi, bot)
	m.Join("bob", netsim.Ocean, bot)
	m.Run(20 * time.Second)
	for _, p := range m.Sim.Players() {
		desyncs = p.Client.Desyncs(desyncs)
	}
	return t.end(), desyncs
}

// A newcomer's ball that no client predicts compiles, and players walk through it. Its match test
// fails and says why. It passes with each of the three words that may be meant.
func TestMatchFailsOnWritesInVain(t *testing.T) {
	const why = ", which has no effect in a client, as it does not predict any ball: declare the kind with " +
		"game.Predicted or game.Near, or with game.Playout if that is meant"
	const head = "game: Act writes ball.Vel at gametest/mistakes_test.go:"
	errs, _ := playFootball()
	for _, want := range []string{head, "game: Step writes ball.Pos at gametest/", "game: Step writes ball.Vel at", why} {
		if strings.Count(errs, want) < 1 || want != why && strings.Count(errs, want) > 1 {
			t.Errorf("the match does not say %q once:\n%s", want, errs)
		}
	}
	for name, option := range map[string]game.KindOption{"Predicted": game.Predicted, "Near": game.Near(6),
		"Playout": game.Playout} {
		errs, desyncs := playFootball(option)
		if errs != "" {
			t.Errorf("%s: %s", name, errs)
		}
		balls := 0
		for _, s := range desyncs {
			if strings.Contains(s, ": ball ") && strings.Contains(s, ", Vel predicted as [") {
				balls++
			}
		}
		if (balls > 0) != (name != "Playout") {
			t.Errorf("%s: %d wrong predictions of the ball are noted", name, balls)
		}
	}
}

// silent plays a sample game on bad networks and reports what its clients complained about.
func silent[C any](t *testing.T, def *game.Definition[C]) {
	t.Helper()
	rec := &recorder{name: def.Name}
	m := gametest.New(rec, def, 3)
	for i, p := range []netsim.Profile{netsim.HotelWiFi, netsim.TrainLTE, netsim.Ocean, netsim.HotelWiFi} {
		m.Join(string(rune('a'+i)), p, def.Bot)
	}
	m.Run(40 * time.Second)
	if err := m.Sim.Mistaken(); err != nil {
		t.Errorf("%s: %v", def.Name, err)
	}
}

// The sample games write to victims, packs and balls on purpose: nothing is said of that.
func TestSampleGamesAreSilent(t *testing.T) {
	silent(t, &arena.Game)
	silent(t, &zap.Game)
	silent(t, &kick.Game)
}
