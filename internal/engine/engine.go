package engine

import (
	"math"
	"reflect"
	"slices"

	"meanwhile/geom"
	"meanwhile/internal/fault"
)

// An Engine drives a World: it says which tick is computed, runs callbacks and hands out what they
// did. It is not safe for concurrent use.
type Engine struct{ w *World }

// NewServer returns the engine of an authoritative world. Clients receive seed; secret stays on the
// server.
func NewServer(r *Rules, seed, secret uint64) *Engine {
	return &Engine{newWorld(r, true, seed, mixSeed(seed, secret))} // worlds differ even where nobody chose a secret
}

// NewClient returns the engine of what one client knows of a world.
func NewClient(r *Rules, seed uint64) *Engine { return &Engine{newWorld(r, false, seed, 0)} }

// World returns the world that rules see.
func (e *Engine) World() *World { return e.w }

// Rules returns the game.
func (e *Engine) Rules() *Rules { return e.w.rules }

// A Presence knows whether the player of an avatar does not look at what it receives. It is no
// function, so that a world can be frozen.
type Presence interface{ Away(avatar ID) bool }

// SetAway says how the server knows who is away.
func (e *Engine) SetAway(p Presence) { e.w.away = p }

// SetTick sets the tick that is computed next.
func (e *Engine) SetTick(t Tick) { e.w.tick, e.w.now = t, t }

// SetCommandTick sets the tick that rules see while the next queued command runs. What the command
// does still counts for the tick of SetTick: events, LastExternalChange and LastSideEffect. SetTick
// ends it.
func (e *Engine) SetCommandTick(t Tick) { e.w.tick = t }

// Join runs the rules' Join and returns the player's avatar, which is then owned. The avatar is 0
// for a spectator, for whom Join returned 0, and after an error: Join panicked, or returned an
// entity that it did not spawn. rec is the player's record; nil means a new one, which does not
// last, if the game has any.
func (e *Engine) Join(name string, rec *Record) (ID, error) {
	var id ID
	w := e.w
	if s := w.rules.Saved(false); s != nil && rec == nil {
		rec = s.NewRecord(false)
	}
	w.joiner = rec
	defer func() { w.joiner = nil }()
	seed := mixSeed(w.secret, uint64(w.nextID)) // players who join in one tick draw different numbers
	if err := w.run(joining, 0, seed, func() { id = w.rules.call.Join(w, name) }); err != nil {
		return 0, err
	}
	if id == 0 {
		return 0, nil
	}
	if slices.Contains(w.spawned[w.before.spawned:], id) {
		if _, avatar := w.entity(id); avatar != nil {
			avatar.owned = true
			if rec != nil {
				if w.records == nil {
					w.records = map[ID]*Record{}
				}
				w.records[id] = rec
			}
			return id, nil
		}
	}
	return 0, fault.Errorf("game: Join of game %q returned %d, which is no entity that it spawned", w.rules.Name, id)
}

func mixSeed(a, b uint64) uint64 { r := geom.NewRand(a, b); return r.Uint64() }

// Leave runs the rules' Leave for a player. Without one, and if it panics, the avatar is despawned.
func (e *Engine) Leave(id ID) error {
	w := e.w
	defer delete(w.records, id)
	despawn := func() { w.Despawn(id) }
	if w.rules.call.Leave == nil {
		return w.run(leaving, id, w.secret, despawn)
	}
	err := w.run(leaving, id, w.secret, func() { w.rules.call.Leave(w, id) })
	if err != nil {
		w.run(leaving, id, w.secret, despawn) // cannot fail
	}
	return err
}

// Act runs one command of a player. replay says that a client predicted the command before. A panic
// drops it.
func (e *Engine) Act(id ID, cmd []int64, seer Seer, replay bool) error {
	w := e.w
	w.seer, w.replay = seer, replay
	err := w.predict(acting, id, func() { w.rules.call.Act(w, id, cmd) })
	w.aim = aim{w.tick, w.looked, w.targets}
	w.seer, w.replay, w.moment, w.eye = nil, false, 0, 0
	return err
}

// SetMoment sets the moment within the tick, in 1/256, that the next Act sees; 0: none.
func (e *Engine) SetMoment(m uint8) { e.w.moment = m }

