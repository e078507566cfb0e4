package geom

import "math"

// Ray is a straight line with a beginning and a length, such as a shot in the plane.
// A ray with a negative or NaN Len hits nothing; Len may be +Inf.
//
// Its methods report the distance from the beginning to the first common point, 0 if the ray
// begins inside, and whether there is one. If there is none the distance is Len: the way is free.
type Ray struct {
	From Vec2
	Dir  Angle
	Len  float64
}

// RayTo returns the ray that begins at from and ends at to.
func RayTo(from, to Vec2) Ray {
	way := to.Sub(from)
	return Ray{From: from, Dir: way.Angle(), Len: way.Len()}
}

// At returns the point of r at distance d from its beginning.
func (r Ray) At(d float64) Vec2 { return r.From.Add(r.Dir.Dir().Mul(d)) }

// End returns the point where r ends.
func (r Ray) End() Vec2 { return r.At(r.Len) }

// Closest returns the point of r that is nearest to p.
func (r Ray) Closest(p Vec2) Vec2 {
	d := r.Dir.Dir()
	return r.From.Add(d.Mul(Clamp(p.Sub(r.From).Dot(d), 0, r.Len)))
}

// Circle reports where r meets the disc around c.
func (r Ray) Circle(c Vec2, radius float64) (dist float64, ok bool) {
	return rayDisc(r.From, r.Dir.Dir(), r.Len, c, radius)
}

// Rect reports where r meets rect.
func (r Ray) Rect(rect Rect) (dist float64, ok bool) {
	return rayRect(r.From, r.Dir.Dir(), r.Len, rect)
}

// Segment reports where r meets s. No ray slips through between two segments that share an end.
func (r Ray) Segment(s Segment) (dist float64, ok bool) {
	return raySegment(r.From, r.Dir.Dir(), r.Len, s)
}

// rayDisc works for any unit vector d.
func rayDisc(from, d Vec2, length float64, c Vec2, radius float64) (dist float64, ok bool) {
	if !(length >= 0) || !(radius >= 0) {
		return length, false
	}
	m := c.Sub(from)
	if m.Len() <= radius {
		return 0, true
	}
	// The foot of the perpendicular from c, and its length. A difference of squares of that keeps
	// its digits when c is far away; the textbook's quadratic does not.
	foot, off := m.Dot(d), d.Cross(m)
	if !(foot > 0) || !(math.Abs(off) <= radius) {
		return length, false
	}
	dist = max(0, foot-math.Sqrt(float64(sub(radius, off)*add(radius, off))))
	if !(dist <= length) {
		return length, false
	}
	return dist, true
}

func rayRect(from, d Vec2, length float64, r Rect) (dist float64, ok bool) {
	t0, t1 := slab(from.X, d.X, r.Min.X, r.Max.X, 0, length)
	t0, t1 = slab(from.Y, d.Y, r.Min.Y, r.Max.Y, t0, t1)
	if !(t0 <= t1) {
		return length, false
	}
	return t0, true
}

// slab narrows [t0, t1] to the part in which from + t·d is in [lo, hi]. If there is none the
// result is not t0 <= t1, which is also so if anything is NaN.
func slab(from, d, lo, hi, t0, t1 float64) (float64, float64) {
	if d == 0 {
		if from >= lo && from <= hi {
			return t0, t1
		}
		return 1, 0
	}
	a, b := sub(lo, from)/d, sub(hi, from)/d
	if d < 0 {
		a, b = b, a
	}
	return max(t0, a), min(t1, b)
}

func raySegment(from, d Vec2, length float64, s Segment) (dist float64, ok bool) {
	if !(length >= 0) {
		return length, false
	}
	a, b := s.A.Sub(from), s.B.Sub(from)
	// The side on which an end lies depends on that end alone, so that two segments with a common
	// end agree about it.
	sideA, sideB := d.Cross(a), d.Cross(b)
	footA, footB := a.Dot(d), b.Dot(d)
	switch {
	case sideA == 0 && sideB == 0: // along the ray
		dist = max(0, min(footA, footB))
		ok = max(footA, footB) >= 0
	case sideA <= 0 && sideB >= 0, sideA >= 0 && sideB <= 0:
		dist = Lerp(footA, footB, sideA/(sideA-sideB))
		ok = dist >= 0
	}
	if !ok || !(dist <= length) {
		return length, false
	}
	return dist, true
}

