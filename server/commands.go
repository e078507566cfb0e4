package server

import (
	"math"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/wire"
)

// CommandStats counts what happened to one player's commands.
type CommandStats struct {
	Starved     uint64 // ticks without a command of their own
	Late        uint64 // commands that arrived after their tick
	Expired     uint64 // queued commands that were not run: too much to catch up on
	Moved       uint64 // presses of late commands, run at the next tick
	TooEarly    uint64 // commands further ahead than MaxAhead ticks
	Judged      uint64 // commands that were judged by what their player saw
	Clamped     uint64 // of these by another picture than they claimed; Reasons says why
	Substituted uint64 // entities judged by a newer state than was shown, which was too old, see rewind.MaxGap
	// Agreed and Disagreed count shots for which the client claimed to have hit what the server
	// did, or something else. Those that were judged by the present are left out.
	Agreed, Disagreed uint64
	// Contradicted counts commands whose frame lacked, as they say, what the client had
	// acknowledged before, or had what it does not acknowledge.
	Contradicted uint64
	Withdrawn    uint64     // times that the client's commands went back and made those that waited void
	LastStarved  clock.Tick // newest tick that ran without its own command
	LastAssumed  clock.Tick // newest tick that ran the command of before, as the client had announced to idle
	LastActed    clock.Tick // newest tick whose command was not the same as the one before; 0: none
	// Hitches counts how often the picture that commands were made with began to stand still, since
	// the next packet was missing: nearly all that the client shows, but on paths so full that
	// nothing is sent a third. ViewAge is how old the newest command's picture was when it ran: the
	// playout delay, and the way up with its reserve; 0 before a command stated one.
	Hitches uint64
	ViewAge time.Duration
	// Suspicion, from 0 to 100, says how much more often the player's shots were of older pictures
	// than its path explains: 5 for each second of shots with one. Five minutes of play without one
	// take off 25. Honest players seldom exceed 20, on good paths 5.
	Suspicion int

	// Reasons counts commands that were judged.
	Reasons [rewind.Reasons]uint64
}

// commands is one player's commands: those that wait for their tick, and what is known of those
// that ran. The two modes share it, see timed.go and queued.go.
type commands struct {
	waiting inbox
	acked   clock.Tick     // all commands up to here arrived, or are of no use any more
	last    packet.Command // the newest command that ran
	late    packet.Command // a late press that waits for the next tick, if its Tick is not 0
	pressed clock.Tick     // where commands are timed: when the presses were made that run now
	made    made           // what the client had made when the newest datagram with commands left
	idle    bool           // the client announced that its commands stay as they are
	idles   clock.Tick     // while idle: from here on. It may have moved in the ticks before, whose commands are lost
	rests   clock.Tick     // up to here they stayed as they were, since it announced that
	queue   queue          // where commands are queued

	// surprised says that something else than the player's own command ran: its prediction may be
	// wrong.
	surprised bool

	events uint8 // how many events the player's commands emitted, modulo 256

	slack    int64 // least slack of new commands, in 1/256 tick, that was not reported yet or in a packet that was lost
	slackDue bool

	ahead int64 // by how much commands precede their ticks as a rule, in 1/256 tick

	claims rewind.Claims
	stands bool // the picture of the newest command that ran stood still

	stats CommandStats
}

// made says how far a client was with its commands, so that its steps back are noticed.
type made struct {
	tick clock.Tick // the newest command of the newest datagram with commands; 0: none came
	seq  wire.Seq   // that datagram
	back wire.Seq   // where from is set: datagrams before this one were made before a step back
	from bool
}

// ackWindow is how many packets before the newest are still accepted, see wire.Received.
const ackWindow = 64

// follow notes the commands of a datagram, and reports whether they count. A client never makes the
// command of a tick twice, unless its time went back: after a hang of this server, or when a clock
// was set. Then the first datagram that goes back withdraws all commands that did not run yet, and
// what arrives of those made before it does not count any more.
func (c *commands) follow(s *Server, seq wire.Seq, cmds []packet.Command) (counts, stepped bool) {
	m := &c.made
	if m.from && seq-m.back < 1<<15 && seq-m.back > ackWindow {
		m.from = false // nothing that old is accepted any more
	}
	newest := cmds[len(cmds)-1].Tick
	switch {
	case m.tick != 0 && !seq.Newer(m.seq):
		return !m.from || !m.back.Newer(seq), false
	case newest < m.tick:
		m.back, m.from, stepped = seq, true, true
		c.withdraw(s)
	}
	m.seq, m.tick = seq, newest
	return true, stepped
}

// withdraw forgets the commands that did not run yet.
func (c *commands) withdraw(s *Server) {
	ran := max(s.tick, c.queue.ran)
	c.waiting.truncate(ran)
	c.acked, c.rests = min(c.acked, ran), min(c.rests, ran)
	c.queue.from, c.queue.fillTo = min(c.queue.from, ran+1), min(c.queue.fillTo, ran+1)
	c.idle = false
	c.stats.Withdrawn++
}

