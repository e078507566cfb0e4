package geom_test

import (
	"encoding/binary"
	"math"
	"testing"

	. "meanwhile/geom"
)

// numbers reads float64s from b, any bits, and zeros when b is used up.
type numbers struct{ b []byte }

func (n *numbers) float() float64 {
	if len(n.b) < 8 {
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(n.b))
	n.b = n.b[8:]
	return f
}

func (n *numbers) vec2() Vec2       { return Vec2{n.float(), n.float()} }
func (n *numbers) vec3() Vec3       { return Vec3{n.float(), n.float(), n.float()} }
func (n *numbers) angle() Angle     { return Angle(n.float()) }
func (n *numbers) rect() Rect       { return Rect{n.vec2(), n.vec2()} }
func (n *numbers) circle() Circle   { return Circle{n.vec2(), n.float()} }
func (n *numbers) segment() Segment { return Segment{n.vec2(), n.vec2()} }

// hostile calls what takes numbers with numbers of any bits: nothing may panic or run on, and what
// is promised for every input must hold.
func hostile(t *testing.T, b []byte) {
	n := numbers{b}
	v, w, r, c, s, a, x := n.vec2(), n.vec2(), n.rect(), n.circle(), n.segment(), n.angle(), n.float()
	v3, w3 := n.vec3(), n.vec3()
	tame := true // all of a size that the package promises not to overflow
	for rest := (numbers{b}); len(rest.b) >= 8; {
		x := rest.float()
		tame = tame && math.Abs(x) <= 1e150
	}
	finite := func(what string, ok bool) {
		if tame && !ok {
			t.Errorf("%s is not finite, although the input is at most 1e150", what)
		}
	}

	for _, f := range []func(float64) float64{Sin, Cos} {
		if y := f(x); !(y >= -1 && y <= 1) && !math.IsNaN(x) && !math.IsInf(x, 0) {
			t.Errorf("sine or cosine of %v is %v", x, y)
		}
	}
	for _, f := range []func(x, y float64) float64{Atan2, Pow, Hypot} {
		f(x, v.X)
	}
	for _, f := range []func(float64) float64{Tan, Asin, Acos, Atan, Exp, Log, Sqrt} {
		f(x)
	}
	if got := a.Norm(); got == got && !(got > -Pi && got <= Pi) {
		t.Errorf("%v.Norm() = %v", a, got)
	}
	if got := a.Toward(Angle(x), Angle(v.X)); got == got && !(got > -Pi && got <= Pi) {
		t.Errorf("%v.Toward(%v, %v) = %v", a, x, v.X, got)
	}
	if got := v.Angle(); got == got && !(got > -Pi && got <= Pi) {
		t.Errorf("%v.Angle() = %v", v, got)
	}
	if u := v.Unit(); u == u && u != (Vec2{}) && !near(u.Len(), 1, 1e-15) {
		t.Errorf("%v.Unit() = %v", v, u)
	}
	if u := v3.Unit(); u == u && u != (Vec3{}) && !near(u.Len(), 1, 1e-15) {
		t.Errorf("%v.Unit() = %v", v3, u)
	}
	finite("Toward", v.Toward(w, x).Finite())
	finite("Limit", v.Limit(x).Finite())
	finite("Rotate", v.Rotate(a).Finite())
	finite("Vec3.Toward", v3.Toward(w3, x).Finite())
	finite("Vec3.Limit", v3.Limit(x).Finite())
	finite("Direction", Direction(v3.Yaw(), v3.Pitch()).Finite())
	finite("Closest", s.Closest(v).Finite())

	if p := r.Clamp(v); r.Min.X <= r.Max.X && r.Min.Y <= r.Max.Y && !r.Contains(p) {
		t.Errorf("%v.Clamp(%v) = %v", r, v, p)
	}
	r.Expand(x)
	rand := NewRand(uint64(len(b)))
	r.Random(&rand)
	rand.Disc(x)
	rand.Chance(x)

	dist := func(what string, length, d float64, ok bool) {
		if ok && !(d >= 0 && d <= length) || !ok && d != length && d == d {
			t.Errorf("%s at %v %v, the ray's length is %v", what, d, ok, length)
		}
	}
	ray := Ray{v, a, x}
	d, ok := ray.Circle(c.Center, c.Radius)
	dist("circle", x, d, ok)
	d, ok = ray.Rect(r)
	dist("rect", x, d, ok)
	d, ok = ray.Segment(s)
	dist("segment", x, d, ok)
	finite("End", ray.End().Finite())
	finite("Closest", ray.Closest(w).Finite())
	ray3 := Ray3{v3, w3.Unit(), x}
	d, ok = ray3.Cylinder(w3, c.Radius, v.X)
	dist("cylinder", x, d, ok)
	d, ok = ray3.Sphere(w3, c.Radius)
	dist("sphere", x, d, ok)
	d, ok = ray3.Box(Box{w3, v3})
	dist("box", x, d, ok)
	d, ok = ray3.Ground(v.Y)
	dist("ground", x, d, ok)
	Ray3To(v3, w3).End()
	RayTo(v, w).End()

	walls := Walls{[]Rect{r}, []Segment{s}, []Circle{c}}
	if h, ok := walls.Sweep(Circle{v, x}, w); ok && !(h.Share >= 0 && h.Share <= 1) {
		t.Errorf("Sweep hits at %v", h.Share)
	}
	if p := walls.Slide(v, w, x); tame && !p.Finite() {
		t.Errorf("Slide ends at %v", p)
	}
	walls.Free(v, x)
	Slide(v, w, 0.5, []Rect{r, {s.A, s.B}})
}

func hostileSeeds() (seeds [][]byte) {
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64,
		-math.MaxFloat64, math.SmallestNonzeroFloat64, 1e150, -1e150, 1e-150, 1e15, math.Pi, 3, 1e-9, 40}
	rand := NewRand(77)
	for range 300 {
		var b []byte
		for range 25 {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(values[rand.IntN(len(values))]))
		}
		seeds = append(seeds, b)
	}
	return append(seeds, nil)
}

func TestHostileNumbers(t *testing.T) {
	for _, b := range hostileSeeds() {
		if hostile(t, b); t.Failed() {
			n := numbers{b}
			for len(n.b) > 0 {
				t.Log(n.float())
			}
			return
		}
	}
}

func FuzzHostileNumbers(f *testing.F) {
	for _, b := range hostileSeeds()[:20] {
		f.Add(b)
	}
	f.Fuzz(hostile)
}