// Step runs the rules' Step, if there is one.
func (e *Engine) Step(replay bool) error {
	w := e.w
	if w.rules.call.Step == nil {
		return nil
	}
	w.replay = replay
	err := w.predict(stepping, 0, func() { w.rules.call.Step(w) })
	w.replay = false
	return err
}

// Referee runs the rules' Referee, if there is one.
func (e *Engine) Referee() error {
	w := e.w
	if w.rules.call.Referee == nil {
		return nil
	}
	return w.run(refereeing, 0, w.secret, func() { w.rules.call.Referee(w) })
}

// Show calls f for every entity, by kind and rising ID, with the groups of players that may know of
// it. A panic of the rules ends it at the entity that caused it.
func (e *Engine) Show(f func(id ID, groups uint64)) error {
	w := e.w
	return w.run(showing, 0, w.secret, func() {
		for _, s := range w.stores {
			for _, e := range s.entities {
				f(e.id, w.rules.call.ShownTo(w, e.id))
			}
		}
	})
}

// Groups returns the groups that a player is in, none if the rules panic.
func (e *Engine) Groups(me ID) (groups uint64, err error) {
	w := e.w
	err = w.run(grouping, me, w.secret, func() { groups = w.rules.call.Groups(w, me) })
	return groups, err
}

// Watch calls f for everything that a player attends to, and returns where it faces; the zero Vec2
// if it does not say so, or if the rules panic.
func (e *Engine) Watch(me ID, f func(id ID, times int)) (facing geom.Vec2, err error) {
	w := e.w
	err = w.run(watching, me, w.secret, func() { facing = w.rules.call.Watch(w, me, f) })
	return facing, err
}

// Think asks a bot for its next command and writes it to cmd. The bot cannot change the world.
func (e *Engine) Think(bot BotFunc, id ID, cmd []int64, seer Seer) error {
	w := e.w
	clear(cmd)
	w.seer = seer
	err := w.run(thinking, id, w.seed, func() { bot(w, id, cmd) })
	w.seer, w.eye = nil, 0
	return err
}

// NextID returns the ID of the entity that is spawned next.
func (e *Engine) NextID() ID { return e.w.nextID }

// Spawned returns the entities that appeared since Drain, in order.
func (e *Engine) Spawned() []ID { return e.w.spawned }

// Removed returns the entities that were removed since Drain.
func (e *Engine) Removed() []ID { return e.w.removed }

// Events returns the events that were emitted since Drain.
func (e *Engine) Events() []Emitted { return e.w.events }

// Drain forgets what Spawned, Removed, Events and Said returned. Their slices are reused.
func (e *Engine) Drain() {
	w := e.w
	for i := range w.events {
		w.spare = append(w.spare, w.events[i].Vals)
	}
	w.spawned, w.removed, w.events = w.spawned[:0], w.removed[:0], w.events[:0]
	clear(w.said) // or they would keep their payloads
	w.said = w.said[:0]
}

// A Change is an entity of a server that is new or has changed.
type Change struct {
	ID      ID
	Kind    int
	Sims    []int64 // its simulation integers, valid during the call
	Changed uint64  // a set of properties; what is not in it did not change
	Cut     bool    // it was teleported
	Owned   bool    // it is a player's avatar
	Index   int32   // what f returned for it the last time; -1: it is new
}

// Changed calls f, on the server, for every entity that appeared, changed or was teleported since
// the last call, by kind. New ones come by rising ID.
func (e *Engine) Changed(f func(c Change) (index int32)) {
	for _, s := range e.w.stores {
		for _, x := range s.changed {
			if x.listed = false; !x.gone {
				c := Change{x.id, s.index, x.sims, x.changed, x.cut, x.owned, x.index}
				x.cut, x.changed = false, 0
				x.index = f(c)
			}
		}
		s.changed = s.changed[:0]
	}
}

// ChangeAll makes Changed report all entities, with all their properties.
func (e *Engine) ChangeAll() {
	for _, s := range e.w.stores {
		for _, x := range s.entities {
			s.noteChange(x, math.MaxUint64)
		}
	}
}

// Sims returns the simulation integers of an entity, nil if there is none. They are valid until the
// next callback.
func (e *Engine) Sims(id ID) (kind int, sims []int64) {
	if s, x := e.w.entity(id); x != nil {
		return s.index, x.sims
	}
	return 0, nil
}

