package geom_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	. "meanwhile/geom"
)

func TestSweepExamples(t *testing.T) {
	c := Circle{Vec2{0, 0}, 1}
	wall := Rect{Vec2{3, -2}, Vec2{5, 2}}
	pillar := Circle{Vec2{0, 5}, 2}
	fence := Segment{Vec2{-4, -3}, Vec2{4, -3}}
	type answer struct {
		hit Hit
		ok  bool
	}
	of := func(h Hit, ok bool) answer {
		if !ok {
			h = Hit{}
		}
		return answer{h, ok}
	}
	miss := answer{}
	for _, x := range []struct {
		name      string
		got, want answer
	}{
		{"rect head-on", of(c.SweepRect(Vec2{4, 0}, wall)), answer{Hit{0.5, Vec2{-1, 0}}, true}},
		{"rect too far", of(c.SweepRect(Vec2{1.9, 0}, wall)), miss},
		{"rect reached exactly", of(c.SweepRect(Vec2{2, 0}, wall)), answer{Hit{1, Vec2{-1, 0}}, true}},
		{"rect away", of(c.SweepRect(Vec2{-4, 0}, wall)), miss},
		{"rect touched, away", of(Circle{Vec2{2, 0}, 1}.SweepRect(Vec2{-4, 0}, wall)), miss},
		{"rect touched, along", of(Circle{Vec2{2, 0}, 1}.SweepRect(Vec2{0, 4}, wall)), miss},
		{"rect touched, into", of(Circle{Vec2{2, 0}, 1}.SweepRect(Vec2{4, 1}, wall)), answer{Hit{0, Vec2{-1, 0}}, true}},
		{"rect corner", of(Circle{Vec2{3, 5}, 1}.SweepRect(Vec2{0, -4}, Rect{Vec2{3, -2}, Vec2{5, 2}})),
			answer{Hit{0.5, Vec2{0, 1}}, true}},
		{"rect corner passed", of(Circle{Vec2{1.99, 5}, 1}.SweepRect(Vec2{0, -4}, wall)), miss},
		{"rect from inside, near the right", of(Circle{Vec2{4.9, 0}, 1}.SweepRect(Vec2{-4, 0}, wall)),
			answer{Hit{0, Vec2{1, 0}}, true}},
		{"rect from inside, out", of(Circle{Vec2{4.9, 0}, 1}.SweepRect(Vec2{4, 0}, wall)), miss},
		{"rect, not moving", of(c.SweepRect(Vec2{}, wall)), miss},
		{"circle", of(c.SweepCircle(Vec2{0, 4}, pillar)), answer{Hit{0.5, Vec2{0, -1}}, true}},
		{"circle beside", of(Circle{Vec2{3.1, 0}, 1}.SweepCircle(Vec2{0, 9}, pillar)), miss},
		{"circle overlapped, into", of(Circle{Vec2{0, 3}, 1}.SweepCircle(Vec2{0, 9}, pillar)),
			answer{Hit{0, Vec2{0, -1}}, true}},
		{"circle overlapped, out", of(Circle{Vec2{0, 3}, 1}.SweepCircle(Vec2{0, -9}, pillar)), miss},
		{"circle on the centre", of(Circle{Vec2{0, 5}, 1}.SweepCircle(Vec2{0, -9}, pillar)), miss},
		{"segment", of(c.SweepSegment(Vec2{1, -4}, fence)), answer{Hit{0.5, Vec2{0, 1}}, true}},
		{"segment from below", of(Circle{Vec2{0, -6}, 1}.SweepSegment(Vec2{0, 4}, fence)),
			answer{Hit{0.5, Vec2{0, -1}}, true}},
		{"segment end", of(Circle{Vec2{-8, -3}, 1}.SweepSegment(Vec2{6, 0}, fence)), answer{Hit{0.5, Vec2{-1, 0}}, true}},
		{"segment of a point", of(c.SweepSegment(Vec2{6, 0}, Segment{Vec2{4, 0}, Vec2{4, 0}})),
			answer{Hit{0.5, Vec2{-1, 0}}, true}},
		{"segment touched, into", of(Circle{Vec2{0, -2}, 1}.SweepSegment(Vec2{1, -1}, fence)),
			answer{Hit{0, Vec2{0, 1}}, true}},
		{"segment touched, out", of(Circle{Vec2{0, -2}, 1}.SweepSegment(Vec2{1, 1}, fence)), miss},
		{"segment, centre on it", of(Circle{Vec2{0, -3}, 1}.SweepSegment(Vec2{1, 1}, fence)),
			answer{Hit{0, Vec2{0, -1}}, true}},
		{"negative radius", of(Circle{Vec2{0, 0}, -1}.SweepRect(Vec2{4, 0}, wall)), miss},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, want %v", x.name, x.got, x.want)
		}
	}
}

