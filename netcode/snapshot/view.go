package snapshot

import (
	"math"
	"math/bits"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A View is the server's side of one client: which entities are in the client's sight, which slot
// each of them has, and which state of each group the client is known to hold. It keeps ticks,
// never copies of values. It is owned by the client's encoder; distinct Views may be used
// concurrently.
//
// The caller says what is in sight (Enter, Leave, Distance, Team) and what became of packets
// (Delivered, Missing, Resync); Pending then lists what may be sent, a Writer codes it,
// and Shown and RecordsAround answer later what the client drew.
type View struct {
	h       *History
	slots   slotTable
	ledger  ledger
	sent    sentTimes
	texts   *sentTexts // nil until a record speaks of a text
	handles *handles   // nil until an entity has some
	resync  lastResync
	team    int64
	missed  clock.Tick  // when a packet was last taken for lost; 0: never
	newest  wire.Seq    // newest packet with entries
	awaited clock.Tick  // see Awaits
	before  packetSlots // of the newest packet with entries that is known to be applied

	looked    clock.Tick // of the last Due
	warmed    uint32     // so that reading is not left out
	line      int32      // scores above it have their turn, see balance
	pace      Pace
	announces bool
	score     func(w Waiting) int // see Order.Score

	departed uint32 // removals of the history that LeaveRemoved has seen

	look    *Lookback
	version uint64 // counts what may change the result of a Lookback

	// Resyncs counts how often the client asked for everything anew.
	Resyncs int
}

// lastResync is when the client last asked for everything anew.
type lastResync struct {
	tick clock.Tick // 0: never
	seq  wire.Seq   // newest packet before it
	// notBefore has for each slot the tick before which packets do not count for it; nil: all
	// count.
	notBefore *[Slots]clock.Tick
}

// recentLoss is for how many ticks a lost packet says that others may be lost too.
const recentLoss = 512

// NewView returns the View of a client that holds nothing.
func NewView(h *History) *View {
	return &View{h: h, departed: h.departed.n}
}

// Share lets the View use l for RecordsAround: 30 kB for a client that sees 250 entities of three
// groups each. Views that share it must not be asked at once. Without it a View has its own.
func (v *View) Share(l *Lookback) { v.look = l }

// Has reports whether entity i is in the client's sight.
func (v *View) Has(i int32) bool { _, ok := v.slots.find(i); return ok }

// Saw reports whether an entity that was removed was in the client's sight at that time, or shortly
// before. It is forgotten when its slot is used again.
func (v *View) Saw(id uint32) bool {
	for n := range v.slots.used {
		if s := &v.slots.list[n]; v.h.ents[s.ent].ID == id && v.same(s) && s.mentioned() {
			return true
		}
	}
	return false
}

// Count returns how many entities are in sight, and how many slots are not free: theirs, and those
// of entities of whose end the client has not learned.
func (v *View) Count() (entities, slots int) {
	return int(v.slots.inSight), int(v.slots.inSight + v.slots.leaving)
}

// Detail is how a client receives an entity.
type Detail uint8

const (
	Observed Detail = iota // as everyone does: its groups, at the precision of observers
	Exact                  // at simulation precision, because the client runs it ahead
	Spawned                // Exact, and a command of the client spawned it: the first sight says which
	Mine                   // at simulation precision, with the owner's properties: it is the client's avatar
)

// Enter brings entity i into the client's sight. It returns false if there is no free slot. An
// entity in sight stays as it is, see Switch.
//
// Where Entity.Exact is false, Exact and Spawned mean Observed: exact records are not cut to what a
// player may know, so only its own avatar may have properties that not everyone receives.
func (v *View) Enter(i int32, d Detail) bool {
	if v.Has(i) {
		return true
	}
	n, ok := v.vacant()
	if !ok {
		return false
	}
	e := v.h.At(i)
	if d != Mine && !e.Exact {
		d = Observed
	}
	r := &v.h.rules[e.Kind]
	units := r.units
	if d != Observed {
		units = 1
	}
	s := v.slots.enter(n, slot{ent: i, since: v.h.Tick(), at: v.ledger.occupy(units), last: uint16(v.h.Tick())})
	s.setPhase(entering)
	s.setDetail(d)
	if r.present {
		v.slots.present.add(n)
	}
	if r.names != 0 && d != Mine {
		v.addHandles(n)
	}
	if !r.places && d == Observed {
		s.setInReach(1<<schema.MaxGroups - 1) // without a place it is near everyone
	}
	v.version++
	return true
}

// Switch makes entity i, which is in sight, one that the client receives exactly, or no longer so.
// It leaves its slot and enters another one; the client goes on with what it holds of the entity
// when the first sight arrives there. Nothing happens if the entity has that detail already, or is
// the client's avatar. It returns false if there is no free slot.
func (v *View) Switch(i int32, d Detail) bool {
	n, ok := v.slots.find(i)
	if !ok {
		return true
	}
	if s, e := &v.slots.list[n], v.h.At(i); s.mine() || s.exact() == (d != Observed && e.Exact) {
		return true
	}
	if _, ok := v.vacant(); !ok {
		return false
	}
	v.Leave(i)
	return v.Enter(i, d)
}

// ExactSince reports whether the client receives entity i exactly, and since when it has the
// entity's present slot.
func (v *View) ExactSince(i int32) (exact bool, since clock.Tick) {
	n, ok := v.slots.find(i)
	if !ok {
		return false, 0
	}
	s := &v.slots.list[n]
	return s.exact(), s.since
}

// Leave takes entity i out of the client's sight. Its content stops at once; its slot stays taken
// until the client is known to have learned of it.
func (v *View) Leave(i int32) {
	n, ok := v.slots.find(i)
	if !ok {
		return
	}
	v.slots.strike(n)
	v.version++
	s := &v.slots.list[n]
	if !s.mentioned() {
		v.release(n)
		return
	}
	v.slots.leave(n)
	v.ledger.known[s.at].setLost() // due at once
}

// vacant returns an empty slot. Those that ended are emptied when their time is over, or when there
// is no other.
func (v *View) vacant() (n uint16, ok bool) {
	t := &v.slots
	if len(t.endings) > int(t.leaving) && t.swept != v.h.tick {
		t.swept = v.h.tick
		kept := t.endings[:0]
		for _, e := range t.endings {
			if t.list[e.slot].phase() == ended && v.h.tick > e.until {
				v.release(e.slot)
			} else {
				kept = append(kept, e)
			}
		}
		t.endings = kept
	}
	if n, ok = t.firstEmpty(); ok {
		return n, true
	}
	if n, ok = t.endedFirst(); ok {
		t.forget(n)
		v.release(n)
	}
	return n, ok
}

// release empties a slot.
func (v *View) release(n uint16) {
	v.version++
	v.dropHandles(n)
	v.ledger.release(v.slots.list[n].at)
	v.slots.clear(n)
}

// AppendKnown appends the entities in sight, by slot.
func (v *View) AppendKnown(dst []int32) []int32 {
	for n := range v.slots.used {
		if s := &v.slots.list[n]; s.inSight() {
			dst = append(dst, s.ent)
		}
	}
	return dst
}

// distance says how far from the client the entity of slot n is now, in square millimetres: the
// further away, the coarser its values may be, and groups with a limited distance end.
func (v *View) distance(n uint16, square int64) {
	s := &v.slots.list[n]
	r := v.rules(s)
	if s.exact() || !r.places {
		return
	}
	if len(r.levels) > 0 {
		if was := s.level(); r.level(was, square) != was {
			s.setLevel(r.level(was, square))
			v.slots.quiet.remove(n)
		}
	}
	for i := range r.limits {
		if l := &r.limits[i]; l.far && square > l.from {
			s.clearInReach(l.group)
		} else if l.far && square < l.until {
			s.setInReach(l.group)
		}
	}
}

// square returns the squared length of a vector, saturated.
func square(x, y int64) int64 {
	const most = 3_037_000_499 * 2 / 3
	x, y = min(max(x, -x), most), min(max(y, -y), most)
	return x*x + y*y
}

// Team says in which team the client's player is; 0: in none.
func (v *View) Team(team int64) { v.team = team }

// Resync forgets what the client is known to hold: it reported that it lost a baseline. Everything
// is sent anew, by budget. A first sight under way needs no baseline and stays good, so a client
// may repeat its request until the answer arrives.
func (v *View) Resync() {
	v.Resyncs++
	v.version++
	r := &v.resync
	r.tick, r.seq = v.h.tick, v.newest // it may have lost what it knew of earlier packets, too
	if r.notBefore == nil {
		r.notBefore = new([Slots]clock.Tick)
	}
	from := v.h.tick // packets of this tick count, if it has none yet
	if last, ok := v.sent.newest(); ok && last == from {
		from++
	}
	for n := range v.slots.used {
		s := &v.slots.list[n]
		if s.phase() != live {
			continue
		}
		s.setPhase(entering)
		v.slots.quiet.remove(n)
		r.notBefore[n] = from
		for unit, to := v.ledger.piece(s.at); unit < to; unit++ {
			v.ledger.reset(unit)
		}
	}
}

// Awaits says that the client may have made commands for ticks up to one before it learned of what
// is Delivered from now on. What these showed is kept until that tick has run.
func (v *View) Awaits(tick clock.Tick) { v.awaited = tick }

// until returns up to which tick a slot is kept of whose end the client is found to know now.
func (v *View) until() clock.Tick { return max(v.h.tick+shownTicks, v.awaited) }

// Delivered notes that the client applied a packet. It takes away what the packet's Refs say if
// RecordsAround has no use for it.
func (v *View) Delivered(p *wire.Packet) {
	v.warm()
	v.version++
	newest := len(p.Refs) > 0 && p.Tick >= v.before.tick
	if newest {
		v.before = packetSlots{tick: p.Tick}
	}
	rewound := false
	var r logReader
	for r.begin(p.Refs); r.next(); {
		if newest && !r.gone {
			v.before.slots.add(r.slot)
		}
		s := &v.slots.list[r.slot]
		is := s.phase()
		if is == empty || !v.current(r.slot, p.Tick) || !v.same(s) && r.groups != 0 {
			continue
		}
		rewound = rewound || r.groups != 0 && !s.exact() && v.rules(s).rewound
		switch {
		case r.gone && r.groups != 0:
			v.deliveredForget(s, r.groups, p.Tick)
		case r.gone:
			if is == leaving || is == ended {
				v.slots.end(r.slot, p.Seq, v.until())
			}
		case is == ended:
			v.replaced(r.slot, p.Seq)
		default:
			v.deliveredRecords(s, &r.logEntry, p.Tick)
			if is == entering {
				s.setPhase(live)
			}
			if is != live || p.Tick-s.since < flapTicks {
				v.replaced(r.slot, p.Seq)
			}
		}
	}
	if !rewound {
		p.Refs = nil
	}
}

// deliveredForget notes that the client dropped groups because of a packet of a tick.
func (v *View) deliveredForget(s *slot, groups uint32, tick clock.Tick) {
	for ; groups != 0 && s.phase() == live; groups &= groups - 1 {
		g := bits.TrailingZeros32(groups)
		if v.ledger.known[s.unit(g)].out() && tick > v.goneTick(s, g) {
			v.dropped(s, g)
			v.ledger.known[v.goneUnit(s, g)].flags &^= isOut
		}
	}
}

// deliveredRecords notes that the client holds the records of an entry in a packet of a tick.
func (v *View) deliveredRecords(s *slot, e *logEntry, tick clock.Tick) {
	for set := e.groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		unit := s.unit(g)
		k := &v.ledger.known[unit]
		if tick == v.ledger.acked(unit) || k.out() || tick <= v.goneTick(s, g) {
			continue
		}
		level := uint8(0)
		if v.rules(s).graded>>uint(g)&1 != 0 {
			level = e.level
		}
		if v.ledger.acknowledge(unit, tick, level, e.bound) && s.phase() != leaving && k.sent() == tick {
			k.clearLost()
		}
	}
}

