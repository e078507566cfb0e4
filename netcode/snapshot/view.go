package snapshot

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A View is what one client is known to hold: per slot and group the acknowledged tick. It never copies
// values. Owned by the client's encoder; distinct Views may be used concurrently.
type View struct {
	h     *History
	slots []slot // as many as were ever used at once
	taken [Slots / 64]uint64
	known []known   // of the groups of slots, see slot.at
	free  [8]uint16 // of memory for so many groups, plus 1, that no slot uses: one more than where a piece begins, whose hist is that of the next; 0: none
	far   []farTick
	index []uint16 // slots of entities in sight plus 1, by hash; 0: none
	live  int      // how many
	team  int64
	look  *Look
	texts toldTexts
	// version counts what may change the result of a look.
	version uint64
	missed  clock.Tick // when a packet was last taken for lost; 0: never

	before     packetSlots // of the newest packet with entries that is known to be applied
	resyncTick clock.Tick  // of the newest resync; 0: none

	says     []saidAt // ring: when something was said
	saysAt   int      // the oldest
	patience uint32   // the longest timeout so far, in units of 1<<msB ns

	leaves    int                // slots that are leaving
	rests     int                // slots that are resting
	notBefore *[Slots]clock.Tick // packets of earlier ticks do not count for a slot, since a resync; nil: all do
	resyncSeq wire.Seq           // newest packet before the newest resync
	newest    wire.Seq           // newest packet that said something
	// Resyncs counts how often the client asked for everything anew.
	Resyncs int
}

// lately is for how many ticks a lost packet says something about those to come.
const lately = 512

// Share lets the View use l for what Held needs, 18 kB for a client that sees 250 things of three groups each. Views that share it must not be asked at once. Without it a
// View has its own.
func (v *View) Share(l *Look) { v.look = l }

// NewView returns the View of a client that holds nothing.
func NewView(h *History) *View {
	return &View{h: h}
}

// Has reports whether entity i has a slot that is not leaving.
func (v *View) Has(i int32) bool { _, ok := v.find(i); return ok }

// Slot returns the slot of entity i.
func (v *View) Slot(i int32) (uint16, bool) { return v.find(i) }

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
			v.slots = grown(v.slots, 1)
		}
		s, r := &v.slots[n], &v.h.rules[v.h.At(i).Kind]
		*s = slot{ent: i, since: v.h.Tick(), state: uint8(sight)}
		units := r.units
		if mine {
			s.state, units = s.state|1<<3, 1
		}
		if !r.places {
			s.more = 15 // nowhere is everywhere
		}
		v.occupy(s, units)
		v.taken[w] |= 1 << (n % 64)
		v.enlist(n)
		v.version++
		return true
	}
	return false
}

// level returns how coarse the client of a slot is to be told group g.
func (v *View) level(s *slot, g int) uint8 {
	if l := s.level(); l != 0 && v.rules(s).graded>>uint(g)&1 != 0 {
		return l
	}
	return 0
}

// Distance says how far from the client entity i is now, in square millimetres: the further away, the coarser it may be told.
func (v *View) Distance(i int32, square int64) {
	n, ok := v.find(i)
	if !ok {
		return
	}
	s := &v.slots[n]
	r := v.rules(s)
	if s.mine() || !r.places {
		return
	}
	if len(r.levels) > 0 {
		s.setLevel(r.level(s.level(), square))
	}
	for i := range r.limits {
		if l := &r.limits[i]; l.far && square > l.from {
			s.more &^= uint8(l.group)
		} else if l.far && square < l.until {
			s.more |= uint8(l.group)
		}
	}
}

// Leave takes entity i out of the client's sight. Its content stops at once; its identity lingers until
// the client has acknowledged that it is gone.
func (v *View) Leave(i int32) {
	n, ok := v.find(i)
	if !ok {
		return
	}
	v.strike(n)
	v.version++
	s := &v.slots[n]
	if !s.said() {
		v.empty(n)
		return
	}
	s.to(leaving)
	v.leaves++
	k := &v.known[s.at]
	k.hist, k.flags = uint16(v.newest), k.flags|isLost
}

