// Package recipes has the code of docs/guide/recipes.md that no sample game needs.
package recipes

import (
	"meanwhile/game"
	"meanwhile/geom"
)

const (
	Sight     = 12.0       // metres from which a scout sees those of the other team
	everybody = ^uint64(0) // all groups
)

// Scout is an avatar of a team.
type Scout struct {
	Pos  geom.Vec2 `net:"pos,others=1cm"`
	Team int       `net:"enum,none|amber|blue,team"`
	Plan geom.Vec2 `net:"pos,1cm,to=team"` // where it wants to go; only its team receives it
}

// Cmd is what a player wants in one tick.
type Cmd struct {
	Move geom.Vec2  `net:"stick"`
	Way  geom.Angle `net:"angle,8bit"`
}

var (
	Scouts = game.NewKind[Scout]("scout")

	field = geom.Rect{Max: geom.Vec2{X: 60, Y: 20}}

	Fog = game.Definition[Cmd]{
		Name: "fog", Rate: 30,
		Kinds: game.Kinds(Scouts),
		Join:  join, Act: act, ShownTo: shownTo, Groups: groups,
	}
)

// join puts players into the two teams by turns, on their own sides.
func join(w *game.World, name string) game.ID {
	if Scouts.Len(w)%2 == 0 {
		return Scouts.Spawn(w, Scout{Pos: geom.Vec2{X: 2, Y: 10}, Team: 1})
	}
	return Scouts.Spawn(w, Scout{Pos: geom.Vec2{X: 58, Y: 10}, Team: 2})
}

func act(w *game.World, me game.ID, c Cmd) {
	s := Scouts.Get(w, me)
	s.Pos = field.Clamp(s.Pos.Add(c.Move.Mul(6 * w.Dt())))
	s.Plan = field.Clamp(s.Pos.Add(c.Way.Dir().Mul(10)))
}

// shownTo gives a scout the groups of players that may know of it: its own team, and the other one
// as long as one of that team is near enough to see it.
func shownTo(w *game.World, id game.ID) uint64 {
	if !Scouts.Has(w, id) {
		return everybody
	}
	s := Scouts.Get(w, id)
	shown := uint64(1) << s.Team
	for _, o := range Scouts.All(w) {
		if o.Team != s.Team && o.Pos.Dist(s.Pos) < Sight {
			shown |= 1 << o.Team
		}
	}
	return shown
}

// groups gives a player's groups: its team. A spectator is in none.
func groups(w *game.World, me game.ID) uint64 {
	if !Scouts.Has(w, me) {
		return 0
	}
	return 1 << Scouts.Get(w, me).Team
}
