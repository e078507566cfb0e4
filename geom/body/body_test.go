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

// atRest runs until nothing changes any more, and returns the number of ticks, or fails. It does not
// round: that alone could bring things to rest.
func atRest(t *testing.T, s *Scene, most int) int {
	t.Helper()
	for tick := range most {
		before := slices.Clone(s.Bodies)
		s.Step(dt)
		if slices.Equal(before, s.Bodies) {
			rounded(s)
			before = slices.Clone(s.Bodies)
			run(s, 10)
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
			{A: at(-5, -5), B: at(5, -5)}, {A: at(5, -5), B: at(5, 5)},
			{A: at(5, 5), B: at(-5, 5)}, {A: at(-5, 5), B: at(-5, -5)},
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
		atRest(t, &s, 60)
		for i, b := range s.Bodies {
			if !(math.Abs(b.Pos.Y-(0.5+float64(i))) < 0.03) || !(math.Abs(float64(b.Angle)) < 0.01) {
				t.Errorf("%d crates: crate %d rests at %v, turned by %v", n, i, b.Pos, b.Angle)
			}
		}
	}
}

// Nothing catches where a wall is made of pieces.
func TestWallOfPieces(t *testing.T) {
	var rects, segments geom.Walls
	for i := range 40 {
		x := float64(i)
		rects.Rects = append(rects.Rects, geom.Rect{Min: at(x, -1), Max: at(x+1, 0)})
		segments.Segments = append(segments.Segments, geom.Segment{A: at(x, 0), B: at(x+1, 0)})
	}
	for _, walls := range []geom.Walls{rects, segments} {
		rollAlong(t, walls)
	}
	// A corner that two walls share is one all the same.
	s := Scene{Walls: geom.Walls{Rects: []geom.Rect{{Min: at(0, 0), Max: at(4, 1)}, {Min: at(3, 0), Max: at(4, 4)}}}}
	s.Add(Body{Build: football, Pos: at(4.1, -0.1)})
	if s.Step(dt); len(s.Touches) == 0 {
		t.Error("no touch at a corner that two walls share")
	}
}

func rollAlong(t *testing.T, walls geom.Walls) {
	for name, build := range map[string]Build{
		"ball": {Radius: 0.15, Mass: 0.43, Surface: Surface{Bounce: 0.7}}, "crate": {Half: at(0.5, 0.5), Mass: 20},
	} {
		for _, gravity := range []float64{0, -9.81} {
			for _, speed := range []float64{0.7, 3, 8, 20} {
				s := Scene{Walls: walls, Gravity: at(0, gravity)}
				s.Add(Body{Build: build, Pos: at(1.3, build.Radius+build.Half.Y), Vel: at(speed, 0)})
				for s.Bodies[0].Pos.X < 37 {
					run(&s, 1)
					b := s.Bodies[0]
					if math.Abs(b.Vel.X-speed) > 0.01*speed || math.Abs(b.Vel.Y) > 0.02*speed {
						t.Fatalf("%s with %v m/s, gravity %v: %v at %v, turned by %v", name, speed, gravity, b.Vel, b.Pos, b.Angle)
					}
				}
			}
		}
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
	atRest(t, &s, 60)
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

// Two bodies that meet head-on share their momentum and their energy as the textbook says.
func TestTwoBodyCollision(t *testing.T) {
	for _, c := range []struct {
		name         string
		m1, m2       float64
		v1, v2       float64
		bounce       float64
		want1, want2 float64 // v = (m1 v1 + m2 v2 ± m bounce (v2 - v1)) / (m1 + m2)
	}{
		{"equal, elastic: they exchange", 1, 1, 3, -2, 1, -2, 3},
		{"equal, plastic", 1, 1, 3, -1, 0, 1, 1},
		{"light on heavy", 1, 3, 4, 0, 1, -2, 2},
		{"heavy on light, half", 3, 1, 4, 0, 0.5, 2.5, 4.5},
		{"onto a kinematic wall", 1, 0, 4, -1, 0.5, -3.5, -1},
	} {
		for name, build := range map[string]Build{"balls": {Radius: 0.5}, "boxes": {Half: at(0.5, 0.5)}} {
			var s Scene
			build.Surface.Bounce = c.bounce
			build.Mass = c.m1
			s.Add(Body{Build: build, Vel: at(c.v1, 0)})
			build.Mass = c.m2
			s.Add(Body{Build: build, Pos: at(1.5, 0), Vel: at(c.v2, 0)})
			hits, pressed := 0, math.Abs(c.m1*(c.want1-c.v1))
			for range 60 {
				s.Step(dt)
				for _, touch := range s.Touches {
					if touch.Speed < 0.01 {
						continue
					}
					hits++
					if touch.A != 0 || touch.B != 1 || !near(touch.Normal.X, 1) || !near(touch.At.Y, 0) ||
						!near(touch.Speed, c.v1-c.v2) || !near(touch.Impulse, pressed) {
						t.Errorf("%s, %s: reports %+v, impulse should be %v", c.name, name, touch, pressed)
					}
				}
			}
			if a, b := s.Bodies[0].Vel.X, s.Bodies[1].Vel.X; !near(a, c.want1) || !near(b, c.want2) || hits != 1 {
				t.Errorf("%s, %s: %v and %v after %d hits, want %v and %v", c.name, name, a, b, hits, c.want1, c.want2)
			}
		}
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name         string
		a, b         Build
		touch, walls bool
	}{
		{"by default all", Build{}, Build{}, true, true},
		{"other layer, all masks", Build{Layer: 2}, Build{Layer: 4}, true, true},
		{"a does not want b", Build{Mask: 2 | WallLayer}, Build{}, false, true},
		{"b does not want a", Build{}, Build{Mask: 2}, false, true},
		{"both want each other", Build{Layer: 2, Mask: 4}, Build{Layer: 4, Mask: 2}, true, false},
		{"walls alone", Build{Mask: WallLayer}, Build{}, false, true},
	} {
		s := Scene{Walls: geom.Walls{Circles: []geom.Circle{{Center: at(-1.5, 0), Radius: 1}}}}
		c.a.Radius, c.b.Radius, c.a.Mass, c.b.Mass = 1, 1, 1, 1
		s.Add(Body{Build: c.a})
		s.Add(Body{Build: c.b, Pos: at(1.5, 0)})
		s.Step(dt)
		touch, walls := false, false
		for _, t := range s.Touches {
			touch, walls = touch || t.A == 0 && t.B == 1, walls || t.A == 0 && t.B == -1
		}
		if touch != c.touch || walls != c.walls {
			t.Errorf("%s: touch %v, walls %v", c.name, touch, walls)
		}
	}
}

// An avatar is pushed and not turned, wherever it is hit.
func TestNoSpin(t *testing.T) {
	var s Scene
	s.Add(Body{Build: Build{Half: at(0.5, 0.5), Mass: 1, NoSpin: true}, Angle: 0.5, Spin: 3})
	s.Add(Body{Build: football, Pos: at(-1, 0.3), Vel: at(20, 0)})
	run(&s, 30)
	if b := s.Bodies[0]; b.Spin != 0 || b.Vel.X < 1 || math.Abs(float64(b.Angle)-0.5) > 1e-4 {
		t.Errorf("turned by %v to %v, moved with %v", b.Spin, b.Angle, b.Vel)
	}
	s.Bodies[0].Push(at(1, 0), s.Bodies[0].Pos.Add(at(0, 1)))
	if b := s.Bodies[0]; b.Spin != 0 {
		t.Errorf("a push turns it by %v", b.Spin)
	}
}

// Bodies are served in the order of the scene, wherever they are, and walls last.
func TestOrder(t *testing.T) {
	for n := range 60 {
		s := crowd(n, true)
		for range 20 {
			s.Step(dt)
			last := [3]int{}
			for _, touch := range s.Touches {
				next := [3]int{0, touch.A, touch.B}
				if touch.B < 0 {
					next = [3]int{1}
				}
				if slices.Compare(last[:], next[:]) > 0 {
					t.Fatalf("%d bodies: out of order: %v", n, s.Touches)
				}
				last = next
			}
		}
	}
}

func TestPush(t *testing.T) {
	b := Body{Build: crate, Pos: at(1, 1)}
	b.Push(at(0, 40), at(1.5, 1)) // beside the centre: 40 N s x 0.5 m on 20 kg (1+1)/12 m²
	if b.Vel != at(0, 2) || math.Abs(float64(b.Spin)-6) > 1e-12 {
		t.Errorf("velocity %v, spin %v", b.Vel, b.Spin)
	}
	b = Body{Build: Build{Half: at(1, 1)}}
	if b.Push(at(3, 3), at(1, 0)); b.Vel != at(0, 0) || b.Spin != 0 {
		t.Errorf("a kinematic body is pushed: %+v", b)
	}
}

// What lies exactly on each other is pushed apart, in a direction that the order decides, and comes
// to rest.
func TestSamePlace(t *testing.T) {
	for name, build := range map[string]Build{"balls": football, "crates": crate} {
		var s Scene
		for range 4 {
			s.Add(Body{Build: build})
		}
		if n := atRest(t, &s, 600); n > 60 {
			t.Errorf("%s rest after %d ticks", name, n)
		}
		for i, a := range s.Bodies {
			for _, b := range s.Bodies[i+1:] {
				if size := max(build.Radius, build.Half.X); a.Pos.Dist(b.Pos) < 2*size-0.01 {
					t.Errorf("%s: still at %v and %v", name, a.Pos, b.Pos)
				}
			}
		}
	}
	s := Scene{Walls: pitch}
	for range 2 {
		s.Add(Body{Build: Build{Mass: 1}, Vel: at(60, 0)}) // without size
	}
	if s.Step(dt); len(s.Touches) > 0 || s.Bodies[1].Pos != at(1, 0) {
		t.Errorf("bodies without size: touches %v, at %v", s.Touches, s.Bodies[1].Pos)
	}
}

// seeds: P9
// Two cars and a ball, as the rules of a game drive them: a copy that starts from the same rounded
// state in the middle of it goes the same way to the bit.
func TestTwoCarsAndABall(t *testing.T) {
	car := Build{Half: at(1, 0.5), Mass: 200, Surface: Surface{0.4, 0.4}, Drag: 0.5, SpinDrag: 2, Grip: 1}
	var a, b Scene
	for _, s := range []*Scene{&a, &b} {
		s.Walls, s.Surface = pitch, Surface{0.5, 0.2}
	}
	a.Add(Body{Build: car, Pos: at(-5, 0.2)})
	a.Add(Body{Build: car, Pos: at(5, -0.3), Angle: geom.Pi})
	a.Add(Body{Build: football})
	drive := func(s *Scene, tick int) {
		for i := range 2 {
			car := &s.Bodies[i]
			car.Accel = car.Angle.Dir().Mul(8)
			car.Spin += geom.Angle(0.4 * geom.Sin(float64(tick*(i+2))/20))
		}
		s.Step(dt)
		rounded(s)
	}
	touches := 0
	for tick := range 600 {
		drive(&a, tick)
		touches += len(a.Touches)
		if tick%50 == 0 {
			b.Bodies = append(b.Bodies[:0], a.Bodies...)
		} else if drive(&b, tick); !slices.Equal(a.Bodies, b.Bodies) {
			t.Fatalf("tick %d: the copy differs:\n%v\n%v", tick, a.Bodies, b.Bodies)
		}
		for i, x := range a.Bodies {
			if math.Abs(x.Pos.X) > 10 || math.Abs(x.Pos.Y) > 5 {
				t.Fatalf("tick %d: body %d is out at %v", tick, i, x.Pos)
			}
		}
	}
	if touches < 20 {
		t.Errorf("only %d touches", touches)
	}
}

// A kinematic platform carries nothing and pushes; a crate that it presses against a wall stays out
// of the wall.
func TestPressedAgainstWall(t *testing.T) {
	s := Scene{Walls: pitch}
	s.Add(Body{Build: crate, Pos: at(8, 0)})
	s.Add(Body{Build: Build{Half: at(0.2, 1)}, Pos: at(6, 0), Vel: at(1, 0)})
	run(&s, 180) // the platform is 0.2 m inside the crate
	if x := s.Bodies[0].Pos.X; x < 9.45 || x > 9.6 {
		t.Errorf("the crate is at %v", x)
	}
}

// A player who runs a ball into a corner stops there, and hardly gets into the ball. A kinematic
// thing, which nothing can stop, gets through, but the ball stays in.
func TestSqueezedBall(t *testing.T) {
	ball := Build{Radius: 0.35, Mass: 3, Surface: Surface{0.4, 0.1}, Drag: 0.45, Grip: 0.5, NoSpin: true}
	player := Build{Radius: 0.45, Mass: 60, Surface: Surface{0.1, 0.1}, NoSpin: true}
	for _, mass := range []float64{60, 0} {
		for _, speed := range []float64{1, 5, 9} {
			s := Scene{Walls: geom.Walls{Segments: []geom.Segment{{A: at(2, -5), B: at(2, 5)}, {A: at(2, 5), B: at(-9, 5)}}}}
			player.Mass = mass
			s.Add(Body{Build: ball, Pos: at(1.6, 4.6)})
			s.Add(Body{Build: player, Pos: at(0.2, 3.2)})
			for tick := range 120 {
				s.Bodies[1].Vel = at(speed, speed)
				run(&s, 1)
				b, p := s.Bodies[0].Pos, s.Bodies[1].Pos
				if deep := max(b.X+0.35-2, b.Y+0.35-5); deep > 0.35 || mass > 0 && deep > 0.06 {
					t.Fatalf("mass %v, %v m/s, tick %d: the ball is %v in the wall", mass, speed, tick, deep)
				}
				if in := 0.8 - b.Dist(p); mass > 0 && (in > 0.25 || in > 0.1 && tick > 30) { // the first blow goes deeper
					t.Fatalf("mass %v, %v m/s, tick %d: the player is %v in the ball", mass, speed, tick, in)
				}
			}
		}
	}
}

// A rule that accelerates a thing slowly gets it going, and a thing without forces stops.
func TestStopSpeed(t *testing.T) {
	var s Scene
	s.Add(Body{Build: Build{Radius: 1, Mass: 1}, Accel: at(0.1, 0)})
	s.Add(Body{Build: Build{Radius: 1, Mass: 1}, Pos: at(0, 5), Vel: at(0.019, 0)})
	s.Add(Body{Build: Build{Radius: 1, Mass: 1}, Pos: at(0, 9), Vel: at(0.021, 0)})
	s.Add(Body{Build: Build{Radius: 1}, Pos: at(0, 13), Vel: at(0.001, 0)})
	for range 60 {
		s.Step(dt)
	}
	for i, want := range []float64{0.1, 0, 0.021, 0.001} {
		if v := s.Bodies[i].Vel.X; math.Abs(v-want) > 1e-9 {
			t.Errorf("body %d: %v m/s, want %v", i, v, want)
		}
	}
	falling := Scene{Gravity: at(0, -0.5)}
	falling.Add(Body{Build: Build{Radius: 1, Mass: 1}})
	for range 60 {
		falling.Step(dt)
	}
	if v := falling.Bodies[0].Vel.Y; math.Abs(v+0.5) > 1e-9 {
		t.Errorf("falls with %v m/s", v)
	}
}
