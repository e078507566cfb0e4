package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
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

// A Lookback is what RecordsAround found for one moment of one View. One walk through the log
// serves many slots.
type Lookback struct {
	key   lookKey
	asked [schema.MaxGroups]slotSet // slots whose records were looked for, by group
	open  slotSet                   // of these, slots with a pair that is still open
	slots [Slots]lookSlot
	pairs []lookPair // by unit of the ledger
	// No record of an open pair is known to be applied of a tick after newest, or between older and
	// old.
	newest, old, older clock.Tick
	others             bool         // open pairs are of groups that ordinary updates do not have
	late               []clock.Tick // of packets up to the newest that were applied after the moment
}

type lookKey struct {
	view    *View
	log     *wire.Log
	next    wire.Seq
	by      wire.Basis
	t       clock.TickFrac
	version uint64
}

// lookSlot is what the walk must know of a slot that is open.
type lookSlot struct {
	since  clock.Tick // packets of older ticks do not speak of its present use
	at     uint16     // first unit of its piece of the ledger
	graded uint8      // groups that have levels
	left   uint8      // how many of its pairs are open
}

type lookPair struct {
	a, b   Mark // around t
	before Mark // the newest state that the client is known to have held, from before the log
	open   bool // a is still to be found
}

// Shown appends to dst the slots of the entities that the client showed when it had applied the
// packets of by, by rising ID of the entity: those in sight, and those whose end it had not
// learned, be it that they are dead or have left its sight. One that came back meanwhile is there
// several times, its newest slot first: the client shows it by the first of them of which it held a
// record. An end counts as known to the client more than 32 ticks after the server learned of it,
// when also the commands that the client had made by then have run, see Awaits. wanted says of
// which entities, by index, the caller asks; nil: of all.
func (v *View) Shown(by wire.Basis, dst []uint16, wanted func(i int32) bool) []uint16 {
	from := len(dst)
	for n := range v.slots.used {
		if (wanted == nil || wanted(v.slots.list[n].ent)) && v.shown(n, by) {
			dst = append(dst, n)
		}
	}
	slices.SortFunc(dst[from:], func(a, b uint16) int {
		p, q := &v.slots.list[a], &v.slots.list[b]
		if p.ent != q.ent {
			return cmp.Compare(v.h.At(p.ent).ID, v.h.At(q.ent).ID)
		}
		if p.inSight() != q.inSight() {
			return cmp.Compare(p.phase(), q.phase())
		}
		return cmp.Compare(q.since, p.since)
	})
	return dst
}

// EntityOf returns the index of the entity of a slot that is not empty.
func (v *View) EntityOf(n uint16) int32 { return v.slots.list[n].ent }

// shown reports whether the client showed the entity of slot n when it had applied the packets of
// by: it is in sight, or the client had not learned of its end.
func (v *View) shown(n uint16, by wire.Basis) bool {
	switch s := &v.slots.list[n]; s.phase() {
	case entering, live:
		return true
	case leaving, ended:
		return !v.slots.ending(n).taught(by) && v.same(s)
	}
	return false
}

// RecordsAround returns the records of group g of a slot, which Shown gave, that the client held
// when it had applied the packets of by, and that are shown around playout time t: a at or before
// it, b after it, each none if it held none. It counts records of packets that log knows as
// applied, so it is right for what the log remembers. Where a is older
// than that, it is what a record in the log was based on, or, if there is none, what the client is
// known to hold. Of what nobody can hit the log keeps nothing: exact records, and kinds that are
// extrapolated or run ahead.
//
// Asking for all entities at one t costs one walk through the log, and so does asking for those
// that FindRecords named. Not safe for concurrent use.
func (v *View) RecordsAround(log *wire.Log, n uint16, g int, by wire.Basis, t clock.TickFrac) (a, b Mark) {
	s := &v.slots.list[n]
	if !v.has(s, g) {
		return
	}
	l := v.lookback(log, by, t)
	if !l.asked[unitOf(g)].has(n) {
		l.begin(&v.slots.taken, 1<<schema.MaxGroups-1)
		l.walk()
	}
	p := &l.pairs[s.unit(g)]
	if p.a.Tick == 0 {
		return p.before, p.b
	}
	return p.a, p.b
}

// FindRecords finds the records of some slots, of a set of groups, in one walk through the log, so
// that RecordsAround has them. A walk for few of them ends earlier than one for all.
func (v *View) FindRecords(log *wire.Log, slots []uint16, groups uint32, by wire.Basis, t clock.TickFrac) {
	l := v.lookback(log, by, t)
	var wanted slotSet
	for _, n := range slots {
		wanted.add(n)
	}
	l.begin(&wanted, groups)
	l.walk()
}

