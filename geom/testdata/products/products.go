// Package products is game code as it gets written: products go into geom's functions as they come, and into sums
// when they come out. Most functions of geom are inlined here, and still nothing may be fused.
package products

import "meanwhile/geom"

// N is some numbers, with methods that make unrounded products of them.
type N struct{ A, B, C, D, E, F, G, H float64 }

func (n *N) x() float64             { return n.A * n.B }
func (n *N) y() float64             { return n.C * n.D }
func (n *N) z() float64             { return n.E * n.F }
func (n *N) v() geom.Vec2           { return geom.Vec2{X: n.A * n.B, Y: n.C * n.D} }
func (n *N) w() geom.Vec2           { return geom.Vec2{X: n.E * n.F, Y: n.G * n.H} }
func (n *N) v3() geom.Vec3          { return geom.Vec3{X: n.A * n.B, Y: n.C * n.D, Z: n.E * n.F} }
func (n *N) w3() geom.Vec3          { return geom.Vec3{X: n.E * n.F, Y: n.G * n.H, Z: n.A * n.D} }
func (n *N) a() geom.Angle          { return geom.Angle(n.A) * geom.Angle(n.B) }
func (n *N) b() geom.Angle          { return geom.Angle(n.C) * geom.Angle(n.D) }
func (n *N) r() geom.Rect           { return geom.Rect{Min: n.v(), Max: n.w()} }
func (n *N) o() geom.Rect           { return geom.Rect{Min: n.w(), Max: n.v()} }
func (n *N) c() geom.Circle         { return geom.Circle{Center: n.v(), Radius: n.E * n.F} }
func (n *N) s() geom.Segment        { return geom.Segment{A: n.v(), B: n.w()} }
func (n *N) cap() geom.Capsule      { return geom.Capsule{Axis: n.s(), Radius: n.G * n.H} }
func (n *N) box() geom.Box          { return geom.Box{Min: n.v3(), Max: n.w3()} }
func (n *N) ray() geom.Ray          { return geom.Ray{From: n.v(), Dir: n.a(), Len: n.E * n.F} }
func (n *N) ray3() geom.Ray3        { return geom.Ray3{From: n.v3(), Dir: n.w3(), Len: n.E * n.F} }
func (n *N) sum(f float64)          { n.A += f }
func (n *N) sum2(v geom.Vec2)       { n.A += v.X; n.B -= v.Y }
func (n *N) q() geom.Quat           { return geom.Quat{W: n.A * n.B, X: n.C * n.D, Y: n.E * n.F, Z: n.G * n.H} }
func (n *N) q2() geom.Quat          { return geom.Quat{W: n.E * n.F, X: n.G * n.H, Y: n.A * n.D, Z: n.B * n.C} }
func (n *N) sumQ(q geom.Quat)       { n.A += q.W; n.B -= q.X; n.C += q.Y; n.D -= q.Z }
func (n *N) sum3(v geom.Vec3)       { n.A += v.X; n.B -= v.Y; n.C += v.Z }
func (n *N) sumA(a geom.Angle)      { n.A += float64(a) }
func (n *N) sumR(r geom.Rect)       { n.sum2(r.Min); n.sum2(r.Max) }
func (n *N) sumB(b geom.Box)        { n.sum3(b.Min); n.sum3(b.Max) }
func (n *N) dist(d float64, _ bool) { n.A += d }
func (n *N) hit(h geom.Hit, _ bool) { n.A += h.Share; n.sum2(h.Normal) }
func (n *N) yes(ok bool) {
	if ok {
		n.A++
	}
}

