package client

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// encode returns the next datagram to send at the local time now, or nil.
func (u *uplink) encode(now clock.Time) []byte {
	again := u.lastSent == now || !u.hasNews(now)
	if again && !u.sendsAgain() {
		return nil
	}
	u.log.Expire(now.Add(-longestFlight), u.unanswered)
	budget := u.path.Rate()
	if u.mustWait(now, budget, again) {
		if u.wait > u.sendGap() {
			u.path.Limited()
		}
		return nil // what is new goes with the next one
	}
	p := u.log.Sent(now, u.made, u.unanswered)
	h := u.header(p, now)
	sparse := u.choose(now, budget, h.Idle, again)
	if again {
		u.sentAgain = u.made
		if u.time.spacing <= leadPressSpacing {
			u.time.lead.noteSentAgain()
		}
	}
	if u.sentTick < u.made {
		u.prevSentTick, u.sentTick = u.sentTick, u.made
	}
	if p.Note = 0; len(u.cmds) > 0 {
		p.Note = withCommands
		if !u.backKnown && u.backFrom == 0 {
			u.backFrom = p.Seq
		}
	}
	h.Elicits = len(u.cmds) > 0 || !u.time.lead.reported() || u.words.due(now, u.wordTimeout())
	b := u.reportQuality(u.write(&h, packet.Uplink{Away: u.away, Sparse: sparse}), now)
	b = u.words.append(b, p.Seq, now, u.wordTimeout())
	u.buf = b
	u.log.Charge(p, len(b)+wire.Overhead)
	u.wait = max(time.Duration(p.Size)*time.Second/time.Duration(budget), u.sendGap())
	u.nextSend = max(u.nextSend.Add(u.wait), now)
	u.lastSent = now
	u.stats.Sent++
	u.sinceLoss++
	u.stats.SentBytes += uint64(len(b) + wire.Overhead)
	return b
}

// withCommands is the note in the log of a packet that has commands.
const withCommands = 1

// hasNews reports whether there is something to send: as many commands as share a packet, that the
// player went away or came back, a message, an acknowledgement, for which the next command can
// wait, or a sign of life.
func (u *uplink) hasNews(now clock.Time) bool {
	silent := now.Sub(u.lastSent)
	every, flows := u.time.lead.Every(), !u.idleKnown
	return flows && u.made/every > u.sentTick/every || !u.awayKnown || u.words.due(now, u.wordTimeout()) ||
		u.down.mustAck && !(flows && silent < u.time.lead.wait(every)) ||
		silent >= packet.KeepAlive || silent >= hello && !u.time.synced()
}

// pressFlies reports whether a press is on its way that can be in time with a packet of this frame.
func (u *uplink) pressFlies() bool {
	return !u.time.queued && u.pressed > u.acked && u.pressed > u.time.runBy(u.time.now)
}

// sendsAgain reports whether a second datagram goes out with the newest commands. A press should
// not be late because packets were lost, so on a path that loses it goes out twice with each new
// command until it is known to have arrived, or too late.
func (u *uplink) sendsAgain() bool {
	return u.sentAgain < u.made && u.sentTick == u.made && u.pressFlies() && u.sinceLoss < losslessAfter &&
		u.path.Rate() >= slowUp && u.cfg.SendRate == 0
}

// mustWait reports whether the path, or Config.SendRate, allows no packet yet. again says that it
// would be the second one with the same commands.
func (u *uplink) mustWait(now clock.Time, budget rate.BytesPerSecond, again bool) bool {
	if now < u.nextSend && u.nextSend.Sub(now) <= time.Second {
		return true
	}
	probe := probeAfter
	if budget < slowUp {
		probe = slowProbeAfter
	} else if !again && u.pressFlies() {
		probe = 0
	}
	full := u.log.InFlight() > rate.Limit(budget, u.time.rtt.Least()+ackDelay)
	return full && now.Sub(u.lastSent) < probe && now >= u.lastSent
}

// sendGap returns the time from one packet to the next that Config.SendRate asks for.
func (u *uplink) sendGap() time.Duration {
	if u.cfg.SendRate == 0 {
		return 0
	}
	return time.Second / time.Duration(u.cfg.SendRate)
}

// unacked returns how many commands the server is not known to have.
func (u *uplink) unacked() clock.Tick { return u.made - min(u.acked, u.made) }

// header returns the header of packet p, but for whether it elicits an acknowledgement.
func (u *uplink) header(p *wire.Packet, now clock.Time) wire.Header {
	h := wire.Header{Seq: p.Seq, Stamp: now.Stamp()}
	u.down.report(&h, now)
	// Queued commands are each to be run: none that differs may be left behind.
	h.Idle = u.same >= idleAfter && (!u.time.queued || u.unacked() <= clock.Tick(u.same)+1)
	if h.Idle && u.idleFrom == 0 {
		u.idleFrom = p.Seq
	}
	if !u.awayKnown && u.awayFrom == 0 {
		u.awayFrom = p.Seq
	}
	return h
}

