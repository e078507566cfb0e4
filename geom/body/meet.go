package body

import (
	"math"

	"meanwhile/geom"
)

// pair names two bodies whose bounds overlap, a below b.
type pair struct{ a, b int32 }

// meetBodies finds the contacts between bodies, ordered by the first body and then by the second.
func (s *Scene) meetBodies() {
	s.work.findPairs(len(s.Bodies))
	for _, p := range s.work.pairs {
		a, b := &s.work.movers[p.a], &s.work.movers[p.b]
		c := meet(a, b)
		s.work.add(p.a, p.b, b, &c)
	}
}

// findPairs lists the pairs of the first n movers whose bounds overlap. It sorts them by their left
// border and looks at each one's neighbours to the right. The order of the result depends on
// indices alone.
func (w *scratch) findPairs(n int) {
	w.pairs, w.order = w.pairs[:0], w.order[:0]
	for i := range n {
		if m := &w.movers[i]; m.kind != none {
			w.order = append(w.order, int32(i))
		}
	}
	w.sortByLeft()
	for k, i := range w.order {
		a := &w.movers[i]
		for _, j := range w.order[k+1:] {
			b := &w.movers[j]
			if b.bounds.Min.X > a.bounds.Max.X {
				break
			}
			if b.bounds.Min.Y > a.bounds.Max.Y || a.bounds.Min.Y > b.bounds.Max.Y || a.im == 0 && b.im == 0 ||
				a.mask&b.layer == 0 || b.mask&a.layer == 0 {
				continue
			}
			w.pairs = append(w.pairs, pair{min(i, j), max(i, j)})
		}
	}
	w.sortPairs(n)
}

// sortByLeft is a Shell sort: short, without calls, and fast enough for hundreds.
func (w *scratch) sortByLeft() {
	for _, gap := range [...]int{301, 132, 57, 23, 10, 4, 1} {
		for i := gap; i < len(w.order); i++ {
			at, k := w.order[i], i
			left := w.movers[at].bounds.Min.X
			for ; k >= gap && w.movers[w.order[k-gap]].bounds.Min.X > left; k -= gap {
				w.order[k] = w.order[k-gap]
			}
			w.order[k] = at
		}
	}
}

// sortPairs counts the pairs into place, by the second body and then, keeping that order, by the
// first.
func (w *scratch) sortPairs(n int) {
	for len(w.counts) < n+1 {
		w.counts = append(w.counts, 0)
	}
	for len(w.sorted) < len(w.pairs) {
		w.sorted = append(w.sorted, pair{})
	}
	countInto(w.sorted, w.pairs, w.counts[:n+1], false)
	countInto(w.pairs, w.sorted[:len(w.pairs)], w.counts[:n+1], true)
}

// countInto writes the pairs of from to to, sorted by the first or the second body. Pairs that are
// equal in it keep their order.
func countInto(to, from []pair, counts []int32, first bool) {
	clear(counts)
	key := func(p pair) int32 {
		if first {
			return p.a
		}
		return p.b
	}
	for _, p := range from {
		counts[key(p)+1]++
	}
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
	for _, p := range from {
		to[counts[key(p)]] = p
		counts[key(p)]++
	}
}

// meetWalls finds the contacts between bodies and walls, wall by wall. They come last, so that a
// body that is pressed between another one and a wall stays out of the wall.
func (s *Scene) meetWalls() {
	for _, r := range s.Walls.Rects {
		size := r.Size()
		m := mover{kind: box, pos: r.Center(), half: size.Mul(0.5), cos: 1, bounds: r}
		if size.X >= 0 && size.Y >= 0 && sane(r.Min) && sane(r.Max) {
			s.meetWall(&m)
		}
	}
	for _, g := range s.Walls.Segments {
		along := g.B.Sub(g.A)
		m := mover{kind: box, pos: g.A.Lerp(g.B, 0.5), half: geom.Vec2{X: float64(along.Len() / 2)}, bounds: geom.Rect{
			Min: geom.Vec2{X: min(g.A.X, g.B.X), Y: min(g.A.Y, g.B.Y)},
			Max: geom.Vec2{X: max(g.A.X, g.B.X), Y: max(g.A.Y, g.B.Y)},
		}}
		u := along.Unit()
		if m.cos, m.sin = u.X, u.Y; u == (geom.Vec2{}) {
			m.cos = 1
		}
		if sane(g.A) && sane(g.B) {
			s.meetWall(&m)
		}
	}
	for _, c := range s.Walls.Circles {
		m := mover{kind: circle, pos: c.Center, radius: c.Radius, cos: 1}
		m.bounds = geom.Rect{Min: c.Center, Max: c.Center}.Expand(c.Radius)
		if c.Radius >= 0 && c.Radius <= MaxWall && sane(c.Center) {
			s.meetWall(&m)
		}
	}
}

