// Package kick is football with crates and a cart: two teams, one ball that everyone pushes, goals,
// a clock, and bots. It is a whole game about things that nobody owns: every client runs what its
// player may touch ahead, together with the player, by the same physics as the server.
//
//	go run ./examples/kick/cmd/kick --bots 7
//
// prints the address of the page; the number in its corner is the round trip. Add
// ?delayMs=75&lossPct=3 or ?profile=ocean to play on a worse network, ?bot to let the bot play.
//
// Axes: x to the right, y down the screen, in metres, from the centre spot. Angles run from +x
// towards +y.
package kick

import (
	"sync"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/geom/body"
)

// Numbers of the game. A second has Rate ticks.
const (
	Rate = 60

	MatchTicks  = 5 * 60 * Rate
	CheerTicks  = 3 * Rate // from a goal to the kick-off
	WaitTicks   = 1 * Rate // from the kick-off until players may move
	ResultTicks = 10 * Rate
	StuckTicks  = 7 * Rate // after which a ball between players who block each other is given up
	MaxGoals    = 99

	speed      = 6.5  // m/s of a player
	sprint     = 8.0  // m/s
	push       = 32.0 // m/s² from standing to running, and back
	turning    = 14.0 // radians a second that a player turns to where it runs
	kickSpeed  = 15.0 // m/s of a ball that was kicked
	kickAfter  = 15   // ticks from one kick to the next
	kickReach  = 0.45 // metres between player and ball from which a kick meets the ball
	kickAside  = 0.35 // how far a kick follows the way to the ball, compared with the aim
	takeReach  = 2.0  // metres from the middle of the cart from which a player gets on
	getOffSide = 1.2  // metres from the middle of the cart at which a rider gets off
	cartPush   = 10.0 // m/s² along the cart
	cartTurn   = 3.0  // radians a second at most
	cartSteer  = 5.0  // radians a second for each radian that is left to turn
	cartYield  = 18.0 // radians per second² by which its turning changes
	cartGrip   = 22.0 // m/s² by which its wheels stop sliding sideways
	joinNear   = 2.5  // metres beyond touching within which a client runs a thing ahead
	stuckNear  = 2.0  // metres within which a ball is stuck
	backwards  = 1.6  // a cart with more than this left to turn slows down for it
)

// Teams. Amber defends the goal on the left.
const (
	Amber = iota
	Blue
)

// Phases of a match.
const (
	Play = iota
	Cheer
	Result
)

// Player is an avatar. Its place is relative to the cart while it rides.
type Player struct {
	Pos  geom.Vec2  `net:"pos,others=1cm,draw=hermite"`
	Vel  geom.Vec2  `net:"vel,others=1cm/s"`
	Aim  geom.Angle `net:"angle,10bit,others=7bit"` // where it looks
	Cart game.ID    `net:"handle,parent"`           // what it rides, 0 when it walks
	Team int        `net:"enum,amber|blue"`
	Name string     `net:"text,12,ref"`

	Start game.Tick `net:"tick,to=owner"` // when it may move after a kick-off
	Ready game.Tick `net:"tick,to=owner"` // when it may kick again
	Used  bool      `net:"bool,to=owner"` // whether the last command pressed Use
}

// Ball is the ball. There is exactly one, since the first tick.
type Ball struct {
	Pos geom.Vec2 `net:"pos,others=1cm,draw=hermite"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`

	Amber game.ID   `net:"handle,server"` // the player of Amber who touched it last
	Blue  game.ID   `net:"handle,server"` // and of Blue
	Spot  geom.Vec2 `net:"pos,server"`    // a place, and since when the ball is near it
	Since game.Tick `net:"tick,server"`   //
}

// Crate stands in the way.
type Crate struct {
	Pos  geom.Vec2  `net:"pos,others=1cm,draw=hermite"`
	Vel  geom.Vec2  `net:"vel,others=1cm/s"`
	Turn geom.Angle `net:"angle,16bit,others=9bit"`
	Spin geom.Angle `net:"spin,others=4deg/s"`
}

// Cart carries one player, who drives it.
type Cart struct {
	Pos  geom.Vec2  `net:"pos,others=1cm,draw=hermite"`
	Vel  geom.Vec2  `net:"vel,others=1cm/s"`
	Turn geom.Angle `net:"angle,16bit,others=9bit"`
	Spin geom.Angle `net:"spin,others=4deg/s"`
	Gas  float64    `net:"float,0.05,0..1"` // what the driver wants: how fast
	Want geom.Angle `net:"angle,7bit"`      // and in which direction
}

