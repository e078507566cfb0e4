package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"meanwhile/clock"
	"meanwhile/motion"
	"meanwhile/schema"
	"meanwhile/wire"
)

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

type slot struct {
	ent     int32
	id      uint32
	kind    uint8
	phase   phase
	mine    bool
	life    uint16 // which use of the slot this is, modulo 2^lifeB, to tell acknowledgements of earlier ones apart
	said    bool   // the present use was mentioned in some packet
	mention wire.Seq
	end     wire.Seq   // oldest packet known to be applied that said that the entity is gone; where resting
	since   clock.Tick // when the entity entered the slot
	level   uint8      // how coarse the client is to be told it
	near    uint8      // groups that have a distance within which the client is
	bound   uint8      // class that the newest record said, in flight or not
	told    clock.Tick // the tick of that record
	n       uint16     // its number
}

// known is what is known of one group of what the client holds. An owner's record takes the place of group 0.
type known struct {
	acked  clock.Tick // the newest state that the client is known to hold; 0: none
	prior  clock.Tick // the newest one before it that it is known to hold; 0: none
	last   clock.Tick // newest record said; 0: none
	before clock.Tick // the one said before that; 0: none
	sentAt uint32     // when last was said, in units of 1<<msB ns
	gone   clock.Tick // when it was last said that the client must forget the group; 0: never
	out    bool       // that must be said, or was and is not acknowledged: last is when
	vague  bool       // the client may hold states that are not accounted for: it asked for a resync, or was to forget them
	lost   bool       // last is taken for lost
	bound  uint8      // class that the acknowledged record said
	// how coarse acked, prior and last are
	level, priorLevel, lastLevel uint8
}

// msB makes 1.05 ms of a nanosecond clock, which wraps after 52 days.
const msB = 20

// sent returns the newest record said that is acknowledged or under way.
func (k *known) sent() clock.Tick {
	if k.lost {
		return k.acked
	}
	return k.last
}

// overdue reports whether what was said last should have been answered by now.
func (k *known) overdue(now clock.Time, rto time.Duration) bool {
	return uint32(now>>msB)-k.sentAt > uint32(rto>>msB)
}

func (k *known) say(tick clock.Tick, level uint8, now clock.Time) {
	k.last, k.before, k.lastLevel, k.sentAt, k.lost = tick, k.last, level, uint32(now>>msB), false
}

// sentLevel returns how coarse the state of sent is.
func (k *known) sentLevel() uint8 {
	if k.lost {
		return k.level
	}
	return k.lastLevel
}

// ref returns what the next record is taken from.
func (k *known) ref(now clock.Tick) ref {
	r := ref{base: k.acked}
	if k.acked == 0 {
		return r
	}
	if k.prior != 0 && now-k.prior <= priorTicks {
		r.prior = k.prior
	}
	if now-k.acked < wire.AgreedTicks {
		// Of all that came since, and of the state before if it counts, the client knows whether it was acknowledged. But it may hold a state that
		// was forgotten here.
		r.agreed = k.prior != 0 || !k.vague
	} else {
		// Of older ones it does not: nothing else may have been said then that it could hold.
		r.agreed = k.last == k.acked || k.before == k.acked && now-k.last < wire.AgreedTicks
	}
	return r
}

// of returns what is known of the groups of a slot.
func (v *View) of(s *slot) []known {
	at := int(s.n) * v.most
	return v.known[at : at+v.most : at+v.most]
}

// place returns where among a slot's groups group g is.
func place(g int) int { return g % schema.MaxGroups }

// A View is what one client is known to hold: per slot and group the acknowledged tick. It never copies
// values. Owned by the client's encoder; distinct Views may be used concurrently.
type View struct {
	h     *History
	slots []slot  // as many as were ever used at once
	known []known // of each slot as many as the kind with the most groups has
	most  int
	taken [Slots / 64]uint64
	index map[int32]uint16 // entity to slot, live or in first sight
	team  int64
	used  []uint16 // slots that are not empty
	look  *Look
	texts toldTexts
	vals  [2][]int64 // scratch of strays
	// version counts what may change the result of a look.
	version uint64
	missed  clock.Tick // when a packet was last taken for lost; 0: never
	rode    rode       // the newest packet with entries that is known to be applied
	anew    clock.Tick // when the client last asked for everything anew; 0: never
	// Resyncs counts how often the client asked for everything anew.
	Resyncs int
}

