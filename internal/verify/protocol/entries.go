package protocol

import (
	"maps"
	"math/bits"
	"slices"
)

// agreed reports whether the server knew that its datagram of a tick was applied when it sent the
// one at hand.
func (r *Reader) agreed(tick int64) bool {
	if r.Head.Tick-tick > 63 || r.everything {
		return true // what is older counts whether it knew or not
	}
	by, ok := r.applied[tick]
	return ok && r.Head.HasAck && int16(by-r.Head.Latest) <= 0
}

func (r *Reader) entries() {
	b, tick := &r.bits, r.Head.Tick
	like, differ := !b.is(), false
	var others, n int64
	if like {
		r.note("the slots of the datagram before, all ordinary")
	} else {
		if differ = b.is(); differ {
			r.note("the slots of the datagram before, but for some")
		} else {
			r.note("the slots are listed")
		}
		others = b.unsigned(0)
		r.note("other entries: %d", others)
		if differ {
			n = b.unsigned(0)
			r.note("slots that differ: %d", n)
		} else {
			n = b.unsigned(2)
			r.note("ordinary updates: %d", n)
		}
	}
	if n > Slots || others > Slots {
		refuse("%d entries", max(n, others))
	}
	if !like && !differ && n+others == 0 {
		return
	}
	var before map[int]bool
	top := 0
	for t := tick - 1; t > 0 && t > tick-64 && before == nil; t-- {
		if slots := r.rode[t]; slots != nil && r.agreed(t) {
			before = slots
			for slot := range slots {
				top = max(top, slot+1)
			}
		}
	}
	if (like || differ) && before == nil {
		refuse("no datagram before")
	}
	log := func(n int) int { return max(bits.Len(uint(n))-1, 0) }
	order := func(whose string, expected int) int {
		if b.is() {
			expected = int(b.n(3))
		} else if before == nil {
			refuse("no datagram before")
		}
		r.note("distances %sof order %d", whose, expected)
		return expected
	}
	few := min(max(log(top)-1, 0), 7)
	ofOthers, ofList := few, few
	if others > 0 {
		ofOthers = order("between them ", few)
	}
	if !like && !differ && n > 0 {
		ofList = order("", min(log(max(top-int(n), 0)/int(n)*3/4), 7))
	}
	if r.near = false; r.Schema.Near {
		r.readViewer()
	}
	list := map[int]bool{}
	if like || differ {
		list = maps.Clone(before)
	}
	rode, told := map[int]bool{}, map[int]bool{}
	slot := int64(0)
	next := func(order int) {
		if slot += b.unsigned(order); slot >= Slots {
			refuse("slot %d", slot)
		}
	}
	for range others {
		next(ofOthers)
		delete(list, int(slot))
		told[int(slot)] = true
		if r.entry(int(slot)) {
			rode[int(slot)] = true
		}
		slot++
	}
	slot = 0
	for range n {
		next(ofList)
		if told[int(slot)] {
			refuse("slot %d twice", slot)
		}
		if list[int(slot)] {
			r.note("not slot %d", slot)
			delete(list, int(slot))
		} else {
			r.note("slot %d", slot)
			list[int(slot)] = true
		}
		slot++
	}
	for _, slot := range slices.Sorted(maps.Keys(list)) {
		e := r.held(slot)
		r.note("an ordinary update: entity %d", e.ID)
		g := OwnerGroup
		if !e.Exact {
			g = r.Schema.Kinds[e.Kind].usual()
		}
		r.update(e, []int{g}, true)
		rode[slot] = true
	}
	r.ops = append(r.ops, func() { r.rode[tick] = rode })
}

// held returns what a slot holds.
func (r *Reader) held(n int) *Entity {
	e := r.Slots[n]
	if e == nil || !e.Alive && r.Head.Tick > r.gone[n] {
		refuse("slot %d holds nothing", n)
	}
	if r.Head.Tick <= e.Since {
		refuse("slot %d holds entity %d since tick %d", n, e.ID, e.Since)
	}
	return e
}

// update reads the records of groups of an entity.
func (r *Reader) update(e *Entity, set []int, ordinary bool) {
	for _, g := range set {
		s := r.record(r.Schema.Kinds[e.Kind], &e.Groups[g], g, true, ordinary)
		r.ops = append(r.ops, func() {
			if e.Alive {
				e.Groups[g].take(s)
			}
		})
	}
}

