package client

import (
	"errors"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// maxInbox is how many datagrams wait for the next frame: as many as an acknowledgement speaks of.
// The oldest are dropped beyond it. The server would not learn that they were applied, sends what
// they had again, and would judge shots without it.
const maxInbox = wire.Window + 1

// resyncAfter is how many packets in a row may need a baseline that is gone before the client asks
// for everything anew.
const resyncAfter = 16

// downlink is what arrived of the server's datagrams: those that wait for the next frame, those
// that were applied, and what the next datagram of ours reports of them.
type downlink struct {
	inbox []arrival
	spare [][]byte // memory of datagrams that were applied

	received  *wire.Incoming
	agreement wire.Agreement
	messages  reliable.Receiver

	newest     wire.Seq   // newest packet applied
	newestTick clock.Tick // its tick
	gapTick    clock.Tick // of the newest packet that came without the one before it
	fresh      bool       // records came since the world was brought up to date
	quiet      bool       // the newest packet announced silence until something changes

	unusable int  // packets in a row that needed a baseline which is gone
	resync   bool // the next datagram asks for everything anew
	mustAck  bool // the server waits for an acknowledgement

	// Ticks of packets that left out nothing of what is run ahead, modulo their number; settles
	// says it of the one that is being read.
	settled     [64]clock.Tick
	settles     bool
	settledTick clock.Tick // the newest of them

	echo   clock.Stamp // of the newest packet
	echoAt clock.Time
	echoed bool // it is still to be sent back
}

// An arrival is a datagram that waits for the next frame.
type arrival struct {
	at   clock.Time
	data []byte
}

// put queues a copy of a datagram and reports whether another had to be dropped for it.
func (d *downlink) put(at clock.Time, data []byte) (dropped bool) {
	if len(d.inbox) >= maxInbox {
		d.spare = append(d.spare, d.inbox[0].data)
		copy(d.inbox, d.inbox[1:])
		d.inbox = d.inbox[:len(d.inbox)-1]
		dropped = true
	}
	var b []byte
	if n := len(d.spare); n > 0 {
		b, d.spare = d.spare[n-1][:0], d.spare[:n-1]
	}
	d.inbox = append(d.inbox, arrival{at, append(b, data...)})
	return dropped
}

// applied notes that a packet was applied, and reports whether it is the newest. next is the number
// that our own next packet will have.
func (d *downlink) applied(at clock.Time, h *wire.Header, next wire.Seq) (newest bool) {
	d.unusable, d.resync = 0, false
	d.received.Applied(h)
	d.agreement.Applied(h.Tick, next)
	d.mustAck = d.mustAck || h.Elicits
	d.fresh = true
	if !h.Seq.Newer(d.newest) {
		return false
	}
	if h.Seq != d.newest+1 {
		d.gapTick = h.Tick
	}
	d.newest, d.newestTick = h.Seq, h.Tick
	d.echo, d.echoAt, d.echoed = h.Stamp, at, true
	d.quiet = h.NextDue == wire.Quiet
	return true
}

// lostBaseline notes a packet that needed a baseline which is gone. After too many in a row the
// next datagram asks for everything anew.
func (d *downlink) lostBaseline() {
	if d.unusable++; d.unusable > resyncAfter {
		d.resync, d.mustAck = true, true
	}
}

// isSettled reports whether the packet of a tick left out nothing of what this client runs ahead:
// what it says nothing of is as the client has it.
func (d *downlink) isSettled(t clock.Tick) bool {
	return t != 0 && d.settled[t%clock.Tick(len(d.settled))] == t
}

// without returns which packets before the newest were not applied yet, as in wire.Basis.
func (d *downlink) without() uint64 {
	a, _ := d.received.Ack()
	return ^a.History
}

// report writes into the header of our next datagram what arrived, now being the local time.
func (d *downlink) report(h *wire.Header, now clock.Time) {
	h.Resync = d.resync
	h.Ack, h.HasAck = d.received.Ack()
	d.received.Stated(h.Seq)
	if d.echoed && now.Sub(d.echoAt) < maxEchoAge {
		h.HasEcho, h.Echo, h.EchoAt = true, d.echo, d.echoAt.Stamp()
		d.echoed = false
	}
	d.mustAck = false
}

// maxEchoAge is how old an echo may be. The datagram may wait in the edge before it is stamped.
const maxEchoAge = wire.MaxEchoHold - 250*time.Millisecond

// Receive queues one datagram that arrived at the given local time; data is copied. The next Frame
// applies it.
func (c *Client) Receive(arrival clock.Time, data []byte) {
	if len(data) > wire.MaxDatagram {
		c.stats.Malformed++
	} else if c.down.put(arrival, data) {
		c.stats.InboxDropped++
	}
}

func (c *Client) applyInbox() {
	d := &c.down
	for i := range d.inbox {
		c.apply(d.inbox[i].at, d.inbox[i].data)
		d.spare = append(d.spare, d.inbox[i].data)
	}
	d.inbox = d.inbox[:0]
}

// apply applies one datagram that arrived at the local time at, whole or not at all.
func (c *Client) apply(at clock.Time, data []byte) {
	var r wire.BitReader
	h, err := c.down.received.Decode(&r, data)
	switch {
	case errors.Is(err, wire.ErrDuplicate):
		c.stats.Duplicate++
		return
	case errors.Is(err, wire.ErrLine):
		c.stats.NoBaseline++
		return
	case err != nil:
		c.stats.Malformed++
		return
	case h.Heartbeat:
		c.applyHeartbeat(at, &h, &r)
		return
	}
	agreed, known := c.down.agreement.Agreed(h.Tick, h.Ack.Latest)
	if !known { // seconds late, so that it says nothing new; or the second of its tick, which no server of ours sends
		c.stats.NoBaseline++
		return
	}
	if !h.HasAck {
		agreed = 0
	}
	feedback, spawned, ok := c.parse(&h, &r, agreed)
	if !ok {
		return
	}
	c.store.Commit()
	c.screen.arrive(h.Tick)
	newest := c.down.applied(at, &h, c.up.log.NextSeq())
	c.own.noteRan(h.Tick, feedback.Ran)
	c.own.spawned = max(c.own.spawned, spawned)
	c.verdicts.receive(&feedback.Receipts)
	if c.down.settles {
		c.down.settled[h.Tick%clock.Tick(len(c.down.settled))] = h.Tick
		c.down.settledTick = max(c.down.settledTick, h.Tick)
	}
	c.stats.Received++
	c.stats.ReceivedBytes += uint64(len(data) + wire.Overhead)
	period, trip := c.time.synchronise(at, &h, c.up.log.Get(h.Ack.Latest), c.up.mayBeAway())
	if trip > 0 {
		c.up.path.Sample(at, trip)
	}
	if newest {
		c.applyFeedback(&feedback, at, period)
		c.events.decide(h.Tick, &feedback)
	}
	if h.HasAck {
		c.up.log.Acked(h.Ack, c.up.delivered, c.up.missing)
	}
	c.readMessages()
}

// parse reads what follows the header of a datagram. Records take effect with store.Commit. spawned
// is what packet.DecodeSpawned returns, 0 in games without kinds that clients run ahead.
func (c *Client) parse(
	h *wire.Header, r *wire.BitReader, agreed uint64,
) (f packet.Feedback, spawned clock.Tick, ok bool) {
	form := c.rules.Feedback()
	f = packet.DecodeFeedback(r, h.Tick, form)
	if r.Bad() {
		c.stats.Malformed++
		return f, 0, false
	}
	if err := c.store.Parse(r, h.Tick, agreed); err != nil {
		if errors.Is(err, snapshot.ErrBaseline) || errors.Is(err, snapshot.ErrSlot) || errors.Is(err, snapshot.ErrOvertaken) {
			c.stats.NoBaseline++
			c.down.lostBaseline()
		} else {
			c.stats.Malformed++
		}
		return f, 0, false
	}
	if c.rules.Ahead() {
		newest := h.Tick
		if form.Queued {
			newest = f.Ran
		}
		if spawned, c.down.settles = packet.DecodeSpawned(r, h.Tick, newest); r.Bad() {
			c.stats.Malformed++
			return f, 0, false
		}
	}
	if rest := r.Rest(); len(rest) > 0 {
		if _, err := c.down.messages.Read(rest); err != nil {
			c.stats.Malformed++
			return f, 0, false
		}
	}
	return f, spawned, true
}

func (c *Client) applyHeartbeat(at clock.Time, h *wire.Header, r *wire.BitReader) {
	c.stats.Heartbeats++
	b, err := packet.HeartbeatOf(h, r)
	switch {
	case err != nil:
		c.stats.Malformed++
	case !c.up.idleKnown: // the commands of an idle player wait for no tick
		c.time.heartbeat(at, &b)
	}
}

// applyFeedback learns what the server reported on commands at the local time at, when a tick took
// period.
func (c *Client) applyFeedback(f *packet.Feedback, at clock.Time, period time.Duration) {
	acked := min(f.Acked, c.up.made)
	if c.up.backKnown {
		c.up.acked = max(c.up.acked, acked)
	}
	starved := c.up.noteStarved(f.Starved)
	if c.time.lead.reported() {
		c.stats.Starved += uint64(starved)
	}
	c.own.desyncs.feedback(starved, f.HasSlack && f.Slack < 0)
	// A hidden page makes its commands when it can, which teaches nothing.
	if f.HasSlack && c.up.backKnown && !c.up.mayBeAway() {
		c.time.lead.Feedback(at, acked, time.Duration(f.Slack)*period/packet.SlackPerTick)
	}
}

// readMessages takes over the messages that arrived whole: texts at once, events until they are to
// be shown.
func (c *Client) readMessages() {
	for {
		m, ok := c.down.messages.Next()
		if !ok {
			return
		}
		if m.Kind < packet.FirstMessage {
			c.events.put(m)
			continue
		}
		if m.Kind != snapshot.TextMessage {
			c.words.hear(&m)
			continue
		}
		if c.play.texts.Read(m.Body) != nil {
			c.stats.Malformed++
		}
		for _, e := range c.store.Entities() {
			e.Fresh = e.Fresh || !e.Mine // one of its texts may be this one
		}
	}
}