// sane reports whether a coordinate of a wall is one to count with.
func sane(v geom.Vec2) bool { return math.Abs(v.X) <= MaxWall && math.Abs(v.Y) <= MaxWall }

func (s *Scene) meetWall(wall *mover) {
	world := int32(len(s.Bodies))
	wall.surface = s.work.movers[world].surface
	for i := range s.Bodies {
		m := &s.work.movers[i]
		if m.kind == none || m.im == 0 || m.mask&WallLayer == 0 || !m.bounds.Overlaps(wall.bounds) {
			continue
		}
		c := meet(m, wall)
		if c.corner && s.hidden(m.pos.Add(c.at[0].at), m.pos.Add(c.at[0].at).Sub(c.n.Mul(c.away))) {
			continue
		}
		s.work.add(int32(i), world, wall, &c)
	}
}

// seam is the distance in metres within which walls count as joined.
const seam = 1e-6

// hidden reports whether the corner of a wall, which a circle around center touches, is only where
// the wall is joined to another one that comes nearer to the circle. Otherwise balls would stumble
// over the joints of a wall of several pieces.
func (s *Scene) hidden(corner, center geom.Vec2) bool {
	most := corner.Dist(center) - seam
	for _, r := range s.Walls.Rects {
		if r.Clamp(center).Dist(center) < most && r.Clamp(corner).Dist(corner) < seam {
			return true
		}
	}
	for _, g := range s.Walls.Segments {
		if g.Closest(center).Dist(center) < most && g.Closest(corner).Dist(corner) < seam {
			return true
		}
	}
	return false
}

// contact is where two things touch, or would within the step: a normal, and one or two points.
type contact struct {
	n  geom.Vec2 // from the first to the second
	at [2]spot
	k  int
	// corner says that a circle touches a box at a corner, and away how far that is from its centre
	// then.
	corner bool
	away   float64
}

// spot is a point of a contact, relative to the centre of the first thing.
type spot struct {
	at  geom.Vec2
	gap float64 // along the normal; negative if they overlap
}

func (c *contact) set(n, at geom.Vec2, gap float64) {
	c.n, c.at[0], c.k = n, spot{at, gap}, 1
}

// turned is the same contact with the two things exchanged, where d leads from the new first to the
// new second.
func (c *contact) turned(d geom.Vec2) {
	c.n = c.n.Neg()
	for i := range c.k {
		c.at[i].at = c.at[i].at.Add(d)
	}
}

// meet finds the contact between a and b.
func meet(a, b *mover) (c contact) {
	d := b.pos.Sub(a.pos)
	rel := b.way.Sub(a.way)
	switch {
	case a.kind == circle && b.kind == circle:
		c.circles(a, b, d, rel)
	case a.kind == circle:
		c.boxCircle(b, a, d.Neg(), rel.Neg())
		c.turned(d)
	case b.kind == circle:
		c.boxCircle(a, b, d, rel)
	default:
		reach := float64(math.Abs(a.arc)*(a.half.X+a.half.Y)) + float64(math.Abs(b.arc)*(b.half.X+b.half.Y))
		c.boxes(a, b, d, near+rel.Len()+reach)
	}
	return c
}