func Scalars(n *N) {
	n.sum(geom.Sin(n.x()))
	n.sum(geom.Cos(n.x()))
	n.sum(geom.Tan(n.x()))
	s, c := geom.SinCos(n.x())
	n.sum(s)
	n.sum(c)
	n.sum(geom.Atan(n.x()))
	n.sum(geom.Asin(n.x()))
	n.sum(geom.Acos(n.x()))
	n.sum(geom.Atan2(n.x(), n.y()))
	n.sum(geom.Exp(n.x()))
	n.sum(geom.Log(n.x()))
	n.sum(geom.Pow(n.x(), n.y()))
	n.sum(geom.Hypot(n.x(), n.y()))
	n.sum(geom.Sqrt(n.x()))
	n.sum(geom.Lerp(n.x(), n.y(), n.z()))
	n.sum(geom.Clamp(n.x(), n.y(), n.z()))
}

func Angles(n *N) {
	n.sumA(n.a().Norm())
	n.sum2(n.a().Dir())
	n.sumA(n.a().Diff(n.b()))
	n.sumA(n.a().Toward(n.b(), n.a()))
	n.sumA(n.a().Lerp(n.b(), n.x()))
	n.sum(n.a().Degrees())
	n.yes(n.a().Finite())
}

func Vecs(n *N) {
	n.sum2(n.v().Add(n.w()))
	n.sum2(n.v().Sub(n.w()))
	n.sum2(n.v().Mul(n.z()))
	n.sum2(n.v().Neg())
	n.sum(n.v().Dot(n.w()))
	n.sum(n.v().Cross(n.w()))
	n.sum(n.v().Len())
	n.sum(n.v().Len2())
	n.sum(n.v().Dist(n.w()))
	n.sum2(n.v().Unit())
	n.sum2(n.v().Limit(n.z()))
	n.sum2(n.v().Toward(n.w(), n.z()))
	n.sum2(n.v().Lerp(n.w(), n.z()))
	n.sum2(n.v().Rotate(n.a()))
	n.sum2(n.v().Perp())
	n.sum2(n.v().Reflect(n.w()))
	n.sum2(n.v().Along(n.w()))
	n.sumA(n.v().Angle())
	n.yes(n.v().Finite())
	n.sum3(n.v().At(n.z()))
	n.sum2(n.v().Mul(n.z()).Add(n.w().Mul(n.x())).Sub(n.v().Perp().Neg()))
}

func Vecs3(n *N) {
	n.sum3(n.v3().Add(n.w3()))
	n.sum3(n.v3().Sub(n.w3()))
	n.sum3(n.v3().Mul(n.z()))
	n.sum3(n.v3().Neg())
	n.sum(n.v3().Dot(n.w3()))
	n.sum3(n.v3().Cross(n.w3()))
	n.sum(n.v3().Len())
	n.sum(n.v3().Len2())
	n.sum(n.v3().Dist(n.w3()))
	n.sum3(n.v3().Unit())
	n.sum3(n.v3().Limit(n.z()))
	n.sum3(n.v3().Toward(n.w3(), n.z()))
	n.sum3(n.v3().Lerp(n.w3(), n.z()))
	n.sum2(n.v3().XY())
	n.sumA(n.v3().Yaw())
	n.sumA(n.v3().Pitch())
	n.yes(n.v3().Finite())
	n.sum3(geom.Direction(n.a(), n.b()))
}

func Quats(n *N) {
	n.sumQ(geom.Around(n.v3(), n.a()))
	n.sumQ(n.q().Unit())
	n.sumQ(n.q().Mul(n.q2()))
	n.sumQ(n.q().Conj())
	n.sum3(n.q().Rotate(n.v3()))
	n.sumQ(n.q().Spun(n.v3(), n.z()))
	n.sum(n.q().Dot(n.q2()))
	n.sum3(geom.View{Yaw: n.a(), Pitch: n.b()}.Dir())
}

func Shapes(n *N) {
	n.yes(n.r().Contains(n.v()))
	n.yes(n.r().Overlaps(n.o()))
	n.sum2(n.r().Clamp(n.v()))
	n.sum2(n.r().Size())
	n.sum2(n.r().Center())
	n.sumR(n.r().Expand(n.x()))
	n.yes(n.c().Contains(n.w()))
	n.yes(n.c().Overlaps(n.c()))
	n.yes(n.c().OverlapsRect(n.r()))
	n.sum2(n.s().Closest(n.v()))
	n.sumB(n.r().Box(n.x(), n.y()))
	n.yes(n.box().Contains(n.v3()))
	n.sum3(n.box().Clamp(n.v3()))
	n.sumR(n.box().Floor())
	n.sum3(n.box().Size())
	n.sum3(n.box().Center())
}

