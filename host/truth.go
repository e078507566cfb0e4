package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

const (
	// maxWatches is how many may watch one room.
	maxWatches = 16
	// truthEvery is the time between two truths.
	truthEvery = time.Second / 30
)

// Errors of Watch.
var (
	ErrNoRoom  = errors.New("host: there is no such room")
	ErrWatched = errors.New("host: too many watch this room")
)

// Truth is where the server has everybody in one tick: past every technique and every network.
type Truth struct {
	Tick    clock.Tick
	Avatars []Avatar // by the order in which their players joined
}

// Avatar is the avatar of a player or bot.
type Avatar struct {
	ID game.ID
	At geom.Vec3 // metres
	// Carries is what the server takes the path to the player to carry, bytes a second; at most the budget.
	Carries int
}

// A Watch is somebody who is told the truth, for tools and demonstrations: players must not have one.
type Watch struct {
	r    *room
	news chan Truth // the newest
}

// Watch begins to watch an open room. It fails with ErrNoRoom or ErrWatched. Close must be called.
func (h *Host) Watch(name string) (*Watch, error) {
	if name == "" {
		name = h.cfg.Room
	}
	h.mu.Lock()
	r := h.rooms[name]
	h.mu.Unlock()
	if r == nil {
		return nil, fmt.Errorf("%w: %q", ErrNoRoom, name)
	}
	w := &Watch{r: r, news: make(chan Truth, 1)}
	r.truth.mu.Lock()
	defer r.truth.mu.Unlock()
	switch {
	case r.truth.closed:
		return nil, fmt.Errorf("%w: %q", ErrNoRoom, name)
	case len(r.truth.list) >= maxWatches:
		return nil, fmt.Errorf("%w: %d", ErrWatched, maxWatches)
	}
	if r.truth.list == nil {
		r.truth.list = make(map[*Watch]struct{})
	}
	r.truth.list[w] = struct{}{}
	return w, nil
}

// Next waits for the next truth, about thirty times a second. It fails with ErrNoRoom when the room has ended, or with
// the error of ctx.
func (w *Watch) Next(ctx context.Context) (Truth, error) {
	select {
	case t, ok := <-w.news:
		if !ok {
			return Truth{}, ErrNoRoom
		}
		return t, nil
	case <-ctx.Done():
		return Truth{}, context.Cause(ctx)
	}
}

// Close ends watching.
func (w *Watch) Close() {
	w.r.truth.mu.Lock()
	defer w.r.truth.mu.Unlock()
	delete(w.r.truth.list, w)
}

// watchers are those who watch a room.
type watchers struct {
	mu     sync.Mutex
	list   map[*Watch]struct{}
	closed bool
	last   clock.Time // the loop's own
	floats []float64
}

// publish tells everybody who watches, if it is time.
func (ws *watchers) publish(r *room, now clock.Time) {
	// Half a tick early is not too early: the next tick would be half a tick late.
	if now.Sub(ws.last) < truthEvery-r.srv.Period()/2 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.list) == 0 {
		return
	}
	ws.last = now
	t := Truth{Tick: r.srv.Tick()}
	eng := r.srv.Engine()
	for _, p := range r.order {
		id := r.srv.Avatar(p.id)
		kind, sims := eng.Sims(id)
		if sims == nil {
			continue
		}
		k := r.srv.Rules().Kinds[kind]
		ws.floats = k.AppendExact(ws.floats[:0], nil, sims, 0)
		if at, ok := place(k, ws.floats); ok {
			st, _ := r.srv.Stats(p.id)
			t.Avatars = append(t.Avatars, Avatar{id, at, st.DownRate})
		}
	}
	for w := range ws.list {
		select {
		case <-w.news: // nobody took the last one
		default:
		}
		w.news <- t
	}
}

// place returns where an entity is: its first place that observers see.
func place(k *schema.Kind, vals []float64) (v geom.Vec3, ok bool) {
	for i := range k.Props {
		p := &k.Props[i]
		if p.Class != schema.Pos || p.ObsAt != k.PlaceX {
			continue
		}
		for c, to := range []*float64{&v.X, &v.Y, &v.Z} {
			if c < p.Comps {
				*to = vals[p.At+c]
			}
		}
		return v, true
	}
	return v, false
}

// close tells everybody that the room has ended.
func (ws *watchers) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
	for w := range ws.list {
		close(w.news)
	}
	clear(ws.list)
}
