package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/interest"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// DownlinkStats counts what was sent to one player.
type DownlinkStats struct {
	Sent       uint64 // datagrams
	SentBytes  uint64 // wire.Overhead per datagram included
	Records    uint64 // entries of entities
	MaxWindow  int    // most bytes in any one second
	Lost       uint64 // datagrams that later acknowledgements show to be lost
	Choked     uint64 // packets withheld because too much was in flight
	Events     uint64 // events sent
	EventsLost uint64 // events that did not fit the queue
	// Moving are the records of what moves, and First are first sights; both are of Records. The
	// others are entries without movement. Bits are what they took.
	Moving, First                              uint64
	MovingBits, FirstBits, GoneBits, OtherBits uint64
	HeaderBits, FeedbackBits                   uint64
}

// downlink is what is sent to one client: which packets, when, and what became of them.
type downlink struct {
	log      wire.Log
	view     *snapshot.View // what the client is known to have
	messages *reliable.Sender
	window   *rate.Window
	path     path
	pace     pace
	// rest is the promise of silence: when everything has come to rest, packets announce it until
	// the client acknowledges that, so that it does not take the silence for a network that failed.
	rest    wire.Statement
	quiet   packetRange    // that announced silence last
	line    wire.Statement // of the server's line lineNo
	lineNo  uint32
	applied clock.Tick // of the newest packet that the client applied; at first of the welcome
	phase   int        // spreads clients over ticks
	send    int        // packets a second at most at present

	mustAck    bool
	lastSent   clock.Time
	lastDue    clock.Time // when something was due last
	tightUntil clock.Time // until then something is likely not to fit
	receipts   *receipts  // of the player's shots; nil until there is one
	needed     int        // bytes of a record that waits until the budget has so many; 0: none
	resynced   clock.Time

	stats DownlinkStats
}

const (
	// ackDelayPackets is how many packets later at most an acknowledgement shows that one was lost:
	// three, and one between ticks.
	ackDelayPackets = 4
	// goOnFor is for how long at most packets go on after the last one that had something to say.
	goOnFor = 500 * time.Millisecond
	// tightFor is for how long fewer packets are sent after something did not fit.
	tightFor = 5 * time.Second
	// packetWorth is how many bytes, overhead included, a packet should have room for: a small
	// budget is divided among fewer packets, so that headers do not use it up.
	packetWorth = 240
	// spareRecords is how many records more are looked at than a packet is expected to have room
	// for.
	spareRecords = 8
	// manyTries is how many first sights are tried after one that does not fit.
	manyTries = 4
	// leastBody is the room in bytes, after the longest header, with which a packet is worth
	// sending.
	leastBody = 16
)

// packetRange is packets that followed each other; the zero one is none.
type packetRange struct{ first, next wire.Seq }

func (r *packetRange) has(s wire.Seq) bool { return s-r.first < r.next-r.first }

func (r *packetRange) add(s wire.Seq) {
	if s != r.next {
		r.first = s
	}
	r.next = s + 1
}

// Outbox collects datagrams. The zero Outbox is ready.
type Outbox struct {
	buf    []byte
	outs   []outgoing
	due    []snapshot.Candidate
	set    interest.Set
	known  []int32              // of one client
	movers []interest.Neighbour // that are run ahead by one client
	under  []int32              // what the members of one client are on
	urgent snapshot.Scratch
	w      wire.BitWriter
	body   []byte // of an event
	vals   []int64

	entries snapshot.Writer
	tally   *snapshot.Tally // of sampled datagrams; nil until the first
}

type outgoing struct {
	to       PlayerID
	from, at int
}

// Reset empties the Outbox; datagrams that it returned are no longer valid.
func (o *Outbox) Reset() { o.buf, o.outs = o.buf[:0], o.outs[:0] }

// Bits returns the bits of records in sampled datagrams since the Outbox was made, as
// snapshot.Tally describes: by kind, and property; what is no property's last. Nil: none was
// sampled yet. It may be called between ticks, changes with the next, and belongs to the Outbox.
func (o *Outbox) Bits() [][]uint64 {
	if o.tally == nil {
		return nil
	}
	return o.tally.Bits
}

// Len returns the number of datagrams.
func (o *Outbox) Len() int { return len(o.outs) }

