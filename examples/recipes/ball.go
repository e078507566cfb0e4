package recipes

import (
	"meanwhile/game"
	"meanwhile/geom"
)

const (
	touch   = 1.1 // metres between the middles of a ball and a kicker that touch
	reach   = 1.6 // and of those within which a kick meets the ball
	ahead   = 3.0 // metres beyond touching within which a client runs other kickers ahead
	pause   = 15  // ticks from one kick to the next
	pitchW  = 30.0
	pitchH  = 20.0
	goalTop = 13.0 // a goal is from 7 to 13 m on each short side
)

// Kicker is an avatar, which pushes the ball by running into it.
type Kicker struct {
	Pos   geom.Vec2 `net:"pos,others=1cm,draw=hermite"`
	Vel   geom.Vec2 `net:"vel,others=1cm/s"`
	Team  int       `net:"enum,west|east"` // whose goal it defends
	Ready game.Tick `net:"tick,to=owner"`  // when it may kick again
}

// Ball is what both teams want in the other's goal.
type Ball struct {
	Pos  geom.Vec2 `net:"pos,1mm"`
	Vel  geom.Vec2 `net:"vel,1mm/s"`
	West int       `net:"int,0..99"` // goals on that side
	East int       `net:"int,0..99"`
}

// Run is what a player wants in one tick.
type Run struct {
	Move geom.Vec2  `net:"stick"`
	Aim  geom.Angle `net:"angle,8bit"`
	Kick bool       `net:"press"`
}

// Kick is a kick that met the ball.
type Kick struct {
	At geom.Vec2 `net:"pos,1cm"`
}

var (
	Kickers = game.NewKind[Kicker]("kicker", game.Near(ahead))
	Balls   = game.NewKind[Ball]("ball", game.Predicted)
	Kicks   = game.NewEvent[Kick]("kick")

	pitch  = geom.Rect{Max: geom.Vec2{X: pitchW, Y: pitchH}}
	inner  = pitch.Expand(-1.2) // where the ball rolls: players get behind it everywhere
	middle = pitch.Center()

	Football = game.Definition[Run]{
		Name: "football", Rate: 30,
		Kinds: game.Kinds(Kickers, Balls), Events: game.Events(Kicks),
		Join: enter, Act: run, Step: roll, Referee: whistle, Bot: Chase,
	}
)

func enter(w *game.World, name string) game.ID {
	return Kickers.Spawn(w, Kicker{Pos: pitch.Random(w.Rand()), Team: Kickers.Len(w) % 2})
}

// run moves a kicker, and lets it kick where it aims: at once in the player's browser, as the ball
// is predicted.
func run(w *game.World, me game.ID, c Run) {
	k := Kickers.Get(w, me)
	k.Vel = k.Vel.Toward(c.Move.Mul(8), 60*w.Dt())
	k.Pos = pitch.Clamp(k.Pos.Add(k.Vel.Mul(w.Dt())))
	for _, b := range Balls.All(w) {
		if c.Kick && w.Tick() >= k.Ready && k.Pos.Dist(b.Pos) < reach && !scored(b.Pos) {
			b.Vel, k.Ready = c.Aim.Dir().Mul(15), w.Tick()+pause
			Kicks.Emit(w, me, b.Pos, Kick{b.Pos})
		}
	}
}

// roll moves the ball on, pushed by all who touch it, slower and slower, and turns it back at the
// sides.
func roll(w *game.World) {
	for _, b := range Balls.All(w) {
		if scored(b.Pos) {
			continue
		}
		for _, k := range Kickers.All(w) {
			way := b.Pos.Sub(k.Pos)
			if way.Len() >= touch {
				continue
			}
			b.Pos = k.Pos.Add(way.Unit().Mul(touch))
			if faster := k.Vel.Sub(b.Vel).Dot(way.Unit()); faster > 0 { // it runs into the ball
				b.Vel = b.Vel.Add(way.Unit().Mul(1.2 * faster))
			}
		}
		b.Vel = b.Vel.Toward(geom.Vec2{}, 3*w.Dt())
		to := b.Pos.Add(b.Vel.Mul(w.Dt()))
		if b.Pos = inner.Clamp(to); b.Pos.X != to.X {
			b.Vel.X = -b.Vel.X
		}
		if b.Pos.Y != to.Y {
			b.Vel.Y = -b.Vel.Y
		}
	}
}

// scored reports whether a ball lies in a goal. Nobody moves it there: clients do not know yet that
// the server counts a goal.
func scored(ball geom.Vec2) bool {
	return (ball.X == inner.Min.X || ball.X == inner.Max.X) && ball.Y >= pitchH-goalTop && ball.Y <= goalTop
}

// whistle puts the ball into the middle at first, and after each goal: on the server alone.
func whistle(w *game.World) {
	if Balls.Len(w) == 0 {
		Balls.Spawn(w, Ball{Pos: middle})
	}
	for id, b := range Balls.All(w) {
		if !scored(b.Pos) {
			continue
		}
		if b.Pos.X > middle.X {
			b.East = min(b.East+1, 99)
		} else {
			b.West = min(b.West+1, 99)
		}
		b.Pos, b.Vel = middle, geom.Vec2{}
		w.Cut(id) // a teleport: nobody draws it as a slide
	}
}

// Chase is a bot: it runs to where the ball lies between it and the others' goal, then on, and kicks.
func Chase(w *game.World, me game.ID) (c Run) {
	k := Kickers.Eye(w, me)
	at, goal := k.Pos, geom.Vec2{X: pitchW, Y: pitchH / 2}
	if k.Team == 1 {
		goal.X = 0
	}
	for _, b := range Balls.All(w) {
		way := goal.Sub(b.Pos).Unit()
		behind := b.Pos.Sub(way.Mul(2))
		if c.Move = b.Pos.Sub(at).Unit(); c.Move.Dot(way) < 0.8 {
			c.Move = behind.Sub(at).Unit()
		}
		c.Aim, c.Kick = way.Angle(), at.Dist(b.Pos) < reach && c.Move.Dot(way) > 0.8
	}
	return c
}