// add adds the points of a contact between mover i and b, which has index j.
func (w *scratch) add(i, j int32, b *mover, c *contact) {
	if c.k == 0 {
		return
	}
	a := &w.movers[i]
	d := b.pos.Sub(a.pos)
	bounce := max(a.surface.Bounce, b.surface.Bounce)
	friction := math.Sqrt(float64(a.surface.Friction * b.surface.Friction))
	for k := range c.k {
		at := c.at[k].at
		p := point{a: i, b: j, at: at, gap: c.at[k].gap, second: k > 0, bounce: bounce, friction: friction}
		p.normal = newAxis(c.n, at, at.Sub(d), a, b)
		p.tangent = newAxis(c.n.Perp(), at, at.Sub(d), a, b)
		w.points = append(w.points, p)
	}
}

// circles finds the contact of two circles. d leads from a to b, and b moves by rel as seen from a.
func (c *contact) circles(a, b *mover, d, rel geom.Vec2) {
	both := a.radius + b.radius
	dist := d.Len()
	if dist <= both || dist-both <= near && slow(rel) {
		n := geom.Vec2{X: 1}
		if dist > 0 {
			n = geom.Vec2{X: d.X / dist, Y: d.Y / dist}
		}
		c.set(n, n.Mul(a.radius), dist-both)
		return
	}
	if hit, ok := (geom.Circle{Center: d, Radius: both}).SweepCircle(rel, geom.Circle{}); ok {
		n := hit.Normal
		c.set(n, n.Mul(a.radius), -float64(hit.Share*rel.Dot(n)))
	}
}

// slow reports whether things that move by rel, as seen from each other, hardly change the direction
// in which they lie, so that they would meet there if another one pushed them.
func slow(rel geom.Vec2) bool { return rel.Len2() <= float64(near*near)/100 }

// boxCircle finds the contact of box a with circle b.
func (c *contact) boxCircle(a, b *mover, d, rel geom.Vec2) {
	p := a.local(d)
	h := a.half
	edge := geom.Vec2{X: geom.Clamp(p.X, -h.X, h.X), Y: geom.Clamp(p.Y, -h.Y, h.Y)}
	out := p.Sub(edge)
	if dist := out.Len(); dist > 0 {
		// Beside a side the way along it is free. At a corner that is passed it is not.
		flat := out.X == 0 || out.Y == 0
		if dist <= b.radius || dist-b.radius <= near && (flat || slow(rel)) {
			n := geom.Vec2{X: out.X / dist, Y: out.Y / dist}
			c.set(a.world(n), a.world(edge), dist-b.radius)
			c.corner, c.away = !flat, dist
			return
		}
		rect := geom.Rect{Min: h.Neg(), Max: h}
		way := a.local(rel)
		if hit, ok := (geom.Circle{Center: p, Radius: b.radius}).SweepRect(way, rect); ok {
			edge = p.Add(way.Mul(hit.Share)).Sub(hit.Normal.Mul(b.radius))
			c.set(a.world(hit.Normal), a.world(edge), -float64(hit.Share*way.Dot(hit.Normal)))
			c.corner, c.away = hit.Normal.X != 0 && hit.Normal.Y != 0, b.radius
		}
		return
	}
	// The centre is inside: out of the nearest side.
	x, y := h.X-math.Abs(p.X), h.Y-math.Abs(p.Y)
	if x < y {
		n := geom.Vec2{X: sign(p.X)}
		c.set(a.world(n), a.world(geom.Vec2{X: float64(n.X * h.X), Y: p.Y}), -x-b.radius)
		return
	}
	n := geom.Vec2{Y: sign(p.Y)}
	c.set(a.world(n), a.world(geom.Vec2{X: p.X, Y: float64(n.Y * h.Y)}), -y-b.radius)
}

// sign returns -1 for negative x and 1 for others.
func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// local turns a vector of the world into the frame of a box.
func (m *mover) local(v geom.Vec2) geom.Vec2 {
	return geom.Vec2{
		X: float64(v.X*m.cos) + float64(v.Y*m.sin),
		Y: float64(v.Y*m.cos) - float64(v.X*m.sin),
	}
}