// At returns datagram i and its receiver. The slice may be changed in place, to patch its stamp.
func (o *Outbox) At(i int) (PlayerID, []byte) {
	x := o.outs[i]
	return x.to, o.buf[x.from:x.at:x.at]
}

// resend makes the content of a lost packet due again. It says nothing of the path: the packet may
// never have reached it.
func (d *downlink) resend(sent *wire.Packet) {
	d.view.Missing(sent)
	d.messages.Lost(uint16(sent.Seq))
	d.receipts.settle(sent.Seq, false)
}

// resync makes everything due anew because the client lost a baseline. The client repeats that
// until the answer arrives, so it counts once a round trip.
func (d *downlink) resync(now clock.Time) {
	if d.view.Resyncs == 0 || now.Sub(d.resynced) > d.path.timeout() {
		d.view.Resync()
		d.resynced = now
	}
}

// spend charges the budget for a datagram and reports whether it fits.
func (d *downlink) spend(now clock.Time, size int) bool {
	ok := d.window.Spend(now, size)
	d.stats.MaxWindow = max(d.stats.MaxWindow, d.window.Used(now))
	return ok
}

// limited notes that something was due that did not fit.
func (d *downlink) limited(now clock.Time) {
	d.tightUntil = now.Add(tightFor)
	d.path.capacity.Limited()
}

// isTurn reports whether a packet may go out at a tick: send times in ticks ticks, spread evenly.
func (d *downlink) isTurn(tick clock.Tick, ticks int) bool {
	turn := (int(tick) + d.phase) * d.send
	return turn/ticks != (turn-d.send)/ticks
}

// evenShare returns the bytes for this packet, overhead included: an even share of the budget, and
// up to half a share more where the last second left much of it, so that a burst is worked off.
// Where it left little the packet gets no more, or a later one would go short, second after second.
func (d *downlink) evenShare(now clock.Time, budget int) int {
	even := budget / d.send
	return even + min(max(budget*3/4-d.window.Used(now), 0)/4, even/2)
}

// occasion is why a packet is sent, if it is.
type occasion struct {
	records  bool // something of the state is due
	messages bool // a message is due
	crowded  bool // slots are short
	resting  bool // nothing will be due until something changes
	wanted   bool // there is a reason to send now
}

// occasion finds out whether a packet is wanted now.
func (d *downlink) occasion(now clock.Time, timeout time.Duration, records, crowded bool) occasion {
	o := occasion{records: records, messages: d.messages.NeedsSend(now, timeout), crowded: crowded}
	o.resting = !records && !o.messages && !crowded && !d.view.Unacked()
	if !o.resting {
		d.rest = wire.Statement{}
	}
	promise := o.resting && !d.rest.Known() && (!d.rest.Begun() || now.Sub(d.lastSent) >= timeout)
	if records {
		d.lastDue = now
	}
	// Until silence can be promised packets go on at the rate that each one announced, though they
	// say nothing: the client would take the pause for jitter of its path. An outage has no end to
	// wait for.
	goOn := !o.resting && now.Sub(d.lastDue) < goOnFor
	o.wanted = records || o.messages || d.mustAck || crowded || promise || goOn || now.Sub(d.lastSent) >= packet.KeepAlive
	return o
}

// setSendRate chooses how many packets a second may be sent: one where nobody looks, fewer than the
// game's rate where something did not fit lately and the budget is small.
func (p *player) setSendRate(budget int) {
	s, d := p.s, &p.down
	switch {
	case p.up.away:
		d.send = 1
	case s.now < d.tightUntil:
		d.send = min(s.sendRate(budget), p.limits.Send)
	default:
		d.send = p.limits.Send
	}
}

