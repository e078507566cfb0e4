package memory_test

import (
	"context"
	"fmt"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/transport/memory"
)

// A client and a server in one process.
func Example() {
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	l, err := memory.Listen(memory.Config{Client: now, Server: now})
	if err != nil {
		panic(err)
	}
	client, err := l.Dial()
	if err != nil {
		panic(err)
	}
	_ = client.SendMessage([]byte("hello")) // the client speaks first

	server, _ := l.Accept(context.Background())
	hello, _ := server.ReceiveMessage(context.Background())
	server.Admit() // from now on it may send datagrams
	_ = server.SendMessage([]byte("welcome"))

	welcome, _ := client.ReceiveMessage(context.Background())
	fmt.Printf("%s, %s\n", hello, welcome)
	l.Close("that was all")
	<-client.Done()
	fmt.Println(client.Err())
	// Output:
	// hello, welcome
	// transport: closed by the peer: that was all
}
