// Package exact condenses what package geom computes into hashes. Two machines that print the same
// ones computed the same bits: the program exactsum prints them, natively, on other processors
// under emulation, and in WebAssembly.
package exact

import (
	"math"

	"meanwhile/geom"
	"meanwhile/geom/body"
)

// Sum is the hash of the results of one group of functions.
type Sum struct {
	Name string
	Hash uint64
}

// Rounds is the number of inputs of each kind that exactsum draws.
const Rounds = 20000

// Digest hashes the results of every function of geom for n inputs of each kind, drawn from seed.
func Digest(seed uint64, n int) uint64 { return Fold(Sums(seed, n)) }

// Fold condenses sums into one.
func Fold(sums []Sum) uint64 {
	var h hash
	for _, s := range sums {
		h.word(s.Hash)
	}
	return uint64(h)
}

// Sums returns what Digest condenses, group by group, so that the function that differs can be
// found.
func Sums(seed uint64, n int) []Sum {
	var sums []Sum
	for i, g := range groups {
		in, h := input{seed: seed, group: uint64(i)}, hash(0)
		for range n {
			g.run(&in, &h)
		}
		sums = append(sums, Sum{g.name, uint64(h)})
	}
	return sums
}

// Control hashes sums of products that are left to the compiler to fuse. Unlike Digest it differs
// between machines that fuse and machines that do not, which shows that a comparison can fail.
func Control(seed uint64, n int) uint64 {
	in, h := input{seed: seed}, hash(0)
	for range n {
		x, y, z := in.near(), in.near(), in.near()
		h.num(x*y + z)
	}
	return uint64(h)
}

// hash is a chain of the finaliser of splitmix64, written out here so that it does not depend on
// what it checks.
type hash uint64

func (h *hash) word(v uint64) { *h = hash(mix(uint64(*h)*31 + v)) }

func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// num adds the bits of each number. All NaN count as one, since their other bits may differ.
func (h *hash) num(vs ...float64) {
	for _, v := range vs {
		if v != v {
			h.word(0x7ff8000000000001)
			continue
		}
		h.word(math.Float64bits(v))
	}
}

func (h *hash) angle(a geom.Angle) { h.num(float64(a)) }
func (h *hash) vec2(v geom.Vec2)   { h.num(v.X, v.Y) }
func (h *hash) vec3(v geom.Vec3)   { h.num(v.X, v.Y, v.Z) }
func (h *hash) quat(q geom.Quat)   { h.num(q.W, q.X, q.Y, q.Z) }
func (h *hash) rect(r geom.Rect)   { h.num(r.Min.X, r.Min.Y, r.Max.X, r.Max.Y) }

func (h *hash) yes(ok bool) {
	if ok {
		h.word(1)
	} else {
		h.word(2)
	}
}

func (h *hash) ray(dist float64, ok bool) { h.num(dist); h.yes(ok) }

func (h *hash) hit(t geom.Hit, ok bool) { h.num(t.Share); h.vec2(t.Normal); h.yes(ok) }

// input draws arguments.
type input struct{ seed, group, n uint64 }

func (in *input) bits() uint64 {
	in.n++
	return mix(mix(in.seed) ^ mix(in.group<<40|in.n))
}

// unit is in [0, 1).
func (in *input) unit() float64 { return float64(float64(in.bits()>>11) * 0x1p-53) }

// near is a number as games have them.
func (in *input) near() float64 { return float64((in.unit() - 0.5) * 200) }

// edges are the numbers at which implementations differ if they do.
var edges = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, 2, 3, -3, 10, 1.0 / 3,
	math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, -0x0.fffffffffffffp-1022,
	math.MaxFloat64, -math.MaxFloat64, 0x1p52, 0x1p53 + 2, -0x1p63, 0x1p-27, 0x1p-54, 1 + 0x1p-52, 1 - 0x1p-53,
	math.Pi, -math.Pi, math.Pi / 2, math.Pi / 4, 3 * math.Pi / 4, 2 * math.Pi, math.Sqrt2, 1e5, -1e22,
	709.78, 709.79, -708.4, -744.5, -745.2, math.Ln2, 0x1p-150, 0x1p150, 0x1p509, 0x1p511, 0x1p-511,
	math.Inf(1), math.Inf(-1),
}

