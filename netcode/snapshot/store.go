package snapshot

import (
	"errors"

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

// Replica is one entity as a client holds it.
type Replica struct {
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
	slots [Slots]*Replica
	gone  [Slots]clock.Tick // when the slot's last life was said to have ended, heard of its beginning or not
	alive []*Replica        // by rising ID
	spare []*Replica

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
	Applied func(e *Replica, g int, s *motion.State)
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
func (s *Store) Entities() []*Replica { return s.alive }

// Turns counts how often an entity came or went.
func (s *Store) Turns() uint64 { return s.turns }

// Find returns the entity with an ID, or nil.
func (s *Store) Find(id uint32) *Replica {
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
func (s *Store) enter(o *op, tick clock.Tick) *Replica {
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
	var h *Replica
	if n := len(s.spare); n > 0 {
		h, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		h = &Replica{}
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

func (s *Store) unlist(h *Replica) {
	s.turns++
	for i, e := range s.alive {
		if e == h {
			s.alive = append(s.alive[:i], s.alive[i+1:]...)
			return
		}
	}
}
