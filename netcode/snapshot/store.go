package snapshot

import (
	"errors"
	"math/bits"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Errors of Store.Read besides those of package wire. The packet is dropped and not acknowledged.
var (
	ErrBaseline = errors.New("snapshot: record against a state that is not held")
	ErrSlot     = errors.New("snapshot: record for a slot that holds nothing")
)

// Group is what a client holds of one group of one entity: states by rising tick.
type Group struct {
	states []motion.State
	memory []motion.State // once there are many: where states is a window that moves on with each new one
	pin    clock.Tick     // the newest baseline of a record, named or agreed on: the server goes on with it while nothing is acknowledged
	gone   clock.Tick     // what is no newer than this must be forgotten
	forgot clock.Tick     // the newest tick of which a state was let go, or not kept for want of room

	// Fade is for the owner of the Store, who may draw beyond what is held; nil in each new life.
	Fade *motion.Fade
}

// slack is how far the window moves before it begins anew.
const slack = 16

// Newest returns the newest state, or nil.
func (g *Group) Newest() *motion.State {
	if len(g.states) == 0 {
		return nil
	}
	return &g.states[len(g.states)-1]
}

// At returns the state of exactly tick t, or nil.
func (g *Group) At(t clock.Tick) *motion.State {
	for i := len(g.states) - 1; i >= 0 && g.states[i].Tick >= t; i-- {
		if g.states[i].Tick == t {
			return &g.states[i]
		}
	}
	return nil
}

// Around returns the states that are shown around playout time t: a is the newest at or before it, or the oldest there is;
// b the next one, nil if there is none. Both are nil if nothing is held.
func (g *Group) Around(t clock.TickFrac) (a, b *motion.State) {
	for i := len(g.states) - 1; i >= 0; i-- {
		if g.states[i].Shown() <= t {
			return &g.states[i], b
		}
		b = &g.states[i]
	}
	return b, nil
}

// agreed returns the newest state before a tick of which the server knew that it is held, and the one before that if it is recent enough
// to be used. agreed is that of Store.Read. It refuses to if a state that belongs there has been let go.
func (g *Group) agreed(before clock.Tick, agreed uint64) (base, prior *motion.State, err error) {
	for i := len(g.states) - 1; i >= 0; i-- {
		s := &g.states[i]
		if s.Tick >= before {
			continue
		}
		age := before - s.Tick
		if age < wire.AgreedTicks && agreed>>age&1 == 0 {
			continue
		}
		if base == nil {
			base = s
			continue
		}
		if age <= priorTicks {
			prior = s
		}
		break
	}
	if base == nil || g.forgot > base.Tick {
		return nil, nil, ErrBaseline
	}
	if g.forgot != 0 && before-min(g.forgot, before) <= priorTicks && (prior == nil || g.forgot > prior.Tick) {
		return nil, nil, ErrBaseline
	}
	return base, prior, nil
}

// Since returns the newest state up to tick t and the next newer one, nil where there is none.
func (g *Group) Since(t clock.Tick) (a, b *motion.State) {
	for i := len(g.states) - 1; i >= 0; i-- {
		if g.states[i].Tick <= t {
			return &g.states[i], b
		}
		b = &g.states[i]
	}
	return nil, b
}

// spares reports whether the state at place out, or s if it comes before, may be let go when s comes in at place at: what may still be
// drawn is drawn from newer ones.
func (g *Group) spares(s *motion.State, at, out int) bool {
	n := len(g.states)
	if n >= MostStates {
		return true
	}
	floor := (max(g.states[n-1].Tick, s.Tick) - (HeldStates - 2)).Frac()
	if at > out && s.Shown() <= floor {
		return true
	}
	for i := min(at, out+1); i < n; i++ { // the first, but for long bounds
		if g.states[i].Shown() <= floor {
			return true
		}
	}
	return false
}

// slide moves the window of states to the beginning of its memory, of which there is more if there must be.
func (g *Group) slide() {
	n := len(g.states)
	if n+slack > len(g.memory) {
		room := HeldStates
		if n >= HeldStates {
			room = n + n/4
		}
		g.memory = make([]motion.State, room+slack)
	}
	copy(g.memory, g.states)
	clear(g.memory[n:])
	g.states = g.memory[:n]
}

// insert keeps a copy of s in order. A state that is held already, or older than all where there is no
// room, is left out.
func (g *Group) insert(s *motion.State) {
	if s.Tick <= g.gone {
		return
	}
	at := len(g.states)
	for at > 0 && g.states[at-1].Tick >= s.Tick {
		at--
	}
	if at < len(g.states) && g.states[at].Tick == s.Tick {
		return
	}
	var spare []int64 // values of a state that was let go
	for len(g.states) >= HeldStates {
		out := 0
		if g.states[0].Tick == g.pin {
			out = 1
		}
		if !g.spares(s, at, out) {
			break
		}
		if at <= out {
			g.forgot = max(g.forgot, s.Tick)
			return
		}
		g.forgot = max(g.forgot, g.states[out].Tick)
		spare = g.states[out].Vals
		if out == 1 {
			g.states[1] = g.states[0]
		}
		g.states[0] = motion.State{} // no memory of values is in two places
		g.states = g.states[1:]
		at--
	}
	if len(g.states) == cap(g.states) && (g.memory != nil || len(g.states) >= HeldStates-1) {
		g.slide()
	}
	if len(g.states) < cap(g.states) {
		g.states = g.states[:len(g.states)+1] // one of a former life, whose memory is used again
	} else {
		g.states = append(g.states, motion.State{})
	}
	if spare == nil {
		spare = g.states[len(g.states)-1].Vals
	}
	copy(g.states[at+1:], g.states[at:])
	g.states[at] = motion.State{Tick: s.Tick, Cut: s.Cut, Start: s.Start, Rest: s.Rest, Bound: s.Bound, Level: s.Level, Vals: append(spare[:0], s.Vals...)}
}

// Held is one entity as a client holds it.
type Held struct {
	ID     uint32
	Kind   int
	Mine   bool
	Since  clock.Tick // tick of the first record held
	Fresh  bool       // a state was taken in since the owner of the Store cleared this
	Looked clock.Tick // for the owner of the Store: up to where it has looked at what moves
	Groups [OwnerGroup + 1]Group

	slot  uint16
	alive bool
}

// A Store is what one client holds of the world. The zero Store is not usable; see NewStore. Not safe for concurrent use.
type Store struct {
	kinds []*schema.Kind
	rules []rules // of each kind
	slots [Slots]*Held
	gone  [Slots]clock.Tick // when the slot's last life was said to have ended, heard of its beginning or not
	alive []*Held           // by rising ID
	spare []*Held

	agreed  uint64                            // of the packet at hand, see Parse
	packets [wire.AgreedTicks + 1]packetSlots // packets by tick; the last is none

	near   bool         // some place is coded beside the viewer
	sees   bool         // the packet at hand says where the viewer is
	viewer codec.Viewer // that place

	ops   []op // of the packet that was parsed and not committed
	arena []int64
	now   packetSlots // of that packet, with tick 0 if it has no entries
	tick  clock.Tick
	turns uint64
	// Applied, where set, is called for each state taken in; for tests that compare it with the truth.
	Applied func(e *Held, g int, s *motion.State)
	coded   func(id uint32, g int, age, gap clock.Tick) // for tests: what the differences of a record are taken from
}

type op struct {
	slot  uint16
	kind  int
	id    uint32
	what  uint8 // opUpdate, opSight, opGone
	mine  bool
	group int
	base  clock.Tick
	state motion.State
}

const (
	opUpdate = iota
	opSight
	opGone
	opForget
)

// NewStore returns an empty Store of the kinds of coders, which it may share with others.
func NewStore(coders []*codec.Coder) *Store {
	kinds := kindsOf(coders)
	return &Store{kinds: kinds, rules: rulesOf(coders), near: anyNear(kinds)}
}

// Entities returns what is held, by rising ID. The slice is valid until the next Read.
func (s *Store) Entities() []*Held { return s.alive }

// Turns counts how often an entity came or went.
func (s *Store) Turns() uint64 { return s.turns }

// Find returns the entity with an ID, or nil.
func (s *Store) Find(id uint32) *Held {
	lo, hi := 0, len(s.alive)
	for lo < hi {
		m := (lo + hi) / 2
		if s.alive[m].ID < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(s.alive) && s.alive[lo].ID == id {
		return s.alive[lo]
	}
	return nil
}

// Read takes in the entries of one packet of the given tick: it is Parse and, without an error, Commit.
func (s *Store) Read(r *wire.BitReader, tick clock.Tick, agreed uint64) error {
	if err := s.Parse(r, tick, agreed); err != nil {
		return err
	}
	s.Commit()
	return nil
}

// Parse reads the entries of one packet of the given tick, from r up to the bit that ends them, and changes nothing that can be seen: what follows
// them in the packet may yet prove unsound. Bit i of agreed says that the server
// knew, when it sent the packet, that its packet of i ticks before had been applied, see wire.Agreement. The errors are those of package
// wire, ErrBaseline and ErrSlot; with any of them the packet must not be acknowledged, and there is nothing to commit.
// Bytes of any kind are refused or taken in within the bounds of memory; they never make it panic.
func (s *Store) Parse(r *wire.BitReader, tick clock.Tick, agreed uint64) error {
	s.ops, s.arena = s.ops[:0], s.arena[:0]
	s.now, s.tick = packetSlots{}, tick
	s.agreed = agreed
	err := s.readEntries(r, tick)
	if err == nil && r.Bad() {
		err = wire.ErrTruncated
	}
	if err != nil {
		s.ops, s.now = s.ops[:0], packetSlots{}
	}
	return err
}

// Commit takes in what Parse read, once.
func (s *Store) Commit() {
	for i := range s.ops {
		s.commit(&s.ops[i], s.tick)
	}
	if e := &s.packets[s.tick%wire.AgreedTicks]; s.now.tick != 0 && e.tick <= s.tick {
		*e = s.now
	}
	s.ops, s.now = s.ops[:0], packetSlots{}
}

// readEntries reads the entries of a packet into ops.
func (s *Store) readEntries(r *wire.BitReader, tick clock.Tick) error {
	shape, others, n := likeBefore, uint64(0), uint64(0)
	if r.Bool() {
		shape = plainly
		if r.Bool() {
			shape = changed
		}
		others = r.Uvarint(othersK)
		if shape == changed {
			n = r.Uvarint(changesK)
		} else {
			n = r.Uvarint(countK)
		}
	}
	if r.Bad() {
		return wire.ErrTruncated
	}
	if others > Slots || n > Slots {
		return fault.Errorf("%w: %d entries for %d slots", wire.ErrMalformed, max(n, others), Slots)
	}
	if shape == plainly && n == 0 && others == 0 {
		return nil
	}
	before, err := s.before(tick)
	if err != nil {
		return err
	}
	top := before.slots.top()
	order, othersOrder, told := sparse(top), sparse(top), shape == plainly
	if others > 0 {
		othersOrder, told = readOrder(r, othersOrder, told)
	}
	if shape == plainly && n > 0 {
		order, told = readOrder(r, expectedOrder(top, int(n)), told)
	}
	if !told && before.tick == 0 {
		return ErrBaseline
	}
	if s.sees = false; s.near {
		if err := s.readViewer(r, tick); err != nil {
			return err
		}
	}
	now := packetSlots{tick: tick}
	var odd, list slotSet
	slot := uint64(0)
	for range others {
		if slot, err = readSlot(r, slot, othersOrder); err != nil {
			return err
		}
		at := len(s.ops)
		if err := s.readEntry(r, uint16(slot), tick); err != nil {
			return err
		}
		if odd.add(uint16(slot)); len(s.ops) == at || s.ops[at].what == opUpdate || s.ops[at].what == opSight {
			now.slots.add(uint16(slot))
		}
		slot++
	}
	slot = 0
	for range n {
		if slot, err = readSlot(r, slot, order); err != nil {
			return err
		}
		if odd.has(uint16(slot)) {
			return fault.Errorf("%w: slot %d twice", wire.ErrMalformed, slot)
		}
		list.add(uint16(slot))
		slot++
	}
	if shape != plainly {
		for i := range list {
			list[i] ^= before.slots[i] &^ odd[i]
		}
	}
	for slot := list.from(0); slot < Slots; slot = list.from(slot + 1) {
		if err := s.readUpdate(r, uint16(slot), tick, ordinary); err != nil {
			return err
		}
	}
	for i := range list {
		now.slots[i] |= list[i]
	}
	s.now = now
	return nil
}

// readOrder reads an order. told stays true if it is told, and needs no packet before.
func readOrder(r *wire.BitReader, expected int, told bool) (int, bool) {
	if !r.Bool() {
		return expected, false
	}
	return int(r.Bits(orderB)), told
}

// readSlot reads the distance to the next slot of a list, from one on.
func readSlot(r *wire.BitReader, from uint64, order int) (uint64, error) {
	slot := from + r.Uvarint(order)
	if r.Bad() {
		return 0, wire.ErrTruncated
	}
	if slot >= Slots {
		return 0, fault.Errorf("%w: slot %d of %d", wire.ErrMalformed, slot, Slots)
	}
	return slot, nil
}

// before returns the newest packet with entries of which the server knew that it was applied when it sent that of a tick; its tick is 0 if there
// is none.
func (s *Store) before(tick clock.Tick) (*packetSlots, error) {
	for set := s.agreed &^ 1; set != 0; set &= set - 1 {
		at := tick - clock.Tick(bits.TrailingZeros64(set))
		switch e := &s.packets[at%wire.AgreedTicks]; {
		case e.tick == at:
			return e, nil
		case e.tick > at: // this packet is so late that it is forgotten
			return nil, ErrBaseline
		}
	}
	return &s.packets[wire.AgreedTicks], nil
}

// readUpdate reads an update.
func (s *Store) readUpdate(r *wire.BitReader, n uint16, tick clock.Tick, how form) error {
	if r.Bad() {
		return wire.ErrTruncated
	}
	held := s.slots[n]
	if held == nil || !held.alive && tick > s.gone[n] {
		return ErrSlot
	}
	k := s.kinds[held.Kind]
	groups := uint64(1 << OwnerGroup)
	switch {
	case held.Mine:
	case how == ordinary:
		groups = 1 << s.rules[held.Kind].ordinary
	default:
		if groups = r.Bits(len(k.Groups)); groups == 0 {
			if r.Bad() {
				return wire.ErrTruncated
			}
			return fault.Errorf("%w: update of no group", wire.ErrMalformed)
		}
	}
	return s.readGroups(r, tick, op{slot: n, kind: held.Kind, id: held.ID, what: opUpdate, mine: held.Mine}, groups, held, how)
}

// readEntry reads an entry that is no ordinary update.
func (s *Store) readEntry(r *wire.BitReader, n uint16, tick clock.Tick) error {
	held := s.slots[n]
	how := readForm(r)
	if how == general {
		return s.readUpdate(r, n, tick, how)
	}
	switch how {
	case isGone:
		if r.Bad() {
			return wire.ErrTruncated
		}
		s.ops = append(s.ops, op{slot: n, what: opGone})
		return nil
	case mustForget:
		groups := r.Bits(schema.MaxGroups)
		switch {
		case r.Bad():
			return wire.ErrTruncated
		case held == nil || !held.alive && tick > s.gone[n]:
			return ErrSlot
		case groups == 0 || held.Mine || groups&^uint64(s.rules[held.Kind].limitedSet) != 0:
			return fault.Errorf("%w: groups %#b of entity %d to be forgotten", wire.ErrMalformed, groups, held.ID)
		}
		for ; groups != 0; groups &= groups - 1 {
			s.ops = append(s.ops, op{slot: n, what: opForget, id: held.ID, group: bits.TrailingZeros64(groups)})
		}
		return nil
	}
	kind, id := r.Uvarint(kindK), r.Uvarint(idK)
	mine := r.Bool()
	if r.Bad() {
		return wire.ErrTruncated
	}
	if kind >= uint64(len(s.kinds)) || id == 0 || id > 1<<32-1 {
		return fault.Errorf("%w: first sight of kind %d of %d, id %d", wire.ErrMalformed, kind, len(s.kinds), id)
	}
	groups := uint64(1)<<uint(len(s.kinds[kind].Groups)) - 1
	switch {
	case mine:
		groups = 1 << OwnerGroup
	case len(s.rules[kind].limits) > 0:
		told := r.Bits(len(s.kinds[kind].Groups))
		if (told|uint64(s.rules[kind].limitedSet))&groups != groups || told == 0 {
			if r.Bad() {
				return wire.ErrTruncated
			}
			return fault.Errorf("%w: first sight of groups %#b of %#b", wire.ErrMalformed, told, groups)
		}
		groups = told
	}
	if err := s.readGroups(r, tick, op{slot: n, kind: int(kind), id: uint32(id), what: opSight, mine: mine}, groups, nil, how); err != nil || mine {
		return err
	}
	for untold := uint64(s.rules[kind].limitedSet) &^ groups; untold != 0; untold &= untold - 1 {
		s.ops = append(s.ops, op{slot: n, what: opForget, id: uint32(id), group: bits.TrailingZeros64(untold)})
	}
	return nil
}

func (s *Store) readGroups(r *wire.BitReader, tick clock.Tick, o op, groups uint64, held *Held, how form) error {
	k := s.kinds[o.kind]
	for g := range OwnerGroup + 1 {
		if groups>>g&1 == 0 {
			continue
		}
		o.group = g
		at, n := len(s.arena), k.Width(g)
		for range n {
			s.arena = append(s.arena, 0)
		}
		o.state.Vals = s.arena[at : at+n : at+n]
		var from *Group
		if held != nil && (how != general || !k.Limited(g) || !r.Bool()) {
			from = &held.Groups[g]
		}
		base, prior, err := readHeader(r, k, g, tick, s.agreed, from, how, &o.state)
		if err != nil {
			return err
		}
		var viewer *codec.Viewer
		if s.sees {
			viewer = &s.viewer
		}
		age, gap, err := readBody(r, k, s.rules[o.kind].coder, g, base, prior, &o.state, viewer)
		if err != nil {
			return err
		}
		if s.coded != nil {
			s.coded(o.id, g, age, gap)
		}
		o.base = 0
		if base != nil {
			o.base = base.Tick
		}
		s.ops = append(s.ops, o)
	}
	return nil
}

func (s *Store) commit(o *op, tick clock.Tick) {
	h := s.slots[o.slot]
	switch o.what {
	case opGone:
		s.gone[o.slot] = max(s.gone[o.slot], tick)
		if h != nil && h.alive && tick > h.Since {
			h.alive = false
			s.unlist(h)
		}
		return
	case opSight:
		if tick <= s.gone[o.slot] {
			return // sent before it went, arrived after
		}
		if h == nil || !h.alive || h.ID != o.id || h.Kind != o.kind || h.Mine != o.mine {
			if double := s.Find(o.id); double != nil && double.slot != o.slot && double.Since > tick {
				return // from a former life in this slot, overtaken by the beginning of the next one in another
			}
			h = s.enter(o, tick)
		}
	case opForget:
		if h == nil || !h.alive || h.ID != o.id {
			return
		}
		g := &h.Groups[o.group]
		g.gone = max(g.gone, tick)
		n := 0
		for n < len(g.states) && g.states[n].Tick <= tick {
			n++
		}
		for i := n; i < len(g.states); i++ { // each memory of values stays in one place
			g.states[i-n], g.states[i] = g.states[i], g.states[i-n]
		}
		g.states = g.states[:len(g.states)-n]
		h.Fresh = true
		return
	case opUpdate:
		if h == nil || !h.alive {
			return
		}
	}
	g := &h.Groups[o.group]
	g.pin = max(g.pin, o.base)
	g.insert(&o.state)
	h.Fresh = true
	if s.Applied != nil {
		s.Applied(h, o.group, &o.state)
	}
}

// enter starts a new life of a slot.
func (s *Store) enter(o *op, tick clock.Tick) *Held {
	if old := s.slots[o.slot]; old != nil {
		if old.alive {
			s.unlist(old)
		}
		s.spare = append(s.spare, old)
	}
	if double := s.Find(o.id); double != nil { // it came back into sight before the end of its old slot was heard
		double.alive = false
		s.gone[double.slot] = max(s.gone[double.slot], tick)
		s.unlist(double)
	}
	var h *Held
	if n := len(s.spare); n > 0 {
		h, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		h = &Held{}
	}
	for g := range h.Groups {
		old := &h.Groups[g]
		if len(old.memory) > HeldStates+slack { // a rare life that took much: the next one need not
			old.states, old.memory = nil, nil
		} else if old.memory != nil {
			old.states = old.memory
		}
		*old = Group{states: old.states[:0], memory: old.memory}
	}
	h.ID, h.Kind, h.Mine, h.Since, h.Looked, h.slot, h.alive = o.id, o.kind, o.mine, tick, 0, o.slot, true
	s.slots[o.slot] = h
	s.turns++
	at := len(s.alive)
	for at > 0 && s.alive[at-1].ID > h.ID {
		at--
	}
	s.alive = append(s.alive, nil)
	copy(s.alive[at+1:], s.alive[at:])
	s.alive[at] = h
	return h
}

func (s *Store) unlist(h *Held) {
	s.turns++
	for i, e := range s.alive {
		if e == h {
			s.alive = append(s.alive[:i], s.alive[i+1:]...)
			return
		}
	}
}