// any is an edge, a number of any size, or one as games have them.
func (in *input) any() float64 {
	switch b := in.bits(); b & 3 {
	case 0:
		return edges[(b>>8)%uint64(len(edges))]
	case 1:
		if f := math.Float64frombits(in.bits()); f == f {
			return f
		}
		return 0
	default:
		return in.near()
	}
}

// wide is finite and of a size up to 2^±60.
func (in *input) wide() float64 {
	b := in.bits()
	return math.Float64frombits(b&(1<<63|1<<52-1) | (963+(b>>52)%120)<<52)
}

func (in *input) vec2() geom.Vec2 { return geom.Vec2{X: in.near(), Y: in.near()} }
func (in *input) vec3() geom.Vec3 { return geom.Vec3{X: in.near(), Y: in.near(), Z: in.near()} }
func (in *input) angle() geom.Angle {
	return geom.Angle(in.near())
}

func (in *input) any2() geom.Vec2 { return geom.Vec2{X: in.any(), Y: in.any()} }
func (in *input) any3() geom.Vec3 { return geom.Vec3{X: in.any(), Y: in.any(), Z: in.any()} }

func (in *input) quat() geom.Quat {
	return geom.Quat{W: in.near(), X: in.near(), Y: in.near(), Z: in.near()}
}
func (in *input) anyQuat() geom.Quat {
	return geom.Quat{W: in.any(), X: in.any(), Y: in.any(), Z: in.any()}
}

func (in *input) rect() geom.Rect {
	p := in.vec2()
	return geom.Rect{Min: p, Max: p.Add(geom.Vec2{X: float64(in.unit() * 30), Y: float64(in.unit() * 30)})}
}

func (in *input) segment() geom.Segment { return geom.Segment{A: in.vec2(), B: in.vec2()} }

func (in *input) circle() geom.Circle {
	return geom.Circle{Center: in.vec2(), Radius: float64(in.unit() * 10)}
}

func (in *input) capsule() geom.Capsule {
	return geom.Capsule{Axis: in.segment(), Radius: float64(in.unit() * 5)}
}

func (in *input) ray() geom.Ray {
	return geom.Ray{From: in.vec2(), Dir: in.angle(), Len: float64(in.unit() * 300)}
}

func (in *input) ray3() geom.Ray3 {
	return geom.Ray3{From: in.vec3(), Dir: geom.Direction(in.angle(), in.angle()), Len: float64(in.unit() * 300)}
}

