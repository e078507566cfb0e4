package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// How well bots play. Players vote on it.
const (
	Novice = iota
	Regular
	Expert
)

// Numbers of the bots. Bots remember nothing. They decide by what a player in their place would
// know now, and by hashes of their ID and the time, which give each bot changing moods.
const (
	botSight  = 28.0 // metres
	botNear   = 5.0  // nearer enemies make them step back
	botFar    = 12.0 // farther enemies make them come closer
	botTaste  = 5.0  // metres by which they prefer one enemy to another for no reason
	botCrowd  = 7.0  // metres more that a fight is away for each other bot in it
	botEase   = 0.2  // share of the rest of a turn that one tick makes
	botLooks  = 0.25 // radians that they look to either side while they run
	botBurst  = 24   // ticks of a burst, and of the pause after it
	botHurt   = 45   // health below which they look for a pack, or for cover
	botDetour = 9.0  // metres that they go for a useful pack
	botCorner = 0.9  // metres before a low wall at which they jump
	botRocket = 0.35 // the share of the time in which they like the launcher better
	botSafe   = 4.5  // metres below which they fire no rocket at a body or a wall
	botWide   = 16.0 // metres beyond which they take no launcher into the hands
	botBlade  = 0.5  // the share of the time in which they swing the blade at who is in its reach
	botShove  = 0.3  // the share in which they rather shove
	botPress  = 0.2  // the share in which they press the plate of a door in reach
	botHunts  = 0.6  // the share of the time in which they look for an enemy
	botPads   = 0.5  // the share of their walks that lead to where packs appear
	botTravel = 0.4  // the share of the time in which they look for a platform
	botRide   = 0.6  // the share of the crossings on which they go along
	botDock   = 6.0  // metres from the middle of a platform from which they step onto it
)

// A hand is how well one bot plays.
type hand struct {
	reacts   float64 // seconds until it reacts to an enemy who comes into sight
	turn     float64 // radians a second at most
	lag      float64 // seconds by which its aim trails a moving enemy
	shake    float64 // radians by which it shakes
	loose    float64 // radians beside a body at which it still fires
	burst    float64 // the share of the time in which it fires
	cautious float64 // the share in which it takes cover when it had better
}

// handOf returns the hand of a bot: of bots of one skill some are better than others.
func handOf(w *game.World, me game.ID) hand {
	skill := Regular
	for _, r := range Rounds.All(w) {
		skill = r.Skill
	}
	own := mood(me, tagSkill, 0, 1)
	t := geom.Clamp(float64(0.5*float64(skill))+own.Range(-0.15, 0.15), 0, 1)
	return hand{
		reacts: geom.Lerp(0.55, 0.15, t), turn: geom.Lerp(4.5, 9.5, t),
		lag: geom.Lerp(0.32, 0.04, t), shake: geom.Lerp(0.24, 0.02, t), loose: geom.Lerp(0.2, 0.06, t),
		burst: geom.Lerp(0.3, 0.6, t), cautious: geom.Lerp(0.3, 0.9, t),
	}
}

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
	tagTaste
	tagCover
	tagRide
	tagWobble // uses this tag and the next
)

// mood returns random numbers that stay the same for span ticks. Each bot begins its spans at
// another tick.
func mood(me game.ID, tag uint64, now game.Tick, span int) geom.Rand {
	return geom.NewRand(uint64(me), tag, (uint64(now)+uint64(me)*37)/uint64(span))
}

