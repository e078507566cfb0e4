package body

import (
	"math"

	"meanwhile/geom"
)

const (
	// near is the gap in metres below which a contact is found without asking whether the bodies
	// meet within the step.
	near = 0.02
	// slop is the depth in metres that is left alone, so that contacts last.
	slop = 0.004
	// A step goes through the contacts of an island until they are solved: at most mostRounds times,
	// and more than leastRounds times only as long as that makes no more than work visits of a point.
	leastRounds, mostRounds, work = 10, 60, 1500
	// corrections is how often a step goes through all contacts that are too deep.
	corrections = 8
	// correction is the share of a depth that one step takes away.
	correction = 0.4
	// minBounce is the closing speed in m/s below which nothing bounces.
	minBounce = 0.4
	// settled is the change of a closing speed in m/s below which contacts count as solved.
	settled = 1e-4
)

// maxStep bounds dt, in seconds.
const maxStep = 1

// mover is a body, or a wall, within a step.
type mover struct {
	pos, vel geom.Vec2
	spin     float64
	im, ii   float64 // one over mass and over the moment of inertia; 0 if it cannot be moved
	cos, sin float64 // of the angle of a box
	half     geom.Vec2
	radius   float64
	kind     kind
	island   int32 // of the one that stands for its island; -1 if that has no points
	up       int32 // a mover of the same island, nearer to the one that stands for it, or itself
	touched  bool  // something touches it
	kept     bool  // takes no part: its state is not written
	layer    uint32
	mask     uint32
	surface  Surface
	bounds   geom.Rect // of its place now and at the end of the step, and near around it
	way      geom.Vec2 // where velocities lead in this step, before bounces
	arc      float64   // by how much they turn it
	push     geom.Vec2 // where it is pushed, out of others
	turn     float64
}

type kind uint8

const (
	none kind = iota
	circle
	box
)

// scratch is memory of a step. Nothing in it counts for the next one.
type scratch struct {
	movers  []mover // the bodies, and the world last
	points  []point
	islands []island
	pairs   []pair
	sorted  []pair
	order   []int32
	counts  []int32
}

// Step moves all bodies by dt seconds and fills Touches. It does nothing if dt is not above 0; a dt
// above 1 counts as 1. A body with a number that is not finite, or farther out than MaxPlace, takes
// no part and stays as it is.
func (s *Scene) Step(dt float64) {
	s.Touches = s.Touches[:0]
	if !(dt > 0) {
		return
	}
	dt = min(dt, maxStep)
	w := &s.work
	w.movers, w.points = w.movers[:0], w.points[:0]
	for i := range s.Bodies {
		w.movers = append(w.movers, mover{})
		m := &w.movers[i]
		m.up, m.island = int32(i), -1
		m.begin(&s.Bodies[i], s.Gravity, dt)
	}
	w.movers = append(w.movers, mover{surface: s.Surface.bounded(), layer: WallLayer, mask: ^uint32(0)})
	s.meetBodies()
	s.meetWalls()
	w.solve(dt)
	w.separate(dt)
	for i := range w.islands {
		w.bounce(&w.islands[i])
	}
	s.report()
	for i := range s.Bodies {
		s.finish(i, dt)
	}
}

func (s Surface) bounded() Surface {
	return Surface{Bounce: geom.Clamp(s.Bounce, 0, 1), Friction: geom.Clamp(s.Friction, 0, 100)}
}

// begin fills m from a body, and applies to its velocities what does not depend on others.
func (m *mover) begin(b *Body, gravity geom.Vec2, dt float64) {
	if !finite(b.Pos, b.Angle) || !b.Vel.Finite() || !b.Spin.Finite() {
		m.kept = true
		return
	}
	m.pos, m.vel = b.Pos, b.Vel.Limit(MaxSpeed)
	m.spin = geom.Clamp(float64(b.Spin), -MaxSpin, MaxSpin)
	if b.NoSpin {
		m.spin = 0
	}
	m.im, m.ii = b.inverse()
	m.surface = b.Surface.bounded()
	m.layer, m.mask = b.Layer, b.Mask
	if m.layer == 0 {
		m.layer = 1
	}
	if m.mask == 0 {
		m.mask = ^uint32(0)
	}
	m.cos = 1
	reach := geom.Vec2{}
	if r := geom.Clamp(b.Radius, 0, MaxSize); r > 0 {
		m.kind, m.radius = circle, r
		reach = geom.Vec2{X: r, Y: r}
	} else if h := b.Half; h.X > 0 && h.Y > 0 {
		m.kind = box
		m.half = geom.Vec2{X: min(h.X, MaxSize), Y: min(h.Y, MaxSize)}
		if b.Angle != 0 {
			m.sin, m.cos = geom.SinCos(float64(b.Angle))
		}
		reach = m.extent()
	}
	if m.im > 0 {
		m.slow(b, gravity, dt)
	}
	m.way, m.arc = m.vel.Mul(dt), float64(m.spin*dt)
	m.bound(reach)
}