// distances of a point from walls, the obvious way
func toRect(p Vec2, r Rect) float64       { return r.Clamp(p).Dist(p) }
func toSegment(p Vec2, s Segment) float64 { return s.Closest(p).Dist(p) }
func toCircle(p Vec2, c Circle) float64   { return max(0, c.Center.Dist(p)-c.Radius) }

func clearance(p Vec2, w Walls) float64 {
	d := math.Inf(1)
	for _, r := range w.Rects {
		d = min(d, toRect(p, r))
	}
	for _, s := range w.Segments {
		d = min(d, toSegment(p, s))
	}
	for _, c := range w.Circles {
		d = min(d, toCircle(p, c))
	}
	return d
}

// The distance from a convex thing is convex along a line, so where it falls to the radius is
// found by halving; that is what a sweep must find.
func TestSweepProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, delta := circle().Draw(t, "c"), vec2().Draw(t, "delta")
		r, s, o := rect().Draw(t, "rect"), segment().Draw(t, "segment"), circle().Draw(t, "circle")
		hit, ok := c.SweepRect(delta, r)
		checkSweep(t, "rect", c, delta, hit, ok, func(p Vec2) float64 { return toRect(p, r) })
		hit, ok = c.SweepSegment(delta, s)
		checkSweep(t, "segment", c, delta, hit, ok, func(p Vec2) float64 { return toSegment(p, s) })
		hit, ok = c.SweepCircle(delta, o)
		checkSweep(t, "circle", c, delta, hit, ok, func(p Vec2) float64 { return toCircle(p, o) })

		first, any := c.SweepRect(delta, r)
		for _, f := range []func() (Hit, bool){
			func() (Hit, bool) { return c.SweepSegment(delta, s) },
			func() (Hit, bool) { return c.SweepCircle(delta, o) },
		} {
			if h, ok := f(); ok && (!any || h.Share < first.Share) {
				first, any = h, true
			}
		}
		w := Walls{[]Rect{r}, []Segment{s}, []Circle{o}}
		if h, ok := w.Sweep(c, delta); ok != any || ok && h != first {
			t.Errorf("walls at %v %v, the first of them at %v %v", h, ok, first, any)
		}
	})
}

func checkSweep(t *rapid.T, what string, c Circle, delta Vec2, hit Hit, ok bool, distance func(Vec2) float64) {
	t.Helper()
	at := func(share float64) Vec2 { return c.Center.Add(delta.Mul(share)) }
	if ok && (!near(hit.Normal.Len(), 1, 1e-15) || hit.Share < 0 || hit.Share > 1 || hit.Normal.Dot(delta) >= 0) {
		t.Errorf("%s: hit %v for a movement of %v", what, hit, delta)
	}
	if distance(c.Center) <= c.Radius {
		if ok && hit.Share != 0 {
			t.Errorf("%s: overlaps from the beginning, hit at %v", what, hit.Share)
		}
		if closer := distance(at(1e-3)) - distance(c.Center); !ok && closer < -1e-6*delta.Len() && distance(c.Center) > 0 {
			t.Errorf("%s: may go %v further in", what, -closer)
		}
		return
	}
	if !ok {
		lo, hi := 0.0, 1.0 // the least distance, by thirds
		for range 200 {
			a, b := (2*lo+hi)/3, (lo+2*hi)/3
			if distance(at(a)) < distance(at(b)) {
				hi = b
			} else {
				lo = a
			}
		}
		if least := min(distance(at(lo)), distance(at(1))); least < c.Radius-1e-9 {
			t.Errorf("%s: missed, although it goes %v deep", what, c.Radius-least)
		}
		return
	}
	if d := distance(at(hit.Share)); !near(d, c.Radius, 1e-9) {
		t.Errorf("%s: hit at distance %v, radius %v", what, d, c.Radius)
	}
	if d := distance(at(hit.Share * 0.99)); d < c.Radius-1e-9 {
		t.Errorf("%s: hit at %v, but inside before that", what, hit.Share)
	}
	if d := distance(at(hit.Share).Add(hit.Normal.Mul(1e-3))); d < c.Radius+0.9e-3 {
		t.Errorf("%s: normal %v does not lead away", what, hit.Normal)
	}
}

