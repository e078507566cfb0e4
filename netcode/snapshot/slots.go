package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// phase is where the use of a slot stands. It begins empty, then runs down the list and ends empty.
type phase uint8

const (
	empty    phase = iota
	entering       // the first sight is being sent; the client has acknowledged nothing
	live           // the client is known to hold a state of every group
	leaving        // the client must learn that the entity is gone
	ended          // it has learned that, so the slot is free; what it drew before is still known
)

// slot is one use of a slot: which entity the number stands for in packets to one client. Its kind
// is that of the entity.
type slot struct {
	ent   int32
	since clock.Tick // when the entity entered the slot
	at    uint16     // first unit of its piece of the ledger
	state uint8      // bits 0..2 phase, 3 exact, 4 mentioned, 5..6 level, 7 mine
	near  uint8      // bits 0..3 inReach, 4..7 bound; of an exact slot bit 0 spawned

	last   uint16 // low bits of the tick of the newest record sent, or of a later look that found nothing due
	weight uint16 // see weight
}

func (s *slot) phase() phase     { return phase(s.state & 7) }
func (s *slot) setPhase(p phase) { s.state = s.state&^7 | uint8(p) }

// exact reports whether the client receives the entity at simulation precision.
func (s *slot) exact() bool { return s.state&(1<<3) != 0 }

// mine reports whether the entity is the client's avatar. It is exact, too.
func (s *slot) mine() bool { return s.state&(1<<7) != 0 }

// spawned reports whether a command of the client spawned the entity of an exact slot.
func (s *slot) spawned() bool { return s.exact() && s.near&1 != 0 }

func (s *slot) setDetail(d Detail) {
	switch d {
	case Mine:
		s.state |= 1<<3 | 1<<7
	case Spawned:
		s.state, s.near = s.state|1<<3, s.near|1
	case Exact:
		s.state |= 1 << 3
	}
}

// mentioned reports whether some packet speaks of this use of the slot.
func (s *slot) mentioned() bool { return s.state&(1<<4) != 0 }
func (s *slot) setMentioned()   { s.state |= 1 << 4 }

// level returns the detail level at which the client is to receive the entity.
func (s *slot) level() uint8     { return s.state >> 5 & 3 }
func (s *slot) setLevel(l uint8) { s.state = s.state&^(3<<5) | l<<5 }

// inReach returns the groups with a limited distance within which the client is.
func (s *slot) inReach() uint32           { return uint32(s.near & 15) }
func (s *slot) setInReach(group uint32)   { s.near |= uint8(group) }
func (s *slot) clearInReach(group uint32) { s.near &^= uint8(group) }

// bound returns the bound that the newest record sent announced.
func (s *slot) bound() uint8     { return s.near >> 4 }
func (s *slot) setBound(b uint8) { s.near = s.near&15 | b<<4 }

// inSight reports whether the client is to have the entity.
func (s *slot) inSight() bool { return s.phase() == entering || s.phase() == live }

// unit returns the unit of the ledger for group g.
func (s *slot) unit(g int) int { return int(s.at) + unitOf(g) }

// An ending is the end of one use of a slot: the client must learn, or has learned, that the entity
// is gone.
type ending struct {
	slot    uint16
	had     bool       // the client was known to have the entity when it left
	known   bool       // a packet is known to be applied from which the client learned it
	learned wire.Seq   // the oldest of them
	later   uint32     // bit i: packet learned+1+i is another
	until   clock.Tick // of a slot that ended: up to which tick it is kept for Shown
}

// teach notes that the client learned it from packet seq.
func (e *ending) teach(seq wire.Seq) {
	switch d := seq - e.learned; {
	case !e.known:
		e.learned, e.later, e.known = seq, 0, true
	case seq.Newer(e.learned):
		e.later |= 1 << (d - 1) // beyond 32 nothing
	case d != 0:
		e.learned, e.later = seq, e.later<<-d|1<<(-d-1)
	}
}

// taught reports whether the client had learned it when it had applied the packets of by.
func (e *ending) taught(by wire.Basis) bool {
	taught := e.known && by.Has(e.learned)
	for set := e.later; set != 0 && !taught; set &= set - 1 {
		taught = by.Has(e.learned + 1 + wire.Seq(bits.TrailingZeros32(set)))
	}
	return taught
}

// shownTicks is for how many ticks a slot that ended is kept for Shown at least, unless it is
// needed: commands that were made before the client learned of the end may still have to wait for
// their tick, see View.Awaits.
const shownTicks = 32

// slotTable has the slots of one client, and finds that of an entity.
type slotTable struct {
	list    []slot // as many as were ever used at once
	taken   slotSet
	quiet   slotSet    // slots of which the client has all that there is, as of View.looked
	eager   slotSet    // slots whose entity rested and does not any more
	present slotSet    // slots whose kind is drawn at the present
	index   []uint16   // slots of entities in sight plus 1, by hash; 0: none
	endings []ending   // of the slots that are leaving or ended, by rising slot
	swept   clock.Tick // when slots that ended long ago were looked for
	inSight uint16     // how many slots index has
	leaving uint16     // how many of endings are leaving
}

