// Package step1 is a field with pilots that move: state, a command, and prediction.
package step1

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Pilot is the state of one avatar.
type Pilot struct {
	Pos geom.Vec2 `net:"pos"` // metres
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move geom.Vec2 `net:"stick"` // from -1 to 1 each way
}

var (
	Pilots = game.NewKind[Pilot]("pilot")

	field = geom.Rect{Max: geom.Vec2{X: 40, Y: 24}}

	Game = game.Definition[Cmd]{
		Name: "pilots", Rate: 30,
		Kinds: game.Kinds(Pilots),
		Join:  join, Act: act,
	}
)

func join(w *game.World, name string) game.ID {
	return Pilots.Spawn(w, Pilot{Pos: field.Random(w.Rand())})
}

// act runs one command of one player: at once in the player's browser, for good on the server.
func act(w *game.World, me game.ID, c Cmd) {
	p := Pilots.Get(w, me)
	p.Pos = field.Clamp(p.Pos.Add(c.Move.Mul(9 * w.Dt()))) // nine metres a second
}