// Bot plays from what a player in its place would know.
func Bot(w *game.World, me game.ID) (c Cmd) {
	self, now := eyeOf(w, me), w.Tick()
	p := &self
	if !p.Alive {
		c.Aim = p.Aim + geom.Angle(wobble(me, now)*0.02)
		return c
	}
	c.Aim = p.Aim
	g, h := groundSeen(w, me), handOf(w, me)
	enemy, sees := target(w, &g, me, p)
	c.Move, c.Crouch = moves(w, &g, me, p, &enemy, sees, &h)
	c.Weapon, c.Reload = weaponFor(me, p, &enemy, sees, now)
	if sees {
		c.Aim, c.Fire = h.aim(&g, me, p, &enemy, now)
		c.Swing, c.Shove = melee(me, p, &enemy, now)
		j := mood(me, tagJump, now, 50)
		c.Jump = j.Chance(0.15) && (uint64(now)+uint64(me)*37)%50 < 4
	} else if c.Move != (geom.Vec2{}) {
		c.Aim = turned(p.Aim, c.Move.Angle()+geom.Angle(float64(wobble(me, now)*botLooks)), h.turn)
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

// moves returns where a bot runs: for a pack that it needs, out of sight when it had better not be
// seen, around its enemy, or to where others may be.
func moves(w *game.World, g *ground, me game.ID, p, enemy *Player, sees bool, h *hand) (way geom.Vec2, crouch bool) {
	now := w.Tick()
	errand := packFor(w, g.level, p, sees)
	if errand == nil {
		if way, rides := crossing(w, g, me, p, sees); rides {
			return way, false
		}
	}
	if errand == nil && sees {
		in, _ := p.rounds(p.Weapon)
		if m := mood(me, tagCover, now, 90); (p.Health < botHurt || p.Doing == Reload || *in == 0) && m.Chance(h.cautious) {
			if way, ok := hide(g, me, p, enemy, now); ok {
				return way, false
			}
		}
		cr := mood(me, tagCrouch, now, 70)
		return duel(g.level, me, p, enemy, now), cr.Chance(0.15)
	}
	if errand == nil {
		errand = roam(w, g.level, me, p)
	}
	if way = errand.way(p.Pos.XY(), p.Pos.Z); way == (geom.Vec2{}) { // it is there: nobody stands still
		pace := mood(me, tagStrafe, now, 50)
		way = pace.Disc(1)
	}
	return way, p.Doing == Reload && !sees // it goes on slowly until it has done
}

// hide returns the way to the nearest place beside a bot that its enemy does not see.
func hide(g *ground, me game.ID, p, enemy *Player, now game.Tick) (way geom.Vec2, ok bool) {
	m := mood(me, tagCover, now, 90)
	first, eye := m.Angle(), muzzle(enemy)
	for _, far := range [...]float64{1.5, 3, 5} {
		for i := range 8 {
			dir := (first + geom.Angle(float64(i)*float64(geom.Pi/4))).Dir()
			at := p.Pos.XY().Add(dir.Mul(far))
			if !field.Contains(at) || g.blocked(at, p.Pos.Z) || !g.passable(p.Pos.XY(), at, p.Pos.Z) {
				continue
			}
			if !exposed(g, eye, &Player{Pos: at.At(g.floorAt(at, p.Pos.Z, Radius))}) {
				return dir, true
			}
		}
	}
	return way, false
}

// crossing returns how a bot steps onto a platform that waits, and stays on it, also in a fight.
func crossing(w *game.World, g *ground, me game.ID, p *Player, fights bool) (way geom.Vec2, rides bool) {
	on, now := Players.Eye(w, me).On, w.Tick()
	for i := range g.tracks {
		d, k := &g.platforms[i], &g.tracks[i]
		m, pace := geom.NewRand(uint64(me), tagRide, uint64(k.crossing(now))), mood(me, tagStrafe, now, 50)
		stays := k.moves(now) || m.Chance(botRide)
		switch end := k.end(p.Pos); {
		case d.id == 0 || !stays:
		case d.id == on: // it walks about
			return d.at.XY().Add(pace.Disc(1.2)).Sub(p.Pos.XY()).Limit(1).Mul(0.6), true
		case fights || p.Pos.Z < end.Z-hair || p.Pos.XY().Dist(end.XY()) > botDock:
		case !k.moves(now) && d.at.Dist(end) < 1:
			return toward(p.Pos.XY(), end.XY()), true
		}
	}
	return way, false
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
	best, eye := botSight+botTaste, muzzle(p)
	for id, o := range Players.Seen(w, me) {
		if !o.Alive {
			continue
		}
		o = seen(w, me, o)
		taste := geom.NewRand(uint64(me), tagTaste, uint64(id))
		way := o.Pos.XY().Sub(p.Pos.XY())
		off := float64(p.Aim.Diff(way.Angle()))
		cost := way.Len() + float64(4*max(off, -off)) + taste.Range(0, botTaste)
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
func (h *hand) aim(g *ground, me game.ID, p *Player, enemy *Player, now game.Tick) (geom.Angle, bool) {
	at := enemy.Pos.XY().Sub(enemy.Vel.XY().Mul(h.lag)).Sub(p.Pos.XY())
	point := enemy.Pos.XY().Sub(p.Pos.XY())
	if p.Weapon == Launcher {
		flies := enemy.Vel.XY().Mul(point.Len() / RocketSpeed)
		at, point = at.Add(flies), point.Add(flies)
	}
	aim := turned(p.Aim, at.Angle()+geom.Angle(float64(wobble(me, now)*h.shake)), h.turn)

	off := float64(aim.Diff(point.Angle()))
	close := max(off, -off) < h.loose+Radius/max(at.Len(), Radius)
	if p.Weapon == Launcher { // it must fly out of the reach of its own blast
		way := geom.Ray3{From: muzzle(p), Dir: course(muzzle(p), aim), Len: botSafe}
		close = close && at.Len() > botSafe && g.reach(way) == way.Len
	}
	then := p.Pos.Sub(p.Vel.Mul(h.reacts)).Add(geom.Vec3{Z: p.Gun})
	before := *enemy
	before.Pos = before.Pos.Sub(before.Vel.Mul(h.reacts))
	burst := mood(me, tagBurst, now, botBurst)
	return aim, close && burst.Chance(h.burst) && exposed(g, then, &before)
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
func turned(aim, want geom.Angle, speed float64) geom.Angle {
	most := speed / Rate
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
func duel(l *level, me game.ID, p *Player, enemy *Player, now game.Tick) geom.Vec2 {
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
	if at := p.Pos.XY(); !l.passable(at, at.Add(move.Mul(1.2)), p.Pos.Z) { // a wall: go to the other side
		move = move.Sub(side.Mul(2 * move.Dot(side)))
		if !l.passable(at, at.Add(move.Mul(1.2)), p.Pos.Z) {
			move = ahead
		}
	}
	return move
}

// packFor returns the goal of a pack that is worth the way, or nil.
func packFor(w *game.World, l *level, p *Player, fights bool) (best *goal) {
	goals := l.chart().goals
	least := 0.0
	for _, k := range Packs.All(w) {
		reach := 0.0
		switch {
		case k.Pad >= len(l.pads):
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

// roam returns where to go if there is nothing better to do: towards an enemy, or anywhere.
func roam(w *game.World, l *level, me game.ID, p *Player) *goal {
	now, goals := w.Tick(), l.chart().goals
	if wants := mood(me, tagRide, now, 900); wants.Chance(botTravel) {
		if g := l.pier(p.Pos); g != nil {
			return g
		}
	}
	if h := mood(me, tagHunt, now, 240); h.Chance(botHunts) {
		if at, ok := prey(w, me, p); ok {
			best, near := &goals[0], float64(Width+Depth)
			for i := range goals[len(l.pads):] {
				g := &goals[len(l.pads)+i]
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
	goal := &goals[r.IntN(len(goals))]
	if r.Chance(botPads) {
		goal = &goals[r.IntN(len(l.pads))]
	}
	return goal
}

// pier returns the high goal nearest to where somebody can board a platform, or nil.
func (l *level) pier(from geom.Vec3) (best *goal) {
	goals := l.chart().goals
	least := float64(Width + Depth)
	for i := range l.tracks {
		end := l.tracks[i].end(from)
		for n := range l.pads {
			if d := goals[n].at.Dist(end) + from.Dist(end); goals[n].at.Z >= end.Z && d < least {
				best, least = &goals[n], d
			}
		}
	}
	return best
}

// prey returns where the enemy is that a bot goes for: of those that are near and that it likes, the
// one with the fewest others around.
func prey(w *game.World, me game.ID, p *Player) (at geom.Vec2, ok bool) {
	type choice struct {
		id   game.ID
		at   geom.Vec2
		cost float64
	}
	var best [3]choice // the cheapest first
	for id, o := range Players.All(w) {
		if id == me || !o.Alive {
			continue
		}
		there := place(w, o).XY()
		taste := geom.NewRand(uint64(me), tagTaste, uint64(id), uint64(w.Tick())/600)
		c := choice{id, there, there.Dist(p.Pos.XY()) * taste.Range(0.6, 1.6)}
		for i := range best {
			if best[i].id == 0 || c.cost < best[i].cost {
				best[i], c = c, best[i]
			}
			if c.id == 0 {
				break
			}
		}
	}
	for id, o := range Players.All(w) {
		for i := range best {
			if k := &best[i]; id != me && id != k.id && o.Alive && place(w, o).XY().Dist(k.at) < botCrowd {
				k.cost += botCrowd
			}
		}
	}
	least := 0.0
	for _, k := range best {
		if k.id != 0 && (!ok || k.cost < least) {
			at, least, ok = k.at, k.cost, true
		}
	}
	return at, ok
}

// jumps reports whether the bot must jump to go on.
func jumps(g *ground, p *Player, move geom.Vec2) bool {
	if !g.carries(p) {
		return false
	}
	ray := geom.Ray{From: p.Pos.XY(), Dir: move.Angle(), Len: botCorner}
	for i := range g.boxes {
		if h := g.boxes[i].Max.Z; h > p.Pos.Z+StepUp && h <= p.Pos.Z+climbable {
			// Along an edge rounding can turn the ray out of the wall, and a body does not slide off there.
			if _, ok := ray.Rect(g.boxes[i].Floor().Expand(hair)); ok {
				return true
			}
		}
	}
	return false
}
