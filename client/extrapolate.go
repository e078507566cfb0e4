package client

import (
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// Entities of extrapolated kinds are drawn at the present where nobody can hit them, and exactly
// between records where somebody can, see game.ExtrapolatedBeyond. From exactMargin beyond the
// distance of hits on, the one goes over into the other, within as many metres as mixWidth returns.
const (
	// exactMargin is how many metres further than hits reach everything is drawn exactly: the
	// avatar moves on between a frame and its command, and corrections move it.
	exactMargin = 2

	leastMixWidth = 10 // metres
)

// mixWidth returns over how many metres the exact drawing goes over into that at the present. Who
// comes closer at 7 m/s to what is drawn 3 m further back there, sees it slower by 2 m/s.
func mixWidth(beyond float64) float64 { return leastMixWidth + float64(beyond/2) }

// extrapolates reports whether entities of a kind are ever drawn beyond their newest record.
func (p *playback) extrapolates(k *schema.Kind) bool {
	return (k.Extrapolated || k.Beyond > 0) && !p.cfg.NoExtrapolation && !p.cfg.NoInterpolation
}

// locate notes where the avatar is in this frame.
func (p *playback) locate() {
	pose := p.own.pose()
	p.me.at, p.me.known = pose.at, pose.known && p.rules.Kinds[p.own.kind].Place >= 0
}

// share returns how much of an entity's drawing is at the present, in 1/65536. drawn is its exact
// drawing.
func (p *playback) share(k *schema.Kind, drawn []int64) int64 {
	switch {
	case k.Extrapolated:
		return 65536
	case !p.me.known:
		return 0
	}
	place := k.PlaceProp()
	var at [3]float64
	for j := range place.Comps {
		at[j] = float64(drawn[place.ObsAt+j]) / float64(place.Obs*schema.SubSteps)
	}
	d := geom.Vec3{X: at[0], Y: at[1], Z: at[2]}.Sub(p.me.at).Len() - k.Beyond - exactMargin
	return int64(float64(min(max(d/mixWidth(k.Beyond), 0), 1) * 65536))
}

// drawOther draws an entity that is not the player's for this frame. ok is false if no record of
// some group arrived yet.
func (p *playback) drawOther(h *snapshot.Replica) (drawn []int64, ok bool) {
	k := p.rules.Kinds[h.Kind]
	drawn = p.drawn[:k.Obs]
	if !p.drawOtherInto(h, p.time.drawTick, drawn) {
		return nil, false
	}
	p.texts.Spell(k, drawn)
	return drawn, true
}

// drawOtherInto draws an entity's groups into drawn: at playout time t, or at the present as far as
// the kind is extrapolated.
func (p *playback) drawOtherInto(h *snapshot.Replica, t clock.TickFrac, drawn []int64) bool {
	k := p.rules.Kinds[h.Kind]
	if !p.drawInto(h, t, drawn) {
		return false
	}
	if !p.extrapolates(k) {
		return true
	}
	share := p.share(k, drawn)
	for g := range k.Groups {
		group, records := &k.Groups[g], &h.Groups[g]
		if records.Carry != nil {
			records.Carry.Share = share
		}
		newest := records.Newest()
		if share == 0 || newest == nil || group.N == 0 {
			continue
		}
		dst, present := drawn[group.At:group.At+group.N], p.present[:group.N]
		if group.Moving {
			if records.Carry == nil {
				records.Carry = &motion.Carry{Share: share}
			}
			records.Carry.Draw(k, group, records, &p.horizons[h.Kind], p.time.nowTick, p.time.now, present)
		} else {
			motion.Draw(k, group, newest, nil, p.time.nowTick, present)
		}
		motion.Mix(k, group, dst, present, share, dst)
	}
	return true
}

// carry returns what draws an entity's moving group at the present; nil if it is drawn between
// records, or nearer to that.
func (p *playback) carry(k *schema.Kind, records *snapshot.Group) *motion.Carry {
	if c := records.Carry; c != nil && c.Share >= 32768 && p.extrapolates(k) {
		return c
	}
	return nil
}

// guest draws another player's avatar into drawn at a time that may lie beyond its newest records,
// by reach at most. It returns false if no record of some group arrived yet.
func (p *playback) guest(h *snapshot.Replica, t, reach clock.TickFrac, drawn []int64) bool {
	k := p.rules.Kinds[h.Kind]
	if !p.drawInto(h, t, drawn) {
		return false
	}
	for g := range k.Groups {
		if group := &k.Groups[g]; group.Moving && h.Groups[g].Newest() != nil {
			p.drawBeyond(&h.Groups[g], k, group, t, reach, drawn[group.At:group.At+group.N])
		}
	}
	p.texts.Spell(k, drawn)
	return true
}

// drawBeyond draws a group at a playout time that may lie beyond its newest record, by reach at
// most.
func (p *playback) drawBeyond(
	records *snapshot.Group, k *schema.Kind, g *schema.Group, t, reach clock.TickFrac, dst []int64,
) {
	a, b := records.Around(t)
	if b != nil {
		motion.Draw(k, g, a, b, t, dst)
		return
	}
	if next := a.Tick + motion.Wait(a.Bound) + p.packetTicks; p.down.newestTick >= next {
		motion.Draw(k, g, a, nil, t, dst) // a record was announced by then: without one the entity stands
		return
	}
	before, _ := records.Since(a.Tick - 1)
	motion.Ahead(k, g, before, a, t, reach, dst)
}