// lately is for how many ticks a lost packet says something about those to come.
const lately = 512

// Share lets the View use l for what Held needs, 21 kB for a client that sees 250 things. Views that share it must not be asked at once. Without it a
// View has its own.
func (v *View) Share(l *Look) { v.look = l }

// NewView returns the View of a client that holds nothing.
func NewView(h *History) *View {
	v := &View{h: h, index: map[int32]uint16{}, most: 1}
	for _, k := range h.kinds {
		v.most = max(v.most, len(k.Groups))
	}
	return v
}

// Has reports whether entity i has a slot that is not leaving.
func (v *View) Has(i int32) bool { _, ok := v.index[i]; return ok }

// Slot returns the slot of entity i.
func (v *View) Slot(i int32) (uint16, bool) { s, ok := v.index[i]; return s, ok }

// Enter gives entity i a slot; mine says that the client owns it. It returns false if there is no free one.
func (v *View) Enter(i int32, mine bool) bool {
	if v.Has(i) {
		return true
	}
	for w, set := range v.taken {
		if set == math.MaxUint64 {
			continue
		}
		n := uint16(w<<6 + bits.TrailingZeros64(^set)) // the first: slots close together are told apart in few bits
		if int(n) == len(v.slots) {
			v.slots = append(v.slots, slot{})
			for range v.most {
				v.known = append(v.known, known{})
			}
		}
		s := &v.slots[n]
		*s = slot{ent: i, id: v.h.At(i).ID, kind: uint8(v.h.At(i).Kind), phase: sight, mine: mine, life: next(s.life), since: v.h.Tick(), n: n}
		clear(v.of(s))
		if r := &v.h.rules[s.kind]; !r.places {
			s.near = math.MaxUint8 // nowhere is everywhere
		}
		v.taken[w] |= 1 << (n % 64)
		v.index[i] = n
		v.used = append(v.used, n)
		v.version++
		return true
	}
	return false
}

// level returns how coarse the client of a slot is to be told group g.
func (v *View) level(s *slot, g int) uint8 {
	if s.level == 0 || v.h.rules[s.kind].graded>>uint(g)&1 == 0 {
		return 0
	}
	return s.level
}

// Distance says how far from the client entity i is now, in square millimetres: the further away, the coarser it may be told.
func (v *View) Distance(i int32, square int64) {
	n, ok := v.index[i]
	if !ok {
		return
	}
	s := &v.slots[n]
	r := &v.h.rules[s.kind]
	if s.mine || !r.places {
		return
	}
	if len(r.levels) > 0 {
		s.level = r.level(s.level, square)
	}
	for i := range r.limits {
		if l := &r.limits[i]; l.far && square > l.from {
			s.near &^= uint8(l.group)
		} else if l.far && square < l.until {
			s.near |= uint8(l.group)
		}
	}
}

// empty frees a slot.
func (v *View) empty(n uint16) {
	v.slots[n].phase = empty
	v.taken[n/64] &^= 1 << (n % 64)
}

// Leave takes entity i out of the client's sight. Its content stops at once; its identity lingers until
// the client has acknowledged that it is gone.
func (v *View) Leave(i int32) {
	n, ok := v.index[i]
	if !ok {
		return
	}
	delete(v.index, i)
	v.version++
	s := &v.slots[n]
	if !s.said {
		v.empty(n)
		v.drop(n)
		return
	}
	s.phase = leaving
	v.of(s)[0].last, v.of(s)[0].lost = 0, true
}

// Retain lets go of every entity that keep does not want.
func (v *View) Retain(keep func(i int32) bool) {
	for j := len(v.used) - 1; j >= 0; j-- {
		if s := &v.slots[v.used[j]]; (s.phase == sight || s.phase == live) && !keep(s.ent) {
			v.Leave(s.ent)
		}
	}
}

