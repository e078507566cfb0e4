package invasion

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the bots. Bots remember nothing: they look around in each botLook-th tick, and in
// between go on as they did.
const (
	botLook   = 4
	botHunt   = 22.0 // metres at which they go for a creature
	botLeash  = 60.0 // metres from their beacon at which they turn back
	botRoam   = 30.0 // metres around their beacon where they walk when nobody is near
	botMood   = 6 * Rate
	botScared = 22  // health below which they run home
	botMany   = 6   // creatures within reach of a blast that are worth one
	botFights = 1.7 // metres to a creature at which they stop and strike
)

// Bot plays from what a player in its place would know: it defends its beacon.
func Bot(w *game.World, me game.ID) (c Cmd) {
	p := Players.Get(w, me)
	c.Aim, c.Move = p.Aim, p.Vel.Mul(1.0/speed)
	if p.Health == 0 || (uint32(w.Tick())+uint32(me))%botLook != 0 {
		return c
	}
	home := Sites[p.Home]
	var foe geom.Vec2 // the way to the nearest
	nearest, around := botHunt, 0
	for _, creature := range Creatures.All(w) {
		way := creature.Pos.Sub(p.Pos)
		d := way.Len()
		if d < BlastReach {
			around++
		}
		if d < nearest {
			nearest, foe = d, way
		}
	}
	mood := geom.NewRand(uint64(me), uint64(w.Tick()/botMood))
	goal := home.Add(mood.Disc(botRoam))
	switch {
	case p.Health < botScared:
		c.Move = home.Sub(p.Pos).Limit(1)
	case nearest < botFights:
		c.Move = geom.Vec2{}
	case nearest < botHunt && p.Pos.Dist(home) < botLeash:
		c.Move = foe.Unit()
	default:
		c.Move = goal.Sub(p.Pos).Mul(0.5).Limit(1)
	}
	if nearest < botHunt {
		c.Aim = foe.Angle()
	} else if c.Move.Len() > 0.3 {
		c.Aim = c.Move.Angle()
	}
	c.Strike = nearest < StrikeReach
	c.Blast = around >= botMany
	return c
}
