package engine

import (
	"slices"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/schema"
)

// World is what rules see: on the server everything, in a client what it knows. It is not safe for
// concurrent use, and only valid inside the callback that it was passed to.
type World struct {
	rules   *Rules
	stores  []*Store
	tick    Tick // that rules see
	now     Tick // that is computed: another one while a queued command runs
	server  bool
	seed    uint64 // of Act and Step: known to clients, so that their prediction draws the same numbers
	secret  uint64 // of Join and Referee
	rand    geom.Rand
	phase   Phase
	actor   ID
	replay  bool // a command is predicted again: what happens only once is left out
	seer    Seer
	sights  []*Sight // of the ranges over Seen that are open
	looks   int
	touched []touched
	nextID  ID
	spawned []ID
	removed []ID
	events  []Emitted
	spare   [][]int64
	ints    []int64
	floats  []float64 // values of what carries something
	stats   Stats

	spawnedBefore, emittedBefore int // lengths when the callback began
}

// Stats counts what rules did that had no effect.
type Stats struct {
	Discarded uint64 // entities that were written to and are not predicted, or not there
	Unspawned uint64 // spawns during prediction, or by a bot
	Panics    uint64 // callbacks that panicked and were undone
}

// Phase is the callback that runs.
type Phase uint8

// The phases of a tick.
const (
	Idle Phase = iota
	Joining
	Leaving
	Acting
	Stepping
	Refereeing
	Thinking // a bot
)

// Seer answers what a player saw.
type Seer interface {
	// Seen adds to dst every entity of a kind that player me saw, by rising ID, me itself left out.
	Seen(kind int, me ID, dst *Sight)
}

// A Sight collects what a player saw of one kind.
type Sight struct {
	store *Store
	ids   []ID
	drawn []int64
}

// Add notes an entity and what was drawn of it: observer integers in 1/schema.SubSteps, which are copied.
func (s *Sight) Add(id ID, drawn []int64) {
	s.ids = append(s.ids, id)
	s.drawn = append(s.drawn, drawn...)
}

// Len returns how many entities were seen.
func (s *Sight) Len() int { return len(s.ids) }

// Now returns the present state of the i-th entity, nil if it is gone since.
func (s *Sight) Now(i int) unsafe.Pointer {
	if r := s.store.any(s.ids[i]); r != nil {
		return r.ptr
	}
	return nil
}

// Read writes what was seen of the i-th entity to v and returns its ID.
func (s *Sight) Read(i int, v unsafe.Pointer) ID {
	n := s.store.schema.Obs
	s.store.schema.StoreDrawn(v, s.drawn[i*n:(i+1)*n])
	return s.ids[i]
}

// Close ends a look; a panic leaves it to the next callback.
func (s *Sight) Close() { s.store.world.looks-- }

// look asks the seer. Ranges over what was seen may be nested, so each has memory of its own.
func (w *World) look(s *Store, me ID) *Sight {
	if w.looks == len(w.sights) {
		w.sights = append(w.sights, &Sight{})
	}
	at := w.sights[w.looks]
	w.looks++
	at.ids, at.drawn = at.ids[:0], at.drawn[:0]
	w.seer.Seen(s.index, me, at)
	return at
}

type rec struct {
	id      ID
	ptr     unsafe.Pointer
	sims    []int64 // simulation integers, canonical; in a client only of what it predicts
	drawn   []int64 // in a client: the newest known observer integers, of what it does not predict
	owned   bool    // in a client: predicted; on the server: some player's avatar
	touched bool
	dead    bool
	cut     bool // teleported in this tick; in a client since PutOwned
	cutNow  bool // by the present callback
	hidden  Tick // in a client: despawned by the predicted command of that tick
	foreign Tick // on the server: newest tick at which someone else's command or the referee changed it
	took    Tick // newest tick at which its own predicted command despawned something
	reach   Tick // newest tick at which its own command changed, or tried to change, something else
}

type touched struct {
	s *Store
	r *rec
}

// A Store is the entities of one kind in a world.
type Store struct {
	world   *World
	index   int
	kind    *Kind
	schema  *schema.Kind
	recs    []*rec // by rising ID
	pool    []*rec
	scratch unsafe.Pointer // what Get returns for entities that are not there
	lent    bool           // Get returned it in the present callback
	blank   []int64        // zeros
	zero    []int64        // what Extract makes of a zero state: a range may begin above 0
	ints    []int64
}

