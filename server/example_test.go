package server_test

import (
	"fmt"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/server"
)

type Walker struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type Walk struct {
	Move geom.Vec2 `net:"stick,5bit"`
}

var (
	Walkers = game.NewKind[Walker]("walker")

	Stroll = game.Definition[Walk]{
		Name: "stroll", Rate: 20, Kinds: game.Kinds(Walkers),
		Join: func(w *game.World, name string) game.ID { return Walkers.Spawn(w, Walker{}) },
		Act: func(w *game.World, me game.ID, c Walk) {
			p := Walkers.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(2 * w.Dt())) // 2 m/s
		},
	}
)

// One world and one player, wired together without a network: what a host and a transport do for
// real.
func Example() {
	rules, err := Stroll.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	world, err := server.New(rules, server.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, welcome, err := world.Connect(0, "ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	player, err := client.New(rules, welcome, 0, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var out server.Outbox
	east := []int64{15, 0}
	for now := clock.Time(0); now < clock.Time(2e9); now = now.Add(world.Period()) { // 2 s
		world.Begin(now)
		out.Reset()
		world.Encode(0, world.Clients(), &out) // ranges may be divided among goroutines, each with an Outbox
		for i := range out.Len() {
			_, datagram := out.At(i)
			wire.PatchStamp(datagram, now.Stamp()) // right before it leaves
			player.Receive(now, datagram)
		}
		world.End()

		for range player.Frame(now) { // one frame of the player
			player.Tick(east)
		}
		if datagram := player.Encode(now); datagram != nil {
			world.Receive(id, now, datagram)
		}
	}
	fmt.Println("the avatar walked:", Walkers.Get(world.World(), world.Avatar(id)).Pos.X > 2)
	fmt.Println("it is predicted:", player.CommandTick() > world.Tick())
	fmt.Println("corrections:", player.Stats().Prediction.Corrections)
	// Output:
	// the avatar walked: true
	// it is predicted: true
	// corrections: 0
}

// Spies of two teams: each knows of its own team alone, and nothing of the others is sent to its
// client.
func Example_hiddenEntities() {
	type Spy struct {
		Pos geom.Vec2 `net:"pos,others=1cm"`
		Red bool      `net:"bool"`
	}
	spies := game.NewKind[Spy]("spy")
	team := func(w *game.World, id game.ID) uint64 {
		if spies.Get(w, id).Red {
			return 1 << 0
		}
		return 1 << 1
	}
	def := game.Definition[Walk]{
		Name: "spies", Rate: 20, Kinds: game.Kinds(spies),
		Join: func(w *game.World, name string) game.ID {
			return spies.Spawn(w, Spy{Red: name == "ann" || name == "bob"})
		},
		Act: func(w *game.World, me game.ID, c Walk) {},
		// A spy is shown to its team, and a player is in the group of its own.
		ShownTo: team,
		Groups:  team,
	}
	rules, err := def.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	world, err := server.New(rules, server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	names := []string{"ann", "bob", "cid"}
	for _, name := range names {
		if _, _, err := world.Connect(0, name); err != nil {
			fmt.Println(err)
			return
		}
	}
	var out server.Outbox
	for tick := range 3 {
		world.Begin(clock.Time(tick + 1).Add(world.Period()))
		out.Reset()
		world.Encode(0, world.Clients(), &out)
		world.End()
	}
	for i, name := range names {
		known, _ := world.View(server.PlayerID(i + 1)).Count()
		fmt.Println(name, "knows", known)
	}
	// Output:
	// ann knows 2
	// bob knows 2
	// cid knows 1
}
