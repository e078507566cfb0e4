package engine

import (
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// SetEye sets the tick time at which the player's screen showed its avatar, and what its client runs
// ahead, when it made the command that the next Act runs; 0: that is not known.
func (e *Engine) SetEye(t clock.TickFrac) { e.w.eye = t }

// CutAt returns the newest tick at which an entity was teleported, 0 for never.
func (e *Engine) CutAt(id ID) Tick {
	if _, x := e.w.entity(id); x != nil {
		return x.cutAt
	}
	return 0
}

// Eye writes to v how player me, whose avatar is of this kind, saw itself when it made the command
// that runs: between two states, as clients draw it, on the simulation grid. Where that is not known,
// and outside of commands and bots, it is the present state. v stays as it is if there is no such
// avatar.
func (s *Store) Eye(me ID, v unsafe.Pointer) {
	if sims := s.eye(me); sims != nil {
		s.schema.Store(v, sims)
	}
}

// eye returns the integers of what Eye writes, nil for nothing. They are valid until the next call.
func (s *Store) eye(me ID) []int64 {
	x := s.any(me)
	switch {
	case x == nil:
		return nil
	case s.world.seer == nil || me != s.world.actor:
		return s.presentOf(x)
	}
	return s.shown(x)
}

// presentOf returns the integers of an entity as it is now.
func (s *Store) presentOf(x *entity) []int64 {
	s.schema.Extract(s.present(x), s.ints)
	return s.ints
}

// shown returns the integers of the player's avatar, or of an entity that clients run ahead, as the
// player saw it when it made the command that runs: between two states before the command. It is
// the present state where that is not known. The result is valid until the next call.
func (s *Store) shown(x *entity) []int64 {
	w := s.world
	if w.eye == 0 {
		return s.presentOf(x)
	}
	t := min(Tick((w.eye+clock.FracPerTick-1)/clock.FracPerTick), w.tick-1)
	b, cut := s.before(x, t)
	if b == nil {
		return s.presentOf(x)
	}
	u := int64(w.eye - (t - 1).Frac())
	if a, _ := s.before(x, t-1); a != nil && cut < t && u < clock.FracPerTick && !s.boarded(a, b) {
		s.schema.Between(s.ints, a, b, u<<8)
		return s.ints
	}
	return b
}

// eyePlace returns where player me saw itself in the world. ok is false if its avatar has no place.
func (w *World) eyePlace(me ID) (at geom.Vec3, ok bool) {
	s, x := w.entity(me)
	if x == nil || s.schema.Place < 0 {
		return at, false
	}
	k := s.schema
	w.floats = k.AppendExact(w.floats[:0], nil, s.eye(me), 65536)
	if at, _ = k.PlaceOf(w.floats); k.Parent >= 0 {
		at, _ = w.SeenOn(me, ID(w.floats[k.Props[k.Parent].At]), at)
	}
	return at, true
}

// before returns an entity's integers after a tick before the command, and the newest tick at which
// it was teleported by then; nil if they are not kept.
func (s *Store) before(x *entity, t Tick) (sims []int64, cut Tick) {
	w := s.world
	if x.id == w.actor && t+1 >= w.tick {
		return x.sims, x.cutAt
	}
	return w.seer.Past(x.id, t)
}

// boarded reports whether two states of an entity are relative to different parents: there is no
// way from one place to the other.
func (s *Store) boarded(a, b []int64) bool {
	k := s.schema
	return k.Parent >= 0 && a[k.Props[k.Parent].At] != b[k.Props[k.Parent].At]
}
