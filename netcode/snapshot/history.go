package snapshot

import (
	"math"
	"math/bits"
	"slices"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// restTicks is how many ticks a group must stay unchanged before its records say that it rests. It
// is as long as the longest interval between two packets at the usual rates; more would only delay
// the flag.
const restTicks = 6

// Entity is the shared history of one entity. Its values live here once, however many clients see
// it.
type Entity struct {
	ID      uint32
	Kind    int
	Owned   bool // it is a player's avatar
	Exact   bool // others than its player may receive it at simulation precision, see View.Enter
	Spawned clock.Tick
	X, Y    int32 // place now in millimetres, of the kind's first pos property; saturated
	Placed  bool  // the kind has such a property
	On      int32 // index of the parent that its place is relative to, -1: none that is there
	Team    int64 // value of the kind's team property, 0: none

	// By is the avatar of the player whose command spawned it, 0: none; Spawn is which command.
	By    uint32
	Spawn Spawn

	alive      bool
	awake      bool         // it is in History.awake
	asleep     bool         // its state is that of lastTick since then
	lastTick   clock.Tick   // newest tick that has a row
	changed    []clock.Tick // per property: last tick at which observers' integers changed
	ownChanged []clock.Tick // the same for the owner's
	group      [schema.MaxGroups + 1]groupTimes
	obs        []int32 // ring of HistoryTicks rows, or a single one, see rowOf
	past       []int32 // the rows that those replaced, if obs is a ring and the kind is rewound
	own        []int64 // the same of the owner's integers, where owned or Exact
	flown      []int64 // observers' values at the beginning of each group's flight
}

// A Spawn says which command of a player spawned an entity.
type Spawn struct {
	Tick clock.Tick // of the command; 0: none spawned it, or one of another player's
	N    uint8      // how many entities of kinds with schema.Kind.Exact the command spawned before this one
}

// groupTimes is when things happened to one group of one entity; 0: never.
type groupTimes struct {
	changed clock.Tick // newest change of anything that a record of this group says
	moved   clock.Tick // newest change of a value
	start   clock.Tick // first movement after the newest rest
	cut     clock.Tick // newest teleport
	// flight is since when the group's dead reckoned properties go on from Entity.flown by their
	// velocity; only of kinds that cannot be hit.
	flight clock.Tick
	rest   bool // it rests now

	// The changes of values, teleports, starts and ticks at rest that the history remembers, for
	// rewinding, and the newest change before those.
	moves, cuts, starts, rests marks
	early                      clock.Tick
}

// forget notes that ticks up to to, of which last is the newest that was recorded, are about to
// take the places of older ones.
func (gt *groupTimes) forget(last, to clock.Tick) {
	if to >= RewindTicks {
		gt.early = max(gt.early, gt.moves.newest(to-RewindTicks, last))
	}
}

// marks is a set of ticks of the last RewindTicks.
type marks [RewindTicks / 64]uint64

// put notes whether tick t, the newest, is in the set.
func (m *marks) put(t clock.Tick, in bool) {
	w, bit := &m[t%RewindTicks/64], uint64(1)<<(t%64)
	if *w &^= bit; in {
		*w |= bit
	}
}

// fill notes whether the ticks from one to another, which are in order and less than RewindTicks
// apart, are in the set.
func (m *marks) fill(from, to clock.Tick, in bool) {
	for from <= to {
		end := min(from|63, to)
		w, bits := &m[from%RewindTicks/64], (uint64(2)<<(end%64)-1)&^(uint64(1)<<(from%64)-1)
		if *w &^= bits; in {
			*w |= bits
		}
		from = end + 1
	}
}

// newest returns the newest tick of the set up to t, 0 if there is none. now is the tick of the
// newest put.
func (m *marks) newest(t, now clock.Tick) clock.Tick {
	for t = min(t, now); t > 0 && now-t < RewindTicks; {
		if m[t%RewindTicks/64]<<(63-t%64) == 0 { // nothing from here to the beginning of the word
			t -= min(t, t%64+1)
			continue
		}
		if m[t%RewindTicks/64]>>(t%64)&1 != 0 {
			return t
		}
		t--
	}
	return 0
}

// Cut returns the tick of the entity's newest teleport, or 0.
func (e *Entity) Cut() (newest clock.Tick) {
	for g := range e.group {
		newest = max(newest, e.group[g].cut)
	}
	return newest
}

// Alive reports whether the entity has not been removed.
func (e *Entity) Alive() bool { return e.alive }

// A History keeps the recent past of every entity of a world: HistoryTicks ticks, and RewindTicks
// of what can be hit. Each tick of the server calls Begin, Add and Remove for the entities that
// came and went, Record or Update for each that is new or has changed, and End. What rests costs
// nothing.
//
// Entities are addressed by a dense index that is used again after removal; IDs are not. Not safe
// for concurrent writing; reading is.
type History struct {
	kinds    []*schema.Kind
	rules    []rules // of each kind
	ents     []Entity
	free     []int32
	ended    []int32                // removed entities that a rewind may still ask for
	awake    []int32                // entities that do not rest: End records them
	row      [schema.MaxComps]int32 // scratch
	index    map[uint32]int32
	tick     clock.Tick
	near     bool // some place is coded relative to the viewer
	texts    texts
	departed departed
	dense    dense
	swept    swept
}

// NewHistory returns an empty History of the kinds of coders, which it may share with others.
func NewHistory(coders []*codec.Coder) *History {
	kinds := kindsOf(coders)
	return &History{kinds: kinds, rules: rulesOf(coders), near: anyNear(kinds), index: map[uint32]int32{},
		swept: swept{margin: marginOf(kinds)}}
}

// Tick returns the newest recorded tick.
func (h *History) Tick() clock.Tick { return h.tick }

// Len returns the number above the largest entity index.
func (h *History) Len() int { return len(h.ents) }

// At returns the entity with a dense index.
func (h *History) At(i int32) *Entity { return &h.ents[i] }

// Kind returns the schema of an entity.
func (h *History) Kind(e *Entity) *schema.Kind { return h.kinds[e.Kind] }

// Find returns the dense index of an entity that is alive.
func (h *History) Find(id uint32) (int32, bool) {
	i, ok := h.index[id]
	return i, ok
}

// Touch makes the owner's record of an entity due once more although nothing in it changed: its
// owner may have predicted a change that did not happen. Call it after Record in the same tick.
func (h *History) Touch(i int32) {
	if e := &h.ents[i]; e.Owned {
		e.group[OwnerGroup].changed = h.tick
	}
}

// Begin starts the recording of a tick. The first may be any but 0; each later one is the tick
// before plus 1.
func (h *History) Begin(tick clock.Tick) {
	if tick == 0 || h.tick != 0 && tick != h.tick+1 {
		panic(fault.Sprintf("snapshot: tick %d begins after tick %d", tick, h.tick))
	}
	h.tick = tick
	keep := h.ended[:0]
	for _, i := range h.ended {
		if e := &h.ents[i]; e.lastTick+RewindTicks < tick {
			h.free = append(h.free, i)
		} else {
			keep = append(keep, i)
		}
	}
	h.ended = keep
}

// Add starts the history of a new entity at the tick that Begin named. Its first Record must
// follow.
func (h *History) Add(id uint32, kind int, owned bool) int32 {
	var i int32
	if n := len(h.free); n > 0 {
		i, h.free = h.free[n-1], h.free[:n-1]
	} else {
		i = int32(len(h.ents))
		h.ents = append(h.ents, Entity{})
	}
	e, k := &h.ents[i], h.kinds[kind]
	old := *e
	*e = Entity{ID: id, Kind: kind, Owned: owned, Spawned: h.tick, alive: true, awake: old.awake, Placed: k.Place >= 0,
		On: -1}
	e.changed = sized(old.changed, len(k.Props))
	e.obs, e.past = sized(old.obs, k.Obs), old.past[:0]
	if k.Extrapolated && reckons(k) {
		e.flown = sized(old.flown, k.Obs)
	}
	e.Exact = !owned && h.rules[kind].exact
	if owned || e.Exact {
		e.ownChanged = sized(old.ownChanged, len(k.Props))
		e.own = sized(old.own, k.Sims)
	}
	h.index[id] = i
	h.dense.add(int(i), h.tick)
	h.swept.begin(int(i))
	return i
}

// reckons reports whether anything of a kind is dead reckoned.
func reckons(k *schema.Kind) bool {
	return slices.ContainsFunc(k.Groups, func(g schema.Group) bool { return g.Reckoned != 0 })
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Remove ends an entity's life. Its past, up to the newest Record, stays readable for RewindTicks.
func (h *History) Remove(i int32) {
	e := &h.ents[i]
	if !e.alive {
		return
	}
	e.alive = false
	h.dense.placed[i] = false
	h.departed.put(i)
	if e.asleep {
		e.asleep = false
		e.goOn(h.kinds[e.Kind], h.tick-1)
		e.lastTick = h.tick - 1
	}
	if k := h.kinds[e.Kind]; k.Refs && e.lastTick != 0 {
		h.unrefer(k, e.obsRow(k, e.lastTick))
	}
	delete(h.index, e.ID)
	h.ended = append(h.ended, i)
}

// Record notes the simulation integers of an entity at the current tick; cut says that it was
// teleported there. sim is not retained.
func (h *History) Record(i int32, sim []int64, cut bool) { h.Update(i, sim, math.MaxUint64, cut) }

// Update is Record for a caller that knows which properties changed since the entity was last
// recorded: those of the set changed. All others are as they were. In a new entity all are taken
// for changed.
func (h *History) Update(i int32, sim []int64, changed uint64, cut bool) {
	e := &h.ents[i]
	k, now, last := h.kinds[e.Kind], h.tick, e.lastTick
	if e.asleep = false; !e.awake {
		e.awake = true
		h.awake = append(h.awake, i)
	}
	if e.Spawned == now {
		changed = math.MaxUint64
	}
	seen := h.observe(e, k, sim, changed)
	owned := changed
	if changed == math.MaxUint64 && e.Spawned != now {
		owned = e.differs(k, sim)
	}
	if e.Spawned != now {
		if seen != 0 || owned != 0 && len(e.own) > 0 {
			e.spread(k, h.rules[e.Kind].rewound)
		}
		e.goOn(k, now-1)
	}
	e.lastTick = now
	row := e.obsRow(k, now)
	e.keep(k, now)
	copy(row, h.row[:k.Obs])
	for g := range k.Groups {
		if times := &e.group[g]; e.recordGroup(h, k, g, seen&h.rules[e.Kind].members[g], cut) {
			h.dense.note(i, times, k.Groups[g].Moving)
		}
	}
	if k.Place >= 0 {
		h.locate(i, k, row)
		h.dense.place(int(i), e, k, e.obsRow(k, now-1), row)
		if h.rules[e.Kind].swept {
			h.sweep(i, e, k, last, e.obsRow(k, now-1), row)
		}
	}
	if k.Team >= 0 && changed != 0 {
		e.Team = sim[k.Props[k.Team].At]
	}
	if len(e.own) > 0 {
		e.recordOwner(k, now, sim, owned, cut)
	}
}

// End ends the recording of a tick: what was not recorded is as it was in the tick before. Callers
// that record every living entity in each tick need not call it.
func (h *History) End() {
	keep := h.awake[:0]
	for _, i := range h.awake {
		e := &h.ents[i]
		if e.alive && e.lastTick != h.tick {
			h.Update(i, nil, 0, false)
		}
		if e.asleep = e.alive && h.rests(e); e.alive && !e.asleep {
			keep = append(keep, i)
		} else {
			e.awake = false
		}
	}
	h.awake = keep
}

// rests reports whether nothing about an entity changes until it is recorded again: it does not
// move, and nothing carries it.
func (h *History) rests(e *Entity) bool {
	k := h.kinds[e.Kind]
	if e.flown != nil {
		return false // its flight goes on though nothing changes
	}
	if k.Parent >= 0 {
		if at := k.Props[k.Parent].ObsAt; at >= 0 && e.obsRow(k, h.tick)[at] != 0 {
			return false
		}
	}
	for g := range k.Groups {
		if k.Groups[g].Moving && !e.group[g].rest {
			return false
		}
	}
	return true
}

// observe writes the entity's row of the current tick to h.row, and returns the set of the
// properties that differ from the row before, of those that may have changed.
func (h *History) observe(e *Entity, k *schema.Kind, sim []int64, changed uint64) (differ uint64) {
	row := h.row[:k.Obs]
	if e.Spawned == h.tick {
		k.Observe(sim, row)
		if k.Refs {
			h.refer(k, row, nil, changed)
		}
		return math.MaxUint64
	}
	prev := e.obsRow(k, h.tick-1)
	copy(row, prev)
	if changed == 0 {
		return 0
	}
	k.ObserveSome(sim, row, changed)
	if k.Refs {
		h.refer(k, row, prev, changed)
	}
	for set := changed & h.rules[e.Kind].observed; set != 0; set &= set - 1 {
		p := &k.Props[bits.TrailingZeros64(set)]
		for c := p.ObsAt; c < p.ObsAt+p.Comps; c++ {
			if row[c] != prev[c] {
				differ |= set & -set
				break
			}
		}
	}
	return differ
}

// differs returns the set of the properties whose simulation integers differ from the newest row of
// them, if there are any.
func (e *Entity) differs(k *schema.Kind, sim []int64) (differ uint64) {
	if len(e.own) == 0 {
		return 0
	}
	old := e.ownRow(k, e.lastTick)
	for i := range k.Props {
		p := &k.Props[i]
		if !slices.Equal(sim[p.At:p.At+p.Comps], old[p.At:p.At+p.Comps]) {
			differ |= 1 << uint(i)
		}
	}
	return differ
}

// spread gives the entity a whole ring of rows in place of a single one.
func (e *Entity) spread(k *schema.Kind, rewound bool) {
	if len(e.obs) == k.Obs {
		if rewound {
			e.past = repeated(append(e.past[:0], e.obs...))
		}
		e.obs = repeated(e.obs)
	}
	if len(e.own) == k.Sims {
		e.own = repeated(e.own)
	}
}

// repeated returns HistoryTicks copies of a row, in its memory if that is large enough.
func repeated[T int32 | int64](row []T) []T {
	all := row[:0]
	if cap(row) < HistoryTicks*len(row) {
		all = make([]T, 0, HistoryTicks*len(row))
	}
	for range HistoryTicks {
		all = append(all, row...)
	}
	return all
}

// keep keeps the row that the one of tick t is to replace.
func (e *Entity) keep(k *schema.Kind, t clock.Tick) {
	if len(e.past) > 0 {
		copy(rowOf(e.past, k.Obs, t), rowOf(e.obs, k.Obs, t))
	}
}

// goOn writes rows up to tick to, as the newest one is.
func (e *Entity) goOn(k *schema.Kind, to clock.Tick) {
	if e.lastTick >= to {
		return
	}
	from := max(e.lastTick+1, to-min(to, RewindTicks-1))
	obs, own := e.obsRow(k, e.lastTick), e.ownRow(k, e.lastTick)
	for t := from; t <= to; t++ {
		if len(e.obs) > k.Obs {
			e.keep(k, t)
			copy(rowOf(e.obs, k.Obs, t), obs)
		}
		if len(e.own) > k.Sims {
			copy(rowOf(e.own, k.Sims, t), own)
		}
	}
	for g := range e.group {
		times := &e.group[g]
		times.forget(e.lastTick, to)
		times.moves.fill(from, to, false)
		times.cuts.fill(from, to, false)
		times.starts.fill(from, to, false)
		times.rests.fill(from, to, times.rest)
	}
	e.lastTick = to
}

// recordGroup notes what a new row means for group g, of which the properties of a set changed. It
// reports whether a record of the group says anything new.
func (e *Entity) recordGroup(h *History, k *schema.Kind, g int, changed uint64, cut bool) (news bool) {
	group, times, now := &k.Groups[g], &e.group[g], h.tick
	times.forget(now-1, now)
	times.moves.put(now, changed != 0)
	for set := changed; set != 0; set &= set - 1 {
		e.changed[bits.TrailingZeros64(set)] = now
	}
	if e.Spawned == now {
		times.changed, times.moved = now, now
		e.fly(h, k, g)
		return true
	}
	if changed != 0 {
		times.changed, times.moved = now, now
		if times.rest {
			times.rest, times.start = false, now
		}
	}
	if !group.Moving {
		return changed != 0 // it neither rests nor is it cut
	}
	if cut {
		times.cut, times.changed = now, now
	}
	times.cuts.put(now, times.cut == now)
	times.starts.put(now, times.start == now)
	if changed == 0 && !times.rest && now-times.moved >= restTicks {
		times.rest, times.changed = true, now
	}
	times.rests.put(now, times.rest)
	e.fly(h, k, g)
	return times.changed == now
}

// locate notes where entity i is, for distances.
func (h *History) locate(i int32, k *schema.Kind, row []int32) {
	e := &h.ents[i]
	p := k.PlaceProp()
	mm := p.Millimetres()
	e.X, e.Y, e.On = millimetres(row[p.ObsAt], mm), millimetres(row[p.ObsAt+1], mm), -1
	if k.Parent < 0 || k.Props[k.Parent].ObsAt < 0 {
		return
	}
	// Distances need no more of the parent than its place of this tick or the one before, without
	// its rotation.
	if j, ok := h.index[uint32(row[k.Props[k.Parent].ObsAt])]; ok && j != i {
		e.On = j
		e.X, e.Y = addMillimetres(e.X, h.ents[j].X), addMillimetres(e.Y, h.ents[j].Y)
	}
}

// recordOwner notes what the owner receives at tick now, of which the properties of a set changed.
func (e *Entity) recordOwner(k *schema.Kind, now clock.Tick, sim []int64, changed uint64, cut bool) {
	first := e.Spawned == now
	own := e.ownRow(k, now)
	switch {
	case changed != 0 || first:
		copy(own, sim)
	case len(e.own) > k.Sims:
		copy(own, e.ownRow(k, now-1))
	}
	times := &e.group[OwnerGroup]
	if first {
		times.changed = now // also if the owner receives nothing but that it is there
	}
	for _, i := range k.Owned {
		if first || changed>>uint(i)&1 != 0 {
			e.ownChanged[i], times.changed, times.moved = now, now, now
		}
	}
	if cut {
		times.cut, times.changed = now, now
	}
	times.cuts.put(now, times.cut == now)
}

// fly notes since when the dead reckoned properties of group g go on by their velocity: a record of
// a projectile may be older than the history.
func (e *Entity) fly(h *History, k *schema.Kind, g int) {
	group, gt := &k.Groups[g], &e.group[g]
	if e.flown == nil || group.Reckoned == 0 {
		return
	}
	var buf [schema.MaxComps]int64
	is := buf[:0]
	for _, v := range e.obsRow(k, h.tick)[group.At : group.At+group.N] {
		is = append(is, int64(v))
	}
	from := e.flown[group.At : group.At+group.N]
	if gt.flight == 0 || gt.cut == h.tick || !motion.Flies(k, group, &motion.State{Tick: gt.flight, Vals: from},
		is, h.tick) {
		gt.flight = h.tick
		copy(from, is)
	}
}

func millimetres(v int32, mm float64) int32 {
	f := math.Floor(float64(float64(v) * mm))
	return int32(min(max(f, math.MinInt32), math.MaxInt32))
}

func addMillimetres(a, b int32) int32 {
	return int32(min(max(int64(a)+int64(b), math.MinInt32), math.MaxInt32))
}

// obsRow returns the observer integers at tick t, which the history has.
func (e *Entity) obsRow(k *schema.Kind, t clock.Tick) []int32 {
	return rowOf(e.obs, k.Obs, min(t, e.lastTick))
}

// ownRow returns the simulation integers at tick t.
func (e *Entity) ownRow(k *schema.Kind, t clock.Tick) []int64 {
	return rowOf(e.own, k.Sims, min(t, e.lastTick))
}

// rowOf returns the row of a tick of a ring of HistoryTicks rows. An entity that never changed has
// a single row, which is that of all its ticks.
func rowOf[T int32 | int64](rows []T, width int, t clock.Tick) []T {
	if len(rows) <= width {
		return rows
	}
	at := int(t%HistoryTicks) * width
	return rows[at : at+width : at+width]
}

// Places calls f for every entity that is alive and has a place, with its index, its place in
// millimetres, and the index of what it is on, or -1.
func (h *History) Places(f func(i, x, y, on int32)) {
	for i, placed := range h.dense.placed {
		if placed {
			f(int32(i), h.dense.x[i], h.dense.y[i], h.dense.on[i])
		}
	}
}

// has reports whether the history still has the entity's state at tick t.
func (h *History) has(e *Entity, t clock.Tick) bool {
	return t >= e.Spawned && (t <= e.lastTick || e.asleep && t <= h.tick) && h.tick-t < HistoryTicks
}

// Values writes the observer integers of group g of an entity at tick t into dst, or the simulation
// integers where g is OwnerGroup. ok is false if the history does not have them, yet or any more.
func (h *History) Values(i int32, g int, t clock.Tick, dst []int64) (vals []int64, ok bool) {
	e := &h.ents[i]
	k := h.kinds[e.Kind]
	if !h.has(e, t) || g == OwnerGroup && len(e.own) == 0 {
		return nil, false
	}
	if g == OwnerGroup {
		return append(dst[:0], e.ownRow(k, t)...), true
	}
	dst = dst[:0]
	for _, v := range e.obsRow(k, t)[k.Groups[g].At : k.Groups[g].At+k.Groups[g].N] {
		dst = append(dst, int64(v))
	}
	return dst, true
}

// Past is Values for a rewind: of what can be hit it reaches back RewindTicks. at is the tick whose
// values it returns: t or, if that is before what the history has, the oldest one that it has.
func (h *History) Past(i int32, g int, t clock.Tick, dst []int64) (vals []int64, at clock.Tick, ok bool) {
	e := &h.ents[i]
	k := h.kinds[e.Kind]
	last := e.lastTick
	if e.asleep {
		last = h.tick
	}
	back := clock.Tick(HistoryTicks)
	if h.rules[e.Kind].rewound {
		back = RewindTicks
	}
	if at = max(t, e.Spawned, h.tick-min(h.tick, back-1)); at > last {
		return nil, at, false
	}
	row := e.obsRow(k, at)
	if len(e.past) > 0 && e.lastTick-min(at, e.lastTick) >= HistoryTicks {
		row = rowOf(e.past, k.Obs, at)
	}
	dst = dst[:0]
	for _, v := range row[k.Groups[g].At : k.Groups[g].At+k.Groups[g].N] {
		dst = append(dst, int64(v))
	}
	return dst, at, true
}

// maxVelocity bounds what Velocity returns, in millimetres a second.
const maxVelocity = 1 << 20

// Velocity returns how fast the place of entity i moved ago ticks ago, with all that carries it
// now, in millimetres a second; each component at most maxVelocity either way. It is the mean of
// over ticks, or of those since the entity was spawned or teleported; 0 where the history has none.
func (h *History) Velocity(i int32, ago, over clock.Tick) (x, y int64) {
	to := h.tick - min(ago, h.tick)
	for range schema.MaxParents + 1 {
		e := &h.ents[i]
		k := h.kinds[e.Kind]
		from := max(to-min(over, to), e.Spawned, e.Cut())
		if e.Placed && from < to && h.has(e, from) {
			p := k.PlaceProp()
			was, is, mm := e.obsRow(k, from)[p.ObsAt:], e.obsRow(k, to)[p.ObsAt:], p.Millimetres()
			speed := func(c int) int64 {
				moved := int64(millimetres(is[c], mm)) - int64(millimetres(was[c], mm))
				return moved * int64(k.Rate) / int64(to-from)
			}
			x, y = x+speed(0), y+speed(1)
		}
		if i = e.On; i < 0 {
			break
		}
	}
	return min(max(x, -maxVelocity), maxVelocity), min(max(y, -maxVelocity), maxVelocity)
}

// ChangedIn returns the newest tick at which group g changed.
func (e *Entity) ChangedIn(g int) clock.Tick { return e.group[g].moved }

// ChangedBy returns the newest tick up to t at which group g changed, if the history remembers t;
// else one before the ticks that it remembers.
func (e *Entity) ChangedBy(g int, t clock.Tick) clock.Tick {
	if newest := e.group[g].moves.newest(t, e.lastTick); newest != 0 {
		return newest
	}
	return e.group[g].early
}

// TimesAt returns the newest teleport and start of movement of group g up to tick t, which a record
// of tick t had; 0 if the history remembers none.
func (e *Entity) TimesAt(g int, t clock.Tick) (cut, start clock.Tick) {
	gt := &e.group[g]
	return gt.cuts.newest(t, e.lastTick), gt.starts.newest(t, e.lastTick)
}

// RestedAt reports whether group g was at rest at tick t, as a record of tick t had it. Of a tick
// before those that the history remembers only a rest that still lasts is known.
func (e *Entity) RestedAt(g int, t clock.Tick) bool {
	gt := &e.group[g]
	if e.asleep {
		t = min(t, e.lastTick)
	}
	if t+RewindTicks <= e.lastTick {
		return gt.rest && gt.moved+restTicks <= t
	}
	return gt.rests.newest(t, e.lastTick) == t
}

// times returns what a record of group g at the current tick has besides its values, for a client
// that holds the group as of tick base: the newest teleport and start of movement after base, 0 if
// there is none, and whether it rests.
func (e *Entity) times(g int, base clock.Tick) (cut, start clock.Tick, rest bool) {
	gt := &e.group[g]
	if gt.cut > base {
		cut = gt.cut
	}
	if gt.start > base {
		start = gt.start
	}
	return cut, start, gt.rest
}

// cutBetween reports whether there was a teleport after tick a and up to tick b: a state before it
// does not predict what comes after.
func (e *Entity) cutBetween(g int, a, b clock.Tick) bool {
	gt := &e.group[g]
	return gt.cut > a && gt.cuts.newest(b, e.lastTick) > a
}