// Each calls f for every entity in sight by rising ID; f returns false to stop.
func (v *View) Each(scratch []int32, f func(i int32) bool) []int32 {
	scratch = scratch[:0]
	for _, n := range v.used {
		if s := &v.slots[n]; s.phase == sight || s.phase == live {
			scratch = append(scratch, s.ent)
		}
	}
	slices.SortFunc(scratch, func(a, b int32) int { return cmp.Compare(v.h.At(a).ID, v.h.At(b).ID) })
	for _, i := range scratch {
		if !f(i) {
			break
		}
	}
	return scratch
}

// shown reports whether the client showed the entity of slot n when newest was the newest packet that it had applied: it is in sight, or
// the client had not heard of its end.
func (v *View) shown(n uint16, newest wire.Seq) bool {
	switch s := &v.slots[n]; s.phase {
	case sight, live:
		return true
	case leaving:
		return v.h.At(s.ent).ID == s.id
	case resting:
		return s.end.Newer(newest) && v.h.At(s.ent).ID == s.id
	}
	return false
}

// Shown calls f for every entity that the client showed when newest was the newest packet that it had applied, by rising ID: those
// in sight, and those of whose end it had not heard, be it that they are dead or have left its sight. One that came back meanwhile is
// there twice, first as it is now. f is given the slot, for HeldIn, and returns false to stop.
func (v *View) Shown(newest wire.Seq, scratch []uint16, f func(n uint16, i int32) bool) []uint16 {
	scratch = scratch[:0]
	for _, n := range v.used {
		if v.shown(n, newest) {
			scratch = append(scratch, n)
		}
	}
	slices.SortFunc(scratch, func(a, b uint16) int {
		p, q := &v.slots[a], &v.slots[b]
		if p.id != q.id {
			return cmp.Compare(p.id, q.id)
		}
		if p.phase != q.phase {
			return cmp.Compare(p.phase, q.phase)
		}
		return cmp.Compare(a, b)
	})
	for _, n := range scratch {
		if !f(n, v.slots[n].ent) {
			break
		}
	}
	return scratch
}

func (v *View) drop(n uint16) {
	for i, u := range v.used {
		if u == n {
			v.used = append(v.used[:i], v.used[i+1:]...)
			return
		}
	}
}

// Resync forgets what the client is known to hold: it said that a baseline is gone. All goes out anew, by budget. What is
// on its way as a first sight needs no baseline and goes on, so that a client may repeat its wish until it is heard.
func (v *View) Resync() {
	v.Resyncs++
	v.version++
	v.anew = v.h.tick // it may have lost what it knew of earlier packets, too
	for _, n := range v.used {
		s := &v.slots[n]
		if s.phase == live {
			s.phase, s.life = sight, next(s.life)
			for g := range v.of(s) {
				v.of(s)[g] = known{vague: true}
			}
		}
	}
}

// Reclaim empties slots that no acceptable packet can mention any more: latest is the newest packet that the
// client has acknowledged, and it refuses what is more than wire.Window older.
func (v *View) Reclaim(latest wire.Seq) {
	keep := v.used[:0]
	for _, n := range v.used {
		s := &v.slots[n]
		if s.phase == resting && int16(latest-s.mention) > wire.Window {
			v.empty(n)
			continue
		}
		keep = append(keep, n)
	}
	v.used = keep
	v.version++
}

// ref32 describes an entry of a packet in the packet log.
//
//	bits 0..8 slot, 9..13 groups, 14 gone, 15 based long ago, 16..25 life, 26..27 level, 28..31 class of the bound
//
// If it is based long ago, a word for each of its groups follows: how many ticks before the packet the baseline is in bits 0..25, its
// level in bits 26..27, its class in bits 28..31.
func ref32(n uint16, groups uint32, gone bool, life uint16, level, bound uint8) uint32 {
	r := uint32(n) | groups<<9 | uint32(life)<<16 | uint32(level)<<26 | uint32(bound)<<28
	if gone {
		r |= refGone
	}
	return r
}

const (
	refGone  = 1 << 14
	refBased = 1 << 15
	lifeB    = 10 // more lives than packets that the log remembers
	maxAge   = 1<<26 - 1
)