// Match is the score and the clock. There is exactly one, since the first tick.
type Match struct {
	Amber int       `net:"int,0..99"`
	Blue  int       `net:"int,0..99"`
	Phase int       `net:"enum,play|cheer|result"`
	Start game.Tick `net:"tick"` // when players may move after the last or next kick-off
	Ends  game.Tick `net:"tick"` // when the match is over
}

// Kick is a kick that met the ball.
type Kick struct {
	At  geom.Vec2  `net:"pos,1cm"`
	Dir geom.Angle `net:"angle,7bit"`
}

// Goal is a goal for a team. By is its player who touched the ball last; if nobody of it did, that of
// the other team; or 0.
type Goal struct {
	Team int       `net:"enum,amber|blue"`
	By   game.ID   `net:"handle"`
	At   geom.Vec2 `net:"pos,1cm"`
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move   geom.Vec2  `net:"stick,5bit"`
	Aim    geom.Angle `net:"angle,8bit"` // where a kick goes
	Kick   bool       `net:"press"`      // while held, the player kicks as soon as the ball is near
	Use    bool       `net:"press"`      // gets on the cart, and off
	Sprint bool       `net:"bool"`
}

// The game, its kinds and its events.
var (
	Players = game.NewKind[Player]("player", game.Near(joinNear))
	Balls   = game.NewKind[Ball]("ball", game.Predicted)
	Crates  = game.NewKind[Crate]("crate", game.Near(joinNear))
	Carts   = game.NewKind[Cart]("cart", game.Near(joinNear))
	Matches = game.NewKind[Match]("match")
	Kicks   = game.NewEvent[Kick]("kick")
	Goals   = game.NewUrgentEvent[Goal]("goal")

	Game = game.Definition[Cmd]{
		Name: "kick", Rate: Rate, Send: 20,
		Kinds: game.Kinds(Players, Balls, Crates, Carts, Matches), Events: game.Events(Kicks, Goals),
		Static: fieldHash(),
		Join:   join, Act: act, Step: step, Referee: referee, Bot: Bot,
	}
)

// act runs one command of one player: at once in the player's browser, for good on the server. It
// only says what the player wants; step moves everything.
func act(w *game.World, me game.ID, c Cmd) {
	p := Players.Get(w, me)
	use := c.Use && !p.Used
	p.Used = c.Use
	if w.Tick() < p.Start {
		c, use = Cmd{}, false
	}
	if use {
		getOnOrOff(w, p)
	}
	if p.Cart != 0 {
		drive(Carts.Get(w, p.Cart), c)
		return
	}
	most := speed
	if c.Sprint {
		most = sprint
	}
	p.Vel = p.Vel.Toward(c.Move.Mul(most), float64(push*w.Dt()))
	if c.Move != (geom.Vec2{}) {
		p.Aim = p.Aim.Toward(c.Move.Angle(), geom.Angle(float64(turning*w.Dt())))
	}
	if c.Kick && w.Tick() >= p.Ready {
		kick(w, me, p, c.Aim)
	}
}

// kick sends the ball where the player aims, and a little away from the player.
func kick(w *game.World, me game.ID, p *Player, aim geom.Angle) {
	for _, b := range Balls.All(w) {
		way := b.Pos.Sub(p.Pos)
		if way.Len() > PlayerRadius+BallRadius+kickReach {
			continue
		}
		dir := aim.Dir().Add(way.Unit().Mul(kickAside)).Unit()
		b.Vel = dir.Mul(kickSpeed)
		b.touched(me, p.Team)
		p.Ready, p.Aim = w.Tick()+kickAfter, aim
		Kicks.Emit(w, me, b.Pos, Kick{b.Pos, dir.Angle()}) // everyone sees it once, the player at once
	}
}

// getOnOrOff puts a player onto the nearest free cart within reach, or from its cart onto the
// ground.
func getOnOrOff(w *game.World, p *Player) {
	if p.Cart != 0 {
		cart := Carts.Get(w, p.Cart)
		cart.Gas = 0
		p.Pos, p.Vel, p.Cart = besides(cart), cart.Vel, 0
		return
	}
	best := takeReach
	for id, cart := range Carts.All(w) {
		if d := cart.Pos.Dist(p.Pos); d < best && rider(w, id) == 0 {
			best, p.Cart = d, id
		}
	}
	if p.Cart != 0 {
		p.Pos, p.Vel = geom.Vec2{}, geom.Vec2{}
	}
}

// besides returns a free place on the ground beside a cart.
func besides(cart *Cart) geom.Vec2 {
	side := cart.Turn.Dir().Perp().Mul(getOffSide)
	if at := cart.Pos.Add(side); !blocked(cart.Pos, at) {
		return at
	}
	if at := cart.Pos.Sub(side); !blocked(cart.Pos, at) {
		return at
	}
	return cart.Pos
}

