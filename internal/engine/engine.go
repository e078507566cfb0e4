package engine

import (
	"slices"

	"meanwhile/geom"
	"meanwhile/internal/fault"
)

// Engine drives a World: servers, clients and tests use it, rules never see it.
type Engine struct{ w *World }

// NewServer returns the engine of an authoritative world. Clients are told seed; secret stays.
func NewServer(r *Rules, seed, secret uint64) *Engine {
	return &Engine{newWorld(r, true, seed, mixSeed(seed, secret))} // worlds differ even where nobody chose a secret
}

// NewClient returns the engine of what one client knows.
func NewClient(r *Rules, seed uint64) *Engine { return &Engine{newWorld(r, false, seed, 0)} }

// World returns the world that rules see.
func (e *Engine) World() *World { return e.w }

// Rules returns the game.
func (e *Engine) Rules() *Rules { return e.w.rules }

// Stats returns what rules did in vain.
func (e *Engine) Stats() Stats { return e.w.stats }

// SetTick says which tick is computed next.
func (e *Engine) SetTick(t Tick) { e.w.tick, e.w.now = t, t }

// SetCommandTick says at which tick the next command runs as far as rules can see, where commands are queued. What it does happens to everybody else,
// and to LastExternalChange, LastSideEffect and Emitted, in the tick of SetTick, which follows to end it.
func (e *Engine) SetCommandTick(t Tick) { e.w.tick = t }

// Join lets a player in and returns its avatar; it is marked as owned. The avatar is 0 if Join returned 0, for one who only
// watches, or failed: it panicked, or returned an entity that it had not spawned, of which it is told by the error.
func (e *Engine) Join(name string) (ID, error) {
	var id ID
	w := e.w
	if err := w.run(Joining, 0, mixSeed(w.secret, uint64(w.nextID)), func() { id = w.rules.call.Join(w, name) }); err != nil {
		return 0, err
	}
	if id == 0 {
		return 0, nil
	}
	if slices.Contains(w.spawned[w.spawnedBefore:], id) {
		for _, s := range w.stores {
			if r := s.any(id); r != nil {
				r.owned = true
				return id, nil
			}
		}
	}
	return 0, fault.Errorf("game: Join of game %q returned %d, which is no entity that it spawned", w.rules.Name, id)
}

func mixSeed(a, b uint64) uint64 { r := geom.NewRand(a, b); return r.Uint64() }

// Leave takes a player out. Where the rules' Leave panics, or there is none, the avatar is despawned.
func (e *Engine) Leave(id ID) error {
	w := e.w
	despawn := func() { w.Despawn(id) }
	if w.rules.call.Leave == nil {
		return w.run(Leaving, id, w.secret, despawn)
	}
	err := w.run(Leaving, id, w.secret, func() { w.rules.call.Leave(w, id) })
	if err != nil {
		w.run(Leaving, id, w.secret, despawn) // cannot fail
	}
	return err
}

// Act runs one command. In a client, replay says that it was predicted before. A panic drops the command.
func (e *Engine) Act(id ID, cmd []int64, seer Seer, replay bool) error {
	w := e.w
	w.seer, w.replay = seer, replay
	err := w.run(Acting, id, w.seed, func() { w.rules.call.Act(w, id, cmd) })
	w.seer, w.replay = nil, false
	return err
}

// Step runs the rules' Step.
func (e *Engine) Step(replay bool) error {
	w := e.w
	if w.rules.call.Step == nil {
		return nil
	}
	w.replay = replay
	err := w.run(Stepping, 0, w.seed, func() { w.rules.call.Step(w) })
	w.replay = false
	return err
}

// Referee runs the rules' Referee.
func (e *Engine) Referee() error {
	w := e.w
	if w.rules.call.Referee == nil {
		return nil
	}
	return w.run(Refereeing, 0, w.secret, func() { w.rules.call.Referee(w) })
}

// Think asks a bot for a command, into cmd. Whatever it writes to the world is undone.
func (e *Engine) Think(bot BotFunc, id ID, cmd []int64, seer Seer) error {
	w := e.w
	clear(cmd)
	w.seer = seer
	err := w.run(Thinking, id, w.seed, func() { bot(w, id, cmd) })
	w.seer = nil
	return err
}

// Spawned returns the entities that appeared since Drain, in order.
func (e *Engine) Spawned() []ID { return e.w.spawned }

