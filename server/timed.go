package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// acceptLate handles a timed command whose tick has run. Its presses are kept for the next tick,
// with its aim and its view: a click should not be lost because its packet was late, and it was
// aimed at what was on the screen then. Its movement is lost; the server repeated another in its
// place. Of several late presses the first counts, as it would have in time.
func (c *commands) acceptLate(s *Server, cmd *packet.Command) {
	c.stats.Late++
	c.stats.LastStarved = max(c.stats.LastStarved, s.tick) // also where idleness was assumed until now
	c.surprised = true
	if cmd.Tick > c.last.Tick {
		copyCommand(&c.last, cmd) // too late to run, but the newest intent that is known
	}
	if !packet.HasPress(s.rules.Command, cmd.Vals) {
		c.claims.Late(s.now, s.tick, s.span((s.tick+1).Frac()-cmd.Seen))
		return
	}
	if s.tooLate(cmd.Tick) {
		return
	}
	c.stats.Moved++
	if c.late.Tick == 0 || s.tooLate(c.late.Tick) {
		copyCommand(&c.late, cmd)
	}
}

// tooLate reports whether a press of tick t is too old to be run.
func (s *Server) tooLate(t clock.Tick) bool {
	return t < s.tick && time.Duration(s.tick-t)*s.period > packet.LatePress
}

// advance moves the acknowledged tick over the commands that arrived and over those too old to
// matter. Ticks that ran while the client was idle do not count: a command for one of them may be
// on its way, and must be sent again if it is lost.
func (c *commands) advance(tick clock.Tick) {
	if tick > cmdWindow/4 {
		c.acked = max(c.acked, tick-cmdWindow/4)
	}
	for c.waiting.arrived(c.acked + 1) {
		c.acked++
	}
}

// nextCommand returns the timed command to run at the server's tick. It is the player's own or,
// when none arrived, its last movement for RepeatFor and then a neutral one. Presses are never
// repeated. The result is valid until the next call for any player.
// log is that of the packets to the player.
func (c *commands) nextCommand(s *Server, log *wire.Log) (run *packet.Command) {
	run, c.pressed = &s.run, s.tick
	_, own := c.waiting.take(s.tick, run)
	if own {
		c.noteIntent(run, s.tick)
		copyCommand(&c.last, run)
	} else {
		c.repeatLast(s, log, run)
	}
	if c.late.Tick != 0 && !s.tooLate(c.late.Tick) {
		c.addLatePress(s, run)
	}
	c.late.Tick = 0
	c.advance(s.tick)
	return run
}

// repeatLast sets run to the command that stands in for one that did not arrive.
func (c *commands) repeatLast(s *Server, log *wire.Log, run *packet.Command) {
	k, t := s.rules.Command, s.tick
	seen := c.last.Seen
	if seen != 0 {
		seen += clock.TickFrac(t-c.last.Tick) * clock.FracPerTick // as if the player had gone on looking
	}
	copyCommand(run, &c.last)
	if a, ok := log.Acknowledged(); ok && a.Latest.Newer(run.Newest) { // and at what has arrived since
		run.Newest, run.Without = a.Latest, ^a.History
	}
	run.Tick, run.Seen, run.Moment, run.Eye, run.Claim = t, seen, 0, 0, 0
	packet.ClearPresses(k, run.Vals)
	long := time.Duration(t-c.last.Tick)*s.period > RepeatFor
	if c.idle && t >= c.idles || t <= c.rests {
		c.stats.LastAssumed = t
	} else {
		c.stats.Starved++
		c.stats.LastStarved = t
		c.surprised = true
		if long {
			packet.Neutral(k, run.Vals)
		}
	}
	if long {
		packet.ClearSticks(k, run.Vals) // an idle player does not run, whatever it announced
	}
}

// addLatePress adds the late press to run, with its aim and its view.
func (c *commands) addLatePress(s *Server, run *packet.Command) {
	k := s.rules.Command
	for i := range k.Props {
		prop := &k.Props[i]
		at := run.Vals[prop.At : prop.At+prop.Comps]
		switch late := c.late.Vals[prop.At : prop.At+prop.Comps]; prop.Input() {
		case schema.InputMove, schema.InputHeld: // movement and what is kept pressed are those of now
		case schema.InputPress:
			at[0] |= late[0]
		default: // the aim and its target
			copy(at, late)
		}
	}
	run.Seen, run.Newest, run.Without = c.late.Seen, c.late.Newest, c.late.Without
	run.Moment, run.Eye = c.late.Moment, c.late.Eye
	run.Claim, c.pressed = c.late.Claim, c.late.Tick
	c.stats.LastStarved = s.tick // not the command that was predicted
	c.surprised = true
}
