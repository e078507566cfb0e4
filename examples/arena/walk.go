package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of how an avatar moves, in metres and seconds.
const (
	Radius      = 0.4
	Standing    = 1.8 // height of the hull
	Crouching   = 1.15
	RunSpeed    = 7.0
	CrouchSpeed = 3.2
	GroundForce = 60.0 // m/s²: full speed after an eighth of a second
	AirForce    = 14.0
	JumpSpeed   = 6.6 // m/s upwards: a jump of 1.36 m
	Gravity     = 16.0
	StepUp      = 0.2 // the height of a step that needs no jump
	HopTicks    = 8   // ticks before landing in which a pressed jump still counts

	gunStanding  = 1.22 // height of the muzzle
	gunCrouching = 0.78
	gunSpeed     = 5.0
	hair         = 0x1p-12 // more than rounding to the simulation grid moves anything
)

func tall(crouch bool) float64 {
	if crouch {
		return Crouching
	}
	return Standing
}

// walk moves one player by one command. Everyone moves by it alone, on the server, in predictions
// and as a bot. It depends on the player, the command and the map.
func walk(p *Player, c Cmd, now game.Tick, dt float64) {
	p.Crouch = c.Crouch
	speed, force, gun := RunSpeed, GroundForce, gunStanding
	if c.Crouch {
		speed, gun = CrouchSpeed, gunCrouching
	}
	p.Gun += geom.Clamp(gun-p.Gun, -float64(gunSpeed*dt), float64(gunSpeed*dt))
	if c.Jump {
		p.Hop = now + HopTicks
	}
	climb := p.Vel.Z
	if stands := grounded(p); !stands {
		force = AirForce
	} else if now < p.Hop {
		climb, p.Hop = JumpSpeed, 0
	}

	from := p.Pos.XY()
	vel := p.Vel.XY().Toward(c.Move.Mul(speed), float64(force*dt))
	way := vel.Mul(dt)
	to := slide(from, way, p.Pos.Z)
	if to != from.Add(way) { // along a wall: the speed into it is lost
		vel = to.Sub(from).Mul(1 / dt).Limit(vel.Len())
	}

	// The height over time is a parabola, and each tick lies on it exactly.
	z, fell := p.Pos.Z, climb-float64(Gravity*dt)
	z += float64(float64((climb+fell)/2) * dt)
	if floor := floorAt(to, p.Pos.Z, Radius); z <= floor {
		z, fell = floor, max(fell, 0)
	}
	p.Pos, p.Vel = to.At(z), vel.At(fell)
}

// grounded reports whether a player stands on the ground or on a wall.
func grounded(p *Player) bool {
	return p.Vel.Z <= 0 && p.Pos.Z <= floorAt(p.Pos.XY(), p.Pos.Z, Radius)+hair
}

// floorAt returns the height of the floor under feet at height z.
func floorAt(at geom.Vec2, z, r float64) float64 {
	top, disc := 0.0, geom.Circle{Center: at, Radius: r}
	for i := range boxes {
		if h := boxes[i].Max.Z; h > top && h <= z+StepUp && disc.OverlapsRect(boxes[i].Floor()) {
			top = h
		}
	}
	return top
}

// slide moves feet at height z. They slide along walls that are too high to step onto, and along
// the fence around the arena.
func slide(from, way geom.Vec2, z float64) geom.Vec2 {
	var near [maxBoxes + len(fence)]geom.Rect
	n, to := 0, from.Add(way)
	passed := geom.Rect{
		Min: geom.Vec2{X: min(from.X, to.X), Y: min(from.Y, to.Y)},
		Max: geom.Vec2{X: max(from.X, to.X), Y: max(from.Y, to.Y)},
	}.Expand(Radius + 0.1)
	for i := range boxes {
		if boxes[i].Max.Z > z+StepUp && passed.Overlaps(boxes[i].Floor()) {
			near[n] = boxes[i].Floor()
			n++
		}
	}
	for i := range fence {
		if passed.Overlaps(fence[i]) {
			near[n] = fence[i]
			n++
		}
	}
	return geom.Slide(from, way, Radius, near[:n])
}

// blocked reports whether a player with feet at height z does not fit here.
func blocked(at geom.Vec2, z float64) bool {
	disc := geom.Circle{Center: at, Radius: Radius}
	for i := range boxes {
		if boxes[i].Max.Z > z+StepUp && disc.OverlapsRect(boxes[i].Floor()) {
			return true
		}
	}
	return false
}

// reach returns how far a bullet flies before a wall stops it.
func reach(r geom.Ray3) float64 {
	for i := range boxes {
		if d, ok := r.Box(boxes[i]); ok {
			r.Len = d
		}
	}
	if d, ok := r.Ground(0); ok {
		r.Len = d
	}
	return r.Len
}

// free reports whether no wall stands between two points.
func free(from, to geom.Vec3) bool {
	r, low := geom.Ray3To(from, to), min(from.Z, to.Z)
	for i := range boxes {
		if boxes[i].Max.Z < low {
			continue
		}
		if _, ok := r.Box(boxes[i]); ok {
			return false
		}
	}
	return true
}
