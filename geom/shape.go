package geom

// Rect is a rectangle with sides along the axes, edges included. It is well formed if no
// coordinate of Min is above that of Max; a Rect of no width or height is a line or a point.
type Rect struct{ Min, Max Vec2 }

// Contains reports whether p is in r or on its edge.
func (r Rect) Contains(p Vec2) bool {
	return p.X >= r.Min.X && p.X <= r.Max.X && p.Y >= r.Min.Y && p.Y <= r.Max.Y
}

// Clamp returns the point of r that is nearest to p. The result lies in a well-formed r whatever
// p is: a coordinate that is NaN gives that of Min.
func (r Rect) Clamp(p Vec2) Vec2 {
	return Vec2{Clamp(p.X, r.Min.X, r.Max.X), Clamp(p.Y, r.Min.Y, r.Max.Y)}
}

// Random returns a point in r, each place equally likely.
func (r Rect) Random(rand *Rand) Vec2 {
	x := rand.Range(r.Min.X, r.Max.X)
	return Vec2{x, rand.Range(r.Min.Y, r.Max.Y)}
}

// Size returns the width and height of r.
func (r Rect) Size() Vec2 { return r.Max.Sub(r.Min) }

// Center returns the middle of r.
func (r Rect) Center() Vec2 { return r.Min.Lerp(r.Max, 0.5) }

// Expand returns r grown by d on each side. A negative d shrinks it, at most to its centre.
func (r Rect) Expand(d float64) Rect {
	c := r.Center()
	return Rect{
		Min: Vec2{min(sub(r.Min.X, d), max(c.X, r.Min.X)), min(sub(r.Min.Y, d), max(c.Y, r.Min.Y))},
		Max: Vec2{max(add(r.Max.X, d), min(c.X, r.Max.X)), max(add(r.Max.Y, d), min(c.Y, r.Max.Y))},
	}
}

// grow is Expand for a d that is not negative.
func (r Rect) grow(d float64) Rect {
	return Rect{Vec2{sub(r.Min.X, d), sub(r.Min.Y, d)}, Vec2{add(r.Max.X, d), add(r.Max.Y, d)}}
}

// Overlaps reports whether r and o have a point in common.
func (r Rect) Overlaps(o Rect) bool {
	return r.Min.X <= o.Max.X && o.Min.X <= r.Max.X && r.Min.Y <= o.Max.Y && o.Min.Y <= r.Max.Y
}

// Box returns r as a wall that stands from height z0 to z1.
func (r Rect) Box(z0, z1 float64) Box { return Box{r.Min.At(z0), r.Max.At(z1)} }

// Circle is a disc, edge included.
type Circle struct {
	Center Vec2
	Radius float64 // a negative or NaN radius holds no point
}

// Contains reports whether p is in c or on its edge.
func (c Circle) Contains(p Vec2) bool { return p.Sub(c.Center).Len() <= c.Radius }

// Overlaps reports whether c and o have a point in common.
func (c Circle) Overlaps(o Circle) bool {
	return c.Radius >= 0 && o.Radius >= 0 && o.Center.Sub(c.Center).Len() <= add(c.Radius, o.Radius)
}

// frame returns the smallest Rect around c.
func (c Circle) frame() Rect { return Rect{c.Center, c.Center}.grow(c.Radius) }

// OverlapsRect reports whether c and r have a point in common.
func (c Circle) OverlapsRect(r Rect) bool { return c.Contains(r.Clamp(c.Center)) }

// Segment is the straight line between two points, both included.
type Segment struct{ A, B Vec2 }

// Closest returns the point of s that is nearest to p.
func (s Segment) Closest(p Vec2) Vec2 {
	d := s.B.Sub(s.A)
	l2 := d.Len2()
	if !(l2 > 0) {
		return s.A
	}
	return s.A.Lerp(s.B, Clamp(p.Sub(s.A).Dot(d)/l2, 0, 1))
}

// frame returns the smallest Rect around s.
func (s Segment) frame() Rect {
	return Rect{
		Min: Vec2{min(s.A.X, s.B.X), min(s.A.Y, s.B.Y)},
		Max: Vec2{max(s.A.X, s.B.X), max(s.A.Y, s.B.Y)},
	}
}

// Box is a block with sides along the axes, faces included.
type Box struct{ Min, Max Vec3 }

// Contains reports whether p is in b or on its surface.
func (b Box) Contains(p Vec3) bool {
	return b.Floor().Contains(p.XY()) && p.Z >= b.Min.Z && p.Z <= b.Max.Z
}

// Clamp returns the point of b that is nearest to p; NaN coordinates give those of Min.
func (b Box) Clamp(p Vec3) Vec3 {
	return Vec3{Clamp(p.X, b.Min.X, b.Max.X), Clamp(p.Y, b.Min.Y, b.Max.Y), Clamp(p.Z, b.Min.Z, b.Max.Z)}
}

// Floor returns b as seen from above.
func (b Box) Floor() Rect { return Rect{b.Min.XY(), b.Max.XY()} }

// Size returns the extent of b along each axis.
func (b Box) Size() Vec3 { return b.Max.Sub(b.Min) }

// Center returns the middle of b.
func (b Box) Center() Vec3 { return b.Min.Lerp(b.Max, 0.5) }