func newWorld(r *Rules, server bool, seed, secret uint64) *World {
	w := &World{rules: r, server: server, seed: seed, secret: secret, nextID: 1}
	most := 1
	for i, k := range r.Kinds {
		s := &Store{world: w, index: i, kind: r.kinds[i], schema: k, scratch: r.kinds[i].New(),
			blank: make([]int64, k.Sims), zero: make([]int64, k.Sims), ints: make([]int64, k.Sims)}
		k.Store(s.scratch, s.blank)
		k.Extract(s.scratch, s.zero)
		w.stores = append(w.stores, s)
		most = max(most, k.Sims)
	}
	w.ints = make([]int64, most)
	return w
}

// Store returns the entities of a kind. It panics if the kind is not listed in the game's definition.
func (w *World) Store(k *Kind) *Store {
	for _, s := range w.stores {
		if s.kind == k {
			return s
		}
	}
	panic(fault.Sprintf("game: kind %q is not listed in the Kinds of game %q", k.title(), w.rules.Name))
}

// Get returns the state of entity id. It never returns nil: if there is no such entity, and for
// what a client does not predict, writes through the pointer are discarded and counted.
// The pointer is valid until the callback returns.
func (s *Store) Get(id ID) unsafe.Pointer { return s.world.get(s, id) }

// Has reports whether entity id exists, is of this kind and, in a client, is known.
func (s *Store) Has(id ID) bool {
	_, ok := s.world.find(s, id)
	return ok
}

// Len returns the number of entities of this kind, without those that a predicted command despawned.
func (s *Store) Len() int {
	n := len(s.recs)
	for _, r := range s.recs {
		if s.world.isHidden(r) {
			n--
		}
	}
	return n
}

// Size is how many entities Visit knows, hidden ones among them.
func (s *Store) Size() int { return len(s.recs) }

// Visit returns the i-th entity by rising ID, with a pointer like that of Get, or nil for one that is hidden.
func (s *Store) Visit(i int) (ID, unsafe.Pointer) {
	r := s.recs[i]
	if s.world.isHidden(r) {
		return 0, nil
	}
	s.world.touch(s, r)
	return r.id, r.ptr
}

// Spawn makes an entity with the state at v and returns its ID; 0 in a client and for bots, where it makes nothing.
func (s *Store) Spawn(v unsafe.Pointer) ID { return s.world.spawn(s, v) }

// Look asks what player me saw of this kind. It returns nil if nobody looks, and panics for a kind that is Extrapolated. Close ends the look.
func (s *Store) Look(me ID) *Sight {
	if s.kind.Extrapolated {
		panic("game: Seen of kind " + s.kind.Name + ", which is Extrapolated: what is extrapolated cannot be hit")
	}
	if s.world.seer == nil {
		return nil
	}
	at := s.world.look(s, me)
	at.store = s
	return at
}

func (w *World) find(s *Store, id ID) (*rec, bool) {
	if r := s.any(id); r != nil && !w.isHidden(r) {
		return r, true
	}
	return nil, false
}

// isHidden reports whether a predicted command despawned an entity by now. In a replay it is still there for the
// commands before that one, which may reach it earlier than they did at first.
func (w *World) isHidden(r *rec) bool { return r.hidden != 0 && r.hidden <= w.tick }

func (s *Store) insert(id ID) *rec {
	var r *rec
	if n := len(s.pool); n > 0 {
		r, s.pool = s.pool[n-1], s.pool[:n-1]
		*r = rec{id: id, ptr: r.ptr, sims: r.sims, drawn: r.drawn}
	} else {
		r = &rec{id: id, ptr: s.kind.New(), sims: make([]int64, s.schema.Sims), drawn: make([]int64, s.schema.Obs)}
	}
	at := len(s.recs)
	for at > 0 && s.recs[at-1].id > id {
		at--
	}
	s.recs = append(s.recs, nil)
	copy(s.recs[at+1:], s.recs[at:])
	s.recs[at] = r
	return r
}

func (s *Store) remove(r *rec) {
	for i, x := range s.recs {
		if x == r {
			s.recs = append(s.recs[:i], s.recs[i+1:]...)
			s.pool = append(s.pool, r)
			return
		}
	}
}

