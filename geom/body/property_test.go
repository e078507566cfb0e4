package body_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	. "meanwhile/geom/body"
)

// num draws from a grid of 1/64, so that sums and differences of places are exact.
func num(t *rapid.T, lo, hi float64, what string) float64 {
	return float64(rapid.IntRange(int(lo*64), int(hi*64)).Draw(t, what)) / 64
}

func vec(t *rapid.T, most float64, what string) geom.Vec2 {
	return at(num(t, -most, most, what+" x"), num(t, -most, most, what+" y"))
}

// genBody is a body of a crowded scene, as games have them.
func genBody(t *rapid.T) Body {
	b := Body{Pos: vec(t, 2, "pos"), Vel: vec(t, 8, "vel"), Spin: geom.Angle(num(t, -5, 5, "spin"))}
	b.Mass = num(t, 0.25, 8, "mass")
	b.Surface = Surface{num(t, 0, 1, "bounce"), num(t, 0, 1, "friction")}
	if rapid.Bool().Draw(t, "circle") {
		b.Radius = num(t, 0.1, 0.5, "radius")
	} else {
		b.Half = at(num(t, 0.1, 0.5, "width"), num(t, 0.1, 0.5, "height"))
		b.Angle = geom.Angle(num(t, -3, 3, "angle"))
	}
	b.NoSpin = rapid.IntRange(0, 5).Draw(t, "no spin") == 0
	return b
}

func genScene(t *rapid.T) *Scene {
	s := &Scene{Surface: Surface{num(t, 0, 1, "bounce"), num(t, 0, 1, "friction")}}
	s.Walls = geom.Walls{
		Rects:    []geom.Rect{{Min: at(-4, -4), Max: at(4, -3)}},
		Segments: []geom.Segment{{A: at(-3, -4), B: at(-3.5, 4)}},
		Circles:  []geom.Circle{{Center: at(4, 0), Radius: 1}},
	}
	for range rapid.IntRange(1, 8).Draw(t, "n") {
		s.Add(genBody(t))
	}
	return s
}

// thicken adds bodies that overlap, light ones between heavy ones, which takes many rounds to solve.
func thicken(t *rapid.T, s *Scene) {
	r := geom.NewRand(rapid.Uint64().Draw(t, "seed"))
	for range rapid.IntRange(0, 16).Draw(t, "more") {
		b := Body{Pos: at(r.Range(-2, 2), r.Range(-2, 2)), Vel: r.Dir().Mul(r.Range(0, 8))}
		b.Radius, b.Surface = r.Range(0.2, 0.6), Surface{Bounce: 1} // which gives all energy back
		if b.Mass = 0.25; r.IntN(2) == 0 {
			b.Mass = 8
		}
		if r.IntN(2) == 0 {
			b.Half, b.Radius = at(b.Radius, b.Radius), 0
		}
		s.Add(b)
	}
}

// inertia is the moment of inertia of a body, the obvious way.
func inertia(b *Body) float64 {
	if b.Radius > 0 {
		return b.Mass * b.Radius * b.Radius / 2
	}
	return b.Mass * (b.Half.X*b.Half.X + b.Half.Y*b.Half.Y) / 3
}

func energy(s *Scene) (sum float64) {
	for i := range s.Bodies {
		b := &s.Bodies[i]
		sum += b.Mass*b.Vel.Len2()/2 + inertia(b)*float64(b.Spin)*float64(b.Spin)/2
	}
	return sum
}

// Whatever meets, and however deep it overlaps: no step adds energy.
func TestEnergyNeverGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScene(t)
		for tick := range 40 {
			before := energy(s)
			s.Step(dt)
			if after := energy(s); after > before*(1+1e-9)+1e-12 {
				t.Fatalf("tick %d: energy grows from %v to %v", tick, before, after)
			}
		}
	})
}

