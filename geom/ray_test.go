package geom_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	. "meanwhile/geom"
)

func TestRayExamples(t *testing.T) {
	east := Ray{From: Vec2{0, 0}, Dir: 0, Len: 10}
	inf, nan := math.Inf(1), math.NaN()
	type answer struct {
		dist float64
		ok   bool
	}
	of := func(dist float64, ok bool) answer { return answer{dist, ok} }
	for _, c := range []struct {
		name string
		got  answer
		want answer
	}{
		{"circle ahead", of(east.Circle(Vec2{5, 0}, 1)), answer{4, true}},
		{"circle touched in passing", of(east.Circle(Vec2{5, 1}, 1)), answer{5, true}},
		{"circle missed", of(east.Circle(Vec2{5, 1.01}, 1)), answer{10, false}},
		{"circle behind", of(east.Circle(Vec2{-5, 0}, 1)), answer{10, false}},
		{"circle around the beginning", of(east.Circle(Vec2{0.5, 0}, 1)), answer{0, true}},
		{"circle beyond the end", of(east.Circle(Vec2{12, 0}, 1)), answer{10, false}},
		{"circle at the end", of(east.Circle(Vec2{11, 0}, 1)), answer{10, true}},
		{"circle of negative radius", of(east.Circle(Vec2{5, 0}, -1)), answer{10, false}},
		{"circle of radius NaN", of(east.Circle(Vec2{5, 0}, nan)), answer{10, false}},
		{"circle at NaN", of(east.Circle(Vec2{nan, 0}, 1)), answer{10, false}},
		{"far circle, endless ray", of(Ray{Len: inf}.Circle(Vec2{1e12, 0}, 1)), answer{1e12 - 1, true}},
		{"negative length", of(Ray{Len: -1}.Circle(Vec2{0, 0}, 1)), answer{-1, false}},
		{"no length, inside", of(Ray{}.Circle(Vec2{0, 0}, 1)), answer{0, true}},
		{"no direction", of(Ray{Dir: Angle(nan), Len: 5}.Circle(Vec2{3, 0}, 1)), answer{5, false}},
		{"rect ahead", of(east.Rect(Rect{Vec2{3, -1}, Vec2{4, 1}})), answer{3, true}},
		{"rect along its edge", of(east.Rect(Rect{Vec2{3, 0}, Vec2{4, 1}})), answer{3, true}},
		{"rect beside", of(east.Rect(Rect{Vec2{3, 0.1}, Vec2{4, 1}})), answer{10, false}},
		{"rect behind", of(east.Rect(Rect{Vec2{-3, -1}, Vec2{-2, 1}})), answer{10, false}},
		{"rect around", of(east.Rect(Rect{Vec2{-3, -1}, Vec2{2, 1}})), answer{0, true}},
		{"rect beyond", of(east.Rect(Rect{Vec2{11, -1}, Vec2{12, 1}})), answer{10, false}},
		{"rect with NaN", of(east.Rect(Rect{Vec2{nan, -1}, Vec2{12, 1}})), answer{10, false}},
		{"rect of no width", of(east.Rect(Rect{Vec2{4, -1}, Vec2{4, 1}})), answer{4, true}},
		{"segment across", of(east.Segment(Segment{Vec2{4, -1}, Vec2{6, 1}})), answer{5, true}},
		{"segment touched", of(east.Segment(Segment{Vec2{4, 0}, Vec2{6, 1}})), answer{4, true}},
		{"segment short of it", of(east.Segment(Segment{Vec2{4, 0.1}, Vec2{6, 1}})), answer{10, false}},
		{"segment along", of(east.Segment(Segment{Vec2{6, 0}, Vec2{4, 0}})), answer{4, true}},
		{"segment along, around the beginning", of(east.Segment(Segment{Vec2{6, 0}, Vec2{-4, 0}})), answer{0, true}},
		{"segment along, behind", of(east.Segment(Segment{Vec2{-6, 0}, Vec2{-4, 0}})), answer{10, false}},
		{"segment beyond", of(east.Segment(Segment{Vec2{11, -1}, Vec2{11, 1}})), answer{10, false}},
		{"segment behind", of(east.Segment(Segment{Vec2{-1, -1}, Vec2{-1, 1}})), answer{10, false}},
		{"segment of a negative ray", of(Ray{Len: -2}.Segment(Segment{Vec2{0, 0}, Vec2{0, 0}})), answer{-2, false}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if e := (Ray{From: Vec2{1, 1}, Dir: Pi / 2, Len: 3}).End(); !near(e.X, 1, 1e-15) || e.Y != 4 {
		t.Errorf("End = %v", e)
	}
	if r := RayTo(Vec2{1, 1}, Vec2{1, 1}); r.Len != 0 || r.End() != (Vec2{1, 1}) {
		t.Errorf("the ray to its own beginning is %v", r)
	}
}

// walk is the obvious way to find where a ray meets something: along it in small steps, then
// halving the step in which it went in. Steps may jump over thin parts.
func walk(length float64, inside func(d float64) bool) (dist float64, ok bool) {
	const steps = 2000
	if inside(0) {
		return 0, true
	}
	for i := range steps {
		a, b := length*float64(i)/steps, length*float64(i+1)/steps
		if !inside(b) {
			continue
		}
		for range 60 {
			if m := (a + b) / 2; inside(m) {
				b = m
			} else {
				a = m
			}
		}
		return b, true
	}
	return length, false
}

// agree compares a result with that of walk: walk never finds more, and what it finds is at most
// one of its steps later.
func agree(t *rapid.T, what string, length float64, inside func(d, margin float64) bool, dist float64, ok bool) {
	t.Helper()
	walked, found := walk(length, func(d float64) bool { return inside(d, 0) })
	if found && !ok {
		// rounding may decide otherwise about what is merely touched
		if _, deep := walk(length, func(d float64) bool { return inside(d, -1e-9) }); deep {
			t.Errorf("%s: missed what lies at %v", what, walked)
		}
		return
	}
	if !ok {
		if dist != length {
			t.Errorf("%s: a miss reports %v, not the length %v", what, dist, length)
		}
		return
	}
	if !(dist >= 0 && dist <= length) || !inside(dist, 1e-9) {
		t.Errorf("%s: nothing at %v", what, dist)
	}
	if found && dist > walked+1e-9 {
		// Nor is rounding wrong about where something begins that is merely touched: a circle runs
		// along the ray there, and 1e-16 across are 1e-8 along. All between the two is touched and
		// no more.
		const touched = 1e-13
		for i := range 1000 {
			if d := walked + (dist-1e-9-walked)*float64(i)/1000; inside(d, -touched) {
				t.Errorf("%s: at %v, but it begins at %v, and is deep inside at %v", what, dist, walked, d)
				break
			}
		}
	}
	if before := dist - 1e-6*(1+dist); before > 0 && inside(before, -1e-5) {
		t.Errorf("%s: at %v, which is already inside", what, dist)
	}
}

func TestRayProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Ray{vec2().Draw(t, "from"), angle().Draw(t, "dir"), rapid.Float64Range(0, 50).Draw(t, "len")}
		c, b, s := circle().Draw(t, "circle"), rect().Draw(t, "rect"), segment().Draw(t, "segment")

		dist, ok := r.Circle(c.Center, c.Radius)
		agree(t, "circle", r.Len, func(d, margin float64) bool { return r.At(d).Dist(c.Center) <= c.Radius+margin }, dist, ok)
		dist, ok = r.Rect(b)
		agree(t, "rect", r.Len, func(d, margin float64) bool {
			p := r.At(d)
			return p.X >= b.Min.X-margin && p.X <= b.Max.X+margin && p.Y >= b.Min.Y-margin && p.Y <= b.Max.Y+margin
		}, dist, ok)
		if dist, ok = r.Segment(s); ok {
			if p := r.At(dist); s.Closest(p).Dist(p) > 1e-9 {
				t.Errorf("segment: nothing at %v", dist)
			}
		} else {
			a, b := s.A.Sub(r.From), s.B.Sub(r.From)
			d := r.Dir.Dir()
			if d.Cross(a)*d.Cross(b) < -1e-9 { // the ends lie on both sides of the line
				e := s.B.Sub(s.A)
				if at := a.Cross(e) / d.Cross(e); at > 1e-9 && at < r.Len-1e-9 {
					t.Errorf("segment: missed at %v", at)
				}
			}
		}
		if to := RayTo(r.From, s.A); to.End().Dist(s.A) > 1e-13 {
			t.Errorf("RayTo ends %v off", to.End().Dist(s.A))
		}
		q := r.Closest(s.A)
		for i := range 50 {
			if other := r.At(r.Len * float64(i) / 50); other.Dist(s.A) < q.Dist(s.A)-1e-12 {
				t.Errorf("%v is nearer than Closest", other)
			}
		}
		if w := (Walls{Rects: []Rect{b}, Segments: []Segment{s}, Circles: []Circle{c}}); true {
			least, any := r.Len, false
			for _, f := range []func() (float64, bool){
				func() (float64, bool) { return r.Circle(c.Center, c.Radius) },
				func() (float64, bool) { return r.Rect(b) },
				func() (float64, bool) { return r.Segment(s) },
			} {
				if d, ok := f(); ok {
					least, any = min(least, d), true
				}
			}
			if d, ok := w.Ray(r); d != least || ok != any {
				t.Errorf("walls at %v, %v; the nearest is at %v, %v", d, ok, least, any)
			}
		}
	})
}

