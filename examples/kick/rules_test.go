package kick

import (
	"slices"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// meddled is the game with a server that also does what a test wants, after all commands of a tick.
func meddled(meddle func(w *game.World)) *game.Definition[Cmd] {
	def := Game
	def.Referee = func(w *game.World) {
		meddle(w)
		referee(w)
	}
	return &def
}

// the returns the only entity of a kind.
func the[T any](w *game.World, k game.Kind[T]) *T {
	for _, v := range k.All(w) {
		return v
	}
	return new(T)
}

func idle(*game.World, game.ID) Cmd { return Cmd{} }

// A ball behind the line counts once, for the team that attacks this goal; the clock stands still;
// then everything stands at its place again and nobody may move for a moment.
func TestGoalAndKickOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		x           float64
		amber, blue int
	}{
		{"right", HalfLength + BallRadius + 0.05, 1, 0},
		{"left", -HalfLength - BallRadius - 0.05, 0, 1},
		{"on the line", HalfLength + BallRadius - 0.05, 0, 0},
	} {
		const at = 700
		var before Match
		m := gametest.New(t, meddled(func(w *game.World) {
			switch w.Tick() {
			case at:
				before = *the(w, Matches)
				*the(w, Balls) = Ball{Pos: geom.Vec2{X: c.x}}
			case at + 10:
				the(w, Crates).Pos = geom.Vec2{X: 3, Y: 3}
				the(w, Carts).Pos = geom.Vec2{X: -3, Y: 3}
			}
		}), 1)
		m.AllowMispredictions() // a kick-off is the server's own
		run := geom.Vec2{Y: -1}
		ann := m.Join("ann", netsim.LAN, func(*game.World, game.ID) Cmd { return Cmd{Move: run} })
		bob := m.Join("bob", netsim.LAN, idle)
		m.Run(2 * time.Second) // after the 10 s that every match begins with: tick 720
		w := m.Server()
		got := *the(w, Matches)
		if got.Amber != c.amber || got.Blue != c.blue {
			t.Errorf("%s: the score is %d:%d, want %d:%d", c.name, got.Amber, got.Blue, c.amber, c.blue)
		}
		if c.amber+c.blue == 0 {
			if got.Phase != Play || got.Ends != before.Ends {
				t.Errorf("%s: %+v, before %+v", c.name, got, before)
			}
			continue
		}
		if got.Phase != Cheer || got.Start != at+CheerTicks+WaitTicks || got.Ends != before.Ends+CheerTicks+WaitTicks {
			t.Errorf("%s: %+v, before %+v", c.name, got, before)
		}
		m.Run(time.Duration(at+CheerTicks+WaitTicks/2-720) * time.Second / Rate)
		if got := the(w, Matches); got.Phase != Play || got.Amber != c.amber || got.Blue != c.blue {
			t.Errorf("%s: after the kick-off %+v", c.name, got)
		}
		if b := the(w, Balls); b.Pos != (geom.Vec2{}) || b.Vel != (geom.Vec2{}) {
			t.Errorf("%s: the ball is at %v", c.name, b.Pos)
		}
		if a, b := Players.Get(w, ann.Me()), Players.Get(w, bob.Me()); a.Pos != stand(Amber, 0) || b.Pos != stand(Blue, 0) {
			t.Errorf("%s: players are at %v and %v", c.name, a.Pos, b.Pos)
		}
		if c := the(w, Crates); c.Pos != crateStands[0] {
			t.Errorf("a crate is at %v", c.Pos)
		}
		if c := the(w, Carts); c.Pos != cartStand {
			t.Errorf("the cart is at %v", c.Pos)
		}
		m.Run(time.Second)
		if a := Players.Get(w, ann.Me()); a.Pos.Dist(stand(Amber, 0)) < 1 {
			t.Errorf("%s: ann has not moved from %v", c.name, a.Pos)
		}
	}
}

