package quic_test

import (
	"context"
	"fmt"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
)

// A server with a certificate of its own, and a native client that knows its fingerprint. Browsers
// reach the same port at https://host:port/meanwhile.
func Example() {
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	ctx := context.Background()

	own, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		panic(err)
	}
	l, err := quic.Listen(quic.Config{Clock: now, Certificate: own.GetCertificate})
	if err != nil {
		panic(err)
	}
	pins, err := own.Fingerprints() // a page gets them with its configuration
	if err != nil {
		panic(err)
	}
	client, err := quic.Dial(ctx, l.Addr(), quic.DialConfig{Clock: now, TLS: cert.Pin(pins...)})
	if err != nil {
		panic(err)
	}
	_ = client.SendMessage([]byte("hello")) // the client speaks first

	server, _ := l.Accept(ctx)
	hello, _ := server.ReceiveMessage(ctx)
	server.Admit()
	_ = server.SendMessage(append(hello, " to you"...))
	answer, _ := client.ReceiveMessage(ctx)
	fmt.Printf("%s over %s\n", answer, client.Name())

	l.Close("that was all")
	<-client.Done()
	fmt.Println(client.Err())
	// Output:
	// hello to you over quic
	// transport: closed by the peer: that was all
}