// slow applies accelerations and brakes.
func (m *mover) slow(b *Body, gravity geom.Vec2, dt float64) {
	accel := gravity
	if b.Accel.Finite() {
		accel = accel.Add(b.Accel)
	}
	drag, spinDrag := geom.Clamp(b.Drag, 0, MaxRate), geom.Clamp(b.SpinDrag, 0, MaxRate)
	if accel != (geom.Vec2{}) {
		m.vel = m.vel.Add(accel.Mul(dt))
		if !m.vel.Finite() {
			m.vel = geom.Vec2{}
		}
	}
	if drag > 0 {
		m.vel = m.vel.Mul(1 / (1 + float64(drag*dt)))
	}
	if spinDrag > 0 {
		m.spin = float64(m.spin * (1 / (1 + float64(spinDrag*dt))))
	}
	if grip := float64(geom.Clamp(b.Grip, 0, MaxRate) * dt); grip > 0 {
		m.vel = m.vel.Toward(geom.Vec2{}, grip)
		if g2 := b.gyration2(); g2 > 0 {
			most := grip / math.Sqrt(g2)
			m.spin = float64(m.spin - geom.Clamp(m.spin, -most, most))
		}
	}
	m.vel = m.vel.Limit(MaxSpeed)
}

// extent returns half the width and height of a turned box.
func (m *mover) extent() geom.Vec2 {
	c, s := math.Abs(m.cos), math.Abs(m.sin)
	return geom.Vec2{
		X: float64(c*m.half.X) + float64(s*m.half.Y),
		Y: float64(s*m.half.X) + float64(c*m.half.Y),
	}
}

func (m *mover) bound(reach geom.Vec2) {
	x, y := reach.X+near, reach.Y+near
	if m.arc != 0 && m.kind == box {
		more := float64(math.Abs(m.arc) * (m.half.X + m.half.Y))
		x, y = x+more, y+more
	}
	m.bounds = geom.Rect{
		Min: geom.Vec2{X: m.pos.X + min(0, m.way.X) - x, Y: m.pos.Y + min(0, m.way.Y) - y},
		Max: geom.Vec2{X: m.pos.X + max(0, m.way.X) + x, Y: m.pos.Y + max(0, m.way.Y) + y},
	}
}

// finish writes the new state of a body.
func (s *Scene) finish(i int, dt float64) {
	m, b := &s.work.movers[i], &s.Bodies[i]
	if m.kept {
		return
	}
	if m.im > 0 && b.Accel == (geom.Vec2{}) && (m.touched || s.Gravity == (geom.Vec2{})) && m.resting() {
		m.vel, m.spin = geom.Vec2{}, 0
		if m.way.Len2() <= float64(StopSpeed*StopSpeed*float64(dt*dt)) {
			m.way, m.arc = geom.Vec2{}, 0
		}
	}
	m.way = m.way.Add(m.push)
	m.arc += m.turn
	if m.im > 0 && m.mask&WallLayer != 0 {
		m.stay(s.Walls)
	}
	b.Vel, b.Spin = m.vel.Limit(MaxSpeed), geom.Angle(geom.Clamp(m.spin, -MaxSpin, MaxSpin))
	if m.way != (geom.Vec2{}) {
		p := b.Pos.Add(m.way)
		b.Pos = geom.Vec2{X: geom.Clamp(p.X, -MaxPlace, MaxPlace), Y: geom.Clamp(p.Y, -MaxPlace, MaxPlace)}
	}
	if m.arc != 0 {
		b.Angle = (b.Angle + geom.Angle(m.arc)).Norm()
	}
}

// resting reports whether a body is so slow that it stops.
func (m *mover) resting() bool {
	if m.vel.Len2() > StopSpeed*StopSpeed {
		return false
	}
	return float64(math.Abs(m.spin)*(m.radius+m.half.X+m.half.Y)) <= StopSpeed
}

// stay shortens the way of a fast body so that its core does not pass through a wall. The velocity
// remains, and the next step finds the contact.
func (m *mover) stay(walls geom.Walls) {
	if m.kind == none {
		return
	}
	core := float64(m.radius / 2)
	if m.kind == box {
		core = float64(min(m.half.X, m.half.Y) / 2)
	}
	if m.way.Len2() <= float64(core*core) {
		return
	}
	if hit, ok := walls.Sweep(geom.Circle{Center: m.pos, Radius: core}, m.way); ok {
		m.way = m.way.Mul(hit.Share)
	}
}

// report fills Touches: one for each pair of things, from their points.
func (s *Scene) report() {
	w := &s.work
	world := int32(len(s.Bodies))
	open := false // the last of Touches is of the same pair
	for i := range w.points {
		p := &w.points[i]
		open = open && p.second
		if !p.hit() && p.gap > slop {
			continue
		}
		a, b := &w.movers[p.a], &w.movers[p.b]
		a.touched, b.touched = true, true
		t := Touch{A: int(p.a), B: int(p.b), At: a.pos.Add(p.at), Normal: p.normal.dir}
		if p.b == world {
			t.B = -1
		}
		if p.hit() {
			t.Speed, t.Impulse = max(0, p.closing), p.impulse+p.bounced
		}
		if !open {
			s.Touches, open = append(s.Touches, t), true
			continue
		}
		last := &s.Touches[len(s.Touches)-1]
		last.At = last.At.Lerp(t.At, 0.5)
		last.Speed, last.Impulse = max(last.Speed, t.Speed), last.Impulse+t.Impulse
	}
}
