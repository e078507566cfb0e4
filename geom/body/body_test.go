package body_test

import (
	"math"
	"slices"
	"testing"

	"meanwhile/geom"
	. "meanwhile/geom/body"
)

const dt = 1.0 / 60

func at(x, y float64) geom.Vec2 { return geom.Vec2{X: x, Y: y} }

// rounded puts a scene onto the grids that schema rounds states to: 1/256 mm, 1/256 mm a tick,
// 16 bits, 1/65536 turn a tick.
func rounded(s *Scene) {
	snap := func(x, per float64) float64 { return math.RoundToEven(x*per) / per }
	for i := range s.Bodies {
		b := &s.Bodies[i]
		b.Pos = at(snap(b.Pos.X, 256e3), snap(b.Pos.Y, 256e3))
		b.Vel = at(snap(b.Vel.X, 256e3*dt), snap(b.Vel.Y, 256e3*dt))
		b.Angle = geom.Angle(snap(float64(b.Angle), 65536/(2*math.Pi))).Norm()
		b.Spin = geom.Angle(snap(float64(b.Spin), 65536*dt/(2*math.Pi)))
	}
}

func run(s *Scene, ticks int) {
	for range ticks {
		s.Step(dt)
		rounded(s)
	}
}

// atRest runs until nothing changes any more, and returns the number of ticks, or fails.
func atRest(t *testing.T, s *Scene, most int) int {
	t.Helper()
	for tick := range most {
		before := slices.Clone(s.Bodies)
		run(s, 1)
		if slices.Equal(before, s.Bodies) {
			run(s, 1)
			if !slices.Equal(before, s.Bodies) {
				t.Fatalf("rests at tick %d and moves again", tick)
			}
			return tick
		}
	}
	for i, b := range s.Bodies {
		t.Logf("%d: %v %v angle %v spin %v", i, b.Pos, b.Vel, b.Angle, b.Spin)
	}
	t.Fatalf("not at rest after %d ticks", most)
	return most
}

var (
	football = Build{Radius: 0.15, Mass: 0.43, Surface: Surface{0.7, 0.3}, Drag: 0.3, Grip: 0.6}
	crate    = Build{Half: at(0.5, 0.5), Mass: 20, Surface: Surface{0.1, 0.5}, Grip: 5}
	pitch    = geom.Walls{Rects: []geom.Rect{
		{Min: at(-11, -6), Max: at(11, -5)}, {Min: at(-11, 5), Max: at(11, 6)},
		{Min: at(-11, -6), Max: at(-10, 6)}, {Min: at(10, -6), Max: at(11, 6)},
	}}
	floor = geom.Walls{Segments: []geom.Segment{{A: at(-50, 0), B: at(50, 0)}}}
)

func TestFootball(t *testing.T) {
	s := Scene{Walls: pitch}
	s.Add(Body{Build: football, Pos: at(5, 0), Vel: at(20, 3)})
	turns, last := 0, s.Bodies[0].Vel.X
	for range 60 {
		run(&s, 1)
		if v := s.Bodies[0].Vel.X; v*last < 0 {
			turns++
			if share := -v / last; share < 0.68 || share > 0.71 {
				t.Errorf("gives back %v of its speed", share)
			}
		}
		last = s.Bodies[0].Vel.X
	}
	if turns != 1 {
		t.Errorf("bounces %d times in a second", turns)
	}
	n := atRest(t, &s, 1200)
	if b := s.Bodies[0]; math.Abs(b.Pos.X) > 10-0.14 || math.Abs(b.Pos.Y) > 5-0.14 || n < 60 {
		t.Errorf("stops after %d ticks at %v", n, b.Pos)
	}
}

