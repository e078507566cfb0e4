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
	boundB = 4 // bits of a bound's class
)

// appendGroup writes one group of e at the history's tick for a client that is known to hold it as of base. With base 0
// the record stands alone; it says what happened since the given tick, as the client may hold an earlier one like it
// without our knowing. bound is the class of when the next record comes, was that of the baseline.
func (h *History) appendGroup(w *wire.BitWriter, e *Entity, k *schema.Kind, g int, base, since clock.Tick, bound, was uint8) {
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
	if !owner && moves(k) {
		other := bound != was
		if w.Bool(other); other {
			w.Bits(uint64(bound), boundB)
		}
	}
	if owner {
		appendBody(w, h, e, k, g, base, e.ownRow, e.ownChanged)
	} else {
		appendBody(w, h, e, k, g, base, e.obsRow, e.changed)
	}
}

// appendBody writes a record's body: against a baseline what changed since, at first sight what is not all zero.
func appendBody[T int32 | int64](w *wire.BitWriter, h *History, e *Entity, k *schema.Kind, g int, base clock.Tick,
	row func(*schema.Kind, clock.Tick) []T, changed []clock.Tick) {
	now := h.tick
	at, n := 0, k.Width(g)
	if g != OwnerGroup {
		at = k.Groups[g].At
	}
	cur := row(k, now)[at : at+n]
	var b schema.Base[T]
	if base != 0 && h.holds(e, base) {
		b.Vals, b.Age = row(k, base)[at:at+n], now-base
	}
	set := uint64(0)
	if base == 0 {
		set = schema.Nonzero(k, g, cur)
	} else {
		for _, i := range k.Members(g) {
			if changed[i] > base {
				set |= 1 << i
			}
		}
	}
	schema.AppendBody(w, k, g, cur, &b, set, now)
}

// moves reports whether records of a kind say when the next one comes: some group of it is drawn between records.
func moves(k *schema.Kind) bool {
	for g := range k.Groups {
		if k.Groups[g].Moving {
			return true
		}
	}
	return false
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
	if !owner && moves(k) {
		if base != nil {
			dst.Bound = base.Bound
		}
		if r.Bool() {
			was := dst.Bound
			if dst.Bound = uint8(r.Bits(boundB)); dst.Bound == was && !r.Bad() {
				return 0, fmt.Errorf("%w: bound %d said to be another", wire.ErrMalformed, was)
			}
		}
	}
	dst.Vals = dst.Vals[:k.Width(g)]
	var from schema.Base[int64]
	if base != nil {
		copy(dst.Vals, base.Vals)
		if now-baseTick < HistoryTicks {
			from.Vals, from.Age = base.Vals, now-baseTick
		}
	} else {
		clear(dst.Vals)
	}
	schema.ReadBody(r, k, g, dst.Vals, &from, now)
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