func next(life uint16) uint16 { return (life + 1) & (1<<lifeB - 1) }

// A Mark names a record: its tick, and the class of the bound that it said, which decides when it is shown.
type Mark struct {
	Tick  clock.Tick // 0: none
	Bound uint8
	Level uint8 // how coarse its values are, see schema.Kind.Levels
}

// shown returns the playout time at which the record is drawn as it is.
func (m Mark) shown() clock.TickFrac { return (&motion.State{Tick: m.Tick, Bound: m.Bound}).Shown() }

// longAgo is the age in ticks from which on the log keeps the baseline of a record: when it is asked what lay around a
// moment before that record, the packet that carried the baseline may have left the log.
const longAgo = 16

// words returns how many words the entry beginning with r takes.
func words(r uint32) int {
	if r&refBased == 0 {
		return 1
	}
	return 1 + bits.OnesCount32(r>>9&31)
}

// RefSlot returns the slot and the groups of a packet log's entry, and whether it still speaks of the
// present use of the slot.
func (v *View) RefSlot(r uint32) (n uint16, groups uint32, current bool) {
	n = uint16(r & (Slots - 1))
	return n, r >> 9 & 31, v.slots[n].life == uint16(r>>16)&(1<<lifeB-1)
}

// Delivered notes that the client applied a packet.
func (v *View) Delivered(p *wire.Packet) {
	v.version++
	if len(p.Refs) > 0 && p.Tick >= v.rode.tick {
		v.rode = rode{tick: p.Tick}
		for i := 0; i < len(p.Refs); i += words(p.Refs[i]) {
			if r := p.Refs[i]; r&refGone == 0 {
				v.rode.slots.add(uint16(r & (Slots - 1)))
			}
		}
	}
	for i := 0; i < len(p.Refs); i += words(p.Refs[i]) {
		r := p.Refs[i]
		n, groups, current := v.RefSlot(r)
		s := &v.slots[n]
		if !current || s.phase == empty {
			continue
		}
		if r&refGone != 0 && groups != 0 {
			for ; groups != 0 && s.phase == live; groups &= groups - 1 {
				if k := &v.of(s)[bits.TrailingZeros32(groups)]; k.out {
					*k = known{gone: k.last, vague: true}
				}
			}
			continue
		}
		if r&refGone != 0 {
			if s.phase == leaving || s.phase == resting && s.end.Newer(p.Seq) {
				s.phase, s.end = resting, p.Seq
			}
			continue
		}
		if s.phase == resting {
			continue
		}
		for ; groups != 0; groups &= groups - 1 {
			k, level := &v.of(s)[place(bits.TrailingZeros32(groups))], uint8(0)
			if p.Tick <= k.prior || p.Tick == k.acked || p.Tick <= k.gone || k.out {
				continue
			}
			if v.h.rules[s.kind].graded>>uint(bits.TrailingZeros32(groups))&1 != 0 {
				level = uint8(r>>26) & 3
			}
			if p.Tick < k.acked { // it was overtaken
				k.prior, k.priorLevel = p.Tick, level
				continue
			}
			k.prior, k.priorLevel = k.acked, k.level
			k.acked, k.level, k.bound = p.Tick, level, uint8(r>>28)
			k.lost = k.lost && k.last != p.Tick
		}
		if s.phase == sight {
			s.phase = live
			v.replaced(n, p.Seq)
		}
	}
}

// replaced notes that the client heard of the end of what slot n has in another slot, if it was there: it came back into sight before that
// was known, and packet seq told of it again. A client has an entity once.
func (v *View) replaced(n uint16, seq wire.Seq) {
	for _, o := range v.used {
		if s := &v.slots[o]; s.phase == leaving && s.id == v.slots[n].id && o != n {
			s.phase, s.end = resting, seq
		}
	}
}

// loses reports whether a packet was lost lately.
func (v *View) loses() bool { return v.missed != 0 && v.h.tick-v.missed < lately }

