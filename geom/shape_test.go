package geom_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	. "meanwhile/geom"
)

func rect() *rapid.Generator[Rect] {
	return rapid.Custom(func(t *rapid.T) Rect {
		a, b := vec2().Draw(t, "a"), vec2().Draw(t, "b")
		return Rect{Vec2{min(a.X, b.X), min(a.Y, b.Y)}, Vec2{max(a.X, b.X), max(a.Y, b.Y)}}
	})
}

func circle() *rapid.Generator[Circle] {
	return rapid.Custom(func(t *rapid.T) Circle {
		return Circle{vec2().Draw(t, "center"), rapid.Float64Range(0, 6).Draw(t, "radius")}
	})
}

func segment() *rapid.Generator[Segment] {
	return rapid.Custom(func(t *rapid.T) Segment { return Segment{vec2().Draw(t, "a"), vec2().Draw(t, "b")} })
}

func TestShapes(t *testing.T) {
	nan := math.NaN()
	r := Rect{Vec2{1, 2}, Vec2{5, 4}}
	box := r.Box(0, 3)
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"Contains corner", r.Contains(Vec2{5, 2}), true},
		{"Contains beside", r.Contains(Vec2{5.001, 2}), false},
		{"Contains NaN", r.Contains(Vec2{nan, 3}), false},
		{"Clamp inside", r.Clamp(Vec2{3, 3}), Vec2{3, 3}},
		{"Clamp outside", r.Clamp(Vec2{9, -9}), Vec2{5, 2}},
		{"Clamp NaN", r.Clamp(Vec2{nan, nan}), Vec2{1, 2}},
		{"Clamp Inf", r.Clamp(Vec2{math.Inf(1), math.Inf(-1)}), Vec2{5, 2}},
		{"Size", r.Size(), Vec2{4, 2}},
		{"Center", r.Center(), Vec2{3, 3}},
		{"Expand", r.Expand(1), Rect{Vec2{0, 1}, Vec2{6, 5}}},
		{"Expand inward", r.Expand(-0.5), Rect{Vec2{1.5, 2.5}, Vec2{4.5, 3.5}}},
		{"Expand beyond the centre", r.Expand(-1.5), Rect{Vec2{2.5, 3}, Vec2{3.5, 3}}},
		{"Overlaps", r.Overlaps(Rect{Vec2{5, 4}, Vec2{6, 6}}), true},
		{"Overlaps not", r.Overlaps(Rect{Vec2{5, 4.1}, Vec2{6, 6}}), false},
		{"Circle contains its edge", Circle{Vec2{0, 0}, 5}.Contains(Vec2{3, 4}), true},
		{"Circle of negative radius", Circle{Vec2{0, 0}, -1}.Contains(Vec2{0, 0}), false},
		{"Circles touch", Circle{Vec2{0, 0}, 2}.Overlaps(Circle{Vec2{3, 4}, 3}), true},
		{"Circles apart", Circle{Vec2{0, 0}, 2}.Overlaps(Circle{Vec2{3, 4}, 2.9}), false},
		{"Circle of radius NaN", Circle{Vec2{0, 0}, nan}.Overlaps(Circle{Vec2{0, 0}, 1}), false},
		{"Circle at a corner", Circle{Vec2{8, 8}, 5}.OverlapsRect(r), true},
		{"Circle off a corner", Circle{Vec2{8, 8}, 4.9}.OverlapsRect(r), false},
		{"Closest inside", Segment{Vec2{0, 0}, Vec2{10, 0}}.Closest(Vec2{4, 7}), Vec2{4, 0}},
		{"Closest end", Segment{Vec2{0, 0}, Vec2{10, 0}}.Closest(Vec2{14, 7}), Vec2{10, 0}},
		{"Closest of a point", Segment{Vec2{1, 1}, Vec2{1, 1}}.Closest(Vec2{4, 7}), Vec2{1, 1}},
		{"Box", box, Box{Vec3{1, 2, 0}, Vec3{5, 4, 3}}},
		{"Box contains its corner", box.Contains(Vec3{1, 4, 3}), true},
		{"Box contains not", box.Contains(Vec3{1, 4, 3.1}), false},
		{"Box clamps", box.Clamp(Vec3{0, 9, nan}), Vec3{1, 4, 0}},
		{"Box floor", box.Floor(), r},
		{"Box size", box.Size(), Vec3{4, 2, 3}},
		{"Box center", box.Center(), Vec3{3, 3, 1.5}},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestShapeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, o, p, d := rect().Draw(t, "r"), rect().Draw(t, "o"), vec2().Draw(t, "p"), coord().Draw(t, "d")
		q := r.Clamp(p)
		if !r.Contains(q) || r.Contains(p) && q != p {
			t.Errorf("Clamp = %v", q)
		}
		rand := NewRand(math.Float64bits(d))
		s := Segment{o.Min, o.Max}
		near := s.Closest(p)
		for range 20 { // nothing is nearer
			if other := r.Random(&rand); !r.Contains(other) || other.Dist(p) < q.Dist(p) {
				t.Errorf("%v is in %v and nearer to %v than %v", other, r, p, q)
			}
			if other := s.A.Lerp(s.B, rand.Float64()); other.Dist(p) < near.Dist(p)-1e-12 {
				t.Errorf("%v is on %v and nearer to %v than %v", other, s, p, near)
			}
		}
		e, size := r.Expand(d), r.Size()
		want := Vec2{max(0, size.X+2*d), max(0, size.Y+2*d)}
		if got := e.Size(); got.Dist(want) > 1e-13 || e.Center().Dist(r.Center()) > 1e-13 ||
			d >= 0 && r.Contains(p) && !e.Contains(p) {
			t.Errorf("Expand(%v) = %v", d, e)
		}
		if both := r.Overlaps(o); both != o.Overlaps(r) || both != o.Contains(r.Clamp(o.Center())) {
			t.Errorf("Overlaps = %v", both)
		}
		b := r.Box(min(d, 0), max(d, 0))
		if v := b.Clamp(p.At(d)); !b.Contains(v) || v.XY() != q {
			t.Errorf("Box.Clamp = %v", v)
		}
	})
}
