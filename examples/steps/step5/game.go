// Package step5 adds what others must not know, and a bot, with which a test plays on bad networks.
package step5

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Pilot is the state of one avatar.
type Pilot struct {
	Pos geom.Vec2 `net:"pos,others=1cm,draw=hermite"` // metres; others receive whole centimetres
	Vel geom.Vec2 `net:"vel,others=1cm/s"`

	Aim   geom.Angle `net:"angle,1deg"`
	Score int        `net:"int,0..999"`
	Ammo  int        `net:"int,0..5,to=owner"` // only the pilot itself receives it
	Ready game.Tick  `net:"tick,to=owner"`     // the tick at which the weapon may fire again
}

// Gem is what pilots collect.
type Gem struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// Zap is a shot, as everyone who can see the place receives it.
type Zap struct {
	From, To geom.Vec2 `net:"pos,1cm"`
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move geom.Vec2  `net:"stick"` // from -1 to 1 each way
	Aim  geom.Angle `net:"angle,1deg"`
	Fire bool       `net:"press"` // a click that ends before the next tick still counts
}

var (
	Pilots = game.NewKind[Pilot]("pilot")
	Gems   = game.NewKind[Gem]("gem")
	Zaps   = game.NewEvent[Zap]("zap")

	field = geom.Rect{Max: geom.Vec2{X: 40, Y: 24}}

	Game = game.Definition[Cmd]{
		Name: "pilots", Rate: 30,
		Kinds: game.Kinds(Pilots, Gems), Events: game.Events(Zaps),
		Join: join, Act: act, Referee: referee, Bot: Bot,
	}
)

func join(w *game.World, name string) game.ID {
	return Pilots.Spawn(w, Pilot{Pos: field.Random(w.Rand()), Ammo: 3})
}

// act runs one command of one player: at once in the player's browser, for good on the server.
func act(w *game.World, me game.ID, c Cmd) {
	p := Pilots.Get(w, me)
	p.Aim = c.Aim
	p.Vel = p.Vel.Toward(c.Move.Mul(9), 60*w.Dt()) // up to 9 m/s, by 60 m/s a second
	p.Pos = field.Clamp(p.Pos.Add(p.Vel.Mul(w.Dt())))
	for id, gem := range Gems.All(w) {
		if gem.Pos.Sub(p.Pos).Len() < 1 {
			w.Despawn(id) // gone in the browser at once, and back if the server disagrees
			p.Score, p.Ammo = min(p.Score+1, 999), min(p.Ammo+1, 5)
		}
	}
	if c.Fire && p.Ammo > 0 && w.Tick() >= p.Ready {
		p.Ammo, p.Ready = p.Ammo-1, w.Tick()+10
		fire(w, me)
	}
}

// fire shoots from where me saw itself at those whom me saw, as they stood on its screen at the click.
func fire(w *game.World, me game.ID) {
	p, eye := Pilots.Get(w, me), Pilots.Eye(w, me)
	ray, hit := geom.Ray{From: eye.Pos, Dir: p.Aim, Len: 30}, game.ID(0)
	for id, other := range Pilots.SeenAlong(w, me, eye.Pos, ray.End(), 1) {
		if d, ok := ray.Circle(other.Pos, 0.6); ok {
			ray.Len, hit = d, id
		}
	}
	if victim := Pilots.Get(w, hit); hit != 0 { // where it is now; in a browser, writes to it have no effect
		p.Score, victim.Score, victim.Pos = min(p.Score+victim.Score, 999), 0, field.Random(w.Rand())
		w.Cut(hit) // a teleport: nobody draws it as a slide
	}
	Zaps.Emit(w, me, p.Pos, Zap{eye.Pos, ray.End()}) // the shooter sees it at once
}

// referee runs after all commands of a tick, on the server alone.
func referee(w *game.World) {
	for Gems.Len(w) < 12 {
		Gems.Spawn(w, Gem{field.Random(w.Rand())})
	}
}

// Bot plays from what a player in its place would know.
func Bot(w *game.World, me game.ID) (c Cmd) {
	p, best := Pilots.Eye(w, me), 99.0
	for _, gem := range Gems.All(w) {
		if way := gem.Pos.Sub(p.Pos); way.Len() < best {
			best, c.Move = way.Len(), way.Unit()
		}
	}
	for _, other := range Pilots.Seen(w, me) {
		c.Aim, c.Fire = other.Pos.Sub(p.Pos).Angle(), true
	}
	return c
}