// noSlackReported is the note in the log of a packet that reported no slack. Others note the slack
// that they reported, in 1/packet.SlackPerTick tick.
const noSlackReported = math.MinInt16

// noteSlack keeps the least slack for the next report.
func (c *commands) noteSlack(slack int64) {
	if !c.slackDue || slack < c.slack {
		c.slack, c.slackDue = slack, true
	}
}

// noteIntent notes whether a command that runs at tick differs from the one before.
func (c *commands) noteIntent(run *packet.Command, tick clock.Tick) {
	if !slices.Equal(run.Vals, c.last.Vals) {
		c.stats.LastActed = tick
	}
}

// copyCommand makes dst a copy of src and reuses dst's memory.
func copyCommand(dst, src *packet.Command) {
	vals := append(dst.Vals[:0], src.Vals...)
	*dst = *src
	dst.Vals = vals
}

// announce applies what the newest datagram says of commands other than its own: whether the client
// idles, and, unless it is sparse, that no command before its first will come any more.
func (c *commands) announce(s *Server, cmds []packet.Command, idle, sparse bool) {
	complete := len(cmds) > 0 && !sparse
	if complete && s.rules.Mode == game.Queued {
		c.queue.begins(cmds[0].Tick, c.idle && !idle, s.tick)
	}
	if complete && c.idle && !idle {
		c.rests = min(cmds[0].Tick-1, s.tick+MaxAhead)
	}
	if idle && !c.idle && len(cmds) > 0 {
		c.idles = cmds[0].Tick
	}
	c.idle = idle
	if complete {
		c.acked = max(c.acked, min(cmds[0].Tick-1, s.tick+MaxAhead))
	}
}

// acceptCommand stores one command for its tick. A late one is not run any more, but the next tick
// runs its presses. Commands that arrived before, and those more than MaxAhead ticks ahead, are
// dropped. contradicts is what completeBasis reported of it.
func (c *commands) acceptCommand(s *Server, cmd *packet.Command, contradicts bool, arrival clock.Time) {
	t := cmd.Tick
	if t > s.tick+MaxAhead {
		c.stats.TooEarly++
		return
	}
	if c.waiting.arrived(t) {
		return
	}
	if t+cmdWindow/2 <= s.tick {
		if t > c.last.Tick {
			copyCommand(&c.last, cmd) // of an idle player it is the newest intent that is known
		}
		return
	}
	c.waiting.arrive(t)
	if contradicts {
		c.stats.Contradicted++
	}
	slack := int64(t.Frac()) - int64(s.tick.Frac()) - int64(arrival.Sub(s.now))*clock.FracPerTick/int64(s.current)
	c.noteSlack(slack)
	c.ahead += min(max(slack-c.ahead, -clock.FracPerTick), clock.FracPerTick) // a few far ones do not count
	c.claims.Arrived(arrival, time.Duration(slack)*s.current/clock.FracPerTick)
	if s.rules.Mode == game.Queued {
		c.enqueue(cmd, arrival)
		return
	}
	if t > s.tick {
		c.waiting.put(cmd, max(time.Duration(slack)*s.current/clock.FracPerTick, 0), s.tick)
	} else {
		c.acceptLate(s, cmd)
	}
	c.advance(s.tick)
}

// upTo returns the newest tick of which a client has made the command, as far as it may still run.
// cmds are those that arrive now.
func (c *commands) upTo(s *Server, cmds []packet.Command) clock.Tick {
	t := c.waiting.newest
	if n := len(cmds); n > 0 {
		t = max(t, min(cmds[n-1].Tick, s.tick+MaxAhead))
	}
	return t
}

// making returns for which tick a client is making commands, as far as that is certain. The newest
// may be far ahead of the others, so that what they are judged by seems to lie in the past.
func (c *commands) making(s *Server) clock.Tick {
	most := s.tick.Frac() + clock.TickFrac(
		max(c.ahead, 0),
	) + clock.TickFrac(
		int64(proofAge)*clock.FracPerTick/int64(s.period),
	)
	return min(c.waiting.newest, most.Tick())
}

// appendFeedback writes what the client needs to time its commands and, where there is room for it,
// how its shots were judged. It notes the slack that sent reports.
func (c *commands) appendFeedback(w *wire.BitWriter, sent *wire.Packet, s *Server, shots *receipts) {
	f := packet.Feedback{Acked: c.acked, HasSlack: c.slackDue, Ran: c.queue.ran}
	f.Starved, f.Events = uint8(c.stats.Starved%packet.StarvedRange), c.events%packet.EventsRange
	sent.Note = noSlackReported
	if c.slackDue {
		// Rounded down: a command that was late by little was late.
		f.Slack = int(min(max(c.slack>>4, -packet.MaxSlack), packet.MaxSlack))
		sent.Note, c.slackDue = int16(f.Slack), false
	}
	shots.take(&f.Receipts, sent.Seq)
	f.Append(w, s.tick, s.rules.Feedback())
}
