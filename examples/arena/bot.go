package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the bots. Bots remember nothing. They decide by what a player in their place would
// know now, and by hashes of their ID and the time, which give each bot changing moods.
const (
	botSight  = 28.0 // metres
	botNear   = 5.0  // nearer enemies make them step back
	botFar    = 12.0 // farther enemies make them come closer
	botReacts = 0.35 // seconds until they react to an enemy who comes into sight
	botTurn   = 7.0  // radians a second at most
	botEase   = 0.2  // share of the rest of a turn that one tick makes
	botLooks  = 0.25 // radians that they look to either side while they run
	botLoose  = 0.12 // radians beside a body at which they still fire
	botBurst  = 24   // ticks of a burst, and of the pause after it
	botHurt   = 45   // health below which they look for a pack
	botDetour = 9.0  // metres that they go for a useful pack
	botCorner = 0.9  // metres before a low wall at which they jump
	botRocket = 0.35 // the share of the time in which they like the launcher better
	botSafe   = 4.5  // metres below which they fire no rocket
	botWide   = 16.0 // metres beyond which they take no launcher into the hands
	botBlade  = 0.5  // the share of the time in which they swing the blade at who is in its reach
	botShove  = 0.3  // the share in which they rather shove
	botPress  = 0.2  // the share in which they press the plate of a door in reach
)

// A bot's skill lies between these: the seconds by which its aim trails a moving enemy, and the
// radians by which its hand shakes.
const (
	quickHand, slowHand  = 0.12, 0.22
	steadyHand, wildHand = 0.06, 0.14
)

// Tags of the hashes, one for each mood.
const (
	tagSkill = 1 + iota
	tagStrafe
	tagJump
	tagCrouch
	tagBurst
	tagRoam
	tagHunt
	tagUnstuck
	tagWeapon
	tagBlade
	tagPress
	tagWobble // uses this tag and the next
)

// mood returns random numbers that stay the same for span ticks. Each bot begins its spans at
// another tick.
func mood(me game.ID, tag uint64, now game.Tick, span int) geom.Rand {
	return geom.NewRand(uint64(me), tag, (uint64(now)+uint64(me)*37)/uint64(span))
}

// Bot plays from what a player in its place would know.
func Bot(w *game.World, me game.ID) (c Cmd) {
	self, now := Players.Eye(w, me), w.Tick()
	p := &self
	if !p.Alive {
		c.Aim = p.Aim + geom.Angle(wobble(me, now)*0.02)
		return c
	}
	c.Aim = p.Aim
	g := groundSeen(w, me)
	enemy, sees := target(w, &g, me, p)
	var errand *goal
	if errand = packFor(w, p, sees); errand == nil && !sees {
		errand = roam(w, me, p)
	}
	switch {
	case errand != nil:
		c.Move = errand.way(p.Pos.XY(), p.Pos.Z)
	case sees:
		c.Move = duel(me, p, &enemy, now)
	}
	c.Weapon, c.Reload = weaponFor(me, p, &enemy, sees, now)
	if sees {
		c.Aim, c.Fire = aim(&g, me, p, &enemy, now)
		c.Swing, c.Shove = melee(me, p, &enemy, now)
		cr := mood(me, tagCrouch, now, 70)
		c.Crouch = errand == nil && cr.Chance(0.15)
		j := mood(me, tagJump, now, 50)
		c.Jump = errand == nil && j.Chance(0.15) && (uint64(now)+uint64(me)*37)%50 < 4
	} else if c.Move != (geom.Vec2{}) {
		c.Aim = turned(p.Aim, c.Move.Angle()+geom.Angle(float64(wobble(me, now)*botLooks)))
	}
	u := mood(me, tagPress, now, 240)
	c.Press = u.Chance(botPress) && (uint64(now)+uint64(me)*37)%240 < 2
	if c.Move != (geom.Vec2{}) {
		c.Move = g.around(p, c.Move)
		c.Jump = c.Jump || jumps(&g, p, c.Move)
		if u := mood(me, tagUnstuck, now, 20); p.Vel.XY().Len() < 0.5 && u.Chance(0.5) { // it is stuck
			c.Move = c.Move.Rotate(geom.Angle(u.Range(-1.5, 1.5)))
		}
	}
	return c
}

