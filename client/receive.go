package client

import (
	"errors"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// Receive queues one datagram that arrived at the given local time; data is copied. It is applied by the next Frame.
func (c *Client) Receive(arrival clock.Time, data []byte) {
	if len(data) > wire.MaxDatagram {
		c.stats.Malformed++
		return
	}
	if len(c.inbox) >= MaxInbox {
		c.spare = append(c.spare, c.inbox[0].data)
		copy(c.inbox, c.inbox[1:])
		c.inbox = c.inbox[:len(c.inbox)-1]
		c.stats.InboxDropped++
	}
	var b []byte
	if n := len(c.spare); n > 0 {
		b, c.spare = c.spare[n-1][:0], c.spare[:n-1]
	}
	c.inbox = append(c.inbox, held{arrival, append(b, data...)})
}

// apply takes in one datagram, whole or not at all.
func (c *Client) apply(at clock.Time, data []byte) {
	h, n, err := wire.DecodeHeader(data)
	switch {
	case err != nil || !h.Server:
		c.stats.Malformed++
		return
	case h.Session != c.welcome.Session:
		c.stats.Foreign++
		return
	case h.Heartbeat:
		c.stats.Heartbeats++
		if beat, err := packet.DecodeHeartbeat(data); err != nil {
			c.stats.Malformed++
		} else {
			c.overdue(at, &beat)
		}
		return
	case !c.recv.Accepts(h.Seq):
		c.stats.Duplicate++
		return
	}
	agreed, known := c.agreement.Agreed(h.Tick, h.Ack.Latest)
	if !known {
		c.stats.NoBaseline++ // seconds late: what it says is old; or the second one of its tick, which no server of ours sends
		return
	}
	if !h.HasAck {
		agreed = 0
	}
	var r wire.BitReader
	r.Reset(data[n:])
	fb := packet.DecodeFeedback(&r, h.Tick, c.queued)
	if r.Bad() {
		c.stats.Malformed++
		return
	}
	if err := c.store.Parse(&r, h.Tick, agreed); err != nil {
		if errors.Is(err, snapshot.ErrBaseline) || errors.Is(err, snapshot.ErrSlot) {
			c.stats.NoBaseline++
			if c.lost++; c.lost > resyncAfter {
				c.resync, c.mustAck = true, true
			}
		} else {
			c.stats.Malformed++
		}
		return
	}
	if rest := r.Rest(); len(rest) > 0 {
		if _, err := c.lane.Read(rest); err != nil {
			c.stats.Malformed++
			return
		}
	}
	c.store.Commit()
	c.lost, c.resync = 0, false
	if fb.Ran != 0 {
		c.ran[h.Tick%ranTicks] = ranAt{h.Tick, fb.Ran}
	}
	newest := int16(h.Seq-c.newest) > 0
	c.recv.Applied(h.Seq)
	c.agreement.Applied(h.Tick, c.log.NextSeq())
	c.stats.Received++
	c.stats.Bytes += uint64(len(data) + wire.Overhead)
	c.mustAck = c.mustAck || h.Elicits
	c.fresh = true
	period := c.synchronise(at, &h)
	if newest {
		if h.Seq != c.newest+1 {
			c.gap = h.Tick
		}
		c.newest, c.newestTick = h.Seq, h.Tick
		c.echo, c.echoAt, c.echoed = h.Stamp, at, true
		c.quiet = h.NextDue == wire.Quiet
		c.takeFeedback(&fb, at, period)
	}
	if h.HasAck {
		c.log.Acked(h.Ack, c.delivered, c.missing)
	}
	c.messages()
}

// synchronise takes in what the header of a datagram says of the server's clock, the path and the ticks, and returns how long these are now.
func (c *Client) synchronise(at clock.Time, h *wire.Header) (period time.Duration) {
	stood := c.down.Queued(at, at.Sub(at.Near(h.Stamp)))
	if h.HasEcho {
		hold := time.Duration((uint32(h.Stamp)-uint32(h.EchoAt))&(1<<24-1)) * time.Microsecond
		c.est.Receive(at, h.Stamp, h.Echo, hold)
		if rtt := at.Sub(at.Near(h.Echo)) - hold; rtt > 0 && rtt < rate.MaxTimeout {
			c.rtt.Sample(at, rtt)
			// What stood in a queue on the way down is no queue that less up would shorten.
			c.path.Sample(at, max(rtt-stood, min(c.rtt.Least(), rtt)))
		}
	} else {
		c.est.ReceiveOneWay(at, h.Stamp)
	}
	if period = h.Period; period == 0 {
		period = c.welcome.Period
	}
	expect := c.out.Now(c.now) // near enough to place a stamp; reading the clock at the arrival would move it past this frame
	if _, known := c.est.Offset(); !known {
		_, expect, _ = c.line.Newest()
	}
	tickTime := expect.Near(h.Time)
	c.pace(at, h, tickTime, period)
	c.play.Arrive(at, tickTime, h.NextDue == wire.Quiet || c.away || !c.awaySaid) // little is sent to who is away: that is no jitter
	return period
}

// messages takes in what the lane has whole: texts at once, events into the hold until they are shown.
func (c *Client) messages() {
	for {
		m, ok := c.lane.Next()
		if !ok {
			return
		}
		if m.Kind == snapshot.TextMessage {
			if c.texts.Read(m.Body) != nil {
				c.stats.Malformed++
			}
			for _, e := range c.store.Entities() {
				e.Fresh = e.Fresh || !e.Mine // it may be called so
			}
			continue
		}
		for !c.hold.Put(m) {
			c.show(c.hold.Pop())
		}
	}
}

// resyncAfter is how many packets in a row may name a baseline that is gone before everything is asked for anew.
const resyncAfter = 16

// unanswered takes in that nothing was heard of a packet, which is no loss yet: in an outage nothing is.
func (c *Client) unanswered(*wire.Packet) { c.missed = true }

func (c *Client) missing(*wire.Packet) {
	c.missed = true
	c.path.Missing(c.now)
}

func (c *Client) delivered(p *wire.Packet) {
	c.path.Delivered(c.now, p.Size, -1)
	if c.awaySeq != 0 && !c.awaySeq.Newer(p.Seq) {
		c.awaySaid = true
	}
	if c.idleSeq != 0 && !c.idleSeq.Newer(p.Seq) { // this one or a later one: all of them say idle
		c.idleSaid = true
	}
}

// takeFeedback takes in what the server said of the commands, at the local time at, when a tick took so long.
func (c *Client) takeFeedback(f *packet.Feedback, at clock.Time, period time.Duration) {
	c.cmdAcked = max(c.cmdAcked, min(f.Acked, c.cmdTick))
	if n := (f.Starved - c.starved4) % packet.StarvedRange; n > 0 && c.lead.Synced() {
		c.stats.Starved += uint64(n)
	}
	c.starved4 = f.Starved
	if f.HasSlack && !c.away && c.awaySaid { // what a hidden page makes comes when it may
		c.lead.Feedback(at, min(f.Acked, c.cmdTick), time.Duration(f.Slack)*period/packet.SlackPerTick)
	}
}
