package client

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// Players react to a frame that was drawn, not to the one that is about to be. A command states the
// newest frame that was on the screen when its press happened: its playout time, the packets that
// were applied by then, and where the own avatar was drawn.

// A glance is what one frame showed.
type glance struct {
	number  uint32         // of the frame; 0: there is none
	local   clock.Time     // of Frame
	seen    clock.TickFrac // playout time
	newest  wire.Seq       // newest packet applied
	without uint64         // packets before it that were not, as in wire.Basis
	eye     clock.TickFrac // at which the own avatar was drawn; 0: there was none
}

const (
	// glances is how many frames are remembered: a press is stated with the frame before it, also
	// where the screen draws several for one tick.
	glances = 16
	// arrivals is of how many ticks the client knows in which frame their packets were applied.
	// Commands of older frames are not predicted again.
	arrivals = 256
)

// screen knows what the newest frames showed.
type screen struct {
	_ [0]func() // no == for it, which pages would have to load

	number  uint32          // of the present frame
	drawn   [glances]glance // frames that were drawn, modulo their count
	count   uint
	pressed glance // on the screen at the next command's press
	stated  uint32 // frame that the newest command stated
	arrived [arrivals]arrivedIn
}

// arrivedIn says in which frame the packet of a tick was applied.
type arrivedIn struct {
	tick  clock.Tick
	frame uint32
}

// arrive notes that the packet of a tick was applied in this frame.
func (s *screen) arrive(tick clock.Tick) {
	if a := &s.arrived[tick%arrivals]; a.tick < tick {
		*a = arrivedIn{tick, s.number}
	}
}

// has reports whether a frame showed what the packet of a tick brought. Frame 0 shows everything.
func (s *screen) has(frame uint32, tick clock.Tick) bool {
	a := &s.arrived[tick%arrivals]
	return frame == 0 || a.tick != tick || a.frame <= frame
}

// draw notes that a frame was drawn.
func (s *screen) draw(g glance) {
	s.drawn[s.count%glances] = g
	s.count++
}

// at returns the newest frame that was drawn by a local time; the zero glance if there is none.
func (s *screen) at(local clock.Time) (g glance) {
	for i := uint(1); i <= min(s.count, glances); i++ {
		if g = s.drawn[(s.count-i)%glances]; g.local <= local {
			return g
		}
	}
	return g // the oldest there is
}

// state returns which frame the next command states: that of its press, or else the newest that was
// drawn, or else the present one. It is never an older one than the command before stated.
func (s *screen) state(present glance) glance {
	g := s.pressed
	if g.number == 0 {
		g = s.at(present.local)
	}
	if g.number == 0 {
		g = present
	}
	for i := s.count; g.number < s.stated && i > 0 && s.count-i < glances; i-- {
		if d := s.drawn[(i-1)%glances]; d.number >= s.stated {
			g = d
		}
	}
	if g.number < s.stated {
		g = present
	}
	return g
}

// made notes which frame the newest command stated.
func (s *screen) made(g glance) { s.stated, s.pressed = g.number, glance{} }

// forget forgets the frames, as a clock was set.
func (s *screen) forget() { s.count, s.pressed, s.stated = 0, glance{}, 0 }

// glance returns what the present frame shows.
func (c *Client) glance() glance {
	g := glance{number: c.screen.number, local: c.time.now, seen: c.time.drawTick, newest: c.down.newest,
		without: c.down.without()}
	switch {
	case c.own.me == 0:
	case c.cfg.NoPrediction:
		if g.eye = c.own.ring.Base().Frac(); !c.cfg.NoInterpolation {
			g.eye = min(g.eye, c.time.drawTick)
		}
	default:
		if s, t := c.own.drawnState(); s != nil {
			g.eye = (t - 1).Frac() + c.own.drawnIn(t)
		}
	}
	return g
}