// groups call every exported function and method of geom; a test holds that.
var groups = []struct {
	name string
	run  func(in *input, h *hash)
}{
	{"sin cos", func(in *input, h *hash) {
		x := in.any()
		h.num(geom.Sin(x), geom.Cos(x), geom.Tan(x))
		h.num(geom.SinCos(in.wide()))
	}},
	{"atan", func(in *input, h *hash) {
		h.num(geom.Atan2(in.any(), in.any()), geom.Atan2(in.wide(), in.wide()), geom.Atan(in.any()))
		x := float64(in.unit()*2) - 1
		h.num(geom.Asin(x), geom.Acos(x), geom.Asin(in.any()), geom.Acos(in.any()))
	}},
	{"exp log", func(in *input, h *hash) {
		h.num(geom.Exp(in.any()), geom.Exp(float64(in.near()*8)), geom.Log(in.any()), geom.Log(math.Abs(in.wide())))
	}},
	{"pow", func(in *input, h *hash) {
		h.num(geom.Pow(in.any(), in.any()), geom.Pow(math.Abs(in.wide()), in.near()), geom.Pow(in.unit(), in.unit()))
	}},
	{"scalar", func(in *input, h *hash) {
		x, y := in.any(), in.any()
		h.num(geom.Hypot(x, y), geom.Hypot(in.wide(), in.wide()), geom.Sqrt(x))
		h.num(geom.Lerp(x, y, in.unit()), geom.Lerp(in.near(), in.near(), in.near()), geom.Clamp(x, y, in.any()))
	}},
	{"angle", func(in *input, h *hash) {
		a, b := geom.Angle(in.any()), in.angle()
		h.angle(a.Norm())
		h.vec2(a.Dir())
		h.angle(a.Diff(b))
		h.angle(b.Toward(a, geom.Angle(in.unit())))
		h.angle(a.Lerp(b, in.unit()))
		h.num(a.Degrees(), a.Degrees()+in.near())
		h.yes(a.Finite())
	}},
	{"vec2", func(in *input, h *hash) { vec2(in, h, in.vec2(), in.vec2()) }},
	{"vec2 of any size", func(in *input, h *hash) { vec2(in, h, in.any2(), in.any2()) }},
	{"vec3", func(in *input, h *hash) { vec3(in, h, in.vec3(), in.vec3()) }},
	{"vec3 of any size", func(in *input, h *hash) { vec3(in, h, in.any3(), in.any3()) }},
	{"shapes", func(in *input, h *hash) {
		r, o, p := in.rect(), in.rect(), in.vec2()
		h.yes(r.Contains(p))
		h.yes(r.Overlaps(o))
		h.vec2(r.Clamp(p))
		h.vec2(r.Size())
		h.vec2(r.Center())
		h.rect(r.Expand(in.near()))
		c, d := in.circle(), in.circle()
		h.yes(c.Contains(p))
		h.yes(c.Overlaps(d))
		h.yes(c.OverlapsRect(r))
		h.vec2(in.segment().Closest(p))
		b := r.Box(in.near(), in.near())
		h.yes(b.Contains(in.vec3()))
		h.vec3(b.Clamp(in.any3()))
		h.rect(b.Floor())
		h.vec3(b.Size())
		h.vec3(b.Center())
	}},
	{"rays", func(in *input, h *hash) {
		r := in.ray()
		h.vec2(r.At(in.near()))
		h.vec2(r.End())
		h.vec2(r.Closest(in.vec2()))
		h.ray(r.Circle(in.vec2(), float64(in.unit()*20)))
		h.ray(r.Rect(in.rect()))
		h.ray(r.Segment(in.segment()))
		to := geom.RayTo(in.vec2(), in.vec2())
		h.vec2(to.End())
		h.ray(to.Circle(in.any2(), in.any()))
	}},
	{"rays in space", func(in *input, h *hash) {
		r := in.ray3()
		h.vec3(r.At(in.near()))
		h.vec3(r.End())
		h.vec3(r.Closest(in.vec3()))
		h.ray(r.Cylinder(in.vec3(), float64(in.unit()*30), float64(in.unit()*30)))
		h.ray(r.Sphere(in.vec3(), float64(in.unit()*50)))
		h.ray(r.Box(in.rect().Box(in.near(), in.near())))
		h.ray(r.Ground(in.near()))
		to := geom.Ray3To(in.vec3(), in.vec3())
		h.vec3(to.End())
		h.ray(to.Cylinder(in.any3(), in.any(), in.any()))
	}},
	{"sweeps", func(in *input, h *hash) {
		c, delta := in.circle(), in.vec2()
		h.hit(c.SweepRect(delta, in.rect()))
		h.hit(c.SweepCircle(delta, in.circle()))
		h.hit(c.SweepSegment(delta, in.segment()))
		h.hit(c.SweepRect(in.any2(), geom.Rect{Min: in.any2(), Max: in.any2()}))
		h.hit(c.SweepSegment(in.any2(), geom.Segment{A: in.any2(), B: in.any2()}))
	}},
	{"walls", func(in *input, h *hash) {
		w := geom.Walls{
			Rects:    []geom.Rect{in.rect(), in.rect(), in.rect()},
			Segments: []geom.Segment{in.segment(), in.segment()},
			Circles:  []geom.Circle{in.circle(), in.circle()},
		}
		h.ray(w.Ray(in.ray()))
		h.hit(w.Sweep(in.circle(), in.vec2()))
		h.vec2(w.Free(in.vec2(), float64(in.unit()*3)))
		// A walk: each step begins where the last one ended, so a difference grows.
		p, way := in.vec2(), in.vec2().Mul(0.05)
		for range 20 {
			p = w.Slide(p, way, 0.5)
			way = way.Rotate(in.angle())
			h.vec2(p)
		}
		h.vec2(geom.Slide(p, in.any2(), float64(in.unit()*5), w.Rects))
	}},
	{"capsules", func(in *input, h *hash) {
		c, o, p, delta := in.capsule(), in.capsule(), in.vec2(), in.vec2()
		h.yes(c.Contains(p))
		h.yes(c.Overlaps(o))
		h.yes(c.OverlapsCircle(in.circle()))
		h.yes(c.OverlapsRect(in.rect()))
		h.ray(in.ray().Capsule(c))
		h.hit(c.SweepRect(delta, in.rect()))
		h.hit(c.SweepCircle(delta, in.circle()))
		h.hit(c.SweepSegment(delta, in.segment()))
		h.hit(c.SweepSegment(in.any2(), geom.Segment{A: in.any2(), B: in.any2()}))
		w := geom.Walls{
			Rects:    []geom.Rect{in.rect(), in.rect()},
			Segments: []geom.Segment{in.segment()},
			Circles:  []geom.Circle{in.circle()},
		}
		h.hit(w.SweepCapsule(c, delta))
	}},
	{"tiles", func(in *input, h *hash) {
		t := geom.NewTiles(geom.Vec2{X: -40, Y: -40}, 10, 8, 8)
		some, others := in.bits(), in.bits()
		for bits, i := some&others, 0; i < 64; i++ {
			t.Set(i%8, i/8, bits>>i&1 != 0)
		}
		x, y := t.Tile(in.vec2())
		h.rect(t.Rect(x, y))
		h.yes(t.At(x, y))
		h.hit(t.SweepCircle(in.circle(), in.vec2()))
		h.hit(t.SweepRect(in.rect(), in.vec2()))
		h.hit(t.SweepRect(geom.Rect{Min: in.any2(), Max: in.any2()}, in.any2()))
		// A walk, as over walls.
		c, r, way := in.circle(), in.rect(), in.vec2().Mul(0.2)
		for range 10 {
			c.Center = t.SlideCircle(c, way)
			r = t.SlideRect(r, way)
			way = way.Rotate(in.angle())
			h.vec2(c.Center)
			h.rect(r)
		}
	}},
	{"random numbers", func(in *input, h *hash) {
		r := geom.NewRand(in.bits(), in.bits()&3)
		h.word(r.Uint64())
		h.num(r.Float64(), r.Range(in.near(), in.near()), r.Norm(), r.Exp())
		h.word(uint64(r.IntN(int(in.bits() % 1000))))
		h.yes(r.Chance(in.unit()))
		h.angle(r.Angle())
		h.vec2(r.Dir())
		h.vec2(r.Disc(5))
		h.vec2(in.rect().Random(&r))
		r.Shuffle(8, func(i, j int) { h.word(uint64(i)<<8 | uint64(j)) })
	}},
	{"bodies", bodies},
	{"rotations", func(in *input, h *hash) { quat(in, h, in.quat().Unit(), in.quat().Unit()) }},
	{"rotations of any size", func(in *input, h *hash) { quat(in, h, in.anyQuat(), in.anyQuat()) }},
}

