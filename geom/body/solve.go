package body

import (
	"math"

	"meanwhile/geom"
)

// point is one point where two movers touch or may touch within the step.
type point struct {
	a, b     int32
	next     int32 // the next one of the island, or -1
	second   bool  // the point before is of the same pair
	normal   axis  // from a to b
	tangent  axis
	at       geom.Vec2 // from the centre of a
	gap      float64   // before the step, and after separate at its end
	bounce   float64
	friction float64
	closing  float64 // speed along the normal before the step, positive if they close in
	least    float64 // speed along the normal that closes the gap in this step, or 0
	impulse  float64 // along the normal
	sideways float64 // along the tangent
	pushed   float64 // position correction so far
	bounced  float64 // impulse that bounce has added
	lost     float64 // energy that impulses along the normal took away; of a pair in its first point
}

// axis is a direction in which the two movers of a point push each other.
type axis struct {
	dir    geom.Vec2 // unit vector
	a, b   float64   // levers: the distances at which a push passes their centres, with sign
	resist float64   // change of their speed along the axis by an impulse of 1
	yield  float64   // one over resist
}

func newAxis(dir, ra, rb geom.Vec2, a, b *mover) axis {
	x := axis{dir: dir, a: ra.Cross(dir), b: rb.Cross(dir)}
	x.resist = a.im + b.im + float64(float64(a.ii*x.a)*x.a) + float64(float64(b.ii*x.b)*x.b)
	x.yield = 1 / x.resist
	return x
}

// speed returns how fast the point on b moves along the axis, as seen from the point on a.
func (x *axis) speed(a, b *mover) float64 {
	return float64((b.vel.X-a.vel.X)*x.dir.X) + float64((b.vel.Y-a.vel.Y)*x.dir.Y) +
		float64(b.spin*x.b) - float64(a.spin*x.a)
}

// apply gives both movers an impulse j along the axis.
func (x *axis) apply(a, b *mover, j float64) {
	ja, jb := float64(a.im*j), float64(b.im*j)
	a.vel.X -= float64(x.dir.X * ja)
	a.vel.Y -= float64(x.dir.Y * ja)
	a.spin -= float64(float64(a.ii*x.a) * j)
	b.vel.X += float64(x.dir.X * jb)
	b.vel.Y += float64(x.dir.Y * jb)
	b.spin += float64(float64(b.ii*x.b) * j)
}

// cost returns the energy that an impulse j takes away, where v was the speed before.
func (x *axis) cost(v, j float64) float64 {
	return -float64(j * (v + float64(0.5*float64(j*x.resist))))
}

// island is a group of bodies that touch each other, directly or through others with mass, with the
// walls and bodies without mass that they touch. Islands are solved one by one and share nothing,
// so that no body's path depends on what happens far away.
type island struct {
	first, last int32 // in scratch.points; a chain by point.next leads from one to the other
	count       int
	lost        float64 // energy that contacts have taken so far, in joules
}

// findIslands chains the points of each island.
func (w *scratch) findIslands() {
	w.islands = w.islands[:0]
	for i := range w.points {
		p := &w.points[i]
		if w.movers[p.a].im > 0 && w.movers[p.b].im > 0 {
			a, b := w.top(p.a), w.top(p.b)
			w.movers[max(a, b)].up = min(a, b)
		}
	}
	for i := range w.points {
		p := &w.points[i]
		one := p.a
		if w.movers[one].im == 0 {
			one = p.b
		}
		top := &w.movers[w.top(one)]
		if top.island < 0 {
			top.island = int32(len(w.islands))
			w.islands = append(w.islands, island{first: int32(i), last: int32(i)})
		}
		is := &w.islands[top.island]
		w.points[is.last].next = int32(i)
		p.next = -1
		is.last = int32(i)
		is.count++
	}
}

// top returns the mover that stands for the island of mover i.
func (w *scratch) top(i int32) int32 {
	for w.movers[i].up != i {
		w.movers[i].up = w.movers[w.movers[i].up].up
		i = w.movers[i].up
	}
	return i
}

// rounds returns how often to go through the points. Light things between heavy ones take many.
func (is *island) rounds() int {
	return min(max(work/is.count, leastRounds), mostRounds)
}

