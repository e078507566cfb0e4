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
// and as a bot. It depends on the player, the command and the ground.
func walk(g *ground, p *Player, c Cmd, now game.Tick, dt float64) {
	p.Crouch = c.Crouch
	speed, force, gun := RunSpeed, GroundForce, gunStanding
	if c.Crouch {
		speed, gun = CrouchSpeed, gunCrouching
	}
	p.Gun += geom.Clamp(gun-p.Gun, -float64(gunSpeed*dt), float64(gunSpeed*dt))
	if c.Jump {
		p.Hop = now + HopTicks
	}
	climb, stands := p.Vel.Z, g.carries(p)
	if k := g.deck(p.On); k != nil {
		p.Pos = p.Pos.Add(k.at) // the platform has moved it already
	}
	if !stands {
		force = AirForce
	} else if now < p.Hop {
		climb, p.Hop = JumpSpeed, 0
	}

	from := p.Pos.XY()
	vel := p.Vel.XY().Toward(c.Move.Mul(speed), float64(force*dt))
	way := vel.Mul(dt)
	to := g.slide(from, way, p.Pos.Z)
	if to != from.Add(way) { // along a wall: the speed into it is lost
		vel = to.Sub(from).Mul(1 / dt).Limit(vel.Len())
	}

	// The height over time is a parabola, and each tick lies on it exactly.
	z, fell := p.Pos.Z, climb-float64(Gravity*dt)
	z += float64(float64((climb+fell)/2) * dt)
	if floor := g.floorAt(to, p.Pos.Z, Radius); z <= floor {
		z, fell = floor, max(fell, 0)
	}
	p.Pos, p.Vel = to.At(z), vel.At(fell)
	g.ride(p)
}

// carries reports whether a player stands on the ground, on a wall or on a platform.
func (g *ground) carries(p *Player) bool {
	if p.On != 0 {
		return p.Vel.Z <= 0 && p.Pos.Z <= hair
	}
	return p.Vel.Z <= 0 && p.Pos.Z <= g.floorAt(p.Pos.XY(), p.Pos.Z, Radius)+hair
}
