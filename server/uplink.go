package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// uplink is what arrived from one client, and what that shows of the way up.
type uplink struct {
	received wire.Received
	heard    clock.Time    // when the newest valid datagram arrived; at first when the player joined
	queue    rate.OneWay   // how long datagrams stand in queues on the way up
	queued   time.Duration // how long the newest one stood there
	echo     clock.Stamp   // of the newest datagram, to be returned with the next packet
	echoAt   clock.Time    // when it arrived
	echoDue  bool
	echoes   uint8      // echoes sent, up to firstEchoes
	echoed   clock.Time // when the newest was
	away     bool       // nobody looks at what the client draws
	proofs   [2]proof   // the older one first

	quality   packet.Quality // the newest that the client reported
	qualityAt clock.Time     // when it arrived; 0: none did
}

// isNewest reports whether an applied datagram is the newest.
func (u *uplink) isNewest(seq wire.Seq) bool {
	a, _ := u.received.Ack()
	return a.Latest == seq
}

const (
	// firstEchoes are sent as soon as they can be, since a client that has just come knows little
	// of the server's clock. Later ones take a hundredth of the budget.
	firstEchoes = 20
	// echoPrice is how many bytes of budget an echo is worth waiting for: a hundred times its own
	// 6.
	echoPrice = 600
)

// acknowledge writes the acknowledgement and, at most once for each stamp, the echo into the header
// of a packet to the client, whose budget is so many bytes a second.
func (u *uplink) acknowledge(h *wire.Header, now clock.Time, budget int) {
	h.Ack, h.HasAck = u.received.Ack()
	u.received.Stated(h.Seq)
	if u.echoDue && (u.echoes < firstEchoes || now.Sub(u.echoed) >= echoPrice*time.Second/time.Duration(budget)) {
		h.HasEcho, h.Echo, h.EchoAt = true, u.echo, u.echoAt.Stamp()
		u.echoDue, u.echoed, u.echoes = false, now, min(u.echoes+1, firstEchoes)
	}
}

// maxQueued is how long after encoding the edge may stamp a datagram.
const maxQueued = 250 * time.Millisecond

// Receive applies one datagram of a player; data is not retained. An invalid one is counted in
// Drops and changes nothing.
func (s *Server) Receive(id PlayerID, arrival clock.Time, data []byte) {
	_, p := s.find(id)
	if p == nil {
		s.drops.Unknown++
		return
	}
	var r wire.BitReader
	h, err := wire.DecodeUp(&r, data, p.down.log.NextSeq())
	switch {
	case err != nil || len(data) > wire.MaxDatagram:
		s.drops.Malformed++
		return
	case !p.up.received.Accepts(h.Seq):
		s.drops.Duplicate++
		return
	}
	flags := packet.DecodeUplink(&r)
	cmds, err := packet.DecodeCommands(&r, s.rules.Command, s.scratch, h.Ack.Latest, s.tick)
	if err != nil {
		s.drops.Malformed++
		return
	}
	s.scratch = cmds[:cap(cmds)]
	if h.HasAck && !p.down.log.Credible(h.Ack) {
		s.drops.HostileAck++
		return
	}
	quality, section, reports, err := packet.DecodeQuality(r.Rest())
	if err != nil || p.readWords(section) != nil {
		s.drops.Malformed++
		return
	}
	p.up.heard = arrival // the instant at which the acknowledged packets are known to have arrived
	if h.HasAck {
		p.down.view.Awaits(p.commands.upTo(s, cmds))
		p.down.log.Acked(h.Ack, p.delivered, p.missing)
	}
	p.apply(&h, flags, cmds, arrival)
	if reports && p.up.isNewest(h.Seq) {
		p.noteQuality(quality, arrival)
	}
}

// leastQuality is the least time between two reports of a client that count. Its counters go on, so
// one that is left out is in the next.
const leastQuality = packet.QualityEvery / 2

// noteQuality counts what a client claims that its player sees.
func (p *player) noteQuality(q packet.Quality, arrival clock.Time) {
	if p.up.qualityAt != 0 && arrival.Sub(p.up.qualityAt) < leastQuality {
		return
	}
	r, before := &p.reported, p.up.quality
	r.Reports++
	r.Delay = time.Duration(q.Delay) * packet.QualityDelay
	r.Hitches += uint64(q.Hitches - before.Hitches)
	r.Stalls += uint64(q.Stalls - before.Stalls)
	r.Corrections += uint64(q.Corrections - before.Corrections)
	p.up.quality, p.up.qualityAt = q, arrival
}

