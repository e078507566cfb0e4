package game_test

import (
	"fmt"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// A Walker is all that the network knows of a player in the examples.
type Walker struct {
	Pos  geom.Vec2 `net:"pos,others=1cm"` // metres
	Gold int       `net:"int,0..99"`
	Keys int       `net:"int,0..9,to=owner"` // leaves the server for its owner alone
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
		Referee: func(w *game.World) { // the server alone brings new coins
			if Coins.Len(w) == 0 {
				Coins.Spawn(w, Coin{geom.Vec2{X: 1.5}})
			}
		},
	}
)

// Rules run without any network: an Engine drives a world tick by tick.
func Example() {
	rules, err := Stroll.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	server := engine.NewServer(rules, 1, 2)
	me, _ := server.Join("ann")
	east := []int64{15, 0} // a stick of 5 bits has 15 steps each way
	for tick := game.Tick(1); tick <= 3; tick++ {
		server.SetTick(tick)
		server.Act(me, east, nil, false)
		server.Step(false)
		server.Referee()
		server.Drain()
		p := Walkers.Get(worldOf(server), me)
		fmt.Printf("tick %d: x %.1f m, %d gold, %d coins\n", tick, p.Pos.X, p.Gold, Coins.Len(worldOf(server)))
	}
	// Output:
	// tick 1: x 0.5 m, 0 gold, 1 coins
	// tick 2: x 1.0 m, 0 gold, 1 coins
	// tick 3: x 1.5 m, 1 gold, 1 coins
}

// Every mistake is in one error, and each says what was expected.
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

// Get of something that is not there is no error: it is a blank state, and writes to it are gone.
func ExampleKind_Get() {
	rules, err := Stroll.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	server := engine.NewServer(rules, 1, 2)
	nobody := Walkers.Get(worldOf(server), 77)
	nobody.Gold = 50
	fmt.Println(Walkers.Get(worldOf(server), 77).Gold, Walkers.Has(worldOf(server), 77))
	// Output: 0 false
}