// solve changes velocities until no contact closes in any more than to its gap.
func (w *scratch) solve(dt float64) {
	for i := range w.points {
		p := &w.points[i]
		p.closing = -p.normal.speed(&w.movers[p.a], &w.movers[p.b])
		if p.gap > 0 {
			p.least = -p.gap / dt
		}
	}
	w.findIslands()
	for i := range w.islands {
		w.press(&w.islands[i])
	}
}

// press solves an island by impulses from contact to contact.
func (w *scratch) press(is *island) {
	points, movers := w.points, w.movers
	for range is.rounds() {
		worst := 0.0
		var head *point // the first point of the pair
		for i := is.first; i >= 0; {
			p := &points[i]
			if !p.second {
				head = p
			}
			i = p.next
			a, b := &movers[p.a], &movers[p.b]
			if p.friction > 0 && (p.impulse > 0 || p.sideways != 0) {
				v, most := p.tangent.speed(a, b), float64(p.friction*p.impulse)
				j := geom.Clamp(p.sideways-float64(v*p.tangent.yield), -most, most)
				step := j - p.sideways
				p.sideways = j
				p.tangent.apply(a, b, step)
				is.lost += p.tangent.cost(v, step)
			}
			v := p.normal.speed(a, b)
			j := max(0, p.impulse+float64((p.least-v)*p.normal.yield))
			step := j - p.impulse
			if step == 0 {
				continue
			}
			p.impulse = j
			p.normal.apply(a, b, step)
			lost := p.normal.cost(v, step)
			head.lost += lost
			is.lost += lost
			worst = max(worst, math.Abs(float64(step*p.normal.resist)))
		}
		if worst <= settled {
			break
		}
	}
}

// separate notes where velocities lead, and finds how far to push movers that overlap there. It
// moves them without speeding them up.
func (w *scratch) separate(dt float64) {
	deep := false
	for i := range w.movers {
		m := &w.movers[i]
		m.way, m.arc = m.vel.Mul(dt), float64(m.spin*dt)
	}
	for i := range w.points {
		p := &w.points[i]
		p.gap += float64(p.normal.speed(&w.movers[p.a], &w.movers[p.b]) * dt)
		deep = deep || p.gap < -slop
	}
	if !deep {
		return
	}
	for range corrections {
		for i := range w.points {
			p := &w.points[i]
			if p.gap >= -slop {
				continue
			}
			a, b, n := &w.movers[p.a], &w.movers[p.b], &p.normal
			// Below slop, so that the pushing ends and does not approach its aim for ever.
			aim := float64(correction * (-p.gap - slop/2))
			moved := b.push.Sub(a.push).Dot(n.dir) + float64(b.turn*n.b) - float64(a.turn*n.a)
			j := max(0, p.pushed+float64((aim-moved)*n.yield))
			step := j - p.pushed
			p.pushed = j
			a.push = a.push.Sub(n.dir.Mul(float64(a.im * step)))
			a.turn -= float64(float64(a.ii*n.a) * step)
			b.push = b.push.Add(n.dir.Mul(float64(b.im * step)))
			b.turn += float64(float64(b.ii*n.b) * step)
		}
	}
}

// bounce gives back a share of the closing speed, and stops what has come near within the step. No
// pair gives back more energy than its impulses took, and all together no more than the island has
// lost.
func (w *scratch) bounce(is *island) {
	points, movers := w.points, w.movers
	for range is.rounds() {
		worst := 0.0
		var head *point // the first point of the pair
		for i := is.first; i >= 0; {
			p := &points[i]
			if !p.second {
				head = p
			}
			i = p.next
			if !p.hit() {
				continue
			}
			want := 0.0
			if p.closing > minBounce {
				want = float64(p.bounce * p.closing)
			}
			a, b, n := &movers[p.a], &movers[p.b], &p.normal
			v := n.speed(a, b)
			j := max(0, p.bounced+float64((want-v)*n.yield)) - p.bounced
			if j == 0 {
				continue
			}
			room := max(0, min(head.lost, is.lost))
			if j > 0 && n.cost(v, j) < -room {
				j = float64((math.Sqrt(float64(v*v)+float64(2*float64(n.resist*room))) - v) * n.yield)
			}
			p.bounced += j
			n.apply(a, b, j)
			lost := n.cost(v, j)
			head.lost += lost
			is.lost += lost
			worst = max(worst, math.Abs(float64(j*n.resist)))
		}
		if worst <= settled {
			break
		}
	}
}

// hit reports whether the point has taken up a force that counts.
func (p *point) hit() bool { return float64(p.impulse*p.normal.resist) > settled }
