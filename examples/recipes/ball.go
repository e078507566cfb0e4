package recipes

import (
	"meanwhile/game"
	"meanwhile/geom"
)

const (
	touch   = 1.1 // metres between the middles of a ball and a kicker that touch
	pitchW  = 30.0
	pitchH  = 20.0
	goalTop = 13.0 // a goal is from 7 to 13 m on each short side
)

// Kicker is an avatar, which pushes the ball by running into it.
type Kicker struct {
	Pos geom.Vec2 `net:"pos,others=1cm,draw=hermite"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
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
	Move geom.Vec2 `net:"stick"`
}

var (
	Kickers = game.NewKind[Kicker]("kicker")
	Balls   = game.NewKind[Ball]("ball", game.Predicted)

	pitch  = geom.Rect{Max: geom.Vec2{X: pitchW, Y: pitchH}}
	inner  = pitch.Expand(-1.2) // where the ball rolls: players get behind it everywhere
	middle = pitch.Center()

	Kick = game.Definition[Run]{
		Name: "ball", Rate: 30,
		Kinds: game.Kinds(Kickers, Balls),
		Join:  enter, Act: run, Step: roll, Referee: whistle, Bot: Chase,
	}
)

func enter(w *game.World, name string) game.ID {
	return Kickers.Spawn(w, Kicker{Pos: pitch.Random(w.Rand())})
}

// run moves a kicker. Where it touches the ball, the ball takes its velocity: at once in the
// player's browser, as the ball is predicted.
func run(w *game.World, me game.ID, c Run) {
	k := Kickers.Get(w, me)
	k.Vel = k.Vel.Toward(c.Move.Mul(8), 60*w.Dt())
	k.Pos = pitch.Clamp(k.Pos.Add(k.Vel.Mul(w.Dt())))
	for _, b := range Balls.All(w) {
		way := b.Pos.Sub(k.Pos)
		if way.Len() < touch {
			b.Pos = inner.Clamp(k.Pos.Add(way.Unit().Mul(touch)))
			b.Vel = k.Vel.Mul(1.2)
		}
	}
}

// roll moves the ball on, slower and slower, and turns it back at the sides.
func roll(w *game.World) {
	for _, b := range Balls.All(w) {
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

// whistle puts the ball into the middle at first, and after each goal: on the server alone.
func whistle(w *game.World) {
	if Balls.Len(w) == 0 {
		Balls.Spawn(w, Ball{Pos: middle})
	}
	for id, b := range Balls.All(w) {
		side := b.Pos.X == inner.Min.X || b.Pos.X == inner.Max.X
		if !side || b.Pos.Y < pitchH-goalTop || b.Pos.Y > goalTop {
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

// Chase is a bot: it runs to where the ball lies between it and the east goal, and then on.
func Chase(w *game.World, me game.ID) (c Run) {
	at := Kickers.Eye(w, me).Pos
	for _, b := range Balls.All(w) {
		way := geom.Vec2{X: pitchW, Y: pitchH / 2}.Sub(b.Pos).Unit()
		behind := b.Pos.Sub(way.Mul(2))
		if c.Move = b.Pos.Sub(at).Unit(); c.Move.Dot(way) < 0.8 {
			c.Move = behind.Sub(at).Unit()
		}
	}
	return c
}
