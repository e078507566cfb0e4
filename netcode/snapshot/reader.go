package snapshot

import (
	"math"
	"math/bits"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A packet's entries are, in this order: a head, entries that are not ordinary updates, and
// ordinary updates. The head says how many there are and, mostly relative to the packet before,
// which slots the ordinary ones are of.

// packetHead is the head of a packet's entries.
type packetHead struct {
	shape      shape
	others     int // entries that are not ordinary updates
	listed     int // slots in the list of ordinary updates, see shape
	othersCode int // order of the code of the slots of the others
	listCode   int // order of the code of that list
	before     *packetSlots
}

// readEntries reads the entries of a packet into parsed.ops.
func (s *Store) readEntries(r *wire.BitReader) error {
	head, err := s.readHead(r)
	if err != nil || head.shape == plainly && head.listed == 0 && head.others == 0 {
		return err
	}
	p := &s.parsed
	now := packetSlots{tick: p.tick}
	var others, list slotSet
	slot := uint64(0)
	for range head.others {
		if slot, err = readSlot(r, slot, head.othersCode); err != nil {
			return err
		}
		at := len(p.ops)
		if err := s.readEntry(r, uint16(slot), p.tick); err != nil {
			return err
		}
		others.add(uint16(slot))
		if len(p.ops) == at || p.ops[at].what == opUpdate || p.ops[at].what == opSight {
			now.slots.add(uint16(slot))
		}
		slot++
	}
	slot = 0
	for range head.listed {
		if slot, err = readSlot(r, slot, head.listCode); err != nil {
			return err
		}
		if others.has(uint16(slot)) {
			return fault.Errorf("%w: slot %d twice", wire.ErrMalformed, slot)
		}
		list.add(uint16(slot))
		slot++
	}
	if head.shape != plainly {
		for i := range list {
			list[i] ^= head.before.slots[i] &^ others[i]
		}
	}
	for slot := list.from(0); slot < Slots; slot = list.from(slot + 1) {
		if err := s.readUpdate(r, uint16(slot), p.tick, ordinary); err != nil {
			return err
		}
	}
	for i := range list {
		now.slots[i] |= list[i]
	}
	p.slots = now
	return nil
}

// readHead reads the head of the entries, and the viewer's place.
func (s *Store) readHead(r *wire.BitReader) (head packetHead, err error) {
	head.shape = likeBefore
	others, listed := uint64(0), uint64(0)
	if r.Bool() {
		head.shape = plainly
		if r.Bool() {
			head.shape = changed
		}
		others = r.Uvarint(othersK)
		if head.shape == changed {
			listed = r.Uvarint(changesK)
		} else {
			listed = r.Uvarint(countK)
		}
	}
	if r.Bad() {
		return head, wire.ErrTruncated
	}
	if others > Slots || listed > Slots {
		return head, fault.Errorf("%w: %d entries for %d slots", wire.ErrMalformed, max(listed, others), Slots)
	}
	head.others, head.listed = int(others), int(listed)
	if head.shape == plainly && listed == 0 && others == 0 {
		return head, nil
	}
	tick := s.parsed.tick
	if head.before, err = s.before(tick); err != nil {
		return head, err
	}
	top := head.before.slots.top()
	head.othersCode, head.listCode = sparse(top), sparse(top)
	alone := head.shape == plainly // it can be read without the packet before
	if others > 0 {
		head.othersCode, alone = readOrder(r, head.othersCode, alone)
	}
	if head.shape == plainly && listed > 0 {
		head.listCode, alone = readOrder(r, expectedOrder(top, head.listed), alone)
	}
	if !alone && head.before.tick == 0 {
		return head, ErrBaseline
	}
	if s.parsed.hasViewer = false; s.near {
		err = s.readViewer(r, tick)
	}
	return head, err
}

// readOrder reads the order of a code. If it is the expected one, it needs the packet before; else
// alone stays as it is.
func readOrder(r *wire.BitReader, expected int, alone bool) (int, bool) {
	if !r.Bool() {
		return expected, false
	}
	return int(r.Bits(orderB)), alone
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

// before returns the newest packet with entries that the server knew to be applied when it sent
// that of a tick; its tick is 0 if there is none.
func (s *Store) before(tick clock.Tick) (*packetSlots, error) {
	for set := s.parsed.agreed &^ 1; set != 0; set &= set - 1 {
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

// held returns what slot n held as far as a packet of a tick may speak of it. Slots are used again
// as soon as the server knows that the client learned of the end of what they held: a packet from
// before the present use speaks of something else.
func (s *Store) held(n uint16, tick clock.Tick) (*Replica, error) {
	held := s.slots[n]
	switch {
	case held == nil || !held.alive && tick > s.ended[n]:
		return nil, ErrSlot
	case tick <= held.since:
		return nil, ErrOvertaken
	}
	return held, nil
}

// readUpdate reads an update.
func (s *Store) readUpdate(r *wire.BitReader, n uint16, tick clock.Tick, how form) error {
	if r.Bad() {
		return wire.ErrTruncated
	}
	held, err := s.held(n, tick)
	if err != nil {
		return err
	}
	k := s.kinds[held.Kind]
	groups := uint64(1 << OwnerGroup)
	switch {
	case held.Exact:
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
	return s.readGroups(r, tick, op{slot: n, kind: held.Kind, id: held.ID, what: opUpdate},
		groups, held, how)
}

// readEntry reads an entry that is not an ordinary update.
func (s *Store) readEntry(r *wire.BitReader, n uint16, tick clock.Tick) error {
	how := readForm(r)
	if how == general {
		return s.readUpdate(r, n, tick, how)
	}
	switch how {
	case isGone:
		if r.Bad() {
			return wire.ErrTruncated
		}
		s.parsed.ops = append(s.parsed.ops, op{slot: n, what: opGone})
		return nil
	case mustForget:
		groups := r.Bits(schema.MaxGroups)
		if r.Bad() {
			return wire.ErrTruncated
		}
		held, err := s.held(n, tick)
		switch {
		case err != nil:
			return err
		case groups == 0 || held.Exact || groups&^uint64(s.rules[held.Kind].limitedSet) != 0:
			return fault.Errorf("%w: groups %#b of entity %d to be forgotten", wire.ErrMalformed, groups, held.ID)
		}
		for ; groups != 0; groups &= groups - 1 {
			s.parsed.ops = append(s.parsed.ops, op{slot: n, what: opForget, id: held.ID, group: bits.TrailingZeros64(groups)})
		}
		return nil
	}
	return s.readSight(r, n, tick)
}

// readSight reads a first sight.
func (s *Store) readSight(r *wire.BitReader, n uint16, tick clock.Tick) error {
	kind, id := r.Bits(kindBits(len(s.kinds))), r.Uvarint(idK)
	exact := r.Bool()
	if r.Bad() {
		return wire.ErrTruncated
	}
	if kind >= uint64(len(s.kinds)) || id == 0 || id > 1<<32-1 {
		return fault.Errorf("%w: first sight of kind %d of %d, id %d", wire.ErrMalformed, kind, len(s.kinds), id)
	}
	groups := uint64(1)<<uint(len(s.kinds[kind].Groups)) - 1
	o := op{slot: n, kind: int(kind), id: uint32(id), what: opSight, exact: exact, mine: exact}
	switch {
	case exact:
		if s.rules[kind].ahead {
			if err := readWhose(r, tick, &o); err != nil {
				return err
			}
		}
		groups = 1 << OwnerGroup
	case s.rules[kind].later != 0:
		has := r.Bits(len(s.kinds[kind].Groups))
		if (has|uint64(s.rules[kind].later))&groups != groups || has == 0 {
			if r.Bad() {
				return wire.ErrTruncated
			}
			return fault.Errorf("%w: first sight of groups %#b of %#b", wire.ErrMalformed, has, groups)
		}
		groups = has
	}
	if err := s.readGroups(r, tick, o, groups, nil, firstSight); err != nil || exact {
		return err
	}
	for missing := uint64(s.rules[kind].limitedSet) &^ groups; missing != 0; missing &= missing - 1 {
		s.parsed.ops = append(s.parsed.ops, op{slot: n, what: opForget, id: uint32(id), group: bits.TrailingZeros64(missing)})
	}
	return nil
}

// readWhose reads what appendWhose wrote.
func readWhose(r *wire.BitReader, now clock.Tick, o *op) error {
	if o.mine = r.Bool(); o.mine || !r.Bool() {
		return nil
	}
	ago, n := r.Varint(spawnK), r.Uvarint(spawnNK)
	if r.Bad() {
		return wire.ErrTruncated
	}
	if at := int64(now) - ago; at > 0 && at <= math.MaxUint32 && n <= math.MaxUint8 {
		o.spawn = Spawn{Tick: clock.Tick(at), N: uint8(n)}
		return nil
	}
	return fault.Errorf("%w: entity %d spawned %d ticks before tick %d as number %d", wire.ErrMalformed, o.id, ago, now, n)
}

func (s *Store) readGroups(r *wire.BitReader, tick clock.Tick, o op, groups uint64, held *Replica, how form) error {
	k := s.kinds[o.kind]
	for g := range OwnerGroup + 1 {
		if groups>>g&1 == 0 {
			continue
		}
		o.group = g
		at, n := len(s.parsed.arena), k.Width(g)
		for range n {
			s.parsed.arena = append(s.parsed.arena, 0)
		}
		o.state.Vals = s.parsed.arena[at : at+n : at+n]
		var from *Group
		if held != nil && (how != general || s.rules[o.kind].later>>g&1 == 0 || !r.Bool()) {
			from = &held.Groups[g]
		}
		base, prior, err := readHeader(r, k, g, tick, s.parsed.agreed, from, how, &o.state)
		if err != nil {
			return err
		}
		var viewer *codec.Viewer
		if s.parsed.hasViewer {
			viewer = &s.parsed.viewer
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
		s.parsed.ops = append(s.parsed.ops, o)
	}
	return nil
}

// readHeader reads what header.append wrote into dst, and finds the states that the record is a
// difference from.
func readHeader(r *wire.BitReader, k *schema.Kind, g int, now clock.Tick, agreed uint64, held *Group,
	how form, dst *motion.State) (base, prior *motion.State, err error) {
	*dst = motion.State{Tick: now, Vals: dst.Vals}
	if held != nil {
		if how == general && r.Bool() {
			base, prior, err = readRef(r, now, held)
		} else if r.Bad() {
			err = wire.ErrTruncated
		} else {
			base, prior, err = held.agreed(now, agreed)
		}
		if err != nil {
			return nil, nil, err
		}
		dst.Bound, dst.Level = base.Bound, base.Level
	}
	if how == ordinary {
		return base, prior, nil
	}
	if g == OwnerGroup || k.Groups[g].Moving {
		if r.Bool() {
			if r.Bool() {
				dst.Cut = ago(r, now)
			}
			if r.Bool() {
				dst.Start = ago(r, now)
			}
		}
		dst.Rest = r.Bool()
	}
	if g != OwnerGroup && k.Moves() && r.Bool() {
		was := dst.Bound
		if dst.Bound = uint8(r.Bits(boundB)); dst.Bound == was && !r.Bad() {
			return nil, nil, fault.Errorf("%w: bound %d said to be another", wire.ErrMalformed, was)
		}
	}
	if len(k.Levels) > 0 && k.Graded(g) && r.Bool() {
		was := dst.Level
		dst.Level = uint8(r.Bits(levelB))
		if (dst.Level == was || int(dst.Level) > len(k.Levels)) && !r.Bad() {
			return nil, nil, fault.Errorf("%w: level %d after %d of %d", wire.ErrMalformed, dst.Level, was, len(k.Levels))
		}
	}
	if r.Bad() {
		return nil, nil, wire.ErrTruncated
	}
	return base, prior, nil
}

// readRef reads a ref that the record names, and finds its states.
func readRef(r *wire.BitReader, now clock.Tick, held *Group) (base, prior *motion.State, err error) {
	age, gap := r.Uvarint(ageK), r.Uvarint(gapK)
	if r.Bad() {
		return nil, nil, wire.ErrTruncated
	}
	if age+1 >= uint64(now) || gap > priorTicks {
		return nil, nil, fault.Errorf("%w: a baseline %d ticks before tick %d, and one %d before that",
			wire.ErrMalformed, age+1, now, gap)
	}
	if base = held.At(now - clock.Tick(age) - 1); base == nil {
		return nil, nil, ErrBaseline
	}
	if gap != 0 && clock.Tick(gap) < base.Tick {
		prior = held.At(base.Tick - clock.Tick(gap))
	}
	if gap != 0 && prior == nil {
		return nil, nil, ErrBaseline
	}
	return base, prior, nil
}

// readBody reads a record's body into dst, whose header has been read. age and gap are those of
// codec.Base.
func readBody(r *wire.BitReader, k *schema.Kind, coder *codec.Coder, g int, base, prior, dst *motion.State,
	viewer *codec.Viewer) (age, gap clock.Tick, err error) {
	dst.Vals = dst.Vals[:k.Width(g)]
	from := codec.Base[int64]{Viewer: viewer}
	if base != nil {
		copy(dst.Vals, base.Vals)
		if dst.Tick-base.Tick < HistoryTicks {
			from.Vals, from.Age = base.Vals, dst.Tick-base.Tick
			if prior != nil && dst.Cut == 0 && base.Cut <= prior.Tick {
				from.Prior, from.Gap = prior.Vals, base.Tick-prior.Tick
			}
		}
	} else {
		clear(dst.Vals)
	}
	if dst.Level != 0 || base != nil && base.Level != 0 {
		readCoarse(r, k, coder, g, &from, dst)
	} else {
		codec.Read(r, coder, g, dst.Vals, &from, dst.Tick)
	}
	if r.Bad() {
		return 0, 0, wire.ErrTruncated
	}
	return from.Age, from.Gap, nil
}

// readCoarse is the end of readBody where a level is not the first.
func readCoarse(r *wire.BitReader, k *schema.Kind, coder *codec.Coder, g int, from *codec.Base[int64],
	dst *motion.State) {
	var rows [2][schema.MaxComps]int64
	level := int(dst.Level)
	row := func(i int, vals []int64) []int64 {
		if vals == nil {
			return nil
		}
		r := rows[i][:copy(rows[i][:], vals)]
		schema.Coarsen(k, g, level, r)
		schema.Shrink(k, g, level, r)
		return r
	}
	coarse := codec.Base[int64]{Vals: row(0, from.Vals), Prior: row(1, from.Prior), Age: from.Age,
		Gap: from.Gap, Viewer: from.Viewer}
	schema.Coarsen(k, g, level, dst.Vals)
	schema.Shrink(k, g, level, dst.Vals)
	codec.Read(r, coder.At(level), g, dst.Vals, &coarse, dst.Tick)
	schema.Grow(k, g, level, dst.Vals)
}

func ago(r *wire.BitReader, now clock.Tick) clock.Tick {
	n := r.Uvarint(agoK)
	if n >= uint64(now) {
		r.Fail()
		return 0
	}
	return now - clock.Tick(n)
}
