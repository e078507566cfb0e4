package client

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// Encode returns the next datagram to send, or nil. It is valid until the next call; its stamp may be patched.
func (c *Client) Encode(now clock.Time) []byte {
	due := c.cmdTick > c.sentCmd && !c.idleSaid || !c.awaySaid
	if !due && !c.mustAck && now.Sub(c.lastSent) < packet.KeepAlive {
		_, known := c.est.Offset()
		if known || now.Sub(c.lastSent) < hello {
			return nil
		}
	}
	c.log.Expire(now.Add(-longestFlight), c.unanswered)
	budget := c.path.Rate()
	if now < c.nextSend && c.nextSend.Sub(now) <= time.Second ||
		c.log.InFlight() > rate.Limit(budget, c.rtt.Least()+ackSpan) && now.Sub(c.lastSent) < c.trickle(budget) && now >= c.lastSent {
		if c.wait > c.cfg.gap() {
			c.path.Limited()
		}
		return nil // what is new goes with the next one
	}
	p := c.log.Sent(now, c.cmdTick, c.unanswered)
	h := wire.Header{Session: c.welcome.Session, Seq: p.Seq, Stamp: now.Stamp(), Resync: c.resync}
	h.Ack, h.HasAck = c.recv.Ack()
	if c.echoed {
		h.HasEcho, h.Echo, h.EchoAt = true, c.echo, c.echoAt.Stamp()
		c.echoed = false
	}
	// Where each command is to be run, none may be left behind that differs.
	h.Idle = c.same >= idleAfter && (!c.queued || c.cmdTick-min(c.cmdAcked, c.cmdTick) <= clock.Tick(c.same)+1)
	if h.Idle && c.idleSeq == 0 {
		c.idleSeq = p.Seq
	}
	if !c.awaySaid && c.awaySeq == 0 {
		c.awaySeq = p.Seq
	}
	up := packet.Uplink{Away: c.away}
	c.cmds = c.cmds[:0]
	if c.cmdTick > 0 && !c.idleSaid {
		n := c.cmdTick - min(c.cmdAcked, c.cmdTick)
		if n = min(n, maxRepeat, c.useful(now)); c.queued {
			n = min(c.cmdTick-min(c.cmdAcked, c.cmdTick), packet.MaxCommands) // each of them is to be run
		}
		if h.Idle {
			n = max(n, 1) // it stands for all that follow, also where all of them come too late to be run
		}
		if few := c.timely(now); few < n && !c.queued && c.slow(budget) && c.packets < repeatAll-1 && !c.missed {
			n, up.Sparse = few, true
			c.packets++
		} else {
			c.packets, c.missed = 0, false
		}
		for i := range n {
			t := c.cmdTick - (n - 1 - i)
			if cmd := c.own.Command(t); cmd != nil {
				c.cmds = append(c.cmds, *cmd)
				if c.cfg.NoRewind {
					c.cmds[len(c.cmds)-1].Seen = 0
				}
			} else {
				c.cmds, up.Sparse = c.cmds[:0], true
			}
		}
	}
	if c.sentCmd < c.cmdTick {
		c.sentLast, c.sentCmd = c.sentCmd, c.cmdTick
	}
	h.Elicits = len(c.cmds) > 0 || !c.lead.Synced()
	w := &c.w
	w.Reset(h.Append(c.buf[:0]))
	head := w.Mark()
	up.Append(w)
	packet.AppendCommands(w, c.rules.Command, c.cmds, h.Ack.Latest)
	for w.Size() > wire.MaxDatagram && len(c.cmds) > 1 { // large commands
		w.Rewind(head)
		if c.queued { // the oldest go first: the others would have to wait for them
			c.cmds = c.cmds[:len(c.cmds)*3/4]
		} else { // the newest matter most
			c.cmds = c.cmds[(len(c.cmds)+1)/2:]
		}
		up.Append(w)
		packet.AppendCommands(w, c.rules.Command, c.cmds, h.Ack.Latest)
	}
	b := w.Bytes()
	c.buf = b
	c.log.Charge(p, len(b)+wire.Overhead)
	c.wait = max(time.Duration(p.Size)*time.Second/time.Duration(budget), c.cfg.gap())
	c.nextSend = max(c.nextSend.Add(c.wait), now)
	c.mustAck, c.lastSent = false, now
	c.stats.Sent++
	c.stats.SentBytes += uint64(len(b) + wire.Overhead)
	return b
}

// Dropped reports that the transport threw away a datagram before it reached the path. Its commands are repeated at
// once, and it does not count as a loss on the path. A sequence number that is not in flight has no effect.
func (c *Client) Dropped(seq wire.Seq) { c.log.Drop(seq, c.unanswered) }

// gap is the time from one packet to the next that SendRate asks for.
func (cfg *Config) gap() time.Duration {
	if cfg.SendRate == 0 {
		return 0
	}
	return time.Second / time.Duration(cfg.SendRate)
}

// trickle is the longest that a path with too much under way is given nothing.
func (c *Client) trickle(budget rate.BytesPerSecond) time.Duration {
	if c.slow(budget) {
		return slowTrickle
	}
	return trickle
}

// slow reports whether what is repeated in vain takes from what is new.
func (c *Client) slow(budget rate.BytesPerSecond) bool { return budget < slowUp }

// timely returns how many of the newest commands are to be repeated because they can still be there in time, if they were lost: those whose tick
// the server has not run when this packet arrives, and those that went out only once.
func (c *Client) timely(now clock.Time) clock.Tick {
	return c.cmdTick - min(c.past(now), c.sentLast, c.cmdTick)
}

// useful returns how many of the newest commands can still mean something when this packet arrives: those that are in time, and those whose presses the
// server moves to its next tick. At least the newest, which says what the player wants now. In an outage what is older only fills
// the queue that the newest ones have to wait in.
func (c *Client) useful(now clock.Time) clock.Tick {
	late := clock.Tick(packet.LatePress / c.welcome.Period)
	return max(c.cmdTick-min(max(c.past(now), late)-late, c.cmdTick), 1)
}

// past returns the newest tick that the server has surely run when this packet arrives.
func (c *Client) past(now clock.Time) clock.Tick {
	first := c.line.TickAt(c.out.Now(now).Add(c.rtt.Least() / 2)).Tick()
	return max(first, spareTicks) - spareTicks
}

// spareTicks is by how many ticks past may be wrong: ways differ, and ticks are not run at once.
const spareTicks = 2

const (
	maxRepeat = 40 // commands repeated in one packet at most
	hello     = 50 * time.Millisecond
)
