package schema

import (
	"meanwhile/clock"
	"meanwhile/wire"
)

// OwnerGroup is the group that only an entity's owner receives, in simulation precision.
const OwnerGroup = MaxGroups

// Base is what the differences of a record are taken from. Both sides hold it. Its values are those of the record's group, like the
// record's own: observer integers, or all simulation integers where the group is OwnerGroup.
type Base[T int32 | int64] struct {
	Vals  []T        // the acknowledged state; nil: the record's values stand by themselves
	Prior []T        // the acknowledged state before it; nil: none
	Age   clock.Tick // ticks from Vals to the record
	Gap   clock.Tick // ticks from Prior to Vals

	Viewer *Viewer // a place that both sides know; nil: none
}

// Members returns the properties that a record of group g has, in their order.
func (k *Kind) Members(g int) []int {
	if g == OwnerGroup {
		return k.Owned
	}
	return k.Groups[g].Props
}

// Width returns how many integers a record of group g has.
func (k *Kind) Width(g int) int {
	if g == OwnerGroup {
		return k.Sims
	}
	return k.Groups[g].N
}

// place returns where among the integers of group g the property begins.
func (q *Prop) place(k *Kind, g int) int {
	if g == OwnerGroup {
		return q.At
	}
	return q.ObsAt - k.Groups[g].At
}

// Nonzero returns the set of the properties of group g that are not all zero in vals, which is what a first sight has to tell.
func Nonzero[T int32 | int64](k *Kind, g int, vals []T) (set uint64) {
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		at := q.place(k, g)
		for _, v := range vals[at : at+q.Comps] {
			if v != 0 {
				set |= 1 << i
				break
			}
		}
	}
	return set
}

// AppendBody writes the body of a record, all of it but what package snapshot says about it: the presence of each property
// of group g, and the values in cur of those in the set changed. tick is the record's.
func AppendBody[T int32 | int64](w *wire.BitWriter, k *Kind, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick) {
	obs := g != OwnerGroup
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		present := changed>>uint(i)&1 != 0
		w.Bool(present)
		if !present {
			continue
		}
		at := q.place(k, g)
		if base.Vals == nil && base.Viewer != nil && q.Near && obs {
			appendNear(w, q, cur[at:at+q.Comps], base.Viewer)
			continue
		}
		for c := at; c < at+q.comps(obs); c++ {
			if base.Vals != nil {
				q.AppendDelta(w, int64(cur[c]), int64(base.Vals[c]), obs)
			} else {
				q.AppendAbsolute(w, int64(cur[c]), obs, int64(tick))
			}
		}
	}
}

// ReadBody reads what AppendBody wrote into dst, which holds what the properties are whose values do not follow. The caller asks r
// whether it is Bad.
func ReadBody[T int32 | int64](r *wire.BitReader, k *Kind, g int, dst []T, base *Base[T], tick clock.Tick) {
	obs := g != OwnerGroup
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		if !r.Bool() {
			continue
		}
		at := q.place(k, g)
		if base.Vals == nil && base.Viewer != nil && q.Near && obs {
			readNear(r, q, dst[at:at+q.Comps], base.Viewer)
			continue
		}
		for c := at; c < at+q.comps(obs); c++ {
			if base.Vals != nil {
				dst[c] = T(q.ReadDelta(r, int64(base.Vals[c]), obs))
			} else {
				dst[c] = T(q.ReadAbsolute(r, obs, int64(tick)))
			}
		}
		if r.Bad() {
			return
		}
	}
}
