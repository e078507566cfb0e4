package geom

import "math"

// Walls are obstacles of three shapes; any of the three may be empty. Every call looks at every
// wall, with a few comparisons for those that are far away.
type Walls struct {
	Rects    []Rect
	Segments []Segment
	Circles  []Circle
}

// Ray reports where r first meets a wall, as the methods of Ray do.
func (w Walls) Ray(r Ray) (dist float64, ok bool) {
	d, dist := r.Dir.Dir(), r.Len
	for _, rect := range w.Rects {
		if t, hit := rayRect(r.From, d, dist, rect); hit {
			dist, ok = t, true
		}
	}
	for _, s := range w.Segments {
		if t, hit := raySegment(r.From, d, dist, s); hit {
			dist, ok = t, true
		}
	}
	for _, c := range w.Circles {
		if t, hit := rayDisc(r.From, d, dist, c.Center, c.Radius); hit {
			dist, ok = t, true
		}
	}
	return dist, ok
}

// Hit says where a moving circle touches something.
type Hit struct {
	Share  float64 // of the way, in [0, 1]
	Normal Vec2    // unit vector from what was touched toward the circle's centre
}

// grazing is the sine of the flattest angle at which a movement counts as going into a wall.
// Rounding leaves movements that were made parallel to a wall 1e-16 off.
const grazing = 1e-9

// into reports whether moving by delta goes into a wall with normal n.
func into(delta, n Vec2) bool { return delta.Dot(n) < -float64(grazing*delta.Len()) }

// Sweep reports where c, moving by delta, first touches a wall. A wall that c touches or overlaps
// from the beginning counts, at share 0, only if the movement goes further into it, so that a stuck
// circle can leave. Of walls that are touched at the same time the first counts, rects before
// segments before circles.
func (w Walls) Sweep(c Circle, delta Vec2) (Hit, bool) {
	best, ok := Hit{Share: 1}, false
	// Everything that the circle passes over lies in this frame.
	frame := Segment{c.Center, c.Center.Add(delta)}.frame().grow(c.Radius).hair()
	for i := range w.Rects {
		if !frame.Overlaps(w.Rects[i]) {
			continue
		}
		if h, hit := c.SweepRect(delta, w.Rects[i]); hit && (!ok || h.Share < best.Share) {
			best, ok = h, true
		}
	}
	for i := range w.Segments {
		if !frame.Overlaps(w.Segments[i].frame()) {
			continue
		}
		if h, hit := c.SweepSegment(delta, w.Segments[i]); hit && (!ok || h.Share < best.Share) {
			best, ok = h, true
		}
	}
	for i := range w.Circles {
		if !frame.Overlaps(w.Circles[i].frame()) {
			continue
		}
		if h, hit := c.SweepCircle(delta, w.Circles[i]); hit && (!ok || h.Share < best.Share) {
			best, ok = h, true
		}
	}
	return best, ok
}

// hair returns r grown by what rounding may move a wall that is just touched.
func (r Rect) hair() Rect {
	size := math.Abs(r.Min.X) + math.Abs(r.Min.Y) + math.Abs(r.Max.X) + math.Abs(r.Max.Y)
	return r.grow(float64(0x1p-48 * size))
}

// SweepRect reports where c, moving by delta, first touches r; see Walls.Sweep.
func (c Circle) SweepRect(delta Vec2, r Rect) (Hit, bool) {
	if !(c.Radius >= 0) {
		return Hit{}, false
	}
	if dist, n := rectDistance(c.Center, r); dist <= c.Radius {
		return Hit{Normal: n}, into(delta, n)
	}
	// The centre runs into r grown by the radius, whose corners are round.
	p, grown := c.Center, r.grow(c.Radius)
	tx, tx1 := slab(p.X, delta.X, grown.Min.X, grown.Max.X, 0, 1)
	ty, ty1 := slab(p.Y, delta.Y, grown.Min.Y, grown.Max.Y, 0, 1)
	t := max(tx, ty)
	if !(t <= min(tx1, ty1)) {
		return Hit{}, false
	}
	at := p.Add(delta.Mul(t))
	near := r.Clamp(at)
	off, n := at.Sub(near), Vec2{}
	switch {
	case off.X != 0 && off.Y != 0: // beside both sides: nothing but that corner can be next
		return c.SweepCircle(delta, Circle{Center: near})
	case off.X != 0:
		n.X = side(off.X)
	case off.Y != 0:
		n.Y = side(off.Y)
	case tx > ty: // the radius is about 0
		n.X = -side(delta.X)
	default:
		n.Y = -side(delta.Y)
	}
	return Hit{Share: t, Normal: n}, into(delta, n)
}

