package kick

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// Bots play, score and ride on bad networks; nothing leaves the field; clients hold the server's
// states.
//
// seeds: P9 P10
func TestMatch(t *testing.T) {
	t.Parallel()
	goals := 0 // one match may end without any
	for _, c := range []struct {
		profile netsim.Profile
		hitches float64 // a minute
	}{{netsim.HotelWiFi, 3}, {netsim.Ocean, 5}} {
		rides, out, deep, ticks := 0, 0, 0, 0
		m := gametest.New(t, meddled(func(w *game.World) {
			b := the(w, Balls)
			if ticks++; !inside(b.Pos, BallRadius-0.2) {
				out++
				t.Log(w.Tick(), "ball", b)
			}
			for _, p := range Players.All(w) {
				if p.Cart != 0 {
					rides++
				} else if !inside(p.Pos, PlayerRadius-0.2) {
					out++
					t.Log(w.Tick(), "player", p, the(w, Carts))
				} else if p.Pos.Dist(b.Pos) < PlayerRadius+BallRadius-0.4 {
					deep++
				}
			}
		}), 5)

		for range 8 {
			m.Join("bot", c.profile, Bot)
		}
		span := 80 * time.Second
		if testing.Short() {
			span = 50 * time.Second
		}
		m.Run(span)
		q, match := m.Quality(), the(m.Server(), Matches)
		t.Logf("%s: %d:%d, ridden for %d ticks, %+v", c.profile.Name, match.Amber, match.Blue, rides, q)
		goals += match.Amber + match.Blue
		if out > 0 || rides < Rate || deep > ticks/100 {
			t.Errorf(
				"%s: %d times outside, ridden for %d ticks, %d of %d ticks deep in the ball",
				c.profile.Name,
				out,
				rides,
				deep,
				ticks,
			)
		}
		if q.HitchesPerMin > c.hitches || q.Shots < 20 {
			t.Errorf("%s: not playable:\n%s", c.profile.Name, q)
		}
	}
	if goals == 0 {
		t.Error("no goal in two matches")
	}
}

// inside reports whether a circle is on the field or in a goal.
func inside(p geom.Vec2, radius float64) bool {
	field := geom.Rect{Min: geom.Vec2{X: -HalfLength, Y: -HalfWidth}, Max: geom.Vec2{X: HalfLength, Y: HalfWidth}}
	goals := geom.Rect{
		Min: geom.Vec2{X: -HalfLength - GoalDepth, Y: -GoalHalf}, Max: geom.Vec2{X: HalfLength + GoalDepth, Y: GoalHalf},
	}
	return field.Expand(-radius).Contains(p) || goals.Expand(-radius).Contains(p)
}

// roams runs about at a distance from everything, now and then into the boards, and presses keys.
func roams(w *game.World, me game.ID) (c Cmd) {
	r := geom.NewRand(uint64(me), uint64(w.Tick())/25)
	p := Players.Get(w, me)
	side := 1.0
	if p.Team == Amber {
		side = -1
	}
	target := geom.Vec2{X: float64(side * r.Range(11, 16)), Y: r.Range(-4, 4)}
	return Cmd{
		Move:   target.Sub(p.Pos).Limit(1),
		Aim:    r.Angle(),
		Kick:   r.Chance(0.5),
		Use:    r.Chance(0.5),
		Sprint: r.Chance(0.3),
	}
}

// A player who touches nothing is predicted to the bit: gametest fails the match otherwise.
func TestExactAlone(t *testing.T) {
	t.Parallel()
	for _, p := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean, netsim.TrainLTE} {
		m := gametest.New(t, &Game, 4)
		m.Join("ann", p, roams)
		m.Join("bob", p, roams)
		m.Run(30 * time.Second)
		if q := m.Quality(); q.CleanMispredictions != 0 {
			t.Errorf("%s: %+v", p.Name, q)
		}
	}
}

func TestSameBytesTwice(t *testing.T) {
	t.Parallel()
	var hashes [3]uint64
	for i, seed := range []uint64{5, 5, 6} {
		m := gametest.New(t, &Game, seed)
		for range 4 {
			m.Join("bot", netsim.Ocean, Bot)
		}
		m.Run(5 * time.Second)
		hashes[i] = m.Sim.Hash()
	}
	if hashes[0] != hashes[1] || hashes[0] == hashes[2] {
		t.Errorf("seeds 5, 5 and 6 hash to %x", hashes)
	}
}
