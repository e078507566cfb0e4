package host

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"meanwhile/headless"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

// An open host runs behind every real transport, on this machine's own addresses.
type open struct {
	*stage
	gate *transport.Gate
	udp  *quic.Listener
	ws   *websocket.Server
	url  string // of WebSocket
	pin  *tls.Config
}

// openHost starts a host with a gate. It ends with the test.
func openHost(t *testing.T, cfg Config, gate *transport.Gate) *open {
	t.Helper()
	cfg.Rules, cfg.Seed = rules(t), 1
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o := &open{stage: &stage{Host: h, t: t, done: make(chan error, 1)}, gate: gate}
	o.udp, err = quic.Listen(quic.Config{Clock: h.Clock(), Certificate: certificate.GetCertificate, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	if o.ws, err = websocket.NewServer(websocket.Config{Clock: h.Clock(), Gate: gate}); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(o.ws)
	o.url = strings.Replace(web.URL, "http", "ws", 1) + transport.Path
	prints, err := certificate.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	o.pin = cert.Pin(prints...)
	ctx, cancel := context.WithCancel(context.Background())
	o.stop = cancel
	go func() { o.done <- h.Run(ctx, o.udp, o.ws) }()
	t.Cleanup(func() {
		cancel()
		if err := <-o.done; err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return o
}

var transports = []string{"quic", "webtransport", "websocket"}

// connect dials over a transport and says nothing.
func (o *open) connect(name string) (transport.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch clock := o.Clock(); name {
	case "quic":
		return quic.Dial(ctx, o.udp.Addr(), quic.DialConfig{Clock: clock, TLS: o.pin})
	case "webtransport":
		return webtransport.Dial(ctx, "https://"+o.udp.Addr()+transport.Path,
			webtransport.DialConfig{Clock: clock, TLS: o.pin})
	default:
		return websocket.Dial(ctx, o.url, websocket.DialConfig{Clock: clock})
	}
}

// enter joins over a transport and plays.
func (o *open) enter(name string) (*visitor, error) {
	conn, err := o.connect(name)
	if err != nil {
		return nil, err
	}
	p, err := headless.Join(context.Background(), conn, headless.Config{Rules: o.cfg.Rules, Clock: o.Clock(),
		Name: name, Bot: o.cfg.Rules.Bot()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &visitor{Player: p, leave: cancel, left: make(chan error, 1)}
	go func() { g.left <- p.Run(ctx) }()
	return g, nil
}

// Connections that say nothing, on every transport, never keep a newcomer out: the oldest of them
// makes place.
func TestCrowdedGate(t *testing.T) {
	const most = 6
	o := openHost(t, Config{}, transport.NewGate(most, 0))
	var silent []transport.Conn
	defer func() {
		for _, c := range silent {
			end(c)
		}
	}()
	var guests []*visitor
	for _, name := range transports {
		for i := range 2 * most {
			c, err := o.connect(transports[i%len(transports)])
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			silent = append(silent, c)
		}
		if n := o.gate.Visitors(); n > most {
			t.Errorf("%d visitors, more than %d", n, most)
		}
		g, err := o.enter(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		guests = append(guests, g)
	}
	for _, g := range guests {
		g.leave()
		<-g.left
	}
}

// hello joins over a transport and plays nothing.
func (o *open) hello(name string) transport.Conn {
	o.t.Helper()
	conn, err := o.connect(name)
	if err != nil {
		o.t.Fatal(err)
	}
	b, err := session.Hello{Schema: o.cfg.Rules.Hash}.Append(nil)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := conn.SendMessage(b); err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m, err := conn.ReceiveMessage(ctx)
	if err != nil || session.KindOf(m) != session.KindWelcome {
		o.t.Fatalf("%s: got %x, %v; want a welcome", name, m, err)
	}
	return conn
}

// Whoever floods is put out by name, on every transport and with every kind of frame, and others
// play on.
func TestFloods(t *testing.T) {
	o := openHost(t, Config{}, nil)
	ann, err := o.enter("websocket")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range transports {
		for _, c := range []struct {
			reason string
			send   func(conn transport.Conn)
		}{
			{transport.TooManyDatagrams, func(conn transport.Conn) { conn.Send(make([]byte, transport.MinDatagram)) }},
			{transport.TooManyDatagrams, func(conn transport.Conn) { conn.Send(make([]byte, transport.MaxDatagram)) }},
			{transport.TooManyMessages, func(conn transport.Conn) {
				_ = conn.SendMessage(make([]byte, 32<<10)) // before the room has read 17 of them
			}},
		} {
			conn, before := o.hello(name), o.Stats()
			for end := time.Now().Add(patience); conn.Err() == nil; runtime.Gosched() {
				if c.send(conn); time.Now().After(end) {
					t.Fatalf("%s: %s are borne", name, strings.TrimPrefix(c.reason, "too many "))
				}
			}
			<-conn.Done()
			until(t, "the flood is counted", func() error {
				// A flood of datagrams is one of packets too; which is noticed first is a matter of
				// speed.
				grew := func(reason string) bool { return o.Stats().Flooded[reason] > before.Flooded[reason] }
				if st := o.Stats(); !grew(c.reason) && !(c.reason == transport.TooManyDatagrams && grew(transport.TooManyPackets)) {
					return fmt.Errorf("%s, %s: %v", name, c.reason, st.Flooded)
				}
				return nil
			})
		}
	}
	if err := ann.Conn().Err(); err != nil {
		t.Errorf("another player was disturbed: %v", err)
	}
	ann.leave()
	<-ann.left
}