// flapTicks is for how many ticks after an entity came into sight a packet may be the first of
// those applied that showed it in its present slot.
const flapTicks = 32

// replaced notes that packet seq showed the client the entity of slot n: it has an entity once, and
// dropped it in older slots. If it was known to have it there that is their end. If not, a first
// sight of such a slot may still be on its way, so the end must be acknowledged before another
// entity may have the slot.
func (v *View) replaced(n uint16, seq wire.Seq) {
	now := &v.slots.list[n]
	for i := range v.slots.endings {
		e := &v.slots.endings[i]
		s := &v.slots.list[e.slot]
		if e.slot == n || s.ent != now.ent || s.since >= now.since && !now.inSight() || !v.same(s) {
			continue
		}
		if s.phase() == leaving && e.had {
			v.slots.end(e.slot, seq, v.until())
		} else {
			e.teach(seq)
		}
	}
}

// Missing notes that a packet is taken for lost: its content becomes due again unless a newer
// packet had it too.
func (v *View) Missing(p *wire.Packet) {
	v.missed = v.h.tick
	var r logReader
	for r.begin(p.Refs); r.next(); {
		s := &v.slots.list[r.slot]
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
			if k := &v.ledger.known[unit]; k.sent() == p.Tick {
				k.setLost()
				v.lost(r.slot, v.ledger.acked(unit))
			}
		}
	}
}