// lookback returns the View's Lookback for a moment, with what is known of that one.
func (v *View) lookback(log *wire.Log, by wire.Basis, t clock.TickFrac) *Lookback {
	if v.look == nil {
		v.look = &Lookback{}
	}
	l := v.look
	if key := (lookKey{v, log, log.NextSeq(), by, t, v.version}); l.key != key {
		l.key, l.asked, l.open = key, [schema.MaxGroups]slotSet{}, slotSet{}
		l.overtaken()
	}
	return l
}

// walk finds the records of the open slots, from the newest packet back.
func (l *Lookback) walk() {
	if l.open == (slotSet{}) {
		return
	}
	if l.walkLog(true); l.open == (slotSet{}) {
		return
	}
	l.walkLog(false)
	for w, set := range l.open { // the log does not have these
		for ; set != 0; set &= set - 1 {
			from, to := l.key.view.ledger.piece(l.slots[w<<6+bits.TrailingZeros64(set)].at)
			for i := from; i < to; i++ {
				l.pairs[i].open = false
			}
		}
	}
	l.open = slotSet{}
}

// walkLog is walk. brief leaves out packets of which no record was applied; but these may say what
// the client held before those that the log remembers.
func (l *Lookback) walkLog(brief bool) {
	key := &l.key
	last, since := l.last(), clock.Tick(math.MaxUint32)
	for w, set := range l.open {
		for ; set != 0; set &= set - 1 {
			since = min(since, l.slots[w<<6+bits.TrailingZeros64(set)].since)
		}
	}
	var r logReader
	key.log.Newest(key.next-1, func(p *wire.Packet) bool {
		if p.Tick < since || l.open == (slotSet{}) {
			return false
		}
		if brief && (p.Tick > l.newest || p.Tick < l.old && p.Tick > l.older) {
			return true
		}
		drawn := p.Applied() && key.by.Has(p.Seq)
		for r.begin(p.Refs); r.nextOf(&l.open, l.others); {
			s := &l.slots[r.slot]
			if p.Tick < s.since || r.gone && !drawn {
				continue
			}
			for groups := r.groups; groups != 0; groups &= groups - 1 {
				pair := &l.pairs[int(s.at)+unitOf(bits.TrailingZeros32(groups))]
				if r.gone {
					l.drop(r.slot, pair, p.Tick)
					continue
				}
				mark := Mark{Tick: p.Tick, Bound: r.bound}
				if s.graded&uint8(groups&-groups) != 0 {
					mark.Level = r.level
				}
				switch {
				case !pair.open: // found, or dropped since
				case drawn && mark.shown() <= key.t:
					pair.a = mark
					l.close(r.slot, pair)
				case drawn:
					pair.b = mark
				}
				if r.based { // whether this record arrived or not, the client held its baseline
					age, level, bound := r.base()
					if pair.open {
						l.had(pair, Mark{p.Tick - age, bound, level}, last)
					}
				}
			}
		}
		return true
	})
}

// close notes that nothing is to be looked for any more for a pair of slot n.
func (l *Lookback) close(n uint16, p *lookPair) {
	p.open = false
	if s := &l.slots[n]; s.left > 1 {
		s.left--
	} else {
		l.open.remove(n)
	}
}

// drop notes that the packet of a tick made the client drop the group of a pair of slot n.
func (l *Lookback) drop(n uint16, p *lookPair, tick clock.Tick) {
	if !p.open {
		return
	}
	if p.before.Tick <= tick {
		p.before = Mark{}
	}
	l.close(n, p)
}

// last returns the tick of the newest packet that the client had applied.
func (l *Lookback) last() clock.Tick {
	if p := l.key.log.Get(l.key.by.Newest); p != nil {
		return p.Tick
	}
	return math.MaxUint32
}

// begin opens those of a set of slots that have something to look for in some groups, if these were
// not asked for yet.
func (l *Lookback) begin(wanted *slotSet, groups uint32) {
	v, last := l.key.view, l.last()
	if cap(l.pairs) < len(v.ledger.known) {
		l.pairs = make([]lookPair, cap(v.ledger.known))
	}
	l.pairs = l.pairs[:cap(l.pairs)]
	l.newest, l.old, l.older, l.others = 0, math.MaxUint32, 0, true
	for w, set := range wanted {
		for ; set != 0; set &= set - 1 {
			n, left := uint16(w<<6+bits.TrailingZeros64(set)), groups
			for g := range l.asked {
				if asked := &l.asked[g]; groups>>g&1 != 0 && !asked.has(n) {
					asked.add(n)
				} else {
					left &^= 1 << g
				}
			}
			if left != 0 {
				l.beginSlot(n, left, last)
			}
		}
	}
}