// encode writes this tick's datagram, if one is due.
func (p *player) encode(out *Outbox) {
	s, d := p.s, &p.down
	d.view.LeaveRemoved()
	p.queueEvents(out)
	if p.absent {
		return
	}
	budget := int(d.path.capacity.Rate())
	p.setSendRate(budget)
	if !d.isTurn(s.tick, s.rules.Rate) {
		return
	}
	now := s.now
	_ = d.window.SetBudget(rate.BytesPerSecond(budget)) // within its bounds, as those of the path are
	p.see(out)
	timeout := d.path.timeout()
	// A packet without an answer is resent, but not before later packets could have shown its loss.
	// It is not counted as lost: an outage may withhold it, and it still arrives.
	expiry := max(2*timeout, timeout+ackDelayPackets*time.Second/time.Duration(d.send))
	d.log.Expire(now.Add(-expiry), d.resend)
	d.view.Team(p.team())
	next := clock.Tick(1)
	for !d.isTurn(s.tick+next, s.rules.Rate) {
		next++
	}
	out.due = d.view.Due(now, timeout, next, d.pace.records()*9/8+spareRecords, &out.urgent, out.due[:0])
	o := d.occasion(now, timeout, len(out.due) > 0, p.sight.crowded)
	if last := d.log.Get(d.log.NextSeq() - 1); last != nil && last.Tick == s.tick {
		return // one packet per tick: both sides identify earlier packets by their ticks
	}
	if !o.wanted {
		return
	}
	if d.log.InFlight() > d.path.flight(budget, p.uplinkSilence(now)) {
		d.stats.Choked++
		return // more on the path would only stand in a queue, and be old when it arrives
	}
	room := min(wire.MaxDatagram, d.window.Room(s.leaves))
	if room < max(wire.MaxHeader+leastBody, d.needed) {
		d.limited(now)
		return // the budget is spent; due entries wait and grow in priority
	}
	d.needed = 0
	p.write(out, o, room, budget, timeout)
}

// team returns the team of the player's avatar; 0: none.
func (p *player) team() int64 {
	if p.ent < 0 {
		return 0
	}
	return p.s.hist.At(p.ent).Team
}

// write writes one datagram of at most room bytes with due entries.
func (p *player) write(out *Outbox, o occasion, room, budget int, timeout time.Duration) {
	s, d, now := p.s, &p.down, p.s.now
	share := min(room, max(d.evenShare(s.leaves, budget)-wire.Overhead, wire.MaxHeader+leastBody))
	begin := len(out.buf)
	sent := d.log.Sent(now, s.tick, d.resend)
	w := &out.w
	w.Reset(out.buf)
	p.header(w, sent, o, budget)
	head := w.Len()
	p.commands.appendFeedback(w, sent, s, p.shots(room))
	outer := w.Len() // bits around the entries
	d.stats.HeaderBits += uint64(head)
	d.stats.FeedbackBits += uint64(outer - head)
	if s.ahead.any {
		outer += packet.SpawnedBits(s.tick, p.oldestSpawn(nil))
	}
	reserved := 0
	if o.messages { // they have a share of their own, and every fourth packet room for a large one
		if reserved = share / 4; sent.Seq%4 == 0 {
			reserved = min(reliable.MinRoom, share*3/4)
		}
		reserved = d.messages.Size(reserved, now, timeout)
	}
	of := d.choose(&out.entries, out.due, now, outer, share-reserved, room, budget)
	out.entries.End(w, sent, now)
	if s.ahead.any {
		oldest := p.oldestSpawn(&out.entries)
		packet.AppendSpawned(w, s.tick, oldest == 0 && d.view.Settled(), oldest)
	}
	b := w.Bytes()
	// Where the queue is full the next packet tries again.
	out.body = d.view.UnsentTexts(out.body, func(body []byte) bool {
		return d.queue(reliable.Message{Tick: s.tick, Kind: snapshot.TextMessage, AtOnce: true, Priority: vital, Body: body})
	})
	if sent.Seq%4 == 0 {
		share = room
	}
	b = d.messages.Append(b, uint16(sent.Seq), share-(len(b)-begin), now, timeout)
	out.buf = b
	size := len(b) - begin
	even := min(budget/d.send, wire.MaxDatagram+wire.Overhead)
	records := of.movingBits + of.stillBits
	d.pace.spends(of.moving+of.still, records, (size+wire.Overhead)*8-records-of.firstBits, even*8)
	d.log.Charge(sent, size+wire.Overhead)
	d.spend(s.leaves, size)
	d.mustAck, d.lastSent = false, now
	d.stats.Sent++
	d.stats.SentBytes += uint64(size + wire.Overhead)
	d.stats.Records += uint64(of.records)
	d.stats.note(&of)
	out.outs = append(out.outs, outgoing{p.id, begin, len(b)})
}

