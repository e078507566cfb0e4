package server

import (
	"time"

	"meanwhile/clock"
	"meanwhile/game"
	"meanwhile/motion"
	"meanwhile/snapshot"
	"meanwhile/wire"
)

// seer answers what one player saw when it made the command that runs now: it finds the two records around
// the stated playout time that the client is known to have held, and draws them with the client's own maths.
type seer struct {
	c      *conn
	t      clock.TickFrac
	newest wire.Seq
	off    bool
	list   []int32
	vals   [2][]int64
	drawn  []int64
}

// begin prepares for a command, which waited for its tick. The playout time is a claim: it is clamped to what the
// rewind allows beyond the round trip and the wait, which the server measured itself.
func (v *seer) begin(c *conn, cmd *game.Command, waited time.Duration) {
	v.c, v.t, v.newest, v.off = c, cmd.Seen, cmd.Newest, c.s.cfg.Rewind < 0
	now := c.s.tick.Frac()
	back := min(c.s.cfg.Rewind+c.rtt.Smoothed()+waited, MaxRewind, time.Duration(snapshot.HistoryTicks-2)*c.s.period)
	floor := now - clock.TickFrac(int64(back)*clock.FracPerTick/int64(c.s.period))
	switch {
	case v.t == 0: // no picture was stated: judge by the present
		v.t = now
	case v.t < floor:
		v.t = max(floor, 0)
		c.stats.Clamped++
	case v.t > now:
		v.t = now
		c.stats.Clamped++
	}
}

func (v *seer) done() {}

// Seen implements game.Seer.
func (v *seer) Seen(kind int, me game.ID, yield func(id game.ID, drawn []int64) bool) {
	h, c := v.c.s.hist, v.c
	k := c.s.rules.Kinds[kind]
	if cap(v.drawn) < k.Obs {
		v.drawn = make([]int64, k.Obs)
	}
	v.list = c.view.Each(v.list, func(i int32) bool {
		e := h.At(i)
		if e.Kind != kind || game.ID(e.ID) == me || i == c.ent {
			return true
		}
		drawn := v.drawn[:k.Obs]
		for g := range k.Groups {
			group := &k.Groups[g]
			var a, b clock.Tick
			if v.off {
				a = h.Tick()
			} else {
				a, b = c.view.Held(&c.log, i, g, v.newest, v.t)
			}
			if a == 0 {
				a, b = b, 0
			}
			if a == 0 {
				return true // it was not in sight yet
			}
			sa, ok := v.state(i, g, a, 0)
			if !ok {
				return true // beyond the history
			}
			var sb *motion.State
			if b != 0 {
				if s, ok := v.state(i, g, b, 1); ok {
					sb = &s
				}
			}
			motion.Draw(k, group, &sa, sb, v.t, drawn[group.At:group.At+group.N])
		}
		return yield(game.ID(e.ID), drawn)
	})
}

// state rebuilds what a record of tick t said. A record may be older than the history, of a thing that rested
// since: its values are then those of the oldest tick that is still there.
func (v *seer) state(i int32, g int, t clock.Tick, scratch int) (motion.State, bool) {
	h := v.c.s.hist
	e := h.At(i)
	at := max(t, e.Spawned, h.Tick()-min(h.Tick()-1, snapshot.HistoryTicks-1))
	vals, ok := h.Values(i, g, at, v.vals[scratch])
	if !ok {
		return motion.State{}, false
	}
	v.vals[scratch] = vals
	cut, start := e.TimesAt(g, t)
	return motion.State{Tick: t, Cut: cut, Start: start, Vals: vals}, true
}
