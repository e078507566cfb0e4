package quic

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/internal/overquic"

	"github.com/quic-go/quic-go"
)

// Native clients and browsers meet on one UDP port.
func TestBothOnOnePort(t *testing.T) {
	l, c := serve(t, Config{})
	native := conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn,
		error) {
		return dialNative(ctx, l, pins(t, c)...)
	}}
	web := conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn,
		error) {
		return dialWeb(ctx, l, "", pins(t, c)...)
	}}
	for range 2 {
		for _, n := range []conntest.Network{native, web} {
			client, server := conntest.Connect(t, n, true)
			if client.Name() != server.Name() {
				t.Errorf("a %s client met a %s server", client.Name(), server.Name())
			}
			client.Send(conntest.Datagram(1, 100))
			if _, _, err := server.Receive(conntest.Context(t)); err != nil {
				t.Error(err)
			}
			if s := server.Stats(); s.PacketsReceived == 0 || s.PacketBytesReceived < 100 || s.CongestionWindow == 0 ||
				s.RTT <= 0 {
				t.Errorf("%s: packets are not counted: %+v", server.Name(), s)
			}
		}
	}
	// The last connection may be there before it is counted.
	conntest.Until(t, "four connections are counted", func() bool { return l.Counts().Accepted == 4 })
	if n := l.Counts(); n.Accepted != 4 ||
		n.RefusedCrowded+n.RefusedBacklog+n.RefusedSession+n.RefusedSilent+n.RefusedProtocol != 0 {
		t.Errorf("%+v", n)
	}
}

// A client of a server that was killed learns at once that its connection is gone when the server
// is back, on QUIC and on WebTransport.
func TestKilledServerEndsOldConnections(t *testing.T) {
	t.Parallel()

	own, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	key := [ResetKeySize]byte{1, 2, 3}
	first, _ := serve(t, Config{Certificate: own.GetCertificate, ResetKey: &key})
	var clients []transport.Conn
	for _, dial := range []func() (transport.Conn, error){
		func() (transport.Conn, error) { return dialNative(conntest.Context(t), first, pins(t, own)...) },
		func() (transport.Conn, error) { return dialWeb(conntest.Context(t), first, "", pins(t, own)...) },
	} {
		client, _ := conntest.Connect(t, conntest.Network{Listener: first,
			Dial: func(context.Context) (transport.Conn, error) { return dial() }}, true)
		clients = append(clients, client)
	}
	_ = first.socket.Close() // nothing is said to anybody
	serve(t, Config{Addr: first.Addr(), Certificate: own.GetCertificate, ResetKey: &key})
	for _, client := range clients {
		end := time.After(transport.IdleTimeout / 2)
		for seq := wire.Seq(1); client.Err() == nil; seq++ {
			client.Send(conntest.Datagram(seq, 100))
			select {
			case <-end:
				t.Fatalf("the client over %s still waits", client.Name())
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// A peer that goes dark never blocks Send: what the path does not take is displaced by newer
// datagrams and reported. When the peer stays away, the connection ends.
func TestPeerGoneDark(t *testing.T) {
	for _, name := range []string{"quic", "webtransport"} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testPeerGoneDark(t, name) }) })
	}
}

func testPeerGoneDark(t *testing.T, name string) {
	const idle = time.Second
	b := inBubble(t, Config{IdleTimeout: idle})
	n := b.native()
	if name == "webtransport" {
		n = b.web()
	}
	_, server := conntest.Connect(t, n, true)
	time.Sleep(time.Minute)
	if err := server.Err(); err != nil {
		t.Fatalf("a quiet peer is not kept: %v", err)
	}
	b.router.dark.Store(true)
	start := time.Now()
	var (
		seq     wire.Seq
		dropped []wire.Seq
	)
	conntest.Until(t, "the path is full", func() bool {
		for range 20 { // nobody acknowledges: what does not fit the window stays
			seq++
			server.Send(conntest.Datagram(seq, transport.MaxDatagram))
		}
		dropped = server.Dropped(dropped)
		return len(dropped) > 50
	})
	for i, s := range dropped[1:] {
		if !s.Newer(dropped[i]) {
			t.Fatalf("reports %d and %d are %d and %d", i, i+1, dropped[i], s)
		}
	}
	if s := server.Stats(); s.DroppedOld == 0 || s.Sent+s.DroppedOld+transport.Mailbox+1 < uint64(seq) {
		t.Errorf("of %d: %+v", seq, s)
	}
	conntest.Wait(t, server.Done(), "the server never notices")
	if !strings.Contains(server.Err().Error(), "silent") {
		t.Error(server.Err())
	}
	if d := time.Since(start); d > 2*idle {
		t.Errorf("noticed after %v", d)
	}
}