// Tick returns the tick that is being computed.
func (w *World) Tick() Tick { return w.tick }

// Command returns the schema of commands.
func (w *World) Command() *schema.Kind { return w.rules.Command }

// Dt returns the length of a tick in seconds.
func (w *World) Dt() float64 { return 1 / float64(w.rules.Rate) }

// Rand returns random numbers that depend on the world, the tick and who acts, and on nothing else: a
// prediction draws what the server draws. In Act and Step clients know the seed, so a cheat can foresee
// them; those of Join and Referee stay on the server.
func (w *World) Rand() *geom.Rand { return &w.rand }

// Despawn removes an entity when the callback returns. In a client's prediction it hides what the server
// has not removed yet, and shows it again if the server does not agree.
func (w *World) Despawn(id ID) {
	for _, s := range w.stores {
		if r, ok := w.find(s, id); ok {
			w.touch(s, r)
			r.dead = true
			return
		}
	}
}

// Cut marks that an entity was moved by teleport in this tick: nobody draws it as a slide.
func (w *World) Cut(id ID) {
	for _, s := range w.stores {
		if r, ok := w.find(s, id); ok {
			w.touch(s, r)
			r.cutNow = true
			return
		}
	}
}

func (w *World) touch(s *Store, r *rec) {
	if !r.touched {
		r.touched = true
		w.touched = append(w.touched, touched{s, r})
	}
}

func (w *World) get(s *Store, id ID) unsafe.Pointer {
	if r, ok := w.find(s, id); ok {
		w.touch(s, r)
		return r.ptr
	}
	w.wipe(s)
	s.lent = true
	return s.scratch
}

// wipe counts what was written to an entity that is not there, and undoes it.
func (w *World) wipe(s *Store) {
	if !s.lent {
		return
	}
	s.lent = false
	s.schema.Extract(s.scratch, s.ints)
	if !slices.Equal(s.ints, s.zero) {
		w.stats.Discarded++
		if !w.server {
			w.reached()
		}
	}
	s.schema.Store(s.scratch, s.blank)
}

func (w *World) spawn(s *Store, v unsafe.Pointer) ID {
	if !w.server || w.phase == Thinking {
		w.stats.Unspawned++
		return 0
	}
	id := w.nextID
	w.nextID++
	r := s.insert(id)
	s.schema.Extract(v, r.sims)
	s.schema.Store(r.ptr, r.sims)
	w.spawned = append(w.spawned, id)
	return id
}

// Emitted is an event that rules emitted.
type Emitted struct {
	Event   int // index in Rules.Events
	Tick    Tick
	Actor   ID
	At      geom.Vec2
	Vals    []int64 // simulation integers of the payload
	ByActor bool    // emitted by a command of the actor, whose client predicted it
}

// Emit notes an event with the payload at v. It panics if the event is not listed in the game's definition.
func (w *World) Emit(k *Kind, actor ID, at geom.Vec2, v unsafe.Pointer) {
	byActor := w.phase == Acting && w.actor == actor
	for i, e := range w.rules.events {
		if e != k {
			continue
		}
		// What is not predicted by the actor itself comes from the server, to everyone: shown here as well, it
		// would be seen twice.
		if w.replay || w.phase == Thinking || !w.server && !byActor {
			return
		}
		var vals []int64
		if n := len(w.spare); n > 0 {
			vals, w.spare = w.spare[n-1][:0], w.spare[:n-1]
		}
		payload := w.rules.Events[i]
		for range payload.Sims {
			vals = append(vals, 0)
		}
		payload.Extract(v, vals)
		w.events = append(w.events, Emitted{Event: i, Tick: w.now, Actor: actor, At: at, Vals: vals, ByActor: byActor})
		return
	}
	panic(fault.Sprintf("game: event %q is not listed in the Events of game %q", k.title(), w.rules.Name))
}

// PanicError says that a callback of a game's rules panicked. Nothing that the callback did has happened.
type PanicError struct {
	Game  string
	Phase string // Join, Leave, Act, Step, Referee or Bot
	Tick  Tick
	Actor ID // whom Leave, Act or Bot was for
	Value any
	Stack []byte // nil in a browser
}

func (e *PanicError) Error() string {
	return fault.Sprintf("game: %s of game %q panicked at tick %d: %v", e.Phase, e.Game, e.Tick, e.Value)
}

