package client_test

import (
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
	"meanwhile/session"
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
			p.Pos = p.Pos.Add(c.Move.Mul(w.Dt()))
		},
	}
)

// The frame of a game: datagrams in, commands, entities to draw and events out. Package server has
// an example with both sides.
func Example() {
	rules, err := Stroll.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	// from the server
	welcome := session.Welcome{Session: 1, Game: "stroll", Period: time.Second / 20, History: snapshot.HistoryTicks}
	c, err := client.New(rules, welcome, 0, client.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var vals []float64
	frame := func(now clock.Time, arrived [][]byte, stick [2]int64, send func([]byte)) {
		for _, datagram := range arrived {
			c.Receive(now, datagram)
		}
		for range c.Frame(now) { // as many commands as are due
			c.Tick(stick[:])
		}
		vals = c.Draw(vals, func(e *client.Entity) { fmt.Println("draw", e.ID, "at", e.Vals[0], e.Vals[1]) })
		for _, e := range c.Events() {
			fmt.Println("show event", e.Event, "of", e.Actor)
		}
		if datagram := c.Encode(now); datagram != nil {
			send(datagram)
		}
	}
	frame(0, nil, [2]int64{0, 15}, func(b []byte) { fmt.Println("the first datagram says hello in", len(b), "bytes") })
	// Output: the first datagram says hello in 7 bytes
}