// The certificate changes while the server runs: who is in stays in, who knows the new fingerprint
// comes in, who knows only the old one does not.
func TestCertificateChangesLive(t *testing.T) {
	var days atomic.Int64
	start := time.Now()
	own, err := cert.NewSelfSigned(cert.Config{Now: func() time.Time {
		return start.Add(time.Duration(days.Load()) * 24 * time.Hour)
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := serve(t, Config{Certificate: own.GetCertificate})
	dial := func(pin ...cert.Fingerprint) conntest.Network {
		return conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn,
			error) {
			return dialNative(ctx, l, pin...)
		}}
	}
	first := pins(t, own)
	client, server := conntest.Connect(t, dial(first...), true)
	days.Store(3)
	ahead := pins(t, own) // a page loaded now knows both
	days.Store(5)
	second := pins(t, own)
	if len(first) != 1 || len(ahead) != 2 || len(second) != 1 || ahead[0] != first[0] || ahead[1] != second[0] {
		t.Fatalf("published %v, then %v, then %v", first, ahead, second)
	}
	if _, err := dialNative(conntest.Context(t), l, first...); !errors.Is(err, cert.ErrNotPinned) {
		t.Errorf("the old fingerprint still opens: %v", err)
	}
	conntest.Connect(t, dial(ahead...), true)
	conntest.Connect(t, dial(second...), true)
	client.Send(conntest.Datagram(1, 20))
	if _, _, err := server.Receive(conntest.Context(t)); err != nil {
		t.Error(err)
	}
}

// tooLarge is a path whose packets are smaller than our datagrams.
type tooLarge struct{ sent atomic.Int64 }

func (p *tooLarge) SendDatagram(b []byte) error {
	if len(b) > 1000 {
		return &quic.DatagramTooLargeError{MaxDatagramPayloadSize: 1000}
	}
	p.sent.Add(1)
	return nil
}

func (p *tooLarge) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// nothing is a stream on which nothing comes.
type nothing struct{ closed chan struct{} }

func (n nothing) Read([]byte) (int, error)    { <-n.closed; return 0, net.ErrClosed }
func (n nothing) Write(b []byte) (int, error) { return len(b), nil }
func (n nothing) Close() error                { return nil }

func TestPathThatTakesOnlySmallDatagrams(t *testing.T) {
	d, s := &tooLarge{}, nothing{make(chan struct{})}
	p := &overquic.Path{Datagrams: d, Stream: s, End: func(string) { close(s.closed) }}
	l := transport.NewLink(transport.LinkConfig{Name: "quic", Clock: conntest.Clock}, p, p.ReadMessages)
	l.Send(conntest.Datagram(1, transport.MaxDatagram))
	l.Send(conntest.Datagram(2, 1000))
	conntest.Until(t, "the small one", func() bool { return d.sent.Load() == 1 })
	if r := l.Dropped(nil); len(r) != 1 || r[0] != 1 || l.Err() != nil {
		t.Errorf("reports %v, %v; want [1] and an open connection", r, l.Err())
	}
	conntest.End(t, l)
}

// A babbler is a path on which more packets came than anybody may send.
type babbler struct{ *overquic.Path }

func (babbler) Measure(s *transport.Stats) { s.PacketsReceived = 20 * transport.ClientPackets }

// A listener looks how many packets come, whatever is in them.
func TestPacketsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inBubble(t, Config{})
		s := nothing{make(chan struct{})}
		p := babbler{&overquic.Path{Stream: s, End: func(string) { close(s.closed) }}}
		var link *transport.Link
		err := l.in.Join(
			transport.LinkConfig{Clock: conntest.Clock},
			func(cfg transport.LinkConfig) (*transport.Link, error) {
				link = transport.NewLink(cfg, p, p.ReadMessages)
				return link, nil
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := link.Err(); err == nil || !strings.Contains(err.Error(), transport.TooManyPackets) {
			t.Errorf("the flood ends with %v", err)
		}
		link.Close("")
	})
}

