package client

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

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
	if h == nil || depth == schema.MaxParents {
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
	if p := ownPlace(pk); h.Mine && p != nil {
		off := c.fading(h)
		for j, d := range [3]float64{off.X, off.Y, off.Z} {
			if j < p.Comps {
				parent[p.ObsAt+j] += int64(math.Round(float64(float64(d*p.Obs) * schema.SubSteps)))
			}
		}
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
func (c *Client) drawInto(h *snapshot.Replica, t clock.TickFrac, drawn []int64) bool {
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

// relative reports whether a state of a kind is relative to another entity.
func relative(k *schema.Kind, sims []int64) bool {
	return k.Parent >= 0 && sims[k.Props[k.Parent].At] != 0
}

// apart reports whether two states are relative to different entities: there is no way from one place to the other.
func apart(k *schema.Kind, a, b []int64) bool {
	return k.Parent >= 0 && a[k.Props[k.Parent].At] != b[k.Props[k.Parent].At]
}

// board lets the picture go on where it was when the newest command put the avatar onto another entity, or off it: others are drawn in the past, and
// so is what carries it.
func (c *Client) board() {
	k := c.rules.Kinds[c.meKind]
	a, b := c.own.State(c.cmdTick-1), c.own.State(c.cmdTick)
	if a == nil || b == nil || !apart(k, a.vals, b.vals) {
		return
	}
	from, ok := c.placeOf(k, a.vals, a.vals, 0)
	to, there := c.placeOf(k, b.vals, b.vals, 0)
	if ok && there {
		c.smooth.Add(from.Sub(to))
	}
}
