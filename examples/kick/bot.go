package kick

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the bots. Bots remember nothing: they decide by what a player in their place knows
// now, and by hashes of their ID and the time, which give each bot changing moods.
const (
	botAhead   = 0.7 // seconds at most by which they foresee the ball
	botBehind  = 0.9 // metres behind the ball from which they run at it
	botAside   = 1.4 // metres by which they run around the ball
	botAimed   = 0.5 // cosine of the angle between shot and way to the ball from which they kick
	botStuck   = 1.5 // m/s below which a ball at the boards may be stuck: then they kick it anyhow
	botMiss    = 1.8 // metres to either side of the middle of the goal where they aim
	botKeep    = 2.2 // metres in front of the goal where a keeper waits
	botLeave   = 5.5 // metres between ball and goal within which a keeper goes for the ball
	botAvoid   = 1.7 // metres around a crate or a cart that they keep clear of
	botRide    = 9.0 // metres that they go for a free cart, when in the mood
	botMood    = 10 * Rate
	botSprints = 4.0 // metres from which they sprint
)

// botSafe is where no boards are near.
var botSafe = geom.Rect{Min: geom.Vec2{X: -13.8, Y: -7.8}, Max: geom.Vec2{X: 13.8, Y: 7.8}}

// Bot plays from what a player in its place would know: the nearest of a team goes for the ball,
// one keeps the goal, the others look for space, and now and then one takes the cart.
func Bot(w *game.World, me game.ID) (c Cmd) {
	p := Players.Get(w, me)
	var ball *Ball
	for _, b := range Balls.All(w) {
		ball = b
	}
	if ball == nil {
		return c
	}
	mood := geom.NewRand(uint64(me), uint64(w.Tick()/botMood))
	if p.Cart != 0 {
		return botDrive(w, p, ball, mood.Chance(0.6))
	}
	at := ball.Pos.Add(ball.Vel.Mul(geom.Clamp(ball.Pos.Dist(p.Pos)/speed, 0, botAhead)))
	keeper, first := botRole(w, me, p, at)
	goal, own := goalLine(1-p.Team), goalLine(p.Team)
	shot := goal.Add(geom.Vec2{Y: mood.Range(-botMiss, botMiss)}).Sub(at).Unit()
	var target geom.Vec2
	switch cart := botCart(w, p); {
	case cart != nil && !keeper && !first && mood.Chance(0.3):
		target = cart.Pos
		c.Use = cart.Pos.Dist(p.Pos) < takeReach && w.Tick()%16 == 0
	case keeper && at.Dist(own) > botLeave:
		target = own.Add(at.Sub(own).Unit().Mul(botKeep))
	case first || keeper:
		target = botChase(p, at, shot)
	default:
		target = botSupport(p, at, own, goal, &mood)
	}
	way := target.Sub(p.Pos)
	c.Sprint = way.Len() > botSprints
	c.Move = botSteer(w, p, way.Limit(1))
	to := ball.Pos.Sub(p.Pos)
	c.Aim = shot.Mul(1 + kickAside).Sub(to.Unit().Mul(kickAside)).Angle()
	aimed := to.Unit().Dot(shot) > botAimed
	if !aimed && ball.Vel.Len() < botStuck && !botSafe.Contains(ball.Pos) {
		r := geom.NewRand(uint64(me), uint64(w.Tick()))
		aimed, c.Aim = true, r.Angle()
	}
	c.Kick = aimed && to.Len() < PlayerRadius+BallRadius+kickReach
	return c
}

// botRole reports whether a bot keeps its team's goal, and whether it is the nearest of the others
// to a place.
func botRole(w *game.World, me game.ID, p *Player, at geom.Vec2) (keeper, first bool) {
	team, keep := 0, game.ID(0)
	for id, o := range Players.All(w) {
		if o.Team == p.Team {
			if team++; keep == 0 {
				keep = id
			}
		}
	}
	if team > 2 && keep == me {
		return true, false
	}
	mine := p.Pos.Dist(at)
	for id, o := range Players.All(w) {
		if id != me && o.Team == p.Team && o.Cart == 0 && (team <= 2 || id != keep) && o.Pos.Dist(at) < mine {
			return false, false
		}
	}
	return false, true
}

// botCart returns a free cart that is near, or nil.
func botCart(w *game.World, p *Player) *Cart {
	for id, c := range Carts.All(w) {
		if c.Pos.Dist(p.Pos) < botRide && rider(w, id) == 0 {
			return c
		}
	}
	return nil
}

// botChase returns where to run to send the ball at a place along shot: through the ball from
// behind it, otherwise around it.
func botChase(p *Player, at, shot geom.Vec2) geom.Vec2 {
	to := at.Sub(p.Pos)
	if to.Unit().Dot(shot) > botAimed {
		return at.Add(shot.Mul(0.3))
	}
	behind := at.Sub(shot.Mul(botBehind))
	if to.Dot(shot) > 0 {
		return behind
	}
	side := shot.Perp().Mul(botAside)
	if to.Cross(shot) < 0 {
		side = side.Neg()
	}
	return behind.Sub(side)
}

// botSupport returns a place to wait for the ball: some towards the own goal, some ahead.
func botSupport(p *Player, at, own, goal geom.Vec2, mood *geom.Rand) geom.Vec2 {
	base := own
	if mood.Chance(0.5) {
		base = goal
	}
	side := mood.Range(-1, 1)
	place := at.Lerp(base, 0.45)
	place.Y += float64(side * 5)
	return geom.Rect{Min: geom.Vec2{X: -12, Y: -7}, Max: geom.Vec2{X: 12, Y: 7}}.Clamp(place)
}

// botSteer bends a stick around crates and carts that are in the way.
func botSteer(w *game.World, p *Player, stick geom.Vec2) geom.Vec2 {
	for _, c := range Crates.All(w) {
		stick = botPass(p, stick, c.Pos)
	}
	for _, c := range Carts.All(w) {
		stick = botPass(p, stick, c.Pos)
	}
	return stick.Limit(1)
}

func botPass(p *Player, stick, thing geom.Vec2) geom.Vec2 {
	to := thing.Sub(p.Pos)
	if d := to.Len(); d > botAvoid || to.Dot(stick) <= 0 || d == 0 {
		return stick
	}
	side := to.Unit().Perp()
	if side.Dot(stick) < 0 {
		side = side.Neg()
	}
	return stick.Along(to.Unit()).Add(side.Mul(0.3))
}

// botDrive drives at the ball from the side of its own goal, for as long as the mood lasts.
func botDrive(w *game.World, p *Player, ball *Ball, stay bool) (c Cmd) {
	at := Carts.Get(w, p.Cart).Pos
	shot := goalLine(1 - p.Team).Sub(ball.Pos).Unit()
	target := ball.Pos
	if ball.Pos.Sub(at).Unit().Dot(shot) < 0 {
		target = ball.Pos.Sub(shot.Mul(4))
	}
	c.Move = target.Sub(at).Limit(1)
	c.Use = !stay && w.Tick()%16 == 0
	return c
}