// weaponFor returns the weapon that a bot wants in its hands, and whether it reloads it. In a fight
// it rather takes the other weapon than reload.
func weaponFor(me game.ID, p, enemy *Player, sees bool, now game.Tick) (want int, reload bool) {
	want = Rifle
	near, wide := botSafe+2, botWide
	if p.Next == Launcher { // nobody changes weapons at every step
		near, wide = botSafe, botWide+4
	}
	far := enemy.Pos.Dist(p.Pos)
	if m := mood(me, tagWeapon, now, 300); m.Chance(botRocket) && (!sees || far > near && far < wide) {
		want = Launcher
	}
	other := Rifle + Launcher - want
	in, beside := p.rounds(want)
	more, left := p.rounds(other)
	if *in == 0 && (sees && *more > 0 || *beside == 0 && *more+*left > 0) {
		want, in, beside = other, more, left
	}
	return want, !sees && *in <= armoury[want].magazine/2 && *beside > 0
}

// short reports whether a pack of ammunition is of use now.
func short(p *Player) bool {
	return p.Spare < armoury[Rifle].start || p.Crate < armoury[Launcher].start
}

// target returns the enemy to fight: near, in front and in sight.
func target(w *game.World, g *ground, me game.ID, p *Player) (enemy Player, ok bool) {
	best, eye := botSight, muzzle(p)
	for _, o := range Players.Seen(w, me) {
		if !o.Alive {
			continue
		}
		way := o.Pos.XY().Sub(p.Pos.XY())
		off := float64(p.Aim.Diff(way.Angle()))
		cost := way.Len() + float64(4*max(off, -off))
		if cost < best && exposed(g, eye, &o) {
			best, enemy, ok = cost, o, true
		}
	}
	return enemy, ok
}

// exposed reports whether a bullet from eye can reach the body.
func exposed(g *ground, eye geom.Vec3, o *Player) bool {
	for _, share := range marks {
		if g.free(eye, o.Pos.Add(geom.Vec3{Z: float64(share * tall(o.Crouch))})) {
			return true
		}
	}
	return false
}

// aim turns towards the enemy as a hand does: late, at a limited speed, and never quite still. It
// fires in bursts once it points there, and a rocket at where the enemy will be.
func aim(g *ground, me game.ID, p *Player, enemy *Player, now game.Tick) (geom.Angle, bool) {
	skill := mood(me, tagSkill, 0, 1)
	lag, shake := skill.Range(quickHand, slowHand), skill.Range(steadyHand, wildHand)
	at := enemy.Pos.XY().Sub(enemy.Vel.XY().Mul(lag)).Sub(p.Pos.XY())
	point := enemy.Pos.XY().Sub(p.Pos.XY())
	if p.Weapon == Launcher {
		flies := enemy.Vel.XY().Mul(point.Len() / RocketSpeed)
		at, point = at.Add(flies), point.Add(flies)
	}
	aim := turned(p.Aim, at.Angle()+geom.Angle(float64(wobble(me, now)*shake)))

	off := float64(aim.Diff(point.Angle()))
	close := max(off, -off) < botLoose+Radius/max(at.Len(), Radius) && (p.Weapon == Rifle || at.Len() > botSafe)
	then := p.Pos.Sub(p.Vel.Mul(botReacts)).Add(geom.Vec3{Z: p.Gun})
	before := *enemy
	before.Pos = before.Pos.Sub(before.Vel.Mul(botReacts))
	burst := mood(me, tagBurst, now, botBurst)
	return aim, close && burst.Chance(0.45) && exposed(g, then, &before)
}

// melee reports whether a bot swings its blade at an enemy, or shoves it away.
func melee(me game.ID, p, enemy *Player, now game.Tick) (swings, shoves bool) {
	m := mood(me, tagBlade, now, 30)
	d := enemy.Pos.Dist(p.Pos)
	swings = m.Chance(botBlade) && d < SwingReach+Radius/2
	return swings, m.Chance(botShove) && !swings && d < ShoveRadius/2
}

// around returns where to go instead, if a door that is up is in the way: along it, to its nearer
// end.
func (g *ground) around(p *Player, move geom.Vec2) geom.Vec2 {
	ray := geom.Ray{From: p.Pos.XY(), Dir: move.Angle(), Len: 2 * botCorner}
	for i := range g.doors {
		if d := &g.doors[i]; d.Max.Z > p.Pos.Z+StepUp {
			if _, ok := ray.Rect(d.Floor().Expand(roomToWalk)); ok {
				side := geom.Vec2{X: 1}
				if p.Pos.X < d.Floor().Center().X {
					side = side.Neg()
				}
				return side.Mul(move.Len())
			}
		}
	}
	return move
}

