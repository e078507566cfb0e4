package host

import (
	"context"
	"sync"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

const (
	// heartbeatEvery is how often players are told again that a tick is overdue.
	heartbeatEvery = 100 * time.Millisecond
	// heartbeats is how often at most for one tick: rules that never return need no one to say so
	// for ever.
	heartbeats = 50
)

// A heart tells the players of a room that a tick is overdue: that it has not begun half a period
// after it was planned, while the room's loop computes the one before or hangs and can tell nobody.
// It has a goroutine of its own. What it says it has from the loop, which tells it of each tick
// that begins: ticks that all take long begin in time, as their longer period is planned.
type heart struct {
	clock func() clock.Time

	mu    sync.Mutex
	beats []beat        // human players
	tick  clock.Tick    // newest that has begun
	at    clock.Time    // its instant
	usual time.Duration // between ticks
	due   clock.Time    // when the next tick is overdue
	told  int           // heartbeats since the tick
	size  int           // of the newest, in bytes
	sent  uint64
}

// beat is one player to be told.
type beat struct {
	session uint16
	peer    peer
}

// begins is told of a tick that begins, whose instant is at, and how far apart ticks are at
// present. It returns how many heartbeats each player got since the one before, and their size in
// bytes.
func (h *heart) begins(tick clock.Tick, at clock.Time, usual time.Duration) (told, size int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told, size = h.told, h.size
	h.tick, h.at, h.usual, h.told = tick, at, usual, 0
	h.due = at.Add(usual + usual/2)
	return told, size
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
		beat := packet.Heartbeat{Session: b.session, Tick: h.tick, Time: h.at.Stamp(), Period: h.usual}
		buf = beat.Append(buf[:0])
		b.peer.Send(buf)
	}
	h.told++
	h.size = len(buf)
	h.sent += uint64(len(h.beats))
	h.due = now.Add(heartbeatEvery)
	return heartbeatEvery, buf
}