// Ray3 is a straight line in space with a beginning and a length. Dir must be a unit vector, as
// Direction and Unit return it: distances are counted in lengths of Dir.
// A ray with a negative or NaN Len hits nothing; Len may be +Inf.
//
// Its methods report distances as those of Ray do.
type Ray3 struct {
	From Vec3
	Dir  Vec3
	Len  float64
}

// Ray3To returns the ray that begins at from and ends at to.
func Ray3To(from, to Vec3) Ray3 {
	way := to.Sub(from)
	return Ray3{From: from, Dir: way.Unit(), Len: way.Len()}
}

// At returns the point of r at distance d from its beginning.
func (r Ray3) At(d float64) Vec3 { return r.From.Add(r.Dir.Mul(d)) }

// End returns the point where r ends.
func (r Ray3) End() Vec3 { return r.At(r.Len) }

// Closest returns the point of r that is nearest to p.
func (r Ray3) Closest(p Vec3) Vec3 {
	return r.From.Add(r.Dir.Mul(Clamp(p.Sub(r.From).Dot(r.Dir), 0, r.Len)))
}

// Cylinder reports where r meets the upright cylinder that stands on base, the centre of its
// bottom, such as the hull of an avatar.
func (r Ray3) Cylinder(base Vec3, radius, height float64) (dist float64, ok bool) {
	if !(radius >= 0) {
		return r.Len, false
	}
	t0, t1 := slab(r.From.Z, r.Dir.Z, base.Z, add(base.Z, height), 0, r.Len)
	if !(t0 <= t1) {
		return r.Len, false
	}
	// From above: the part of the ray inside the disc.
	m, d := base.Sub(r.From).XY(), r.Dir.XY()
	speed := d.Len()
	if speed == 0 {
		if !(m.Len() <= radius) {
			return r.Len, false
		}
		return t0, true
	}
	u := Vec2{d.X / speed, d.Y / speed}
	foot, off := m.Dot(u), u.Cross(m)
	if !(math.Abs(off) <= radius) {
		return r.Len, false
	}
	half := math.Sqrt(float64(sub(radius, off) * add(radius, off)))
	t0, t1 = max(t0, (foot-half)/speed), min(t1, (foot+half)/speed)
	if !(t0 <= t1) {
		return r.Len, false
	}
	return t0, true
}

// Sphere reports where r meets the ball around c.
func (r Ray3) Sphere(c Vec3, radius float64) (dist float64, ok bool) {
	if !(r.Len >= 0) || !(radius >= 0) {
		return r.Len, false
	}
	m := c.Sub(r.From)
	if m.Len() <= radius {
		return 0, true
	}
	foot, off := m.Dot(r.Dir), r.Dir.Cross(m).Len()
	if !(foot > 0) || !(off <= radius) {
		return r.Len, false
	}
	dist = max(0, foot-math.Sqrt(float64(sub(radius, off)*add(radius, off))))
	if !(dist <= r.Len) {
		return r.Len, false
	}
	return dist, true
}

// Box reports where r meets b, such as a wall.
func (r Ray3) Box(b Box) (dist float64, ok bool) {
	t0, t1 := slab(r.From.X, r.Dir.X, b.Min.X, b.Max.X, 0, r.Len)
	t0, t1 = slab(r.From.Y, r.Dir.Y, b.Min.Y, b.Max.Y, t0, t1)
	t0, t1 = slab(r.From.Z, r.Dir.Z, b.Min.Z, b.Max.Z, t0, t1)
	if !(t0 <= t1) {
		return r.Len, false
	}
	return t0, true
}

// Ground reports where r meets the ground at height z from above. A ray that begins below it
// meets it at once.
func (r Ray3) Ground(z float64) (dist float64, ok bool) {
	t0, t1 := slab(r.From.Z, r.Dir.Z, math.Inf(-1), z, 0, r.Len)
	if !(t0 <= t1) {
		return r.Len, false
	}
	return t0, true
}