// used calls f for every slot that is not empty, by rising number.
func (t *slotTable) used(f func(n uint16) bool) {
	for w, set := range t.taken {
		for ; set != 0; set &= set - 1 {
			if !f(uint16(w<<6 + bits.TrailingZeros64(set))) {
				return
			}
		}
	}
}

// firstEmpty returns the first empty slot: slots close together are coded in few bits.
func (t *slotTable) firstEmpty() (n uint16, ok bool) {
	for w, set := range t.taken {
		if set != math.MaxUint64 {
			return uint16(w<<6 + bits.TrailingZeros64(^set)), true
		}
	}
	return 0, false
}

// endedFirst returns the slot that ended and is to be kept for the shortest time.
func (t *slotTable) endedFirst() (n uint16, ok bool) {
	until := clock.Tick(math.MaxUint32)
	for i := range t.endings {
		if e := &t.endings[i]; t.list[e.slot].phase() == ended && e.until < until {
			n, until, ok = e.slot, e.until, true
		}
	}
	return n, ok
}

// enter begins a use of slot n, which vacant returned.
func (t *slotTable) enter(n uint16, s slot) *slot {
	if int(n) == len(t.list) {
		t.list = grown(t.list, 1)
	}
	t.list[n] = s
	t.taken.add(n)
	t.enlist(n)
	return &t.list[n]
}

// clear ends the use of slot n, whose entity is not in sight any more.
func (t *slotTable) clear(n uint16) {
	t.list[n] = slot{}
	t.taken.remove(n)
	t.quiet.remove(n)
	t.eager.remove(n)
	t.present.remove(n)
}

// leave notes that the client must learn that the entity of slot n is gone.
func (t *slotTable) leave(n uint16) {
	had := t.list[n].phase() == live
	t.list[n].setPhase(leaving)
	t.quiet.remove(n)
	t.eager.remove(n)
	t.leaving++
	at, _ := t.endingAt(n)
	if n := len(t.endings); n == cap(t.endings) { // commonly there are few, for each of thousands of clients
		t.endings = append(make([]ending, 0, n+max(16, n/2)), t.endings...)
	}
	t.endings = slices.Insert(t.endings, at, ending{slot: n, had: had})
}

// end notes that the client learned by packet seq that the entity of slot n is gone. The slot is
// kept up to a tick.
func (t *slotTable) end(n uint16, seq wire.Seq, until clock.Tick) {
	s, e := &t.list[n], t.ending(n)
	if s.phase() == leaving {
		s.setPhase(ended)
		t.leaving--
		e.until = until
	}
	e.teach(seq)
}

// forget drops the ending of slot n.
func (t *slotTable) forget(n uint16) {
	at, _ := t.endingAt(n)
	t.endings = slices.Delete(t.endings, at, at+1)
}

// ending returns the end of slot n, which is leaving or ended.
func (t *slotTable) ending(n uint16) *ending {
	at, _ := t.endingAt(n)
	return &t.endings[at]
}

func (t *slotTable) endingAt(n uint16) (at int, ok bool) {
	return slices.BinarySearchFunc(t.endings, n, func(e ending, n uint16) int { return cmp.Compare(e.slot, n) })
}

// find returns the slot of an entity in sight.
func (t *slotTable) find(entity int32) (n uint16, ok bool) {
	if len(t.index) == 0 {
		return 0, false
	}
	for at := t.hash(entity); ; at++ {
		e := t.index[at&(len(t.index)-1)]
		if e == 0 {
			return 0, false
		}
		if t.list[e-1].ent == entity {
			return e - 1, true
		}
	}
}

// hash returns where the search for an entity begins (Knuth, The Art of Computer Programming,
// volume 3, section 6.4).
func (t *slotTable) hash(entity int32) int {
	return int(uint32(entity) * 2654435769 >> 16 * uint32(len(t.index)) >> 16)
}

// enlist makes find find slot n.
func (t *slotTable) enlist(n uint16) {
	if t.inSight++; int(t.inSight)*4 > len(t.index)*3 {
		t.index = make([]uint16, max(2*len(t.index), 32))
		for other := range t.used {
			if other != n && t.list[other].inSight() {
				t.insert(other)
			}
		}
	}
	t.insert(n)
}

func (t *slotTable) insert(n uint16) {
	at := t.hash(t.list[n].ent)
	for ; t.index[at&(len(t.index)-1)] != 0; at++ {
	}
	t.index[at&(len(t.index)-1)] = n + 1
}

// strike makes find not find slot n any more: those that follow in the same run move up where they
// may.
func (t *slotTable) strike(n uint16) {
	t.inSight--
	mask := len(t.index) - 1
	at := t.hash(t.list[n].ent) & mask
	for ; t.index[at] != n+1; at = (at + 1) & mask {
	}
	for next := at; ; {
		next = (next + 1) & mask
		e := t.index[next]
		if e == 0 {
			break
		}
		if home := t.hash(t.list[e-1].ent) & mask; (next-home)&mask >= (next-at)&mask {
			t.index[at], at = e, next
		}
	}
	t.index[at] = 0
}
