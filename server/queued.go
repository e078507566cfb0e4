package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// QueuedCredit is how much game time a player whose commands are queued may catch up on at once. Commands that stay away for longer are not run any
// more: that time is lost to the player.
const QueuedCredit = 500 * time.Millisecond

// queuedAhead is how far a queued command's own tick may lie ahead of the server's: what a client's estimate of the server's tick may be off by.
const queuedAhead = 150 * time.Millisecond

// queue is what is known of the commands of a player in a game whose commands are queued. Each is run as soon as it is there and all before it
// have run, once, at its own tick as far as rules can see. There is no more speed in it than in the clock: a command's tick may not lie more
// than queuedAhead ahead of the server's, and one that lies further behind than QueuedCredit is passed over; so in no span of time can more commands
// run than it has ticks, and a credit of both together.
type queue struct {
	ran    clock.Tick // newest command that ran, or was passed over; 0: none yet
	from   clock.Tick // commands before this one will never come
	fillTo clock.Tick // of those, the ones before this tick were as the one before: the client was idle
}

// ticks returns how many ticks a span is, with room left in what is kept.
func (c *conn) ticks(d time.Duration) clock.Tick {
	return min(max(clock.Tick(d/c.s.period), 1), cmdWindow/2-4)
}

// queueFrom notes that a client said that nothing before a tick will come any more.
func (c *conn) queueFrom(first clock.Tick, idled bool) {
	q := &c.line
	if first > c.s.tick+MaxAhead {
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

// enqueue stores a command until its turn comes.
func (c *conn) enqueue(cmd *packet.Command, arrival clock.Time) {
	if cmd.Tick <= c.line.ran {
		c.stats.Late++
		return
	}
	c.inbox.put(cmd, time.Duration(arrival), c.line.ran)
	for c.inbox.arrived(c.acked + 1) {
		c.acked++
	}
}

// next returns the next command that is to be run in this tick, nil if there is none.
func (c *conn) next() *packet.Command {
	q, now := &c.line, c.s.tick
	credit := c.ticks(QueuedCredit)
	if q.ran == 0 {
		return nil
	}
	for {
		t := q.ran + 1
		if t > now+c.ticks(queuedAhead) {
			return nil
		}
		run := &c.s.run
		arrival, here := c.inbox.take(t, run)
		switch {
		case t+credit < now && !c.idle && t >= q.fillTo: // more than may be caught up on
			q.ran = t
			c.stats.Expired++
			c.recheck = true
			c.stats.LastStarved = now
			if t+credit+cmdWindow < now { // none of these is kept
				q.ran = now - credit - cmdWindow
			}
			continue
		case here:
			q.ran = t
			set(&c.last, run)
			c.s.seer.begin(c, run, c.s.now.Sub(clock.Time(arrival)))
			return run
		case t < q.fillTo || c.idle && t+credit <= now: // as the client said that it would be
			if t+2*cmdWindow < now { // nobody is told of each tick of a long rest
				q.ran = now - 2*cmdWindow
				c.recheck = true
				continue
			}
			q.ran = t
			set(run, &c.last)
			run.Tick, run.Seen = t, 0
			packet.ClearPresses(c.s.rules.Command, run.Vals)
			packet.ClearSticks(c.s.rules.Command, run.Vals) // who idles does not run, whatever it said before
			c.s.seer.begin(c, run, 0)
			return run
		case t < q.from: // the client passed over it, too
			q.ran = t
			if t+cmdWindow < q.from {
				q.ran = q.from - cmdWindow
			}
			continue
		}
		return nil
	}
}

// runQueued runs what is there of a player's commands.
func (s *Server) runQueued(c *conn) {
	ran := 0
	for cmd := c.next(); cmd != nil; cmd = c.next() {
		s.eng.SetCommandTick(cmd.Tick)
		s.fault(s.eng.Act(c.avatar, cmd.Vals, &s.seer, false))
		ran++
	}
	s.eng.SetTick(s.tick)
	if ran == 0 && !c.idle && c.line.ran != 0 {
		c.stats.Starved++
		c.stats.LastStarved = s.tick
	}
	c.acked = max(c.acked, c.line.ran)
}