// LastExternalChange returns the newest tick at which something other than an avatar's own command
// or Step changed it, on the server. With queued commands it is the tick of the server's step. 0
// means never.
func (e *Engine) LastExternalChange(id ID) Tick {
	if _, x := e.w.entity(id); x != nil {
		return x.externalChange
	}
	return 0
}

// LastStepChange returns the newest tick at which Step changed an entity, on the server. 0 means
// never.
func (e *Engine) LastStepChange(id ID) Tick {
	if _, x := e.w.entity(id); x != nil {
		return x.stepChange
	}
	return 0
}

// LastSideEffect returns the newest tick at which an avatar's own command changed something else,
// or tried to. 0 means never.
func (e *Engine) LastSideEffect(id ID) Tick {
	if _, x := e.w.entity(id); x != nil {
		return x.sideEffect
	}
	return 0
}

// LastPredictedDespawn returns the newest tick at which an avatar's predicted command despawned
// something, in a client. 0 means never.
func (e *Engine) LastPredictedDespawn(id ID) Tick {
	if _, x := e.w.entity(id); x != nil {
		return x.predictedDespawn
	}
	return 0
}

// PutKnown sets the newest known state of another entity in a client, and adds the entity if it is
// new. drawn are observer integers in 1/schema.SubSteps.
func (e *Engine) PutKnown(id ID, kind int, drawn []int64) {
	s := e.w.stores[kind]
	x := s.obtain(id)
	x.predicted, x.stale = false, false
	copy(x.drawn, drawn)
	s.schema.StoreDrawn(x.state, x.drawn)
}

// OnLook sets what returns the newest known state of an entity after NoteNews, as PutKnown takes
// it; nil leaves the entity as it is. It is called when somebody looks.
func (e *Engine) OnLook(known func(id ID) (drawn []int64)) { e.w.known = known }

// NoteNews is PutKnown of what OnLook will return: most of it is replaced before rules look.
func (e *Engine) NoteNews(id ID, kind int) {
	x := e.w.stores[kind].obtain(id)
	x.predicted, x.stale = false, true
}

// Retain removes every entity that is not predicted and for which keep returns false, in a client.
func (e *Engine) Retain(keep func(id ID) bool) {
	for _, s := range e.w.stores {
		for i := len(s.entities) - 1; i >= 0; i-- {
			if x := s.entities[i]; !x.predicted && !keep(x.id) {
				s.remove(x)
			}
		}
	}
}

// Unhide shows again what predicted commands of the ticks from and to, and of those between,
// despawned of what is not predicted.
func (e *Engine) Unhide(from, to Tick) {
	for _, s := range e.w.stores {
		for _, x := range s.entities {
			if !x.predicted && x.hidden >= from && x.hidden <= to {
				x.hidden = 0
			}
		}
	}
}

// Hidden reports whether a predicted command despawned an entity.
func (e *Engine) Hidden(id ID) bool {
	_, x := e.w.entity(id)
	return x != nil && x.hidden != 0
}

// Check returns an error unless every store is that of its kind, as in a new engine. Rules cast
// states by it, so an engine that was read from bytes must pass it.
func (e *Engine) Check() error {
	w := e.w
	if w == nil || w.rules == nil || len(w.stores) != len(w.rules.Kinds) {
		return fault.Errorf("engine: it has not one store of each kind")
	}
	r := w.rules
	for i, s := range w.stores {
		if s == nil || s.world != w || s.index != i || s.kind != r.kinds[i] || s.schema != r.Kinds[i] {
			return fault.Errorf("engine: store %d is not that of its kind", i)
		}
	}
	return nil
}

// Sum returns a number that differs, as good as always, where the states of two worlds differ.
func (e *Engine) Sum() uint64 {
	h := uint64(e.w.nextID)
	mix := func(v uint64) { // as FNV-1a, a word at a time
		h = (h ^ v) * 1099511628211
		h ^= h >> 29
	}
	for _, s := range e.w.stores {
		for _, x := range s.entities {
			mix(uint64(x.id))
			for _, v := range x.sims {
				mix(uint64(v))
			}
		}
	}
	return h
}

// States calls f for every entity, by kind and rising ID, with a pointer to its state, until f
// returns false.
func (e *Engine) States(f func(kind string, id ID, state any) bool) {
	for _, s := range e.w.stores {
		for _, x := range s.entities {
			if !f(s.kind.Name, x.id, reflect.NewAt(s.kind.Type, s.present(x)).Interface()) {
				return
			}
		}
	}
}
