package quic

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/testutils/simnet"

	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/internal/overquic"
	"meanwhile/transport/webtransport"
)

// serve opens a listener on loopback with a certificate of its own.
func serve(t testing.TB, cfg Config) (*Listener, *cert.SelfSigned) {
	t.Helper()
	c, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Clock = conntest.Clock
	if cfg.Certificate == nil {
		cfg.Certificate = c.GetCertificate
	}
	l, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close("test is over") })
	return l, c
}

func pins(t testing.TB, c *cert.SelfSigned) []cert.Fingerprint {
	t.Helper()
	f, err := c.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func dialNative(ctx context.Context, l *Listener, pin ...cert.Fingerprint) (transport.Conn, error) {
	return Dial(ctx, l.Addr(), DialConfig{Clock: conntest.Clock, TLS: cert.Pin(pin...)})
}

func dialWeb(ctx context.Context, l *Listener, origin string, pin ...cert.Fingerprint) (transport.Conn, error) {
	return webtransport.Dial(ctx, "https://"+l.Addr()+transport.Path,
		webtransport.DialConfig{Clock: conntest.Clock, TLS: cert.Pin(pin...), Origin: origin})
}

func TestNative(t *testing.T) {
	t.Parallel()

	conntest.Run(t, "quic", func(t testing.TB, hello time.Duration) conntest.Network {
		l, c := serve(t, Config{HelloTimeout: hello})
		return conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			return dialNative(ctx, l, pins(t, c)...)
		}}
	})
}

// Clients of one socket are connections like others, over both transports.
func TestShared(t *testing.T) {
	t.Parallel()

	for name, dial := range map[string]func(context.Context, *Listener, ...cert.Fingerprint) (transport.Conn, error){
		"quic": dialNative,
		"webtransport": func(ctx context.Context, l *Listener, pin ...cert.Fingerprint) (transport.Conn, error) {
			return dialWeb(ctx, l, "", pin...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Run(t, name, func(t testing.TB, hello time.Duration) conntest.Network {
				l, c := serve(t, Config{HelloTimeout: hello})
				s, err := Share()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(s.Close)
				return conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
					return dial(s.With(ctx), l, pins(t, c)...)
				}}
			})
		})
	}
}

// Of connections from one socket each ends by itself, and none begins when it is closed.
func TestSharedEndOneByOne(t *testing.T) {
	t.Parallel()

	l, c := serve(t, Config{})
	s, err := Share()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	native := func(ctx context.Context) (transport.Conn, error) { return dialNative(s.With(ctx), l, pins(t, c)...) }
	web := func(ctx context.Context) (transport.Conn, error) { return dialWeb(s.With(ctx), l, "", pins(t, c)...) }
	for _, dial := range []func(context.Context) (transport.Conn, error){native, web} {
		n := conntest.Network{Listener: l, Dial: dial}
		first, _ := conntest.Connect(t, n, true)
		second, server := conntest.Connect(t, n, true)
		conntest.End(t, first)
		if err := second.SendMessage([]byte("still here")); err != nil {
			t.Fatal(err)
		}
		if m, err := server.ReceiveMessage(conntest.Context(t)); err != nil || string(m) != "still here" {
			t.Errorf("when another connection has ended the server reads %q, %v", m, err)
		}
		conntest.End(t, second)
	}
	s.Close()
	for _, dial := range []func(context.Context) (transport.Conn, error){native, web} {
		if conn, err := dial(conntest.Context(t)); err == nil {
			conn.Close("")
			t.Errorf("%s: a connection from a socket that is closed", conn.Name())
		}
	}
}

func TestWebTransport(t *testing.T) {
	t.Parallel()

	conntest.Run(t, "webtransport", func(t testing.TB, hello time.Duration) conntest.Network {
		l, c := serve(t, Config{HelloTimeout: hello})
		return conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			return dialWeb(ctx, l, "", pins(t, c)...)
		}}
	})
}

// A bubbleNet is a Listener and its clients in a bubble of synctest, where time is virtual: packets
// go from hand to hand.
type bubbleNet struct {
	*Listener
	pins   []cert.Fingerprint
	router ether
	ports  int
}

// An ether is the network of a bubble.
type ether struct {
	simnet.PerfectRouter
	dark    atomic.Bool   // nothing arrives any more
	retries atomic.Int64  // Retry packets seen
	latency time.Duration // of every packet
}

func (e *ether) SendPacket(p simnet.Packet) error {
	if e.dark.Load() {
		return nil
	}
	if isRetry(p.Data) {
		e.retries.Add(1)
	}
	if e.latency == 0 {
		return e.PerfectRouter.SendPacket(p)
	}
	p.Data = append([]byte(nil), p.Data...)
	time.AfterFunc(e.latency, func() { _ = e.PerfectRouter.SendPacket(p) })
	return nil
}

// isRetry reports whether a UDP payload is a Retry packet of QUIC version 1 (RFC 9000 §17.2.5).
func isRetry(b []byte) bool {
	return len(b) > 5 && b[0]&0xf0 == 0xf0 && [4]byte(b[1:5]) == [4]byte{0, 0, 0, 1}
}

// inBubble returns a Listener that is reached without sockets.
func inBubble(t testing.TB, cfg Config) *bubbleNet {
	t.Helper()
	n := &bubbleNet{}
	cfg.socket = n.socket()
	l, c := serve(t, cfg)
	n.Listener, n.pins = l, pins(t, c)
	return n
}

// socket returns one more socket of this machine.
func (n *bubbleNet) socket() net.PacketConn {
	n.ports++
	return simnet.NewBlockingSimConn(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n.ports}, &n.router)
}

func (n *bubbleNet) native() conntest.Network {
	return conntest.Network{Listener: n, Dial: func(ctx context.Context) (transport.Conn, error) {
		return dialNative(overquic.From(ctx, n.socket()), n.Listener, n.pins...)
	}}
}

func (n *bubbleNet) web() conntest.Network {
	return conntest.Network{Listener: n, Dial: func(ctx context.Context) (transport.Conn, error) {
		return dialWeb(overquic.From(ctx, n.socket()), n.Listener, "", n.pins...)
	}}
}

// raw dials without the package's client.
func (n *bubbleNet) raw(t testing.TB, protocol string) (*quic.Conn, error) {
	return rawFrom(t, overquic.From(conntest.Context(t), n.socket()), n.Listener, protocol, overquic.Config(0, 0))
}

func TestHelloTimeout(t *testing.T) {
	conntest.HelloTimeout(t, func(t testing.TB, hello time.Duration) conntest.Network {
		return inBubble(t, Config{HelloTimeout: hello}).native()
	})
	conntest.HelloTimeout(t, func(t testing.TB, hello time.Duration) conntest.Network {
		return inBubble(t, Config{HelloTimeout: hello}).web()
	})
}