// side returns 1 for positive x and -1 for others. Unlike math.Copysign it ignores the sign of a
// NaN, which differs between machines.
func side(x float64) float64 {
	if x > 0 {
		return 1
	}
	return -1
}

// SweepCircle reports where c, moving by delta, first touches o; see Walls.Sweep.
func (c Circle) SweepCircle(delta Vec2, o Circle) (Hit, bool) {
	if !(c.Radius >= 0) || !(o.Radius >= 0) {
		return Hit{}, false
	}
	reach := add(c.Radius, o.Radius)
	way := c.Center.Sub(o.Center)
	if way.Len() <= reach {
		n := way.Unit()
		if n == (Vec2{}) { // both centres are the same: any way leads out
			return Hit{}, false
		}
		return Hit{Normal: n}, into(delta, n)
	}
	length := delta.Len()
	t, ok := rayDisc(c.Center, delta.Unit(), length, o.Center, reach)
	if !ok || length == 0 {
		return Hit{}, false
	}
	share := min(1, t/length)
	n := way.Add(delta.Mul(share)).Unit()
	return Hit{Share: share, Normal: n}, into(delta, n)
}

// SweepSegment reports where c, moving by delta, first touches s; see Walls.Sweep.
func (c Circle) SweepSegment(delta Vec2, s Segment) (Hit, bool) {
	if !(c.Radius >= 0) {
		return Hit{}, false
	}
	along := s.B.Sub(s.A)
	n := along.Unit().Perp()
	height := c.Center.Sub(s.A).Dot(n) // above the line through s
	if height < 0 || height == 0 && delta.Dot(n) > 0 {
		n, height = n.Neg(), -height
	}
	if way := c.Center.Sub(s.Closest(c.Center)); way.Len() <= c.Radius {
		if u := way.Unit(); u != (Vec2{}) {
			n = u
		}
		return Hit{Normal: n}, into(delta, n)
	}
	if into(delta, n) {
		// Rounding may call the line touched and s not: then share is 0, and foot decides.
		share := max(0, sub(height, c.Radius)/-delta.Dot(n))
		foot := c.Center.Add(delta.Mul(share)).Sub(s.A).Dot(along)
		if share <= 1 && foot >= 0 && foot <= along.Len2() {
			return Hit{Share: share, Normal: n}, true
		}
	}
	hit, ok := c.SweepCircle(delta, Circle{Center: s.A})
	if h, hitB := c.SweepCircle(delta, Circle{Center: s.B}); hitB && (!ok || h.Share < hit.Share) {
		hit, ok = h, true
	}
	return hit, ok
}

// rectDistance returns the distance of p from the edge of r, negative inside, and the unit vector
// along which it grows fastest.
func rectDistance(p Vec2, r Rect) (float64, Vec2) {
	way := p.Sub(r.Clamp(p))
	if d := way.Len(); d > 0 {
		return d, way.Unit()
	}
	best, n := sub(p.X, r.Min.X), Vec2{X: -1}
	if d := sub(r.Max.X, p.X); d < best {
		best, n = d, Vec2{X: 1}
	}
	if d := sub(p.Y, r.Min.Y); d < best {
		best, n = d, Vec2{Y: -1}
	}
	if d := sub(r.Max.Y, p.Y); d < best {
		best, n = d, Vec2{Y: 1}
	}
	return -best, n
}

