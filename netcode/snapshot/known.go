package snapshot

import (
	"math/bits"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// How a View keeps what it knows, in few bytes: there is one of these for each thing in a client's sight, for thousands of clients.

// Slots is the size of a client's slot space. A slot lingers after its entity is gone until no packet
// that speaks of its old life can still be applied, so there are twice as many as visible entities.
const Slots = 512

type phase uint8

const (
	empty   phase = iota
	sight         // first sight is being sent; nothing acknowledged yet
	live          // the client is known to hold a state of every group
	leaving       // gone is being sent
	resting       // gone is acknowledged; waits until it may be reused
)

// slot is one use of a slot. Its kind is its entity's.
type slot struct {
	ent   int32
	since clock.Tick // when the entity entered the slot
	at    uint16     // where what is known of its groups begins in View.known
	state uint8      // bits 0..2 phase, 3 mine, 4 some packet mentioned it, 5..6 how coarse the client is to be told it
	more  uint8      // bits 0..3 groups that have a distance within which the client is, 4..7 class that the newest record said; resting: how many packets before View.mention the client is known to have heard of the end
}

func (s *slot) phase() phase     { return phase(s.state & 7) }
func (s *slot) to(p phase)       { s.state = s.state&^7 | uint8(p) }
func (s *slot) mine() bool       { return s.state&(1<<3) != 0 }
func (s *slot) said() bool       { return s.state&(1<<4) != 0 }
func (s *slot) level() uint8     { return s.state >> 5 }
func (s *slot) setLevel(l uint8) { s.state = s.state&(1<<5-1) | l<<5 }
func (s *slot) near() uint32     { return uint32(s.more & 15) }
func (s *slot) bound() uint8     { return s.more >> 4 }
func (s *slot) setBound(b uint8) { s.more = s.more&15 | b<<4 }

// sees reports whether the client is to have the entity.
func (s *slot) sees() bool { return s.phase() == sight || s.phase() == live }

// unit returns where what is known of group g is. An owner's record takes the place of group 0.
func (s *slot) unit(g int) int { return int(s.at) + place(g) }

// units returns where what is known of a slot's groups is, from and to. When those that not everyone receives were said to be gone follows the
// groups, the other way round.
func (v *View) units(s *slot) (from, to int) {
	return int(s.at), int(s.at) + 1 + int(v.known[s.at].flags>>unitsAt)
}

// place returns where among a slot's groups group g is.
func place(g int) int { return g % schema.MaxGroups }

// known is what is known of one group of what the client holds: the newest state acknowledged and the one that was so before it, and the newest
// record said and the one said before it. Of the older ones of both pairs only those of the last priorTicks count, and no record is acknowledged that was not said.
//
// Of a slot that is leaving or resting hist of the first group is the number of the newest packet that may have spoken of it.
type known struct {
	last  [2]uint16 // the newest record said, its tick: low and high half; 0: none
	back  uint16    // how many ticks before that the newest state is that the client is known to hold; noBack: it holds none; farBack: see View.far
	hist  uint16    // bits 0..6: how many ticks before that state another is that it is known to hold, 0: none; 7..13: how many ticks before last another record was said, 0: none; more than priorTicks are older; 14: that one is the acknowledged state
	flags uint16
}

const (
	farBack = 1<<16 - 2
	noBack  = 1<<16 - 1
	older   = priorTicks + 1 // ticks

	priorMask = 1<<beforeAt - 1
	beforeAt  = 7
	isOnly    = 1 << 14

	// flags of known
	isOut      = 1 << 0 // the client must forget the group, and that must be said, or was and is not acknowledged: last is when
	isVague    = 1 << 1 // the client may hold states that are not accounted for: it asked for a resync, or was to forget them
	isLost     = 1 << 2 // last is taken for lost
	boundAt    = 3      // 4 bits: class that the acknowledged record said
	levelAt    = 7      // 2 bits each: how coarse the acknowledged state, the one before it, and last are
	priorAt    = 9
	lastAt     = 11
	unitsAt    = 13 // 3 bits: in the first of a slot, how many follow
	levelsMask = 1<<levelB - 1
)

func (k *known) said() clock.Tick  { return clock.Tick(k.last[0]) | clock.Tick(k.last[1])<<16 }
func (k *known) out() bool         { return k.flags&isOut != 0 }
func (k *known) lost() bool        { return k.flags&isLost != 0 }
func (k *known) bound() uint8      { return uint8(k.flags>>boundAt) & 15 }
func (k *known) level() uint8      { return uint8(k.flags>>levelAt) & levelsMask }
func (k *known) priorLevel() uint8 { return uint8(k.flags>>priorAt) & levelsMask }

// sentLevel returns how coarse the newest record said is that is acknowledged or under way.
func (k *known) sentLevel() uint8 {
	if k.lost() {
		return k.level()
	}
	return uint8(k.flags>>lastAt) & levelsMask
}

func (k *known) put(at int, mask, v uint16) { k.flags = k.flags&^(mask<<at) | v<<at }

// farTick is an acknowledged tick that lies too long before what was said last: of what rested for very long, while its first record since is
// under way.
type farTick struct {
	unit  int
	acked clock.Tick
}

// acked returns the newest state of a group that the client is known to hold; 0: none.
func (v *View) acked(unit int) clock.Tick {
	if k := &v.known[unit]; k.back < farBack {
		return k.said() - clock.Tick(k.back)
	}
	return v.ackedFar(unit)
}

func (v *View) ackedFar(unit int) clock.Tick {
	for i := range v.far {
		if v.far[i].unit == unit {
			return v.far[i].acked
		}
	}
	return 0
}

// set sets the newest record said and the newest state acknowledged.
func (v *View) set(unit int, last, acked clock.Tick) {
	k := &v.known[unit]
	if k.back == farBack {
		for i := range v.far {
			if v.far[i].unit == unit {
				v.far[i] = v.far[len(v.far)-1]
				v.far = v.far[:len(v.far)-1]
				break
			}
		}
	}
	k.last = [2]uint16{uint16(last), uint16(last >> 16)}
	switch {
	case acked == 0 && last != 0:
		k.back = noBack
	case last-acked < farBack:
		k.back = uint16(last - acked)
	default:
		k.back = farBack
		v.far = append(v.far, farTick{unit, acked})
	}
}

// reset forgets what is known of a group; the client may hold something all the same.
func (v *View) reset(unit int) {
	v.set(unit, 0, 0)
	v.known[unit] = known{flags: v.known[unit].flags&(7<<unitsAt) | isVague}
}

// say notes that a record was said.
func (v *View) say(unit int, tick clock.Tick, level uint8) {
	k := &v.known[unit]
	old, only := k.said(), k.back == 0
	if back := uint32(tick-old) + uint32(k.back); back < farBack && old != 0 { // as nearly always
		k.last, k.back = [2]uint16{uint16(tick), uint16(tick >> 16)}, uint16(back)
	} else {
		v.set(unit, tick, v.acked(unit))
	}
	if gap := min(tick-old, older); old != 0 && gap != 0 {
		k.hist = k.hist&priorMask | uint16(gap)<<beforeAt
		if only {
			k.hist |= isOnly
		}
	}
	k.flags &^= isLost
	k.put(lastAt, levelsMask, uint16(level))
}

// holds notes that the client holds the state of a tick, which is not the one that it is known to hold; and reports whether it is a newer one.
func (v *View) holds(unit int, tick clock.Tick, level, bound uint8) bool {
	k, old := &v.known[unit], v.acked(unit)
	if tick < old { // it was overtaken
		if gap, prior := min(old-tick, older), clock.Tick(k.hist&priorMask); prior == 0 || gap < prior {
			k.hist = k.hist&^priorMask | uint16(gap)
			k.put(priorAt, levelsMask, uint16(level))
		}
		return false
	}
	v.set(unit, k.said(), tick)
	before := clock.Tick(k.hist >> beforeAt & priorMask)
	if k.hist &^= priorMask | isOnly; old != 0 {
		k.hist |= uint16(min(tick-old, older))
	}
	if before != 0 && before <= priorTicks && tick+before == k.said() { // of what lies further back that is not known, and taken for false
		k.hist |= isOnly
	}
	k.put(priorAt, levelsMask, uint16(k.level()))
	k.put(levelAt, levelsMask, uint16(level))
	k.put(boundAt, 15, uint16(bound))
	return true
}

// only reports whether the acknowledged state is what was said last but one. Where that was long before the last, and was acknowledged after it,
// this says false.
func (k *known) only() bool { return k.hist&isOnly != 0 }

// ref returns what the next record is taken from.
func (v *View) ref(unit int, now clock.Tick) ref {
	k := &v.known[unit]
	r := ref{base: v.acked(unit)}
	if r.base == 0 {
		return r
	}
	prior := clock.Tick(k.hist & priorMask)
	if prior != 0 && now-r.base+prior <= priorTicks {
		r.prior = r.base - prior
	}
	if now-r.base < wire.AgreedTicks {
		// Of all that came since, and of the state before if it counts, the client knows whether it was acknowledged. But it may hold a state that
		// was forgotten here.
		r.agreed = prior != 0 || k.flags&isVague == 0
	} else {
		// Of older ones it does not: nothing else may have been said then that it could hold.
		r.agreed = k.back == 0 || k.only() && now-k.said() < wire.AgreedTicks
	}
	return r
}

// goneUnit returns where is noted when it was last said that the client must forget group g, which not everyone receives.
func (v *View) goneUnit(s *slot, g int) int {
	_, end := v.units(s)
	limited := v.rules(s).limitedSet
	return end - 1 - bits.OnesCount32(limited&(1<<uint(g)-1))
}

// gone returns that tick; 0: never.
func (v *View) gone(s *slot, g int) clock.Tick {
	if v.rules(s).limitedSet>>uint(g)&1 == 0 || s.mine() {
		return 0
	}
	return v.known[v.goneUnit(s, g)].said()
}

// forgets notes that the client was told to forget group g.
func (v *View) forgets(s *slot, g int) {
	unit := s.unit(g)
	at := v.known[unit].said()
	v.reset(unit)
	v.set(v.goneUnit(s, g), at, 0)
}

// rules returns what the records of a slot go by. Only for one whose entity is still the same.
func (v *View) rules(s *slot) *rules { return &v.h.rules[v.h.ents[s.ent].Kind] }

// same reports whether the entity of a slot is still the one that entered it: the history uses its memory again some time after it is gone.
func (v *View) same(s *slot) bool { return v.h.ents[s.ent].Spawned <= s.since }

// room is by how many slots and units their memory grows.
const room = 32

func grown[T any](s []T, n int) []T {
	if len(s)+n > cap(s) {
		s = append(make([]T, 0, (len(s)+n+room-1)/room*room), s...)
	}
	return s[:len(s)+n]
}

// occupy gives a slot memory for what is known of n groups.
func (v *View) occupy(s *slot, n int) {
	at := len(v.known)
	if free := v.free[n-1]; free != 0 {
		at = int(free - 1)
		v.free[n-1] = v.known[at].hist
	} else {
		v.known = grown(v.known, n)
	}
	clear(v.known[at : at+n])
	v.known[at].flags = uint16(n-1) << unitsAt
	s.at = uint16(at)
}

// empty frees a slot.
func (v *View) empty(n uint16) {
	s := &v.slots[n]
	from, to := v.units(s)
	for unit := from; unit < to; unit++ {
		v.set(unit, 0, 0)
	}
	v.known[from].hist = v.free[to-from-1]
	v.free[to-from-1] = uint16(from + 1)
	*s = slot{}
	v.taken[n/64] &^= 1 << (n % 64)
}

// find returns the slot of entity i, where it is in sight.
func (v *View) find(i int32) (n uint16, ok bool) {
	if len(v.index) == 0 {
		return 0, false
	}
	for at := v.hash(i); ; at++ {
		e := v.index[at&(len(v.index)-1)]
		if e == 0 {
			return 0, false
		}
		if v.slots[e-1].ent == i {
			return e - 1, true
		}
	}
}

// hash returns where the search for entity i begins (Knuth, The Art of Computer Programming, volume 3, section 6.4).
func (v *View) hash(i int32) int {
	return int(uint32(i) * 2654435769 >> 16 * uint32(len(v.index)) >> 16)
}

// enlist makes find find slot n.
func (v *View) enlist(n uint16) {
	if v.live++; v.live*4 > len(v.index)*3 {
		v.index = make([]uint16, max(2*len(v.index), 32))
		for w, set := range v.taken {
			for ; set != 0; set &= set - 1 {
				if other := uint16(w<<6 + bits.TrailingZeros64(set)); other != n && v.slots[other].sees() {
					v.insert(other)
				}
			}
		}
	}
	v.insert(n)
}

func (v *View) insert(n uint16) {
	at := v.hash(v.slots[n].ent)
	for ; v.index[at&(len(v.index)-1)] != 0; at++ {
	}
	v.index[at&(len(v.index)-1)] = n + 1
}

// strike makes find not find slot n any more: those that follow in the same run move up where they may.
func (v *View) strike(n uint16) {
	v.live--
	mask := len(v.index) - 1
	at := v.hash(v.slots[n].ent) & mask
	for ; v.index[at] != n+1; at = (at + 1) & mask {
	}
	for next := at; ; {
		next = (next + 1) & mask
		e := v.index[next]
		if e == 0 {
			break
		}
		if home := v.hash(v.slots[e-1].ent) & mask; (next-home)&mask >= (next-at)&mask {
			v.index[at], at = e, next
		}
	}
	v.index[at] = 0
}

// saidAt is when something was said.
type saidAt struct {
	tick clock.Tick
	at   uint32 // in units of 1<<msB ns
}

// msB makes 1.05 ms of a nanosecond clock, which wraps after 52 days.
const msB = 20

// mostSaid is how many packets are remembered to tell what was said too long ago to be still unanswered: what is older was.
const mostSaid = 64

// leastPatience is for how long at least it is remembered, in units of 1<<msB ns: a second. A longer timeout is as good once one as long was given.
const leastPatience = 1 << (30 - msB)

// speaks notes that packet seq says something.
func (v *View) speaks(tick clock.Tick, seq wire.Seq, now clock.Time) {
	v.version++
	v.newest = seq
	if v.notBefore != nil && seq-v.resyncSeq > wire.LogSize {
		v.notBefore = nil // no packet from before the resync is in the log any more
	}
	n := len(v.says)
	at := uint32(now >> msB)
	if n > 0 && v.says[(v.saysAt+n-1)%n].tick == tick {
		v.says[(v.saysAt+n-1)%n].at = at
		return
	}
	if n == 0 || n < mostSaid && at-v.says[v.saysAt].at <= v.patience {
		says, before := make([]saidAt, max(8, 2*n)), clock.Tick(0)
		if n > 0 {
			before = v.says[v.saysAt].tick - 1
		}
		for i := range len(says) - n { // what is not there any more was said long ago
			says[i] = saidAt{before, at - 1<<31}
		}
		for i := range n {
			says[len(says)-n+i] = v.says[(v.saysAt+i)%n]
		}
		v.says, v.saysAt = says, 0
	}
	v.says[v.saysAt] = saidAt{tick, at}
	v.saysAt = (v.saysAt + 1) % len(v.says)
}

// late returns the newest tick of which what was said should have been answered by now.
func (v *View) late(now clock.Time, rto time.Duration) clock.Tick {
	at, wait := uint32(now>>msB), uint32(rto>>msB)
	v.patience = max(v.patience, wait, leastPatience)
	n := len(v.says)
	for i := n - 1; i >= 0; i-- {
		if s := &v.says[(v.saysAt+i)%n]; at-s.at > wait {
			return s.tick
		}
	}
	if n > 0 {
		return v.says[v.saysAt].tick - min(v.says[v.saysAt].tick, 1)
	}
	return 0
}

// current reports whether a packet of a tick that mentions slot n spoke of its present use, and of what the client did not ask for anew since.
func (v *View) current(n uint16, tick clock.Tick) bool {
	return tick >= v.slots[n].since && (v.notBefore == nil || tick >= v.notBefore[n])
}
