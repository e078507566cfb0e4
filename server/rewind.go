package server

import (
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// seer answers what a player saw when it made the command that runs now. It implements engine.Seer.
type seer struct {
	p       *player
	rewind  rewind.Rewinder
	receipt rewind.Receipt
	past    [2][]int64 // see Past
	near    snapshot.Area
	claim   rewind.Claim
	cmd     *packet.Command
	own     bool            // the player's own command of this tick, with its own view
	judged  bool            // it looked
	hits    [2][]engine.Hit // scratch of end
}

// begin prepares for a command that runs now.
func (v *seer) begin(p *player, cmd *packet.Command) {
	s := p.s
	v.p = p
	v.rewind.History, v.rewind.View, v.rewind.Log = s.hist, p.down.view, &p.down.log
	v.cmd, v.judged = cmd, false
	v.own = cmd.Seen != 0 && cmd.Tick == p.commands.last.Tick && cmd.Seen == p.commands.last.Seen
	if cmd.Seen != 0 {
		v.claim = p.claim(cmd)
	}
}

// follow learns from the command that ran.
func (v *seer) follow() {
	if v.own {
		p := v.p
		p.commands.claims.Follow(v.claim, p.s.period, v.judged)
		p.notePicture(&v.claim)
	}
}

// notePicture counts what a command that ran states of its picture. Nobody looks at that of a
// client that is away.
func (p *player) notePicture(claim *rewind.Claim) {
	c := &p.commands
	if p.up.away {
		c.stands = false
		return
	}
	if claim.Stalled && !c.stands {
		c.stats.Hitches++
	}
	c.stands, c.stats.ViewAge = claim.Stalled, claim.Claimed
}

// claim returns what a command claims that runs now. A picture that lacks packets is as old as the
// newest that it has.
func (p *player) claim(cmd *packet.Command) rewind.Claim {
	s, d := p.s, &p.down
	packets, claims := time.Second/time.Duration(d.send), &p.commands.claims
	seen := cmd.Seen
	c := rewind.Claim{At: s.now, Tick: cmd.Tick, Seen: seen, Norm: claims.Norm(s.now, d.path.answer.Least(), packets)}
	if claims.Without&rewind.CheckPackets == 0 {
		c.Stalled = p.lacks(cmd.Newest, &seen)
	}
	c.Claimed = s.span(s.tick.Frac() - seen)
	c.Late = s.rules.Mode != game.Queued && p.commands.pressed < s.tick
	return c
}

// lacks reports whether a picture of a playout time, drawn from packets up to newest, stands still
// as the next packet is missing, and then sets seen to the time at which it stands, 0 for long ago.
// Packets without entries show nothing, and are not acknowledged as a rule.
func (p *player) lacks(newest wire.Seq, seen *clock.TickFrac) bool {
	d := &p.down
	n := newest + 1
	next := d.log.Get(n)
	for next != nil && len(next.Refs) == 0 && !next.Applied() {
		n++
		next = d.log.Get(n)
	}
	if next == nil && d.log.NextSeq()-newest <= wire.LogSize { // none was sent yet
		return false
	}
	if next == nil { // the log has forgotten it: no path is so slow
		*seen = 0
		return true
	}
	gap := clock.TickFrac(p.s.rules.Rate * clock.FracPerTick / d.send) // between packets
	due, stands := next.Tick.Frac(), next.Tick.Frac()-gap
	if last := d.log.Get(newest); last != nil {
		if stands = max(stands, last.Tick.Frac()); due-last.Tick.Frac() <= 2*gap {
			due, stands = last.Tick.Frac()+1, last.Tick.Frac() // no pause was between the two
		}
	}
	if *seen < due {
		return false
	}
	*seen = min(*seen, stands)
	return true
}

// span returns how long some ticks take as a rule.
func (s *Server) span(f clock.TickFrac) time.Duration {
	return time.Duration(int64(f) * int64(s.period) / clock.FracPerTick)
}

// judge decides by which picture the command is judged, when it looks for the first time. It
// reaches back as far as the client's claims are believed, and at most Config.Rewind beyond what
// its path asks for, all together no further than Config.RewindTotal, or less by the player's
// Limits.
func (v *seer) judge() {
	p := v.p
	s, stats := p.s, &p.commands.stats
	v.judged = true
	most, total := p.limits.Rewind, p.limits.RewindTotal
	if most >= 0 {
		most = min(most+v.claim.Age, total, time.Duration(snapshot.HistoryTicks-2)*s.period)
	}
	v.receipt = rewind.Judge(v.cmd.Seen, v.cmd.Basis(), s.tick, most, s.period)
	if r := &v.receipt; r.Reason == rewind.Exact || r.Reason == rewind.TooOld {
		if total == MaxRewind {
			most *= 2 // an outage is honest more often than not, and what stands since may be older
		}
		if v.claim.Stalled { // but what was not acknowledged does not make it older than that
			r.Oldest = max(r.Oldest, s.tick-min(clock.Tick(most/s.period), s.tick))
		}
		p.commands.claims.Judge(r, v.claim, s.tick, s.period)
		v.stands(most)
	}
	stats.Judged++
	stats.Reasons[v.receipt.Reason]++
	switch v.receipt.Reason {
	case rewind.Exact, rewind.None, rewind.Off:
	default:
		stats.Clamped++
	}
}

// RewindAtMost bounds the age of the picture by which the rest of the command is judged.
func (v *seer) RewindAtMost(most time.Duration) {
	if !v.judged {
		v.judge()
	}
	s, r := v.p.s, &v.receipt
	r.AtMost(most, s.tick, s.period)
	if v.claim.Stalled && r.Reason != rewind.Off && r.Reason != rewind.None {
		// Neither does what was not acknowledged make it older.
		earliest := s.tick.Frac() - clock.TickFrac(int64(most)*clock.FracPerTick/int64(s.period))
		r.Oldest = max(r.Oldest, max(earliest, 0).Tick())
		v.stands(most)
	}
}

// stands notes that a picture that stood still without packets is older than it may be, though its
// time is not.
func (v *seer) stands(most time.Duration) {
	if r := &v.receipt; r.Reason == rewind.Exact && v.claim.Stalled && v.claim.Claimed > most {
		r.Reason = rewind.TooOld
	}
}

// Receipt implements engine.Seer.
func (v *seer) Receipt() engine.Receipt {
	if !v.judged {
		v.judge()
	}
	r := &v.receipt
	return engine.NewReceipt(r.Stated, r.Used, r.Bound, r.Reason)
}

// Past implements engine.Seer. Where commands are queued they run in ticks of their own.
func (v *seer) Past(id game.ID, t clock.Tick) (sims []int64, cut clock.Tick) {
	h := v.p.s.hist
	if v.p.s.rules.Mode == game.Queued {
		if id == v.p.avatar {
			return v.p.trail.at(t)
		}
		return nil, 0
	}
	i, ok := h.Find(uint32(id))
	if !ok {
		return nil, 0
	}
	if sims, ok = h.Values(i, snapshot.OwnerGroup, t, v.past[t%2][:0]); !ok {
		return nil, 0
	}
	v.past[t%2] = sims
	cut, _ = h.At(i).TimesAt(snapshot.OwnerGroup, t)
	return sims, cut
}

// Seen implements engine.Seer.
func (v *seer) Seen(q engine.Query, dst *engine.Sight) {
	if !v.judged {
		v.judge()
	}
	h := v.p.s.hist
	of := rewind.Query{Kind: q.Kind, Self: -1, ID: uint32(q.ID), Modulo: uint32(q.Modulo)}
	if i, ok := h.Find(uint32(q.Me)); ok {
		of.Self = i
	}
	if q.Along {
		v.near = h.Area(q.Near, of.Self)
		of.Near = &v.near
	}
	v.rewind.Each(v.p.s.rules.Kinds[q.Kind], of, v.receipt, func(id uint32, drawn []int64) bool {
		dst.Add(game.ID(id), drawn)
		return true
	})
	v.p.commands.stats.Substituted += v.rewind.Substituted
	v.rewind.Substituted = 0
}