func TestSlideExamples(t *testing.T) {
	room := []Rect{ // inside 0..10, walls 1 thick
		{Vec2{-1, -1}, Vec2{11, 0}}, {Vec2{-1, 10}, Vec2{11, 11}},
		{Vec2{-1, -1}, Vec2{0, 11}}, {Vec2{10, -1}, Vec2{11, 11}},
	}
	const r = 0.5
	const g = r + Skin
	nan := math.NaN()
	for _, c := range []struct {
		name       string
		pos, delta Vec2
		walls      []Rect
		want       Vec2
	}{
		{"no walls", Vec2{1, 1}, Vec2{3, 4}, nil, Vec2{4, 5}},
		{"free way", Vec2{1, 1}, Vec2{3, 4}, room, Vec2{4, 5}},
		{"head-on", Vec2{5, 5}, Vec2{100, 0}, room, Vec2{10 - g, 5}},
		{"slanted: slides along", Vec2{5, 5}, Vec2{8, 2}, room, Vec2{10 - g, 7}},
		{"into the corner", Vec2{5, 5}, Vec2{100, 90}, room, Vec2{10 - g, 10 - g}},
		{"standing", Vec2{5, 5}, Vec2{}, room, Vec2{5, 5}},
		{"standing at the wall", Vec2{9.5, 5}, Vec2{}, room, Vec2{9.5, 5}},
		{"standing in the gap", Vec2{9.5 - Skin/2, 5}, Vec2{}, room, Vec2{9.5 - Skin/2, 5}},
		{"pressing in the outer half of the gap", Vec2{9.5 - Skin*3/4, 5}, Vec2{1, 1}, room, Vec2{9.5 - Skin*3/4, 6}},
		{"pressing in the inner half of the gap", Vec2{9.5 - Skin/4, 5}, Vec2{1, 1}, room, Vec2{10 - g, 6}},
		{"not into a door as wide as itself", Vec2{5, 5}, Vec2{0, 3}, door(2 * r), Vec2{5, 6 - math.Sqrt(g*g-r*r)}},
		{"through a door with the gaps", Vec2{5, 5}, Vec2{0, 3}, door(2*g + 1e-12), Vec2{5, 8}},
		{"along a corridor as wide as itself", Vec2{5, 5}, Vec2{0.5, 3},
			[]Rect{{Vec2{0, 0}, Vec2{4.5, 9}}, {Vec2{5.5, 0}, Vec2{9, 9}}}, Vec2{5, 8}},
		{"pushed out of a wall", Vec2{9.8, 5}, Vec2{}, room, Vec2{10 - g, 5}},
		{"pushed out of a corner", Vec2{9.8, 0.1}, Vec2{}, room, Vec2{10 - g, g}},
		{"pushed out, then moved", Vec2{9.8, 5}, Vec2{-1, 1}, room, Vec2{9 - g, 6}},
		{"along a wall of tiles", Vec2{0, g}, Vec2{10, -3}, tiles(0, 12), Vec2{10, g}},
		{"past an outer corner", Vec2{-1, 0}, Vec2{3, 0}, []Rect{{Vec2{0, -5}, Vec2{1, -0.6}}}, Vec2{2, 0}},
		{"negative radius is nothing", Vec2{1, 1}, Vec2{3, 4}, room, Vec2{4, 5}},
		{"NaN", Vec2{1, 1}, Vec2{nan, 4}, room, Vec2{1, 1}},
		{"Inf", Vec2{1, 1}, Vec2{math.Inf(1), 4}, room, Vec2{1, 1}},
	} {
		if got := Slide(c.pos, c.delta, r, c.walls); !near(got.X, c.want.X, 1e-12) || !near(got.Y, c.want.Y, 1e-12) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := Slide(Vec2{1, 1}, Vec2{1, 1}, -1, room); got != (Vec2{1, 1}) {
		t.Errorf("a negative radius moves to %v", got)
	}
	if got := Slide(Vec2{1, 1}, Vec2{1, 1}, nan, room); got != (Vec2{1, 1}) {
		t.Errorf("a radius of NaN moves to %v", got)
	}
	pillar := Walls{Circles: []Circle{{Vec2{0, 0}, 1}}}
	if got := pillar.Slide(Vec2{0, 0}, Vec2{}, r); got != (Vec2{1 + g, 0}) {
		t.Errorf("pushed out of the middle of a pillar to %v", got)
	}
	fence := Walls{Segments: []Segment{{Vec2{-1, 0}, Vec2{1, 0}}}}
	if got := fence.Slide(Vec2{0, 0}, Vec2{}, r); got != (Vec2{0, g}) {
		t.Errorf("pushed off a fence to %v", got)
	}
	if got := fence.Slide(Vec2{-2, 2}, Vec2{5, -5}, r); !near(got.Y, g, 1e-12) || !near(got.X, 3, 1e-12) {
		t.Errorf("slid along a fence to %v", got)
	}
}

// door is a wall from y = 6 to 7 with an opening around x = 5.
func door(width float64) []Rect {
	return []Rect{{Vec2{0, 6}, Vec2{5 - width/2, 7}}, {Vec2{5 + width/2, 6}, Vec2{9, 7}}}
}

// tiles is a floor below y = 0 of n tiles side by side.
func tiles(from, n int) (walls []Rect) {
	for i := range n {
		walls = append(walls, Rect{Vec2{float64(from + i), -1}, Vec2{float64(from + i + 1), 0}})
	}
	return walls
}

// grid rounds as a simulation does after each step: to 1/256 mm.
func grid(v Vec2) Vec2 {
	return Vec2{math.Round(v.X*256000) / 256000, math.Round(v.Y*256000) / 256000}
}

// Where nothing pinches it, rounding after each step never moves a circle into the wall along
// which it walks.
func TestSlideKeepsTheGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turn, center := angle().Draw(t, "turn"), vec2().Draw(t, "center")
		along := turn.Dir()
		w := rapid.SampledFrom([]Walls{
			{Segments: []Segment{{center.Sub(along.Mul(100)), center.Add(along.Mul(100))}}},
			{Circles: []Circle{{center, 3}}},
			{Rects: []Rect{{center, center.Add(Vec2{2, 3})}}},
		}).Draw(t, "wall")
		const r = 0.4
		pos := grid(w.Free(center.Add(along.Perp().Mul(0.1)), r))
		slant := rapid.Float64Range(-3, 0).Draw(t, "slant")
		for i := range 300 {
			if c := clearance(pos, w); c < r {
				t.Fatalf("step %d: %v is %v deep in the wall", i, pos, r-c)
			}
			pos = grid(w.Slide(pos, along.Add(along.Perp().Mul(slant)).Mul(0.05), r))
		}
	})
}