// lost makes slot n as urgent as if nothing had been sent of it since a tick.
func (v *View) lost(n uint16, acked clock.Tick) {
	v.slots.quiet.remove(n)
	v.slots.list[n].last = uint16(max(acked, v.h.tick-min(v.h.tick, math.MaxUint8)))
}

// lossy reports whether a packet was lost recently.
func (v *View) lossy() bool { return v.missed != 0 && v.h.tick-v.missed < recentLoss }

// current reports whether a packet of a tick that mentions slot n speaks of its present use, and
// was sent since the client last asked for it anew.
func (v *View) current(n uint16, tick clock.Tick) bool {
	return tick >= v.slots.list[n].since && (v.resync.notBefore == nil || tick >= v.resync.notBefore[n])
}

// same reports whether the entity of a slot is still the one that entered it: the history uses its
// memory again some time after it is gone.
func (v *View) same(s *slot) bool { return v.h.ents[s.ent].Spawned <= s.since }

// rules returns the rules of a slot's kind. Only for a slot whose entity is still the same.
func (v *View) rules(s *slot) *rules { return &v.h.rules[v.h.ents[s.ent].Kind] }

// level returns the detail level at which the client of a slot is to receive group g.
func (v *View) level(s *slot, g int) uint8 {
	if l := s.level(); l != 0 && v.rules(s).graded>>uint(g)&1 != 0 {
		return l
	}
	return 0
}

