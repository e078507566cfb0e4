package game

import (
	"fmt"
	"reflect"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/schema"
)

// World is what rules see: on the server everything, in a client what it knows. It is not safe for
// concurrent use, and only valid inside the callback that it was passed to.
type World struct {
	rules   *Rules
	stores  []*store
	tick    Tick
	server  bool
	seed    uint64 // of Act and Step: known to clients, so that their prediction draws the same numbers
	secret  uint64 // of Join and Referee
	rand    geom.Rand
	phase   Phase
	actor   ID
	replay  bool // a command is predicted again: what happens only once is left out
	seer    Seer
	touched []touched
	nextID  ID
	spawned []ID
	removed []ID
	events  []Emitted
	spare   [][]int64
	ints    []int64
	stats   Stats
}

// Stats counts what rules did that had no effect.
type Stats struct {
	Discarded uint64 // writes to entities that are not predicted, or not there
	Unspawned uint64 // spawns during prediction
	Panics    uint64 // callbacks that panicked
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

// Seer answers what a player saw. drawn holds observer integers in 1/schema.SubSteps, valid during yield.
type Seer interface {
	Seen(kind int, me ID, yield func(id ID, drawn []int64) bool)
}

type rec struct {
	id      ID
	ptr     unsafe.Pointer
	sims    []int64 // simulation integers, canonical; in a client only of what it predicts
	drawn   []int64 // in a client: the newest known observer integers, of what it does not predict
	owned   bool    // in a client: predicted; on the server: some player's avatar
	touched bool
	dead    bool
	cut     bool
	hidden  Tick // in a client: despawned by the predicted command of that tick
	foreign Tick // on the server: newest tick at which someone else's command or the referee changed it
	reach   Tick // newest tick at which its own command changed, or tried to change, something else
}

type touched struct {
	s *store
	r *rec
}

type store struct {
	index   int
	info    *kindInfo
	schema  *schema.Kind
	recs    []*rec // by rising ID
	pool    []*rec
	scratch unsafe.Pointer // what Get returns for entities that are not there
	blank   []int64
}

func newWorld(r *Rules, server bool, seed, secret uint64) *World {
	w := &World{rules: r, server: server, seed: seed, secret: secret, nextID: 1}
	most := 1
	for i, k := range r.Kinds {
		w.stores = append(w.stores, &store{index: i, info: r.kindInfos[i], schema: k,
			scratch: reflect.New(k.Type).UnsafePointer(), blank: make([]int64, k.Sims)})
		most = max(most, k.Sims)
	}
	w.ints = make([]int64, most)
	return w
}

func (w *World) store(info *kindInfo) *store {
	for _, s := range w.stores {
		if s.info == info {
			return s
		}
	}
	panic(fmt.Sprintf("game: kind %q is not listed in the Kinds of game %q", info.name, w.rules.Name))
}

func (s *store) find(id ID) (*rec, bool) {
	if r := s.any(id); r != nil && r.hidden == 0 {
		return r, true
	}
	return nil, false
}

func (s *store) insert(id ID) *rec {
	var r *rec
	if n := len(s.pool); n > 0 {
		r, s.pool = s.pool[n-1], s.pool[:n-1]
		*r = rec{id: id, ptr: r.ptr, sims: r.sims, drawn: r.drawn}
	} else {
		r = &rec{id: id, ptr: reflect.New(s.schema.Type).UnsafePointer(), sims: make([]int64, s.schema.Sims), drawn: make([]int64, s.schema.Obs)}
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

func (s *store) remove(r *rec) {
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
		if r, ok := s.find(id); ok {
			w.touch(s, r)
			r.dead = true
			return
		}
	}
}

// Cut marks that an entity was moved by teleport in this tick: nobody draws it as a slide.
func (w *World) Cut(id ID) {
	for _, s := range w.stores {
		if r, ok := s.find(id); ok {
			r.cut = true
			return
		}
	}
}

func (w *World) touch(s *store, r *rec) {
	if !r.touched {
		r.touched = true
		w.touched = append(w.touched, touched{s, r})
	}
}

func (w *World) get(s *store, id ID) unsafe.Pointer {
	if r, ok := s.find(id); ok {
		w.touch(s, r)
		return r.ptr
	}
	s.schema.Store(s.scratch, s.blank)
	return s.scratch
}

func (w *World) spawn(s *store, v unsafe.Pointer) ID {
	if !w.server {
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

func (w *World) emit(info *kindInfo, actor ID, at geom.Vec2, v unsafe.Pointer) {
	if w.replay || w.phase == Thinking {
		return
	}
	for i, e := range w.rules.eventInfos {
		if e != info {
			continue
		}
		var vals []int64
		if n := len(w.spare); n > 0 {
			vals, w.spare = w.spare[n-1][:0], w.spare[:n-1]
		}
		k := w.rules.Events[i]
		for range k.Sims {
			vals = append(vals, 0)
		}
		k.Extract(v, vals)
		w.events = append(w.events, Emitted{Event: i, Tick: w.tick, Actor: actor, At: at, Vals: vals, ByActor: w.phase == Acting && w.actor == actor})
		return
	}
	panic(fmt.Sprintf("game: event %q is not listed in the Events of game %q", info.name, w.rules.Name))
}

// run calls one callback, then puts all that it touched onto the simulation grid. A panic is returned as an
// error; what the callback did until then stays.
func (w *World) run(p Phase, actor ID, seed uint64, f func()) (err error) {
	w.phase, w.actor = p, actor
	w.rand = geom.NewRand(seed, uint64(w.tick), uint64(actor), uint64(p))
	defer func() {
		if v := recover(); v != nil {
			w.stats.Panics++
			err = fmt.Errorf("game: %s of game %q panicked at tick %d: %v", phaseNames[p], w.rules.Name, w.tick, v)
		}
		w.settle()
		w.phase, w.actor = Idle, 0
	}()
	f()
	return nil
}

var phaseNames = [...]string{"", "Join", "Leave", "Act", "Step", "Referee", "Bot"}

func (w *World) settle() {
	for i := 0; i < len(w.touched); i++ {
		s, r := w.touched[i].s, w.touched[i].r
		r.touched = false
		if !w.server && !r.owned {
			if r.dead {
				w.reached()
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
			r.dead, r.cut = false, false
			continue
		}
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
			r.foreign = w.tick
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
			r.reach = w.tick
		}
	}
}

// restore undoes writes to what a client does not predict.
func (w *World) restore(s *store, r *rec) {
	vals := w.ints[:s.schema.Sims]
	s.schema.Extract(r.ptr, vals)
	s.schema.StoreDrawn(r.ptr, r.drawn)
	same := s.scratchEqual(vals, r.ptr)
	if !same {
		w.stats.Discarded++
		w.reached()
	}
}

func (s *store) scratchEqual(vals []int64, p unsafe.Pointer) bool {
	s.schema.Extract(p, s.blank)
	same := true
	for c := range vals {
		if vals[c] != s.blank[c] {
			same = false
			break
		}
	}
	clear(s.blank)
	return same
}
