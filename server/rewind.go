package server

import (
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/snapshot"
)

// seer answers what a player saw when it made the command that runs now. It implements engine.Seer.
type seer struct {
	p       *player
	rewind  rewind.Rewinder
	receipt rewind.Receipt
	near    snapshot.Area
}

// begin prepares for a command that waited for its tick. A rewind reaches back at most
// Config.Rewind for the client's playout delay, and beyond that the round trip and the wait, which
// the server measured itself; all of it together MaxRewind.
func (v *seer) begin(p *player, cmd *packet.Command, waited time.Duration) {
	s := p.s
	v.p = p
	v.rewind.History, v.rewind.View, v.rewind.Log = s.hist, p.down.view, &p.down.log
	most := s.cfg.Rewind
	if most >= 0 {
		most = min(most+p.down.path.rtt.Smoothed()+waited, MaxRewind, time.Duration(snapshot.HistoryTicks-2)*s.period)
	}
	v.receipt = rewind.Judge(cmd.Seen, cmd.Basis(), s.tick, most, s.period)
	if v.receipt.Reason == rewind.TooOld || v.receipt.Reason == rewind.Future {
		p.commands.stats.Clamped++
	}
}

// Receipt implements engine.Seer.
func (v *seer) Receipt() engine.Receipt {
	r := &v.receipt
	return engine.NewReceipt(r.Stated, r.Used, r.Bound, r.Reason)
}

// Own implements engine.Seer.
func (v *seer) Own(t clock.Tick) (sims []int64, cut clock.Tick) { return v.p.trail.at(t) }

// Seen implements engine.Seer.
func (v *seer) Seen(q engine.Query, dst *engine.Sight) {
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
