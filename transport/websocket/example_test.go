package websocket_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

// A server beside a web page, on the same port.
func Example() {
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	ctx := context.Background()

	s, err := websocket.NewServer(websocket.Config{Clock: now})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle(transport.Path, s)
	web := httptest.NewServer(mux)
	defer web.Close()

	url := "ws" + strings.TrimPrefix(web.URL, "http") + transport.Path
	client, err := websocket.Dial(ctx, url, websocket.DialConfig{Clock: now})
	if err != nil {
		panic(err)
	}
	_ = client.SendMessage([]byte("hello"))
	server, _ := s.Accept(ctx)
	hello, _ := server.ReceiveMessage(ctx)
	fmt.Printf("%s over %s\n", hello, server.Name())
	s.Close("that was all")
	<-client.Done()
	fmt.Println(client.Err())
	// Output:
	// hello over websocket
	// transport: closed by the peer: that was all
}
