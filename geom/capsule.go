package geom

// Capsule is every point that is at most Radius away from Axis: a stick with round ends, such as a
// bat, a corridor of sight, or the way of a moving circle. A negative or NaN radius holds no point.
type Capsule struct {
	Axis   Segment
	Radius float64
}

// Contains reports whether p is in c or on its edge.
func (c Capsule) Contains(p Vec2) bool { return c.Axis.Closest(p).Dist(p) <= c.Radius }

// Overlaps reports whether c and o have a point in common.
func (c Capsule) Overlaps(o Capsule) bool {
	if !(c.Radius >= 0) || !(o.Radius >= 0) {
		return false
	}
	way, crossed := c.Axis.between(o.Axis)
	return crossed || way.Len() <= add(c.Radius, o.Radius)
}

// OverlapsCircle reports whether c and o have a point in common.
func (c Capsule) OverlapsCircle(o Circle) bool {
	return c.Radius >= 0 && o.Radius >= 0 &&
		c.Axis.Closest(o.Center).Dist(o.Center) <= add(c.Radius, o.Radius)
}

// OverlapsRect reports whether c and r have a point in common.
func (c Capsule) OverlapsRect(r Rect) bool {
	if !(c.Radius >= 0) {
		return false
	}
	way, crossed := c.Axis.betweenRect(r)
	return crossed || way.Len() <= c.Radius
}

// frame returns the smallest Rect around c.
func (c Capsule) frame() Rect { return c.Axis.frame().grow(c.Radius) }

// Capsule reports where r meets c.
func (r Ray) Capsule(c Capsule) (dist float64, ok bool) {
	if !(r.Len >= 0) || !(c.Radius >= 0) {
		return r.Len, false
	}
	if c.Contains(r.From) {
		return 0, true
	}
	d, dist := r.Dir.Dir(), r.Len
	side := c.Axis.B.Sub(c.Axis.A).Unit().Perp().Mul(c.Radius)
	for _, s := range [...]Segment{
		{c.Axis.A.Add(side), c.Axis.B.Add(side)},
		{c.Axis.A.Sub(side), c.Axis.B.Sub(side)},
	} {
		if t, hit := raySegment(r.From, d, dist, s); hit {
			dist, ok = t, true
		}
	}
	for _, end := range [...]Vec2{c.Axis.A, c.Axis.B} {
		if t, hit := rayDisc(r.From, d, dist, end, c.Radius); hit {
			dist, ok = t, true
		}
	}
	return dist, ok
}

// SweepCapsule reports where c, moving by delta without turning, first touches a wall, as Sweep does
// for a circle.
func (w Walls) SweepCapsule(c Capsule, delta Vec2) (Hit, bool) {
	best, ok := Hit{Share: 1}, false
	start := c.frame()
	frame := start.around(Rect{start.Min.Add(delta), start.Max.Add(delta)}).hair()
	first := func(h Hit, hit bool) {
		if hit && (!ok || h.Share < best.Share) {
			best, ok = h, true
		}
	}
	for i := range w.Rects {
		if frame.Overlaps(w.Rects[i]) {
			first(c.SweepRect(delta, w.Rects[i]))
		}
	}
	for i := range w.Segments {
		if frame.Overlaps(w.Segments[i].frame()) {
			first(c.SweepSegment(delta, w.Segments[i]))
		}
	}
	for i := range w.Circles {
		if frame.Overlaps(w.Circles[i].frame()) {
			first(c.SweepCircle(delta, w.Circles[i]))
		}
	}
	return best, ok
}

// SweepCircle reports where c, moving by delta, first touches o; see Walls.SweepCapsule.
func (c Capsule) SweepCircle(delta Vec2, o Circle) (Hit, bool) {
	if !(c.Radius >= 0) || !(o.Radius >= 0) {
		return Hit{}, false
	}
	// The same as seen from c: o comes.
	hit, ok := Circle{o.Center, add(c.Radius, o.Radius)}.SweepSegment(delta.Neg(), c.Axis)
	hit.Normal = hit.Normal.Neg()
	return hit, ok
}

// SweepSegment reports where c, moving by delta, first touches s; see Walls.SweepCapsule.
func (c Capsule) SweepSegment(delta Vec2, s Segment) (Hit, bool) {
	if !(c.Radius >= 0) {
		return Hit{}, false
	}
	way, crossed := s.between(c.Axis)
	n := way.Unit()
	if crossed || n == (Vec2{}) {
		n = s.B.Sub(s.A).Unit().Perp()
		if c.Axis.A.Lerp(c.Axis.B, 0.5).Sub(s.A).Dot(n) < 0 {
			n = n.Neg()
		}
	}
	if crossed || way.Len() <= c.Radius {
		return Hit{Normal: n}, into(delta, n)
	}
	// Two segments that do not cross first touch with an end of one of them.
	hit, ok := c.sweepEnds(delta, s)
	return c.sweepCorners(hit, ok, delta, s.A, s.B)
}

