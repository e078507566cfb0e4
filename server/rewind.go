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
func (v *seer) Seen(kind int, me game.ID, dst *engine.Sight) {
	self := int32(-1)
	if i, ok := v.p.s.hist.Find(uint32(me)); ok {
		self = i
	}
	v.rewind.Each(kind, v.p.s.rules.Kinds[kind], self, v.receipt, func(id uint32, drawn []int64) bool {
		dst.Add(game.ID(id), drawn)
		return true
	})
	v.p.commands.stats.Substituted += v.rewind.Substituted
	v.rewind.Substituted = 0
}
