package host

import (
	"context"
	"sync"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/server"
)

const (
	// heartbeatEvery is the time between two heartbeats for one tick.
	heartbeatEvery = 100 * time.Millisecond
	// heartbeats is how many are sent for one tick at most. Rules that never return need no more.
	heartbeats = 50
)

// A heart sends heartbeats to the humans of a room when a tick is overdue: when it has not begun
// half a period after its planned instant, because the loop still computes the tick before, or
// hangs. The loop cannot say so itself then, so a heart runs in a goroutine of its own and knows of
// each tick that the loop begins. Ticks that all take long begin on time, since their longer period
// is planned.
type heart struct {
	clock func() clock.Time
	spend func(id server.PlayerID, now clock.Time, size int) bool

	mu     sync.Mutex
	beats  []*player     // the human ones
	tick   clock.Tick    // the newest that has begun; 0: none
	at     clock.Time    // its instant
	period time.Duration // between ticks
	due    clock.Time    // when the next heartbeat is due
	count  int           // heartbeats since the tick began
	sent   uint64        // heartbeats to all players
	open   bool          // the rules run, and nothing else is sent
}

// begins notes that a tick begins, whose instant is at, and the present period.
func (h *heart) begins(tick clock.Tick, at clock.Time, period time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tick, h.at, h.period, h.count = tick, at, period, 0
	h.due = at.Add(period + period/2)
}

// opens notes whether the rules run. Heartbeats are sent only meanwhile: they ask the players'
// budgets, which belong to the room's loop at all other times.
func (h *heart) opens(open bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = open
}

// players notes who gets heartbeats.
func (h *heart) players(r *room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats = h.beats[:0]
	for _, p := range r.order {
		if !p.bot && !p.absent() {
			h.beats = append(h.beats, p)
		}
	}
}

// run sends heartbeats until ctx ends.
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

// beat sends a heartbeat to every player whose budget has room for it, if the tick is overdue, and
// returns when to look again.
func (h *heart) beat(buf []byte) (time.Duration, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock()
	if len(h.beats) == 0 || !h.open || h.count >= heartbeats {
		return heartbeatEvery, buf
	}
	if wait := h.due.Sub(now); wait > 0 {
		return wait, buf
	}
	beat := packet.Heartbeat{Tick: h.tick, Time: h.at.Stamp(), Period: h.period}
	buf = beat.Append(buf[:0])
	for _, p := range h.beats {
		if h.spend(p.id, now, len(buf)) {
			p.send(now, buf)
			h.sent++
		}
	}
	h.count++
	h.due = now.Add(heartbeatEvery)
	return heartbeatEvery, buf
}
