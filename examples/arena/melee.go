package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the blade and the shove, in metres, ticks and m/s.
const (
	SwingTicks  = 3                 // that a swing lasts
	SwingArc    = 120 * geom.Degree // from right to left, around the aim
	SwingReach  = 1.7               // of the blade, from the middle of the body
	SwingDamage = 40                //
	SwingRest   = 40                // from one swing to the next
	swingRays   = 4                 // into which the part of a tick is cut; at the tip less than a body apart
	bladeHeight = 0.75              // as a share of the muzzle's
	ShoveRadius = 3.0               //
	ShoveRest   = 3 * Rate          // from a shove to the next, or to a swing
	ShoveBack   = 300               // milliseconds back that a shove reaches at most
	shoveSpeed  = 8.0               // by which it throws who is near; less with the distance
	shoveHits   = 15                // that its event can count
)

// Swing is the beginning of a swing, which everyone sees.
type Swing struct {
	At  geom.Vec3  `net:"pos,1cm"`
	Aim geom.Angle `net:"angle,8bit"`
}

// Cut says that a blade met a player, as its owner saw it.
type Cut struct {
	At  geom.Vec3 `net:"pos,1cm"`
	Hit game.ID   `net:"handle"`
}

// Shove throws back all who are near. Hits is how many, as who shoved saw it.
type Shove struct {
	At   geom.Vec3 `net:"pos,1cm"`
	Hits int       `net:"int,0..15"`
}

// strike swings the blade or shoves, if the command wants it, and goes on with a swing that lasts.
func strike(w *game.World, me game.ID, p *Player, c Cmd) {
	eye, now := eyeOf(w, me), w.Tick()
	at := eye.Pos
	switch can := now >= p.Rest && armed(w); {
	case c.Swing && can:
		p.Strike, p.Rest = now, now+SwingRest
		p.Cut1, p.Cut2, p.Cut3 = 0, 0, 0
		p.Ready = max(p.Ready, now+SwingTicks) // no hand is free meanwhile
		Swings.Emit(w, me, at.XY(), Swing{at, p.Aim})
	case c.Shove && can:
		p.Rest, p.Ready = now+ShoveRest, max(p.Ready, now+1)
		shove(w, me, at)
	}
	if p.Strike != 0 && now < p.Strike+SwingTicks {
		sweep(w, me, p, at.Add(geom.Vec3{Z: float64(bladeHeight * eye.Gun)}), int(now-p.Strike))
	}
}

// sweep moves the blade through its part of the arc in the n-th tick of a swing. Each tick is
// judged by what its player saw in that tick.
func sweep(w *game.World, me game.ID, p *Player, from geom.Vec3, n int) {
	const half = float64(SwingArc) / (2 * SwingTicks * swingRays) // of the angle between two rays
	g := groundSeen(w, me)
	for id, o := range Players.SeenAlong(w, me, from.XY(), from.XY(), SwingReach+Radius) {
		if o = seen(w, me, o); !o.Alive || p.hasCut(id) ||
			from.Z < o.Pos.Z || from.Z > o.Pos.Z+tall(o.Crouch) {
			continue
		}
		for i := range swingRays {
			yaw := p.Aim + SwingArc/2 - geom.Angle(float64(half*float64(2*(n*swingRays+i)+1)))
			ray := geom.Ray{From: from.XY(), Dir: yaw, Len: SwingReach}
			d, ok := ray.Circle(o.Pos.XY(), Radius)
			if at := ray.At(d).At(from.Z); ok && g.free(from, at) && p.noteCut(id) {
				if v := Players.Get(w, id); v.Alive {
					v.Health, v.By = max(v.Health-SwingDamage, 0), me
				}
				Cuts.Emit(w, me, at.XY(), Cut{at, id})
				break
			}
		}
	}
}

// hasCut reports whether the present swing met a player before.
func (p *Player) hasCut(id game.ID) bool { return id == p.Cut1 || id == p.Cut2 || id == p.Cut3 }

// noteCut notes that a swing met a player; false if it has met as many as it can.
func (p *Player) noteCut(id game.ID) bool {
	for _, cut := range [...]*game.ID{&p.Cut1, &p.Cut2, &p.Cut3} {
		if *cut == 0 {
			*cut = id
			return true
		}
	}
	return false
}

// shove throws away everybody whom its player saw near when it pressed: what happens at once, and
// cannot be dodged, is judged by what was seen. A rocket's blast comes later than its trigger, and
// is judged by where players are. Whoever left the place ShoveBack ago is thrown by nobody, however
// slow the path of who shoves: to be moved out of one's own way is felt more than a wound.
func shove(w *game.World, me game.ID, at geom.Vec3) {
	w.RewindAtMost(ShoveBack) // for the rest of this command, in which no weapon is fired
	g, hits := groundSeen(w, me), 0
	middle := at.Add(geom.Vec3{Z: Standing / 2})
	for id, o := range Players.SeenAlong(w, me, at.XY(), at.XY(), ShoveRadius) {
		o = seen(w, me, o)
		away := o.Pos.Sub(at)
		share := 1 - away.Len()/ShoveRadius
		if !o.Alive || share <= 0 || !g.free(middle, o.Pos.Add(geom.Vec3{Z: tall(o.Crouch) / 2})) {
			continue
		}
		hits++
		if v := Players.Get(w, id); v.Alive {
			v.Vel = v.Vel.Add(away.Unit().Add(geom.Vec3{Z: lift}).Unit().Mul(float64(shoveSpeed * (1 + share) / 2)))
		}
	}
	Shoves.Emit(w, me, at.XY(), Shove{at, min(hits, shoveHits)})
}
