package snapshot

import (
	"cmp"
	"math/bits"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
)

// A handle is sent as 0 while the client does not see the entity that it names. Its ID would say
// that the entity is there, how many were spawned before it, and from record to record that it is
// still the same one. A handle that names nobody in the world is 0 for everyone.
//
// Bodies are coded once for all clients. One that differs for a client is coded for that client
// alone, and its baseline is what that client was sent: for each such handle the View notes the
// ticks at which it was hidden and shown. The receiver knows nothing of this.
//
// Three handles are sent as they are: those of the client's own avatar, which its prediction needs;
// parents, without which a place means nothing, so whoever lets a client see a child lets it see
// the parent; and teams.

// handles says which handles a client receives as 0.
type handles struct {
	slots    slotSet    // of entities that have handles
	list     []handle   // by rising piece and property
	followed clock.Tick // of the newest followSight: records are of such ticks
}

// handle is one handle that a client receives as 0, or did so lately.
type handle struct {
	piece  uint16 // first unit of its slot's piece of the ledger
	prop   uint8
	hidden bool // now
	n      uint8
	turns  [maxTurns]clock.Tick // when it was hidden and shown in turns, the oldest first
}

// maxTurns is how often a handle can be hidden and shown in RewindTicks, or since the newest state
// that the client is known to have. Beyond that it stays hidden for a while.
const maxTurns = 8

// namesOf returns the properties of a kind that are sent as 0 to who does not see what they name.
func namesOf(k *schema.Kind) (names uint64) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Handle && p.ObsAt >= 0 && i != k.Parent && i != k.Team {
			names |= 1 << uint(i)
		}
	}
	return names
}

// find returns where the handle of a slot is in the list, or belongs.
func (u *handles) find(piece uint16, prop int) (at int, ok bool) {
	return slices.BinarySearchFunc(u.list, int(piece)<<8|prop, func(x handle, key int) int {
		return cmp.Compare(int(x.piece)<<8|int(x.prop), key)
	})
}

// addHandles notes that slot n has an entity with handles.
func (v *View) addHandles(n uint16) {
	if v.handles == nil {
		v.handles = &handles{}
	}
	v.handles.slots.add(n)
}

// dropHandles forgets the handles of slot n, whose use ends.
func (v *View) dropHandles(n uint16) {
	u := v.handles
	if u == nil || !u.slots.has(n) {
		return
	}
	u.slots.remove(n)
	from, _ := u.find(v.slots.list[n].at, 0)
	to := from
	for to < len(u.list) && u.list[to].piece == v.slots.list[n].at {
		to++
	}
	u.list = slices.Delete(u.list, from, to)
}

// followSight brings handles in line with what the client sees now.
func (v *View) followSight() {
	u := v.handles
	if u == nil {
		return
	}
	for n := u.slots.from(0); n < Slots; n = u.slots.from(n + 1) {
		s := &v.slots.list[n]
		if !s.inSight() || !v.same(s) || !v.h.At(s.ent).alive {
			continue
		}
		e := v.h.At(s.ent)
		k := v.h.kinds[e.Kind]
		row := e.obsRow(k, v.h.tick)
		for set := v.h.rules[e.Kind].names; set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(set)
			id := uint32(row[k.Props[i].ObsAt])
			if id == 0 {
				continue // hidden or shown, it is 0
			}
			j, there := v.h.index[id]
			v.showHandle(uint16(n), i, k.Props[i].Group, there && v.Has(j))
		}
	}
	u.followed = v.h.tick
}

// showHandle notes whether the client may learn what the handle names that is property prop of the
// entity of slot n, in group g.
func (v *View) showHandle(n uint16, prop, g int, show bool) {
	u, s, now := v.handles, &v.slots.list[n], v.h.tick
	at, ok := u.find(s.at, prop)
	if !ok {
		if show {
			return
		}
		u.list = slices.Insert(u.list, at, handle{piece: s.at, prop: uint8(prop), hidden: !s.mentioned()})
	}
	x := &u.list[at]
	if s.exact() {
		g = OwnerGroup
	}
	acked := v.ledger.acked(s.unit(g))
	x.forget(min(acked, now-min(now, RewindTicks)))
	switch {
	case x.hidden != show:
	case !s.mentioned(): // nothing was sent of it yet
		x.hidden = !show
	case !show && (x.n == 0 || x.turns[x.n-1] < acked) && v.wasZero(s, prop, acked):
		x.turn(acked) // as it was 0 until now, there is nothing to send
	case !show || int(x.n)+2 <= maxTurns: // so that it can be hidden again at once
		x.turn(now)
		v.slots.quiet.remove(n)
	}
	if !x.hidden && x.n == 0 {
		u.list = slices.Delete(u.list, at, at+1)
	}
}

// wasZero reports whether handle prop of the entity of a slot was 0 at all ticks from one on of
// which there may be records.
func (v *View) wasZero(s *slot, prop int, from clock.Tick) bool {
	e := v.h.At(s.ent)
	if from == 0 || !v.h.has(e, from) {
		return false
	}
	k := v.h.kinds[e.Kind]
	for t := from; t <= v.handles.followed; t++ {
		if e.obsRow(k, t)[k.Props[prop].ObsAt] != 0 {
			return false
		}
	}
	return true
}

