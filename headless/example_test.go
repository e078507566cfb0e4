package headless_test

import (
	"context"
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/transport/memory"
)

// A player joins a host in the same process and plays until it knows where its avatar is.
func Example() {
	rules, err := zap.Game.Rules()
	if err != nil {
		panic(err)
	}
	h, err := host.New(host.Config{Rules: rules})
	if err != nil {
		panic(err)
	}
	l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	hosting := make(chan error, 1)
	go func() { hosting <- h.Run(ctx, l) }()

	conn, err := l.Dial()
	if err != nil {
		panic(err)
	}
	p, err := headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: h.Clock(), Name: "Ada", Bot: rules.Bot()})
	if err != nil {
		panic(err)
	}
	playing := make(chan error, 1)
	go func() { playing <- p.Run(ctx) }()
	for plays := false; !plays; time.Sleep(time.Millisecond) {
		p.Do(func(c *client.Client) { plays = c.Me() != 0 })
	}
	fmt.Println("player", p.ID(), "plays", rules.Name)
	stop()
	fmt.Println(<-playing, <-hosting)
	// Output:
	// player 1 plays zap
	// <nil> <nil>
}
