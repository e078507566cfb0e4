package snapshot

import (
	"cmp"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// inSight calls f for every entity in a client's sight, by rising ID, until f returns false.
func inSight(v *View, f func(i int32) bool) {
	var all []int32
	for n := range v.slots.used {
		if s := &v.slots.list[n]; s.inSight() {
			all = append(all, s.ent)
		}
	}
	slices.SortFunc(all, func(a, b int32) int { return cmp.Compare(v.h.At(a).ID, v.h.At(b).ID) })
	for _, i := range all {
		if !f(i) {
			return
		}
	}
}

// recordsOf returns RecordsAround of an entity in sight, nothing of another one.
func recordsOf(v *View, log *wire.Log, i int32, g int, newest wire.Seq, t clock.TickFrac) (a, b Mark) {
	if n, ok := v.slots.find(i); ok {
		return v.RecordsAround(log, n, g, wire.Basis{Newest: newest}, t)
	}
	return a, b
}

// detailOf returns how a client receives an entity that is its avatar, or is not.
func detailOf(mine bool) Detail {
	if mine {
		return Mine
	}
	return Observed
}

// far puts entity i so far from the client, in square millimetres.
func (v *View) far(i int32, square int64) {
	if n, ok := v.slots.find(i); ok {
		v.distance(n, square)
	}
}
