package load

import (
	"math/rand/v2"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/schema"
)

// A random player holds a command for a time between these, in decisions, and then draws another.
const (
	leastHold = 3
	mostHold  = 15
	// reach is how far from zero places and speeds of commands are drawn, in their units.
	reach = 50
	// pressChance is how often a new command presses a button.
	pressChance = 0.3
)

// randomly returns a bot that plays random commands of a kind, within their bounds: for games
// without a bot of their own. One seed draws the same commands.
func randomly(kind *schema.Kind, seed uint64) client.BotFunc {
	rng := rand.New(rand.NewPCG(seed, 0x10ad))
	current, left := make([]int64, kind.Sims), 0
	return func(_ *engine.World, _ game.ID, cmd []int64) {
		if left--; left < 0 {
			left = leastHold + rng.IntN(mostHold-leastHold)
			for i := range kind.Props {
				draw(rng, &kind.Props[i], current)
			}
			kind.Clamp(current)
			copy(cmd, current)
			return
		}
		for i := range kind.Props { // a button is pressed once
			if p := &kind.Props[i]; p.Class == schema.Press {
				current[p.At] = 0
			}
		}
		copy(cmd, current)
	}
}

// draw draws the value of one property. Texts, bytes, entities and ticks stay empty: random ones
// would mean nothing.
func draw(rng *rand.Rand, p *schema.Prop, vals []int64) {
	v := vals[p.At : p.At+p.Comps]
	for c := range v {
		switch p.Class {
		case schema.Text, schema.Bytes, schema.Handle, schema.Tick:
		case schema.Press:
			v[c] = 0
			if rng.Float64() < pressChance {
				v[c] = 1
			}
		case schema.Bool:
			v[c] = rng.Int64N(2)
		case schema.Angle, schema.View:
			v[c] = rng.Int64N(p.SimTurn)
		case schema.Stick:
			v[c] = between(rng, -int64(p.Sim), int64(p.Sim))
		default:
			if p.Min < p.Max {
				v[c] = between(rng, p.Min, p.Max)
			} else {
				v[c] = between(rng, -int64(reach*p.Sim), int64(reach*p.Sim))
			}
		}
	}
}

// between draws a whole number in [least, most].
func between(rng *rand.Rand, least, most int64) int64 {
	return least + rng.Int64N(most-least+1)
}
