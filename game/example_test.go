package game_test

import (
	"errors"
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/rewind"
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
	ann, err := sim.Join("ann", netsim.LAN, client.BotOf(east))
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

// A Shooter shoots in every tick, and keeps a record of it on the server.
type Shooter struct {
	Pos  geom.Vec2 `net:"pos"`
	Back float64   `net:"float,0.01,server"` // by how many ticks others were rewound
	Why  int       `net:"int,0..15,server"`  // the receipt's reason; an enum with such words suits an event
}

// Rules put the receipt of a shot into a property, an event or a log. Here on a path of 100 ms each
// way, at ten ticks a second.
func ExampleWorld_Receipt() {
	shooters := game.NewKind[Shooter]("shooter")
	def := game.Definition[Walk]{
		Name: "range", Rate: 10, Kinds: game.Kinds(shooters),
		Join: func(w *game.World, name string) game.ID { return shooters.Spawn(w, Shooter{}) },
		Act: func(w *game.World, me game.ID, c Walk) {
			for id := range shooters.Seen(w, me) {
				p, r := shooters.Get(w, me), w.Receipt()
				p.Back, p.Why = float64(w.Tick())-r.Used, int(r.Reason)
				shooters.Get(w, id) // it is hit: clients claim it, and the server counts who agrees
			}
		},
		Bot: func(w *game.World, me game.ID) (c Walk) { return c },
	}
	rules, err := def.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	sim, err := gametest.NewSim(rules, 1, server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	far := netsim.Profile{Down: netsim.LinkConfig{Delay: 100 * time.Millisecond},
		Up: netsim.LinkConfig{Delay: 100 * time.Millisecond}}
	ann, err := sim.Join("ann", far, rules.Bot())
	if err == nil {
		_, err = sim.Join("bob", netsim.LAN, rules.Bot())
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	sim.Run(5 * time.Second)
	p := shooters.Get(sim.Server.World(), ann.Me())
	fmt.Println("judged by what ann saw, 2 to 6 ticks ago:", p.Back > 2 && p.Back < 6, rewind.Reason(p.Why))
	// Output: judged by what ann saw, 2 to 6 ticks ago: true exact
}

// A Shout is what a walker says, and what the rules say to all.
type Shout struct {
	Text string `net:"text,80"`
}

// A Price is what a walker asks for, and what it pays.
type Price struct {
	Gold int `net:"int,0..99"`
}

var (
	Shouts = game.NewMessage[Shout]("shout", 1, 4)       // a player sends one a second, and four at once
	Loans  = game.NewRequest[Price, Price]("loan", 1, 4) // and as many requests
)

// Messages arrive once and in order, on any network. A request is answered, or refused with a
// sentence.
func ExampleMessage() {
	g := Stroll
	g.Messages = game.Messages(
		Shouts.On(func(w *game.World, from game.ID, s Shout) { Shouts.SendAll(w, nil, s) }),
		Loans.On(func(w *game.World, from game.ID, p Price) (Price, error) {
			if p.Gold > 10 {
				return Price{}, errors.New("nobody lends so much")
			}
			Walkers.Get(w, from).Gold += p.Gold
			return Price{Gold: p.Gold + 1}, nil
		}),
	)
	rules, err := g.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	sim, _ := gametest.NewSim(rules, 1, server.Config{})
	ann, _ := sim.Join("ann", netsim.TrainLTE, nil)
	bob, _ := sim.Join("bob", netsim.HotelWiFi, nil)
	for _, p := range sim.Players() {
		p.OnWord = func(w *client.Word) {
			if s, ok := client.Heard(p.Client, w, Shouts); ok {
				fmt.Println(p.Name, "reads", s.Text)
			} else if answer, ok := client.Answered(p.Client, w, Loans); ok {
				fmt.Println(p.Name, "owes", answer.Gold)
			} else {
				fmt.Println(p.Name, "gets nothing:", w.Refusal)
			}
		}
	}
	sim.Run(5 * time.Second)
	client.Say(ann.Client, Shouts, Shout{Text: "hello"})
	sim.Run(2 * time.Second)
	client.Ask(bob.Client, Loans, Price{Gold: 50})
	client.Ask(bob.Client, Loans, Price{Gold: 5})
	sim.Run(2 * time.Second)
	// Unordered output:
	// ann reads hello
	// bob reads hello
	// bob gets nothing: nobody lends so much
	// bob owes 6
}
