package server

import (
	"math"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/interest"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// PlayerStats is what happened to one player's commands and packets.
type PlayerStats struct {
	Starved     uint64 // ticks without a command of their own
	Late        uint64 // commands that arrived after their tick
	Expired     uint64 // queued commands that were not run: too much to catch up on
	Moved       uint64 // presses of late commands, run at the next tick
	TooEarly    uint64 // commands further ahead than MaxAhead ticks
	Clamped     uint64 // commands whose playout time was outside the rewind's bounds
	Newer       uint64 // things that they were judged by in a newer state than was shown, which was too old, see rewind.MaxGap
	Sent        uint64 // datagrams
	SentBytes   uint64 // wire.Overhead per datagram included
	Records     uint64 // entries of entities
	MaxWindow   int    // most bytes in any one second
	Events      uint64 // events sent
	Choked      uint64 // packets held back because too much was under way
	EventsLost  uint64 // events that did not fit the queue
	DownRate    int    // bytes a second that the path carries, as far as is known
	RTT         time.Duration
	LastStarved clock.Tick // newest tick that ran without its own command
}

// conn is one player's connection.
type conn struct {
	s       *Server
	id      PlayerID
	session uint16
	name    string
	avatar  game.ID
	ent     int32 // of the avatar in the history, -1: none
	joined  clock.Tick
	heard   clock.Time    // when the newest datagram of the client arrived, at first when it joined
	stood   time.Duration // for so long the newest packet stood in queues on the way up
	phase   int           // spreads clients over ticks

	recv    wire.Received
	log     wire.Log
	view    *snapshot.View
	lane    *reliable.Sender
	window  *rate.Window
	rtt     rate.RTT
	path    *rate.Capacity // what the way down carries
	tight   clock.Time     // until then something is likely not to fit
	up      rate.OneWay
	send    int      // packets a second at most, as the path allows
	answer  rate.RTT // from sending to the acknowledgement: besides the path, what the client waits for a frame and for something to say
	newest  wire.Seq // newest packet whose answer was measured
	mustAck bool
	recheck bool // something else than the player's own command ran: its prediction may be wrong
	lastOut clock.Time
	lastDue clock.Time // when it last had something to say

	quietSeq  wire.Seq // first packet that promised silence since something changed, 0: none
	quietSaid bool     // the client knows

	crowded bool  // slots are short: they become free as packets flow, so packets must flow
	far     int64 // squared distance in millimetres up to which everything is in sight, -1: no limit
	x, y    int32 // where the avatar is, or was last, in millimetres
	pace    pace
	need    int // bytes of a record that waits for the budget to have so many
	resync  clock.Time

	echo   clock.Stamp
	echoAt clock.Time
	echoed bool

	inbox   inbox
	acked   clock.Tick     // all commands up to here arrived or are of no use any more
	last    packet.Command // the newest command that ran
	away    bool           // nobody looks at what the client draws
	idle    bool           // the client said that its commands stay as they are
	press   packet.Command // a late press that waits for the next tick, if its Tick is not 0
	slack   int64          // least slack of new commands that was not reported yet, or in vain, in 1/256 ticks
	slacked bool
	line    queue

	stats PlayerStats
}

// untold is the note of a packet that reported no slack; others note the slack that they reported, in 1/packet.SlackPerTick ticks.
const untold = math.MinInt16

// slacks notes the slack of new commands, to be reported.
func (c *conn) slacks(slack int64) {
	if !c.slacked || slack < c.slack {
		c.slack, c.slacked = slack, true
	}
}

// Receive takes in one datagram of a player; data is not retained. Whatever is wrong with it is counted and
// changes nothing.
func (s *Server) Receive(p PlayerID, arrival clock.Time, data []byte) {
	_, c := s.find(p)
	if c == nil {
		s.drops.Unknown++
		return
	}
	h, n, err := wire.DecodeHeader(data)
	switch {
	case err != nil || h.Server || len(data) > wire.MaxDatagram:
		s.drops.Malformed++
		return
	case h.Session != c.session:
		s.drops.Session++
		return
	case !c.recv.Accepts(h.Seq):
		s.drops.Duplicate++
		return
	}
	var r wire.BitReader
	r.Reset(data[n:])
	up := packet.DecodeUplink(&r)
	cmds, err := packet.DecodeCommands(&r, s.rules.Command, s.scratch, h.Ack.Latest)
	if err != nil {
		s.drops.Malformed++
		return
	}
	s.scratch = cmds[:cap(cmds)]
	heard := c.heard
	c.heard = arrival // what is acknowledged is known from now on
	if h.HasAck && !c.log.Acked(h.Ack, c.delivered, c.missing) {
		c.heard = heard
		s.drops.HostileAck++
		return
	}
	c.recv.Applied(h.Seq)
	stood := c.up.Queued(arrival, arrival.Sub(arrival.Near(h.Stamp)))
	if h.HasAck {
		c.view.Reclaim(h.Ack.Latest)
		if p := c.log.Get(h.Ack.Latest); p != nil && h.Ack.Latest.Newer(c.newest) {
			c.newest = h.Ack.Latest
			c.answer.Sample(arrival, arrival.Sub(p.Sent))
		}
	}
	if h.Resync && (c.view.Resyncs == 0 || arrival.Sub(c.resync) > c.rto()) { // it says so until the answer has come
		c.view.Resync()
		c.resync = arrival
	}
	if a, _ := c.recv.Ack(); a.Latest == h.Seq { // the newest, so its stamp is the one to echo
		c.echo, c.echoAt, c.echoed = h.Stamp, arrival, true
		c.stood = stood
		if s.rules.Mode == game.Queued && len(cmds) > 0 && !up.Sparse {
			c.queueFrom(cmds[0].Tick, c.idle && !h.Idle)
		}
		c.idle = h.Idle
		c.away = up.Away
		if len(cmds) > 0 && !up.Sparse { // it repeats all that it does not know to have arrived: what lies before will never come
			c.acked = max(c.acked, min(cmds[0].Tick-1, s.tick+MaxAhead))
		}
	}
	if h.HasEcho {
		sent := arrival.Near(h.Echo)
		if p := c.log.Get(h.Ack.Latest); !h.HasAck || p == nil || sent < p.Sent.Add(-time.Millisecond) || sent > p.Sent.Add(maxQueued) {
			sent = arrival // an echo of no stamp that was sent: a claim
		}
		held := h.Arrival(arrival.Near(h.Stamp)) // both on the client's clock, so only their difference counts
		if rtt := arrival.Sub(sent) - arrival.Near(h.Stamp).Sub(held); rtt > 0 && rtt < 10*time.Second {
			c.rtt.Sample(arrival, rtt)
			// What stood in a queue on the way up is no queue that less down would shorten.
			c.path.Sample(arrival, max(rtt-stood, min(c.rtt.Least(), rtt)))
		}
	}
	c.mustAck = c.mustAck || h.Elicits
	for i := range cmds {
		c.take(&cmds[i], arrival)
	}
}

func (c *conn) delivered(p *wire.Packet) {
	c.path.Delivered(c.heard, p.Size, -1)
	c.view.Delivered(p)
	c.lane.Delivered(uint16(p.Seq))
	if c.quietSeq != 0 && !c.quietSeq.Newer(p.Seq) { // this one or a later one: all of them say quiet
		c.quietSaid = true
	}
}

func (c *conn) missing(p *wire.Packet) {
	c.path.Missing(max(c.heard, c.s.now))
	c.dropped(p)
	if p.Note != untold { // the path's worst moments are those in which reports of them are lost
		c.slacks(int64(p.Note) << 4)
	}
}

// dropped takes in that a packet is to be said again, which says nothing of the path: it never got there, or nothing was heard of it.
func (c *conn) dropped(p *wire.Packet) {
	c.view.Missing(p)
	c.lane.Lost(uint16(p.Seq))
}

// set makes dst a copy of src, reusing its memory.
func set(dst, src *packet.Command) {
	vals := append(dst.Vals[:0], src.Vals...)
	*dst = *src
	dst.Vals = vals
}

// take stores one command, or, if it is late, the presses in it.
func (c *conn) take(cmd *packet.Command, arrival clock.Time) {
	t := cmd.Tick
	if t > c.s.tick+MaxAhead {
		c.stats.TooEarly++
		return
	}
	if c.inbox.arrived(t) {
		return // seen before
	}
	if t+cmdWindow/2 <= c.s.tick {
		if t > c.last.Tick {
			set(&c.last, cmd) // for who idles: it is the newest that is known of what the player wants
		}
		return
	}
	c.inbox.arrive(t)
	slack := int64(t.Frac()) - int64(c.s.tick.Frac()) - int64(arrival.Sub(c.s.now))*clock.FracPerTick/int64(c.s.current)
	c.slacks(slack)
	if c.s.rules.Mode == game.Queued {
		c.enqueue(cmd, arrival)
		return
	}
	if t > c.s.tick {
		c.inbox.put(cmd, max(time.Duration(slack)*c.s.current/clock.FracPerTick, 0), c.s.tick)
	} else {
		c.stats.Late++
		c.stats.LastStarved = max(c.stats.LastStarved, c.s.tick) // also where idleness was assumed until now
		c.recheck = true
		if t > c.last.Tick {
			set(&c.last, cmd) // too late to run, but the newest that is known of what the player wants
		}
		c.moveEdges(cmd)
	}
	c.advance()
}

// advance moves the acknowledged tick over what arrived and over what is too old to matter. Ticks that ran on the client's word that
// nothing changes do not count: a command of theirs may be under way, and must be sent again if it is lost.
func (c *conn) advance() {
	if old := c.s.tick; old > cmdWindow/4 {
		c.acked = max(c.acked, old-cmdWindow/4)
	}
	for c.inbox.arrived(c.acked + 1) {
		c.acked++
	}
}

// moveEdges keeps the presses of a late command for the next tick, with its aim and its view: a click must not die
// because its packet was late, and it was aimed at what was on the screen then. Its movement is lost; the server
// repeated another in its place. Of several late presses the first counts, as it would have in time.
func (c *conn) moveEdges(cmd *packet.Command) {
	if c.tooLate(cmd.Tick) || !packet.HasPress(c.s.rules.Command, cmd.Vals) {
		return
	}
	c.stats.Moved++
	if c.press.Tick == 0 || c.tooLate(c.press.Tick) {
		set(&c.press, cmd)
	}
}

// tooLate reports whether a press of tick t is too old to be honoured.
func (c *conn) tooLate(t clock.Tick) bool {
	return t < c.s.tick && time.Duration(c.s.tick-t)*c.s.period > packet.LatePress
}

// due returns the command to run at the server's tick: the player's own, or, when it is starved, its last
// movement for RepeatFor and then a neutral one. Presses are never repeated.
func (c *conn) due() *packet.Command {
	k, t := c.s.rules.Command, c.s.tick
	run := &c.s.run
	waited, own := c.inbox.take(t, run)
	if own {
		set(&c.last, run)
	} else {
		seen := c.last.Seen
		if seen != 0 {
			seen += clock.TickFrac(t-c.last.Tick) * clock.FracPerTick // as if it had gone on looking
		}
		set(run, &c.last)
		run.Tick, run.Seen = t, seen
		packet.ClearPresses(k, run.Vals)
		if !c.idle {
			c.stats.Starved++
			c.stats.LastStarved = t
			c.recheck = true
			if time.Duration(t-c.last.Tick)*c.s.period > RepeatFor {
				packet.Neutral(k, run.Vals)
			}
		}
		if time.Duration(t-c.last.Tick)*c.s.period > RepeatFor {
			packet.ClearSticks(k, run.Vals) // also where it says that it idles: who idles does not run
		}
	}
	if c.press.Tick != 0 && !c.tooLate(c.press.Tick) {
		for i := range k.Props {
			p := &k.Props[i]
			at := run.Vals[p.At : p.At+p.Comps]
			switch late := c.press.Vals[p.At : p.At+p.Comps]; p.Class {
			case schema.Stick, schema.Bool: // movement, and what is held, is that of now
			case schema.Press:
				at[0] |= late[0]
			default: // what it aimed with, and at what
				copy(at, late)
			}
		}
		run.Seen, run.Newest = c.press.Seen, c.press.Newest
		c.stats.LastStarved = t // not the command that was predicted
		c.recheck = true
	}
	c.press.Tick = 0
	c.advance()
	c.s.seer.begin(c, run, waited)
	return run
}

// toldBy is how many packets later at the latest an acknowledgement shows that one was lost: three, and one between ticks.
const toldBy = 4

// maxQueued is how long after encoding a datagram may have been stamped by the edge.
const maxQueued = 250 * time.Millisecond

// rto is how long after sending something counts as not arrived: the timeout of RFC 6298, but not much more than two
// round trips and at most a second. After an outage the deviation is large for long, and the last record before a rest, which no
// later packet reveals as lost, would wait for it; sending it once too often costs a few bytes.
func (c *conn) rto() time.Duration {
	return min(c.answer.Timeout(), max(2*c.answer.Smoothed()+100*time.Millisecond, rate.MinTimeout), time.Second)
}

// patience is what may stand in queues below us beyond rate.GateSlack. A packet that comes half a second late can still be drawn, see
// playout.MaxDelay; one that was held back while the path stood still comes later than if it had stood in a queue.
const patience = 400 * time.Millisecond

// unheard returns for how long nothing can have been heard of what the path down carried: the newest packet of the client stood in queues so long, and
// since then none came. That is the way up's doing and says nothing of the way down, which is taken to carry what it did. Not on a path that was found not to
// carry the budget, where more would stand in a queue, and not for ever: a client that has gone is sent little until it is known to be gone.
func (c *conn) unheard(now clock.Time) time.Duration {
	silent := now.Sub(c.heard)
	if silent > mostSilent || c.path.Rate() < rate.BytesPerSecond(c.s.cfg.Budget) {
		return 0
	}
	return min(c.stood, mostSilent) + max(silent-shortSilence, 0)
}

const (
	shortSilence = 100 * time.Millisecond // means nothing
	mostSilent   = 5 * time.Second        // radios stop sending for one to four
)

// encode writes this tick's datagram, if one is due.
func (c *conn) encode(out *Outbox) {
	s := c.s
	c.events(out)
	r := s.rules
	budget := int(c.path.Rate())
	switch {
	case c.away:
		c.send = 1
	case s.now < c.tight:
		c.send = s.sends(budget)
	default:
		c.send = s.send // what is due fits anyway
	}
	turn := (int(s.tick) + c.phase) * c.send
	if turn/r.Rate == (turn-c.send)/r.Rate { // send times in Rate ticks, spread evenly
		return
	}
	now := s.now
	_ = c.window.SetBudget(rate.BytesPerSecond(budget)) // within its bounds, as those of the path are
	c.see(out)
	rto := c.rto()
	// Unanswered: an outage, maybe, and what it holds back still comes. Not before later packets can have told that this one was lost.
	c.log.Expire(now.Add(-max(2*rto, rto+toldBy*time.Second/time.Duration(c.send))), c.dropped)
	team := int64(0)
	if c.ent >= 0 {
		team = s.hist.At(c.ent).Team
	}
	c.view.Team(team)
	out.due = c.view.Pending(now, rto, out.due[:0])
	due := out.due
	laneDue := c.lane.Due(now, rto)
	rest := len(due) == 0 && !laneDue && !c.crowded && !c.view.Unacked()
	if !rest {
		c.quietSeq, c.quietSaid = 0, false
	}
	// When everything has come to rest the client is told so, until it says that it knows: what follows is not a network
	// that has failed.
	tell := rest && !c.quietSaid && (c.quietSeq == 0 || now.Sub(c.lastOut) >= rto)
	// Until then packets go on as each one promised the next, though there is nothing to say: the client would take the pause before
	// silence can be told for jitter of its path. In an outage there is no end of it to wait for.
	if len(due) > 0 {
		c.lastDue = now
	}
	goOn := !rest && now.Sub(c.lastDue) < goOnFor
	if p := c.log.Get(c.log.NextSeq() - 1); p != nil && p.Tick == s.tick {
		return // what both sides know of earlier packets goes by ticks: one packet each
	}
	if len(due) == 0 && !laneDue && !c.mustAck && !c.crowded && !tell && !goOn && now.Sub(c.lastOut) < packet.KeepAlive {
		return
	}
	if c.log.InFlight() > rate.Limit(rate.BytesPerSecond(budget), c.answer.Least()+patience+c.unheard(now)) {
		c.stats.Choked++
		return // more on the path would only stand in a queue, and be old when it arrives
	}
	room := min(wire.MaxDatagram, c.window.Room(now))
	if room < max(wire.MaxHeader+leastBody, c.need) {
		c.limited(now)
		return // the budget is spent; what is due waits and grows in priority
	}
	c.need = 0
	share := min(room, max(c.evenly(now, budget)-wire.Overhead, wire.MaxHeader+leastBody))
	s.prioritise(c, due)

	begin := len(out.buf)
	p := c.log.Sent(now, s.tick, c.dropped)
	h := c.header(p, rest)
	h.Elicits = len(due) > 0 || laneDue || c.crowded || rest && !c.quietSaid
	w := &out.w
	head := h.Append(out.buf)
	outer := (len(head) - begin) * 8 // bits around the entries
	w.Reset(head)
	c.feedback(w, p)
	outer += w.Len()
	reserve := 0
	if laneDue { // events have a share of their own, and now and then room for a large one
		if reserve = share / 4; p.Seq%4 == 0 {
			reserve = min(reliable.MinRoom, share*3/4)
		}
	}
	of := c.choose(&out.entries, due, outer, share-reserve, room, budget)
	out.entries.End(w, p, now)
	b := w.Bytes()
	out.body = c.view.Untold(out.body, func(body []byte) bool { // a queue that is full is tried again with the next packet
		return c.queue(reliable.Message{Tick: s.tick, Kind: snapshot.TextMessage, AtOnce: true, Priority: vital, Body: body})
	})
	if p.Seq%4 == 0 {
		share = room
	}
	b = c.lane.Append(b, uint16(p.Seq), share-(len(b)-begin), now, rto)
	out.buf = b
	size := len(b) - begin
	c.pace.spends(of.moving, of.movingBits, (size+wire.Overhead)*8-of.movingBits-of.firstBits, min(budget/c.send, wire.MaxDatagram+wire.Overhead)*8)
	c.log.Charge(p, size+wire.Overhead)
	c.window.Spend(now, size)
	c.mustAck, c.lastOut = false, now
	c.stats.Sent++
	c.stats.SentBytes += uint64(size + wire.Overhead)
	c.stats.Records += uint64(of.records)
	c.stats.MaxWindow = max(c.stats.MaxWindow, c.window.Used(now))
	out.outs = append(out.outs, outgoing{c.id, begin, len(b)})
}

// header returns the header of packet p but for whether it elicits; rest says that there is nothing to say until something changes.
func (c *conn) header(p *wire.Packet, rest bool) wire.Header {
	s := c.s
	h := wire.Header{Session: c.session, Seq: p.Seq, Stamp: s.now.Stamp(), Server: true, Tick: s.tick, Time: s.now.Stamp()}
	h.Ack, h.HasAck = c.recv.Ack()
	if c.echoed {
		h.HasEcho, h.Echo, h.EchoAt = true, c.echo, c.echoAt.Stamp()
		c.echoed = false
	}
	if s.current != s.period {
		h.Period = s.current
	}
	h.NextDue = wire.DueWithin(time.Second / time.Duration(c.send) * 5 / 4)
	if rest {
		h.NextDue = wire.Quiet
		if c.quietSeq == 0 {
			c.quietSeq = p.Seq
		}
	}
	return h
}

// chosen says how many entries a datagram has, and the bits that some of them take.
type chosen struct {
	records            int
	moving, movingBits int // records of what moves
	firstBits          int // of first sights
}

// choose keeps those entries of due, the most urgent first, that fit into share bytes behind outer bits; the first of them may take room bytes.
func (c *conn) choose(w *snapshot.Writer, due []snapshot.Due, outer, share, room, budget int) (of chosen) {
	w.Begin(c.view, due, share*8-outer)
	for i := range due {
		limit := share
		if of.records == 0 {
			limit = room // a large record may use what others left
		}
		before, with := w.Size(), w.Try(&due[i])
		if size := (outer + with + 7) / 8; size > limit {
			c.limited(c.s.now)
			if i == 0 && size <= min(wire.MaxDatagram, budget-wire.Overhead) {
				c.need = size // it is the most urgent: small ones must not use up what it waits for
			}
			if i > 0 && !due[i].First {
				break
			}
			continue // a large first sight may not fit where a small record does
		}
		w.Keep()
		of.records++
		switch bits := with - before; {
		case due[i].First:
			of.firstBits += bits
		case due[i].Moves:
			of.moving, of.movingBits = of.moving+1, of.movingBits+bits
		}
	}
	return of
}

// goOnFor is for how long packets follow one another after the last one that had something to say, at most.
const goOnFor = 500 * time.Millisecond

// evenly returns the bytes for this packet, overhead included: an even share of the budget, and up to half a share more where the last second
// left much of it, so that a burst is worked off. Not where it left little: one packet that has more leaves a later one without, second
// after second.
func (c *conn) evenly(now clock.Time, budget int) int {
	even := budget / c.send
	return even + min(max(budget*3/4-c.window.Used(now), 0)/4, even/2)
}

// tightFor is for how long fewer packets are sent after something did not fit.
const tightFor = 5 * time.Second

// limited notes that something was due that did not fit.
func (c *conn) limited(now clock.Time) {
	c.tight = now.Add(tightFor)
	c.path.Limited()
}

// feedback writes what the client needs to time its commands.
func (c *conn) feedback(w *wire.BitWriter, p *wire.Packet) {
	f := packet.Feedback{Acked: c.acked, HasSlack: c.slacked, Starved: uint8(c.stats.Starved % packet.StarvedRange), Ran: c.line.ran}
	p.Note = untold
	if c.slacked {
		f.Slack = int(min(max(c.slack>>4, -packet.MaxSlack), packet.MaxSlack)) // rounded down: one that was late by little was late
		p.Note, c.slacked = int16(f.Slack), false
	}
	f.Append(w, c.s.tick, c.s.rules.Mode == game.Queued)
}

// see brings the client's slots in line with what it may know: its own avatar, everything without a place,
// and the nearest others.
func (c *conn) see(out *Outbox) {
	s := c.s
	h := s.hist
	if c.ent >= 0 {
		c.view.Enter(c.ent, true)
	}
	for _, i := range s.always {
		c.view.Enter(i, i == c.ent)
	}
	if c.ent >= 0 {
		e := h.At(c.ent)
		c.x, c.y = e.X, e.Y
	}
	out.near = s.grid.Nearest(c.x, c.y, s.rules.See+hysteresis(s.rules.See), out.near[:0])
	c.far, c.crowded = -1, false
	if len(out.near) > s.rules.See {
		c.far = out.near[s.rules.See-1].Dist2
	}
	known := len(s.always) // of those that are to be known, how many are
	if c.ent >= 0 && h.At(c.ent).Placed {
		known++
	}
	for rank, n := range out.near {
		c.view.Distance(n.Index, n.Dist2)
		switch {
		case n.Index == c.ent:
		case rank >= s.rules.See:
			if c.view.Has(n.Index) {
				known++
			}
		case c.view.Enter(n.Index, false):
			c.view.Distance(n.Index, n.Dist2)
			known++
		default:
			c.crowded = true
		}
	}
	if ents, _ := c.view.Count(); ents > known || c.crowded {
		c.forget(out)
	}
}

// hysteresis is how many ranks beyond the last a visible entity may fall before it is let go.
func hysteresis(see int) int { return max(see/16, 1) }

// forget takes out of sight what is no longer near.
func (c *conn) forget(out *Outbox) {
	keep := func(i int32) bool {
		if i == c.ent || !c.s.hist.At(i).Placed {
			return true
		}
		return slices.ContainsFunc(out.near, func(n interest.Neighbour) bool { return n.Index == i })
	}
	c.view.Retain(keep)
}

// events queues what happened in this tick and can be seen from here.
func (c *conn) events(out *Outbox) {
	s := c.s
	for i := range s.eng.Events() {
		e := &s.eng.Events()[i]
		if e.ByActor && e.Actor == c.avatar {
			continue // its client predicted it and has shown it already
		}
		tell, name := c.witnesses(e)
		if !tell {
			continue
		}
		actor := uint32(0)
		if name {
			actor = uint32(e.Actor)
		}
		w := &out.w
		w.Reset(out.body[:0])
		packet.AppendEvent(w, s.rules.Events[e.Event], e.Tick, e.Vals)
		out.body = w.Bytes()
		m := reliable.Message{Tick: e.Tick, Entity: actor, Kind: uint8(e.Event), Priority: plain, Body: out.body}
		if s.rules.Urgent(e.Event) {
			m.Priority = urgent
		}
		if c.queue(m) {
			c.stats.Events++
		} else {
			c.stats.EventsLost++
		}
	}
}

// Priorities on the lane: what gives way where its queue is full.
const (
	plain  = iota // events
	urgent        // events that others give way to
	vital         // what later records count on
)

// queue sends m on the lane. Events that give way to it are lost.
func (c *conn) queue(m reliable.Message) bool {
	before := c.lane.Dropped()
	err := c.lane.Send(m)
	lost := c.lane.Dropped() - before
	c.stats.Events -= lost
	c.stats.EventsLost += lost
	return err == nil
}

// witnesses reports whether the player may learn of an event, and by whom it was: it knows the actor, itself included, or the place
// lies no further away than what it sees. Of an actor that it does not see it does not learn that it exists.
func (c *conn) witnesses(e *engine.Emitted) (tell, name bool) {
	if e.Actor == c.avatar && e.Actor != 0 {
		return true, true
	}
	i, alive := c.s.hist.Find(uint32(e.Actor))
	if alive && c.view.Has(i) {
		return true, true
	}
	if c.far < 0 {
		return true, !alive
	}
	dx, dy := float64(c.x)-float64(e.At.X*1000), float64(c.y)-float64(e.At.Y*1000)
	return float64(dx*dx)+float64(dy*dy) <= float64(c.far), !alive
}

// Stats returns what happened to a player's commands and packets.
func (s *Server) Stats(p PlayerID) (PlayerStats, bool) {
	_, c := s.find(p)
	if c == nil {
		return PlayerStats{}, false
	}
	st := c.stats
	st.RTT, st.DownRate = c.rtt.Smoothed(), int(c.path.Rate())
	return st, true
}

// Avatar returns a player's avatar, 0 before it appeared.
func (s *Server) Avatar(p PlayerID) game.ID {
	if _, c := s.find(p); c != nil {
		return c.avatar
	}
	return 0
}

// Dropped notes that the transport threw a player's datagram away before it reached the path: what it said is
// due again at once.
func (s *Server) Dropped(p PlayerID, seq wire.Seq) {
	if _, c := s.find(p); c != nil {
		c.log.Drop(seq, c.dropped)
	}
}

// Spent charges a player's budget for a datagram of size bytes that the edge sent itself, a heartbeat.
func (s *Server) Spent(p PlayerID, now clock.Time, size int) {
	if _, c := s.find(p); c != nil {
		c.window.Spend(now, size)
		c.stats.MaxWindow = max(c.stats.MaxWindow, c.window.Used(now))
	}
}

// Heard returns when the newest datagram of a player arrived.
func (s *Server) Heard(p PlayerID) clock.Time {
	if _, c := s.find(p); c != nil {
		return c.heard
	}
	return 0
}

// Session returns the session number of a player, for the host's routing.
func (s *Server) Session(p PlayerID) uint16 {
	if _, c := s.find(p); c != nil {
		return c.session
	}
	return 0
}

// View returns what a player is known to hold, for tests and tools.
func (s *Server) View(p PlayerID) *snapshot.View {
	if _, c := s.find(p); c != nil {
		return c.view
	}
	return nil
}