// has reports whether the client of a slot may receive records of group g at all.
func (v *View) has(s *slot, g int) bool {
	if s.phase() == empty || !v.same(s) {
		return false
	}
	return s.exact() == (g == OwnerGroup) && (s.exact() || g < len(v.h.kinds[v.h.At(s.ent).Kind].Groups))
}

// AckedTick returns the newest tick of group g of entity i that the client is known to hold, 0 if
// there is none.
func (v *View) AckedTick(i int32, g int) clock.Tick {
	if n, ok := v.slots.find(i); ok {
		if s := &v.slots.list[n]; v.has(s, g) {
			return v.ledger.acked(s.unit(g))
		}
	}
	return 0
}

// groupsOf returns the set of groups that the client of slot s is to receive.
func (v *View) groupsOf(s *slot, e *Entity) uint32 {
	if s.exact() {
		return 1 << OwnerGroup
	}
	all := v.h.rules[e.Kind].all
	limits := v.h.rules[e.Kind].limits
	for i := range limits {
		l := &limits[i]
		if l.far && s.inReach()&l.group == 0 || l.team && (e.Team == 0 || e.Team != v.team) {
			all &^= l.group
		}
	}
	return all
}

// goneUnit returns the unit that notes when the client dropped group g, which not everyone
// receives. These units follow those of the groups, the last group first.
func (v *View) goneUnit(s *slot, g int) int {
	_, end := v.ledger.piece(s.at)
	limited := v.rules(s).limitedSet
	return end - 1 - bits.OnesCount32(limited&(1<<uint(g)-1))
}

