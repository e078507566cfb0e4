package engine

import (
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

// A Seer knows what a player saw when it made the present command.
type Seer interface {
	// Seen adds to dst the entities that q asks for as the player saw them, by rising ID. It may
	// add others of the kind, but not the player itself.
	Seen(q Query, dst *Sight)
	// Receipt says by which past that is.
	Receipt() Receipt
	// Past returns the integers of the acting player's avatar, or of what clients run ahead, after a
	// tick before the command, and the newest tick at which it was teleported by then; nil if they
	// are not kept. They are valid until the next call but one.
	Past(id ID, t Tick) (sims []int64, cut Tick)
}

// A Query asks what a player saw of a kind.
type Query struct {
	Kind int
	Me   ID // the player
	// ID asks for this entity alone, 0: for all; with Modulo, unless that is 0, also for others with
	// this remainder.
	ID, Modulo ID
	Near       geom.Capsule // asks for those with their place in it, in metres
	Along      bool         // Near counts
}

// Names reports whether the query asks for entity id by its ID.
func (q *Query) Names(id ID) bool {
	return q.ID == 0 || id == q.ID || q.Modulo != 0 && id%q.Modulo == q.ID
}

// A Sight is what a player saw of one kind.
type Sight struct {
	store *Store
	ids   []ID
	drawn []int64 // observer integers of each, in 1/schema.SubSteps; none where present
	// present says that it is of what clients run ahead: what they showed is not in drawn.
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
		return s.store.present(e)
	}
	return nil
}

// Read writes to v how the player saw the i-th entity, and returns its ID.
func (s *Sight) Read(i int, v unsafe.Pointer) ID {
	if s.present {
		if x := s.store.any(s.ids[i]); x != nil {
			s.store.schema.Store(v, s.store.shown(x))
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
func (s *Store) Look(me ID) *Sight { return s.lookFor(Query{Me: me}) }

// LookAlong is Look for what was drawn, from above, in a capsule: its place in the world, with
// parents as the player saw them. It leaves out what has no place, and what is on something that
// the player did not see.
func (s *Store) LookAlong(me ID, near geom.Capsule) *Sight {
	return s.lookFor(Query{Me: me, Near: near, Along: true})
}

func (s *Store) lookFor(q Query) *Sight {
	if s.kind.Extrapolated {
		panic("game: Seen of kind " + s.kind.Name + ", which is Extrapolated: what is extrapolated cannot be hit")
	}
	if s.world.seer == nil {
		return nil
	}
	return s.look(q)
}

// look asks the seer. Ranges over what was seen may be nested, so each has its own memory.
func (s *Store) look(q Query) *Sight {
	w := s.world
	w.looked |= 1 << s.index
	if w.looks == len(w.sights) {
		w.sights = append(w.sights, &Sight{})
	}
	seen := w.sights[w.looks]
	w.looks++
	q.Kind = s.index
	seen.store, seen.ids, seen.drawn = s, seen.ids[:0], seen.drawn[:0]
	if seen.present = s.schema.Ahead != schema.Playout; !seen.present {
		w.seer.Seen(q, seen)
		if s.schema.Beyond > 0 {
			s.leaveOutFar(q.Me, seen)
		}
	} else {
		for _, e := range s.entities {
			if e.id != q.Me && !s.isHidden(e) {
				seen.ids = append(seen.ids, e.id)
			}
		}
	}
	if q.Along {
		seen.keep(func(i int) bool {
			at, ok := seen.place(i, q.Me)
			return ok && q.Near.Contains(at.XY())
		})
	}
	return seen
}

// place returns where player me saw the i-th entity, in the world.
func (s *Sight) place(i int, me ID) (at geom.Vec3, ok bool) {
	w, k := s.store.world, s.store.schema
	parent := ID(0)
	if !s.present {
		at, ok = k.DrawnPlace(s.at(i))
		parent = ID(k.DrawnParent(s.at(i)))
	} else if w.values(s.ids[i]) != nil {
		if at, ok = k.PlaceOf(w.floats); k.Parent >= 0 {
			parent = ID(w.floats[k.Props[k.Parent].At])
		}
	}
	if !ok || parent == 0 {
		return at, ok
	}
	return w.SeenOn(me, parent, at)
}

// keep takes out of the sight what f does not want.
func (s *Sight) keep(f func(i int) bool) {
	n, kept := s.store.schema.Obs, 0
	for i := range s.ids {
		if !f(i) {
			continue
		}
		s.ids[kept] = s.ids[i]
		if !s.present {
			copy(s.drawn[kept*n:(kept+1)*n], s.at(i))
		}
		kept++
	}
	s.ids = s.ids[:kept]
}

// leaveOutFar takes out of a sight what is further from the eye than the kind can be hit:
// clients may draw it elsewhere. Both sides do, with the same integers. An avatar without a place
// is far from nothing.
func (s *Store) leaveOutFar(me ID, seen *Sight) {
	own, ok := s.world.eyePlace(me)
	if !ok {
		return
	}
	seen.keep(func(i int) bool {
		at, _ := s.schema.DrawnPlace(seen.at(i))
		return !(at.Sub(own).Len() > s.schema.Beyond)
	})
}
