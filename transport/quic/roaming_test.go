package quic

import (
	"context"
	"testing"
	"time"

	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/relay"
)

// A client whose address changes again and again keeps its connection.
func TestAddressChanges(t *testing.T) {
	l, c := serve(t, Config{})
	r, err := relay.New("127.0.0.1")
	if err == nil {
		err = r.To(l.Addr())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	client, server := conntest.Connect(
		t,
		conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			return Dial(ctx, r.Addr(), DialConfig{Clock: conntest.Clock, TLS: cert.Pin(pins(t, c)...)})
		}},
		true,
	)
	for i := range 8 {
		if i > 0 {
			r.Move()
		}
		done := make(chan struct{})
		go func() { // the first datagrams from a new address may be lost
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-done:
					return
				case <-tick.C:
					client.Send(conntest.Datagram(wire.Seq(i), 100))
					server.Send(conntest.Datagram(wire.Seq(i), 100))
				}
			}
		}()
		for name, end := range map[string]transport.Conn{"client": client, "server": server} {
			for {
				d, _, err := end.Receive(conntest.Context(t))
				if err != nil {
					t.Fatalf("address %d: the %s hears nothing: %v", i, name, err)
				}
				if d[3] == byte(i) {
					break
				}
			}
		}
		close(done)
	}
}
