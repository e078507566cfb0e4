package engine

import (
	"math"
	"reflect"
	"slices"
	"unsafe"

	"meanwhile/netcode/schema"
)

// A Store holds the entities of one kind in a world.
type Store struct {
	world    *World
	index    int // of the kind in Rules.Kinds
	kind     *Kind
	schema   *schema.Kind
	exact    bool      // what schema.Kind.Exact says
	ids      []ID      // of entities: a search reads one array and not one entity after the other
	entities []*entity // by rising ID
	pool     []*entity // removed ones, for reuse
	dead     []*entity // that bury will remove
	changed  []*entity // on the server: those that are new or have changed since Engine.Changed

	nothing unsafe.Pointer // the state that Get returns if there is no such entity
	lent    bool           // Get returned it in this callback
	blank   []int64        // zeros
	zero    []int64        // integers of a zero state; differ from zeros where a range does not contain 0
	ints    []int64        // scratch, for one state
}

// entity is one entity of a store. Pointers to it and to its state stay valid until it is removed.
type entity struct {
	id      ID
	state   unsafe.Pointer // as rules read and write it
	sims    []int64        // the state as simulation integers; unused in a client for what it does not own
	drawn   []int64        // in a client: the newest known observer integers of what it does not predict
	owned   bool           // on the server: a player's avatar
	settled unsafe.Pointer // on the server: the state as of the newest settle, see schema.Kind.Settle
	changed uint64         // on the server: properties that changed since Engine.Changed
	listed  bool           // in Store.changed
	index   int32          // see Change.Index
	gone    bool           // removed from the store
	touched bool           // in World.touched
	dead    bool           // despawned in this callback
	cutNow  bool           // teleported in this callback
	cut     bool           // on the server: teleported in this tick
	hidden  Tick           // in a client: the prediction of this tick despawned it; 0: not hidden

	predicted bool     // in a client: in the set that it predicts
	stale     bool     // in a client: what is known of it is newer, see Engine.NoteNews
	cutAt     Tick     // in a client: newest predicted tick at which it was teleported
	spawner   ID       // on the server: the player whose command spawned it; 0: none
	key       SpawnKey // on the server: that of its spawner's command

	externalChange   Tick // newest tick at which something other than its own command or Step changed it
	stepChange       Tick // newest tick at which Step changed it, on the server
	sideEffect       Tick // newest tick at which its own command changed something else, or tried to
	predictedDespawn Tick // newest tick at which its own predicted command despawned something
}

func newStore(w *World, i int) *Store {
	k := w.rules.Kinds[i]
	s := &Store{world: w, index: i, kind: w.rules.kinds[i], schema: k, exact: k.Exact(), nothing: w.rules.kinds[i].New(),
		blank: make([]int64, k.Sims), zero: make([]int64, k.Sims), ints: make([]int64, k.Sims)}
	k.Store(s.nothing, s.blank)
	k.Extract(s.nothing, s.zero)
	return s
}

// StateType returns the type of the states that the store's unsafe pointers point to.
func (s *Store) StateType() reflect.Type { return s.kind.Type }

// Get returns the state of entity id, valid until the callback returns. It never returns nil:
// without such an entity it returns a zero state. Writes to that, and in a client to what it does
// not own, are undone.
func (s *Store) Get(id ID) unsafe.Pointer {
	if w := s.world; w.looked>>s.index&1 != 0 && id != w.actor && id != 0 {
		w.targets.add(id)
	}
	if e := s.any(id); e != nil && !s.isHidden(e) {
		s.touch(e)
		return s.present(e)
	}
	s.wipe()
	s.lent = true
	return s.nothing
}

// Has reports whether entity id is of this kind and not hidden.
func (s *Store) Has(id ID) bool {
	e := s.any(id)
	return e != nil && !s.isHidden(e)
}

// Len returns the number of entities that are not hidden.
func (s *Store) Len() int {
	n := len(s.entities)
	for _, e := range s.entities {
		if s.isHidden(e) {
			n--
		}
	}
	return n
}

// Size returns the number of entities, hidden ones among them. Visit takes indices below it.
func (s *Store) Size() int { return len(s.entities) }

// Visit returns the i-th entity by rising ID with its state, like Get; a nil state if it is hidden.
func (s *Store) Visit(i int) (ID, unsafe.Pointer) {
	e := s.entities[i]
	if s.isHidden(e) {
		return 0, nil
	}
	s.touch(e)
	return e.id, s.present(e)
}

// present returns the state of an entity, brought up to date: see Engine.NoteNews.
func (s *Store) present(e *entity) unsafe.Pointer {
	if e.stale {
		s.update(e)
	}
	return e.state
}

// update gives an entity its newest known state.
func (s *Store) update(e *entity) {
	e.stale = false
	if drawn := s.world.known(e.id); drawn != nil {
		copy(e.drawn, drawn)
		s.schema.StoreDrawn(e.state, e.drawn)
	}
}

