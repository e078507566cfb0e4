package host

import (
	"context"
	"time"

	"meanwhile/session"
)

// drainLook is how often a host that drains looks whether anybody still plays.
const drainLook = 50 * time.Millisecond

// drain tells all players that the host ends and when, and waits until then, or until nobody plays
// any more. Meanwhile nobody new is admitted, and players whose connection is lost still come back.
func (h *Host) drain(ctx context.Context) {
	if h.cfg.Drain == 0 {
		return
	}
	h.mu.Lock()
	h.ends = max(h.clock().Add(h.cfg.Drain), 1)
	rooms := make([]*room, 0, len(h.alive))
	for r := range h.alive {
		rooms = append(rooms, r)
		if r.gallery != nil {
			rooms = append(rooms, r.gallery)
		}
	}
	h.mu.Unlock()
	h.log.Info("no new players are admitted", "for", h.cfg.Drain)
	for _, r := range rooms {
		go r.call(func() { // ends with the room at the latest
			for _, p := range r.order {
				if !p.bot {
					h.sayFarewell(p)
				}
			}
		})
	}
	ticker := time.NewTicker(drainLook)
	defer ticker.Stop()
	for end := time.After(h.cfg.Drain); h.seated() > 0; {
		select {
		case <-ticker.C:
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// seated returns how many humans play, those without a connection included.
func (h *Host) seated() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, r := range h.seats {
		if r.of == nil {
			n++
		}
	}
	return n
}

// State returns "ready" while newcomers are admitted, else "starting", "draining" or "ended".
func (h *Host) State() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ctx == nil:
		return "starting"
	case h.ctx.Err() != nil:
		return "ended"
	case h.ends != 0:
		return "draining"
	}
	return "ready"
}

// ending returns how long the host still runs; false if it is not about to end.
func (h *Host) ending() (left time.Duration, ends bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ends == 0 {
		return 0, false
	}
	return max(h.ends.Sub(h.clock()), 0), true
}

// sayFarewell tells a player when the host ends, if it is about to.
func (h *Host) sayFarewell(p *player) {
	left, ends := h.ending()
	if !ends {
		return
	}
	f := session.Farewell{In: left, To: h.cfg.DrainTo, Text: "This server is about to end."}
	if f.To != "" {
		f.Text = "This server is about to end. You go on at another one."
	}
	if b, err := f.Append(nil); err == nil {
		_ = p.peer.SendMessage(b) // without a connection there is nobody to tell
	}
}
