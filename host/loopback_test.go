package host

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/headless"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

// patience bounds every wait in real time. It says that something hangs, never that it is slow.
const patience = 30 * time.Second

// until waits until ok returns nil.
func until(t testing.TB, what string, ok func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never happened: %s: %v", what, err)
		}
	}
}

// Players over every real transport play in one room, then stand still and have the same world.
func TestLoopback(t *testing.T) {
	h, err := New(Config{Rules: rules(t), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	gate := transport.NewGate(0, 0)
	udp, err := quic.Listen(quic.Config{Clock: h.Clock(), Certificate: certificate.GetCertificate, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := websocket.NewServer(websocket.Config{Clock: h.Clock(), Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(tcp)
	defer web.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, udp, tcp) }()

	prints, err := certificate.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	clock, pin := h.Clock(), cert.Pin(prints...)
	s := &stage{Host: h, t: t}
	var guests []*visitor
	for name, dial := range map[string]func() (transport.Conn, error){
		"quic": func() (transport.Conn, error) {
			return quic.Dial(ctx, udp.Addr(), quic.DialConfig{Clock: clock, TLS: pin})
		},
		"webtransport": func() (transport.Conn, error) {
			return webtransport.Dial(ctx, "https://"+udp.Addr()+transport.Path,
				webtransport.DialConfig{Clock: clock, TLS: pin})
		},
		"websocket": func() (transport.Conn, error) {
			return websocket.Dial(ctx, strings.Replace(web.URL, "http", "ws", 1)+transport.Path,
				websocket.DialConfig{Clock: clock})
		},
	} {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		p, err := headless.Join(ctx, conn, headless.Config{Rules: h.cfg.Rules, Clock: clock, Name: name,
			Bot: h.cfg.Rules.Bot()})
		if err != nil {
			t.Fatal(err)
		}
		g := &visitor{Player: p, left: make(chan error, 1)}
		go func() { g.left <- p.Run(context.Background()) }()
		guests = append(guests, g)
	}
	// On a machine of any speed: all have played a while, then nobody moves.
	for _, g := range guests {
		until(t, g.Conn().Name()+" plays", func() (err error) {
			g.Do(func(c *client.Client) {
				if st := c.Stats(); st.Received < 20 || st.Prediction.Confirmed < 10 || !st.Synced {
					err = fmt.Errorf("%+v", st)
				}
			})
			return err
		})
	}
	for _, g := range guests {
		g.SetBot(nil)
	}
	until(t, "all have the same world", func() error { return s.converged("lobby", guests...) })
	for _, g := range guests {
		g.Do(func(c *client.Client) {
			st, name := c.Stats(), g.Conn().Name()
			if st.Malformed != 0 {
				t.Errorf("%s: %+v", name, st)
			}
			t.Logf("%-12s round trip %v, clock to %v, %d of %d predictions corrected", name, st.RTT, st.Bound,
				st.Prediction.Corrections, st.Prediction.Confirmed)
		})
	}
	until(t, "three players are counted", func() error { // which is done once a second
		if n := h.Stats().Players; n != 3 {
			return fmt.Errorf("%d players", n)
		}
		return nil
	})
	if st := h.Stats(); st.Drops.Malformed+st.Drops.HostileAck+st.Faults != 0 {
		t.Errorf("%+v", st)
	}

	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, g := range guests {
		if err := <-g.left; err == nil || !strings.Contains(err.Error(), session.ShuttingDown.String()) {
			t.Errorf("%s got %v", g.Conn().Name(), err)
		}
	}
}
