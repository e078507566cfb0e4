package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// QueuedCredit is how much game time a player whose commands are queued may catch up on at once.
// Commands that come later than that are not run any more: the player loses that time.
const QueuedCredit = 500 * time.Millisecond

// queuedAhead is how far a queued command's own tick may lie ahead of the server's: the error of a
// client's estimate of the server's tick.
const queuedAhead = 150 * time.Millisecond

// queue is what is known of the commands of a player in a game whose commands are queued. Each is
// run as soon as it and all before it have arrived, once, at its own tick as far as rules can see.
// Nobody gains speed by it: a command's tick may not lie more than queuedAhead ahead of the
// server's, and one that lies further behind than QueuedCredit is passed over. So no span of time
// runs more commands than it has ticks, and a credit of both together.
type queue struct {
	ran    clock.Tick // newest command that ran, or was passed over; 0: none yet
	from   clock.Tick // commands before this one will never come
	fillTo clock.Tick // of those, the ones before this tick repeat the one before: the client was idle
}

// begins notes that the client will send nothing before tick first any more, and whether it idled
// until then. now is the server's tick.
func (q *queue) begins(first clock.Tick, idled bool, now clock.Tick) {
	if first > now+MaxAhead {
		return
	}
	if q.ran == 0 {
		q.ran = first - 1
	}
	q.from = max(q.from, first)
	if idled {
		q.fillTo = max(q.fillTo, first)
	}
}

// enqueue stores a command until it is its turn.
func (c *commands) enqueue(cmd *packet.Command, arrival clock.Time) {
	if cmd.Tick <= c.queue.ran {
		c.stats.Late++
		return
	}
	c.waiting.put(cmd, time.Duration(arrival), c.queue.ran)
	for c.waiting.arrived(c.acked + 1) {
		c.acked++
	}
}

// queuedTicks returns how many ticks a span is, at least one and no more than the inbox has room
// for.
func (s *Server) queuedTicks(d time.Duration) clock.Tick {
	return min(max(clock.Tick(d/s.period), 1), cmdWindow/2-4)
}

// nextQueued returns the next queued command to run in this tick and how long it waited; nil if
// there is none. The result is valid until the next call for any player.
func (c *commands) nextQueued(s *Server) (run *packet.Command, waited time.Duration) {
	q, now := &c.queue, s.tick
	credit := s.queuedTicks(QueuedCredit)
	if q.ran == 0 {
		return nil, 0
	}
	run = &s.run
	for {
		t := q.ran + 1
		if t > now+s.queuedTicks(queuedAhead) {
			return nil, 0
		}
		arrival, here := c.waiting.take(t, run)
		switch {
		case t+credit < now && !c.idle && t >= q.fillTo: // more than may be caught up on
			q.ran = t
			c.stats.Expired++
			c.surprised = true
			c.stats.LastStarved = now
			if t+credit+cmdWindow < now { // the inbox has none of these any more
				q.ran = now - credit - cmdWindow
			}
			continue
		case here:
			q.ran = t
			c.noteIntent(run, s.tick)
			copyCommand(&c.last, run)
			return run, s.now.Sub(clock.Time(arrival))
		case t < q.fillTo || c.idle && t+credit <= now: // the client idled, as it announced
			if t+2*cmdWindow < now { // of a long rest not each tick is run
				q.ran = now - 2*cmdWindow
				c.surprised = true
				continue
			}
			q.ran, c.stats.LastAssumed = t, now
			copyCommand(run, &c.last)
			run.Tick, run.Seen, run.Moment, run.Eye, run.Claim = t, 0, 0, 0, 0
			packet.ClearPresses(s.rules.Command, run.Vals)
			packet.ClearSticks(s.rules.Command, run.Vals) // an idle player does not run, whatever it announced
			return run, 0
		case t < q.from: // the client passed over it, too
			q.ran = t
			if t+cmdWindow < q.from {
				q.ran = q.from - cmdWindow
			}
			continue
		}
		return nil, 0
	}
}

// runQueued runs the commands of a player that have arrived.
func (s *Server) runQueued(p *player) {
	c := &p.commands
	ran := 0
	for cmd, waited := c.nextQueued(s); cmd != nil; cmd, waited = c.nextQueued(s) {
		c.claims.Arrived(s.now, waited)
		s.eng.SetCommandTick(cmd.Tick)
		p.trail.put(s.eng, p.avatar, cmd.Tick-1)
		s.act(p, cmd)
		ran++
	}
	s.eng.SetTick(s.tick)
	if ran == 0 && !c.idle && c.queue.ran != 0 {
		c.stats.Starved++
		c.stats.LastStarved = s.tick
	}
	c.acked = max(c.acked, c.queue.ran)
}