// run calls one callback, then puts all that it touched onto the simulation grid. A panic is returned as a PanicError and
// undoes the callback: half a command is no state that rules have ever to deal with.
func (w *World) run(p Phase, actor ID, seed uint64, f func()) (err error) {
	w.phase, w.actor = p, actor
	w.rand = geom.NewRand(seed, uint64(w.tick), uint64(actor), uint64(p))
	w.spawnedBefore, w.emittedBefore, w.looks = len(w.spawned), len(w.events), 0
	defer func() {
		if v := recover(); v != nil {
			w.stats.Panics++
			err = &PanicError{w.rules.Name, phaseNames[p], w.tick, actor, v, stack()}
			w.undo()
		}
		w.settle()
		w.phase, w.actor = Idle, 0
	}()
	f()
	return nil
}

// undo takes back what the present callback did. IDs that it spawned are not given out again.
func (w *World) undo() {
	for _, t := range w.touched {
		t.r.touched, t.r.dead, t.r.cutNow = false, false, false
		if w.server || t.r.owned {
			t.s.schema.Store(t.r.ptr, t.r.sims)
		} else {
			t.s.schema.StoreDrawn(t.r.ptr, t.r.drawn)
		}
	}
	w.touched = w.touched[:0]
	for _, id := range w.spawned[w.spawnedBefore:] {
		for _, s := range w.stores {
			if r := s.any(id); r != nil {
				s.remove(r)
			}
		}
	}
	w.spawned = w.spawned[:w.spawnedBefore]
	for i := range w.events[w.emittedBefore:] {
		w.spare = append(w.spare, w.events[w.emittedBefore+i].Vals)
	}
	w.events = w.events[:w.emittedBefore]
	for _, s := range w.stores {
		if s.lent {
			s.lent = false
			s.schema.Store(s.scratch, s.blank)
		}
	}
}

var phaseNames = [...]string{"", "Join", "Leave", "Act", "Step", "Referee", "Bot"}

func (w *World) settle() {
	for _, s := range w.stores {
		w.wipe(s)
	}
	for i := 0; i < len(w.touched); i++ {
		s, r := w.touched[i].s, w.touched[i].r
		cut := r.cutNow
		r.touched, r.cutNow = false, false
		if !w.server && !r.owned {
			if r.dead {
				w.reached()
				w.takes()
				r.dead = false // what a client does not own it may only hide
				if w.phase == Acting || w.phase == Stepping {
					r.hidden = w.tick
				}
			}
			w.restore(s, r)
			continue
		}
		if w.phase == Thinking {
			s.schema.Store(r.ptr, r.sims)
			r.dead = false
			continue
		}
		r.cut = r.cut || cut
		vals := w.ints[:s.schema.Sims]
		s.schema.Extract(r.ptr, vals)
		changed := false
		for c, v := range vals {
			if v != r.sims[c] {
				r.sims[c], changed = v, true
			}
		}
		s.schema.Store(r.ptr, r.sims)
		r.dead = r.dead && w.server
		if (changed || r.dead) && w.server && r.id != w.actor && w.phase != Stepping {
			r.foreign = w.now
			w.reached()
		}
	}
	if w.server && w.phase != Thinking {
		for _, t := range w.touched {
			if t.r.dead {
				w.removed = append(w.removed, t.r.id)
				t.s.remove(t.r)
			}
		}
	}
	w.touched = w.touched[:0]
}

// reached notes that the acting player's command reached beyond its own avatar, where a client can only guess.
func (w *World) reached() {
	if w.phase != Acting {
		return
	}
	for _, s := range w.stores {
		if r := s.any(w.actor); r != nil {
			r.reach = w.now
		}
	}
}

// takes notes that the acting player's predicted command despawned something, which another may have got first.
func (w *World) takes() {
	for _, s := range w.stores {
		if r := s.any(w.actor); r != nil {
			r.took = w.tick
		}
	}
}

// restore undoes writes to what a client does not predict.
func (w *World) restore(s *Store, r *rec) {
	vals := w.ints[:s.schema.Sims]
	s.schema.Extract(r.ptr, vals)
	s.schema.StoreDrawn(r.ptr, r.drawn)
	s.schema.Extract(r.ptr, s.ints)
	if !slices.Equal(vals, s.ints) {
		w.stats.Discarded++
		w.reached()
	}
}