// goneTick returns the tick of the newest packet that made the client drop group g, 0 if there is
// none.
func (v *View) goneTick(s *slot, g int) clock.Tick {
	if v.rules(s).limitedSet>>uint(g)&1 == 0 || s.exact() {
		return 0
	}
	return v.ledger.known[v.goneUnit(s, g)].sent()
}

// dropped notes that the client dropped group g, or does so with the next record of it. As long as
// it is not known to have done that, the gone unit is out.
func (v *View) dropped(s *slot, g int) {
	unit := s.unit(g)
	gone, was := v.goneUnit(s, g), &v.ledger.known[unit]
	if was.sent() != 0 {
		v.ledger.set(gone, was.sent(), v.ledger.acked(unit)) // a frame of before may still be asked for
		v.ledger.known[gone].put(levelAt, levelsMask, uint16(was.level()))
		v.ledger.known[gone].put(boundAt, 15, uint16(was.bound()))
	}
	v.ledger.known[gone].flags |= isOut
	v.ledger.reset(unit)
}

// toDrop returns the groups that a packet must make the client drop now, of those that are not in
// the set all of groups that it is to receive. Groups that it is to receive again begin anew.
func (v *View) toDrop(s *slot, all uint32, late clock.Tick) (groups uint32) {
	for set := v.rules(s).limitedSet; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		k := &v.ledger.known[s.unit(g)]
		switch {
		case all&(set&-set) == 0:
			if s.phase() == entering {
				break // a group that is missing from a first sight is not there
			}
			if !k.out() && (k.sent() != 0 || v.ledger.known[v.goneUnit(s, g)].out()) {
				k.flags |= isOut | isLost
			}
			if k.out() && k.due(late) {
				groups |= set & -set
			}
		case k.out():
			v.dropped(s, g)
		}
	}
	return groups
}

// A Candidate is an entry that may go into the next packet: all that is due of one slot.
type Candidate struct {
	Ent   int32
	First bool // a first sight
	Gone  bool // the entity, or some of its groups, must be forgotten
	Mine  bool // it is the client's avatar
	Exact bool // a record at simulation precision
	// Spawned says that a command of the client spawned the entity.
	Spawned bool

	// Moves says that the entity moves or has just stopped, so that its records announce a bound.
	// It is false for kinds that are dead reckoned: they are drawn on without a record, and a
	// changed bound would move them back and forth. If Moves is true, start says that it rested
	// until now.
	Moves bool
	start bool
	// Bound is how soon the next record of it comes, as a class (motion.Wait): the one announced
	// last, unless the caller changes it before Writer.Try. It is the caller's task to send that
	// record in time. Classes above 13 (64 ticks) are sent as 13: the server does not remember
	// further back what was drawn.
	Bound uint8
	// announced is the tick of the record that announced it, 0 if there is none.
	announced clock.Tick

	slot   uint16
	groups uint32
}