// Skin is the gap that Slide leaves between a circle and a wall. It is several times what
// rounding to a grid of 1/256 mm moves a point, so that a position that is rounded after each
// step is still outside.
const Skin = 0x1p-16

const (
	// maxSlides bounds the walls along which one Slide turns; the rest of its way is dropped.
	maxSlides = 6
	// maxPushes bounds the walls out of which one Slide pushes.
	maxPushes = 8
)

// Slide moves a circle of radius r from pos by delta, and where it meets a wall, along the wall.
// It returns where the centre arrives: never through a wall however long delta is, no farther
// than delta, and with a gap of Skin to the walls it met. A passage must be 2r + 2·Skin wide.
//
// A circle that overlaps walls from the beginning is first pushed out; see Free. One that moves
// within the gap is also pushed back to its edge, at most by Skin, but one that stands is left
// alone. If r is negative or anything is not finite, Slide returns pos.
func Slide(pos, delta Vec2, r float64, walls []Rect) Vec2 {
	return Walls{Rects: walls}.Slide(pos, delta, r)
}

// Slide is like the function Slide, for walls of all shapes.
func (w Walls) Slide(pos, delta Vec2, r float64) Vec2 {
	r = float64(r)
	if !(r >= 0) || !finite(r) || !pos.Finite() || !delta.Finite() {
		return pos
	}
	if delta == (Vec2{}) {
		return w.Free(pos, r)
	}
	// Only from the inner half of the gap: rounding does not get there in one step, so that
	// pushing does not disturb every step of a way along a wall.
	pos = w.free(pos, r+Skin/2, Skin/2)
	for range maxSlides {
		hit, ok := w.Sweep(Circle{pos, r + Skin}, delta)
		if !ok {
			return pos.Add(delta)
		}
		pos = pos.Add(delta.Mul(hit.Share))
		delta = delta.Mul(1 - hit.Share).Along(hit.Normal)
	}
	return pos
}

// Free returns pos if a circle of radius r there overlaps no wall, and otherwise a place nearby
// where it does not and has a gap of Skin. It gets there by a few pushes, each the shortest way
// out of the wall that the circle is deepest in; if they lead to no such place, Free returns the
// best on the way, where the circle is the least deep in walls.
func (w Walls) Free(pos Vec2, r float64) Vec2 { return w.free(pos, float64(r), Skin) }

// free is Free with any gap.
func (w Walls) free(pos Vec2, r, gap float64) Vec2 {
	best, least := pos, math.Inf(1)
	for range maxPushes {
		depth, out := w.deepest(pos, r)
		if depth < least {
			best, least = pos, depth
		}
		if !(depth > 0) {
			break
		}
		pos = pos.Add(out.Mul(depth + gap))
	}
	return best
}

// deepest returns how deep a circle is in the wall that it is deepest in, 0 if in none, and the
// unit vector that leads out.
func (w Walls) deepest(pos Vec2, r float64) (depth float64, out Vec2) {
	for i := range w.Rects {
		if !w.Rects[i].grow(r).Contains(pos) {
			continue
		}
		if dist, n := rectDistance(pos, w.Rects[i]); r-dist > depth {
			depth, out = r-dist, n
		}
	}
	for i := range w.Segments {
		s := w.Segments[i]
		way := pos.Sub(s.Closest(pos))
		dist := way.Len()
		if r-dist > depth {
			if depth, out = r-dist, way.Unit(); out == (Vec2{}) {
				out = s.B.Sub(s.A).Unit().Perp()
			}
		}
	}
	for i := range w.Circles {
		c := w.Circles[i]
		way := pos.Sub(c.Center)
		dist := sub(way.Len(), c.Radius)
		if c.Radius >= 0 && r-dist > depth {
			if depth, out = r-dist, way.Unit(); out == (Vec2{}) {
				out = Vec2{X: 1}
			}
		}
	}
	return depth, out
}
