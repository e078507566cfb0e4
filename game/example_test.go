package game_test

import (
	"fmt"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A Walker is all that the network knows of a player in the examples.
type Walker struct {
	Pos  geom.Vec2 `net:"pos,others=1cm"` // metres
	Gold int       `net:"int,0..99"`
	Keys int       `net:"int,0..9,to=owner"` // only the walker itself receives it
}

// A Coin lies around until someone comes near.
type Coin struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// Walk is what a player wants in one tick.
type Walk struct {
	Move geom.Vec2 `net:"stick,5bit"`
}

var (
	Walkers = game.NewKind[Walker]("walker")
	Coins   = game.NewKind[Coin]("coin")

	Stroll = game.Definition[Walk]{
		Name: "stroll", Rate: 10, Kinds: game.Kinds(Walkers, Coins),
		Join: func(w *game.World, name string) game.ID { return Walkers.Spawn(w, Walker{}) },
		Act: func(w *game.World, me game.ID, c Walk) {
			p := Walkers.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(5 * w.Dt())) // 5 m/s
			for id, coin := range Coins.All(w) {
				if coin.Pos.Sub(p.Pos).Len() < 0.5 {
					w.Despawn(id) // when Act returns
					p.Gold++
				}
			}
		},
		Referee: func(w *game.World) { // new coins, on the server alone
			if Coins.Len(w) == 0 {
				Coins.Spawn(w, Coin{geom.Vec2{X: 1.5}})
			}
		},
	}
)

// A match of one player in virtual time, who walks east over a coin.
func Example() {
	rules, err := Stroll.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	sim, err := gametest.NewSim(rules, 1, server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	east := func(w *game.World, me game.ID) Walk { return Walk{Move: geom.Vec2{X: 1}} }
	ann, err := sim.Join("ann", netsim.LAN, game.BotOf(east))
	if err != nil {
		fmt.Println(err)
		return
	}
	sim.Run(5 * time.Second)
	w := sim.Server.World()
	p := Walkers.Get(w, ann.Me())
	fmt.Printf("ann walked more than 10 m: %v\nann has %d gold, and %d new coin lies there\n",
		p.Pos.X > 10, p.Gold, Coins.Len(w))
	// Output:
	// ann walked more than 10 m: true
	// ann has 1 gold, and 1 new coin lies there
}

// One error reports every mistake, each with what was expected.
func ExampleDefinition_Rules() {
	broken := game.Definition[Walk]{Name: "Stroll!", Rate: 1000, Kinds: game.Kinds(Walkers, game.Kind[Coin]{})}
	_, err := broken.Rules()
	fmt.Println(err)
	// Output:
	// game: Stroll!: Name "Stroll!" is not 1 to 32 lower-case letters, digits and dashes
	// Rate 1000 is outside [1, 240] ticks a second
	// Join and Act must be set
	// Kinds[1] was not made by NewKind
}

// Get of something that does not exist returns a zero state, and writes to it have no effect.
func ExampleKind_Get() {
	rules, err := Stroll.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	srv, err := server.New(rules, server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := srv.World()
	Walkers.Get(w, 77).Gold = 50
	fmt.Println(Walkers.Get(w, 77).Gold, Walkers.Has(w, 77))
	// Output: 0 false
}