// What bodies lose to each other, the other gains.
func TestMomentumIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genBody(t), genBody(t)
		a.Vel, b.Vel = a.Vel.Add(at(3, 0)), b.Vel.Sub(at(3, 0)) // nothing near StopSpeed
		var s Scene
		s.Add(a)
		s.Add(b)
		momentum := func() (p geom.Vec2, spin float64) {
			for i := range s.Bodies {
				b := &s.Bodies[i]
				p = p.Add(b.Vel.Mul(b.Mass))
				spin += b.Pos.Cross(b.Vel)*b.Mass + inertia(b)*float64(b.Spin)
			}
			return p, spin
		}
		p, _ := momentum()
		slow := false
		for range 60 {
			s.Step(dt)
			for _, b := range s.Bodies {
				slow = slow || b.Vel == geom.Vec2{}
			}
		}
		if q, _ := momentum(); !slow && q.Dist(p) > 1e-9*(1+p.Len()) {
			t.Fatalf("momentum was %v and is %v", p, q)
		}
	})
}

// A scene elsewhere goes the same way: on the simulation's grid nothing depends on where the zero
// of coordinates is. Here the grid is one of powers of two, so that the shift itself is exact.
func TestPlaceDoesNotMatter(t *testing.T) {
	grid := func(s *Scene) {
		snap := func(x float64) float64 { return math.RoundToEven(x*0x1p16) / 0x1p16 }
		for i := range s.Bodies {
			b := &s.Bodies[i]
			b.Pos, b.Vel = at(snap(b.Pos.X), snap(b.Pos.Y)), at(snap(b.Vel.X), snap(b.Vel.Y))
			b.Angle, b.Spin = geom.Angle(snap(float64(b.Angle))), geom.Angle(snap(float64(b.Spin)))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := genScene(t)
		shift := at(float64(rapid.IntRange(-512, 512).Draw(t, "x")), float64(rapid.IntRange(-512, 512).Draw(t, "y")))
		moved := &Scene{Surface: s.Surface, Bodies: slices.Clone(s.Bodies), Walls: geom.Walls{
			Rects:    slices.Clone(s.Walls.Rects),
			Segments: slices.Clone(s.Walls.Segments),
			Circles:  slices.Clone(s.Walls.Circles),
		}}
		for i := range moved.Bodies {
			moved.Bodies[i].Pos = moved.Bodies[i].Pos.Add(shift)
		}
		for i, r := range moved.Walls.Rects {
			moved.Walls.Rects[i] = geom.Rect{Min: r.Min.Add(shift), Max: r.Max.Add(shift)}
		}
		for i, g := range moved.Walls.Segments {
			moved.Walls.Segments[i] = geom.Segment{A: g.A.Add(shift), B: g.B.Add(shift)}
		}
		for i := range moved.Walls.Circles {
			moved.Walls.Circles[i].Center = moved.Walls.Circles[i].Center.Add(shift)
		}
		for tick := range 30 {
			s.Step(dt)
			moved.Step(dt)
			grid(s)
			grid(moved)
			for i := range s.Bodies {
				want := s.Bodies[i]
				want.Pos = want.Pos.Add(shift)
				if moved.Bodies[i] != want {
					t.Fatalf("tick %d, body %d: %+v, elsewhere %+v", tick, i, want, moved.Bodies[i])
				}
			}
		}
	})
}

// Bodies that do not touch each other, neither directly nor through others with mass, do not
// influence each other: a crowd goes the same way to the bit alone and beside another crowd, though
// both stand on one plate without mass. A client that knows only one of them, or the other one a
// little differently, therefore computes what the server does.
func TestFarBodiesDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		here, far := genScene(t), genScene(t)
		if rapid.Bool().Draw(t, "smooth") {
			here.Surface = Surface{Bounce: 1}
		}
		thicken(t, here)
		thicken(t, far)
		plate := Body{Build: Build{Half: at(64, 1)}, Pos: at(32, -2.5), Vel: vec(t, 8, "plate")}
		both := &Scene{Surface: here.Surface, Walls: here.Walls}
		if rapid.Bool().Draw(t, "gravity") {
			both.Gravity = at(0, -10)
		}
		here.Gravity = both.Gravity
		far.Gravity, far.Surface, far.Walls = both.Gravity, both.Surface, both.Walls
		for i := range far.Bodies {
			far.Bodies[i].Pos.X += 64
		}
		both.Add(plate)
		places := map[*Scene][]int{} // of the bodies of each crowd in both
		for i := range max(len(here.Bodies), len(far.Bodies)) {
			for _, s := range []*Scene{far, here} {
				if i < len(s.Bodies) {
					places[s] = append(places[s], both.Add(s.Bodies[i]))
				}
			}
		}
		here.Bodies = slices.Insert(here.Bodies, 0, plate)
		far.Bodies = slices.Insert(far.Bodies, 0, plate)
		for tick := range 40 {
			both.Step(dt)
			for _, s := range []*Scene{here, far} {
				s.Step(dt)
				for i, k := range places[s] {
					if alone := s.Bodies[i+1]; !same(both.Bodies[k], alone) {
						t.Fatalf("tick %d: body %d is at %v with %v beside others, at %v with %v alone",
							tick, k, both.Bodies[k].Pos, both.Bodies[k].Vel, alone.Pos, alone.Vel)
					}
				}
			}
			if len(both.Touches) != len(here.Touches)+len(far.Touches) {
				t.Fatalf("tick %d: %d touches, alone %d and %d", tick, len(both.Touches), len(here.Touches),
					len(far.Touches))
			}
		}
	})
}

