package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the launcher and its rockets, in metres and seconds.
const (
	RocketSpeed   = 28.0
	RocketReach   = 19.0 // how far ahead of the muzzle a rocket meets the ground
	RocketRadius  = 0.15
	RocketMakesUp = 0.1 // how much of its shooter's view age it makes up for, in seconds; 0: nothing
	RocketCatches = 0.5 // the share by which it is faster until it has
	BlastRadius   = 3.2
	BlastDamage   = 85  // of a rocket that meets a body; less with the distance, none beyond BlastRadius
	ownDamage     = 0.5 // the share of it that the owner bears
	push          = 7.5 // m/s, by which a blast throws a body that it meets; less with the distance
	lift          = 0.6 // added to the height of the direction in which it throws
)

// Rocket flies straight on until it meets something. Its speed is 0 in the tick in which it did.
// All clients run it ahead, so its shooter sees it at once, and everybody else where it is when
// they could still step aside.
type Rocket struct {
	Pos   geom.Vec3 `net:"pos"`
	Vel   geom.Vec3 `net:"vel"`
	Owner game.ID   `net:"handle"`
	Owed  float64   `net:"float,0.001"` // metres by which it still flies too far behind, see launch
}

// Launch is the flash of a launcher.
type Launch struct {
	From geom.Vec3 `net:"pos,1cm"`
}

// Blast is the end of a rocket.
type Blast struct {
	At geom.Vec3 `net:"pos,1cm"`
}

// launch fires one rocket. It points at the ground RocketReach ahead, as aims are in the plane
// only: it passes over nobody but those close to someone high up.
//
// Players aim at what they see, which is some view age old. A rocket makes up for it by flying so
// much further, up to RocketMakesUp. It does so on its way and not at once: nobody sees it jump out
// of the muzzle, it meets what is there when it passes, and all clients compute the same.
func launch(w *game.World, me game.ID, p *Player, from geom.Vec3) {
	owed := RocketSpeed * min(w.ViewAge(), RocketMakesUp)
	Rockets.Spawn(w, Rocket{Pos: from, Vel: course(from, p.Aim).Mul(RocketSpeed), Owner: me, Owed: owed})
	Launches.Emit(w, me, from.XY(), Launch{from}) // everyone sees it once, the shooter at once
}

// course returns the direction in which a rocket flies.
func course(from geom.Vec3, aim geom.Angle) geom.Vec3 {
	return aim.Dir().Mul(RocketReach).At(-from.Z).Unit()
}

// step moves doors, platforms and rockets by a tick.
func step(w *game.World) {
	moveDoors(w)
	movePlatforms(w)
	fly(w)
}

// fly moves all rockets by a tick. Walls and the ground stop them, which clients foresee.
func fly(w *game.World) {
	g := groundAt(w)
	for id, r := range Rockets.All(w) {
		speed := r.Vel.Len()
		if speed == 0 { // in a client: the server has removed it by now
			w.Despawn(id)
			continue
		}
		dir := r.Vel.Mul(1 / speed)
		if more := min(r.Owed, float64(RocketSpeed*RocketCatches*w.Dt())); more > 0 || speed > RocketSpeed+RocketRadius {
			r.Owed -= more
			speed = RocketSpeed + more/w.Dt()
			r.Vel = dir.Mul(speed)
		}
		ray := geom.Ray3{From: r.Pos, Dir: dir, Len: float64(speed * w.Dt())}
		d := g.reach(ray)
		if d == ray.Len {
			r.Pos = ray.End()
			continue
		}
		r.Pos, r.Vel = ray.At(max(d-RocketRadius, 0)), geom.Vec3{} // in front of what it met
		Blasts.Emit(w, id, r.Pos.XY(), Blast{r.Pos})
	}
}

// burst ends the rockets that met something in this tick, on the server alone: whom a rocket meets
// is decided by where players are, not by what anyone saw.
func burst(w *game.World) {
	for id, r := range Rockets.All(w) {
		met := meets(w, r)
		if met {
			Blasts.Emit(w, id, r.Pos.XY(), Blast{r.Pos})
		}
		if met || r.Vel == (geom.Vec3{}) {
			explode(w, r)
			w.Despawn(id)
		}
	}
}

// meets reports whether a rocket that flies met a body in this tick, and moves it back to where it
// did.
func meets(w *game.World, r *Rocket) (met bool) {
	if r.Vel == (geom.Vec3{}) {
		return false
	}
	ray := geom.Ray3To(r.Pos.Sub(r.Vel.Mul(w.Dt())), r.Pos)
	for id, p := range Players.All(w) {
		if id == r.Owner || !p.Alive {
			continue
		}
		if d, ok := ray.Cylinder(place(w, p), Radius+RocketRadius, tall(p.Crouch)); ok {
			ray.Len, met = d, true
		}
	}
	r.Pos = ray.End()
	return met
}

// explode hurts and throws everyone near a rocket who is not behind a wall.
func explode(w *game.World, r *Rocket) {
	hurts, g, hit := armed(w), groundAt(w), false
	for id, p := range Players.All(w) {
		if !p.Alive {
			continue
		}
		at := place(w, p)
		middle := at.Add(geom.Vec3{Z: tall(p.Crouch) / 2})
		nearest := at.Add(geom.Vec3{Z: geom.Clamp(r.Pos.Z-at.Z, 0, tall(p.Crouch))})
		share := 1 - max(nearest.Dist(r.Pos)-Radius-RocketRadius, 0)/BlastRadius
		if share <= 0 || !g.free(r.Pos, middle) {
			continue
		}
		away := middle.Sub(r.Pos).Unit().Add(geom.Vec3{Z: lift}).Unit()
		p.Vel = p.Vel.Add(away.Mul(float64(push * share)))
		damage := float64(BlastDamage * share)
		if id == r.Owner {
			damage = float64(damage * ownDamage)
		}
		if hurts {
			p.Health, p.By = max(p.Health-int(damage+0.5), 0), r.Owner
			hit = hit || id != r.Owner
		}
	}
	if hit && Players.Has(w, r.Owner) {
		Players.Get(w, r.Owner).hit()
	}
}