// No ray leaves a closed polygon, not even through its corners.
func TestRaySegmentsAreTight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 9).Draw(t, "corners")
		center, turn := vec2().Draw(t, "center"), angle().Draw(t, "turn")
		var corners []Vec2
		for i := range n {
			corners = append(corners, center.Add((turn + Turn*Angle(i)/Angle(n)).Dir().Mul(5)))
		}
		var w Walls
		for i := range n {
			w.Segments = append(w.Segments, Segment{corners[i], corners[(i+1)%n]})
		}
		for _, target := range corners {
			r := RayTo(center, target)
			r.Len = 1000
			if d, ok := w.Ray(r); !ok || d > 5.0001 {
				t.Errorf("a ray from %v through the corner %v gets out", center, target)
			}
		}
		r := Ray{center, angle().Draw(t, "dir"), 1000}
		if d, ok := w.Ray(r); !ok || d > 5.0001 {
			t.Errorf("a ray from %v gets out", center)
		}
	})
}

func TestRay3Examples(t *testing.T) {
	east := Ray3{From: Vec3{0, 0, 1}, Dir: Vec3{1, 0, 0}, Len: 10}
	down := Ray3{From: Vec3{0, 0, 10}, Dir: Vec3{0, 0, -1}, Len: 100}
	slope := Ray3{From: Vec3{0, 0, 5}, Dir: Vec3{0.8, 0, -0.6}, Len: 100}
	type answer struct {
		dist float64
		ok   bool
	}
	of := func(dist float64, ok bool) answer { return answer{dist, ok} }
	nan := math.NaN()
	for _, c := range []struct {
		name      string
		got, want answer
	}{
		{"cylinder ahead", of(east.Cylinder(Vec3{5, 0, 0}, 0.5, 2)), answer{4.5, true}},
		{"cylinder below", of(east.Cylinder(Vec3{5, 0, -3}, 0.5, 2)), answer{10, false}},
		{"cylinder above", of(east.Cylinder(Vec3{5, 0, 1.1}, 0.5, 2)), answer{10, false}},
		{"cylinder touched at its top", of(east.Cylinder(Vec3{5, 0, -1}, 0.5, 2)), answer{4.5, true}},
		{"cylinder behind", of(east.Cylinder(Vec3{-5, 0, 0}, 0.5, 2)), answer{10, false}},
		{"cylinder around the beginning", of(east.Cylinder(Vec3{0.3, 0, 0}, 0.5, 2)), answer{0, true}},
		{"cylinder beyond", of(east.Cylinder(Vec3{11, 0, 0}, 0.5, 2)), answer{10, false}},
		{"cylinder of negative radius", of(east.Cylinder(Vec3{5, 0, 0}, -0.5, 2)), answer{10, false}},
		{"cylinder of negative height", of(east.Cylinder(Vec3{5, 0, 2}, 0.5, -2)), answer{10, false}},
		{"cylinder of radius NaN", of(east.Cylinder(Vec3{5, 0, 0}, nan, 2)), answer{10, false}},
		{"cylinder from above", of(down.Cylinder(Vec3{0.3, 0, 0}, 0.5, 2)), answer{8, true}},
		{"cylinder beside, from above", of(down.Cylinder(Vec3{0.6, 0, 0}, 0.5, 2)), answer{100, false}},
		{"cylinder through the lid", of(slope.Cylinder(Vec3{4, 0, 0}, 1, 2)), answer{5, true}}, // 5 - 0.6·5 = 2 at x = 4
		{"sphere", of(east.Sphere(Vec3{5, 0, 1}, 1)), answer{4, true}},
		{"sphere around", of(east.Sphere(Vec3{0, 0, 1}, 1)), answer{0, true}},
		{"sphere missed", of(east.Sphere(Vec3{5, 0, 2.1}, 1)), answer{10, false}},
		{"sphere behind", of(east.Sphere(Vec3{-5, 0, 1}, 1)), answer{10, false}},
		{"sphere beyond", of(east.Sphere(Vec3{12, 0, 1}, 1)), answer{10, false}},
		{"box", of(east.Box(Rect{Vec2{3, -1}, Vec2{4, 1}}.Box(0, 2))), answer{3, true}},
		{"box too low", of(east.Box(Rect{Vec2{3, -1}, Vec2{4, 1}}.Box(0, 0.9))), answer{10, false}},
		{"box from above", of(down.Box(Rect{Vec2{-3, -1}, Vec2{4, 1}}.Box(0, 3))), answer{7, true}},
		{"ground", of(down.Ground(0)), answer{10, true}},
		{"ground on a slope", of(slope.Ground(2)), answer{5, true}},
		{"ground of a level ray", of(east.Ground(0)), answer{10, false}},
		{"ground above", of(east.Ground(3)), answer{0, true}},
		{"ground too far", of(Ray3{From: Vec3{0, 0, 9}, Dir: Vec3{0, 0, -1}, Len: 5}.Ground(0)), answer{5, false}},
		{"negative length", of(Ray3{Dir: Vec3{1, 0, 0}, Len: -1}.Cylinder(Vec3{}, 1, 1)), answer{-1, false}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestRay3Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Ray3{
			vec3().Draw(t, "from"),
			Direction(angle().Draw(t, "yaw"), angle().Draw(t, "pitch")),
			rapid.Float64Range(0, 50).Draw(t, "len"),
		}
		base := vec3().Draw(t, "base")
		radius, height := rapid.Float64Range(0, 6).Draw(t, "radius"), rapid.Float64Range(0, 8).Draw(t, "height")
		box := rect().Draw(t, "rect").Box(base.Z, base.Z+height)

		dist, ok := r.Cylinder(base, radius, height)
		agree(t, "cylinder", r.Len, func(d, margin float64) bool {
			p := r.At(d)
			return p.Sub(base).XY().Len() <= radius+margin && p.Z >= base.Z-margin && p.Z <= base.Z+height+margin
		}, dist, ok)
		dist, ok = r.Sphere(base, radius)
		agree(t, "sphere", r.Len, func(d, margin float64) bool { return r.At(d).Dist(base) <= radius+margin }, dist, ok)
		dist, ok = r.Box(box)
		agree(t, "box", r.Len, func(d, margin float64) bool {
			p, m := r.At(d), Vec3{margin, margin, margin}
			return Box{box.Min.Sub(m), box.Max.Add(m)}.Contains(p)
		}, dist, ok)
		dist, ok = r.Ground(base.Z)
		agree(t, "ground", r.Len, func(d, margin float64) bool { return r.At(d).Z <= base.Z+margin }, dist, ok)

		if to := Ray3To(r.From, base); to.End().Dist(base) > 1e-13 {
			t.Errorf("Ray3To ends %v off", to.End().Dist(base))
		}
		q := r.Closest(base)
		for i := range 50 {
			if other := r.At(r.Len * float64(i) / 50); other.Dist(base) < q.Dist(base)-1e-12 {
				t.Errorf("%v is nearer than Closest", other)
			}
		}

		// On the flat, a cylinder is a circle.
		flat := Ray{r.From.XY(), r.Dir.Yaw(), r.Len}
		level := Ray3{r.From.XY().At(1), flat.Dir.Dir().At(0), r.Len}
		d2, ok2 := flat.Circle(base.XY(), radius)
		d3, ok3 := level.Cylinder(base.XY().At(0), radius, 2)
		if ok2 != ok3 && math.Abs(flat.Closest(base.XY()).Dist(base.XY())-radius) > 1e-9 ||
			ok2 && ok3 && !near(d2, d3, 1e-6) {
			t.Errorf("circle at %v %v, cylinder at %v %v", d2, ok2, d3, ok3)
		}
	})
}