// Removed returns the entities that went since Drain.
func (e *Engine) Removed() []ID { return e.w.removed }

// Events returns what was emitted since Drain.
func (e *Engine) Events() []Emitted { return e.w.events }

// Drain forgets what Spawned, Removed and Events returned; the slices must not be used any more.
func (e *Engine) Drain() {
	w := e.w
	for i := range w.events {
		w.spare = append(w.spare, w.events[i].Vals)
	}
	w.spawned, w.removed, w.events = w.spawned[:0], w.removed[:0], w.events[:0]
}

// Each calls f for every entity by kind and rising ID: its simulation integers (not to be kept), whether it
// was cut this tick (which is then forgotten), whether a player owns it.
func (e *Engine) Each(f func(id ID, kind int, sims []int64, cut, owned bool)) {
	for _, s := range e.w.stores {
		for _, r := range s.recs {
			cut := r.cut
			r.cut = false
			f(r.id, s.index, r.sims, cut, r.owned)
		}
	}
}

// Sims returns the simulation integers of an entity, not to be kept, or nil.
func (e *Engine) Sims(id ID) (kind int, sims []int64) {
	for _, s := range e.w.stores {
		if r := s.any(id); r != nil {
			return s.index, r.sims
		}
	}
	return 0, nil
}

// LastExternalChange returns the newest tick, of those that SetTick said, at which an avatar was changed by others than its own command.
func (e *Engine) LastExternalChange(id ID) Tick {
	for _, s := range e.w.stores {
		if r := s.any(id); r != nil {
			return r.foreign
		}
	}
	return 0
}

// LastSideEffect returns the newest tick at which an avatar's own command changed, or tried to change, something else.
func (e *Engine) LastSideEffect(id ID) Tick {
	for _, s := range e.w.stores {
		if r := s.any(id); r != nil {
			return r.reach
		}
	}
	return 0
}

// LastPredictedDespawn returns the newest tick at which a predicted command of an avatar despawned something, in a client.
func (e *Engine) LastPredictedDespawn(id ID) Tick {
	for _, s := range e.w.stores {
		if r := s.any(id); r != nil {
			return r.took
		}
	}
	return 0
}

// WasCut reports, in a client, whether predicted rules teleported an entity since PutOwned.
func (e *Engine) WasCut(id ID) bool {
	for _, s := range e.w.stores {
		if r := s.any(id); r != nil {
			return r.cut
		}
	}
	return false
}

// PutOwned sets, in a client, the exact state of what it predicts, making it if need be.
func (e *Engine) PutOwned(id ID, kind int, sims []int64) {
	s := e.w.stores[kind]
	r := s.any(id)
	if r == nil {
		r = s.insert(id)
	}
	r.owned, r.cut = true, false
	copy(r.sims, sims)
	s.schema.Store(r.ptr, r.sims)
}

// PutKnown sets, in a client, the newest known state of another's entity: observer integers in 1/schema.SubSteps.
func (e *Engine) PutKnown(id ID, kind int, drawn []int64) {
	s := e.w.stores[kind]
	r := s.any(id)
	if r == nil {
		r = s.insert(id)
	}
	r.owned = false
	copy(r.drawn, drawn)
	s.schema.StoreDrawn(r.ptr, r.drawn)
}

// any finds an entity, hidden or not.
func (s *Store) any(id ID) *rec {
	lo, hi := 0, len(s.recs)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if s.recs[m].id < id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(s.recs) && s.recs[lo].id == id {
		return s.recs[lo]
	}
	return nil
}

// Retain removes, in a client, every entity that keep does not want.
func (e *Engine) Retain(keep func(id ID) bool) {
	for _, s := range e.w.stores {
		for i := len(s.recs) - 1; i >= 0; i-- {
			if r := s.recs[i]; !keep(r.id) {
				s.remove(r)
			}
		}
	}
}

// Unhide shows again, in a client, what predicted commands of ticks in [from, to] despawned.
func (e *Engine) Unhide(from, to Tick) {
	for _, s := range e.w.stores {
		for _, r := range s.recs {
			if r.hidden >= from && r.hidden <= to {
				r.hidden = 0
			}
		}
	}
}

// Hidden reports whether a predicted command despawned an entity.
func (e *Engine) Hidden(id ID) bool {
	for _, s := range e.w.stores {
		if r := s.any(id); r != nil {
			return r.hidden != 0
		}
	}
	return false
}