// The result depends on what is in the scene now, and on nothing that was there before.
func TestSceneRemembersNothing(t *testing.T) {
	used := crowd(60, true)
	for range 10 {
		used.Step(dt)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := genScene(t)
		used.Reset()
		used.Walls, used.Surface = s.Walls, s.Surface
		used.Bodies = append(used.Bodies, s.Bodies...)
		for tick := range 10 {
			s.Step(dt)
			used.Step(dt)
			if !slices.Equal(s.Bodies, used.Bodies) || !slices.Equal(s.Touches, used.Touches) {
				t.Fatalf("tick %d: another result in a scene that was used before", tick)
			}
		}
	})
}

// hostile numbers in every field: nothing panics, and finite bodies stay finite and in bounds.
func TestHostileBodies(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
		-math.MaxFloat64, math.SmallestNonzeroFloat64, 1e150, -1e150, 1e-150, 1e15, 1e6, 3, 1e-9, 40}
	r := geom.NewRand(5)
	any := func() float64 { return values[r.IntN(len(values))] }
	for range 3000 {
		s := Scene{Gravity: at(any(), any()), Surface: Surface{any(), any()}, Walls: geom.Walls{
			Rects:    []geom.Rect{{Min: at(any(), any()), Max: at(any(), any())}},
			Segments: []geom.Segment{{A: at(any(), any()), B: at(any(), any())}},
			Circles:  []geom.Circle{{Center: at(any(), any()), Radius: any()}},
		}}
		for range 5 {
			s.Add(Body{
				Build: Build{
					Radius: any(), Half: at(any(), any()), Mass: any(), Surface: Surface{any(), any()},
					Drag: any(), SpinDrag: any(), Grip: any(),
				},
				Pos: at(any(), any()), Vel: at(any(), any()), Angle: geom.Angle(any()), Spin: geom.Angle(any()),
				Accel: at(any(), any()),
			})
		}
		for range 4 {
			before := slices.Clone(s.Bodies)
			s.Step(any())
			for i, b := range s.Bodies {
				was := before[i]
				ok := was.Vel.Finite() && was.Spin.Finite() && was.Angle.Finite() &&
					math.Abs(was.Pos.X) <= MaxPlace && math.Abs(was.Pos.Y) <= MaxPlace
				switch {
				case !ok && !same(b, was):
					t.Fatalf("takes part: %+v becomes %+v", was, b)
				case ok && (!b.Pos.Finite() || !b.Vel.Finite() || !b.Angle.Finite() || !b.Spin.Finite()):
					t.Fatalf("not finite: %+v becomes %+v", was, b)
				}
			}
		}
	}
}

// same compares the state of bodies, where NaN equals NaN.
func same(a, b Body) bool {
	bits := math.Float64bits
	return bits(a.Pos.X) == bits(b.Pos.X) && bits(a.Pos.Y) == bits(b.Pos.Y) && bits(a.Vel.X) == bits(b.Vel.X) &&
		bits(a.Vel.Y) == bits(b.Vel.Y) && bits(float64(a.Angle)) == bits(float64(b.Angle)) &&
		bits(float64(a.Spin)) == bits(float64(b.Spin))
}