// header writes the header of a packet.
func (p *player) header(w *wire.BitWriter, sent *wire.Packet, o occasion, budget int) {
	s, d := p.s, &p.down
	h := wire.Header{Seq: sent.Seq, Server: true, Tick: s.tick, Stamp: s.now.Stamp()}
	known := wire.Known{Tick: d.applied, Ack: p.up.received.Known()}
	p.up.acknowledge(&h, s.now, budget)
	if d.lineNo != s.line.no {
		d.line, d.lineNo = wire.Statement{}, s.line.no
	}
	if h.HasTime = !d.line.Known(); h.HasTime {
		d.line.Stated(sent.Seq)
		h.Time = s.line.Time(s.tick).Stamp()
		if s.line.Period != s.period {
			h.Period = s.line.Period
		}
	}
	h.NextDue = wire.DueWithin(time.Second / time.Duration(d.send) * 5 / 4)
	if o.resting {
		h.NextDue = wire.Quiet
		d.rest.Stated(sent.Seq)
		d.quiet.add(sent.Seq)
	}
	h.Elicits = o.records || o.messages || o.crowded || o.resting && !d.rest.Known()
	d.path.sent(sent.Seq, h.Elicits)
	h.Append(w, known)
}

// chosen is what was written into a datagram: how many entries, and the bits of some of them.
type chosen struct {
	records            int
	moving, movingBits int // records of what moves
	first, firstBits   int // first sights
	still, stillBits   int // records of what changes without moving
	goneBits           int // removals
	otherBits          int // all else
}

// note counts entries of a packet by what they are.
func (s *DownlinkStats) note(of *chosen) {
	s.Moving, s.First = s.Moving+uint64(of.moving), s.First+uint64(of.first)
	s.MovingBits, s.FirstBits = s.MovingBits+uint64(of.movingBits), s.FirstBits+uint64(of.firstBits)
	s.GoneBits, s.OtherBits = s.GoneBits+uint64(of.goneBits), s.OtherBits+uint64(of.stillBits+of.otherBits)
}

// choose writes those entries of due, the most urgent first, that fit into share bytes behind outer
// bits. The first of them may take room bytes. While records wait, first sights get three
// quarters of the bytes: what is unknown is further off than what is known and late.
func (d *downlink) choose(
	w *snapshot.Writer, due []snapshot.Candidate, now clock.Time, outer, share, room, budget int,
) (of chosen) {
	w.Begin(d.view, due, share*8-outer)
	fill := func(from, to, most int) (left int) {
		left = to
		for i := from; i < to; i++ {
			if w.Keeps(&due[i]) {
				continue // it was smaller than one before it that did not fit
			}
			limit := most
			if of.records == 0 {
				limit = room // a large record may use what others left
			}
			before, with := w.Size(), w.Try(&due[i])
			if size := (outer + with + 7) / 8; size > limit {
				left = min(left, i)
				if i == 0 && size <= min(wire.MaxDatagram, budget-wire.Overhead) {
					d.needed = size // it is the most urgent: small ones must not use up what it waits for
				}
				if i-left < manyTries && due[i].First {
					continue // where a large first sight does not fit, a smaller one may
				}
				break
			}
			w.Keep()
			of.records++
			switch bits := with - before; {
			case due[i].First:
				of.first, of.firstBits = of.first+1, of.firstBits+bits
			case due[i].Moves:
				of.moving, of.movingBits = of.moving+1, of.movingBits+bits
			case due[i].Gone:
				of.goneBits += bits
			case !due[i].Exact:
				of.still, of.stillBits = of.still+1, of.stillBits+bits
			default:
				of.otherBits += bits
			}
		}
		return left
	}
	sights, records := sections(due)
	most := share
	if records < len(due) {
		most = (3*share + outer/8) / 4
	}
	fits := fill(0, sights, share) == sights
	left := fill(sights, records, most)
	if fill(records, len(due), share) < len(due) || !fits || fill(left, records, share) < records {
		d.limited(now)
	}
	return of
}

// sections returns where in due, as View.Due lists it, first sights begin that the player's
// commands did not spawn, and where they end.
func sections(due []snapshot.Candidate) (sights, records int) {
	for sights < len(due) && (due[sights].Mine || due[sights].Gone || due[sights].Spawned) {
		sights++
	}
	records = sights
	for records < len(due) && due[records].First {
		records++
	}
	return sights, records
}