// choose sets cmds to the commands of the next packet. sparse says that older ones may still
// follow, idle that the newest command stands for all that follow, again that a packet with the
// newest command has just been sent: then those that may be in time are enough.
func (u *uplink) choose(now clock.Time, budget rate.BytesPerSecond, idle, again bool) (sparse bool) {
	u.cmds = u.cmds[:0]
	if u.made == 0 || u.idleKnown {
		return false
	}
	n := min(u.unacked(), maxRepeat, u.useful(now))
	if u.time.queued {
		n = min(u.unacked(), packet.MaxCommands) // each of them is to be run
	}
	if idle {
		n = max(n, 1) // also where all come too late to be run
	}
	if again {
		n, sparse = min(n, u.made-min(u.time.runBy(u.time.now), u.made)), true
	} else if few := u.fewer(now, budget, n); few < n {
		n, sparse = few, true
		u.sinceFull++
	} else {
		u.sinceFull, u.lastFull, u.missed = 0, now, false
	}
	for i := range n {
		cmd := u.ring.Command(u.made - (n - 1 - i))
		if cmd == nil { // not kept any more
			u.cmds, sparse = u.cmds[:0], true
			continue
		}
		u.cmds = append(u.cmds, *cmd)
		if u.cfg.NoRewind {
			u.cmds[len(u.cmds)-1].Seen = 0
		}
	}
	return sparse
}

// fewer returns how many of the n newest commands are enough for the next packet.
func (u *uplink) fewer(now clock.Time, budget rate.BytesPerSecond, n clock.Tick) clock.Tick {
	switch {
	case u.time.queued || u.missed:
		return n
	case u.lossless() && (now.Sub(u.lastFull) < fullRepeatAfter || !u.pressWaits(n)):
		return max(u.made-u.sentTick, 1)
	case budget < slowUp && u.sinceFull < fullRepeatEvery-1:
		return u.timely(now)
	}
	return n
}

// lossless reports whether the path loses next to nothing, and answers, and the next packet would
// bring what is lost too late anyway: with a packet each tick it is in time as a rule.
func (u *uplink) lossless() bool {
	seldom := u.sendGap() > u.time.period || u.time.lead.Every() > 1
	return seldom && u.sinceLoss >= losslessAfter &&
		time.Duration(u.unacked())*u.time.period <= u.time.rtt.Least()+ackDelay
}

// pressWaits reports whether one of the n newest commands has a press and was made fullRepeatAfter
// ago or earlier: an answer should have come.
func (u *uplink) pressWaits(n clock.Tick) bool {
	for age := clock.Tick(fullRepeatAfter / u.time.period); age < n; age++ {
		if cmd := u.ring.Command(u.made - age); cmd != nil && packet.HasPress(u.rules.Command, cmd.Vals) {
			return true
		}
	}
	return false
}

// write encodes a datagram with cmds, or with fewer of them where not all fit.
func (u *uplink) write(h *wire.Header, flags packet.Uplink) []byte {
	w := &u.w
	w.Reset(u.buf[:0])
	h.Append(w, wire.Known{Ack: u.down.received.Known()})
	head := w.Mark()
	for {
		flags.Append(w)
		packet.AppendCommands(w, u.rules.Command, u.cmds, h.Ack)
		if w.Size() <= wire.MaxDatagram || len(u.cmds) <= 1 {
			break
		}
		w.Rewind(head)
		if u.time.queued { // the oldest go first: the others would have to wait for them
			u.cmds = u.cmds[:len(u.cmds)*3/4]
		} else { // the newest matter most
			u.cmds = u.cmds[(len(u.cmds)+1)/2:]
		}
	}
	u.buf = w.Bytes()
	return u.buf
}

// reportQuality writes how the player sees the game behind a datagram's commands, about once a
// second while something is drawn.
func (u *uplink) reportQuality(b []byte, now clock.Time) []byte {
	at, s := u.time.play.DisplayTime(), u.stats
	if at == 0 || u.away || now.Sub(u.lastQuality).Abs() < packet.QualityEvery ||
		len(b)+packet.QualitySize > wire.MaxDatagram {
		return b
	}
	u.lastQuality = now
	return packet.NewQuality(u.time.server.Now(u.time.now).Sub(at), u.time.play.Hitches(), s.SingleHitches,
		s.Prediction.Corrections).Append(b)
}

// timely returns how many of the newest commands are worth repeating on a slow path: those whose
// tick the server has not run when this packet arrives, and those that went out only once.
func (u *uplink) timely(now clock.Time) clock.Tick {
	return u.made - min(u.time.runBy(now), u.prevSentTick, u.made)
}

// useful returns how many of the newest commands can still mean something when this packet arrives:
// those that are in time, and those whose presses the server moves to its next tick. At least the
// newest, which says what the player wants now. In an outage older ones only fill the queue that
// the newest wait in.
func (u *uplink) useful(now clock.Time) clock.Tick {
	late := clock.Tick(packet.LatePress / u.time.period)
	return max(u.made-min(max(u.time.runBy(now), late)-late, u.made), 1)
}

// Dropped reports that the transport threw away a datagram before it reached the path. Its commands
// are repeated at once, and it does not count as a loss on the path. A sequence number that is not
// in flight has no effect.
func (c *Client) Dropped(seq wire.Seq) { c.up.log.Drop(seq, c.up.unanswered) }
