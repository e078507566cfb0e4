package snapshot

import (
	"cmp"
	"errors"
	"slices"

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
	// ErrOvertaken is for a packet that is so late that one of its slots holds another entity by
	// now.
	ErrOvertaken = errors.New("snapshot: record of what a slot held before")
)

// A Replica is one entity as a client holds it.
type Replica struct {
	ID     uint32
	Kind   int
	Exact  bool       // its records are those of OwnerGroup; otherwise of the other groups
	Mine   bool       // it is the player's avatar, which is always exact
	Spawn  Spawn      // the player's command that spawned it, of what is exact and not the avatar
	Fresh  bool       // a state was added since the owner of the Store cleared this
	Looked clock.Tick // for the owner of the Store: the tick up to which it has searched for movement
	Groups [OwnerGroup + 1]Group

	since clock.Tick // tick of the first record
	slot  uint16
	alive bool
}

// A Store is what one client holds of the world. The zero Store is not usable; see NewStore. Not
// safe for concurrent use.
type Store struct {
	kinds []*schema.Kind
	rules []rules // of each kind
	slots [Slots]*Replica
	ended [Slots]clock.Tick // newest packet that ended a use of the slot, whether its beginning arrived or not
	alive []*Replica        // by rising ID
	spare []*Replica

	sights  [8]missedSight                    // the newest first
	packets [wire.AgreedTicks + 1]packetSlots // packets by tick; the last is none
	parsed  parsed
	near    bool // some place is coded relative to the viewer
	turns   uint64
	touched int64 // what Touch read

	// Applied, where set, is called for each state that is added; for tests that compare it with
	// the truth.
	Applied func(e *Replica, g int, s *motion.State)
	coded   func(id uint32, g int, age, gap clock.Tick) // for tests: what the differences of a record are taken from
}

// parsed is a packet that was parsed, up to its Commit.
type parsed struct {
	tick   clock.Tick
	agreed uint64 // see Store.Parse
	ops    []op
	arena  []int64     // memory of the values in ops
	slots  packetSlots // with tick 0 if the packet has no entries

	hasViewer bool         // the packet names the viewer's place
	viewer    codec.Viewer // that place
}

// op is one change that a packet makes.
type op struct {
	slot  uint16
	kind  int
	id    uint32
	what  opKind
	exact bool
	mine  bool
	spawn Spawn
	group int
	base  clock.Tick // the baseline's tick; 0: none
	state motion.State
}

type opKind uint8

const (
	opUpdate opKind = iota // a record of an entity that the client has
	opSight                // a record of a first sight
	opGone                 // the entity is gone
	opForget               // a group must be dropped
)

// NewStore returns an empty Store of the kinds of coders, which it may share with others.
func NewStore(coders []*codec.Coder) *Store {
	kinds := kindsOf(coders)
	return &Store{kinds: kinds, rules: rulesOf(coders), near: anyNear(kinds)}
}

// Entities returns the client's entities by rising ID. The slice is valid until the next Read.
func (s *Store) Entities() []*Replica { return s.alive }

// Turns counts how often an entity came or went: while it stays the same, so does the set of
// Entities.
func (s *Store) Turns() uint64 { return s.turns }

// Find returns the entity with an ID, or nil.
func (s *Store) Find(id uint32) *Replica {
	if at, ok := s.place(id); ok {
		return s.alive[at]
	}
	return nil
}

// place returns where among the entities an ID is, or belongs.
func (s *Store) place(id uint32) (at int, ok bool) {
	return slices.BinarySearchFunc(s.alive, id, func(h *Replica, id uint32) int { return cmp.Compare(h.ID, id) })
}

// Read applies the entries of one packet of the given tick: it is Parse and, without an error,
// Commit.
func (s *Store) Read(r *wire.BitReader, tick clock.Tick, agreed uint64) error {
	if err := s.Parse(r, tick, agreed); err != nil {
		return err
	}
	s.Commit()
	return nil
}

// Parse reads the entries of one packet of the given tick, from r up to the bit that ends them.
// Nothing changes that can be seen before Commit, as the rest of the packet may yet prove
// malformed.
//
// Bit i of agreed says that the server knew, when it sent the packet, that its packet of i ticks
// before had been applied, see wire.Agreement. The errors are those of package wire, ErrBaseline,
// ErrSlot and ErrOvertaken; with any of them the packet must not be acknowledged, and there is
// nothing to commit. Bytes of any kind are refused or applied within the bounds of memory; they
// never make it panic.
func (s *Store) Parse(r *wire.BitReader, tick clock.Tick, agreed uint64) error {
	p := &s.parsed
	p.tick, p.agreed = tick, agreed
	p.ops, p.arena, p.slots = p.ops[:0], p.arena[:0], packetSlots{}
	err := s.readEntries(r)
	if err == nil && r.Bad() {
		err = wire.ErrTruncated
	}
	if err != nil {
		p.ops, p.slots = p.ops[:0], packetSlots{}
	}
	return err
}

// Commit applies what Parse read, once.
func (s *Store) Commit() {
	p := &s.parsed
	for i := range p.ops {
		s.commit(&p.ops[i], p.tick)
	}
	if e := &s.packets[p.tick%wire.AgreedTicks]; p.slots.tick != 0 && e.tick <= p.tick {
		*e = p.slots
	}
	p.ops, p.slots = p.ops[:0], packetSlots{}
}

