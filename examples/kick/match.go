package kick

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// stands are the places of a team's players at a kick-off, for Amber; Blue has them mirrored.
var stands = [...]geom.Vec2{
	{X: -13}, {X: -3.5}, {X: -6, Y: -4}, {X: -6, Y: 4}, {X: -9.5}, {X: -2, Y: -6}, {X: -2, Y: 6}, {X: -10.5, Y: -5},
	{X: -10.5, Y: 5}, {X: -12, Y: 2.5},
}

// crateStands and cartStand are where these things stand at a kick-off.
var (
	crateStands = [...]geom.Vec2{
		{X: -7.5, Y: -6.6}, {X: 7.5, Y: -6.6}, {X: -7.5, Y: 6.6}, {X: 7.5, Y: 6.6}, {Y: -4.2}, {Y: 4.2},
	}
	cartStand = geom.Vec2{Y: 7.4}
)

// stand returns the place of a team's nth player.
func stand(team, n int) geom.Vec2 {
	at := stands[n%len(stands)]
	at.Y += float64(float64(n/len(stands)) * 1.1)
	if team == Blue {
		at.X = -at.X
	}
	return at
}

// join puts a player into the smaller team.
func join(w *game.World, name string) game.ID {
	size := [2]int{}
	for _, p := range Players.All(w) {
		size[p.Team]++
	}
	team := Amber
	if size[Blue] < size[Amber] {
		team = Blue
	}
	at := stand(team, size[team])
	return Players.Spawn(w, Player{Pos: at, Aim: at.Neg().Angle(), Team: team, Name: name})
}

// referee runs after all commands of a tick, on the server alone.
func referee(w *game.World) {
	if Matches.Len(w) == 0 {
		begin(w)
	}
	now := w.Tick()
	for _, m := range Matches.All(w) {
		switch {
		case m.Phase != Play:
			if now+WaitTicks >= m.Start {
				kickOff(w, m)
			}
		case now >= m.Ends:
			m.Phase, m.Start = Result, now+ResultTicks
			m.Ends = m.Start + MatchTicks
		case stuck(w):
			m.Start = now + WaitTicks
			m.Ends += WaitTicks
			kickOff(w, m)
		default:
			judge(w, m)
		}
	}
}

// begin makes what every match needs.
func begin(w *game.World) {
	start := w.Tick() + WaitTicks
	Matches.Spawn(w, Match{Start: start, Ends: start + MatchTicks})
	Balls.Spawn(w, Ball{})
	Carts.Spawn(w, Cart{Pos: cartStand})
	for _, at := range crateStands {
		Crates.Spawn(w, Crate{Pos: at})
	}
}

// judge looks whether the whole ball is behind a goal line.
func judge(w *game.World, m *Match) {
	for id, b := range Balls.All(w) {
		team, by, own := Amber, b.Amber, b.Blue
		switch {
		case b.Pos.X > HalfLength+BallRadius:
			m.Amber = min(m.Amber+1, MaxGoals)
		case b.Pos.X < -HalfLength-BallRadius:
			team, by, own = Blue, b.Blue, b.Amber
			m.Blue = min(m.Blue+1, MaxGoals)
		default:
			continue
		}
		m.Phase, m.Start = Cheer, w.Tick()+CheerTicks+WaitTicks
		m.Ends += CheerTicks + WaitTicks // the clock stands still meanwhile
		if !Players.Has(w, by) {
			by = own
		}
		if !Players.Has(w, by) {
			by = 0
		}
		Goals.Emit(w, id, b.Pos, Goal{Team: team, By: by, At: b.Pos})
	}
}

// stuck reports whether players block each other around the ball.
func stuck(w *game.World) bool {
	for _, b := range Balls.All(w) {
		if b.Pos.Dist(b.Spot) > stuckNear {
			b.Spot, b.Since = b.Pos, w.Tick()
		}
		if w.Tick() < b.Since+StuckTicks {
			continue
		}
		around := 0
		for _, p := range Players.All(w) {
			if p.Cart == 0 && p.Pos.Dist(b.Pos) < stuckNear {
				around++
			}
		}
		if around > 1 {
			return true
		}
	}
	return false
}

// kickOff puts everything back to where it stands at a kick-off. After a result a new match begins.
func kickOff(w *game.World, m *Match) {
	if m.Phase == Result {
		m.Amber, m.Blue = 0, 0
	}
	m.Phase = Play
	size := [2]int{}
	for id, p := range Players.All(w) {
		p.Pos, p.Vel, p.Cart = stand(p.Team, size[p.Team]), geom.Vec2{}, 0
		p.Aim, p.Start = p.Pos.Neg().Angle(), m.Start
		size[p.Team]++
		w.Cut(id) // a teleport: nobody draws it as a slide
	}
	for id, b := range Balls.All(w) {
		*b = Ball{Since: m.Start}
		w.Cut(id)
	}
	for id, c := range Carts.All(w) {
		*c = Cart{Pos: cartStand}
		w.Cut(id)
	}
	i := 0
	for id, c := range Crates.All(w) {
		*c = Crate{Pos: crateStands[i%len(crateStands)]}
		i++
		w.Cut(id)
	}
}