// Missing notes that a packet is taken for lost: what it said becomes due again unless a newer one said it too.
func (v *View) Missing(p *wire.Packet) {
	v.missed = v.h.tick
	for i := 0; i < len(p.Refs); i += words(p.Refs[i]) {
		r := p.Refs[i]
		n, groups, current := v.RefSlot(r)
		s := &v.slots[n]
		if !current {
			continue
		}
		if r&refGone != 0 && groups == 0 {
			if s.phase == leaving && v.of(s)[0].last == p.Tick {
				v.of(s)[0].lost = true
			}
			continue
		}
		if s.phase == leaving {
			continue
		}
		for ; groups != 0; groups &= groups - 1 {
			if k := &v.of(s)[place(bits.TrailingZeros32(groups))]; k.last == p.Tick && k.acked < p.Tick {
				k.lost = true
			}
		}
	}
}

// groupsOf returns the set of groups that the client of slot s receives.
func (v *View) groupsOf(s *slot, e *Entity) uint32 {
	if s.mine {
		return 1 << OwnerGroup
	}
	all := uint32(1)<<uint(len(v.h.kinds[e.Kind].Groups)) - 1
	limits := v.h.rules[s.kind].limits
	for i := range limits {
		l := &limits[i]
		if l.far && uint32(s.near)&l.group == 0 || l.team && (e.Team == 0 || e.Team != v.team) {
			all &^= l.group
		}
	}
	return all
}

// Team says of which team the client's player is; 0: of none.
func (v *View) Team(team int64) { v.team = team }

// forget returns the groups of a slot that the client must be told to forget now, of those that are not in the set all of groups that it
// receives; and lets those that it receives again begin anew.
func (v *View) forget(s *slot, all uint32, now clock.Time, rto time.Duration) (groups uint32) {
	for set := v.h.rules[s.kind].limited(); set != 0; set &= set - 1 {
		k := &v.of(s)[bits.TrailingZeros32(set)]
		switch {
		case all&(set&-set) == 0:
			if s.phase == sight {
				break // what a first sight does not tell is not there
			}
			if !k.out && k.last != 0 {
				k.out, k.lost = true, true
			}
			if k.out && (k.lost || k.overdue(now, rto)) {
				groups |= set & -set
			}
		case k.out:
			*k = known{gone: k.last, vague: true}
		}
	}
	return groups
}

// Due describes what a slot has to say.
type Due struct {
	Slot   uint16
	Ent    int32
	First  bool // first sight
	Gone   bool
	Mine   bool
	groups uint32
	Stale  int   // ticks since a record of it was sent last
	Score  int64 // for the caller's ordering
	// Moves says that what is due moves or has just stopped: records of it carry a bound. Kinds that are dead reckoned need none, as they
	// are drawn on without a record, and would be drawn back and forth where it changed. Age is then how many ticks ago a record of it
	// was sent last, or it came into sight, and Start says that it rested until now.
	Moves bool
	Age   int
	Start bool
	// Bound is the class of how soon the next record of it comes, see motion.Wait: that of the newest record said, unless the caller
	// changes it before Writer.Try. Nothing keeps the caller from breaking its word. Classes beyond 13 (64 ticks) are said as 13: what is drawn
	// later than that is older than what the server remembers.
	Bound uint8
	Told  clock.Tick // the tick of the record that said it, 0: none
}