// entry reads an entry that is no ordinary update, and reports whether it speaks of something that
// is there.
func (r *Reader) entry(n int) bool {
	b, tick := &r.bits, r.Head.Tick
	r.note("entry for slot %d", n)
	ones := 0
	for ones < 3 && b.is() {
		ones++
	}
	e := r.Slots[n]
	switch ones {
	case 0:
		e = r.held(n)
		r.note("an update: entity %d", e.ID)
		set := []int{OwnerGroup}
		if !e.Exact {
			set = r.someGroups(r.Schema.Kinds[e.Kind].groups())
			r.note("groups %v", set)
		}
		r.update(e, set, false)
	case 1:
		r.note("a first sight")
		r.sight(n)
	case 2:
		if e != nil {
			r.note("gone: entity %d", e.ID)
		}
		r.ops = append(r.ops, func() {
			r.gone[n] = max(r.gone[n], tick)
			if e := r.Slots[n]; e != nil && e.Alive && tick > e.Since {
				e.Alive = false
			}
		})
	case 3:
		e = r.held(n)
		set := r.someGroups(4)
		r.note("entity %d: groups %v must be forgotten", e.ID, set)
		for _, g := range set {
			if e.Exact || !r.Schema.Kinds[e.Kind].limited(g) {
				refuse("group %d, which is not limited, to be forgotten", g)
			}
		}
		id := e.ID
		r.ops = append(r.ops, func() { r.forget(n, id, set) })
	}
	return ones < 2
}

func (r *Reader) someGroups(n int) (set []int) {
	for g := range n {
		if r.bits.is() {
			set = append(set, g)
		}
	}
	if len(set) == 0 {
		refuse("no group")
	}
	return set
}

func (r *Reader) forget(n, id int, set []int) {
	e := r.Slots[n]
	if e == nil || !e.Alive || e.ID != id {
		return
	}
	for _, i := range set {
		g := &e.Groups[i]
		g.forgot = max(g.forgot, r.Head.Tick)
		g.States = slices.DeleteFunc(g.States, func(s State) bool { return s.Tick <= r.Head.Tick })
	}
}

func (r *Reader) sight(n int) {
	b, tick := &r.bits, r.Head.Tick
	kind := b.n(bits.Len(uint(len(r.Schema.Kinds) - 1)))
	if int(kind) >= len(r.Schema.Kinds) {
		refuse("kind %d", kind)
	}
	k := r.Schema.Kinds[kind]
	r.note("kind %d: %s", kind, k.Name)
	id := b.unsigned(10)
	if id == 0 || id >= 1<<32 {
		refuse("entity %d", id)
	}
	r.note("entity %d", id)
	now := Entity{ID: int(id), Kind: int(kind), Since: tick, Alive: true}
	now.Exact = b.is()
	now.Mine = now.Exact
	if !k.Ahead {
		r.note("the client's own: %v", now.Mine)
	} else if r.note("exact: %v", now.Exact); now.Exact {
		r.whose(&now)
	}
	var set, untold []int
	later := false
	for g := range k.groups() {
		later = later || k.later(g)
		set = append(set, g)
	}
	switch {
	case now.Exact:
		set = []int{OwnerGroup}
	case later:
		set = r.someGroups(k.groups())
		r.note("groups %v", set)
		for g := range k.groups() {
			if !slices.Contains(set, g) {
				if k.limited(g) {
					untold = append(untold, g)
				} else if !k.later(g) {
					refuse("a first sight without group %d", g)
				}
			}
		}
	}
	var states []State
	for _, g := range set {
		states = append(states, r.record(k, nil, g, false, false))
	}
	r.ops = append(r.ops, func() {
		if tick <= r.gone[n] {
			return // it went since
		}
		e := r.Slots[n]
		if e == nil || !e.Alive || e.ID != int(id) || e.Kind != int(kind) || e.Exact != now.Exact || e.Mine != now.Mine {
			for other, o := range r.Slots {
				if o != nil && o.Alive && o.ID == int(id) && other != n {
					if o.Since > tick {
						return // from an earlier life, overtaken by a later one
					}
					o.Alive, r.gone[other] = false, max(r.gone[other], tick)
				}
			}
			e = &now
			r.Slots[n] = e
		}
		for i, g := range set {
			e.Groups[g].take(states[i])
		}
		if len(untold) > 0 {
			r.forget(n, int(id), untold)
		}
	})
}

// whose reads whose an exact entity is.
func (r *Reader) whose(e *Entity) {
	b := &r.bits
	e.Mine = b.is()
	r.note("the client's own: %v", e.Mine)
	if e.Mine {
		return
	}
	if !b.is() {
		r.note("spawned by no command of the client's")
		return
	}
	if e.Spawned = r.Head.Tick - b.signed(3); e.Spawned < 1 || e.Spawned >= 1<<32 {
		refuse("an entity that was spawned at tick %d", e.Spawned)
	}
	if e.Number = b.unsigned(0); e.Number > 255 {
		refuse("number %d of a command's entities", e.Number)
	}
	r.note("spawned by the command of tick %d, as number %d", e.Spawned, e.Number)
}