// turned returns an aim one tick later, turned towards where it should point: fast at first, then
// slower.
func turned(aim, want geom.Angle) geom.Angle {
	const most = float64(botTurn) / Rate
	return (aim + geom.Angle(geom.Clamp(float64(float64(aim.Diff(want))*botEase), -most, most))).Norm()
}

// wobble is smooth noise in about [-1.5, 1.5]: a slow part and a quick one.
func wobble(me game.ID, now game.Tick) float64 {
	smooth := func(tag uint64, span int) float64 {
		at := func(d game.Tick) float64 {
			r := mood(me, tag, now+d, span)
			return r.Range(-1, 1)
		}
		u := float64((uint64(now)+uint64(me)*37)%uint64(span)) / float64(span)
		return geom.Lerp(at(0), at(game.Tick(span)), float64(u*u)*(3-2*u))
	}
	return smooth(tagWobble, 34) + float64(smooth(tagWobble+1, 11)/2)
}

// duel moves in a fight: to changing sides, and not too near or far.
func duel(me game.ID, p *Player, enemy *Player, now game.Tick) geom.Vec2 {
	way := enemy.Pos.XY().Sub(p.Pos.XY())
	ahead := way.Unit()
	s := mood(me, tagStrafe, now, 42)
	side := ahead.Perp()
	if s.Chance(0.5) {
		side = side.Neg()
	}
	move := side
	switch d := way.Len(); {
	case d > botFar:
		move = side.Mul(0.5).Add(ahead)
	case d < botNear:
		move = side.Sub(ahead)
	}
	move = move.Unit()
	if at := p.Pos.XY(); !passable(at, at.Add(move.Mul(1.2)), p.Pos.Z) { // a wall: go to the other side
		move = move.Sub(side.Mul(2 * move.Dot(side)))
		if !passable(at, at.Add(move.Mul(1.2)), p.Pos.Z) {
			move = ahead
		}
	}
	return move
}

// packFor returns the goal of a pack that is worth the way, or nil.
func packFor(w *game.World, p *Player, fights bool) (best *goal) {
	least := 0.0
	for _, k := range Packs.All(w) {
		reach := 0.0
		switch {
		case k.Pad >= len(pads):
			continue
		case k.Sort == HealthPack && p.Health < botHurt, k.Sort == AmmoPack && p.Ammo+p.Spare < armoury[Rifle].magazine/2:
			reach = Width
		case !fights && (k.Sort == HealthPack && p.Health < MaxHealth || k.Sort == AmmoPack && short(p)):
			reach = botDetour
		}
		if d := goals[k.Pad].from(p.Pos.XY()); reach-d > least {
			best, least = &goals[k.Pad], reach-d
		}
	}
	return best
}

// roam returns where to go if there is nothing better to do: towards the nearest enemy, or
// anywhere.
func roam(w *game.World, me game.ID, p *Player) *goal {
	now := w.Tick()
	if h := mood(me, tagHunt, now, 240); h.Chance(0.7) {
		at, least := geom.Vec2{}, float64(Width+Depth)
		for id, o := range Players.All(w) {
			if d := o.Pos.Dist(p.Pos); id != me && o.Alive && d < least {
				at, least = o.Pos.XY(), d
			}
		}
		if least < Width {
			best, near := &goals[0], float64(Width+Depth)
			for i := range goals[len(pads):] {
				g := &goals[len(pads)+i]
				if d := g.at.XY().Dist(at); d < near {
					best, near = g, d
				}
			}
			if best.from(p.Pos.XY()) > 2 {
				return best
			}
		}
	}
	r := mood(me, tagRoam, now, 300)
	return &goals[r.IntN(len(goals))]
}

// jumps reports whether the bot must jump to go on.
func jumps(g *ground, p *Player, move geom.Vec2) bool {
	if !g.carries(p) {
		return false
	}
	ray := geom.Ray{From: p.Pos.XY(), Dir: move.Angle(), Len: botCorner}
	for i := range boxes {
		if h := boxes[i].Max.Z; h > p.Pos.Z+StepUp && h <= p.Pos.Z+climbable {
			if _, ok := ray.Rect(boxes[i].Floor()); ok {
				return true
			}
		}
	}
	return false
}