// Retain lets go of every entity that keep does not want.
func (v *View) Retain(keep func(i int32) bool) {
	for n := range v.used {
		if s := &v.slots[n]; s.sees() && !keep(s.ent) {
			v.Leave(s.ent)
		}
	}
}

// used calls f for every slot that is not empty, by rising number.
func (v *View) used(f func(n uint16) bool) {
	for w, set := range v.taken {
		for ; set != 0; set &= set - 1 {
			if !f(uint16(w<<6 + bits.TrailingZeros64(set))) {
				return
			}
		}
	}
}

// Each calls f for every entity in sight by rising ID; f returns false to stop.
func (v *View) Each(scratch []int32, f func(i int32) bool) []int32 {
	scratch = scratch[:0]
	for n := range v.used {
		if s := &v.slots[n]; s.sees() {
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
	switch s := &v.slots[n]; s.phase() {
	case sight, live:
		return true
	case leaving:
		return v.same(s)
	case resting:
		return v.end(s).Newer(newest) && v.same(s)
	}
	return false
}

// mention returns the newest packet that may have spoken of a slot which is leaving or resting.
func (v *View) mention(s *slot) wire.Seq { return wire.Seq(v.known[s.at].hist) }

// end returns the oldest packet known to be applied that did, where the slot is resting.
func (v *View) end(s *slot) wire.Seq { return v.mention(s) - wire.Seq(s.more) }

// Shown calls f for every entity that the client showed when newest was the newest packet that it had applied, by rising ID: those
// in sight, and those of whose end it had not heard, be it that they are dead or have left its sight. One that came back meanwhile is
// there twice, first as it is now. f is given the slot, for HeldIn, and returns false to stop.
func (v *View) Shown(newest wire.Seq, scratch []uint16, f func(n uint16, i int32) bool) []uint16 {
	scratch = scratch[:0]
	for n := range v.used {
		if v.shown(n, newest) {
			scratch = append(scratch, n)
		}
	}
	slices.SortFunc(scratch, func(a, b uint16) int {
		p, q := &v.slots[a], &v.slots[b]
		if p.ent != q.ent {
			return cmp.Compare(v.h.At(p.ent).ID, v.h.At(q.ent).ID)
		}
		if p.phase() != q.phase() {
			return cmp.Compare(p.phase(), q.phase())
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

// Resync forgets what the client is known to hold: it said that a baseline is gone. All goes out anew, by budget. What is
// on its way as a first sight needs no baseline and goes on, so that a client may repeat its wish until it is heard.
func (v *View) Resync() {
	v.Resyncs++
	v.version++
	v.resyncTick = v.h.tick // it may have lost what it knew of earlier packets, too
	if v.notBefore == nil {
		v.notBefore = new([Slots]clock.Tick)
	}
	from := v.h.tick // packets of this tick count, if it has none yet
	if n := len(v.says); n > 0 && v.says[(v.saysAt+n-1)%n].tick == from {
		from++
	}
	v.resyncSeq = v.newest
	for n := range v.used {
		s := &v.slots[n]
		if s.phase() != live {
			continue
		}
		s.to(sight)
		v.notBefore[n] = from
		for unit, to := v.units(s); unit < to; unit++ {
			v.reset(unit)
		}
	}
}

// Reclaim empties slots that no acceptable packet can mention any more: latest is the newest packet that the
// client has acknowledged, and it refuses what is more than wire.Window older.
func (v *View) Reclaim(latest wire.Seq) {
	if v.rests == 0 {
		return
	}
	for n := range v.used {
		if s := &v.slots[n]; s.phase() == resting && int16(latest-v.mention(s)) > wire.Window {
			v.rests--
			v.empty(n)
			v.version++
		}
	}
}

// Delivered notes that the client applied a packet.
func (v *View) Delivered(p *wire.Packet) {
	v.version++
	newest := len(p.Refs) > 0 && p.Tick >= v.before.tick
	if newest {
		v.before = packetSlots{tick: p.Tick}
	}
	var r logReader
	for r.begin(p.Refs); r.next(); {
		if newest && !r.gone {
			v.before.slots.add(r.slot)
		}
		s := &v.slots[r.slot]
		if s.phase() == empty || !v.current(r.slot, p.Tick) || !v.same(s) && r.groups != 0 {
			continue
		}
		if r.gone && r.groups != 0 {
			for set := r.groups; set != 0 && s.phase() == live; set &= set - 1 {
				g := bits.TrailingZeros32(set)
				if v.known[s.unit(g)].out() && p.Tick > v.gone(s, g) {
					v.forgets(s, g)
				}
			}
			continue
		}
		if r.gone {
			if s.phase() == leaving || s.phase() == resting && v.end(s).Newer(p.Seq) {
				v.ends(s, p.Seq)
			}
			continue
		}
		if s.phase() == resting {
			continue
		}
		for set := r.groups; set != 0; set &= set - 1 {
			g := bits.TrailingZeros32(set)
			unit := s.unit(g)
			k := &v.known[unit]
			if p.Tick == v.acked(unit) || k.out() || p.Tick <= v.gone(s, g) {
				continue
			}
			level := uint8(0)
			if v.rules(s).graded>>uint(g)&1 != 0 {
				level = r.level
			}
			hist := k.hist
			newer := v.holds(unit, p.Tick, level, r.bound)
			if s.phase() == leaving {
				k.hist = hist // it is something else there
			} else if newer && k.said() == p.Tick {
				k.flags &^= isLost
			}
		}
		if s.phase() == sight {
			s.to(live)
			v.replaced(r.slot, p.Seq)
		}
	}
}

// replaced notes that the client heard of the end of what slot n has in another slot, if it was there: it came back into sight before that
// was known, and packet seq told of it again. A client has an entity once.
func (v *View) replaced(n uint16, seq wire.Seq) {
	if v.leaves == 0 {
		return
	}
	for o := range v.used {
		if s := &v.slots[o]; o != n && s.phase() == leaving && s.ent == v.slots[n].ent && v.same(s) {
			v.ends(s, seq)
		}
	}
}

// ends notes that the client heard of the end of what is in a slot by packet seq.
func (v *View) ends(s *slot, seq wire.Seq) {
	if s.phase() == leaving {
		s.to(resting)
		v.leaves--
		v.rests++
	}
	if seq.Newer(v.mention(s)) { // it was said in another way
		v.known[s.at].hist = uint16(seq)
	}
	s.more = uint8(min(v.mention(s)-seq, math.MaxUint8))
}

// loses reports whether a packet was lost lately.
func (v *View) loses() bool { return v.missed != 0 && v.h.tick-v.missed < lately }

// Missing notes that a packet is taken for lost: what it said becomes due again unless a newer one said it too.
func (v *View) Missing(p *wire.Packet) {
	v.missed = v.h.tick
	var r logReader
	for r.begin(p.Refs); r.next(); {
		s := &v.slots[r.slot]
		if s.phase() == empty || !v.current(r.slot, p.Tick) {
			continue
		}
		switch entity := r.gone && r.groups == 0; {
		case entity != (s.phase() == leaving):
			continue
		case entity:
			r.groups = 1
		}
		for set := r.groups; set != 0; set &= set - 1 {
			unit := s.unit(bits.TrailingZeros32(set))
			if k := &v.known[unit]; k.said() == p.Tick && (r.gone || v.acked(unit) < p.Tick) {
				k.flags |= isLost
			}
		}
	}
}

// groupsOf returns the set of groups that the client of slot s receives.
func (v *View) groupsOf(s *slot, e *Entity) uint32 {
	if s.mine() {
		return 1 << OwnerGroup
	}
	all := v.h.rules[e.Kind].all
	limits := v.h.rules[e.Kind].limits
	for i := range limits {
		l := &limits[i]
		if l.far && s.near()&l.group == 0 || l.team && (e.Team == 0 || e.Team != v.team) {
			all &^= l.group
		}
	}
	return all
}

// Team says of which team the client's player is; 0: of none.
func (v *View) Team(team int64) { v.team = team }

// forget returns the groups of a slot that the client must be told to forget now, of those that are not in the set all of groups that it
// receives; and lets those that it receives again begin anew.
func (v *View) forget(s *slot, all uint32, late clock.Tick) (groups uint32) {
	for set := v.rules(s).limitedSet; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		k := &v.known[s.unit(g)]
		switch {
		case all&(set&-set) == 0:
			if s.phase() == sight {
				break // what a first sight does not tell is not there
			}
			if !k.out() && k.said() != 0 {
				k.flags |= isOut | isLost
			}
			if k.out() && (k.lost() || k.said() <= late) {
				groups |= set & -set
			}
		case k.out():
			v.forgets(s, g)
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
	late := v.late(now, rto)
	for w, set := range v.taken {
		for ; set != 0; set &= set - 1 {
			dst = v.pending(uint16(w<<6+bits.TrailingZeros64(set)), late, dst)
		}
	}
	return dst
}

// pending appends what slot n has to say.
func (v *View) pending(n uint16, late clock.Tick, dst []Due) []Due {
	tick := v.h.tick
	s := &v.slots[n]
	is := s.phase()
	if is == leaving {
		if k := &v.known[s.at]; k.lost() || k.said() <= late {
			dst = append(dst, Due{Slot: n, Ent: s.ent, Gone: true, Mine: s.mine()})
		}
		return dst
	}
	e := v.h.At(s.ent)
	if is == resting || !e.alive || e.Spawned > s.since {
		return dst // gone without our being told, see Leave: there is nothing to say that would be true
	}
	kind, rules, mine := v.h.kinds[e.Kind], &v.h.rules[e.Kind], s.mine()
	all := rules.all
	if mine {
		all = 1 << OwnerGroup
	} else if len(rules.limits) > 0 {
		all = v.groupsOf(s, e)
		if groups := v.forget(s, all, late); groups != 0 {
			dst = append(dst, Due{Slot: n, Ent: s.ent, Gone: true, groups: groups})
			return dst
		}
	}
	var groups uint32
	stale, age, moves, started := clock.Tick(1), clock.Tick(0), false, false
	told := clock.Tick(0)
	for set := all; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		unit := s.unit(g)
		k := &v.known[unit]
		changed, acked, last := e.group[g].changed, v.acked(unit), k.said()
		sent := last
		if told = max(told, last); k.lost() {
			sent = acked
		}
		// A first sight costs several records, so it is not repeated for a mere change.
		fresh := changed > sent && (is == live || sent == 0)
		due, level := changed > acked, uint8(0)
		if s.level() != 0 {
			level = v.level(s, g)
		}
		if level != 0 || k.level() != 0 {
			fresh = fresh || level != k.sentLevel() && is == live
			due = level != k.level() || due && (is != live || v.h.visible(e, g, acked, level))
		}
		overdue := last <= late
		if due = due && (fresh || overdue); !due {
			continue
		}
		// In a flight what was sent is not said again for want of an ack, as acks may come late: what is known to be held does.
		flies := e.group[g].flight != 0 && acked >= e.group[g].flight && level == k.level()
		if g != OwnerGroup && kind.Groups[g].Reckoned != 0 && sent != 0 && level == k.sentLevel() && (sent == acked || !overdue || flies) {
			due = tick-sent >= motion.Reach(kind)/2 || v.strays(s.ent, kind, g, sent, level) ||
				sent != acked && overdue && v.strays(s.ent, kind, g, acked, level)
			if !due && v.loses() && acked != 0 && sent != acked && k.only() && level == k.level() {
				// A lost correction would be missed for a round trip and more: here they come twice.
				due = v.strays(s.ent, kind, g, acked, level)
			}
		}
		if due {
			groups |= 1 << g
			old := tick - max(sent, s.since)
			stale = max(stale, old)
			if !mine && kind.Groups[g].Moving && !rules.reckoned {
				moves, age, started = true, old, e.group[g].start > sent
			}
		}
	}
	if groups == 0 {
		return dst
	}
	if is == sight {
		groups = all
	}
	dst = append(dst, Due{Slot: n, Ent: s.ent, First: is == sight, Mine: mine, Bound: s.bound(), Told: told,
		groups: groups, Stale: int(stale), Moves: moves, Age: int(age), Start: started})
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
	var vals [2][schema.MaxComps]int64
	was, ok := v.h.Values(i, g, sent, vals[0][:0])
	if !ok {
		return true
	}
	schema.Coarsen(k, g, int(level), was)
	is, _ := v.h.Values(i, g, v.h.tick, vals[1][:0])
	return motion.Strays(k, group, &motion.State{Tick: sent, Vals: was}, is, v.h.tick)
}

// Unacked reports whether anything is due or on its way: until it is false the client may hold less than
// the newest state.
func (v *View) Unacked() bool {
	for n := range v.used {
		s := &v.slots[n]
		switch s.phase() {
		case resting:
			continue
		case leaving:
			return true
		}
		if !v.same(s) {
			continue
		}
		e := v.h.At(s.ent)
		all := v.groupsOf(s, e)
		if s.phase() == sight && all != 0 {
			return true
		}
		for set := v.rules(s).limitedSet &^ all; set != 0 && !s.mine(); set &= set - 1 {
			if v.known[s.unit(bits.TrailingZeros32(set))].said() != 0 {
				return true
			}
		}
		for ; all != 0; all &= all - 1 {
			g := bits.TrailingZeros32(all)
			if unit := s.unit(g); e.group[g].changed > v.acked(unit) || v.level(s, g) != v.known[unit].level() {
				return true
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
	if s.mine() || d.Gone || !moves(v.h.kinds[v.h.At(s.ent).Kind]) {
		return 0
	}
	return min(d.Bound, lastBound)
}

// commit notes that the entry of d rides in packet p.
func (v *View) commit(d *Due, p *wire.Packet, log *logWriter) {
	s := &v.slots[d.Slot]
	s.state |= 1 << 4
	entry := logEntry{slot: d.Slot, groups: d.groups, gone: d.Gone, level: s.level(), bound: v.bound(s, d)}
	if d.Gone {
		entry.level = 0
		log.put(entry)
		if d.groups == 0 {
			v.set(int(s.at), p.Tick, v.acked(int(s.at)))
			k := &v.known[s.at]
			k.hist, k.flags = uint16(p.Seq), k.flags&^isLost
		}
		for set := d.groups; set != 0; set &= set - 1 {
			v.say(s.unit(bits.TrailingZeros32(set)), p.Tick, 0)
		}
		return
	}
	oldest := p.Tick
	for set := d.groups; set != 0 && !d.First; set &= set - 1 {
		oldest = min(oldest, v.acked(s.unit(bits.TrailingZeros32(set))))
	}
	entry.based = p.Tick-oldest >= longAgo
	log.put(entry)
	if d.First {
		for set := v.rules(s).limitedSet &^ d.groups; set != 0 && !s.mine(); set &= set - 1 {
			if unit := s.unit(bits.TrailingZeros32(set)); v.known[unit].said() != 0 {
				v.known[unit].flags |= isOut
				v.say(unit, p.Tick, 0)
			}
		}
	}
	s.setBound(entry.bound)
	e := v.h.At(s.ent)
	kind := v.h.kinds[e.Kind]
	for set := d.groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		unit := s.unit(g)
		if k := &v.known[unit]; entry.based {
			log.base(&entry, p.Tick-v.acked(unit), k.level(), k.bound())
		}
		if kind.Refs && g != OwnerGroup {
			v.want(kind, g, e.obsRow(kind, v.h.tick))
		}
		v.say(unit, p.Tick, v.level(s, g))
	}
}

// Held returns the records of group g of entity i that the client held when newest was the newest packet that
// it had applied, and that are shown around playout time t: a at or before it, b after it, each none if it held none. Records of
// packets up to newest that log knows as applied count, so it is right for what the log remembers. Where a is older than
// that, it is what a record in the log was based on, or, if there is none, what the client is known to hold.
//
// Asking for all entities at one t costs one walk through the log. Not safe for concurrent use.
func (v *View) Held(log *wire.Log, i int32, g int, newest wire.Seq, t clock.TickFrac) (a, b Mark) {
	n, ok := v.find(i)
	if !ok {
		return
	}
	return v.HeldIn(log, n, g, newest, t)
}

// HeldIn does the same for a slot that Shown gave.
func (v *View) HeldIn(log *wire.Log, n uint16, g int, newest wire.Seq, t clock.TickFrac) (a, b Mark) {
	s := &v.slots[n]
	if !v.has(s, g) {
		return
	}
	if v.look == nil {
		v.look = &Look{}
	}
	l := v.look
	if key := (lookKey{v, log, log.NextSeq(), newest, t, v.version}); l.key != key {
		v.lookAt(key)
	}
	p := &l.pairs[s.unit(g)]
	if p.a.Tick == 0 {
		return p.before, p.b
	}
	return p.a, p.b
}

// Look is what Held found for one moment of one View: for all slots in use, as the log is walked through only once.
type Look struct {
	key   lookKey
	pairs []lookPair // by View.known
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
	if cap(l.pairs) < len(v.known) {
		l.pairs = make([]lookPair, cap(v.known))
	}
	l.pairs = l.pairs[:len(v.known)]
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
	for n := range v.used {
		s := &v.slots[n]
		shown := v.shown(n, key.newest)
		for unit, end := v.units(s); unit < end; unit++ {
			k, acked := &v.known[unit], v.acked(unit)
			p := &l.pairs[unit]
			*p = lookPair{}
			if !shown || k.out() { // what must be forgotten is not drawn
			} else if held(p, Mark{acked, k.bound(), k.level()}); p.before.Tick != 0 {
				p.a = p.before // it holds nothing newer: nothing to look for
			} else if acked != 0 {
				left++
				since = min(since, s.since)
			}
		}
	}
	var r logReader
	key.log.Newest(key.next-1, func(p *wire.Packet) bool {
		if left == 0 || p.Tick < since {
			return false
		}
		drawn := p.Applied() && !p.Seq.Newer(key.newest)
		for r.begin(p.Refs); r.next(); {
			if r.gone || !v.current(r.slot, p.Tick) || !v.shown(r.slot, key.newest) {
				continue
			}
			s := &v.slots[r.slot]
			graded := v.rules(s).graded
			for groups := r.groups; groups != 0; groups &= groups - 1 {
				g := bits.TrailingZeros32(groups)
				unit := s.unit(g)
				pair, k, gone := &l.pairs[unit], &v.known[unit], v.gone(s, g)
				mark := Mark{Tick: p.Tick, Bound: r.bound}
				if graded&groups&-groups != 0 {
					mark.Level = r.level
				}
				switch {
				case pair.a.Tick != 0 || v.acked(unit) == 0 || k.out() || p.Tick <= gone: // found, or forgotten since
				case drawn && mark.shown() <= key.t:
					pair.a = mark
					left--
				case drawn:
					pair.b = mark
				}
				if r.based { // whether this record arrived or not, the client held what it was based on
					age, level, bound := r.base()
					if m := (Mark{p.Tick - age, bound, level}); !k.out() && m.Tick > gone {
						held(pair, m)
					}
				}
			}
		}
		return true
	})
}

// has reports whether the client of a slot receives records of group g at all.
func (v *View) has(s *slot, g int) bool {
	if s.phase() == empty || !v.same(s) {
		return false
	}
	return s.mine() == (g == OwnerGroup) && (s.mine() || g < len(v.h.kinds[v.h.At(s.ent).Kind].Groups))
}

// AckedTick returns the acknowledged tick of group g of entity i, 0 if there is none.
func (v *View) AckedTick(i int32, g int) clock.Tick {
	if n, ok := v.find(i); ok {
		if s := &v.slots[n]; v.has(s, g) {
			return v.acked(s.unit(g))
		}
	}
	return 0
}

// Count returns how many entities have a slot and how many slots are taken in any way.
func (v *View) Count() (entities, slots int) {
	for _, set := range v.taken {
		slots += bits.OnesCount64(set)
	}
	return v.live, slots
}
