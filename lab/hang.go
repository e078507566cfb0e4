package lab

import (
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

var hangExperiment = &experiment{
	name:  "hang",
	about: "a process stands still for a while: how long until commands run in time again, and the display is as before",
	notes: `A real client runs about, by a command of its own for each of 60 ticks a second, and watches what runs
straight on. For <b>hang_ms</b> the process of the server stands still, or that of the client (<b>who</b>);
what arrives meanwhile waits for it, and the server makes up for no tick. <b>starved_per_min</b> are ticks
that ran without the player's command, from 0.3 s to 10 s after the end of the hang; without a hang there are
<b>starved_calm_per_min</b>. <b>deaf_ms</b> is how long after the end ticks went on to starve, with less than
half a second between them. <b>normal_after_ms</b> is when, after the end, the playout delay is again within
50 ms of its target. Both are the worst of all hangs.`,
	takes:    byProfile,
	profiles: []netsim.Profile{netsim.Fiber, netsim.CityLTE},
	policies: []string{ours},
	run:      runHangs,
}

// hangSpans are from what one long collection of garbage or a paused window costs to a machine that
// was moved.
var hangSpans = []time.Duration{
	300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second,
}

const (
	hangBy     = "server"               // whose process hangs
	hangOf     = "client"               // or this
	hangWhole  = 300 * time.Millisecond // when commands should run again
	hangAfter  = 10 * time.Second       // how long is looked at after a hang
	hangCalm   = 500 * time.Millisecond // so long without a starved tick ends a silence
	hangsQuick = 3
)

// hangRunner is the avatar of a player who runs about.
type hangRunner struct {
	Pos geom.Vec2 `net:"pos,1mm"`
}

type hangCommand struct {
	Move geom.Vec2 `net:"stick,5bit"`
}

// hangMatch returns a match with one player on p.
func hangMatch(seed uint64, p netsim.Profile) (*gametest.Sim, *gametest.Player, error) {
	dashers, runners := game.NewKind[watchedRunner]("dasher"), game.NewKind[hangRunner]("runner")
	place := func(t clock.Tick) geom.Vec2 { return geom.Vec2{X: dashSpeed * float64(t) / watchRate} }
	def := game.Definition[hangCommand]{
		Name: "hang", Rate: watchRate, Send: 20, Kinds: game.Kinds(dashers, runners),
		Join: func(w *game.World, _ string) game.ID {
			dashers.Spawn(w, watchedRunner{place(w.Tick())})
			return runners.Spawn(w, hangRunner{})
		},
		Act: func(w *game.World, id game.ID, c hangCommand) {
			r := runners.Get(w, id)
			r.Pos = r.Pos.Add(c.Move.Mul(dashSpeed / watchRate))
		},
		Referee: func(w *game.World) {
			for _, d := range dashers.All(w) {
				d.Pos = place(w.Tick())
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		return nil, nil, err
	}
	s, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		return nil, nil, err
	}
	made := 0
	player, err := s.Join("runner", p, client.BotOf(func(*game.World, game.ID) hangCommand {
		made++
		return hangCommand{geom.Vec2{X: float64(made%5 - 2), Y: float64(made%7 - 3)}.Unit()}
	}))
	return s, player, err
}

// stoppage is what a player met in hangs and after them.
type stoppage struct {
	starved, calm int // ticks, of all hangs
	deaf, normal  time.Duration
	hangs         int
}

func (a *stoppage) add(b stoppage) {
	a.starved, a.calm, a.hangs = a.starved+b.starved, a.calm+b.calm, a.hangs+b.hangs
	a.deaf, a.normal = max(a.deaf, b.deaf), max(a.normal, b.normal)
}

func playHangs(seed uint64, p netsim.Profile, who string, hang time.Duration, hangs int) (res stoppage, err error) {
	s, player, err := hangMatch(seed, p)
	if err != nil {
		return res, err
	}
	starved := func() int {
		st, _ := s.Server.Stats(player.ID)
		return int(st.Starved)
	}
	var end, last clock.Time // of the hang, and of the newest tick that starved because of it
	var normal time.Duration
	before := 0
	s.Loop.Every(s.Loop.Now().Add(time.Millisecond), s.Server.Period(), func() bool {
		now, n := s.Loop.Now(), starved()
		since := now.Sub(end)
		if end == 0 || since < 0 {
			before = n
			return true
		}
		if n > before {
			if now.Sub(last) < hangCalm {
				last = now
				res.deaf = max(res.deaf, since)
			}
			if since > hangWhole {
				res.starved += n - before
			}
		}
		before = n
		return true
	})
	player.OnFrame = func() {
		st := player.Client.Stats()
		if since := s.Loop.Now().Sub(end); end != 0 && since > 0 && normal == 0 && st.Age < st.DelayTarget &&
			st.Delay-p.Down.Delay < st.DelayTarget+50*time.Millisecond {
			normal = since
		}
	}
	s.Run(gametest.Warmup)
	for i := range hangs {
		s.Run(time.Duration(i) * 7 * time.Millisecond) // not always at one moment between two packets
		calm := starved()
		s.Run(hangAfter)
		res.calm += starved() - calm
		end, normal = s.Loop.Now().Add(hang), 0
		last = end
		if who == hangBy {
			s.Hang(hang)
		} else {
			player.Hang(hang)
		}
		s.Run(hang + hangAfter)
		if normal == 0 {
			normal = hangAfter
		}
		res.normal = max(res.normal, normal)
		res.hangs++
		end = 0
	}
	return res, s.Diverged()
}

func runHangs(r *run) error {
	seeds, hangs := r.seeds(3), 10
	if r.quick {
		seeds, hangs = seeds[:1], hangsQuick
	}
	for _, p := range r.profiles {
		for _, who := range []string{hangBy, hangOf} {
			for _, hang := range hangSpans {
				got, err := each(len(seeds), func(i int) (stoppage, error) { return playHangs(seeds[i], p, who, hang, hangs) })
				if err != nil {
					return err
				}
				var all stoppage
				for _, g := range got {
					all.add(g)
				}
				perMin := func(ticks int, of time.Duration) float64 {
					return float64(ticks) / (float64(all.hangs) * of.Minutes())
				}
				r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"seeds", len(seeds)}, Value{"who", who},
					Value{"hang_ms", int(hang.Milliseconds())}, Value{"hangs", all.hangs}), Values{
					{"starved_per_min", perMin(all.starved, hangAfter-hangWhole)},
					{"starved_calm_per_min", perMin(all.calm, hangAfter)},
					{"deaf_ms", ms(all.deaf)}, {"normal_after_ms", ms(all.normal)},
				}})
			}
		}
	}
	return nil
}
