package server

import (
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/snapshot"
)

// seer answers what a player saw when it made the command that runs now.
type seer struct {
	c       *conn
	rewind  rewind.Rewinder
	receipt rewind.Receipt
}

// begin prepares for a command, which waited for its tick. How far back it may reach is bounded by what the
// server measured itself, the round trip and the wait, and by Config.Rewind for the client's playout delay.
func (v *seer) begin(c *conn, cmd *packet.Command, waited time.Duration) {
	v.c = c
	v.rewind.History, v.rewind.View, v.rewind.Log = c.s.hist, c.view, &c.log
	bound := c.s.cfg.Rewind
	if bound >= 0 {
		bound = min(bound+c.rtt.Smoothed()+waited, MaxRewind, time.Duration(snapshot.HistoryTicks-2)*c.s.period)
	}
	v.receipt = rewind.Judge(cmd.Seen, cmd.Newest, c.s.tick, bound, c.s.period)
	if v.receipt.Reason == rewind.TooOld || v.receipt.Reason == rewind.Future {
		c.stats.Clamped++
	}
}

// Seen implements engine.Seer.
func (v *seer) Seen(kind int, me game.ID, dst *engine.Sight) {
	self := int32(-1)
	if i, ok := v.c.s.hist.Find(uint32(me)); ok {
		self = i
	}
	v.rewind.Each(kind, v.c.s.rules.Kinds[kind], self, v.receipt, func(id uint32, drawn []int64) bool {
		dst.Add(game.ID(id), drawn)
		return true
	})
	v.c.stats.Newer, v.rewind.Newer = v.c.stats.Newer+v.rewind.Newer, 0
}
