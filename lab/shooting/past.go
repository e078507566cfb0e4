package shooting

import (
	"cmp"
	"slices"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// pastTicks is how far back what was is remembered.
const pastTicks = 256

// past is what was where, in the world of the server, after each of the last ticks.
type past struct {
	newest  clock.Tick
	moments [pastTicks]sight
}

// record remembers a tick that ends.
func (p *past) record(w *game.World) {
	p.newest = w.Tick()
	m := &p.moments[w.Tick()%pastTicks]
	m.reset()
	for id, o := range men.All(w) {
		at, _ := w.On(o.On, o.Pos)
		m.bodies = append(m.bodies, body{id, at, o.Crouch, o.Alive})
	}
	for _, d := range doors.All(w) {
		m.doors = append(m.doors, d.Pos)
	}
}

// tick returns what was after a tick; nil if that is forgotten.
func (p *past) tick(t clock.Tick) *sight {
	if t == 0 || t > p.newest || p.newest-t >= pastTicks {
		return nil
	}
	return &p.moments[t%pastTicks]
}

// at returns what a server has of a moment that keeps so many states, every so many ticks, and
// interpolates between them: nil if the moment is older than all of them. After the newest it goes
// on for at most one interval.
func (p *past) at(t clock.TickFrac, every clock.Tick, kept int, dst *sight) *sight {
	last := p.newest / every * every
	a := max(t.Tick(), 1) / every * every
	if a >= last {
		a = last - min(every, last-1)
	}
	first := last - min(clock.Tick(min(kept, pastTicks-1)-1)*every, last-1)
	if t < first.Frac() {
		return nil
	}
	from, to := p.tick(a), p.tick(a+every)
	if from == nil || to == nil {
		return nil
	}
	u := min(float64(t-a.Frac())/float64(every.Frac()), 2)
	if every == 1 {
		u = min(u, 1)
	}
	dst.reset()
	for _, b := range from.bodies {
		if i, ok := find(to, b.id); ok {
			b.at = b.at.Lerp(to.bodies[i].at, u)
		}
		dst.bodies = append(dst.bodies, b)
	}
	for i, d := range from.doors {
		dst.doors = append(dst.doors, d.Lerp(to.doors[i], u))
	}
	return dst
}

func find(s *sight, id game.ID) (int, bool) {
	return slices.BinarySearchFunc(s.bodies, id, func(b body, id game.ID) int { return cmp.Compare(b.id, id) })
}

// behind returns for how many ticks the victim of a hit has been behind cover when the server
// decides it, at the present of its world; 0 if the shooter could see it.
func (p *past) behind(shooter, victim game.ID, now clock.Tick) clock.Tick {
	if victim == 0 {
		return 0
	}
	now = min(now, p.newest)
	for back := clock.Tick(0); back < pastTicks/2; back++ {
		m := p.tick(now - min(now, back))
		if m == nil {
			return back
		}
		i, ok := find(m, shooter)
		j, there := find(m, victim)
		if !ok || !there {
			return back
		}
		eye := m.bodies[i].at.Add(geom.Vec3{Z: eyeHeight(m.bodies[i].crouch)})
		if m.visible(eye, &m.bodies[j]) {
			return back
		}
	}
	return pastTicks / 2
}
