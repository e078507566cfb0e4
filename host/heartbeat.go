package host

import (
	"context"
	"sync"
	"time"

	"meanwhile/clock"
	"meanwhile/server"
)

const (
	// heartbeatEvery is how often players are told again that a tick is overdue.
	heartbeatEvery = 100 * time.Millisecond
	// heartbeats is how often at most for one tick: rules that never return need no one to say so for ever.
	heartbeats = 50
)

// A heart tells the players of a room that a tick is overdue: by more than half a period after it was planned, while the room's loop computes or
// hangs and can tell nobody. It has a goroutine of its own. What it says it has from the loop, which sets it after each tick.
type heart struct {
	clock func() clock.Time

	mu    sync.Mutex
	beats []beat // human players
	tick  clock.Tick
	at    clock.Time    // of the tick
	usual time.Duration // between ticks
	due   clock.Time    // when the next tick is overdue
	told  int           // heartbeats since the tick
	sent  uint64
}

// beat is one player to be told.
type beat struct {
	session uint16
	peer    peer
}

// set is told of a tick that was run, and when the next one is planned.
func (h *heart) set(tick clock.Tick, at, next clock.Time, usual time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tick, h.at, h.usual, h.told = tick, at, usual, 0
	h.due = next.Add(usual / 2)
}

// players is told who is to be told.
func (h *heart) players(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats = h.beats[:0]
	for _, p := range r.order {
		if !p.bot {
			h.beats = append(h.beats, beat{r.srv.Session(p.id), p.peer})
		}
	}
}

// run watches until ctx ends.
func (h *heart) run(ctx context.Context) {
	timer := time.NewTimer(heartbeatEvery)
	defer timer.Stop()
	var buf []byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			var wait time.Duration
			wait, buf = h.beat(buf)
			timer.Reset(wait)
		}
	}
}

// beat tells everybody if the tick is overdue, and says when to look again.
func (h *heart) beat(buf []byte) (time.Duration, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock()
	if len(h.beats) == 0 || h.tick == 0 || h.told >= heartbeats {
		return heartbeatEvery, buf
	}
	if wait := h.due.Sub(now); wait > 0 {
		return wait, buf
	}
	for _, b := range h.beats {
		buf = server.AppendHeartbeat(buf[:0], b.session, h.tick, h.at, h.usual)
		b.peer.Send(buf)
	}
	h.told++
	h.sent += uint64(len(h.beats))
	h.due = now.Add(heartbeatEvery)
	return heartbeatEvery, buf
}
