package engine

import (
	"slices"

	"meanwhile/geom"
	"meanwhile/internal/fault"
)

// phase is the callback that runs.
type phase uint8

const (
	idle phase = iota
	joining
	leaving
	acting
	stepping
	refereeing
	thinking // Bot
	showing  // ShownTo
	grouping // Groups
	watching // Watch
	hearing  // the handler of a message
)

// readOnly reports whether callbacks of this phase change nothing: what they write is undone.
func (p phase) readOnly() bool { return p >= thinking && p <= watching }

func (p phase) String() string {
	return [...]string{"", "Join", "Leave", "Act", "Step", "Referee", "Bot", "ShownTo", "Groups", "Watch", "On"}[p]
}

// PanicError says that a callback of a game's rules panicked. The callback had no effect.
type PanicError struct {
	Game  string
	Phase string // Join, Leave, Act, Step, Referee, On, Bot, ShownTo, Groups or Watch
	Tick  Tick
	Actor ID // whose Leave, Act, message, Bot, Groups or Watch it was
	Value any
	Line  string // of the rules, such as "kick/kick.go:42"; "" if that is not known
	Stack []byte // nil in a browser
}

func (e *PanicError) Error() string {
	text := fault.Sprintf("game: %s of game %q panicked at tick %d: %v", e.Phase, e.Game, e.Tick, e.Value)
	if e.Line != "" {
		text += " (" + e.Line + ")"
	}
	return text
}

// touch is an entity that the present callback read or wrote.
type touch struct {
	store  *Store
	entity *entity
}

// run calls one callback and settles what it did. A panic undoes the callback and is returned as a
// PanicError: rules never have to deal with half of a command.
func (w *World) run(p phase, actor ID, seed uint64, f func()) (err error) {
	w.phase, w.actor = p, actor
	w.rand = geom.NewRand(seed, uint64(w.tick), uint64(actor), uint64(p))
	w.before.spawned, w.before.events, w.looks, w.born = len(w.spawned), len(w.events), 0, 0
	w.before.said = len(w.said)
	w.looked, w.targets = 0, targets{}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{w.rules.Name, p.String(), w.tick, actor, v, fault.Line("internal/engine", "game", "geom"), stack()}
			w.undo()
		}
		w.settleRecords(err == nil && !p.readOnly())
		w.settle()
		w.phase, w.actor = idle, 0
	}()
	f()
	return nil
}

// undo takes back what the present callback did. IDs that it spawned are not used again.
func (w *World) undo() {
	for _, t := range w.touched {
		s, e := t.store, t.entity
		e.touched, e.dead, e.cutNow = false, false, false
		if w.server || e.predicted {
			s.schema.Store(e.state, e.sims)
		} else {
			s.schema.StoreDrawn(e.state, e.drawn)
		}
	}
	w.touched = w.touched[:0]
	for _, id := range w.spawned[w.before.spawned:] {
		if s, e := w.entity(id); e != nil {
			s.remove(e)
		}
	}
	w.spawned = w.spawned[:w.before.spawned]
	for _, e := range w.events[w.before.events:] {
		w.spare = append(w.spare, e.Vals)
	}
	w.events = w.events[:w.before.events]
	w.said = w.said[:w.before.said]
	for _, s := range w.stores {
		if s.lent {
			s.lent = false
			s.schema.Store(s.nothing, s.blank)
		}
	}
}

// settle completes a callback: it rounds states onto the grid, undoes what has no effect and
// removes what was despawned.
func (w *World) settle() {
	for _, s := range w.stores {
		s.wipe()
	}
	for i := 0; i < len(w.touched); i++ {
		s, e := w.touched[i].store, w.touched[i].entity
		cut := e.cutNow
		e.touched, e.cutNow = false, false
		switch {
		case !w.server && !e.predicted:
			w.settleKnown(s, e)
		case w.phase.readOnly():
			s.schema.Store(e.state, e.sims)
			e.dead = false
		default:
			if cut {
				e.cutAt = w.tick
			}
			if cut && w.server {
				e.cut = true
				s.noteChange(e, 0)
			}
			w.settleOwned(s, e)
		}
	}
	if w.server && !w.phase.readOnly() {
		for _, t := range w.touched {
			if t.entity.dead {
				w.removed = append(w.removed, t.entity.id)
				delete(w.records, t.entity.id)
				t.store.dead = append(t.store.dead, t.entity)
			}
		}
		for _, s := range w.stores {
			s.bury()
		}
	}
	w.touched = w.touched[:0]
}

// settleKnown undoes what a client's callback did to an entity that the client does not predict. A
// despawn hides it.
func (w *World) settleKnown(s *Store, e *entity) {
	if e.dead {
		w.noteSideEffect()
		w.notePredictedDespawn()
		e.dead = false
		if w.phase == acting || w.phase == stepping {
			if m := w.mistakes; m != nil {
				m.hidden = append(m.hidden, hiding{e, e.hidden})
			}
			e.hidden = w.tick
		}
	}
	s.restore(e)
}

// settleOwned rounds a state onto the grid and notes whether another player's command or the
// referee changed it. Step does not count: it runs on both sides.
func (w *World) settleOwned(s *Store, e *entity) {
	changed := false
	if w.server {
		if set := s.schema.Settle(e.state, e.settled, e.sims, w.ints); set != 0 {
			changed = true
			s.noteChange(e, set)
		}
	} else {
		vals := w.ints[:s.schema.Sims]
		s.schema.Extract(e.state, vals)
		if e.id != w.actor && !slices.Equal(vals, e.sims) {
			w.noteSideEffect()
		}
		copy(e.sims, vals)
		s.schema.Store(e.state, e.sims)
	}
	if e.dead && !w.server {
		if e.dead = false; e.id != w.avatar {
			e.hidden = w.tick
		}
	}
	if changed && w.server && w.phase == stepping {
		e.stepChange = w.now
	}
	if (changed || e.dead) && w.server && (e.id != w.actor || w.phase == hearing) && w.phase != stepping {
		e.externalChange = w.now
		w.noteSideEffect()
	}
}

// noteSideEffect notes that the acting player's command reached beyond its own avatar.
func (w *World) noteSideEffect() {
	if w.phase != acting {
		return
	}
	if _, e := w.entity(w.actor); e != nil {
		e.sideEffect = w.now
	}
}

// notePredictedDespawn notes that the acting player's predicted command despawned something.
func (w *World) notePredictedDespawn() {
	if _, e := w.entity(w.actor); e != nil {
		e.predictedDespawn = w.tick
	}
}