// turn hides the handle from the records of a tick on, or shows it.
func (x *handle) turn(now clock.Tick) {
	x.hidden = !x.hidden
	if x.n > 0 && x.turns[x.n-1] == now {
		x.n--
		return
	}
	x.turns[x.n] = now
	x.n++
}

// forget forgets the turns up to a tick: nobody asks for the time before.
func (x *handle) forget(to clock.Tick) {
	n := uint8(0)
	for n < x.n && x.turns[n] <= to {
		n++
	}
	copy(x.turns[:], x.turns[n:x.n])
	x.n -= n
}

// hiddenAt reports whether records of tick t had 0.
func (x *handle) hiddenAt(t clock.Tick) bool {
	hidden := x.hidden
	for n := x.n; n > 0 && x.turns[n-1] > t; n-- {
		hidden = !hidden
	}
	return hidden
}

// hides returns the handles of group g of a slot that were 0 in records of a tick.
func (v *View) hides(s *slot, g int, t clock.Tick) (set uint64) {
	if v.handles == nil || len(v.handles.list) == 0 || s.mine() {
		return 0
	}
	r := v.rules(s)
	names := r.names
	if g != OwnerGroup {
		names &= r.members[g]
	}
	for ; names != 0; names &= names - 1 {
		if at, ok := v.handles.find(s.at, bits.TrailingZeros64(names)); ok && v.handles.list[at].hiddenAt(t) {
			set |= names & -names
		}
	}
	return set
}

// turned returns when a handle of group g of a slot was hidden or shown last; 0: never, or long
// ago.
func (v *View) turned(s *slot, g int) (newest clock.Tick) {
	if v.handles == nil || len(v.handles.list) == 0 || s.mine() {
		return 0
	}
	r := v.rules(s)
	names := r.names
	if g != OwnerGroup {
		names &= r.members[g]
	}
	for ; names != 0; names &= names - 1 {
		if at, ok := v.handles.find(s.at, bits.TrailingZeros64(names)); ok {
			if x := &v.handles.list[at]; x.n > 0 {
				newest = max(newest, x.turns[x.n-1])
			}
		}
	}
	return newest
}

// changed returns the newest change of anything that a record of group g says to the client of a
// slot. A hidden handle does not count: its change would say that what it names did something.
func (v *View) changed(s *slot, e *Entity, g int) clock.Tick {
	if v.handles == nil {
		return e.group[g].changed
	}
	return v.changedBeside(s, e, g)
}

// changedBeside is changed where entities have handles.
func (v *View) changedBeside(s *slot, e *Entity, g int) clock.Tick {
	newest, hidden := v.turned(s, g), v.hides(s, g, v.h.tick)
	if hidden == 0 || g == OwnerGroup || v.h.kinds[e.Kind].Groups[g].Moving {
		return max(newest, e.group[g].changed) // of what moves there are records anyway
	}
	for _, i := range v.h.kinds[e.Kind].Groups[g].Props {
		if hidden>>uint(i)&1 == 0 {
			newest = max(newest, e.changed[i])
		}
	}
	return max(newest, e.Spawned)
}

// Hide makes those handles 0 in the observer integers of group g of a slot, or the simulation
// integers where g is OwnerGroup, that were 0 in the client's records of a tick.
func (v *View) Hide(n uint16, g int, t clock.Tick, vals []int64) {
	s := &v.slots.list[n]
	set := v.hides(s, g, t)
	if set == 0 {
		return
	}
	k := v.h.kinds[v.h.At(s.ent).Kind]
	for ; set != 0; set &= set - 1 {
		vals[k.Offset(g, bits.TrailingZeros64(set))] = 0
	}
}

// AsSent does what Hide does for the values of entity i, which e is at the client; for tests that
// compare both. It changes nothing where the view has given the slot of e to another entity.
func (v *View) AsSent(e *Replica, i int32, g int, t clock.Tick, vals []int64) {
	if int(e.slot) < len(v.slots.list) && v.slots.list[e.slot].ent == i {
		v.Hide(e.slot, g, t, vals)
	}
}

// withoutHidden copies the values of a record, and of its baseline, to rows without the handles
// that are hidden, and settles which of these changed.
func withoutHidden[T int32 | int64](k *schema.Kind, g int, hd *header, cur []T, b *codec.Base[T], set uint64,
	rows *[2][schema.MaxComps]T) ([]T, uint64) {
	cur = append(rows[0][:0], cur...)
	if b.Vals != nil {
		b.Vals = append(rows[1][:0], b.Vals...)
	}
	for left := hd.hides | hd.hid; left != 0; left &= left - 1 {
		bit := left & -left
		at := k.Offset(g, bits.TrailingZeros64(bit))
		if hd.hides&bit != 0 {
			cur[at] = 0
		}
		if hd.hid&bit != 0 && b.Vals != nil {
			b.Vals[at] = 0
		}
		changed := hd.hides&bit != hd.hid&bit
		switch {
		case hd.base == 0:
			changed = cur[at] != 0
		case b.Vals != nil:
			changed = cur[at] != b.Vals[at]
		}
		if set &^= bit; changed {
			set |= bit
		}
	}
	return cur, set
}
