package geom_test

import (
	"encoding/binary"
	"fmt"
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

// shapes are one of each kind, made of hostile numbers.
type shapes struct {
	t *testing.T
	v Vec2
	w Vec2
	r Rect
	c Circle
	s Segment
	a Angle
	x float64

	v3, w3 Vec3
	tame   bool // every number is at most 1e150, where the package promises not to overflow
}

// hostile calls every function that takes numbers with numbers of any bits. Nothing may panic or
// run on, and promises for every input must hold.
func hostile(t *testing.T, b []byte) {
	n := numbers{b}
	h := &shapes{t: t, tame: true}
	h.v, h.w, h.r, h.c, h.s, h.a, h.x = n.vec2(), n.vec2(), n.rect(), n.circle(), n.segment(), n.angle(), n.float()
	h.v3, h.w3 = n.vec3(), n.vec3()
	for rest := (numbers{b}); len(rest.b) >= 8; {
		x := rest.float()
		h.tame = h.tame && math.Abs(x) <= 1e150
	}
	h.functions()
	h.vectors()
	rand := NewRand(uint64(len(b)))
	h.r.Random(&rand)
	rand.Disc(h.x)
	rand.Chance(h.x)
	h.rays()
	h.sweeps()
}

func (h *shapes) finite(what string, ok bool) {
	if h.tame && !ok {
		h.t.Errorf("%s is not finite, although the input is at most 1e150", what)
	}
}

func (h *shapes) functions() {
	for _, f := range []func(float64) float64{Sin, Cos} {
		if y := f(h.x); !(y >= -1 && y <= 1) && !math.IsNaN(h.x) && !math.IsInf(h.x, 0) {
			h.t.Errorf("sine or cosine of %v is %v", h.x, y)
		}
	}
	for _, f := range []func(x, y float64) float64{Atan2, Pow, Hypot} {
		f(h.x, h.v.X)
	}
	for _, f := range []func(float64) float64{Tan, Asin, Acos, Atan, Exp, Log, Sqrt} {
		f(h.x)
	}
	turn := func(what string, got Angle) {
		if got == got && !(got > -Pi && got <= Pi) {
			h.t.Errorf("%s = %v", what, got)
		}
	}
	turn(fmt.Sprintf("%v.Norm()", h.a), h.a.Norm())
	turn(fmt.Sprintf("%v.Toward(%v, %v)", h.a, h.x, h.v.X), h.a.Toward(Angle(h.x), Angle(h.v.X)))
	turn(fmt.Sprintf("%v.Angle()", h.v), h.v.Angle())
}

func (h *shapes) vectors() {
	v, w, v3, x := h.v, h.w, h.v3, h.x
	if u := v.Unit(); u == u && u != (Vec2{}) && !near(u.Len(), 1, 1e-15) {
		h.t.Errorf("%v.Unit() = %v", v, u)
	}
	if u := v3.Unit(); u == u && u != (Vec3{}) && !near(u.Len(), 1, 1e-15) {
		h.t.Errorf("%v.Unit() = %v", v3, u)
	}
	h.finite("Toward", v.Toward(w, x).Finite())
	h.finite("Limit", v.Limit(x).Finite())
	h.finite("Rotate", v.Rotate(h.a).Finite())
	h.finite("Vec3.Toward", v3.Toward(h.w3, x).Finite())
	h.finite("Vec3.Limit", v3.Limit(x).Finite())
	h.finite("Direction", Direction(v3.Yaw(), v3.Pitch()).Finite())
	h.finite("Closest", h.s.Closest(v).Finite())
	r := h.r
	if p := r.Clamp(v); r.Min.X <= r.Max.X && r.Min.Y <= r.Max.Y && !r.Contains(p) {
		h.t.Errorf("%v.Clamp(%v) = %v", r, v, p)
	}
	r.Expand(x)
}

func (h *shapes) rays() {
	v, w, v3, w3, x := h.v, h.w, h.v3, h.w3, h.x
	dist := func(what string) func(d float64, ok bool) {
		return func(d float64, ok bool) {
			if ok && !(d >= 0 && d <= x) || !ok && d != x && d == d {
				h.t.Errorf("%s at %v %v, the ray's length is %v", what, d, ok, x)
			}
		}
	}
	ray := Ray{v, h.a, x}
	dist("circle")(ray.Circle(h.c.Center, h.c.Radius))
	dist("rect")(ray.Rect(h.r))
	dist("segment")(ray.Segment(h.s))
	dist("capsule")(ray.Capsule(Capsule{h.s, h.c.Radius}))
	h.finite("End", ray.End().Finite())
	h.finite("Closest", ray.Closest(w).Finite())
	ray3 := Ray3{v3, w3.Unit(), x}
	dist("cylinder")(ray3.Cylinder(w3, h.c.Radius, v.X))
	dist("sphere")(ray3.Sphere(w3, h.c.Radius))
	dist("box")(ray3.Box(Box{w3, v3}))
	dist("ground")(ray3.Ground(v.Y))
	Ray3To(v3, w3).End()
	RayTo(v, w).End()
}

func (h *shapes) sweeps() {
	v, w, x := h.v, h.w, h.x
	walls := Walls{[]Rect{h.r}, []Segment{h.s}, []Circle{h.c}}
	if hit, ok := walls.Sweep(Circle{v, x}, w); ok && !(hit.Share >= 0 && hit.Share <= 1) {
		h.t.Errorf("Sweep hits at %v", hit.Share)
	}
	if p := walls.Slide(v, w, x); h.tame && !p.Finite() {
		h.t.Errorf("Slide ends at %v", p)
	}
	walls.Free(v, x)
	capsule := Capsule{h.s, x}
	if hit, ok := walls.SweepCapsule(capsule, w); ok && !(hit.Share >= 0 && hit.Share <= 1) {
		h.t.Errorf("SweepCapsule hits at %v", hit.Share)
	}
	capsule.Overlaps(Capsule{Segment{v, w}, x})
	tiles := NewTiles(Vec2{-2, -2}, 1, 5, 5)
	for i := range 5 {
		tiles.Set(i, i*i%5, true)
	}
	if hit, ok := tiles.SweepCircle(Circle{v, x}, w); ok && !(hit.Share >= 0 && hit.Share <= 1) {
		h.t.Errorf("Tiles.SweepCircle hits at %v", hit.Share)
	}
	if r := tiles.SlideRect(h.r, w); h.tame && (!r.Min.Finite() || !r.Max.Finite()) {
		h.t.Errorf("SlideRect ends at %v", r)
	}
	NewTiles(v, x, 3, 3).SlideCircle(h.c, w)
	Slide(v, w, 0.5, []Rect{h.r, {h.s.A, h.s.B}})
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