// Spawn makes an entity with the state at v and returns its ID. A client makes what its player's
// command spawns of kinds that clients run ahead. Other spawns of clients, and those of bots, make
// nothing and return 0.
func (s *Store) Spawn(v unsafe.Pointer) ID {
	w := s.world
	if w.phase.readOnly() {
		return 0
	}
	var e *entity
	var id ID
	if w.server {
		id = w.nextID
		w.nextID++
		e = s.insert(id)
		if s.exact && w.phase == acting {
			if w.born < MaxSpawns {
				e.spawner, e.key = w.actor, SpawnKey{w.tick, uint8(w.born)}
			}
			w.born++
		}
	} else {
		if id = s.spawnAhead(); id == 0 {
			return 0
		}
		e = s.obtain(id)
		e.predicted, e.hidden, e.cutAt = true, 0, 0
	}
	s.schema.Extract(v, e.sims)
	s.schema.Store(e.state, e.sims)
	if e.index = -1; w.server {
		s.schema.Copy(e.settled, e.state)
		s.noteChange(e, math.MaxUint64)
	}
	w.spawned = append(w.spawned, id)
	return id
}

// any finds an entity, hidden or not. Every Get calls it; slices.BinarySearchFunc makes Get a third
// slower.
func (s *Store) any(id ID) *entity {
	lo, hi := 0, len(s.ids)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if s.ids[m] < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(s.ids) && s.ids[lo] == id {
		return s.entities[lo]
	}
	return nil
}

// isHidden reports whether a predicted command despawned an entity by now. While earlier commands
// are predicted again the entity is still there, as they may reach it now.
func (s *Store) isHidden(e *entity) bool { return e.hidden != 0 && e.hidden <= s.world.tick }

// touch notes that the callback may write to an entity, or does something else with it that settle
// completes.
func (s *Store) touch(e *entity) {
	if !e.touched {
		e.touched = true
		s.world.touched = append(s.world.touched, touch{s, e})
		if m := s.world.mistakes; m != nil && m.tracing {
			m.noteReach(e.id)
		}
	}
}

// obtain finds an entity or adds it.
func (s *Store) obtain(id ID) *entity {
	if e := s.any(id); e != nil {
		return e
	}
	return s.insert(id)
}

// insert adds an entity. Most have the highest ID so far, so it searches from the end.
func (s *Store) insert(id ID) *entity {
	var e *entity
	if n := len(s.pool); n > 0 {
		e, s.pool = s.pool[n-1], s.pool[:n-1]
		*e = entity{id: id, state: e.state, settled: e.settled, listed: e.listed, sims: e.sims, drawn: e.drawn}
	} else {
		e = &entity{id: id, state: s.kind.New(), sims: make([]int64, s.schema.Sims)}
		if s.world.server {
			e.settled = s.kind.New()
		} else {
			e.drawn = make([]int64, s.schema.Obs)
		}
	}
	at := len(s.ids)
	for at > 0 && s.ids[at-1] > id {
		at--
	}
	s.entities, s.ids = slices.Insert(s.entities, at, e), slices.Insert(s.ids, at, id)
	return e
}

func (s *Store) remove(e *entity) {
	if i, ok := slices.BinarySearch(s.ids, e.id); ok && s.entities[i] == e {
		s.entities, s.ids = slices.Delete(s.entities, i, i+1), slices.Delete(s.ids, i, i+1)
		s.pool = append(s.pool, e)
		e.gone = true
	}
}

// fewDead is how many entities are removed one by one rather than in one pass over all.
const fewDead = 16

// bury removes the dead.
func (s *Store) bury() {
	if len(s.dead) <= fewDead {
		for _, e := range s.dead {
			s.remove(e)
		}
	} else {
		for _, e := range s.dead {
			e.gone = true
		}
		s.entities = slices.DeleteFunc(s.entities, func(e *entity) bool { return e.gone })
		s.ids = s.ids[:0]
		for _, e := range s.entities {
			s.ids = append(s.ids, e.id)
		}
		s.pool = append(s.pool, s.dead...)
	}
	s.dead = s.dead[:0]
}

// noteChange notes that properties of an entity changed; none where it was teleported.
func (s *Store) noteChange(e *entity, properties uint64) {
	e.changed |= properties
	if !e.listed {
		e.listed = true
		s.changed = append(s.changed, e)
	}
}

// wipe undoes writes to the state that Get returned for an entity that does not exist.
func (s *Store) wipe() {
	if !s.lent {
		return
	}
	s.lent = false
	s.schema.Extract(s.nothing, s.ints)
	if !slices.Equal(s.ints, s.zero) {
		if !s.world.server {
			s.world.noteSideEffect()
		}
	}
	s.schema.Store(s.nothing, s.blank)
}

// restore undoes writes to an entity that a client does not own.
func (s *Store) restore(e *entity) {
	vals := s.world.ints[:s.schema.Sims]
	s.schema.Extract(e.state, vals)
	s.schema.StoreDrawn(e.state, e.drawn)
	s.schema.Extract(e.state, s.ints)
	if !slices.Equal(vals, s.ints) {
		s.world.noteSideEffect()
		if m := s.world.mistakes; m != nil {
			m.noteWrite(s.world, s, e, vals, s.ints)
		}
	}
}
