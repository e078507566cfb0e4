package snapshot

import (
	"math"
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
	lastTick   clock.Tick   // newest tick that Record noted
	changed    []clock.Tick // per property: last tick at which observers' integers changed
	ownChanged []clock.Tick // the same for the owner's
	group      [schema.MaxGroups + 1]groupTimes
	obs        []int32 // ring of HistoryTicks rows
	own        []int64 // ring of HistoryTicks rows, where owned or Exact
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

	// The teleports, starts and ticks at rest that the history remembers, for rewinding.
	cuts, starts, rests marks
}

// marks is a set of ticks of the last HistoryTicks.
type marks [HistoryTicks / 64]uint64

// put notes whether tick t, the newest, is in the set.
func (m *marks) put(t clock.Tick, in bool) {
	w, bit := &m[t%HistoryTicks/64], uint64(1)<<(t%64)
	if *w &^= bit; in {
		*w |= bit
	}
}

// newest returns the newest tick of the set up to t, 0 if there is none. now is the tick of the
// newest put.
func (m *marks) newest(t, now clock.Tick) clock.Tick {
	for t = min(t, now); t > 0 && now-t < HistoryTicks; {
		if m[t%HistoryTicks/64]<<(63-t%64) == 0 { // nothing from here to the beginning of the word
			t -= min(t, t%64+1)
			continue
		}
		if m[t%HistoryTicks/64]>>(t%64)&1 != 0 {
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

// A History keeps the recent past of every entity of a world: HistoryTicks ticks. Each tick of the
// server calls Begin, Add and Remove for the entities that came and went, and Record once for each
// that lives.
//
// Entities are addressed by a dense index that is used again after removal; IDs are not. Not safe
// for concurrent writing; reading is.
type History struct {
	kinds []*schema.Kind
	rules []rules // of each kind
	ents  []Entity
	free  []int32
	ended []int32 // removed entities that a rewind may still ask for
	index map[uint32]int32
	tick  clock.Tick
	near  bool // some place is coded relative to the viewer
	texts texts
	dense dense
}

// NewHistory returns an empty History of the kinds of coders, which it may share with others.
func NewHistory(coders []*codec.Coder) *History {
	kinds := kindsOf(coders)
	return &History{kinds: kinds, rules: rulesOf(coders), near: anyNear(kinds), index: map[uint32]int32{}}
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
// before plus 1. Until the next Begin each living entity must be recorded once.
func (h *History) Begin(tick clock.Tick) {
	if tick == 0 || h.tick != 0 && tick != h.tick+1 {
		panic(fault.Sprintf("snapshot: tick %d begins after tick %d", tick, h.tick))
	}
	h.tick = tick
	keep := h.ended[:0]
	for _, i := range h.ended {
		if e := &h.ents[i]; e.lastTick+HistoryTicks < tick {
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
	*e = Entity{ID: id, Kind: kind, Owned: owned, Spawned: h.tick, alive: true, Placed: k.Place >= 0, On: -1}
	e.changed = sized(old.changed, len(k.Props))
	e.obs = sized(old.obs, HistoryTicks*k.Obs)
	if k.Extrapolated && reckons(k) {
		e.flown = sized(old.flown, k.Obs)
	}
	e.Exact = !owned && h.rules[kind].exact
	if owned || e.Exact {
		e.ownChanged = sized(old.ownChanged, len(k.Props))
		e.own = sized(old.own, HistoryTicks*k.Sims)
	}
	h.index[id] = i
	h.dense.add(int(i), h.tick)
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

// Remove ends an entity's life. Its past, up to the newest Record, stays readable for HistoryTicks.
func (h *History) Remove(i int32) {
	e := &h.ents[i]
	if !e.alive {
		return
	}
	e.alive = false
	if k := h.kinds[e.Kind]; k.Refs && e.lastTick != 0 {
		h.unrefer(k, e.obsRow(k, e.lastTick))
	}
	delete(h.index, e.ID)
	h.ended = append(h.ended, i)
}

// Record notes the simulation integers of an entity at the current tick; cut says that it was
// teleported there. sim is not retained.
func (h *History) Record(i int32, sim []int64, cut bool) {
	e := &h.ents[i]
	k := h.kinds[e.Kind]
	now := h.tick
	e.lastTick = now
	prev, row := e.obsRow(k, now-1), e.obsRow(k, now)
	k.Observe(sim, row)
	if k.Refs {
		before := prev
		if e.Spawned == now {
			before = nil
		}
		h.refer(k, row, before)
	}
	for g := range k.Groups {
		e.recordGroup(h, k, g, prev, row, cut)
	}
	h.dense.note(int(i), e, k)
	if k.Place >= 0 {
		h.locate(i, k, row)
		h.dense.place(int(i), e, k, prev, row)
	}
	if k.Team >= 0 {
		e.Team = sim[k.Props[k.Team].At]
	}
	if len(e.own) > 0 {
		e.recordOwner(k, now, sim, cut)
	}
}

// recordGroup notes what a new row means for group g.
func (e *Entity) recordGroup(h *History, k *schema.Kind, g int, prev, row []int32, cut bool) {
	group, times, now := &k.Groups[g], &e.group[g], h.tick
	if e.Spawned == now {
		times.changed, times.moved = now, now
		e.fly(h, k, g)
		for _, p := range group.Props {
			e.changed[p] = now
		}
		return
	}
	same := true
	for c := group.At; c < group.At+group.N; c++ {
		if row[c] != prev[c] {
			same = false
			break
		}
	}
	if !same {
		for _, i := range group.Props {
			p := &k.Props[i]
			for c := p.ObsAt; c < p.ObsAt+p.Comps; c++ {
				if row[c] != prev[c] {
					e.changed[i] = now
					break
				}
			}
		}
		times.changed, times.moved = now, now
		if times.rest {
			times.rest, times.start = false, now
		}
	}
	if cut && group.Moving {
		times.cut, times.changed = now, now
	}
	times.cuts.put(now, times.cut == now)
	times.starts.put(now, times.start == now)
	if same && group.Moving && !times.rest && now-times.moved >= restTicks {
		times.rest, times.changed = true, now
	}
	times.rests.put(now, times.rest)
	e.fly(h, k, g)
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

// recordOwner notes what the owner receives at tick now.
func (e *Entity) recordOwner(k *schema.Kind, now clock.Tick, sim []int64, cut bool) {
	first := e.Spawned == now
	old, own := e.ownRow(k, now-1), e.ownRow(k, now)
	copy(own, sim)
	times := &e.group[OwnerGroup]
	if first {
		times.changed = now // also if the owner receives nothing but that it is there
	}
	for _, i := range k.Owned {
		p := &k.Props[i]
		for c := p.At; c < p.At+p.Comps; c++ {
			if first || own[c] != old[c] {
				e.ownChanged[i], times.changed, times.moved = now, now, now
				break
			}
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

func (e *Entity) obsRow(k *schema.Kind, t clock.Tick) []int32 {
	at := int(t%HistoryTicks) * k.Obs
	return e.obs[at : at+k.Obs]
}

func (e *Entity) ownRow(k *schema.Kind, t clock.Tick) []int64 {
	at := int(t%HistoryTicks) * k.Sims
	return e.own[at : at+k.Sims]
}

// has reports whether the history still has the entity's state at tick t.
func (h *History) has(e *Entity, t clock.Tick) bool {
	return t >= e.Spawned && t <= e.lastTick && h.tick-t < HistoryTicks
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

// maxVelocity bounds what Velocity returns, in millimetres a second.
const maxVelocity = 1 << 20

// Velocity returns how fast the place of entity i moved ago ticks ago, with all that carries it now,
// in millimetres a second; each component at most maxVelocity either way. It is the mean of over
// ticks, or of those since the entity was spawned or teleported; 0 where the history has none.
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
	if t+HistoryTicks <= e.lastTick {
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