// Pending appends to dst what may be sent now, by slot: first sights, groups that changed since
// what the client is known to hold and are not under way, and removals. A record that is neither
// acknowledged nor lost becomes due again after rto.
func (v *View) Pending(now clock.Time, rto time.Duration, dst []Candidate) []Candidate {
	v.followSight()
	late := v.sent.late(now, rto)
	for w, set := range v.slots.taken {
		for ; set != 0; set &= set - 1 {
			dst = v.pending(uint16(w<<6+bits.TrailingZeros64(set)), late, dst)
		}
	}
	return dst
}

// pending appends what slot n has to say.
func (v *View) pending(n uint16, late clock.Tick, dst []Candidate) []Candidate {
	s := &v.slots.list[n]
	is := s.phase()
	if is == leaving {
		if n, ok := v.switched(s); ok && v.slots.list[n].phase() == entering {
			return dst // the first sight in the other slot says it, and the client lacks the entity at no time
		}
		if v.ledger.known[s.at].due(late) {
			dst = append(dst, Candidate{slot: n, Ent: s.ent, Gone: true, Mine: s.mine()})
		}
		return dst
	}
	e := v.h.At(s.ent)
	if is == ended || !e.alive || e.Spawned > s.since {
		return dst // removed from the history before Leave was called: it has no state any more
	}
	kind, rules, exact := v.h.kinds[e.Kind], &v.h.rules[e.Kind], s.exact()
	all := rules.all
	if exact {
		all = 1 << OwnerGroup
	} else if len(rules.limits) > 0 {
		all = v.groupsOf(s, e)
		if groups := v.toDrop(s, all, late); groups != 0 {
			dst = append(dst, Candidate{slot: n, Ent: s.ent, Gone: true, groups: groups})
			return dst
		}
	}
	var groups uint32
	moves, started, announced := false, false, clock.Tick(0)
	for set := all; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		unit := s.unit(g)
		k := &v.ledger.known[unit]
		changed, acked, last := v.changed(s, e, g), v.ledger.acked(unit), k.sent()
		sent := last
		if announced = max(announced, last); k.lost() {
			sent = acked
		}
		if s.level() >= max(k.level(), k.sentLevel()) && (changed <= acked || changed <= sent && last > late) {
			continue // nothing new, as mostly: groupDue would report the same
		}
		if !v.groupDue(s, e, kind, g, changed, sent, late) {
			continue
		}
		groups |= 1 << g
		if !exact && kind.Groups[g].Moving && !rules.reckoned {
			moves, started = true, e.group[g].start > sent
		}
	}
	if is == entering {
		if groups &= ^rules.later; groups == 0 {
			return dst // the rest may wait until the client is known to have the entity
		}
		groups = all
	}
	if groups == 0 {
		return dst
	}
	return append(
		dst,
		Candidate{slot: n, Ent: s.ent, First: is == entering, Mine: s.mine(), Exact: exact, Spawned: s.spawned(),
			Bound: s.bound(), announced: announced, groups: groups, Moves: moves, start: started},
	)
}

// switched returns in which slot the entity of slot s, which is leaving, is in sight again with
// another detail.
func (v *View) switched(s *slot) (n uint16, ok bool) {
	n, ok = v.slots.find(s.ent)
	return n, ok && v.slots.list[n].exact() != s.exact() && v.same(s)
}

// unseen returns the tick from which on the client may not know of teleports of the entity of slot
// s: when it entered the slot or, if it was in sight in another one with another detail, that of
// the newest state that the client is known to hold of it.
func (v *View) unseen(s *slot) clock.Tick {
	since := s.since
	for i := range v.slots.endings {
		o := &v.slots.list[v.slots.endings[i].slot]
		if _, ok := v.switched(o); ok && o.phase() == leaving && o.ent == s.ent {
			since = min(since, v.ledger.acked(int(o.at)))
		}
	}
	return since
}

