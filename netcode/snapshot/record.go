package snapshot

import (
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// appendBody writes a record's body: against a baseline what changed since, at first sight what is not all zero. age and gap are
// those of codec.Base.
func appendBody[T int32 | int64](w *wire.BitWriter, h *History, e *Entity, k *schema.Kind, g int, hd *header,
	viewer *codec.Viewer, rows []T, width int, changed []clock.Tick) (age, gap clock.Tick) {
	now, coder := h.tick, h.rules[e.Kind].coder
	at, n := 0, k.Width(g)
	if g != OwnerGroup {
		at = k.Groups[g].At
	}
	row := func(t clock.Tick) []T {
		from := int(t%HistoryTicks)*width + at
		return rows[from : from+n : from+n]
	}
	cur := row(now)
	b := codec.Base[T]{Viewer: viewer}
	if hd.base != 0 && h.holds(e, hd.base) {
		b.Vals, b.Age = row(hd.base), now-hd.base
		if hd.prior != 0 && hd.cut == 0 && !e.cutBetween(g, hd.prior, hd.base) && h.holds(e, hd.prior) {
			b.Prior, b.Gap = row(hd.prior), hd.base-hd.prior
		}
	}
	set := uint64(0)
	if hd.base == 0 {
		set = schema.Nonzero(k, g, cur)
	} else {
		for _, i := range k.Members(g) {
			if changed[i] > hd.base {
				set |= 1 << i
			}
		}
	}
	if hd.level != 0 || hd.baseLevel != 0 || b.Prior != nil && hd.priorLevel != 0 {
		coarseBody(w, k, coder, g, hd, cur, &b, set, now)
	} else {
		codec.Append(w, coder, g, cur, &b, set, now)
	}
	return b.Age, b.Gap
}

// coarseBody is the end of appendBody where a level is not the first. The client holds the baseline as coarse as it was told it, and
// both sides round it on to the record's level; if that is a finer one, its digits are those of the coarser.
func coarseBody[T int32 | int64](w *wire.BitWriter, k *schema.Kind, coder *codec.Coder, g int, hd *header, cur []T, b *codec.Base[T], set uint64, now clock.Tick) {
	var rows [3][schema.MaxComps]T
	row := func(i int, vals []T, was uint8) []T {
		if vals == nil {
			return nil
		}
		r := rows[i][:copy(rows[i][:], vals)]
		schema.Coarsen(k, g, int(was), r)
		schema.Coarsen(k, g, int(hd.level), r)
		return r
	}
	fresh := row(0, cur, hd.level)
	coarse := codec.Base[T]{Vals: row(1, b.Vals, hd.baseLevel), Prior: row(2, b.Prior, hd.priorLevel), Age: b.Age, Gap: b.Gap, Viewer: b.Viewer}
	switch {
	case hd.base == 0:
		set = schema.Nonzero(k, g, fresh)
	case coarse.Vals != nil:
		set = schema.Differ(k, g, fresh, coarse.Vals)
	case hd.level != hd.baseLevel:
		set |= k.Shifted(g, int(hd.level), int(hd.baseLevel))
	}
	level := int(hd.level)
	schema.Shrink(k, g, level, fresh)
	if coarse.Vals != nil {
		schema.Shrink(k, g, level, coarse.Vals)
	}
	if coarse.Prior != nil {
		schema.Shrink(k, g, level, coarse.Prior)
	}
	codec.Append(w, coder.At(level), g, fresh, &coarse, set, now)
}

// readHeader reads what header.append wrote into dst, and finds the states that the record is a difference from.
func readHeader(r *wire.BitReader, k *schema.Kind, g int, now clock.Tick, agreed uint64, held *Group, how form, dst *motion.State) (base, prior *motion.State, err error) {
	*dst = motion.State{Tick: now, Vals: dst.Vals}
	if held != nil {
		if how == general && r.Bool() {
			base, prior, err = readRef(r, now, held)
		} else if r.Bad() {
			err = wire.ErrTruncated
		} else {
			base, prior, err = held.agreed(now, agreed)
		}
		if err != nil {
			return nil, nil, err
		}
		dst.Bound, dst.Level = base.Bound, base.Level
	}
	if how == ordinary {
		return base, prior, nil
	}
	if g == OwnerGroup || k.Groups[g].Moving {
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
	if g != OwnerGroup && moves(k) && r.Bool() {
		was := dst.Bound
		if dst.Bound = uint8(r.Bits(boundB)); dst.Bound == was && !r.Bad() {
			return nil, nil, fault.Errorf("%w: bound %d said to be another", wire.ErrMalformed, was)
		}
	}
	if len(k.Levels) > 0 && k.Graded(g) && r.Bool() {
		was := dst.Level
		dst.Level = uint8(r.Bits(levelB))
		if (dst.Level == was || int(dst.Level) > len(k.Levels)) && !r.Bad() {
			return nil, nil, fault.Errorf("%w: level %d after %d of %d", wire.ErrMalformed, dst.Level, was, len(k.Levels))
		}
	}
	if r.Bad() {
		return nil, nil, wire.ErrTruncated
	}
	return base, prior, nil
}

// readRef reads a reference that is told, and finds its states.
func readRef(r *wire.BitReader, now clock.Tick, held *Group) (base, prior *motion.State, err error) {
	age, gap := r.Uvarint(ageK), r.Uvarint(gapK)
	if r.Bad() {
		return nil, nil, wire.ErrTruncated
	}
	if age+1 >= uint64(now) || gap > priorTicks {
		return nil, nil, fault.Errorf("%w: a baseline %d ticks before tick %d, and one %d before that", wire.ErrMalformed, age+1, now, gap)
	}
	if base = held.At(now - clock.Tick(age) - 1); base == nil {
		return nil, nil, ErrBaseline
	}
	if gap != 0 && clock.Tick(gap) < base.Tick {
		prior = held.At(base.Tick - clock.Tick(gap))
	}
	if gap != 0 && prior == nil {
		return nil, nil, ErrBaseline
	}
	return base, prior, nil
}

// readBody reads a record's body into dst, whose header has been read. age and gap are those of codec.Base.
func readBody(r *wire.BitReader, k *schema.Kind, coder *codec.Coder, g int, base, prior, dst *motion.State, viewer *codec.Viewer) (age, gap clock.Tick, err error) {
	dst.Vals = dst.Vals[:k.Width(g)]
	from := codec.Base[int64]{Viewer: viewer}
	if base != nil {
		copy(dst.Vals, base.Vals)
		if dst.Tick-base.Tick < HistoryTicks {
			from.Vals, from.Age = base.Vals, dst.Tick-base.Tick
			if prior != nil && dst.Cut == 0 && base.Cut <= prior.Tick {
				from.Prior, from.Gap = prior.Vals, base.Tick-prior.Tick
			}
		}
	} else {
		clear(dst.Vals)
	}
	if dst.Level != 0 || base != nil && base.Level != 0 {
		readCoarse(r, k, coder, g, &from, dst)
	} else {
		codec.Read(r, coder, g, dst.Vals, &from, dst.Tick)
	}
	if r.Bad() {
		return 0, 0, wire.ErrTruncated
	}
	return from.Age, from.Gap, nil
}

// readCoarse is the end of readBody where a level is not the first.
func readCoarse(r *wire.BitReader, k *schema.Kind, coder *codec.Coder, g int, from *codec.Base[int64], dst *motion.State) {
	var rows [2][schema.MaxComps]int64
	level := int(dst.Level)
	row := func(i int, vals []int64) []int64 {
		if vals == nil {
			return nil
		}
		r := rows[i][:copy(rows[i][:], vals)]
		schema.Coarsen(k, g, level, r)
		schema.Shrink(k, g, level, r)
		return r
	}
	coarse := codec.Base[int64]{Vals: row(0, from.Vals), Prior: row(1, from.Prior), Age: from.Age, Gap: from.Gap, Viewer: from.Viewer}
	schema.Coarsen(k, g, level, dst.Vals)
	schema.Shrink(k, g, level, dst.Vals)
	codec.Read(r, coder.At(level), g, dst.Vals, &coarse, dst.Tick)
	schema.Grow(k, g, level, dst.Vals)
}

func ago(r *wire.BitReader, now clock.Tick) clock.Tick {
	n := r.Uvarint(agoK)
	if n >= uint64(now) {
		r.Fail()
		return 0
	}
	return now - clock.Tick(n)
}
