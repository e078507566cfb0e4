package snapshot

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// dense has what the choice of records reads of all entities, by index: for thousands of clients it
// scans these, and not the much larger entities. Values are of the newest Record; of an entity that
// was removed they stay as they were.
type dense struct {
	moved   []clock.Tick // newest change of anything that a record of a moving group says
	slow    []clock.Tick // the same of the other groups; 0: there are none
	started []clock.Tick // newest start of movement after a rest, teleport or spawn
	placed  []bool       // it is alive and has a place
	x, y    []int32      // where it is in millimetres, as Entity.X and Y
	on      []int32      // Entity.On
	speed   []uint16     // in millimetres a tick along the path, see pace; 0: it rests
	paces   []uint32     // the same in 1/256 mm a tick
}

// paceTime is over how much of a second speeds are averaged: 1/2.
const paceTime = 2

// add makes room for entity i, which was spawned at tick now.
func (d *dense) add(i int, now clock.Tick) {
	if i == len(d.moved) {
		d.moved, d.slow, d.started = append(d.moved, 0), append(d.slow, 0), append(d.started, 0)
		d.placed = append(d.placed, false)
		d.x, d.y, d.on = append(d.x, 0), append(d.y, 0), append(d.on, -1)
		d.speed, d.paces = append(d.speed, 0), append(d.paces, 0)
	}
	d.placed[i] = false
	d.moved[i], d.slow[i], d.started[i] = 0, 0, now
	d.x[i], d.y[i], d.speed[i], d.paces[i] = 0, 0, 0, 0
}

// note notes that a group of entity i changed now, or came to rest.
func (d *dense) note(i int32, times *groupTimes, moving bool) {
	if moving {
		d.moved[i], d.started[i] = times.changed, max(d.started[i], times.start, times.cut)
	} else {
		d.slow[i] = times.changed
	}
}

// place notes where an entity is and how fast it goes: the mean length of its steps, so that one
// that runs in circles counts as fast. Its steps are those of its own place: what carries it has a
// speed of its own. A teleport is no step.
func (d *dense) place(i int, e *Entity, k *schema.Kind, prev, row []int32) {
	d.placed[i], d.x[i], d.y[i], d.on[i] = true, e.X, e.Y, e.On
	now := e.lastTick
	p := k.PlaceProp()
	times := &e.group[p.Group]
	if times.rest {
		d.speed[i], d.paces[i] = 0, 0
	}
	if times.rest || times.cut == now || e.Spawned == now {
		return
	}
	square := 0.0
	for c := p.ObsAt; c < p.ObsAt+p.Comps; c++ {
		step := float64(int64(row[c]) - int64(prev[c]))
		square += float64(step * step)
	}
	step := min(float64(math.Sqrt(square)*p.Millimetres()), math.MaxUint16)
	n := float64(min(now-d.started[i]+1, max(clock.Tick(k.Rate/paceTime), 1)))
	pace := float64(d.paces[i])
	pace += float64((float64(step*256) - pace) / n)
	d.paces[i] = uint32(max(pace, 0))
	d.speed[i] = uint16(min((d.paces[i]+255)>>8, math.MaxUint16))
}