// Pending appends to dst what is due now, in slot order of entry: first sights, groups that changed since
// what the client is known to hold and are not on their way, removals. What was sent and neither
// acknowledged nor lost becomes due again after rto.
func (v *View) Pending(now clock.Time, rto time.Duration, dst []Due) []Due {
	tick := v.h.Tick()
	for _, n := range v.used {
		s := &v.slots[n]
		of := v.of(s)
		switch s.phase {
		case leaving:
			if k := &of[0]; k.lost || k.overdue(now, rto) {
				dst = append(dst, Due{Slot: n, Ent: s.ent, Gone: true, Mine: s.mine})
			}
		case sight, live:
			e := v.h.At(s.ent)
			if !e.alive || e.ID != s.id {
				continue // gone without our being told, see Leave: there is nothing to say that would be true
			}
			all := v.groupsOf(s, e)
			if !s.mine && len(v.h.rules[s.kind].limits) > 0 {
				if groups := v.forget(s, all, now, rto); groups != 0 {
					dst = append(dst, Due{Slot: n, Ent: s.ent, Gone: true, groups: groups})
					continue
				}
			}
			var groups uint32
			stale, age, moves, started := clock.Tick(1), clock.Tick(0), false, false
			for set := all; set != 0; set &= set - 1 {
				g := bits.TrailingZeros32(set)
				k := &of[place(g)]
				changed, sent := e.group[g].changed, k.sent()
				// A first sight costs several records, so it is not repeated for a mere change.
				fresh := changed > sent && (s.phase == live || sent == 0)
				due, level := changed > k.acked, uint8(0)
				if s.level != 0 {
					level = v.level(s, g)
				}
				if level != 0 || k.level != 0 {
					fresh = fresh || level != k.sentLevel() && s.phase == live
					due = level != k.level || due && (s.phase != live || v.h.visible(e, g, k.acked, level))
				}
				if due = due && (fresh || k.overdue(now, rto)); !due {
					continue
				}
				kind := v.h.kinds[e.Kind]
				// In a flight what was sent is not said again for want of an ack, as acks may come late: what is known to be held does.
				flies := e.group[g].flight != 0 && k.acked >= e.group[g].flight && level == k.level
				if g != OwnerGroup && kind.Groups[g].Reckoned != 0 && sent != 0 && level == k.sentLevel() && (sent == k.acked || !k.overdue(now, rto) || flies) {
					due = tick-sent >= motion.Reach(kind)/2 || v.strays(s.ent, kind, g, sent, level) ||
						sent != k.acked && k.overdue(now, rto) && v.strays(s.ent, kind, g, k.acked, level)
					if !due && v.loses() && k.acked != 0 && sent != k.acked && k.before == k.acked && level == k.level {
						// A lost correction would be missed for a round trip and more: here they come twice.
						due = v.strays(s.ent, kind, g, k.acked, level)
					}
				}
				if due {
					groups |= 1 << g
					old := tick - max(sent, s.since)
					stale = max(stale, old)
					if !s.mine && kind.Groups[g].Moving && !v.h.rules[s.kind].reckoned {
						moves, age, started = true, old, e.group[g].start > sent
					}
				}
			}
			if groups == 0 {
				continue
			}
			if s.phase == sight {
				groups = all
			}
			dst = append(dst, Due{Slot: n, Ent: s.ent, First: s.phase == sight, Mine: s.mine, Bound: s.bound, Told: s.told,
				groups: groups, Stale: int(stale), Moves: moves, Age: int(age), Start: started})
		}
	}
	return dst
}

// strays reports whether group g of entity i, which has dead reckoned properties, has something to say to who was sent its state of
// a tick at a level: they stray from what it is drawn by, another property changed, it was moved, or it came to rest or began to move.
func (v *View) strays(i int32, k *schema.Kind, g int, sent clock.Tick, level uint8) bool {
	e, group := v.h.At(i), &k.Groups[g]
	gt := &e.group[g]
	if gt.cut > sent || gt.start > sent || gt.rest && gt.changed > sent {
		return true
	}
	for _, p := range group.Props {
		if group.Reckoned>>p&1 == 0 && e.changed[p] > sent {
			return true
		}
	}
	if level == 0 && gt.flight != 0 && sent >= gt.flight {
		return false
	}
	was, ok := v.h.Values(i, g, sent, v.vals[0])
	if !ok {
		return true
	}
	schema.Coarsen(k, g, int(level), was)
	is, _ := v.h.Values(i, g, v.h.tick, v.vals[1])
	v.vals = [2][]int64{was, is}
	return motion.Strays(k, group, &motion.State{Tick: sent, Vals: was}, is, v.h.tick)
}

