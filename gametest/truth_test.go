package gametest

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

type runner struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type runnerCmd struct {
	Move geom.Vec2  `net:"stick,5bit"`
	Aim  geom.Angle `net:"angle"`
	Fire bool       `net:"press"`
}

type hit struct {
	Victim game.ID `net:"handle"`
}

var (
	runners = game.NewKind[runner]("runner")
	hits    = game.NewEvent[hit]("hit")
)

// running is a game in which players run and shoot, and a shot is an event only if it hits.
func running(t *testing.T, think func(w *game.World, me game.ID) runnerCmd) *game.Rules {
	t.Helper()
	def := game.Definition[runnerCmd]{Name: "running", Rate: 30, Kinds: game.Kinds(runners), Events: game.Events(hits),
		Join: func(w *game.World, name string) game.ID {
			return runners.Spawn(w, runner{Pos: geom.Vec2{X: w.Rand().Range(0, 30), Y: w.Rand().Range(0, 30)}})
		},
		Act: func(w *game.World, me game.ID, c runnerCmd) {
			p := runners.Get(w, me)
			p.Pos = geom.Rect{Max: geom.Vec2{X: 30, Y: 30}}.Clamp(p.Pos.Add(c.Move.Mul(8 * w.Dt())))
			if !c.Fire {
				return
			}
			ray := geom.Ray{From: p.Pos, Dir: c.Aim, Len: 60}
			for id, o := range runners.Seen(w, me) {
				if _, ok := ray.Circle(o.Pos, 0.3); ok {
					hits.Emit(w, me, p.Pos, hit{id})
					return
				}
			}
		},
		Bot: think}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// slower replaces a player's uplink by a slower one.
func slower(t *testing.T, p *Player, by time.Duration, loss netsim.Loss) {
	t.Helper()
	up := p.Profile.Up
	up.Delay += by
	up.Loss = loss
	pipe, err := netsim.NewPipe(9, up)
	if err != nil {
		t.Fatal(err)
	}
	p.up = pipe
}

// A movement whose commands all come too late never happens. The client is corrected, although
// nothing moves.
func TestPredictionIsCorrectedAtRest(t *testing.T) {
	rules := running(t, func(w *game.World, me game.ID) (c runnerCmd) {
		if w.Tick() >= 300 && w.Tick() < 306 {
			c.Move.X = -1
			if me%2 == 0 {
				c.Move.Y = 1
			}
		}
		return c
	})
	s, err := NewSim(rules, 1, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Join("a", netsim.Fiber, rules.Bot())
	if err != nil {
		t.Fatal(err)
	}
	s.Run(9800 * time.Millisecond)
	fast := p.up
	slower(t, p, 700*time.Millisecond, netsim.Loss{})
	s.Run(700 * time.Millisecond)
	p.up = fast
	s.Run(10 * time.Second)
	if err := s.Converged(); err != nil {
		t.Error(err)
	}
	if st, _ := s.Server.Stats(p.ID); st.Late == 0 {
		t.Error("no command was late: the test tests nothing")
	}
}

// A player who goes away stops running, even if the server learns it late or never.
func TestAwayStandsStill(t *testing.T) {
	rules := running(t, func(w *game.World, me game.ID) (c runnerCmd) {
		c.Move = geom.Vec2{X: 1}
		if w.Tick()/100%2 == 1 {
			c.Move.X = -1
		}
		return c
	})
	s, err := NewSim(rules, 1, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Join("a", netsim.Fiber, rules.Bot())
	if err != nil {
		t.Fatal(err)
	}
	s.Run(5 * time.Second)
	slower(t, p, 150*time.Millisecond, netsim.Loss{})
	p.Client.SetAway(true)
	s.Run(3 * 17 * time.Millisecond)
	slower(t, p, 0, netsim.Bursts(1, 1e6)) // the tab is hidden
	s.Run(time.Second)
	_, sims := s.Server.Engine().Sims(p.Me())
	x := sims[0]
	s.Run(10 * time.Second)
	if _, sims = s.Server.Engine().Sims(p.Me()); sims[0] != x {
		t.Errorf("the avatar moved %d/256 mm while its player was away", sims[0]-x)
	}
}

// Agreement is about what was shown: without the rewind, shots that hit on the screen miss, and
// count against it.
func TestAgreementNeedsTheRewind(t *testing.T) {
	var agreement [2]float64
	for i, rewind := range []time.Duration{0, -1} {
		rules := running(t, func(w *game.World, me game.ID) (c runnerCmd) {
			r := geom.NewRand(uint64(me), uint64(w.Tick())/20)
			c.Move = r.Dir()
			p := runners.Get(w, me)
			for _, o := range runners.Seen(w, me) {
				c.Aim, c.Fire = o.Pos.Sub(p.Pos).Angle(), w.Tick()%10 == 0
				break
			}
			return c
		})
		s, err := NewSim(rules, 1, server.Config{Rewind: rewind})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 8 {
			if _, err := s.Join(fmt.Sprint(n), netsim.Ocean, rules.Bot()); err != nil {
				t.Fatal(err)
			}
		}
		s.Run(5 * time.Second)
		s.Measure()
		s.Run(20 * time.Second)
		q := s.Quality()
		agreement[i] = q.Agreement
		t.Logf("rewind %v: agreement %.3f of %d shots, %d interrupted", rewind, q.Agreement, q.Shots, q.Interrupted)
		if q.Shots < 300 {
			t.Errorf("rewind %v: only %d shots count", rewind, q.Shots)
		}
	}
	if agreement[0] < 0.97 || agreement[1] > 0.5 {
		t.Errorf("agreement %.3f with the rewind and %.3f without; want at least 0.97 and at most 0.5", agreement[0],
			agreement[1])
	}
}
