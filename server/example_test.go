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

// One world and one player, wired together without a network: what a host and a transport do for real.
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
	fmt.Println("corrections:", player.Stats().Corrections)
	// Output:
	// the avatar walked: true
	// it is predicted: true
	// corrections: 0
}