// apply takes what a valid datagram says; its acknowledgement has been applied.
func (p *player) apply(h *wire.Header, flags packet.Uplink, cmds []packet.Command, arrival clock.Time) {
	up, d := &p.up, &p.down
	up.received.Applied(h.Seq)
	h.Stamp = wire.NearStamp(up.echo+arrival.Stamp()-up.echoAt.Stamp(), h.Stamp)
	queued := up.queue.Queued(arrival, arrival.Sub(arrival.Near(h.Stamp)))
	if h.HasEcho {
		p.sampleRTT(h, arrival, queued)
	}
	if h.HasAck {
		p.noteAge(h.Ack.Latest, arrival)
		d.path.acknowledged(h, d.log.Get(h.Ack.Latest), arrival, queued)
	}
	if h.Resync {
		d.resync(arrival)
	}
	counts := true
	if len(cmds) > 0 {
		var stepped bool
		if counts, stepped = p.commands.follow(p.s, h.Seq, cmds); stepped {
			up.stepBack(cmds[0].Tick - 1)
		}
	}
	if up.isNewest(h.Seq) {
		up.echo, up.echoAt, up.echoDue = h.Stamp, arrival, true
		up.queued, up.away = queued, flags.Away
		p.commands.announce(p.s, cmds, h.Idle, flags.Sparse)
	}
	d.mustAck = d.mustAck || h.Elicits
	for i := range cmds {
		if counts {
			contradicts := up.completeBasis(&cmds[i], &d.log, p.s.period)
			p.commands.acceptCommand(p.s, &cmds[i], contradicts, arrival)
		}
	}
	up.prove(&d.log, p.commands.making(p.s), p.s.period)
	p.collectWords()
}

// noteAge notes how old the newest state that a client is known to have had become before packet
// latest was acknowledged. Silence that was announced makes nothing old.
func (p *player) noteAge(latest wire.Seq, arrival clock.Time) {
	d := &p.down
	if p.up.away || !latest.Newer(d.path.answered) || d.quiet.has(d.path.answered) {
		return
	}
	if before := d.log.Get(d.path.answered); before != nil && d.path.answer.Least() > 0 {
		p.commands.claims.Acknowledged(arrival, arrival.Sub(before.Sent)-d.path.answer.Least())
	}
}

// sampleRTT measures the round trip by the stamp that a datagram echoes. The echo of a stamp that
// was not sent with the acknowledged packet is ignored: it is a claim.
func (p *player) sampleRTT(h *wire.Header, arrival clock.Time, queued time.Duration) {
	path := &p.down.path
	sent := p.down.log.Get(h.Ack.Latest)
	if !h.HasAck || sent == nil {
		return
	}
	stamp := h.Echoed(sent.Sent.Add(-time.Millisecond))
	if stamp > sent.Sent.Add(maxQueued) {
		return
	}
	// Both are on the client's clock, so only their difference counts.
	hold := arrival.Near(h.Stamp).Sub(h.Arrival(arrival.Near(h.Stamp)))
	rtt := arrival.Sub(stamp) - hold
	if rtt <= 0 || rtt >= rate.MaxTimeout {
		return
	}
	path.rtt.Sample(arrival, rtt)
}

const (
	shortSilence     = 100 * time.Millisecond // means nothing
	maxUplinkSilence = 5 * time.Second        // radios stop sending for one to four seconds
)

// uplinkSilence returns for how long no acknowledgement can have come: for as long as the newest
// datagram stood in queues, and the time since then. Silence is a property of the way up and shows
// nothing of the way down, which is assumed to go on carrying what it did. There are two
// exceptions. On a path that was found not to carry the budget more would stand in a queue, and a
// client that has gone should be sent little until its absence is certain: then the result is 0.
func (p *player) uplinkSilence(now clock.Time) time.Duration {
	silent := now.Sub(p.up.heard)
	if silent > maxUplinkSilence || p.down.path.capacity.Rate() < rate.BytesPerSecond(p.limits.Budget) {
		return 0
	}
	return min(p.up.queued, maxUplinkSilence) + max(silent-shortSilence, 0)
}
