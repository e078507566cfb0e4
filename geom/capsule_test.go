package geom_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	. "meanwhile/geom"
)

// nearest returns the least distance of the points of an axis from something convex, by thirds.
func nearest(s Segment, distance func(Vec2) float64) float64 {
	lo, hi := 0.0, 1.0
	for range 90 {
		a, b := (2*lo+hi)/3, (lo+2*hi)/3
		if distance(s.A.Lerp(s.B, a)) < distance(s.A.Lerp(s.B, b)) {
			hi = b
		} else {
			lo = a
		}
	}
	return min(distance(s.A.Lerp(s.B, lo)), distance(s.A), distance(s.B))
}

func genCapsule(t *rapid.T) Capsule {
	return Capsule{segment().Draw(t, "axis"), rapid.Float64Range(0.01, 6).Draw(t, "radius")}
}

func TestCapsuleExamples(t *testing.T) {
	c := Capsule{Segment{Vec2{0, 0}, Vec2{4, 0}}, 1}
	nan := Capsule{c.Axis, math.NaN()}
	for _, x := range []struct {
		name      string
		got, want bool
	}{
		{"a point beside it", c.Contains(Vec2{2, 1}), true},
		{"a point at the round end", c.Contains(Vec2{4.8, 0.7}), false},
		{"no radius holds nothing", nan.Contains(Vec2{2, 0}), false},
		{"crossing", c.Overlaps(Capsule{Segment{Vec2{2, -9}, Vec2{2, 9}}, 0}), true},
		{"side by side", c.Overlaps(Capsule{Segment{Vec2{0, 3}, Vec2{4, 3}}, 2}), true},
		{"end to end, apart", c.Overlaps(Capsule{Segment{Vec2{7, 0}, Vec2{9, 0}}, 1}), false},
		{"overlaps nothing without a radius", c.Overlaps(nan), false},
		{"circle", c.OverlapsCircle(Circle{Vec2{6, 0}, 1}), true},
		{"circle at the corner", c.OverlapsCircle(Circle{Vec2{5.5, 1.5}, 1}), false},
		{"negative circle", c.OverlapsCircle(Circle{Vec2{2, 0}, -0.5}), false},
		{"rect around it", c.OverlapsRect(Rect{Vec2{-9, -9}, Vec2{9, 9}}), true},
		{"rect crossed in the middle", c.OverlapsRect(Rect{Vec2{1, -9}, Vec2{1.5, 9}}), true},
		{"rect at the corner", c.OverlapsRect(Rect{Vec2{4.8, 0.8}, Vec2{9, 9}}), false},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v", x.name, x.got)
		}
	}
	for _, x := range []struct {
		name string
		r    Ray
		dist float64
		ok   bool
	}{
		{"onto the side", Ray{Vec2{1, 5}, -Pi / 2, 9}, 4, true},
		{"onto the end", Ray{Vec2{9, 0}, Pi, 9}, 4, true},
		{"from inside", Ray{Vec2{2, 0.5}, 1, 9}, 0, true},
		{"too short", Ray{Vec2{1, 5}, -Pi / 2, 3.9}, 3.9, false},
		{"past it", Ray{Vec2{-3, 1.01}, 0, 20}, 20, false},
	} {
		if dist, ok := x.r.Capsule(c); ok != x.ok || !near(dist, x.dist, 1e-9) {
			t.Errorf("ray %s: %v %v, want %v %v", x.name, dist, ok, x.dist, x.ok)
		}
	}
}

func TestCapsuleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, o := genCapsule(t), genCapsule(t)
		r, d, p := rect().Draw(t, "rect"), circle().Draw(t, "circle"), vec2().Draw(t, "p")
		agree := func(what string, got bool, distance, reach float64) {
			if got != (distance <= reach) && !near(distance, reach, 1e-6*(1+reach)) {
				t.Errorf("%s: %v at distance %v, within %v", what, got, distance, reach)
			}
		}
		agree("point", c.Contains(p), nearest(c.Axis, p.Dist), c.Radius)
		agree("circle", c.OverlapsCircle(d), nearest(c.Axis, d.Center.Dist), c.Radius+d.Radius)
		agree("rect", c.OverlapsRect(r), nearest(c.Axis, func(p Vec2) float64 { return toRect(p, r) }), c.Radius)
		agree("capsule", c.Overlaps(o), nearest(c.Axis, func(p Vec2) float64 { return toSegment(p, o.Axis) }),
			c.Radius+o.Radius)

		// The distance of points along a ray from a capsule is convex.
		ray := RayTo(vec2().Draw(t, "from"), p)
		dist, ok := ray.Capsule(c)
		way := nearest(Segment{ray.From, p}, func(p Vec2) float64 { return toSegment(p, c.Axis) })
		agree("ray", ok, way, c.Radius)
		if at := toSegment(ray.At(dist), c.Axis); ok && dist > 0 && !near(at, c.Radius, 1e-9*(1+ray.Len)) {
			t.Errorf("ray hits at %v, where the distance is %v of %v", dist, at, c.Radius)
		}
	})
}

func TestCapsuleSweepProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, delta := genCapsule(t), vec2().Draw(t, "delta")
		r, s, o := rect().Draw(t, "rect"), segment().Draw(t, "segment"), circle().Draw(t, "circle")
		from := Circle{c.Axis.A, c.Radius}
		// The distance of the axis, when its first end is at p, from a thing with the given corners:
		// the least of an end of the one from the other, apart from crossings.
		shifted := func(distance func(Vec2) float64, crosses func(Capsule) bool, corners ...Vec2) func(Vec2) float64 {
			return func(p Vec2) float64 {
				axis := Segment{p, c.Axis.B.Add(p.Sub(c.Axis.A))}
				if crosses(Capsule{axis, 0}) {
					return 0
				}
				d := min(distance(axis.A), distance(axis.B))
				for _, corner := range corners {
					d = min(d, toSegment(corner, axis))
				}
				return d
			}
		}
		hits := []struct {
			what     string
			hit      Hit
			ok       bool
			distance func(Vec2) float64
		}{{what: "rect"}, {what: "segment"}, {what: "circle"}}
		hits[0].hit, hits[0].ok = c.SweepRect(delta, r)
		hits[1].hit, hits[1].ok = c.SweepSegment(delta, s)
		hits[2].hit, hits[2].ok = c.SweepCircle(delta, o)
		hits[0].distance = shifted(func(p Vec2) float64 { return toRect(p, r) },
			func(c Capsule) bool { return c.OverlapsRect(r) }, r.Min, r.Max, Vec2{r.Min.X, r.Max.Y}, Vec2{r.Max.X, r.Min.Y})
		hits[1].distance = shifted(func(p Vec2) float64 { return toSegment(p, s) },
			func(c Capsule) bool { return c.Overlaps(Capsule{s, 0}) }, s.A, s.B)
		hits[2].distance = func(p Vec2) float64 {
			return max(0, toSegment(o.Center, Segment{p, c.Axis.B.Add(p.Sub(c.Axis.A))})-o.Radius)
		}
		first, any := Hit{}, false
		for _, h := range hits {
			checkSweep(t, h.what, from, delta, h.hit, h.ok, h.distance)
			if h.ok && (!any || h.hit.Share < first.Share) {
				first, any = h.hit, true
			}
		}
		w := Walls{[]Rect{r}, []Segment{s}, []Circle{o}}
		if h, ok := w.SweepCapsule(c, delta); ok != any || ok && h != first {
			t.Errorf("walls at %v %v, the first of them at %v %v", h, ok, first, any)
		}
	})
}

// A bat sweeps over a ball.
func ExampleCapsule() {
	bat := geomBat(Vec2{X: 0, Y: 0}, 30*Degree)
	fmt.Println(bat.OverlapsCircle(Circle{Center: Vec2{X: 0.8, Y: 0.5}, Radius: 0.1}))
	fmt.Println(bat.OverlapsCircle(Circle{Center: Vec2{X: 0.8, Y: -0.5}, Radius: 0.1}))
	// Output:
	// true
	// false
}

func geomBat(hand Vec2, aim Angle) Capsule {
	return Capsule{Segment{hand, hand.Add(aim.Dir())}, 0.05}
}

// A canoe drifts against a pier.
func ExampleWalls_SweepCapsule() {
	pier := Walls{Rects: []Rect{{Min: Vec2{X: 8, Y: -5}, Max: Vec2{X: 9, Y: 1}}}}
	canoe := Capsule{Axis: Segment{A: Vec2{X: -2, Y: 0}, B: Vec2{X: 2, Y: 0}}, Radius: 0.5}
	hit, ok := pier.SweepCapsule(canoe, Vec2{X: 11, Y: 0})
	fmt.Println(hit.Share, hit.Normal, ok)
	// Output:
	// 0.5 {-1 0} true
}