// At the end of the clock the result stands for a while. Then a new match begins at 0:0.
func TestMatchEnds(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, meddled(func(w *game.World) {
		if match := the(w, Matches); w.Tick() == 300 {
			match.Amber, match.Blue, match.Ends = 3, 2, 660
		}
	}), 1)
	m.AllowMispredictions()
	m.Join("ann", netsim.LAN, idle)
	m.Run(2 * time.Second) // tick 720
	w := m.Server()
	if got := *the(w, Matches); got.Phase != Result || got.Amber != 3 || got.Start != 660+ResultTicks {
		t.Errorf("after the end: %+v", got)
	}
	m.Run(ResultTicks * time.Second / Rate)
	want := Match{Start: 660 + ResultTicks, Ends: 660 + ResultTicks + MatchTicks}
	if got := *the(w, Matches); got != want {
		t.Errorf("the next match is %+v, want %+v", got, want)
	}
}

// Players who block each other around the ball are sent to a kick-off. A ball that nobody wants
// stays where it is.
func TestStuck(t *testing.T) {
	t.Parallel()
	for _, blocked := range []bool{true, false} {
		at := geom.Vec2{X: -13, Y: -5}
		m := gametest.New(t, meddled(func(w *game.World) {
			if w.Tick() != 200 {
				return
			}
			the(w, Balls).Pos = at
			side := geom.Vec2{X: -1}
			for id, p := range Players.All(w) {
				if p.Pos, side = at.Add(side), side.Neg(); !blocked {
					p.Pos = p.Pos.Neg()
				}
				w.Cut(id)
			}
		}), 1)
		m.AllowMispredictions()
		m.Join("ann", netsim.LAN, idle)
		m.Join("bob", netsim.LAN, idle)
		m.Run(time.Duration(200+StuckTicks+60-600) * time.Second / Rate)
		if away := the(m.Server(), Balls).Pos == (geom.Vec2{}); away != blocked {
			t.Errorf("blocked %v: the ball is at %v", blocked, the(m.Server(), Balls).Pos)
		}
	}
}

// rides gets on the cart, drives up the field, and gets off.
func rides(w *game.World, me game.ID) (c Cmd) {
	p, cart := Players.Get(w, me), the(w, Carts)
	switch tick := w.Tick(); {
	case tick < 500 && p.Cart == 0:
		c.Move = cart.Pos.Sub(p.Pos).Limit(1)
		c.Use = cart.Pos.Dist(p.Pos) < takeReach-0.1
	case tick < 700:
		c.Move = geom.Vec2{Y: -0.3}
	case tick < 900:
		c.Use = tick >= 800
	default:
		c.Move = geom.Vec2{X: 1}
	}
	return c
}