// SweepRect reports where c, moving by delta, first touches r; see Walls.SweepCapsule.
func (c Capsule) SweepRect(delta Vec2, r Rect) (Hit, bool) {
	if !(c.Radius >= 0) {
		return Hit{}, false
	}
	way, crossed := c.Axis.betweenRect(r)
	way = way.Neg()
	if n := way.Unit(); !crossed && n != (Vec2{}) && way.Len() <= c.Radius {
		return Hit{Normal: n}, into(delta, n)
	}
	if crossed || way == (Vec2{}) {
		n := c.Axis.frame().wayOut(r)
		return Hit{Normal: n}, into(delta, n)
	}
	hit, ok := Circle{c.Axis.A, c.Radius}.SweepRect(delta, r)
	if h, hitB := (Circle{c.Axis.B, c.Radius}).SweepRect(delta, r); hitB && (!ok || h.Share < hit.Share) {
		hit, ok = h, true
	}
	hit, ok = c.sweepCorners(hit, ok, delta, r.Min, r.Max)
	return c.sweepCorners(hit, ok, delta, Vec2{r.Min.X, r.Max.Y}, Vec2{r.Max.X, r.Min.Y})
}

// sweepEnds moves both ends of c against s.
func (c Capsule) sweepEnds(delta Vec2, s Segment) (Hit, bool) {
	hit, ok := Circle{c.Axis.A, c.Radius}.SweepSegment(delta, s)
	if h, hitB := (Circle{c.Axis.B, c.Radius}).SweepSegment(delta, s); hitB && (!ok || h.Share < hit.Share) {
		hit, ok = h, true
	}
	return hit, ok
}

// sweepCorners moves c against two points, and returns the first of what it touches and hit.
func (c Capsule) sweepCorners(hit Hit, ok bool, delta, p, q Vec2) (Hit, bool) {
	if h, hitP := c.SweepCircle(delta, Circle{Center: p}); hitP && (!ok || h.Share < hit.Share) {
		hit, ok = h, true
	}
	if h, hitQ := c.SweepCircle(delta, Circle{Center: q}); hitQ && (!ok || h.Share < hit.Share) {
		hit, ok = h, true
	}
	return hit, ok
}

// between returns the shortest way from s to o, and whether they cross, when there is none.
func (s Segment) between(o Segment) (Vec2, bool) {
	d, e := s.B.Sub(s.A), o.B.Sub(o.A)
	a, b := d.Cross(o.A.Sub(s.A)), d.Cross(o.B.Sub(s.A))
	p, q := e.Cross(s.A.Sub(o.A)), e.Cross(s.B.Sub(o.A))
	if (a < 0 && b > 0 || a > 0 && b < 0) && (p < 0 && q > 0 || p > 0 && q < 0) {
		return Vec2{}, true
	}
	best := o.A.Sub(s.Closest(o.A))
	for _, way := range [...]Vec2{o.B.Sub(s.Closest(o.B)), o.Closest(s.A).Sub(s.A), o.Closest(s.B).Sub(s.B)} {
		if way.Len2() < best.Len2() {
			best = way
		}
	}
	return best, false
}

// betweenRect returns the shortest way from s to r, and whether a part of s is in r.
func (s Segment) betweenRect(r Rect) (Vec2, bool) {
	if _, in := rayRect(s.A, s.B.Sub(s.A), 1, r); in {
		return Vec2{}, true
	}
	best := r.Clamp(s.A).Sub(s.A)
	if way := r.Clamp(s.B).Sub(s.B); way.Len2() < best.Len2() {
		best = way
	}
	for _, corner := range [...]Vec2{r.Min, {r.Max.X, r.Min.Y}, r.Max, {r.Min.X, r.Max.Y}} {
		if way := corner.Sub(s.Closest(corner)); way.Len2() < best.Len2() {
			best = way
		}
	}
	return best, false
}

// around returns the smallest Rect around r and o.
func (r Rect) around(o Rect) Rect {
	return Rect{
		Min: Vec2{min(r.Min.X, o.Min.X), min(r.Min.Y, o.Min.Y)},
		Max: Vec2{max(r.Max.X, o.Max.X), max(r.Max.Y, o.Max.Y)},
	}
}

// wayOut returns the unit vector along an axis that leads r out of o soonest.
func (r Rect) wayOut(o Rect) Vec2 {
	best, n := sub(r.Max.X, o.Min.X), Vec2{X: -1}
	if d := sub(o.Max.X, r.Min.X); d < best {
		best, n = d, Vec2{X: 1}
	}
	if d := sub(r.Max.Y, o.Min.Y); d < best {
		best, n = d, Vec2{Y: -1}
	}
	if d := sub(o.Max.Y, r.Min.Y); d < best {
		n = Vec2{Y: 1}
	}
	return n
}
