package crowd

import (
	"math"
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/snapshot"
)

// Bands are the distances in metres from a viewer within which errors are averaged, in the truth.
var Bands = [...]float64{10, 30, 100, math.Inf(1)}

const (
	unknownCM = 500 // error that counts for what should be known and is not
	// fresh is how old the newest state may be of what counts as known and does not rest.
	fresh = 2 * time.Second
	// mostAngle in radians bounds what an error counts in the score.
	mostAngle = 0.2
	// scoreAt is the distance in cm at which the score says how large errors look.
	scoreAt = 1000
)

// Quality is what viewers know and draw, compared with the server's state of the same moment. It
// counts every walker that each viewer should know: the near-1 nearest others in the truth.
type Quality struct {
	moments int // viewers times ticks
	Things  int // should have been known, sum over moments

	Held, Carried, Drawn [len(Bands)]Mean
	Score                Mean // of held: error over distance, as large as it looks at scoreAt
	Known, Named         int  // of Things
	ages                 []uint16
	stale                []uint16

	near []neighbour
}

// Mean is a sum and its count.
type Mean struct {
	sum float64
	n   int
}

func (m *Mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

// Value returns the mean, 0 of nothing.
func (m Mean) Value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}

type neighbour struct {
	walker int32
	dist2  int64
}

// nearest returns the walkers that viewer v should know, the nearest first.
func (q *Quality) nearest(r *Run, v *viewer) []neighbour {
	w := r.scene.walkers
	me := v.peer.walker
	q.near = q.near[:0]
	for i := range w.x {
		if i == me || r.scene.ids[i] == 0 {
			continue
		}
		dx, dy := int64(w.x[i]-w.x[me]), int64(w.y[i]-w.y[me])
		q.near = append(q.near, neighbour{int32(i), dx*dx + dy*dy})
	}
	slices.SortFunc(q.near, func(a, b neighbour) int {
		if a.dist2 != b.dist2 {
			if a.dist2 < b.dist2 {
				return -1
			}
			return 1
		}
		return int(a.walker - b.walker)
	})
	return q.near[:min(len(q.near), near-1)]
}

// measure compares what a viewer holds and drew at this tick with the truth.
func (q *Quality) measure(r *Run, v *viewer) {
	q.moments++
	w := r.scene.walkers
	for _, n := range q.nearest(r, v) {
		q.Things++
		x, y := float64(w.x[n.walker]), float64(w.y[n.walker])
		dist := math.Sqrt(float64(n.dist2))
		held, carried, shown := float64(unknownCM), float64(unknownCM), float64(unknownCM)
		if e, s, known := v.holds(r, n.walker); s != nil {
			age := r.tick - min(s.Tick, r.tick)
			held = math.Hypot(float64(s.Vals[v.offset])-x, float64(s.Vals[v.offset+1])-y)
			cx, cy := v.carry(e, s.Tick, r.tick)
			carried = math.Hypot(cx-x, cy-y)
			if known {
				q.Known++
			}
			q.ages = append(q.ages, uint16(age))
			if held >= 1 {
				q.stale = append(q.stale, uint16(age))
			}
		}
		if d := &v.drawn[n.walker]; d.frame == v.frames {
			shown = math.Hypot(d.x-x, d.y-y)
			if d.named {
				q.Named++
			}
		}
		q.Score.add(min(held/max(dist, 1), mostAngle) * scoreAt)
		for b, far := range Bands {
			if dist <= far*100 {
				q.Held[b].add(held)
				q.Carried[b].add(carried)
				q.Drawn[b].add(shown)
			}
		}
	}
}

// holds returns what the viewer holds of a walker, and its newest place; nil where it holds none.
// It is known if that place was true not longer than fresh ago.
func (v *viewer) holds(r *Run, walker int32) (e *snapshot.Replica, s *motion.State, known bool) {
	if e = v.Store().Find(uint32(r.scene.ids[walker])); e == nil {
		return nil, nil, false
	}
	if s = e.Groups[v.group].Newest(); s == nil {
		return e, nil, false
	}
	was := s.Tick
	if rest := r.scene.rests[walker]; s.Tick >= rest.moved {
		was = max(was, rest.rested)
	}
	return e, s, r.tick-min(was, r.tick) < clock.Tick(fresh/tick)
}

// carry returns where an entity is at tick now if it goes on straight as between its last two
// states, up to fresh.
func (v *viewer) carry(e *snapshot.Replica, newest, now clock.Tick) (x, y float64) {
	g := &e.Groups[v.group]
	b := g.Newest()
	x, y = float64(b.Vals[v.offset]), float64(b.Vals[v.offset+1])
	if b.Rest || newest == 0 {
		return x, y
	}
	a, _ := g.Since(newest - 1)
	if a == nil || a.Tick >= newest || a.Rest {
		return x, y
	}
	u := float64(min(now, newest+clock.Tick(fresh/tick))-newest) / float64(newest-a.Tick)
	return x + (x-float64(a.Vals[v.offset]))*u, y + (y-float64(a.Vals[v.offset+1]))*u
}

// Percentile returns the age in milliseconds of held states that a share of them does not exceed.
// moving leaves out what stands still.
func (q *Quality) Percentile(share float64, moving bool) float64 {
	ages := q.ages
	if moving {
		ages = q.stale
	}
	if len(ages) == 0 {
		return 0
	}
	slices.Sort(ages)
	return float64(ages[min(int(share*float64(len(ages))), len(ages)-1)]) * 1000 / Rate
}