// crowd is used again and again: what it remembers must make no difference.
var crowd body.Scene

// bodies hashes a crowded scene over some steps: each begins where the last one ended, so that a
// difference grows.
func bodies(in *input, h *hash) {
	s := &crowd
	s.Reset()
	s.Gravity = geom.Vec2{Y: float64(in.near() * 0.05)}
	s.Surface = body.Surface{Bounce: in.unit(), Friction: in.unit()}
	s.Walls = geom.Walls{
		Rects:    []geom.Rect{{Min: geom.Vec2{X: -4, Y: -3}, Max: geom.Vec2{X: 4, Y: -2}}},
		Segments: []geom.Segment{{A: geom.Vec2{X: -4, Y: 3}, B: geom.Vec2{X: -3, Y: -3}}},
		Circles:  []geom.Circle{{Center: geom.Vec2{X: 3}, Radius: in.unit()}},
	}
	for i := range 6 {
		b := body.Body{
			Pos: geom.Vec2{X: float64(in.near() * 0.02), Y: float64(in.near() * 0.02)}, Vel: in.vec2().Mul(0.1),
			Angle: in.angle(), Spin: geom.Angle(float64(in.near() * 0.1)), Accel: in.vec2().Mul(0.1),
		}
		b.Surface = body.Surface{Bounce: in.unit(), Friction: in.unit()}
		b.Drag, b.SpinDrag, b.Grip = in.unit(), in.unit(), in.unit()
		b.Mass, b.NoSpin = float64(in.unit()*5)-0.5, in.bits()&7 == 0
		b.Layer, b.Mask = 1<<(in.bits()%3), uint32(in.bits())|1|body.WallLayer
		if i < 3 {
			b.Radius = float64(in.unit() * 0.5)
		}
		b.Half = geom.Vec2{X: float64(in.unit() * 0.5), Y: float64(in.unit() * 0.5)}
		b.Push(in.vec2().Mul(0.01), in.vec2().Mul(0.02))
		s.Add(b)
	}
	for range 8 {
		s.Step(1.0 / 60)
		for _, t := range s.Touches {
			h.vec2(t.At)
			h.vec2(t.Normal)
			h.num(t.Speed, t.Impulse, float64(t.A), float64(t.B))
		}
	}
	for i := range s.Bodies {
		b := &s.Bodies[i]
		h.vec2(b.Pos)
		h.vec2(b.Vel)
		h.angle(b.Angle)
		h.angle(b.Spin)
	}
}