func Rays(n *N) {
	n.sum2(n.ray().At(n.x()))
	n.sum2(n.ray().End())
	n.sum2(n.ray().Closest(n.w()))
	n.dist(n.ray().Circle(n.w(), n.x()))
	n.dist(n.ray().Rect(n.r()))
	n.dist(n.ray().Segment(n.s()))
	n.sum2(geom.RayTo(n.v(), n.w()).End())
	n.sum3(n.ray3().At(n.x()))
	n.sum3(n.ray3().End())
	n.sum3(n.ray3().Closest(n.w3()))
	n.dist(n.ray3().Cylinder(n.w3(), n.x(), n.y()))
	n.dist(n.ray3().Sphere(n.w3(), n.x()))
	n.dist(n.ray3().Box(n.box()))
	n.dist(n.ray3().Ground(n.x()))
	n.sum3(geom.Ray3To(n.v3(), n.w3()).End())
}

func Walls(n *N) {
	w := geom.Walls{Rects: []geom.Rect{n.r()}, Segments: []geom.Segment{n.s()}, Circles: []geom.Circle{n.c()}}
	n.hit(n.c().SweepRect(n.v(), n.r()))
	n.hit(n.c().SweepCircle(n.v(), n.c()))
	n.hit(n.c().SweepSegment(n.v(), n.s()))
	n.dist(w.Ray(n.ray()))
	n.hit(w.Sweep(n.c(), n.v()))
	n.sum2(w.Free(n.v(), n.x()))
	n.sum2(w.Slide(n.v(), n.w(), n.x()))
	n.sum2(geom.Slide(n.v(), n.w(), n.x(), w.Rects))
}

func Capsules(n *N) {
	w := geom.Walls{Rects: []geom.Rect{n.r()}, Segments: []geom.Segment{n.s()}, Circles: []geom.Circle{n.c()}}
	n.yes(n.cap().Contains(n.w()))
	n.yes(n.cap().Overlaps(n.cap()))
	n.yes(n.cap().OverlapsCircle(n.c()))
	n.yes(n.cap().OverlapsRect(n.r()))
	n.dist(n.ray().Capsule(n.cap()))
	n.hit(n.cap().SweepRect(n.v(), n.r()))
	n.hit(n.cap().SweepCircle(n.v(), n.c()))
	n.hit(n.cap().SweepSegment(n.v(), n.s()))
	n.hit(w.SweepCapsule(n.cap(), n.v()))
}

func Tiles(n *N) {
	t := geom.NewTiles(n.v(), n.x(), 9, 9)
	x, y := t.Tile(n.w())
	t.Set(x, y, true)
	n.yes(t.At(x, y))
	n.sumR(t.Rect(x, y))
	n.hit(t.SweepCircle(n.c(), n.v()))
	n.hit(t.SweepRect(n.r(), n.v()))
	n.sum2(t.SlideCircle(n.c(), n.v()))
	n.sumR(t.SlideRect(n.r(), n.v()))
}

func Random(n *N) {
	r := geom.NewRand(1)
	n.A += float64(r.Uint64() >> 60)
	n.A += float64(r.IntN(5))
	n.sum(r.Float64())
	n.sum(r.Range(n.x(), n.y()))
	n.sum(r.Norm())
	n.sum(r.Exp())
	n.yes(r.Chance(n.x()))
	n.sumA(r.Angle())
	n.sum2(r.Dir())
	n.sum2(r.Disc(n.x()))
	n.sum2(n.r().Random(&r))
	r.Shuffle(3, func(i, j int) { n.A++ })
}
