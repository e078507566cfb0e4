package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the rifle.
const (
	Damage       = 17                // of one bullet
	Range        = 40.0              // metres that a bullet flies
	spreadStill  = 0.6 * geom.Degree // how far a bullet strays at most, standing still
	spreadRun    = 1.4 * geom.Degree
	spreadAir    = 2.8 * geom.Degree
	spreadCrouch = 0.2 * geom.Degree
)

// Shot is one bullet. Hit is the player that it met, as its shooter saw it; 0 is a wall or nothing.
type Shot struct {
	From, To geom.Vec3 `net:"pos,1cm"`
	Hit      game.ID   `net:"handle"`
}

// shoot fires one bullet.
func shoot(w *game.World, me game.ID, p *Player, from geom.Vec3) {
	g := groundSeen(w, me)
	stray := spread(&g, p)
	yaw := (p.Aim + geom.Angle(w.Rand().Range(-float64(stray), float64(stray)))).Norm()
	to, hit := flight(w, &g, me, from, yaw)
	if hit != 0 {
		p.hit()
		// This is the victim as it is now; it may have died since. In a browser, writes to it have
		// no effect.
		if v := Players.Get(w, hit); v.Alive {
			v.Health, v.By = max(v.Health-Damage, 0), me
		}
	}
	Shots.Emit(w, me, from.XY(), Shot{from, to, hit}) // everyone sees it once, the shooter at once
}

func spread(g *ground, p *Player) geom.Angle {
	switch {
	case !g.carries(p):
		return spreadAir
	case p.Vel.XY().Len() > CrouchSpeed:
		return spreadRun
	case p.Crouch:
		return spreadCrouch
	}
	return spreadStill
}

func muzzle(p *Player) geom.Vec3 { return p.Pos.Add(geom.Vec3{Z: p.Gun}) }

// marks are heights at which the rifle tries to hit a body, as shares of the body's height.
var marks = [...]float64{0.55, 0.8}

// flight returns where a bullet of player me ends that is fired in direction yaw, and whom it hits:
// the nearest of the others, as me sees them, whose chest or head is not behind a wall.
func flight(w *game.World, g *ground, me game.ID, from geom.Vec3, yaw geom.Angle) (to geom.Vec3, hit game.ID) {
	ray := geom.Ray{From: from.XY(), Dir: yaw, Len: Range}
	for id, o := range Players.SeenAlong(w, me, ray.From, ray.End(), 2*Radius) {
		if !o.Alive {
			continue
		}
		o = seen(w, me, o)
		d, ok := ray.Circle(o.Pos.XY(), Radius)
		if !ok || hit != 0 && d >= ray.Len {
			continue
		}
		for _, share := range marks {
			at := ray.At(d).At(o.Pos.Z + float64(share*tall(o.Crouch)))
			if g.free(from, at) {
				ray.Len, to, hit = d, at, id
				break
			}
		}
	}
	if hit == 0 {
		level := geom.Ray3{From: from, Dir: yaw.Dir().At(0), Len: Range}
		to = level.At(g.reach(level))
	}
	return to, hit
}
