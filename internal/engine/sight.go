package engine

import (
	"unsafe"

	"meanwhile/netcode/schema"
)

// A Seer knows what a player saw when it made the present command.
type Seer interface {
	// Seen adds to dst every entity of a kind that player me saw, by rising ID and without me
	// itself.
	Seen(kind int, me ID, dst *Sight)
	// Receipt says by which past that is.
	Receipt() Receipt
	// Own returns the integers of the acting player's avatar after a tick before the command, and
	// the newest tick at which it was teleported by then; nil if they are not kept.
	Own(t Tick) (sims []int64, cut Tick)
}

// A Sight is what a player saw of one kind.
type Sight struct {
	store *Store
	ids   []ID
	drawn []int64 // observer integers of each, in 1/schema.SubSteps; none where present
	// present says that it is the present state: of what clients run ahead.
	present bool
}

// Add notes an entity and a copy of its drawn state: observer integers in 1/schema.SubSteps.
func (s *Sight) Add(id ID, drawn []int64) {
	s.ids = append(s.ids, id)
	s.drawn = append(s.drawn, drawn...)
}

// Len returns how many entities the player saw.
func (s *Sight) Len() int { return len(s.ids) }

// Now returns the present state of the i-th entity, or nil if it is gone.
func (s *Sight) Now(i int) unsafe.Pointer {
	if e := s.store.any(s.ids[i]); e != nil {
		return e.state
	}
	return nil
}

// Read writes to v how the player saw the i-th entity, and returns its ID.
func (s *Sight) Read(i int, v unsafe.Pointer) ID {
	if s.present {
		if now := s.Now(i); now != nil {
			s.store.schema.Extract(now, s.store.ints)
			s.store.schema.Store(v, s.store.ints)
		}
		return s.ids[i]
	}
	s.store.schema.StoreDrawn(v, s.at(i))
	return s.ids[i]
}

func (s *Sight) at(i int) []int64 {
	n := s.store.schema.Obs
	return s.drawn[i*n : (i+1)*n]
}

// Close lets the next Look reuse the memory. A callback that ends without it, by a panic, does no
// harm.
func (s *Sight) Close() { s.store.world.looks-- }

// Look returns what player me saw of this kind, until Close: the present, where clients run the
// kind ahead. It returns nil outside of commands and bots, as nobody looks then. It panics for an
// Extrapolated kind.
func (s *Store) Look(me ID) *Sight {
	if s.kind.Extrapolated {
		panic("game: Seen of kind " + s.kind.Name + ", which is Extrapolated: what is extrapolated cannot be hit")
	}
	if s.world.seer == nil {
		return nil
	}
	return s.look(me)
}

// look asks the seer. Ranges over what was seen may be nested, so each has its own memory.
func (s *Store) look(me ID) *Sight {
	w := s.world
	w.looked |= 1 << s.index
	if w.looks == len(w.sights) {
		w.sights = append(w.sights, &Sight{})
	}
	at := w.sights[w.looks]
	w.looks++
	at.store, at.ids, at.drawn = s, at.ids[:0], at.drawn[:0]
	if at.present = s.schema.Ahead != schema.Playout; at.present {
		for _, e := range s.entities {
			if e.id != me && !s.isHidden(e) {
				at.ids = append(at.ids, e.id)
			}
		}
		return at
	}
	w.seer.Seen(s.index, me, at)
	if s.schema.Beyond > 0 {
		s.leaveOutFar(me, at)
	}
	return at
}

// leaveOutFar takes out of a sight what is further from the avatar than the kind can be hit:
// clients may draw it elsewhere. Both sides do, with the same integers. An avatar without a place
// is far from nothing.
func (s *Store) leaveOutFar(me ID, seen *Sight) {
	w := s.world
	k := w.values(me)
	if k == nil || k.Place < 0 {
		return
	}
	own, _ := k.PlaceOf(w.floats)
	if k.Parent >= 0 {
		own, _ = w.On(ID(w.floats[k.Props[k.Parent].At]), own)
	}
	n, ids := s.schema.Obs, seen.ids
	kept := 0
	for i, id := range ids {
		w.floats = s.schema.AppendDrawn(w.floats[:0], seen.at(i))
		at, _ := s.schema.PlaceOf(w.floats)
		if at.Sub(own).Len() > s.schema.Beyond {
			continue
		}
		ids[kept] = id
		copy(seen.drawn[kept*n:(kept+1)*n], seen.at(i))
		kept++
	}
	seen.ids, seen.drawn = ids[:kept], seen.drawn[:kept*n]
}
