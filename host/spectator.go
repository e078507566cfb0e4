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
)

const (
	// maxSpectators is how many spectators one room has at most.
	maxSpectators = 16
	// positionsEvery is the time between two Positions.
	positionsEvery = time.Second / 30
)

// Errors of Spectate.
var (
	ErrNoRoom            = errors.New("host: there is no such room")
	ErrTooManySpectators = errors.New("host: this room has too many spectators")
)

// Positions is where the server has every avatar at one tick, unaffected by networks and
// techniques.
type Positions struct {
	Tick    clock.Tick
	Avatars []Avatar // by the order in which their players joined
}

// Avatar is where the avatar of one player or bot is.
type Avatar struct {
	ID game.ID
	At geom.Vec3 // metres
	// Capacity is the server's estimate of the path to the player, in bytes a second; at most the
	// budget.
	Capacity int
}

// A Spectator receives the positions of a room's avatars as the server knows them, for tools and
// demonstrations. It reveals what players must not know. See Host.Spectate.
type Spectator struct {
	r    *room
	news chan Positions // the newest
}

// Spectate adds a spectator to an open room; an empty name means the default room. It fails with
// ErrNoRoom or ErrTooManySpectators. The caller must Close the Spectator.
func (h *Host) Spectate(name string) (*Spectator, error) {
	if name == "" {
		name = h.cfg.Room
	}
	h.mu.Lock()
	r := h.rooms[name]
	h.mu.Unlock()
	if r == nil {
		return nil, fmt.Errorf("%w: %q", ErrNoRoom, name)
	}
	s := &Spectator{r: r, news: make(chan Positions, 1)}
	r.spectators.mu.Lock()
	defer r.spectators.mu.Unlock()
	switch {
	case r.spectators.closed:
		return nil, fmt.Errorf("%w: %q", ErrNoRoom, name)
	case len(r.spectators.list) >= maxSpectators:
		return nil, fmt.Errorf("%w: %d", ErrTooManySpectators, maxSpectators)
	}
	if r.spectators.list == nil {
		r.spectators.list = make(map[*Spectator]struct{})
	}
	r.spectators.list[s] = struct{}{}
	return s, nil
}

// Next waits for the next positions, which come about thirty times a second; it skips those that
// newer ones have replaced. It fails with ErrNoRoom when the room has ended, or with the cause of
// ctx.
func (s *Spectator) Next(ctx context.Context) (Positions, error) {
	select {
	case p, ok := <-s.news:
		if !ok {
			return Positions{}, ErrNoRoom
		}
		return p, nil
	case <-ctx.Done():
		return Positions{}, context.Cause(ctx)
	}
}

// Close ends spectating.
func (s *Spectator) Close() {
	s.r.spectators.mu.Lock()
	defer s.r.spectators.mu.Unlock()
	delete(s.r.spectators.list, s)
}

// spectators are the spectators of one room.
type spectators struct {
	mu     sync.Mutex
	list   map[*Spectator]struct{}
	closed bool
	last   clock.Time // the loop's own
	floats []float64
}

// publish sends the positions to every spectator, if it is time.
func (ws *spectators) publish(r *room, now clock.Time) {
	// Half a tick early is not too early: the next tick would be half a tick late.
	if now.Sub(ws.last) < positionsEvery-r.srv.Period()/2 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.list) == 0 {
		return
	}
	ws.last = now
	t := Positions{Tick: r.srv.Tick()}
	eng := r.srv.Engine()
	for _, p := range r.order {
		id := r.srv.Avatar(p.id)
		kind, sims := eng.Sims(id)
		if sims == nil {
			continue
		}
		k := r.srv.Rules().Kinds[kind]
		ws.floats = k.AppendExact(ws.floats[:0], nil, sims, 0)
		if at, ok := k.PlaceOf(ws.floats); ok {
			st, _ := r.srv.Stats(p.id)
			t.Avatars = append(t.Avatars, Avatar{id, at, st.DownRate})
		}
	}
	for w := range ws.list {
		select {
		case <-w.news: // the last one was not taken
		default:
		}
		w.news <- t
	}
}

// close ends every spectator because the room has ended.
func (ws *spectators) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
	for w := range ws.list {
		close(w.news)
	}
	clear(ws.list)
}
