package client

import (
	"meanwhile/clock"
	"meanwhile/motion"
	"meanwhile/schema"
	"meanwhile/snapshot"
)

// maxRides is how many entities may stand on top of each other: a rider on a horse on a ferry are two.
const maxRides = 4

// attach takes the drawn values of an entity that is relative to a parent into the world: to where its parent is drawn in this picture, which is at
// playout time t unless it is guessed, turned with it. ok is false if the parent is not known here, as then nobody can say where it is. What is
// relative to nothing stays as it is.
func (c *Client) attach(k *schema.Kind, drawn []int64, t clock.TickFrac, depth int) (ok bool) {
	if k.Parent < 0 {
		return true
	}
	id := uint32(drawn[k.Props[k.Parent].ObsAt] / schema.SubSteps)
	if id == 0 {
		return true
	}
	h := c.store.Find(id)
	if h == nil || depth == maxRides {
		return false
	}
	pk := c.rules.Kinds[h.Kind]
	parent := c.rides[depth][:pk.Obs]
	if h.Mine {
		if c.rideVals, ok = c.drawOwn(c.rideVals[:0], h, pk); !ok {
			return false
		}
		pk.FromExact(c.rideVals, parent)
	} else if !c.pictureInto(h, t, parent) {
		return false
	}
	if !c.attach(pk, parent, t, depth+1) {
		return false
	}
	motion.Attach(k, drawn, pk, parent)
	return true
}

// attachOwn does the same for the numbers of the own avatar.
func (c *Client) attachOwn(k *schema.Kind, vals []float64) bool {
	if k.Parent < 0 || vals[k.Props[k.Parent].At] == 0 {
		return true
	}
	drawn := c.drawn[:k.Obs]
	k.FromExact(vals, drawn)
	if !c.attach(k, drawn, c.playT, 0) {
		return false
	}
	p := &k.Props[k.Place]
	for j := range p.Comps {
		vals[p.At+j] = float64(drawn[p.ObsAt+j]) / float64(p.Obs*schema.SubSteps)
	}
	return true
}

// drawInto draws an entity's groups at a playout time into drawn; it returns false if no record of some group is held.
func (c *Client) drawInto(h *snapshot.Held, t clock.TickFrac, drawn []int64) bool {
	k := c.rules.Kinds[h.Kind]
	for g := range k.Groups {
		group := &k.Groups[g]
		if group.N == 0 {
			continue
		}
		a, b := h.Groups[g].Around(t)
		if c.cfg.NoInterpolation {
			a, b = h.Groups[g].Newest(), nil
		}
		if a == nil && k.Limited(g) {
			clear(drawn[group.At : group.At+group.N]) // not for us
			continue
		}
		if a == nil {
			return false
		}
		motion.Draw(k, group, a, b, t, drawn[group.At:group.At+group.N])
	}
	return true
}