// A rider sits on the cart and drives it; everybody sees both at the same place; nobody else gets
// on; whoever gets off stands beside it.
func TestCart(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, meddled(func(w *game.World) {
		if w.Tick() == 100 {
			x := -9.0
			for id, c := range Crates.All(w) { // out of the way
				c.Pos = geom.Vec2{X: x, Y: -7}
				x += 3
				w.Cut(id)
			}
		}
	}), 3)
	m.AllowMispredictions()
	ann := m.Join("ann", netsim.Fiber, rides)
	bob := m.Join("bob", netsim.Fiber, func(w *game.World, me game.ID) Cmd {
		p, cart := Players.Get(w, me), the(w, Carts) // runs after the cart, and always wants to get on
		if w.Tick() < 500 {
			return Cmd{}
		}
		return Cmd{Move: cart.Pos.Sub(p.Pos).Limit(1), Use: w.Tick()%2 == 0}
	})
	apart, frames := 0.0, 0
	var vals []float64
	bob.OnFrame = func() {
		var cart, rider geom.Vec2
		riding := false
		vals = bob.Client.Draw(vals, func(e *client.Entity) {
			if e.Kind == cartKind {
				cart = geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
			} else if e.ID == ann.Me() {
				rider, riding = geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}, Players.Get(bob.Client.World(), e.ID).Cart != 0
			}
		})
		if now := m.Sim.Server.Tick(); riding && now > 560 && now < 780 {
			frames++
			apart = max(apart, rider.Dist(cart))
		}
	}
	w := m.Server()
	m.Run(time.Second) // tick 660
	cart, p := the(w, Carts), Players.Get(w, ann.Me())
	if p.Cart == 0 || p.Pos != (geom.Vec2{}) {
		t.Fatalf("ann is at %v, on cart %d; the cart is at %v", p.Pos, p.Cart, cart.Pos)
	}
	if cart.Pos.Y > cartStand.Y-2 {
		t.Errorf("ann drove the cart to %v only", cart.Pos)
	}
	if Players.Get(w, bob.Me()).Cart != 0 {
		t.Error("two ride the cart")
	}
	m.Run(3 * time.Second) // tick 840
	if p := Players.Get(w, ann.Me()); p.Cart != 0 || p.Pos.Dist(the(w, Carts).Pos) > 3 ||
		p.Pos.Dist(the(w, Carts).Pos) < 0.5 {
		t.Errorf("ann got off at %v, on %d; the cart is at %v", p.Pos, p.Cart, the(w, Carts).Pos)
	}
	if frames < 100 || apart > 0.02 {
		t.Errorf("in %d frames bob saw ann up to %.2f m from the seat", frames, apart)
	}
}

// Indices of kinds, as listed in Game.
const (
	ballKind = 1
	cartKind = 3
)

// A kick sends the ball where the player aims, once, and for the player it does at once.
func TestKick(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, meddled(func(w *game.World) {
		if w.Tick() == 300 {
			for id, p := range Players.All(w) {
				p.Pos = geom.Vec2{X: -1}
				w.Cut(id)
			}
		}
	}), 1)
	m.AllowMispredictions()
	m.Join("ann", netsim.LAN, func(w *game.World, me game.ID) Cmd {
		return Cmd{Kick: w.Tick() >= 640, Aim: -geom.Pi / 4}
	})
	m.Run(time.Second)
	if b := the(m.Server(), Balls); b.Vel.X < 5 || b.Vel.Y > -5 {
		t.Errorf("after the kick the ball flies with %v", b.Vel)
	}
}

// When everybody stands still, everything comes to rest: no state changes any more, so nothing is
// sent.
//
// seeds: P9
func TestRest(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, &Game, 2)
	m.AllowMispredictions()
	for range 6 {
		m.Join("bot", netsim.LAN, Bot)
	}
	m.Run(20 * time.Second)
	m.Sim.Still()
	m.Run(20 * time.Second)
	if the(m.Server(), Matches).Phase != Play {
		m.Run(CheerTicks * time.Second / Rate)
	}
	states := func() (all []int64) {
		e := m.Sim.Server.Engine()
		for id := range game.ID(40) {
			if _, sims := e.Sims(id); sims != nil && !Balls.Has(m.Server(), id) {
				all = append(all, sims...)
			}
		}
		return append(all, int64(the(m.Server(), Balls).Pos.X*256000), int64(the(m.Server(), Balls).Pos.Y*256000))
	}
	before := states()
	m.Run(2 * time.Second)
	if after := states(); len(before) < 50 || !slices.Equal(before, after) {
		t.Errorf("states still change:\n%v\n%v", before, after)
	}
}

// Players join the smaller team.
func TestTeams(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, &Game, 2)
	for range 5 {
		m.Join("p", netsim.LAN, idle)
	}
	m.Run(0)
	size := [2]int{}
	for _, p := range Players.All(m.Server()) {
		size[p.Team]++
	}
	if size[Amber]+size[Blue] != 5 || size[Amber]-size[Blue] > 1 || size[Blue]-size[Amber] > 1 {
		t.Errorf("%d in Amber, %d in Blue", size[Amber], size[Blue])
	}
}
