package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/wire"
)

// A Mark names a record.
type Mark struct {
	Tick  clock.Tick // 0: none
	Bound uint8      // bound that it announced, which decides when it is shown
	Level uint8      // how coarse its values are, see schema.Kind.Levels
}

// shown returns the playout time at which the record is drawn as it is.
func (m Mark) shown() clock.TickFrac { return (&motion.State{Tick: m.Tick, Bound: m.Bound}).Shown() }

// A Lookback is what RecordsAround found for one moment of one View: for all slots in use, as it
// walks through the log only once.
type Lookback struct {
	key   lookKey
	pairs []lookPair // by unit of the ledger
}

type lookKey struct {
	view         *View
	log          *wire.Log
	next, newest wire.Seq
	t            clock.TickFrac
	version      uint64
}

type lookPair struct {
	a, b   Mark // around t
	before Mark // the newest state that the client is known to have held, from before the log
}

// Shown calls f for every entity that the client showed when newest was the newest packet that it
// had applied, by rising ID: those in sight, and those whose end it had not learned, be it that
// they are dead or have left its sight. One that came back meanwhile is there several times, its
// newest slot first: the client shows it by the first of them of which it held a record. Ends that
// the server learned of more than 32 ticks ago count as known to the client. f is given the slot,
// for RecordsAround, and returns false to stop.
func (v *View) Shown(newest wire.Seq, scratch []uint16, f func(slot uint16, i int32) bool) []uint16 {
	scratch = scratch[:0]
	for n := range v.slots.used {
		if v.shown(n, newest) {
			scratch = append(scratch, n)
		}
	}
	slices.SortFunc(scratch, func(a, b uint16) int {
		p, q := &v.slots.list[a], &v.slots.list[b]
		if p.ent != q.ent {
			return cmp.Compare(v.h.At(p.ent).ID, v.h.At(q.ent).ID)
		}
		if p.inSight() != q.inSight() {
			return cmp.Compare(p.phase(), q.phase())
		}
		return cmp.Compare(q.since, p.since)
	})
	for _, n := range scratch {
		if !f(n, v.slots.list[n].ent) {
			break
		}
	}
	return scratch
}

// shown reports whether the client showed the entity of slot n when newest was the newest packet
// that it had applied: it is in sight, or the client had not learned of its end.
func (v *View) shown(n uint16, newest wire.Seq) bool {
	switch s := &v.slots.list[n]; s.phase() {
	case entering, live:
		return true
	case leaving, ended:
		return !v.slots.ending(n).taught(newest) && v.same(s)
	}
	return false
}

// RecordsAround returns the records of group g of a slot, which Shown gave, that the client held
// when newest was the newest packet that it had applied, and that are shown around playout time t:
// a at or before it, b after it, each none if it held none. It counts records of packets up to
// newest that log knows as applied, so it is right for what the log remembers. Where a is older
// than that, it is what a record in the log was based on, or, if there is none, what the client is
// known to hold. Of what nobody can hit the log keeps nothing: exact records, and kinds that are
// extrapolated or run ahead.
//
// Asking for all entities at one t costs one walk through the log. Not safe for concurrent use.
func (v *View) RecordsAround(log *wire.Log, n uint16, g int, newest wire.Seq, t clock.TickFrac) (a, b Mark) {
	s := &v.slots.list[n]
	if !v.has(s, g) {
		return
	}
	if v.look == nil {
		v.look = &Lookback{}
	}
	l := v.look
	if key := (lookKey{v, log, log.NextSeq(), newest, t, v.version}); l.key != key {
		l.walk(key)
	}
	p := &l.pairs[s.unit(g)]
	if p.a.Tick == 0 {
		return p.before, p.b
	}
	return p.a, p.b
}

// walk finds the records around the key's time, from the newest packet back.
func (l *Lookback) walk(key lookKey) {
	v := key.view
	l.key = key
	last := clock.Tick(math.MaxUint32) // tick of packet newest
	if p := key.log.Get(key.newest); p != nil {
		last = p.Tick
	}
	open, since := l.begin(last)
	var r logReader
	key.log.Newest(key.next-1, func(p *wire.Packet) bool {
		if open == 0 || p.Tick < since {
			return false
		}
		drawn := p.Applied() && !p.Seq.Newer(key.newest)
		for r.begin(p.Refs); r.next(); {
			if r.gone || !v.current(r.slot, p.Tick) || !v.shown(r.slot, key.newest) {
				continue
			}
			s := &v.slots.list[r.slot]
			graded := v.rules(s).graded
			for groups := r.groups; groups != 0; groups &= groups - 1 {
				g := bits.TrailingZeros32(groups)
				unit := s.unit(g)
				pair, out, gone := &l.pairs[unit], v.ledger.known[unit].out(), v.goneTick(s, g)
				mark := Mark{Tick: p.Tick, Bound: r.bound}
				if graded&groups&-groups != 0 {
					mark.Level = r.level
				}
				switch {
				case pair.a.Tick != 0 || v.ledger.acked(unit) == 0 || out || p.Tick <= gone: // found, or dropped since
				case drawn && mark.shown() <= key.t:
					pair.a = mark
					open--
				case drawn:
					pair.b = mark
				}
				if r.based { // whether this record arrived or not, the client held its baseline
					age, level, bound := r.base()
					if m := (Mark{p.Tick - age, bound, level}); !out && m.Tick > gone {
						pair.had(m, last, key.t)
					}
				}
			}
		}
		return true
	})
}

// begin forgets what was found before. open is in how many pairs a is still to be found, and since
// when the first of those entities came into sight.
func (l *Lookback) begin(last clock.Tick) (open int, since clock.Tick) {
	v := l.key.view
	if cap(l.pairs) < len(v.ledger.known) {
		l.pairs = make([]lookPair, cap(v.ledger.known))
	}
	l.pairs = l.pairs[:len(v.ledger.known)]
	since = clock.Tick(math.MaxUint32)
	for n := range v.slots.used {
		s := &v.slots.list[n]
		shown := v.shown(n, l.key.newest)
		for unit, end := v.ledger.piece(s.at); unit < end; unit++ {
			k, acked := &v.ledger.known[unit], v.ledger.acked(unit)
			p := &l.pairs[unit]
			*p = lookPair{}
			if !shown || k.out() { // what must be dropped is not drawn
				continue
			}
			if p.had(Mark{acked, k.bound(), k.level()}, last, l.key.t); p.before.Tick != 0 {
				p.a = p.before // it holds nothing newer: nothing to look for
			} else if acked != 0 {
				open++
				since = min(since, s.since)
			}
		}
	}
	return open, since
}

// had notes that the client held a record at some time. It counts if the client held it at the
// moment of tick last, and showed it at or before t.
func (p *lookPair) had(m Mark, last clock.Tick, t clock.TickFrac) {
	if m.Tick > p.before.Tick && m.Tick <= last && m.shown() <= t {
		p.before = m
	}
}