func TestFastBallStaysIn(t *testing.T) {
	thin := geom.Walls{
		Segments: []geom.Segment{
			{A: at(-5, -5), B: at(5, -5)}, {A: at(5, -5), B: at(5, 5)}, {A: at(5, 5), B: at(-5, 5)}, {A: at(-5, 5), B: at(-5, -5)},
		},
	}
	for _, build := range []Build{football, {Half: at(0.2, 0.3), Mass: 1, Surface: Surface{Bounce: 0.9}}} {
		for k := range 200 {
			r := geom.NewRand(uint64(k))
			s := Scene{Walls: thin, Surface: Surface{Bounce: 1}}
			build.Drag, build.Grip = 0, 0
			s.Add(Body{Build: build, Pos: at(r.Range(-4, 4), r.Range(-4, 4)), Vel: r.Dir().Mul(r.Range(100, MaxSpeed))})
			s.Add(Body{Build: football, Pos: at(r.Range(-4, 4), r.Range(-4, 4)), Vel: r.Dir().Mul(r.Range(100, MaxSpeed))})
			for tick := range 100 {
				run(&s, 1)
				for i, b := range s.Bodies {
					if math.Abs(b.Pos.X) > 5 || math.Abs(b.Pos.Y) > 5 {
						t.Fatalf("seed %d tick %d: body %d is out at %v with %v", k, tick, i, b.Pos, b.Vel)
					}
				}
			}
		}
	}
}

// A fast ball does not pass through crates, thin plates or other balls that it was not hit into in
// the same step.
func TestFastBallHitsBodies(t *testing.T) {
	for name, other := range map[string]Build{
		"crate": crate, "plate": {Half: at(0.01, 3), Mass: 50}, "post": {Half: at(0.01, 3)}, "ball": {Radius: 0.05, Mass: 10},
	} {
		for k := range 100 {
			r := geom.NewRand(uint64(k))
			var s Scene
			s.Add(Body{Build: football, Pos: at(-r.Range(0.7, 20), r.Range(-0.1, 0.1)), Vel: at(r.Range(10, MaxSpeed), 0)})
			s.Add(Body{Build: other, Angle: geom.Angle(r.Range(-0.3, 0.3))})
			hit := false
			for range 180 {
				s.Step(dt)
				hit = hit || len(s.Touches) > 0
				a, b := s.Bodies[0].Pos, s.Bodies[1].Pos
				if !hit && a.X > b.X {
					t.Fatalf("%s, seed %d: the ball is at %v and has touched nothing", name, k, a)
				}
			}
			if !hit {
				t.Fatalf("%s, seed %d: no touch", name, k)
			}
			if a, b := s.Bodies[0].Pos, s.Bodies[1].Pos; a.X > b.X && math.Abs(a.Y-b.Y) < 0.1 {
				t.Errorf("%s, seed %d: through it: %v", name, k, a)
			}
		}
	}
}

func TestStack(t *testing.T) {
	for n := 1; n <= 3; n++ {
		s := Scene{Walls: floor, Gravity: at(0, -9.81), Surface: Surface{Friction: 0.6}}
		for i := range n {
			s.Add(Body{Build: crate, Pos: at(0.05*float64(i), 0.5+1.05*float64(i))})
		}
		ticks := atRest(t, &s, 300)
		for i, b := range s.Bodies {
			if !(math.Abs(b.Pos.Y-(0.5+float64(i))) < 0.03) || !(math.Abs(float64(b.Angle)) < 0.01) {
				t.Errorf("%d crates: crate %d rests at %v, turned by %v", n, i, b.Pos, b.Angle)
			}
		}
		t.Logf("%d crates rest after %d ticks", n, ticks)
	}
}

// A player pushes a row of crates and lets go.
func TestRowOfCrates(t *testing.T) {
	s := Scene{}
	for i := range 3 {
		s.Add(Body{Build: crate, Pos: at(1.2+1.02*float64(i), 0)})
	}
	me := s.Add(Body{Build: Build{Radius: 0.4, NoSpin: true}, Vel: at(2, 0)})
	run(&s, 120)
	for tick := range 60 {
		run(&s, 1)
		for i, b := range s.Bodies[:me] {
			if math.Abs(b.Vel.X-2) > 0.05 || math.Abs(b.Vel.Y) > 0.02 || math.Abs(float64(b.Spin)) > 0.05 {
				t.Errorf("tick %d: crate %d jitters with %v, spin %v", tick, i, b.Vel, b.Spin)
			}
			if gap := b.Pos.X - 0.5 - (s.Bodies[me].Pos.X + 0.4) - 1*float64(i); math.Abs(gap) > 0.02*float64(i+1) {
				t.Errorf("tick %d: crate %d is %v off", tick, i, gap)
			}
		}
	}
	s.Bodies[me].Vel = at(0, 0)
	t.Logf("at rest after %d ticks", atRest(t, &s, 120))
}