// groupDue reports whether a record of group g, which changed last at a tick, may be sent now. sent
// is the newest record that was sent and is not taken for lost.
func (v *View) groupDue(s *slot, e *Entity, kind *schema.Kind, g int, changed, sent, late clock.Tick) bool {
	unit := s.unit(g)
	k := &v.ledger.known[unit]
	times, acked, is := &e.group[g], v.ledger.acked(unit), s.phase()
	// A first sight costs several records, so it is not repeated for a mere change.
	fresh := changed > sent && (is == live || sent == 0)
	due, level := changed > acked, uint8(0)
	if s.level() != 0 {
		level = v.level(s, g)
	}
	if level != 0 || k.level() != 0 {
		// What is finer than it need be stays so until something else changes. A change that is
		// rounded away goes out all the same where the client expects records of what moves.
		fresh = fresh || level < k.sentLevel() && is == live
		due = level < k.level() || due && (is != live || kind.Groups[g].Moving || v.turned(s, g) > acked ||
			v.h.visible(e, g, acked, level))
	}
	overdue := k.sent() <= late
	if !due || !fresh && !overdue {
		return false
	}
	if g == OwnerGroup || kind.Groups[g].Reckoned == 0 || sent == 0 || level < k.sentLevel() ||
		v.turned(s, g) > sent {
		return true
	}
	// In a flight what was sent is not repeated merely because no ack came, as acks may come late;
	// the client is known to hold the flight's first record.
	flies := times.flight != 0 && acked >= times.flight && level >= k.level()
	if sent != acked && overdue && !flies {
		return true
	}
	return v.reckonedDue(s, kind, g, sent, acked, overdue)
}

// reckonedDue reports whether a record of a group with dead reckoned properties is due: the client
// draws it on, from the record of tick sent or from the acknowledged one.
func (v *View) reckonedDue(s *slot, kind *schema.Kind, g int, sent, acked clock.Tick, overdue bool) bool {
	k := &v.ledger.known[s.unit(g)]
	if v.h.tick-sent >= motion.Reach(kind)/2 || v.strays(s.ent, kind, g, sent, k.sentLevel()) ||
		sent != acked && overdue && v.strays(s.ent, kind, g, acked, k.level()) {
		return true
	}
	// A lost correction would be missed for a round trip and more: while packets get lost each is
	// sent twice.
	return v.lossy() && acked != 0 && sent != acked && k.ackedBefore() &&
		v.strays(s.ent, kind, g, acked, k.level())
}

// strays reports whether group g of entity i, which has dead reckoned properties, differs from what
// a client draws that was sent its state of a tick at a level: they stray from where they are drawn
// on to, another property changed, it was teleported, or it came to rest or began to move.
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

// Unacked reports whether anything is due or under way: until it is false the client may hold less
// than the newest state.
func (v *View) Unacked() bool {
	for n := range v.slots.used {
		s := &v.slots.list[n]
		switch s.phase() {
		case ended:
			continue
		case leaving:
			return true
		}
		if !v.same(s) {
			continue
		}
		e := v.h.At(s.ent)
		all := v.groupsOf(s, e)
		if s.phase() == entering && all != 0 {
			return true
		}
		for set := v.rules(s).limitedSet &^ all; set != 0 && !s.exact(); set &= set - 1 {
			if v.ledger.known[s.unit(bits.TrailingZeros32(set))].sent() != 0 {
				return true
			}
		}
		for ; all != 0; all &= all - 1 {
			g := bits.TrailingZeros32(all)
			unit := s.unit(g)
			if v.changed(s, e, g) > v.ledger.acked(unit) || v.level(s, g) < v.ledger.known[unit].level() {
				return true
			}
		}
	}
	return false
}

