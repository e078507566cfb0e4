package snapshot

import (
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A ledger notes, in ticks, which records were sent to one client and which of them it
// acknowledged. It has a unit for each group of each slot: the unit says what the client is known
// to hold of that group. The units of a slot lie side by side in a piece. The ledger knows neither
// entities nor values; a server keeps one for each of thousands of clients, so a unit takes ten
// bytes.
type ledger struct {
	known []known
	// free lists the pieces that no slot uses, by their number of units less 1: where the first one
	// begins, plus 1; 0: there is none. Each leads to the next, see known.nextFree.
	free [8]uint16
	far  []farTick
}

// known is one unit. Of the ages in priorAges only those up to priorTicks count.
type known struct {
	sentTick  [2]uint16 // tick of the newest record sent, its low and high half; 0: none was sent
	ackAge    uint16    // from the newest acknowledged state to sentTick, in ticks; or noAck, farAck
	priorAges uint16    // two ages and wasAcked, see priorMask
	flags     uint16    // see isOut
}

const (
	farAck = 1<<16 - 2 // the acknowledged state is too old for 16 bits: see ledger.far
	noAck  = 1<<16 - 1 // no state is acknowledged
)

// Parts of known.priorAges.
const (
	// Bits 0..6: from the state acknowledged before the newest one to the newest, in ticks; 0:
	// there is none.
	priorMask = 1<<beforeAt - 1
	// Bits 7..13: from the record sent before the newest one to the newest, in ticks; 0: there is
	// none.
	beforeAt = 7
	// wasAcked says that the record sent before the newest one is the newest acknowledged state.
	wasAcked = 1 << 14
	// tooOld stands for all ages above priorTicks.
	tooOld = priorTicks + 1
)

// Flags of known.
const (
	// isOut says that the client must drop the group and may not know that yet: sentTick is when it
	// was last sent that.
	isOut = 1 << 0
	// isVague says that the client may hold states that the ledger does not know of: it asked for a
	// resync, or had to drop the group.
	isVague = 1 << 1
	// isLost says that the record of sentTick is taken for lost.
	isLost = 1 << 2

	boundAt    = 3  // 4 bits: bound of the acknowledged record
	levelAt    = 7  // 2 bits: detail level of the acknowledged state
	priorAt    = 9  // 2 bits: that of the state acknowledged before it
	sentAt     = 11 // 2 bits: that of the record of sentTick
	unitsAt    = 13 // 3 bits: in the first unit of a piece, how many more the piece has
	levelsMask = 1<<levelB - 1
)

// sent returns the tick of the newest record sent, 0 if there is none.
func (k *known) sent() clock.Tick {
	return clock.Tick(k.sentTick[0]) | clock.Tick(k.sentTick[1])<<16
}

func (k *known) setSent(t clock.Tick) { k.sentTick = [2]uint16{uint16(t), uint16(t >> 16)} }

func (k *known) out() bool         { return k.flags&isOut != 0 }
func (k *known) vague() bool       { return k.flags&isVague != 0 }
func (k *known) lost() bool        { return k.flags&isLost != 0 }
func (k *known) setLost()          { k.flags |= isLost }
func (k *known) clearLost()        { k.flags &^= isLost }
func (k *known) bound() uint8      { return uint8(k.flags>>boundAt) & 15 }
func (k *known) level() uint8      { return uint8(k.flags>>levelAt) & levelsMask }
func (k *known) priorLevel() uint8 { return uint8(k.flags>>priorAt) & levelsMask }

// priorAge returns the age of the prior state before the acknowledged one, 0 if there is none.
func (k *known) priorAge() clock.Tick { return clock.Tick(k.priorAges & priorMask) }

// sentAge returns from which age before the newest record another one was sent, 0 if there is none.
func (k *known) sentAge() clock.Tick { return clock.Tick(k.priorAges >> beforeAt & priorMask) }

// ackedBefore reports whether the record sent before the newest one is the newest acknowledged
// state, so that only one record is under way. If the two were sent more than priorTicks apart, and
// the older one was acknowledged after the newer one was sent, it is false.
func (k *known) ackedBefore() bool { return k.priorAges&wasAcked != 0 }

// sentLevel returns the detail level of the newest record sent that is acknowledged or under way.
func (k *known) sentLevel() uint8 {
	if k.lost() {
		return k.level()
	}
	return uint8(k.flags>>sentAt) & levelsMask
}

// put sets the part of the flags that begins at a bit.
func (k *known) put(at int, mask, v uint16) { k.flags = k.flags&^(mask<<at) | v<<at }

// due reports whether the newest record sent must be sent again if it is not acknowledged: it is
// taken for lost, or was sent at tick late or before.
func (k *known) due(late clock.Tick) bool { return k.lost() || k.sent() <= late }

// A unit that no slot uses has only a link to the next free piece, as free has it.
func (k *known) nextFree() uint16     { return k.sentTick[0] }
func (k *known) setNextFree(n uint16) { *k = known{sentTick: [2]uint16{n}} }

// farTick is an acknowledged state that is 18 minutes or more older, at 60 ticks a second, than the
// newest record sent: the group rested for that long, and its first record since is under way.
type farTick struct {
	unit  int
	acked clock.Tick
}

// occupy returns where a new piece of so many units begins.
func (l *ledger) occupy(units int) (at uint16) {
	n := int(l.free[units-1])
	if n != 0 {
		n--
		l.free[units-1] = l.known[n].nextFree()
	} else {
		n = len(l.known)
		l.known = grown(l.known, units)
	}
	clear(l.known[n : n+units])
	l.known[n].flags = uint16(units-1) << unitsAt
	return uint16(n)
}

// release frees the piece that begins at a unit.
func (l *ledger) release(at uint16) {
	from, to := l.piece(at)
	for unit := from; unit < to; unit++ {
		l.set(unit, 0, 0) // so that none is left in far
	}
	l.known[from].setNextFree(l.free[to-from-1])
	l.free[to-from-1] = uint16(from + 1)
}

// piece returns the first unit of the piece that begins at one, and the one after its last.
func (l *ledger) piece(at uint16) (from, to int) {
	return int(at), int(at) + 1 + int(l.known[at].flags>>unitsAt)
}

// acked returns the newest state that the client is known to hold, 0 if there is none.
func (l *ledger) acked(unit int) clock.Tick {
	if k := &l.known[unit]; k.ackAge < farAck {
		return k.sent() - clock.Tick(k.ackAge)
	}
	return l.ackedFar(unit)
}

func (l *ledger) ackedFar(unit int) clock.Tick {
	for i := range l.far {
		if l.far[i].unit == unit {
			return l.far[i].acked
		}
	}
	return 0
}

// set sets the newest record sent and the newest state acknowledged.
func (l *ledger) set(unit int, sent, acked clock.Tick) {
	k := &l.known[unit]
	if k.ackAge == farAck {
		for i := range l.far {
			if l.far[i].unit == unit {
				l.far[i] = l.far[len(l.far)-1]
				l.far = l.far[:len(l.far)-1]
				break
			}
		}
	}
	k.setSent(sent)
	switch {
	case acked == 0 && sent != 0:
		k.ackAge = noAck
	case sent-acked < farAck:
		k.ackAge = uint16(sent - acked)
	default:
		k.ackAge = farAck
		l.far = append(l.far, farTick{unit, acked})
	}
}

// reset forgets what is known of a unit; the client may hold states of its group all the same.
func (l *ledger) reset(unit int) {
	l.set(unit, 0, 0)
	l.known[unit] = known{flags: l.known[unit].flags&(7<<unitsAt) | isVague}
}

// send notes that a record was sent.
func (l *ledger) send(unit int, tick clock.Tick, level uint8) {
	k := &l.known[unit]
	old, acked := k.sent(), k.ackAge == 0
	if age := uint32(tick-old) + uint32(k.ackAge); age < farAck && old != 0 { // as nearly always
		k.setSent(tick)
		k.ackAge = uint16(age)
	} else {
		l.set(unit, tick, l.acked(unit))
	}
	if gap := min(tick-old, tooOld); old != 0 && gap != 0 {
		k.priorAges = k.priorAges&priorMask | uint16(gap)<<beforeAt
		if acked {
			k.priorAges |= wasAcked
		}
	}
	k.clearLost()
	k.put(sentAt, levelsMask, uint16(level))
}

// acknowledge notes that the client holds the state of a tick other than the newest one
// acknowledged, and reports whether it is a newer one. A record is acknowledged only after it was
// sent.
func (l *ledger) acknowledge(unit int, tick clock.Tick, level, bound uint8) bool {
	k, old := &l.known[unit], l.acked(unit)
	if tick < old { // it was overtaken
		if gap, prior := min(old-tick, tooOld), k.priorAge(); prior == 0 || gap < prior {
			k.priorAges = k.priorAges&^priorMask | uint16(gap)
			k.put(priorAt, levelsMask, uint16(level))
		}
		return false
	}
	l.set(unit, k.sent(), tick)
	before := k.sentAge()
	if k.priorAges &^= priorMask | wasAcked; old != 0 {
		k.priorAges |= uint16(min(tick-old, tooOld))
	}
	if before != 0 && before <= priorTicks && tick+before == k.sent() { // an older one is not known exactly
		k.priorAges |= wasAcked
	}
	k.put(priorAt, levelsMask, uint16(k.level()))
	k.put(levelAt, levelsMask, uint16(level))
	k.put(boundAt, 15, uint16(bound))
	return true
}

// ref returns what a record of tick now is a difference from.
func (l *ledger) ref(unit int, now clock.Tick) ref {
	k := &l.known[unit]
	r := ref{base: l.acked(unit)}
	if r.base == 0 {
		return r
	}
	prior := k.priorAge()
	if prior != 0 && now-r.base+prior <= priorTicks {
		r.prior = r.base - prior
	}
	if now-r.base < wire.AgreedTicks {
		// Of all records since the baseline, and of the prior state if it counts, the client knows
		// whether the server knew them for acknowledged. But it may hold a state that was forgotten
		// here.
		r.agreed = prior != 0 || !k.vague()
	} else {
		// Of older ones it does not know it: so nothing else may have been sent then that it could
		// hold.
		r.agreed = k.ackAge == 0 || k.ackedBefore() && now-k.sent() < wire.AgreedTicks
	}
	return r
}

// unitOf returns the place of group g within a piece. An owner's record takes that of group 0.
func unitOf(g int) int { return g % schema.MaxGroups }

// grown returns s with n elements more. It grows by what the allocator has room for anyway: a few
// elements of thousands of clients count.
func grown[T any](s []T, n int) []T {
	if len(s)+n > cap(s) {
		s = append(slices.Grow([]T(nil), len(s)+n), s...)
	}
	return s[:len(s)+n]
}