// recentDrop is for how many ticks a packet that made the client drop a group is surely in the log.
const recentDrop = wire.LogTicks * 3 / 4

func (l *Lookback) beginSlot(n uint16, groups uint32, last clock.Tick) {
	v := l.key.view
	s, is := &v.slots.list[n], &l.slots[n]
	*is = lookSlot{since: s.since, at: s.at}
	if v.resync.notBefore != nil {
		is.since = max(is.since, v.resync.notBefore[n])
	}
	unit, end := v.ledger.piece(s.at)
	for set := groups; set != 0; set &= set - 1 {
		if i := unit + bits.TrailingZeros32(set); i < end {
			l.pairs[i] = lookPair{}
		}
	}
	if !v.shown(n, l.key.by) || s.exact() {
		return
	}
	r := v.rules(s)
	is.graded = uint8(r.graded)
	for set := r.all & groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		k, acked, p := &v.ledger.known[s.unit(g)], v.ledger.acked(s.unit(g)), &l.pairs[s.unit(g)]
		l.had(p, Mark{acked, k.bound(), k.level()}, last)
		dropped := false // the client may have dropped the group, and not yet in that frame
		if set&-set&r.limitedSet != 0 {
			at := v.goneUnit(s, g)
			gone, was := v.ledger.known[at].sent(), v.ledger.acked(at)
			// What it held before the newest drop counts, unless it has received the group again since.
			if dropped = k.out() || gone >= max(acked, 1) && v.h.tick-gone < recentDrop; dropped && gone >= acked {
				l.had(p, Mark{was, v.ledger.known[at].bound(), v.ledger.known[at].level()}, last)
			}
		}
		switch {
		case p.before.Tick != 0 && !dropped:
			p.a = p.before // it holds nothing newer: nothing to look for
		case acked != 0 || dropped:
			p.open = true
			is.left++
			l.narrow(s, g, acked, k.priorAge())
		}
	}
	if is.left != 0 {
		l.open.add(n)
	}
}

// narrow notes which packets may be left out as far as a pair of group g is concerned: those
// between the newest two that are known to be applied, and what is newer. It is not known of groups
// that the client may have dropped meanwhile, and of slots whose end it has learned.
func (l *Lookback) narrow(s *slot, g int, acked, prior clock.Tick) {
	r := l.key.view.rules(s)
	l.others = l.others && g != r.ordinary
	if prior == 0 || s.phase() == ended || r.limitedSet>>g&1 != 0 {
		l.newest, l.older = math.MaxUint32, math.MaxUint32
		return
	}
	l.newest, l.old, l.older = max(l.newest, acked), min(l.old, acked), max(l.older, acked-min(acked, prior))
}

// SentMore reports whether log remembers more than so many packets of ticks after one and up to
// another that had a record of group g of slot n.
func (v *View) SentMore(log *wire.Log, n uint16, g int, after, to clock.Tick, than int) bool {
	s := &v.slots.list[n]
	if newest := v.ledger.known[s.unit(g)].sent(); newest != 0 && newest <= after {
		return false
	}
	var only slotSet
	only.add(n)
	others := g != v.rules(s).ordinary
	var r logReader
	sent := 0
	log.Newest(log.NextSeq()-1, func(p *wire.Packet) bool {
		if p.Tick > to {
			return true
		}
		if p.Tick <= after || !v.current(n, p.Tick) {
			return false
		}
		for r.begin(p.Refs); r.nextOf(&only, others); {
			if !r.gone && r.groups>>uint(g)&1 != 0 {
				sent++
			}
		}
		return sent <= than
	})
	return sent > than
}

// SentSince reports whether a record of group g of slot n may have been sent after one tick and up
// to another, to the client that asked for no new beginning since.
func (v *View) SentSince(n uint16, g int, after, to clock.Tick) bool {
	return v.current(n, to) && v.ledger.known[v.slots.list[n].unit(g)].sent() > after
}

// overtaken lists the packets that were applied after the moment, though older than the newest.
func (l *Lookback) overtaken() {
	l.late = l.late[:0]
	by := l.key.by
	for set := by.Without; set != 0; set &= set - 1 {
		s := by.Newest - 1 - wire.Seq(bits.TrailingZeros64(set))
		if p := l.key.log.Get(s); p != nil && p.Applied() {
			l.late = append(l.late, p.Tick)
		}
	}
}

// had notes that the client held a record of a pair at some time. It counts if the client held it
// at the moment of tick last, and showed it by then.
func (l *Lookback) had(p *lookPair, m Mark, last clock.Tick) {
	if m.Tick > p.before.Tick && m.Tick <= last && m.shown() <= l.key.t && !slices.Contains(l.late, m.Tick) {
		p.before = m
	}
}
