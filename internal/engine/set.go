package engine

import (
	"slices"

	"meanwhile/netcode/schema"
)

// A Set is the states of everything that a client predicts, as of one tick: its avatar and what it
// runs ahead. The zero Set is empty.
type Set struct {
	Members []Member // by kind and rising ID
	Vals    []int64  // their simulation integers
}

// A Member is one entity of a Set.
type Member struct {
	ID   ID
	Kind int
	At   int  // where its integers begin in Vals
	Cut  Tick // newest tick at which it was teleported, 0: never
	Gone Tick // tick at which a prediction despawned it, 0: it exists
}

// CopyFrom makes the set equal to src and reuses its own memory.
func (s *Set) CopyFrom(src *Set) {
	s.Members, s.Vals = append(s.Members[:0], src.Members...), append(s.Vals[:0], src.Vals...)
}

// Clear empties the set.
func (s *Set) Clear() { s.Members, s.Vals = s.Members[:0], s.Vals[:0] }

// Find returns the member with an ID, or nil.
func (s *Set) Find(id ID) *Member {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return &s.Members[i]
		}
	}
	return nil
}

// Of returns the integers of a member of kind k.
func (s *Set) Of(m *Member, k *schema.Kind) []int64 { return s.Vals[m.At : m.At+k.Sims : m.At+k.Sims] }

// Add adds a member of kind k that the set does not have, with all integers zero, and returns it.
func (s *Set) Add(id ID, kind int, k *schema.Kind) *Member {
	at := len(s.Members)
	for at > 0 && (s.Members[at-1].Kind > kind || s.Members[at-1].Kind == kind && s.Members[at-1].ID > id) {
		at--
	}
	m := Member{ID: id, Kind: kind, At: len(s.Vals)}
	for range k.Sims {
		s.Vals = append(s.Vals, 0)
	}
	s.Members = append(s.Members, m)
	copy(s.Members[at+1:], s.Members[at:])
	s.Members[at] = m
	return &s.Members[at]
}

// Remove removes the member at an index.
func (s *Set) Remove(i int) { s.Members = append(s.Members[:i], s.Members[i+1:]...) }

// Rename gives a member another ID, if the set has it.
func (s *Set) Rename(from, to ID) {
	for i := range s.Members {
		m := s.Members[i]
		if m.ID != from {
			continue
		}
		s.Remove(i)
		m.ID = to
		at := i
		for at > 0 && s.Members[at-1].Kind == m.Kind && s.Members[at-1].ID > to {
			at--
		}
		s.Members = append(s.Members, m)
		copy(s.Members[at+1:], s.Members[at:])
		s.Members[at] = m
		return
	}
}

// LoadSet makes a set the entities that a client predicts.
func (e *Engine) LoadSet(set *Set) {
	next := 0
	for _, s := range e.w.stores {
		from := next
		for next < len(set.Members) && set.Members[next].Kind == s.index {
			next++
		}
		s.load(set.Members[from:next], set.Vals)
	}
}

// load makes members the predicted entities of the store.
func (s *Store) load(members []Member, vals []int64) {
	for i := len(s.entities) - 1; i >= 0; i-- {
		x := s.entities[i]
		if !x.predicted {
			continue
		}
		stays := false
		for j := range members {
			stays = stays || members[j].ID == x.id
		}
		if !stays {
			s.remove(x)
		}
	}
	for i := range members {
		m := &members[i]
		x := s.obtain(m.ID)
		if sims := vals[m.At : m.At+s.schema.Sims]; !x.predicted || !slices.Equal(x.sims, sims) {
			copy(x.sims, sims)
			s.schema.Store(x.state, x.sims)
		}
		x.predicted, x.stale, x.cutAt, x.hidden = true, false, m.Cut, m.Gone
	}
}

// SaveSet writes what a client predicts to set.
//
//go:noinline
func (e *Engine) SaveSet(set *Set) {
	set.Clear()
	for _, s := range e.w.stores {
		for _, x := range s.entities {
			if x.predicted {
				set.Members = append(set.Members, Member{x.id, s.index, len(set.Vals), x.cutAt, x.hidden})
				set.Vals = append(set.Vals, x.sims...)
			}
		}
	}
}

// SetAvatar says which entity is the avatar of a client's player. A prediction never despawns it.
func (e *Engine) SetAvatar(id ID) { e.w.avatar = id }

// A SpawnKey names what a player's command spawned, on the server and in the client alike: the
// tick of the command, and how many the command had spawned before. Only entities of kinds with
// schema.Kind.Exact count.
type SpawnKey struct {
	Tick Tick
	N    uint8
}

const (
	// MaxSpawns is how many entities of kinds that clients run ahead one command can spawn in a
	// prediction. Further ones appear when the server's arrive.
	MaxSpawns = 64
	// firstPredicted is the first ID of what exists in a prediction only.
	firstPredicted = 1 << 31
	// maxAdopted is how many spawns are known by the server's ID; the oldest are forgotten first. A
	// replay needs those of the last second.
	maxAdopted = 256
)

// ID returns the ID of a spawn until the server's is known.
func (k SpawnKey) ID() ID {
	return firstPredicted | ID(k.Tick)<<6&(firstPredicted-1) | ID(k.N)%MaxSpawns
}

// SpawnedBy reports whether an ID that is Foreseen is of a command up to that of tick t, at most a
// million ticks before it.
func (id ID) SpawnedBy(t Tick) bool {
	const most = firstPredicted >> 6 // IDs have so many ticks
	return (t-Tick(id-firstPredicted)>>6)%most < 1<<20
}

// SpawnTick returns the tick of the command that spawned what has an ID that is Foreseen; near is a
// tick at most a million after it.
func SpawnTick(id ID, near Tick) Tick {
	const most = firstPredicted >> 6 // IDs have so many ticks
	return near - (near-Tick(id-firstPredicted)>>6)%most
}

// Foreseen reports whether an ID is that of something that exists in a prediction only.
func (id ID) Foreseen() bool { return id >= firstPredicted }

// adoption is the server's ID of what a prediction spawned.
type adoption struct {
	key SpawnKey
	id  ID
}

// Adopt says which ID the server gave to what a command spawned: predicting the command again makes
// that entity.
func (e *Engine) Adopt(key SpawnKey, id ID) {
	w := e.w
	if len(w.adopted) >= maxAdopted {
		w.adopted = append(w.adopted[:0], w.adopted[1:]...)
	}
	w.adopted = append(w.adopted, adoption{key, id})
}

// Spawner returns which player's command spawned an entity, and its key; 0 if no command did.
func (e *Engine) Spawner(id ID) (by ID, key SpawnKey) {
	if _, x := e.w.entity(id); x != nil {
		return x.spawner, x.key
	}
	return 0, SpawnKey{}
}

// spawnAhead makes an entity in a client's prediction and returns its ID; 0 if it makes none.
func (s *Store) spawnAhead() ID {
	w := s.world
	if !s.exact || w.phase != acting || w.actor != w.avatar || w.born >= MaxSpawns {
		if m := w.mistakes; m != nil && (w.phase == acting || w.phase == stepping) {
			m.noteSpawn(w, s)
		}
		return 0
	}
	key := SpawnKey{w.tick, uint8(w.born)}
	id := key.ID()
	for i := range w.adopted {
		if w.adopted[i].key == key {
			id = w.adopted[i].id
		}
	}
	w.born++
	return id
}