// Unacked reports whether anything is due or on its way: until it is false the client may hold less than
// the newest state.
func (v *View) Unacked() bool {
	for _, n := range v.used {
		s := &v.slots[n]
		switch s.phase {
		case leaving:
			return true
		case sight, live:
			e := v.h.At(s.ent)
			all := v.groupsOf(s, e)
			if s.phase == sight && all != 0 {
				return true
			}
			for set := v.h.rules[s.kind].limited() &^ all; set != 0 && !s.mine; set &= set - 1 {
				if v.of(s)[bits.TrailingZeros32(set)].last != 0 {
					return true
				}
			}
			for ; all != 0; all &= all - 1 {
				g := bits.TrailingZeros32(all)
				if k := &v.of(s)[place(g)]; e.group[g].changed > k.acked || v.level(s, g) != k.level {
					return true
				}
			}
		}
	}
	return false
}

// lastBound is the last class that is said. Where records come often all the same, one with a longer bound would still be drawn when neither
// the history nor the log of packets reaches back to it, and the server could not tell any more what the client shows.
var lastBound = func() (c uint8) {
	for int(motion.Wait(c+1)) <= min(HistoryTicks, wire.LogSize)-HeldStates {
		c++
	}
	return c
}()

// bound returns the class that the records of d say: 0 where they have no room for one.
func (v *View) bound(s *slot, d *Due) uint8 {
	if s.mine || d.Gone || !moves(v.h.kinds[v.h.At(s.ent).Kind]) {
		return 0
	}
	return min(d.Bound, lastBound)
}

// commit notes that the entry of d rides in packet p.
func (v *View) commit(d *Due, p *wire.Packet, now clock.Time) {
	s := &v.slots[d.Slot]
	v.version++
	s.said, s.mention = true, p.Seq
	at := len(p.Refs)
	p.Refs = append(p.Refs, ref32(d.Slot, d.groups, d.Gone, s.life, s.level, v.bound(s, d)))
	if d.Gone && d.groups == 0 {
		v.of(s)[0].say(p.Tick, 0, now)
		return
	}
	for set := d.groups; set != 0 && d.Gone; set &= set - 1 {
		k := &v.of(s)[bits.TrailingZeros32(set)]
		k.say(p.Tick, 0, now)
	}
	if d.Gone {
		return
	}
	oldest := p.Tick
	for set := d.groups; set != 0 && !d.First; set &= set - 1 {
		oldest = min(oldest, v.of(s)[place(bits.TrailingZeros32(set))].acked)
	}
	long := p.Tick-oldest >= longAgo
	if long {
		p.Refs[at] |= refBased
	}
	if d.First {
		for set := v.h.rules[s.kind].limited() &^ d.groups; set != 0; set &= set - 1 {
			if k := &v.of(s)[bits.TrailingZeros32(set)]; k.last != 0 && !s.mine {
				k.out = true
				k.say(p.Tick, 0, now)
			}
		}
	}
	s.bound, s.told = v.bound(s, d), p.Tick
	e := v.h.At(s.ent)
	kind := v.h.kinds[e.Kind]
	for set := d.groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		k := &v.of(s)[place(g)]
		if long {
			p.Refs = append(p.Refs, min(uint32(p.Tick-k.acked), maxAge)|uint32(k.level)<<26|uint32(k.bound)<<28)
		}
		if kind.Refs && g != OwnerGroup {
			v.want(kind, g, e.obsRow(kind, v.h.tick))
		}
		k.say(p.Tick, v.level(s, g), now)
	}
}

// Held returns the records of group g of entity i that the client held when newest was the newest packet that
// it had applied, and that are shown around playout time t: a at or before it, b after it, each none if it held none. Records of
// packets up to newest that log knows as applied count, so it is right for what the log remembers. Where a is older than
// that, it is what a record in the log was based on, or, if there is none, what the client is known to hold.
//
// Asking for all entities at one t costs one walk through the log. Not safe for concurrent use.
func (v *View) Held(log *wire.Log, i int32, g int, newest wire.Seq, t clock.TickFrac) (a, b Mark) {
	n, ok := v.index[i]
	if !ok {
		return
	}
	return v.HeldIn(log, n, g, newest, t)
}

