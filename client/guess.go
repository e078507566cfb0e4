package client

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// guesses reports whether entities of a kind are drawn beyond their newest record.
func (c *Client) guesses(k *schema.Kind) bool {
	return k.Extrapolated && c.guess > 0 && !c.cfg.NoInterpolation
}

// picture draws an entity for this frame; ok is false if no record of some group is held.
func (c *Client) picture(h *snapshot.Replica) (drawn []int64, ok bool) {
	k := c.rules.Kinds[h.Kind]
	drawn = c.drawn[:k.Obs]
	if !c.pictureInto(h, c.playT, drawn) {
		return nil, false
	}
	c.texts.Spell(k, drawn)
	return drawn, true
}

// pictureInto draws an entity's groups into drawn: at playout time t, or, where the kind is guessed, as much later as is guessed now.
func (c *Client) pictureInto(h *snapshot.Replica, t clock.TickFrac, drawn []int64) bool {
	k := c.rules.Kinds[h.Kind]
	if !c.guesses(k) {
		return c.drawInto(h, t, drawn)
	}
	if !c.drawInto(h, c.guessT, drawn) {
		return false
	}
	for g := range k.Groups {
		group, held := &k.Groups[g], &h.Groups[g]
		newest := held.Newest()
		if !group.Moving || newest == nil {
			continue
		}
		if held.Fade == nil {
			held.Fade = &motion.Fade{}
		}
		last := c.before[:group.N]
		if at, ok := held.Fade.Last(); ok {
			c.beyond(held, k, group, at, last)
		}
		dst := drawn[group.At : group.At+group.N]
		c.beyond(held, k, group, c.guessT, dst)
		held.Fade.Draw(k, group, newest, c.guessT, c.now, last, dst)
	}
	return true
}

// beyond draws a group at a playout time, be it newer than all records.
func (c *Client) beyond(held *snapshot.Group, k *schema.Kind, g *schema.Group, t clock.TickFrac, dst []int64) {
	a, b := held.Around(t)
	if b != nil {
		motion.Draw(k, g, a, b, t, dst)
		return
	}
	if next := a.Tick + motion.Wait(a.Bound) + c.every; c.newestTick >= next { // a record was announced by then: that there is none says that it stands
		motion.Draw(k, g, a, nil, t, dst)
		return
	}
	before, _ := held.Since(a.Tick - 1)
	motion.Ahead(k, g, before, a, t, c.guess, dst)
}
