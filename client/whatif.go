package client

import (
	"time"

	"meanwhile/netcode/playout"
)

// A WhatIf is how a player would see the same packets with another playout delay. The server would
// answer otherwise to what such a client sends, so nothing else of it differs.
type WhatIf struct {
	t    *timelines
	play *playout.Clock
}

// WhatIf begins to compute what another fixed playout delay would show, 0: an adaptive one. Called
// before the first datagram arrives it knows all of them. It fails as SetPlayout does.
func (c *Client) WhatIf(fixed time.Duration) (*WhatIf, error) {
	play, err := playout.New(playout.Config{Fixed: fixed, Interval: min(c.time.spacing, playout.MaxDelay)})
	if err != nil {
		return nil, err
	}
	play.Twin = c.time.play.Twin
	c.time.play.Twin = play
	return &WhatIf{&c.time, play}, nil
}

// Delay returns how long before the present of the server what the newest frame draws was; 0 if
// nothing is drawn yet. It is Stats.Delay of such a client.
func (w *WhatIf) Delay() time.Duration {
	at := w.play.DisplayTime()
	if at == 0 {
		return 0
	}
	return w.t.server.Now(w.t.now).Sub(at)
}

// Hitches returns how often nothing newer was there to draw. It is Stats.Hitches of such a client.
func (w *WhatIf) Hitches() uint64 { return w.play.Hitches() }