// A long walk among walls of all shapes, rounded to the grid after each step, never ends up in a
// wall, never goes through one and never farther than it wants.
func TestSlideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Walls{
			Rects:    rapid.SliceOfN(rect(), 0, 5).Draw(t, "rects"),
			Segments: rapid.SliceOfN(segment(), 0, 4).Draw(t, "segments"),
			Circles:  rapid.SliceOfN(circle(), 0, 3).Draw(t, "circles"),
		}
		r := rapid.SampledFrom([]float64{0.3, 0.5, 1, 0.0625}).Draw(t, "radius")
		rand := NewRand(rapid.Uint64().Draw(t, "seed"))
		pos := grid(w.Free(vec2().Draw(t, "pos"), r))
		if clearance(pos, w) < r {
			t.Skip("nowhere to stand")
		}
		for i := range 60 {
			delta := rand.Dir().Mul(Exp(rand.Range(-7, 3)))
			if i%7 == 3 { // straight at a wall, along it, or not at all
				delta = []Vec2{{0.1, 0}, {0, -0.1}, {}, {-3, 3}}[rand.IntN(4)]
			}
			next := w.Slide(pos, delta, r)
			if next.Dist(pos) > delta.Len()+Skin+1e-9 {
				t.Fatalf("step %d: from %v by %v to %v, which is too far", i, pos, delta, next)
			}
			if c := clearance(next, w); c < r-1e-8 {
				t.Fatalf("step %d: from %v by %v to %v, %v deep in a wall", i, pos, delta, next, r-c)
			}
			if delta == (Vec2{}) && next != pos {
				t.Fatalf("step %d: moved from %v to %v without wanting to", i, pos, next)
			}
			if again := w.Slide(pos, delta, r); again != next {
				t.Fatalf("step %d: %v and then %v", i, next, again)
			}
			if free := clearance(pos, w) - r - Skin; free > delta.Len()+1e-12 && next != pos.Add(delta) {
				t.Fatalf("step %d: from %v by %v to %v, although nothing is near", i, pos, delta, next)
			}
			pos = grid(next)
			if c := clearance(pos, w); c < r && clearance(next, w) > r+Skin/4 {
				t.Fatalf("step %d: rounding moved %v into a wall by %v", i, next, r-c)
			}
		}
	})
}