// Settled reports whether the client, once it has applied the packets that are known to be applied
// and that of the present tick, has the present state of everything that it receives exactly, and
// knows what of it is gone.
func (v *View) Settled() bool {
	for n := range v.slots.used {
		s := &v.slots.list[n]
		is := s.phase()
		if is == ended || !s.exact() || v.ledger.known[s.at].sent() == v.h.tick {
			continue // it has no state, not an exact one, or the packet has it
		}
		if n, ok := v.switched(s); ok && is == leaving {
			s = &v.slots.list[n]
			if v.ledger.known[s.at].sent() == v.h.tick {
				continue // the packet has its first sight in another slot
			}
		}
		if acked := v.ledger.acked(int(s.at)); is == leaving || v.same(s) &&
			v.changed(s, v.h.At(s.ent), OwnerGroup) > acked {
			return false
		}
	}
	return true
}

// lastBound is the longest bound that is announced. Where records come often all the same, one with
// a longer class would still be drawn when neither the history nor the log of packets reaches back
// to it, and the server could not reproduce what the client draws.
var lastBound = func() (c uint8) {
	for int(motion.Wait(c+1)) <= min(HistoryTicks, wire.LogSize)-HeldStates {
		c++
	}
	return c
}()

// bound returns the bound that the records of c announce; 0 if they have no room for one.
func (v *View) bound(s *slot, c *Candidate) uint8 {
	if s.exact() || c.Gone || v.rules(s).moving == 0 {
		return 0
	}
	return min(c.Bound, lastBound)
}

// speaks notes that packet seq of a tick has entries.
func (v *View) speaks(tick clock.Tick, seq wire.Seq, now clock.Time) {
	v.version++
	v.newest = seq
	if v.resync.notBefore != nil && seq-v.resync.seq > wire.LogSize {
		v.resync.notBefore = nil // no packet from before the resync is in the log any more
	}
	v.sent.note(tick, now)
}

// commit notes that the entry of c goes out in packet p.
func (v *View) commit(c *Candidate, p *wire.Packet, log *logWriter) {
	s := &v.slots.list[c.slot]
	s.setMentioned()
	s.last = uint16(p.Tick)
	v.slots.eager.remove(c.slot)
	entry := logEntry{slot: c.slot, groups: c.groups, gone: c.Gone, level: s.level(), bound: v.bound(s, c)}
	if c.Gone {
		entry.level = 0
		log.put(entry)
		if c.groups == 0 {
			at := int(s.at)
			v.ledger.set(at, p.Tick, v.ledger.acked(at))
			v.ledger.known[at].clearLost()
		}
		for set := c.groups; set != 0; set &= set - 1 {
			v.ledger.send(s.unit(bits.TrailingZeros32(set)), p.Tick, 0)
		}
		return
	}
	oldest, rewound := p.Tick, v.rules(s).rewound && !s.exact()
	for set := c.groups; set != 0 && !c.First && rewound; set &= set - 1 {
		if acked := v.ledger.acked(s.unit(bits.TrailingZeros32(set))); acked != 0 {
			oldest = min(oldest, acked)
		}
	}
	entry.based = p.Tick-oldest >= longAgo
	log.put(entry)
	missing := logEntry{slot: c.slot, gone: true}
	if c.First {
		for set := v.rules(s).limitedSet &^ c.groups; set != 0 && !s.exact(); set &= set - 1 {
			if unit := s.unit(bits.TrailingZeros32(set)); v.ledger.known[unit].sent() != 0 {
				v.ledger.known[unit].flags |= isOut
				v.ledger.send(unit, p.Tick, 0)
				missing.groups |= set & -set
			}
		}
	}
	s.setBound(entry.bound)
	e := v.h.At(s.ent)
	kind := v.h.kinds[e.Kind]
	for set := c.groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		unit := s.unit(g)
		if k := &v.ledger.known[unit]; entry.based {
			log.base(&entry, p.Tick-v.ledger.acked(unit), k.level(), k.bound())
		}
		if kind.Refs && g != OwnerGroup {
			v.want(kind, g, e.obsRow(kind, v.h.tick))
		}
		v.ledger.send(unit, p.Tick, v.level(s, g))
	}
	if missing.groups != 0 { // after what the entry is based on
		log.put(missing)
	}
}
