package quic

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
)

// A roof forwards datagrams between one client and a server, as a router does that translates
// addresses. The server sees the address of the newest socket that move opened.
type roof struct {
	t      testing.TB
	inside *net.UDPConn
	server *net.UDPAddr

	mu      sync.Mutex
	client  *net.UDPAddr
	outside *net.UDPConn
	wg      sync.WaitGroup
}

func newRoof(t testing.TB, server string) *roof {
	r := &roof{t: t, inside: socket(t)}
	var err error
	if r.server, err = net.ResolveUDPAddr("udp", server); err != nil {
		t.Fatal(err)
	}
	r.move()
	r.wg.Go(func() {
		b := make([]byte, 2048)
		for {
			n, from, err := r.inside.ReadFromUDP(b)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.client = from
			_, _ = r.outside.WriteToUDP(b[:n], r.server)
			r.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = r.inside.Close()
		r.mu.Lock()
		_ = r.outside.Close()
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

func socket(t testing.TB) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// move gives the client another address, and forgets the one before.
func (r *roof) move() {
	out := socket(r.t)
	r.mu.Lock()
	if r.outside != nil {
		_ = r.outside.Close()
	}
	r.outside = out
	r.mu.Unlock()
	r.wg.Go(func() {
		b := make([]byte, 2048)
		for {
			n, _, err := out.ReadFromUDP(b)
			if err != nil {
				return
			}
			r.mu.Lock()
			if r.client != nil {
				_, _ = r.inside.WriteToUDP(b[:n], r.client)
			}
			r.mu.Unlock()
		}
	})
}

// A client whose address changes again and again keeps its connection.
func TestAddressChanges(t *testing.T) {
	l, c := serve(t, Config{})
	r := newRoof(t, l.Addr())
	client, server := conntest.Connect(
		t,
		conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			return Dial(ctx, r.inside.LocalAddr().String(), DialConfig{Clock: conntest.Clock, TLS: cert.Pin(pins(t, c)...)})
		}},
		true,
	)
	for i := range 8 {
		if i > 0 {
			r.move()
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
