package client

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// attach moves the drawn values of an entity that is relative to a parent into the world: to where
// its parent is drawn in this frame, turned with it. The parent is drawn at playout time t unless
// it is extrapolated. ok is false if the parent is not known here: then nobody can say where the
// entity is. Values that are relative to nothing stay as they are.
func (p *playback) attach(k *schema.Kind, drawn []int64, t clock.TickFrac, depth int) (ok bool) {
	if k.Parent < 0 {
		return true
	}
	id := uint32(drawn[k.Props[k.Parent].ObsAt] / schema.SubSteps)
	if id == 0 {
		return true
	}
	h := p.store.Find(id)
	if h == nil || depth == schema.MaxParents {
		return false
	}
	pk := p.rules.Kinds[h.Kind]
	parent := p.parents[depth][:pk.Obs]
	track, exact := p.ahead.of(h), true
	switch {
	case h.Mine:
		p.parentVals, ok = p.drawOwn(p.parentVals[:0], h, pk)
	case track != nil:
		if p.parentVals, ok = p.ahead.raw(track, p.parentVals[:0]); ok {
			track.addError(pk, p.parentVals)
		}
	case h.Exact:
		p.parentVals, ok = p.ahead.recorded(h, t, p.parentVals[:0])
	default:
		ok, exact = p.drawOtherInto(h, t, parent), false
	}
	if !ok {
		return false
	}
	if exact {
		pk.FromExact(p.parentVals, parent)
	}
	if !p.attach(pk, parent, t, depth+1) {
		return false
	}
	if h.Mine {
		p.addFadingDrawn(pk, h, parent)
	}
	motion.Attach(k, drawn, pk, parent)
	return true
}

// addFadingDrawn adds the fading error of the prediction to the place in drawn values.
func (p *playback) addFadingDrawn(k *schema.Kind, h *snapshot.Replica, drawn []int64) {
	place := k.PlaceProp()
	if place == nil {
		return
	}
	off := p.fading(h)
	for j, d := range [3]float64{off.X, off.Y, off.Z} {
		if j < place.Comps {
			drawn[place.ObsAt+j] += int64(math.Round(float64(float64(d*place.Obs) * schema.SubSteps)))
		}
	}
}

// attachOwn is attach for the values of the player's own avatar, in this frame.
func (p *playback) attachOwn(k *schema.Kind, vals []float64) bool {
	return p.attachAt(k, vals, p.time.drawTick)
}

// attachAt is attachOwn where parents are drawn at playout time t.
func (p *playback) attachAt(k *schema.Kind, vals []float64, t clock.TickFrac) bool {
	if k.Parent < 0 || vals[k.Props[k.Parent].At] == 0 {
		return true
	}
	drawn := p.drawn[:k.Obs]
	k.FromExact(vals, drawn)
	if !p.attach(k, drawn, t, 0) {
		return false
	}
	place := k.PlaceProp()
	for j := range place.Comps {
		vals[place.At+j] = float64(drawn[place.ObsAt+j]) / float64(place.Obs*schema.SubSteps)
	}
	return true
}

// hasParent reports whether a state of a kind is relative to another entity.
func hasParent(k *schema.Kind, sims []int64) bool {
	return k.Parent >= 0 && sims[k.Props[k.Parent].At] != 0
}

// parentsDiffer reports whether two states are relative to different entities: there is no way from
// one place to the other.
func parentsDiffer(k *schema.Kind, a, b []int64) bool {
	return k.Parent >= 0 && a[k.Props[k.Parent].At] != b[k.Props[k.Parent].At]
}
