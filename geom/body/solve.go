package body

import (
	"math"

	"meanwhile/geom"
)

// point is one point where two movers touch or may touch within the step.
type point struct {
	a, b     int32
	second   bool      // the point before is of the same pair
	n        geom.Vec2 // unit vector from a to b
	ra, rb   geom.Vec2 // from their centres
	gap      float64   // before the step, and after separate at its end
	bounce   float64
	friction float64
	closing  float64 // speed along the normal before the step, positive if they close in
	resist   float64 // change of the speed along the normal by an impulse of 1
	drag     float64 // the same along the tangent
	impulse  float64 // along the normal
	sideways float64 // along the tangent
	pushed   float64 // position correction so far
	bounced  float64 // impulse that bounce has added
	lost     float64 // energy that impulses along the normal took away; of a pair in its first point
}

func (p *point) prepare(a, b *mover) {
	t := p.n.Perp()
	an, bn, at, bt := p.ra.Cross(p.n), p.rb.Cross(p.n), p.ra.Cross(t), p.rb.Cross(t)
	im := a.im + b.im
	p.resist = im + float64(float64(a.ii*an)*an) + float64(float64(b.ii*bn)*bn)
	p.drag = im + float64(float64(a.ii*at)*at) + float64(float64(b.ii*bt)*bt)
	p.closing = -p.apart(a, b).Dot(p.n)
}

// apart returns the velocity of the point on b as seen from the point on a.
func (p *point) apart(a, b *mover) geom.Vec2 {
	return geom.Vec2{
		X: b.vel.X - float64(b.spin*p.rb.Y) - a.vel.X + float64(a.spin*p.ra.Y),
		Y: b.vel.Y + float64(b.spin*p.rb.X) - a.vel.Y - float64(a.spin*p.ra.X),
	}
}

// apply gives both movers an impulse j in direction dir.
func (p *point) apply(a, b *mover, dir geom.Vec2, j float64) {
	x, y := float64(dir.X*j), float64(dir.Y*j)
	a.vel.X -= float64(a.im * x)
	a.vel.Y -= float64(a.im * y)
	a.spin -= float64(a.ii * (float64(p.ra.X*y) - float64(p.ra.Y*x)))
	b.vel.X += float64(b.im * x)
	b.vel.Y += float64(b.im * y)
	b.spin += float64(b.ii * (float64(p.rb.X*y) - float64(p.rb.Y*x)))
}

// solve changes velocities until no contact closes in any more than to its gap, by impulses from
// contact to contact.
func (w *scratch) solve(dt float64) {
	for range iterations {
		worst := 0.0
		head := 0 // the first point of the pair
		for i := range w.points {
			p := &w.points[i]
			if !p.second {
				head = i
			}
			a, b := &w.movers[p.a], &w.movers[p.b]
			if p.friction > 0 && (p.impulse > 0 || p.sideways != 0) {
				t := p.n.Perp()
				v := p.apart(a, b).Dot(t)
				most := float64(p.friction * p.impulse)
				j := geom.Clamp(p.sideways-v/p.drag, -most, most)
				step := j - p.sideways
				p.sideways = j
				p.apply(a, b, t, step)
				w.lost -= float64(step * (v + float64(0.5*float64(step*p.drag))))
			}
			v := p.apart(a, b).Dot(p.n)
			want := 0.0
			if p.gap > 0 {
				want = -p.gap / dt
			}
			j := max(0, p.impulse+(want-v)/p.resist)
			step := j - p.impulse
			if step == 0 {
				continue
			}
			p.impulse = j
			p.apply(a, b, p.n, step)
			lost := -float64(step * (v + float64(0.5*float64(step*p.resist))))
			w.points[head].lost += lost
			w.lost += lost
			worst = max(worst, math.Abs(float64(step*p.resist)))
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
		p.gap += float64(p.apart(&w.movers[p.a], &w.movers[p.b]).Dot(p.n) * dt)
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
			a, b := &w.movers[p.a], &w.movers[p.b]
			// Below slop, so that the pushing ends and does not approach its aim for ever.
			aim := float64(correction * (-p.gap - slop/2))
			moved := geom.Vec2{
				X: b.push.X - float64(b.turn*p.rb.Y) - a.push.X + float64(a.turn*p.ra.Y),
				Y: b.push.Y + float64(b.turn*p.rb.X) - a.push.Y - float64(a.turn*p.ra.X),
			}.Dot(p.n)
			j := max(0, p.pushed+(aim-moved)/p.resist)
			x, y := float64(p.n.X*(j-p.pushed)), float64(p.n.Y*(j-p.pushed))
			p.pushed = j
			a.push.X -= float64(a.im * x)
			a.push.Y -= float64(a.im * y)
			a.turn -= float64(a.ii * (float64(p.ra.X*y) - float64(p.ra.Y*x)))
			b.push.X += float64(b.im * x)
			b.push.Y += float64(b.im * y)
			b.turn += float64(b.ii * (float64(p.rb.X*y) - float64(p.rb.Y*x)))
		}
	}
}

// bounce gives back a share of the closing speed, and stops what has come near within the step. No
// pair gives back more energy than its impulses took, and all together no more than the scene has
// lost.
func (w *scratch) bounce() {
	for range iterations {
		worst := 0.0
		head := 0 // the first point of the pair
		for i := range w.points {
			p := &w.points[i]
			if !p.second {
				head = i
			}
			if !p.hit() {
				continue
			}
			want := 0.0
			if p.closing > minBounce {
				want = float64(p.bounce * p.closing)
			}
			a, b := &w.movers[p.a], &w.movers[p.b]
			v := p.apart(a, b).Dot(p.n)
			j := max(0, p.bounced+(want-v)/p.resist) - p.bounced
			room := max(0, min(w.points[head].lost, w.lost))
			if most := (math.Sqrt(float64(v*v)+float64(2*float64(p.resist*room))) - v) / p.resist; j > most {
				j = most
			}
			if j == 0 {
				continue
			}
			p.bounced += j
			p.apply(a, b, p.n, j)
			lost := -float64(j * (v + float64(0.5*float64(j*p.resist))))
			w.points[head].lost += lost
			w.lost += lost
			worst = max(worst, math.Abs(float64(j*p.resist)))
		}
		if worst <= settled {
			break
		}
	}
}

// hit reports whether the point has taken up a force that counts.
func (p *point) hit() bool { return float64(p.impulse*p.resist) > settled }