// HeldIn does the same for a slot that Shown gave.
func (v *View) HeldIn(log *wire.Log, n uint16, g int, newest wire.Seq, t clock.TickFrac) (a, b Mark) {
	if v.slots[n].mine != (g == OwnerGroup) || place(g) >= v.most {
		return
	}
	if v.look == nil {
		v.look = &Look{}
	}
	l := v.look
	if key := (lookKey{v, log, log.NextSeq(), newest, t, v.version}); l.key != key {
		v.lookAt(key)
	}
	p := &l.pairs[int(l.at[n])*v.most+place(g)]
	if p.a.Tick == 0 {
		return p.before, p.b
	}
	return p.a, p.b
}

// Look is what Held found for one moment of one View: for all slots in use, as the log is walked through only once.
type Look struct {
	key   lookKey
	at    []uint16 // slot to place among pairs
	pairs []lookPair
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
	before Mark // the newest state before the log that it is known to have held
}

func (v *View) lookAt(key lookKey) {
	l := v.look
	l.key = key
	if l.at == nil {
		l.at = make([]uint16, Slots)
	}
	l.pairs = l.pairs[:0]
	last := clock.Tick(math.MaxUint32) // tick of packet newest
	if p := key.log.Get(key.newest); p != nil {
		last = p.Tick
	}
	held := func(p *lookPair, m Mark) { // the client held that state at some time: did it then?
		if m.Tick > p.before.Tick && m.Tick <= last && m.shown() <= key.t {
			p.before = m
		}
	}
	left := 0                           // pairs whose a is not known
	since := clock.Tick(math.MaxUint32) // when the first of them came into sight
	for j, n := range v.used {
		l.at[n] = uint16(j)
		shown := v.shown(n, key.newest)
		for g := range v.most {
			k := &v.of(&v.slots[n])[g]
			var p lookPair
			if !shown || k.out { // what must be forgotten is not drawn
			} else if held(&p, Mark{k.acked, k.bound, k.level}); p.before.Tick != 0 {
				p.a = p.before // it holds nothing newer: nothing to look for
			} else if k.acked != 0 {
				left++
				since = min(since, v.slots[n].since)
			}
			l.pairs = append(l.pairs, p)
		}
	}
	key.log.Newest(key.next-1, func(p *wire.Packet) bool {
		if left == 0 || p.Tick < since {
			return false
		}
		drawn := p.Applied() && !p.Seq.Newer(key.newest)
		for j := 0; j < len(p.Refs); j += words(p.Refs[j]) {
			r := p.Refs[j]
			n, groups, current := v.RefSlot(r)
			if !current || r&refGone != 0 || !v.shown(n, key.newest) {
				continue
			}
			base, graded := j+1, v.h.rules[v.slots[n].kind].graded
			for ; groups != 0; groups &= groups - 1 {
				pair := &l.pairs[int(l.at[n])*v.most+place(bits.TrailingZeros32(groups))]
				k := &v.of(&v.slots[n])[place(bits.TrailingZeros32(groups))]
				mark := Mark{Tick: p.Tick, Bound: uint8(r >> 28)}
				if graded&groups&-groups != 0 {
					mark.Level = uint8(r>>26) & 3
				}
				switch {
				case pair.a.Tick != 0 || k.acked == 0 || k.out || p.Tick <= k.gone: // found, or forgotten since
				case drawn && mark.shown() <= key.t:
					pair.a = mark
					left--
				case drawn:
					pair.b = mark
				}
				if r&refBased != 0 { // whether this record arrived or not, the client held what it was based on
					w := p.Refs[base]
					if m := (Mark{p.Tick - clock.Tick(w&maxAge), uint8(w >> 28), uint8(w>>26) & 3}); !k.out && m.Tick > k.gone {
						held(pair, m)
					}
					base++
				}
			}
		}
		return true
	})
}

// AckedTick returns the acknowledged tick of group g of entity i, 0 if there is none.
func (v *View) AckedTick(i int32, g int) clock.Tick {
	if n, ok := v.index[i]; ok {
		s := &v.slots[n]
		if s.mine == (g == OwnerGroup) && place(g) < v.most {
			return v.of(s)[place(g)].acked
		}
	}
	return 0
}

// Count returns how many entities have a slot and how many slots are taken in any way.
func (v *View) Count() (entities, slots int) { return len(v.index), len(v.used) }
