package snapshot

import (
	"fmt"

	"meanwhile/clock"
	"meanwhile/motion"
	"meanwhile/schema"
	"meanwhile/wire"
)

// Codes of a record's parts.
const (
	ageK   = 3 // order of the code of a baseline's age
	agoK   = 3 // order of the code of how long ago a cut or start was
	kindK  = 3
	idK    = 10
	slotsB = 9 // bits of a slot number
)

// appendGroup writes one group of e at the history's tick for a client that is known to hold it as of base. With base 0
// the record stands alone; it says what happened since the given tick, as the client may hold an earlier one like it
// without our knowing.
func (h *History) appendGroup(w *wire.BitWriter, e *Entity, k *schema.Kind, g int, base, since clock.Tick) {
	now := h.tick
	owner := g == OwnerGroup
	if base != 0 {
		w.Uvarint(uint64(now-base), ageK)
	}
	if owner || k.Groups[g].Moving {
		if base != 0 {
			since = base
		}
		cut, start, rest := e.Times(g, since)
		special := cut != 0 || start != 0
		w.Bool(special)
		if special {
			w.Bool(cut != 0)
			if cut != 0 {
				w.Uvarint(uint64(now-cut), agoK)
			}
			w.Bool(start != 0)
			if start != 0 {
				w.Uvarint(uint64(now-start), agoK)
			}
		}
		w.Bool(rest)
	}
	delta := base != 0 && h.holds(e, base)
	if owner {
		var old []int64
		if delta {
			old = e.ownRow(k, base)
		}
		row := e.ownRow(k, now)
		for _, pi := range k.Owned {
			p := &k.Props[pi]
			if !appendPresence(w, base, e.ownChanged[pi], row[p.At:p.At+p.Comps]) {
				continue
			}
			for c := p.At; c < p.At+p.Comps; c++ {
				if delta {
					p.AppendDelta(w, row[c], old[c], false)
				} else {
					p.AppendAbsolute(w, row[c], false, int64(now))
				}
			}
		}
		return
	}
	var old []int32
	if delta {
		old = e.obsRow(k, base)
	}
	row := e.obsRow(k, now)
	for _, pi := range k.Groups[g].Props {
		p := &k.Props[pi]
		if !appendPresence(w, base, e.changed[pi], row[p.ObsAt:p.ObsAt+p.Comps]) {
			continue
		}
		for c := p.ObsAt; c < p.ObsAt+p.Comps; c++ {
			if delta {
				p.AppendDelta(w, int64(row[c]), int64(old[c]), true)
			} else {
				p.AppendAbsolute(w, int64(row[c]), true, int64(now))
			}
		}
	}
}

// appendPresence writes the presence bit of a property and returns it: against a baseline, whether it
// changed since; at first sight, whether it is not all zero.
func appendPresence[T int32 | int64](w *wire.BitWriter, base, changed clock.Tick, vals []T) bool {
	present := changed > base
	if base == 0 {
		present = false
		for _, v := range vals {
			present = present || v != 0
		}
	}
	w.Bool(present)
	return present
}

// readGroup reads what appendGroup wrote. base is nil at first sight; lookup finds the named baseline among
// the held states and returns nil if it is not there.
func readGroup(r *wire.BitReader, k *schema.Kind, g int, now clock.Tick, based bool, lookup func(clock.Tick) *motion.State, dst *motion.State) (baseTick clock.Tick, err error) {
	owner := g == OwnerGroup
	*dst = motion.State{Tick: now, Vals: dst.Vals}
	var base *motion.State
	if based {
		age := r.Uvarint(ageK)
		if r.Bad() {
			return 0, wire.ErrTruncated
		}
		if age == 0 || age >= uint64(now) {
			return 0, fmt.Errorf("%w: a baseline %d ticks before tick %d", wire.ErrMalformed, age, now)
		}
		baseTick = now - clock.Tick(age)
		if base = lookup(baseTick); base == nil {
			return 0, ErrBaseline
		}
	}
	if owner || k.Groups[g].Moving {
		if r.Bool() {
			if r.Bool() {
				dst.Cut = ago(r, now)
			}
			if r.Bool() {
				dst.Start = ago(r, now)
			}
		}
		dst.Rest = r.Bool()
	}
	delta := based && now-baseTick < HistoryTicks
	props, at := k.Owned, 0
	n := k.Sims
	if !owner {
		props, at, n = k.Groups[g].Props, k.Groups[g].At, k.Groups[g].N
	}
	dst.Vals = dst.Vals[:n]
	if base != nil {
		copy(dst.Vals, base.Vals)
	} else {
		clear(dst.Vals)
	}
	for _, pi := range props {
		p := &k.Props[pi]
		if !r.Bool() {
			continue
		}
		first := p.ObsAt - at
		if owner {
			first = p.At
		}
		for c := first; c < first+p.Comps; c++ {
			if delta {
				dst.Vals[c] = p.ReadDelta(r, base.Vals[c], !owner)
			} else {
				dst.Vals[c] = p.ReadAbsolute(r, !owner, int64(now))
			}
		}
		if r.Bad() {
			return 0, wire.ErrTruncated
		}
	}
	if r.Bad() {
		return 0, wire.ErrTruncated
	}
	return baseTick, nil
}

func ago(r *wire.BitReader, now clock.Tick) clock.Tick {
	n := r.Uvarint(agoK)
	if n >= uint64(now) {
		r.Fail()
		return 0
	}
	return now - clock.Tick(n)
}
