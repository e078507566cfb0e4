package kick

import (
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// shown is what players saw of the ball while they ran.
type shown struct {
	frames int
	inside int // frames with the own avatar more than 0.4 m inside the ball
	steps  int // frames in which the ball was drawn more than 15 cm from where its velocity leads
}

// watch counts what a player sees.
func (s *shown) watch(m *gametest.Match[Cmd], p *gametest.Player) {
	var vals []float64
	var last, lastVel geom.Vec2
	p.OnFrame = func() {
		var mine, ball, vel geom.Vec2
		vals = p.Client.Draw(vals, func(e *client.Entity) {
			at := geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
			switch {
			case e.Mine:
				mine = at
			case e.Kind == ballKind:
				ball, vel = at, geom.Vec2{X: e.Vals[2], Y: e.Vals[3]}
			}
		})
		w := p.Client.World()
		match := the(w, Matches)
		if match.Phase == Play && m.Sim.Server.Tick() > match.Start+Rate/4 && Players.Get(w, p.Me()).Cart == 0 {
			s.frames++
			if mine.Dist(ball) < PlayerRadius+BallRadius-0.4 {
				s.inside++
			}
			// A kick changes the velocity at once, so the one before counts as well.
			way := ball.Sub(last)
			if min(way.Dist(vel.Mul(1.0/Rate)), way.Dist(lastVel.Mul(1.0/Rate))) > 0.15 {
				s.steps++
			}
		}
		last, lastVel = ball, vel
	}
}

// Nobody walks through the ball, and nobody sees it jump, on good and on bad networks.
//
// seeds: P1 P9
func TestNobodyWalksThroughTheBall(t *testing.T) {
	t.Parallel()
	for _, profile := range []netsim.Profile{netsim.LAN, netsim.HotelWiFi, netsim.Ocean} {
		m := gametest.New(t, &Game, 5)

		for range 6 {
			m.Join("bot", profile, Bot)
		}
		m.Run(0)
		var s shown
		for _, p := range m.Sim.Players() {
			s.watch(m, p)
		}
		span := 40 * time.Second
		if testing.Short() {
			span = 20 * time.Second
		}
		m.Run(span)
		t.Logf("%s: of %d frames %d inside, %d with a step", profile.Name, s.frames, s.inside, s.steps)
		if s.frames < 3000 || s.inside > s.frames/50 || s.steps > s.frames/50 {
			t.Errorf("%s: of %d frames %d inside, %d with a step", profile.Name, s.frames, s.inside, s.steps)
		}
	}
}

// A kick and a push are answered in the tick of their command, however far the server is.
//
// seeds: P1
func TestTouchIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		kick  bool
		least float64 // m/s
	}{{"kick", true, 12}, {"push", false, 4}} {
		m := gametest.New(t, &Game, 1)
		touched, answered := game.Tick(0), game.Tick(0)
		m.Join("ann", netsim.Ocean, func(w *game.World, me game.ID) (cmd Cmd) {
			p, b := Players.Get(w, me), the(w, Balls)
			if answered == 0 && b.Vel.Len() > c.least {
				answered = w.Tick()
			}
			if w.Tick() < 300 || touched != 0 {
				return cmd
			}
			cmd.Move, cmd.Kick = geom.Vec2{X: 1}, c.kick
			from, near := p.Pos, PlayerRadius+BallRadius+kickReach
			if !c.kick {
				from, near = p.Pos.Add(p.Vel.Mul(w.Dt())), PlayerRadius+BallRadius
			}
			if from.Dist(b.Pos) < near {
				touched = w.Tick()
			}
			return cmd
		})
		m.Run(5 * time.Second)
		if touched == 0 || answered < touched || answered > touched+1 {
			t.Errorf("%s: touched at tick %d, the ball moved at tick %d", c.name, touched, answered)
		}
	}
}