// world turns a vector in the frame of a box into one of the world.
func (m *mover) world(v geom.Vec2) geom.Vec2 {
	return geom.Vec2{
		X: float64(v.X*m.cos) - float64(v.Y*m.sin),
		Y: float64(v.X*m.sin) + float64(v.Y*m.cos),
	}
}

// boxes finds the contact of two boxes whose gap is at most margin: the side of either box that
// keeps them apart the most, and the part of the other box's nearest side that lies before it.
func (c *contact) boxes(a, b *mover, d geom.Vec2, margin float64) {
	da, gapA := sides(a, b, d)
	db, gapB := sides(b, a, d.Neg())
	if gapA > margin || gapB > margin {
		return
	}
	// The first box wins unless the other side is clearly better, so that it does not change from
	// step to step.
	if gapB > gapA+0.002 {
		c.clip(b, a, db, d.Neg(), margin)
		c.turned(d)
		return
	}
	c.clip(a, b, da, d, margin)
}

// sides returns the side of box a, as a normal in its own frame, that is farthest from box b, and
// their gap along it.
func sides(a, b *mover, d geom.Vec2) (geom.Vec2, float64) {
	p := a.local(d)
	c := math.Abs(float64(a.cos*b.cos) + float64(a.sin*b.sin))
	s := math.Abs(float64(a.cos*b.sin) - float64(a.sin*b.cos))
	x := math.Abs(p.X) - a.half.X - float64(c*b.half.X) - float64(s*b.half.Y)
	y := math.Abs(p.Y) - a.half.Y - float64(s*b.half.X) - float64(c*b.half.Y)
	if x >= y {
		return geom.Vec2{X: sign(p.X)}, x
	}
	return geom.Vec2{Y: sign(p.Y)}, y
}

// clip sets the points of b's nearest side that lie before the side of a with normal n in a's frame.
func (c *contact) clip(a, b *mover, n, d geom.Vec2, margin float64) {
	height, width := a.half.X, a.half.Y
	if n.X == 0 {
		height, width = width, height
	}
	n = a.world(n)
	t := n.Perp()
	// The side of b that faces n most, as its middle and half of its length, in coordinates along n
	// and t.
	ux := geom.Vec2{X: b.cos, Y: b.sin}
	uy := ux.Perp()
	out, along, deep, long := ux, uy, b.half.X, b.half.Y
	if math.Abs(uy.Dot(n)) > math.Abs(ux.Dot(n)) {
		out, along, deep, long = uy, ux, b.half.Y, b.half.X
	}
	mid := d.Sub(out.Mul(float64(sign(out.Dot(n)) * deep)))
	edge := along.Mul(long)
	p, q := mid.Sub(edge), mid.Add(edge)
	pt, pn, qt, qn := p.Dot(t), p.Dot(n), q.Dot(t), q.Dot(n)
	if pt > qt {
		pt, pn, qt, qn = qt, qn, pt, pn
	}
	if qt < -width || pt > width {
		return
	}
	if min(qt, -pt)+width < 2*slop && max(pn, qn) > height-2*slop {
		return // b lies on the next side and only comes by, as along a wall of several pieces
	}
	if span, rise := qt-pt, qn-pn; span > 0 {
		if pt < -width {
			pn, pt = pn+float64(rise*((-width-pt)/span)), -width
		}
		if qt > width {
			qn, qt = qn-float64(rise*((qt-width)/span)), width
		}
	}
	c.n = n
	c.add(t, pt, pn-height, height, margin)
	if qt-pt > 1e-6 {
		c.add(t, qt, qn-height, height, margin)
	}
}

// add adds a point at the given coordinates, on the side of the first box.
func (c *contact) add(t geom.Vec2, along, gap, height, margin float64) {
	if gap > margin {
		return
	}
	c.at[c.k] = spot{c.n.Mul(height + float64(gap/2)).Add(t.Mul(along)), gap}
	c.k++
}
