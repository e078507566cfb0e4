package client

import (
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

func (c *Client) confirm(e *snapshot.Replica, k *schema.Kind, s *motion.State) {
	if game.ID(e.ID) != c.me || e.Kind != c.meKind {
		c.own.Reset()
		c.smooth.Clear()
		c.me, c.meKind = game.ID(e.ID), e.Kind
		c.truth.cut, c.told, c.cutSaid, c.cutDrawn = 0, 0, 0, 0
	}
	if s.Cut > c.cutSaid {
		if c.cfg.NoPrediction && c.told > 0 {
			c.cuts++
		}
		c.cutSaid = s.Cut
	}
	known := c.own.Base()
	tick := s.Tick // of the newest command that is in this state
	if c.queued {
		at := &c.ran[s.Tick%ranTicks]
		if at.tick != s.Tick {
			return // none has run yet
		}
		tick = at.cmd
	}
	if tick <= known {
		return
	}
	before, had := c.place(k)
	old := c.own.State(tick)
	off := 0.0
	if old != nil {
		off = c.distance(k, old.vals, s.Vals)
	}
	c.truth.vals = s.Vals
	if s.Cut > c.told && c.told > 0 { // since the state before
		switch {
		case !c.queued:
			c.truth.cut = s.Cut
		case old != nil && old.cut > known: // by which of the commands since then, only the prediction knows
			c.truth.cut = old.cut
		default:
			c.truth.cut = tick
		}
	}
	c.told = s.Tick
	o := c.own.Confirm(tick, &c.truth)
	c.stats.Confirmed++
	c.stats.Replayed += uint64(o.Replayed)
	if c.cmdTick < c.own.Last() { // the server is ahead of our commands: those of its past are of no use to it
		c.cmdTick = c.own.Last()
		c.cmdAcked = c.cmdTick
	}
	if o.Corrected {
		c.stats.Corrections++
		c.stats.LastOff = off
		if after, ok := c.place(k); had && ok {
			c.smooth.Add(before.Sub(after))
		}
	}
	c.leap() // nothing fades across a teleport that was not foreseen, or was in vain
	if c.OnConfirm != nil {
		c.OnConfirm(tick, o, off)
	}
	c.collect()
}

// place returns where in the world the avatar is drawn without smoothing.
func (c *Client) place(k *schema.Kind) (geom.Vec3, bool) {
	a, b, u := c.between()
	if b == nil {
		return geom.Vec3{}, false
	}
	return c.placeOf(k, a, b, u)
}

// placeOf returns where in the world an avatar is drawn that is between a and b; ok is false if its parent is not known.
func (c *Client) placeOf(k *schema.Kind, a, b []int64, u int64) (v geom.Vec3, ok bool) {
	p := ownPlace(k)
	if p == nil {
		return v, true
	}
	to := [3]*float64{&v.X, &v.Y, &v.Z}
	if relative(k, b) {
		c.placeVals = k.AppendExact(c.placeVals[:0], a, b, u)
		if !c.attachOwn(k, c.placeVals) {
			return v, false
		}
		for j := range p.Comps {
			*to[j] = c.placeVals[p.At+j]
		}
		return v, true
	}
	for j := range p.Comps {
		from := a[p.At+j]
		*to[j] = (float64(from) + float64(float64(b[p.At+j]-from)*float64(u))/65536) / p.Sim
	}
	return v, true
}

// distance returns how far two states of the avatar are apart. Such as are relative to different parents are as far apart as they are drawn.
func (c *Client) distance(k *schema.Kind, a, b []int64) float64 {
	from, ok := c.placeOf(k, a, a, 0)
	to, there := c.placeOf(k, b, b, 0)
	if !ok || !there {
		return 0
	}
	return to.Sub(from).Len()
}

// between returns the own states before and after the moment that is drawn, and how far between them it is.
func (c *Client) between() (a, b []int64, u int64) {
	t := min(c.cmdTick, c.own.Done()) // with debt, what is computed
	sb := c.own.State(t)
	if sb == nil {
		return nil, nil, 0
	}
	sa := c.own.State(t - 1)
	if sa == nil || sa.cut != sb.cut || apart(c.rules.Kinds[c.meKind], sa.vals, sb.vals) {
		return sb.vals, sb.vals, 65536
	}
	f := int64(c.line.TickAt(c.out.Now(c.now).Add(c.ahead())) - c.cmdTick.Frac())
	return sa.vals, sb.vals, min(max(f, 0), clock.FracPerTick) << 8
}

// leap takes in that the avatar is drawn on the other side of a teleport than before, and reports whether it is: nothing fades across it.
func (c *Client) leap() bool {
	s := c.own.State(min(c.cmdTick, c.own.Done()))
	if s == nil || s.cut == c.cutDrawn {
		return false
	}
	c.cutDrawn = s.cut
	c.smooth.Clear()
	if !c.cfg.NoPrediction {
		c.cuts++
	}
	return true
}
