package snapshot

// departed has the newest entities that were removed from a History, so that the removal of one
// does not have to be passed on to thousands of Views that mostly do not know it.
type departed struct {
	ring [departures]int32 // the n-th is at n modulo departures
	n    uint32            // how many there were
}

// departures is how many removed entities are remembered.
const departures = 256

// put notes that an entity was removed.
func (d *departed) put(i int32) {
	d.ring[d.n%departures] = i
	d.n++
}

// LeaveRemoved takes out of the client's sight what was removed from the history since the last
// call. Call it in each tick, before the View is asked for anything.
func (v *View) LeaveRemoved() {
	d := &v.h.departed
	from, n := v.departed, d.n-v.departed
	v.departed = d.n
	if n > departures || n > uint32(v.slots.inSight) {
		for slot := range v.slots.used {
			if s := &v.slots.list[slot]; s.inSight() {
				v.leaveRemoved(s.ent)
			}
		}
		return
	}
	for ; from != d.n; from++ {
		v.leaveRemoved(d.ring[from%departures])
	}
}

// leaveRemoved takes entity i out of sight if it was removed.
func (v *View) leaveRemoved(i int32) {
	if n, ok := v.slots.find(i); ok && (!v.h.ents[i].alive || !v.same(&v.slots.list[n])) {
		v.Leave(i)
	}
}
