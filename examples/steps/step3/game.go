// Package step3 adds gems to collect: what a player may do at once, and what the server alone does.
package step3

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Pilot is the state of one avatar.
type Pilot struct {
	Pos geom.Vec2 `net:"pos,others=1cm,draw=hermite"` // metres; others receive whole centimetres
	Vel geom.Vec2 `net:"vel,others=1cm/s"`

	Score int `net:"int,0..999"`
}

// Gem is what pilots collect.
type Gem struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move geom.Vec2 `net:"stick"` // from -1 to 1 each way
}

var (
	Pilots = game.NewKind[Pilot]("pilot")
	Gems   = game.NewKind[Gem]("gem")

	field = geom.Rect{Max: geom.Vec2{X: 40, Y: 24}}

	Game = game.Definition[Cmd]{
		Name: "pilots", Rate: 30,
		Kinds: game.Kinds(Pilots, Gems),
		Join:  join, Act: act, Referee: referee,
	}
)

func join(w *game.World, name string) game.ID {
	return Pilots.Spawn(w, Pilot{Pos: field.Random(w.Rand())})
}

// act runs one command of one player: at once in the player's browser, for good on the server.
func act(w *game.World, me game.ID, c Cmd) {
	p := Pilots.Get(w, me)
	p.Vel = p.Vel.Toward(c.Move.Mul(9), 60*w.Dt()) // up to 9 m/s, by 60 m/s a second
	p.Pos = field.Clamp(p.Pos.Add(p.Vel.Mul(w.Dt())))
	for id, gem := range Gems.All(w) {
		if gem.Pos.Sub(p.Pos).Len() < 1 {
			w.Despawn(id) // gone in the browser at once, and back if the server disagrees
			p.Score = min(p.Score+1, 999)
		}
	}
}

// referee runs after all commands of a tick, on the server alone.
func referee(w *game.World) {
	for Gems.Len(w) < 12 {
		Gems.Spawn(w, Gem{field.Random(w.Rand())})
	}
}
