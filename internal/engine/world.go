package engine

import (
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// World holds the entities of a game: all of them on the server, the known ones in a client. Its
// methods are for rules, while a callback runs. It is not safe for concurrent use.
type World struct {
	rules  *Rules
	stores []*Store // one for each kind
	tick   Tick     // as rules see it
	now    Tick     // of the server's step; differs from tick while a queued command runs
	server bool
	seed   uint64 // of Act and Step; clients know it
	secret uint64 // of Join and Referee
	nextID ID
	heard  uint64 // messages of players so far

	// Since Drain.
	spawned []ID
	removed []ID
	events  []Emitted
	said    []Said
	spare   [][]int64 // payloads of events for reuse

	keeping          // on the server
	away    Presence // likewise; nil: nobody is

	callback // that runs

	aim aim // of the newest Act

	// In a client.
	known    func(id ID) []int64 // see Engine.OnLook
	avatar   ID                  // of its player; 0: none
	adopted  []adoption          // what its commands spawned, by the server's ID
	mistakes *mistakes           // nil where nobody asks for them

	ints   []int64   // scratch, for one state
	floats []float64 // scratch, for the place of a parent
}

// keeping is the records of what lasts.
type keeping struct {
	records map[ID]*Record // by avatar
	ofRoom  *Record        // nil if the game saves nothing of rooms
	joiner  *Record        // of the player whose Join runs
	lent    []*Record      // to the callback that runs
}

// A callback is what is known of the callback of rules that runs.
type callback struct {
	phase   phase
	actor   ID
	replay  bool // the tick was predicted before
	moment  uint8
	eye     clock.TickFrac // see Engine.SetEye
	rand    geom.Rand
	seer    Seer
	sights  []*Sight // memory for nested ranges over Seen
	looks   int      // how many of sights are in use
	looked  uint64   // kinds that it looked at as its player saw them
	targets targets  // the entities of those kinds that it got, but for its own avatar
	touched []touch
	born    int                                 // entities that clients run ahead and that this callback spawned
	before  struct{ spawned, events, said int } // their lengths when the callback began
}

func newWorld(r *Rules, server bool, seed, secret uint64) *World {
	w := &World{rules: r, server: server, seed: seed, secret: secret, nextID: 1}
	most := 1
	for i := range r.Kinds {
		w.stores = append(w.stores, newStore(w, i))
		most = max(most, r.Kinds[i].Sims)
	}
	w.ints = make([]int64, most)
	if s := r.Saved(true); s != nil && server {
		w.ofRoom = s.NewRecord(false)
	}
	return w
}

// Tick returns the tick that is being computed.
func (w *World) Tick() Tick { return w.tick }

// Dt returns the length of a tick in seconds.
func (w *World) Dt() float64 { return 1 / float64(w.rules.Rate) }

// Moment returns when within the tick the presses of the command that runs happened, as a part of
// it: above 0, and 1 if nothing is known of that.
func (w *World) Moment() float64 {
	if w.moment == 0 {
		return 1
	}
	return float64(float64(w.moment) / momentsPerTick)
}

const momentsPerTick = 256

// Rand returns the random numbers of the callback that runs.
func (w *World) Rand() *geom.Rand { return &w.rand }

// Command returns the schema of the game's commands.
func (w *World) Command() *schema.Kind { return w.rules.Command }

// Store returns the entities of a kind. It panics if the game does not list the kind.
func (w *World) Store(k *Kind) *Store {
	for _, s := range w.stores {
		if s.kind == k {
			return s
		}
	}
	panic(w.rules.notListed("kind", "Kinds", k.title()))
}

// entity finds an entity of any kind, hidden or not.
func (w *World) entity(id ID) (*Store, *entity) {
	for _, s := range w.stores {
		if e := s.any(id); e != nil {
			return s, e
		}
	}
	return nil, nil
}

// Despawn removes an entity when the callback returns. In a client it hides an entity that the
// client does not own. An ID of nothing changes nothing.
func (w *World) Despawn(id ID) {
	if s, e := w.entity(id); e != nil && !s.isHidden(e) {
		s.touch(e)
		e.dead = true
	}
}

// Cut marks that an entity was teleported in this tick, so that nobody draws it as a slide.
func (w *World) Cut(id ID) {
	if s, e := w.entity(id); e != nil && !s.isHidden(e) {
		s.touch(e)
		e.cutNow = true
	}
}

// predicts reports whether a client runs an entity ahead.
func (w *World) predicts(id ID) bool {
	_, e := w.entity(id)
	return e != nil && e.predicted
}

// Emitted is an event that rules emitted.
type Emitted struct {
	Event   int // index in Rules.Events
	Tick    Tick
	Actor   ID
	At      geom.Vec2
	Vals    []int64 // simulation integers of the payload
	ByActor bool    // a command of Actor emitted it, so Actor's client predicted it
	Replay  bool    // in a client: the tick was predicted before, so the event may have been shown
}

// Emit notes an event with the payload at v. It panics if the game does not list the event. A
// client notes only events of its own player's command and of what it predicts. All others arrive
// from the server, and would be shown twice.
func (w *World) Emit(k *Kind, actor ID, at geom.Vec2, v unsafe.Pointer) {
	byActor := w.phase == acting && w.actor == actor
	for i, e := range w.rules.events {
		if e != k {
			continue
		}
		if w.phase.readOnly() || !w.server && !byActor && !w.predicts(actor) {
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
		w.events = append(w.events, Emitted{Event: i, Tick: w.now, Actor: actor, At: at, Vals: vals, ByActor: byActor,
			Replay: w.replay})
		return
	}
	panic(w.rules.notListed("event", "Events", k.title()))
}

// Away reports whether the player of an avatar has hidden its page or lost its connection. A client
// predicts that nobody has.
func (w *World) Away(me ID) bool { return w.away != nil && w.away.Away(me) }
