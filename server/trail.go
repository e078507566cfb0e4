package server

import (
	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// trailTicks is how many states of an avatar are kept: those between which a command's eye may lie.
const trailTicks = packet.MaxEyeBack + 2

// A trail is the newest states of a player's avatar by the tick of the queued command that led to
// them, as the history has them by the server's ticks. Commands state between which two of them the
// player saw itself.
type trail struct {
	ticks [trailTicks]clock.Tick
	cuts  [trailTicks]clock.Tick // newest teleport by then
	sims  []int64                // simulation integers of each
}

// put notes the present state of an avatar as that after the command of tick t.
func (r *trail) put(e *engine.Engine, avatar game.ID, t clock.Tick) {
	_, sims := e.Sims(avatar)
	if len(r.sims) != trailTicks*len(sims) {
		*r = trail{sims: make([]int64, trailTicks*len(sims))}
	}
	i := int(t % trailTicks)
	r.ticks[i], r.cuts[i] = t, e.CutAt(avatar)
	copy(r.sims[i*len(sims):], sims)
}

// at returns the state after the command of tick t; nil if it is not kept.
func (r *trail) at(t clock.Tick) (sims []int64, cut clock.Tick) {
	i, n := int(t%trailTicks), len(r.sims)/trailTicks
	if r.ticks[i] != t || t == 0 {
		return nil, 0
	}
	return r.sims[i*n : (i+1)*n], r.cuts[i]
}