// Nobody leaves a closed room, at any speed, by any path.
func TestSlideKeepsInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Float64Range(3, 10).Draw(t, "size")
		thin := rapid.SampledFrom([]float64{0, 0.001, 1}).Draw(t, "thickness")
		room := []Rect{
			{Vec2{0, -thin}, Vec2{size, 0}}, {Vec2{0, size}, Vec2{size, size + thin}},
			{Vec2{-thin, 0}, Vec2{0, size}}, {Vec2{size, 0}, Vec2{size + thin, size}},
		}
		corners := []Vec2{{0, 0}, {size, 0}, {size, size}, {0, size}}
		fence := Walls{}
		for i := range corners {
			fence.Segments = append(fence.Segments, Segment{corners[i], corners[(i+1)%4]})
		}
		pillars := Walls{Circles: []Circle{{Vec2{size / 2, size / 2}, 0.2}}}
		const r = 0.4
		inside := Rect{Max: corners[2]}.Expand(-r)
		rand := NewRand(rapid.Uint64().Draw(t, "seed"))
		a, b, c := Vec2{size / 3, size / 2}, Vec2{size / 3, size / 2}, Vec2{size / 2, 2*size/2 - 1}
		for range 100 {
			delta := rand.Dir().Mul(Exp(rand.Range(-5, 6)))
			a, b, c = grid(Slide(a, delta, r, room)), grid(fence.Slide(b, delta, r)), pillars.Slide(c, delta, r)
			if !inside.Contains(a) || !inside.Contains(b) {
				t.Fatalf("out of the room: %v, %v", a, b)
			}
			if c.Dist(pillars.Circles[0].Center) < 0.2+r-1e-8 {
				t.Fatalf("in the pillar: %v", c)
			}
		}
	})
}

// Sliding along a wall keeps the whole speed along it, also over the joints of tiles and after
// positions were rounded.
func TestSlideIsSmooth(t *testing.T) {
	const r, step = 0.5, 0.15
	for _, slope := range []float64{0, -0.01, -1, -50} {
		t.Run(fmt.Sprint("slope=", slope), func(t *testing.T) {
			floor := tiles(-5, 60)
			pos := grid(Slide(Vec2{0.01, 0.7}, Vec2{0, -1}, r, floor))
			for range 300 {
				next := grid(Slide(pos, Vec2{step, slope * step}, r, floor))
				if got := next.X - pos.X; !near(got, step, 1e-5) || !near(next.Y, r+Skin, 1e-5) {
					t.Fatalf("from %v to %v: %v along the wall, expected %v", pos, next, got, step)
				}
				pos = next
			}
		})
	}
	// Around a pillar: the way is along the tangent, so that it never stops dead unless head-on.
	pillar := Walls{Circles: []Circle{{Vec2{0, 0}, 2}}}
	pos, moved := Vec2{-4, 0.01}, 0
	for range 400 {
		next := grid(pillar.Slide(pos, Vec2{0.05, 0}, r))
		if next != pos {
			moved++
		}
		pos = next
	}
	if pos.X < 2 || moved < 400 {
		t.Errorf("got to %v around the pillar in %d moves", pos, moved)
	}
}

func TestFree(t *testing.T) {
	// Between walls nearer than the circle is wide there is no place: it must end, and stay finite.
	w := Walls{Rects: []Rect{{Vec2{-5, 0}, Vec2{5, 1}}, {Vec2{-5, 1.5}, Vec2{5, 2.5}}}}
	if p := w.Free(Vec2{0, 1.2}, 0.4); p != (Vec2{0, 1.2}) && clearance(p, w) < 0.2 {
		t.Errorf("Free = %v", p)
	}
	rapid.Check(t, func(t *rapid.T) {
		r, p := rect().Draw(t, "rect"), vec2().Draw(t, "p")
		radius := rapid.Float64Range(0.1, 2).Draw(t, "radius")
		w := Walls{Rects: []Rect{r}}
		q := w.Free(p, radius)
		if d := toRect(q, r); d < radius {
			t.Errorf("Free left %v at distance %v, radius %v", q, d, radius)
		}
		if toRect(p, r) > radius && q != p {
			t.Errorf("Free moved %v to %v", p, q)
		}
	})
}
