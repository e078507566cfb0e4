package plaza

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the bots. Bots remember nothing: hashes of their ID and the time give each its changing
// moods, and all of them the spots where they gather.
const (
	botMood   = 14 * Rate // ticks from one mood to the next
	botSpots  = 40 * Rate // ticks for which a gathering lasts
	botStroll = 0.3       // share that strolls
	botGather = 0.35      // share that gathers; the others rest
	botEmotes = 0.006     // share of ticks in which a bot at rest shows an emote
)

// Bot strolls to places, rests there, and now and then joins the others who gather around a spot.
func Bot(w *game.World, me game.ID) Cmd {
	a := Avatars.Get(w, me)
	now := uint64(w.Tick()) + uint64(me)*37 // not all change their mood at once
	mood := geom.NewRand(uint64(me), now/botMood)
	c := Cmd{At: a.Pos, Fix: a.Fix}
	goal := a.Pos
	switch dice := mood.Float64(); {
	case dice < botStroll:
		goal = clear(geom.Vec2{X: mood.Range(-28, 28), Y: mood.Range(-16, 16)})
	case dice < botStroll+botGather:
		spot := geom.NewRand(now / botSpots)
		center := clear(geom.Vec2{X: spot.Range(-22, 22), Y: spot.Range(-12, 12)})
		goal = clear(center.Add(mood.Dir().Mul(mood.Range(1, 3.5))))
	}
	way := goal.Sub(a.Pos)
	if step := float64(mood.Range(1.4, 3.2) * w.Dt()); way.Len() > step {
		c.At = around(a.Pos, way.Unit().Mul(step))
		return c
	}
	dice := geom.NewRand(uint64(me), uint64(w.Tick()))
	if dice.Chance(botEmotes) {
		c.Show, c.Emote = true, dice.IntN(Question+1)
	}
	return c
}

// around returns where a step leads: along the edge of what is in the way.
func around(from, step geom.Vec2) geom.Vec2 {
	for _, b := range blocks {
		out := from.Add(step).Sub(b.Center)
		if out.Len() >= b.Radius {
			continue
		}
		side := out.Unit().Perp()
		if side.Dot(step) < 0 {
			side = side.Neg()
		}
		return clear(from.Add(side.Mul(step.Len())))
	}
	return clear(from.Add(step))
}