// The end of the QUIC connection wakes a reader of datagrams, even when the session above it
// forgets to: two goodbyes at once have made quic-go v0.64.1 do that.
func TestReaderEndsWithTheConnection(t *testing.T) {
	l, _ := serve(t, Config{})
	c := mustRaw(t, l, transport.ALPN)
	s := nothing{make(chan struct{})}
	p := &overquic.Path{Conn: c, Datagrams: &tooLarge{}, Stream: s, End: func(string) { close(s.closed) }}
	link := transport.NewLink(transport.LinkConfig{Name: "quic", Clock: conntest.Clock}, p, p.ReadDatagrams,
		p.ReadMessages)
	_ = c.CloseWithError(overquic.CodeClosed, "enough")
	conntest.Wait(t, link.Done(), "the reader outlives its connection")
	if e := link.Err(); e == nil || !strings.Contains(e.Error(), "enough") {
		t.Errorf("the link says %v", e)
	}
}

// Nothing is left running when a listener and its clients have ended.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	l, c := serve(t, Config{})
	var clients []transport.Conn
	for i := range 6 {
		n := conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			if i%2 == 0 {
				return dialNative(ctx, l, pins(t, c)...)
			}
			return dialWeb(ctx, l, "", pins(t, c)...)
		}}
		client, _ := conntest.Connect(t, n, i%3 > 0)
		clients = append(clients, client)
	}
	_, _ = raw(t, l, transport.ALPN)
	l.Close("over")
	for _, c := range clients {
		conntest.Wait(t, c.Done(), "a client stays")
	}
	// the raw client's
	conntest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+4 })
}

func TestConfig(t *testing.T) {
	if _, err := Listen(Config{}); err == nil || !strings.Contains(err.Error(), "Clock") {
		t.Error(err)
	}
	own, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"nonsense", "127.0.0.1:99999", "203.0.113.1:1"} {
		if _, err := Listen(Config{Addr: addr, Clock: conntest.Clock, Certificate: own.GetCertificate}); err == nil ||
			!strings.HasPrefix(err.Error(), "quic: ") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := Dial(context.Background(), "127.0.0.1:1", DialConfig{}); err == nil {
		t.Error("no clock")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, "127.0.0.1:1", DialConfig{Clock: conntest.Clock}); err == nil {
		t.Error("nobody is there")
	}
	if _, err := Dial(ctx, "no port", DialConfig{Clock: conntest.Clock}); err == nil ||
		!strings.Contains(err.Error(), "no port") {
		t.Error(err)
	}
}

func benchmarkDatagrams(b *testing.B, dial func(context.Context, *Listener, *cert.SelfSigned) (transport.Conn, error)) {
	l, c := serve(b, Config{})
	n := conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn,
		error) {
		return dial(ctx, l, c)
	}}
	client, server := conntest.Connect(b, n, true)
	arrived := make(chan struct{}, 1)
	server.Deliver(func([]byte, clock.Time) {
		select {
		case arrived <- struct{}{}:
		default:
		}
	})
	d := conntest.Datagram(1, 200)
	lost := time.NewTicker(100 * time.Millisecond) // a busy machine's kernel may drop one
	defer lost.Stop()
	b.ReportAllocs()
	for b.Loop() {
		client.Send(d)
		select {
		case <-arrived:
		case <-lost.C:
		}
	}
}

// One datagram across the loopback, from Send to Deliver.
func BenchmarkDatagram(b *testing.B) {
	b.Run("quic", func(b *testing.B) {
		benchmarkDatagrams(b, func(ctx context.Context, l *Listener, c *cert.SelfSigned) (transport.Conn, error) {
			return dialNative(ctx, l, pins(b, c)...)
		})
	})
	b.Run("webtransport", func(b *testing.B) {
		benchmarkDatagrams(b, func(ctx context.Context, l *Listener, c *cert.SelfSigned) (transport.Conn, error) {
			return dialWeb(ctx, l, "", pins(b, c)...)
		})
	})
}

// What an idle connection holds: both ends, in heap and stacks, and in goroutines.
func BenchmarkIdle(b *testing.B) {
	for _, name := range []string{"quic", "webtransport"} {
		b.Run(name, func(b *testing.B) {
			l, c := serve(b, Config{})
			n := conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
				if name == "quic" {
					return dialNative(ctx, l, pins(b, c)...)
				}
				return dialWeb(ctx, l, "", pins(b, c)...)
			}}
			conntest.Connect(b, n, true)
			held := func() (bytes, goroutines int) {
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return int(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
			}
			bytes, goroutines := held()
			for b.Loop() { // meant for -benchtime 200x
				conntest.Connect(b, n, true)
			}
			more, with := held()
			b.ReportMetric(float64(more-bytes)/float64(b.N)/1000, "pair-kB")
			b.ReportMetric(float64(with-goroutines)/float64(b.N), "pair-goroutines")
		})
	}
}
