// Package command has games with fields that players can send and no rule reads, and games in which
// that cannot be known.
package command

import (
	"fmt"
	"slices"

	"meanwhile/game"
)

type Vec struct{ X, Y float64 }

type Cmd struct {
	Move  Vec
	Aim   float64
	Fire  bool
	Jump  bool // want `no rule reads Cmd\.Jump, so what players send there has no effect`
	Duck  bool // want `no rule reads Cmd\.Duck`
	Way   Vec  // want `no rule reads Cmd\.Way`
	Later bool //meanwhile:ok the next version of the rules reads it
	_     bool
	Word  int
	Tool  int
}

var Game = game.Definition[Cmd]{Act: act, Bot: bot}

func act(w *game.World, me game.ID, c Cmd) {
	c.Duck = false // who only sets it reads nothing
	c.Way.X = 2
	aim(&c)
	d := c
	var e Cmd = d
	_ = e.fires()
	if c.Move.X += 1; c.Move.X > 2 { // part of it
		return
	}
	func() { _ = c.Word }()
}

func aim(c *Cmd) { _ = c.Aim }

func (c Cmd) fires() bool { return c.Fire }

// Tools is not reached from Act as far as the check knows, and yet counts.
func Tools(commands []Cmd) int { return commands[0].Tool }

func bot(w *game.World, me game.ID) Cmd {
	c := Cmd{Jump: true, Way: Vec{1, 2}}
	c.Duck = true
	return c
}

// What follows goes where a command may be read as a whole.

type printed struct{ Jump bool }

var _ = game.Definition[printed]{Act: func(w *game.World, me game.ID, c printed) { _ = fmt.Sprint(c) }}

type compared struct{ Jump bool }

var _ = game.Definition[compared]{Act: func(w *game.World, me game.ID, c compared) { _ = c == compared{} }}

type kept struct{ Jump bool }

type state struct{ last kept }

var _ = game.Definition[kept]{Act: func(w *game.World, me game.ID, c kept) {
	game.NewKind[state]("state").Get(w, me).last = c
}}

type converted struct{ Jump bool }

var _ = game.Definition[converted]{Act: func(w *game.World, me game.ID, c converted) { _ = printed(c).Jump }}

type searched struct{ Jump bool }

var _ = game.Definition[searched]{Act: func(w *game.World, me game.ID, c searched) {
	_ = slices.Contains([]searched{}, c)
}}

type listed struct{ Jump bool }

var _ = game.Definition[listed]{Act: func(w *game.World, me game.ID, c listed) { _ = []listed{c} }}

type boxed struct{ Jump bool }

var _ = game.Definition[boxed]{Act: func(w *game.World, me game.ID, c boxed) { var x any = c; _ = x }}

type returned struct{ Jump bool }

var _ = game.Definition[returned]{Act: func(w *game.World, me game.ID, c returned) {
	_ = func() any { return &c }()
}}

type generic struct{ Jump bool }

func runs[C comparable](w *game.World, me game.ID, c C) { var zero C; _ = c == zero }

var _ = game.Definition[generic]{Act: runs[generic]}

type unknown struct{ Jump bool }

var _ = game.Definition[unknown]{Act: made()}

func made() func(w *game.World, me game.ID, c unknown) { return nil }

type base struct{ Turn float64 }

type embeds struct {
	base
	Turns float64 // want `no rule reads embeds\.Turns`
}

var _ = game.Definition[embeds]{Act: func(w *game.World, me game.ID, c embeds) { _ = c.Turn }}

type Nothing struct{}

var _ = game.Definition[Nothing]{Act: func(*game.World, game.ID, Nothing) {}}