// rider returns who rides a cart, or 0.
func rider(w *game.World, cart game.ID) game.ID {
	for id, p := range Players.All(w) {
		if p.Cart == cart {
			return id
		}
	}
	return 0
}

// drive writes down what the driver wants. Clients of others know it too, and so run the cart ahead
// as its driver does.
func drive(cart *Cart, c Cmd) {
	if cart.Gas = min(c.Move.Len(), 1); cart.Gas > 0 {
		cart.Want = c.Move.Angle()
	}
}

// roll turns what a driver wants into movement: wheels do not slide sideways, and the cart turns
// while it drives.
func roll(c *Cart, dt float64) (accel geom.Vec2) {
	ahead := c.Turn.Dir()
	along := ahead.Mul(ahead.Dot(c.Vel))
	c.Vel = along.Add(c.Vel.Sub(along).Toward(geom.Vec2{}, float64(cartGrip*dt)))
	if c.Gas == 0 {
		return geom.Vec2{}
	}
	left := float64(c.Turn.Diff(c.Want))
	spin := geom.Clamp(float64(left*cartSteer), -cartTurn, cartTurn)
	yield := float64(cartYield * dt)
	c.Spin += geom.Angle(geom.Clamp(spin-float64(c.Spin), -yield, yield))
	gas := c.Gas
	if left > backwards || left < -backwards {
		gas = float64(gas * 0.4)
	}
	return ahead.Mul(float64(gas * cartPush))
}

// scenes lends the memory of a step. Many worlds may run at once, and a scene that was reset has
// nothing of the world before.
var scenes = sync.Pool{New: func() any { return new(body.Scene) }}

// step moves everything, on both sides. A client passes what it knows; what it does not run ahead
// stays where its newest record says.
func step(w *game.World) {
	s := scenes.Get().(*body.Scene)
	s.Reset()
	defer scenes.Put(s)
	s.Walls, s.Surface = walls, boards
	for id, p := range Players.All(w) {
		if p.Cart == 0 {
			s.Add(body.Body{Build: playerBuild, ID: uint32(id), Pos: p.Pos, Vel: p.Vel})
		}
	}
	balls := len(s.Bodies)
	for id, b := range Balls.All(w) {
		s.Add(body.Body{Build: ballBuild, ID: uint32(id), Pos: b.Pos, Vel: b.Vel})
	}
	crates := len(s.Bodies)
	for id, c := range Crates.All(w) {
		s.Add(body.Body{Build: crateBuild, ID: uint32(id), Pos: c.Pos, Vel: c.Vel, Angle: c.Turn, Spin: c.Spin})
	}
	carts := len(s.Bodies)
	for id, c := range Carts.All(w) {
		if c.Gas > 0 && rider(w, id) == 0 {
			c.Gas = 0 // its driver has left
		}
		accel, build := roll(c, w.Dt()), &cartBuild
		if c.Gas == 0 {
			build = &parkedBuild
		}
		s.Add(body.Body{Build: *build, ID: uint32(id), Pos: c.Pos, Vel: c.Vel, Angle: c.Turn, Spin: c.Spin, Accel: accel})
	}
	for _, b := range nets {
		s.Add(b)
	}
	s.Step(w.Dt())
	for i, b := range s.Bodies {
		switch id := game.ID(b.ID); {
		case i < balls:
			p := Players.Get(w, id)
			p.Pos, p.Vel = b.Pos, b.Vel
		case i < crates:
			ball := Balls.Get(w, id)
			ball.Pos, ball.Vel = b.Pos, b.Vel
		case i < carts:
			c := Crates.Get(w, id)
			c.Pos, c.Vel, c.Turn, c.Spin = b.Pos, b.Vel, b.Angle, b.Spin
		case Carts.Has(w, id):
			c := Carts.Get(w, id)
			c.Pos, c.Vel, c.Turn, c.Spin = b.Pos, b.Vel, b.Angle, b.Spin
		}
	}
	touch(w, s)
}

// touch notes who touched the ball last.
func touch(w *game.World, s *body.Scene) {
	for _, t := range s.Touches {
		if t.B < 0 {
			continue
		}
		a, b := game.ID(s.Bodies[t.A].ID), game.ID(s.Bodies[t.B].ID)
		if Balls.Has(w, a) {
			a, b = b, a
		}
		if !Balls.Has(w, b) {
			continue
		}
		if Carts.Has(w, a) {
			a = rider(w, a)
		}
		if Players.Has(w, a) {
			Balls.Get(w, b).touched(a, Players.Get(w, a).Team)
		}
	}
}

// touched notes who of a team touched the ball last.
func (b *Ball) touched(by game.ID, team int) {
	if team == Amber {
		b.Amber = by
	} else {
		b.Blue = by
	}
}