func vec2(in *input, h *hash, v, w geom.Vec2) {
	s := in.near()
	h.vec2(v.Add(w))
	h.vec2(v.Sub(w))
	h.vec2(v.Mul(s))
	h.vec2(v.Neg())
	h.num(v.Dot(w), v.Cross(w), v.Len(), v.Len2(), v.Dist(w))
	h.vec2(v.Unit())
	h.vec2(v.Limit(s))
	h.vec2(v.Toward(w, s))
	h.vec2(v.Lerp(w, in.unit()))
	h.vec2(v.Rotate(in.angle()))
	h.vec2(v.Perp())
	h.vec2(v.Reflect(w.Unit()))
	h.vec2(v.Along(w.Unit()))
	h.angle(v.Angle())
	h.yes(v.Finite())
	h.vec3(v.At(s))
	// As game code writes it: everything inlined into one expression.
	h.vec2(v.Mul(s).Add(w.Mul(0.3)).Sub(v.Perp().Mul(1.1)))
}

func vec3(in *input, h *hash, v, w geom.Vec3) {
	s := in.near()
	h.vec3(v.Add(w))
	h.vec3(v.Sub(w))
	h.vec3(v.Mul(s))
	h.vec3(v.Neg())
	h.num(v.Dot(w), v.Len(), v.Len2(), v.Dist(w))
	h.vec3(v.Cross(w))
	h.vec3(v.Unit())
	h.vec3(v.Limit(s))
	h.vec3(v.Toward(w, s))
	h.vec3(v.Lerp(w, in.unit()))
	h.vec2(v.XY())
	h.angle(v.Yaw())
	h.angle(v.Pitch())
	h.yes(v.Finite())
	h.vec3(geom.Direction(in.angle(), in.angle()))
	h.vec3(v.Mul(s).Add(w.Mul(0.3)).Sub(v.Cross(w)))
}

func quat(in *input, h *hash, q, r geom.Quat) {
	v := in.vec3()
	h.quat(geom.Around(v, in.angle()))
	h.quat(q.Unit())
	h.quat(q.Mul(r))
	h.quat(q.Conj())
	h.quat(q.Spun(v, in.unit()))
	h.num(q.Dot(r))
	h.vec3(q.Rotate(v))
	h.vec3(geom.View{Yaw: in.angle(), Pitch: in.angle()}.Dir())
	h.vec3(q.Mul(r).Rotate(v).Add(v.Mul(in.near())))
}
