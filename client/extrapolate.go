package client

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// extrapolates reports whether entities of a kind are drawn beyond their newest record.
func (p *playback) extrapolates(k *schema.Kind) bool {
	return k.Extrapolated && p.reach > 0 && !p.cfg.NoInterpolation
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

// drawOtherInto draws an entity's groups into drawn: at playout time t, or closer to the present
// where the kind is extrapolated.
func (p *playback) drawOtherInto(h *snapshot.Replica, t clock.TickFrac, drawn []int64) bool {
	k := p.rules.Kinds[h.Kind]
	if !p.extrapolates(k) {
		return p.drawInto(h, t, drawn)
	}
	at := p.time.extrapolateTick
	if !p.drawInto(h, at, drawn) {
		return false
	}
	for g := range k.Groups {
		group, records := &k.Groups[g], &h.Groups[g]
		newest := records.Newest()
		if !group.Moving || newest == nil {
			continue
		}
		if records.Fade == nil {
			records.Fade = &motion.Fade{}
		}
		// What the records say now of the last frame's time: the difference to what was drawn
		// fades.
		last := p.before[:group.N]
		if lastAt, ok := records.Fade.Last(); ok {
			p.drawBeyond(records, k, group, lastAt, p.reach, last)
		}
		dst := drawn[group.At : group.At+group.N]
		p.drawBeyond(records, k, group, at, p.reach, dst)
		records.Fade.Draw(k, group, newest, at, p.time.now, last, dst)
	}
	return true
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