// commit makes one change.
func (s *Store) commit(o *op, tick clock.Tick) {
	h := s.slots[o.slot]
	switch o.what {
	case opGone:
		s.ended[o.slot] = max(s.ended[o.slot], tick)
		if h != nil && h.alive && tick > h.since {
			h.alive = false
			s.unlist(h)
		}
		return
	case opSight:
		if tick <= s.ended[o.slot] { // sent before the end, arrived after it
			s.missed(o, tick)
			return
		}
		if h == nil || !h.alive || h.ID != o.id || h.Kind != o.kind || h.Exact != o.exact || h.Mine != o.mine {
			if s.overtaken(o, tick) {
				return
			}
			h = s.enter(o, tick)
		}
	case opForget:
		if h != nil && h.alive && h.ID == o.id {
			h.Groups[o.group].forget(tick)
			h.Fresh = true
		}
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

// overtaken reports whether the first sight o, of a tick, comes after the entity's next use of
// another slot, even if that use has ended by now: what the client shows must not depend on the
// order in which packets arrive, which the server does not know.
func (s *Store) overtaken(o *op, tick clock.Tick) bool {
	for _, h := range s.slots {
		if h != nil && h.ID == o.id && h.slot != o.slot && h.since > tick {
			return true
		}
	}
	for _, m := range s.sights {
		if m.id == o.id && m.slot != o.slot && m.tick > tick {
			return true
		}
	}
	return false
}

// missed notes a first sight o, of a tick, whose use of a slot has ended already: the entity's use
// of another slot before is over, too.
func (s *Store) missed(o *op, tick clock.Tick) {
	if h := s.Find(o.id); h != nil && h.slot != o.slot && h.since < tick {
		h.alive = false
		s.ended[h.slot] = max(s.ended[h.slot], tick)
		s.unlist(h)
	}
	copy(s.sights[1:], s.sights[:])
	s.sights[0] = missedSight{o.id, o.slot, tick}
}

// missedSight is a first sight that came after the end of its use of a slot.
type missedSight struct {
	id   uint32
	slot uint16
	tick clock.Tick
}

// enter starts a new use of a slot.
func (s *Store) enter(o *op, tick clock.Tick) *Replica {
	if old := s.slots[o.slot]; old != nil {
		if old.alive {
			s.unlist(old)
		}
		s.spare = append(s.spare, old)
	}
	double := s.Find(o.id)
	if double != nil { // it came back into sight before the end of its old slot arrived
		double.alive = false
		s.ended[double.slot] = max(s.ended[double.slot], tick)
		s.unlist(double)
	}
	var h *Replica
	if n := len(s.spare); n > 0 {
		h, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		h = &Replica{}
	}
	for g := range h.Groups {
		old := &h.Groups[g]
		if len(old.memory) > HeldStates+slack { // the entity before took much, which is rare: this one need not
			old.states, old.memory = nil, nil
		} else if old.memory != nil {
			old.states = old.memory
		}
		*old = Group{states: old.states[:0], memory: old.memory}
	}
	h.ID, h.Kind, h.since, h.Looked, h.slot, h.alive = o.id, o.kind, tick, 0, o.slot, true
	h.Exact, h.Mine, h.Spawn = o.exact, o.mine, o.spawn
	if double != nil && double.Kind == h.Kind && double.Exact != h.Exact {
		h.inherit(double)
	}
	s.slots[o.slot] = h
	s.turns++
	at, _ := s.place(h.ID)
	s.alive = append(s.alive, nil)
	copy(s.alive[at+1:], s.alive[at:])
	s.alive[at] = h
	return h
}

// inherit copies what the use of another slot has of the entity with the other detail: the entity
// is drawn on from these states, though no record is coded against them. The old use keeps its own:
// packets that were overtaken are still read against them.
func (h *Replica) inherit(old *Replica) {
	for g := range h.Groups {
		from, to := &old.Groups[g], &h.Groups[g]
		if (g == OwnerGroup) != old.Exact {
			continue
		}
		for i := range from.states {
			to.insert(&from.states[i])
		}
		to.Carry, from.Carry = from.Carry, nil
	}
	h.Looked = old.Looked
}

// unlist takes an entity out of the sorted list.
func (s *Store) unlist(h *Replica) {
	s.turns++
	if i := slices.Index(s.alive, h); i >= 0 {
		s.alive = slices.Delete(s.alive, i, i+1)
	}
}

// Touch reads a little of all that the next packets are applied to and the next frame is drawn from:
// the newest states, and the oldest ones, whose memory is used next. That changes nothing. In a
// process of many clients all of it has left the processor's cache since the frame before; here the
// processor fetches it for many entities at once, where later each would wait for its own.
func (s *Store) Touch() {
	sum := int64(0)
	read := func(st *motion.State) {
		if n := len(st.Vals); n > 0 {
			sum += st.Vals[0] + st.Vals[n-1]
		}
	}
	for _, h := range s.alive {
		for g := range h.Groups {
			all := h.Groups[g].states
			n := len(all)
			if n == 0 {
				continue
			}
			read(&all[0])
			for i := max(n-2, 0); i < n; i++ {
				read(&all[i])
			}
			if n < cap(all) {
				sum += int64(all[:n+1][n].Tick)
			}
		}
	}
	s.touched = sum // so that no compiler leaves it out
}
