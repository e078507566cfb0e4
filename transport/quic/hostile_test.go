package quic

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	wt "github.com/quic-go/webtransport-go"

	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/internal/overquic"
	"meanwhile/transport/webtransport"
)

// raw dials without the package's client.
func raw(t testing.TB, l *Listener, protocol string) (*quic.Conn, error) {
	t.Helper()
	return rawFrom(t, conntest.Context(t), l, protocol, overquic.Config(0, 0))
}

func rawFrom(t testing.TB, ctx context.Context, l *Listener, protocol string, conf *quic.Config) (*quic.Conn, error) {
	t.Helper()
	c, end, err := overquic.Dial(ctx, l.Addr(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}},
		conf)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.CloseWithError(0, ""); end() })
	return c, nil
}

func mustRaw(t testing.TB, l *Listener, protocol string) *quic.Conn {
	t.Helper()
	c, err := raw(t, l, protocol)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// closedFor waits for the server to close c and returns its reason.
func closedFor(t testing.TB, c *quic.Conn) string {
	t.Helper()
	conntest.Wait(t, c.Context().Done(), "the server bears it")
	var app *quic.ApplicationError
	if !errors.As(context.Cause(c.Context()), &app) || !app.Remote {
		t.Fatalf("the connection ended with %v", context.Cause(c.Context()))
	}
	return app.ErrorMessage
}

func TestUnknownProtocolIsRefused(t *testing.T) {
	l, _ := serve(t, Config{})
	if _, err := raw(t, l, "other/1"); err == nil || !strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("ALPN other/1: %v", err)
	}
}

func TestWrongFingerprintIsRefused(t *testing.T) {
	l, _ := serve(t, Config{})
	if _, err := dialNative(conntest.Context(t), l, cert.Fingerprint{1}); !errors.Is(err, cert.ErrNotPinned) {
		t.Errorf("native: %v", err)
	}
	if _, err := dialWeb(conntest.Context(t), l, "", cert.Fingerprint{1}); !errors.Is(err, cert.ErrNotPinned) {
		t.Errorf("web: %v", err)
	}
}

func TestOrigins(t *testing.T) {
	l, c := serve(t, Config{Origins: transport.Origins{"https://play.example", "http://localhost:*"}})
	for origin, ok := range map[string]bool{
		"": true, "https://play.example": true, "http://localhost:8080": true,
		"https://evil.example": false, "http://play.example": false, "null": false,
	} {
		conn, err := dialWeb(conntest.Context(t), l, origin, pins(t, c)...)
		if (err == nil) != ok {
			t.Errorf("origin %q: %v", origin, err)
		}
		if err == nil {
			conntest.End(t, conn)
		}
	}
	if n := l.Counts().RefusedSession; n != 3 {
		t.Errorf("%d refused, want 3", n)
	}
}

// What else a web client may ask for is answered with an error, and costs a connection at most.
func TestOtherRequests(t *testing.T) {
	l, _ := serve(t, Config{})
	h := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, QUICConfig: overquic.Config(0, 0)}
	defer h.Close()
	for path, want := range map[string]int{"/": http.StatusNotFound, transport.Path: http.StatusMethodNotAllowed} {
		r, err := (&http.Client{Transport: h}).Get("https://" + l.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, r.Status, want)
		}
	}
}

func TestOneSessionAConnection(t *testing.T) { synctest.Test(t, testOneSessionAConnection) }

func testOneSessionAConnection(t *testing.T) {
	l := inBubble(t, Config{})
	c, err := l.raw(t, webtransport.ALPN)
	if err != nil {
		t.Fatal(err)
	}
	client, err := (&wt.Transport{Config: &wt.Config{MaxIncomingStreams: 1, MaxIncomingData: 1000}}).NewClientConn(c)
	if err != nil {
		t.Fatal(err)
	}
	url := "https://" + l.Addr() + transport.Path
	if _, _, err := client.Dial(conntest.Context(t), url, nil); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, second, err := client.Dial(conntest.Context(t), url, nil)
	if err == nil {
		conntest.Wait(t, second.Context().Done(), "a second session on one connection stays")
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it was refused after %v", took)
	}
	if n := l.Counts().RefusedSession; n != 1 {
		t.Errorf("%d refused, want 1", n)
	}
}

// The time for a session to begin does not end one that began.
func TestSessionsOutliveTheirBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, Config{HelloTimeout: time.Second})
		client, _ := conntest.Connect(t, b.web(), true)
		time.Sleep(5 * time.Second)
		if err, n := client.Err(), b.Counts().RefusedSilent; err != nil || n != 0 {
			t.Errorf("after five seconds: %v, %d counted as silent", err, n)
		}
	})
}

// Safari opens no session with a server whose SETTINGS lack any of the three bounds
// (webtransport-go issue 355). Real Safari is not part of these tests; its demand is.
func TestSettingsOnTheWire(t *testing.T) {
	l, _ := serve(t, Config{})
	c := mustRaw(t, l, webtransport.ALPN)
	ctx := conntest.Context(t)
	for {
		s, err := c.AcceptUniStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r := quicvarint.NewReader(s)
		kind, err := quicvarint.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if kind != 0 { // not the control stream
			continue
		}
		frame, err1 := quicvarint.Read(r)
		length, err2 := quicvarint.Read(r)
		if err := errors.Join(err1, err2); err != nil || frame != 4 {
			t.Fatalf("frame type %d, %v; want SETTINGS, 4", frame, err)
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string][]byte{
			"WT_INITIAL_MAX_DATA 262144":    {0x6b, 0x61, 0x80, 0x04, 0x00, 0x00},
			"WT_INITIAL_MAX_STREAMS_UNI 4":  {0x6b, 0x64, 0x04},
			"WT_INITIAL_MAX_STREAMS_BIDI 4": {0x6b, 0x65, 0x04},
			"WT_MAX_SESSIONS 2^62-1": {0x94, 0xe9, 0xcd, 0x29, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				0xff},
			"WT_ENABLED 1":                     {0xac, 0x7c, 0xf0, 0x00, 0x01},
			"ENABLE_WEBTRANSPORT of draft 6 1": {0xab, 0x60, 0x37, 0x42, 0x01},
			"ENABLE_CONNECT_PROTOCOL 1":        {0x08, 0x01},
			"H3_DATAGRAM 1":                    {0x33, 0x01},
		} {
			if !bytes.Contains(body, want) {
				t.Errorf("SETTINGS %x lack %s: %x", body, name, want)
			}
		}
		return
	}
}

func TestGarbageOnTheStream(t *testing.T) {
	l, _ := serve(t, Config{})
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"a frame of 4 GB", []byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3},
			"a frame of 4294967295 bytes, over the bound of 8192"},
		{"a frame over the early bound", binary.LittleEndian.AppendUint32(nil, transport.MaxEarlyMessage+1),
			"over the bound of 8192"},
		{"HTTP/1", []byte("GET / HTTP/1.1\r\n\r\n"), "over the bound"},
	} {
		conn := mustRaw(t, l, transport.ALPN)
		s, err := conn.OpenStreamSync(conntest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(c.bytes); err != nil {
			t.Fatal(err)
		}
		if reason := closedFor(t, conn); !strings.Contains(reason, c.want) {
			t.Errorf("%s: closed with %q, want %q", c.name, reason, c.want)
		}
	}
}

// A stream that ends inside a frame is not a goodbye.
func TestFrameCutShort(t *testing.T) {
	l, _ := serve(t, Config{})
	conn := mustRaw(t, l, transport.ALPN)
	s, err := conn.OpenStreamSync(conntest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Write([]byte{100, 0, 0, 0, 1, 2, 3})
	_ = s.Close()
	if reason := closedFor(t, conn); !strings.Contains(reason, "unexpected EOF") {
		t.Errorf("closed with %q", reason)
	}
}

func TestOversizeDatagramsAreDropped(t *testing.T) {
	l, _ := serve(t, Config{})
	conf := overquic.Config(0, 0)
	conf.InitialPacketSize = 1400 // not where time is virtual: see overquic.Config
	conn, err := rawFrom(t, conntest.Context(t), l, transport.ALPN, conf)
	if err != nil {
		t.Fatal(err)
	}
	s, err := conn.OpenStreamSync(conntest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(transport.AppendFrame(nil, []byte("hello"))); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept(conntest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	server.Admit()
	for _, n := range []int{0, 1, transport.MinDatagram - 1, transport.MaxDatagram + 1, 1300} {
		if err := conn.SendDatagram(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	conntest.Until(t, "all counted", func() bool { return server.Stats().IgnoredSize == 5 })
	if err := conn.SendDatagram(conntest.Datagram(9, 20)); err != nil {
		t.Fatal(err)
	}
	if b, _, err := server.Receive(conntest.Context(t)); err != nil || wire.SeqOf(b) != 9 {
		t.Errorf("%x, %v", b, err)
	}
}

func TestGarbageOnTheSocket(t *testing.T) {
	l, c := serve(t, Config{})
	s, err := net.Dial("udp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 300 {
		b := make([]byte, n*5)
		_, _ = rand.Read(b)
		_, _ = s.Write(b)
	}
	n := conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
		return dialNative(ctx, l, pins(t, c)...)
	}}
	conntest.Connect(t, n, true)
}

func TestSilentVisitorsAreSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inBubble(t, Config{HelloTimeout: time.Second})
		for protocol, want := range map[string]string{
			transport.ALPN: "no stream within 1s", webtransport.ALPN: "no session within 1s",
		} {
			c, err := b.raw(t, protocol)
			if err != nil {
				t.Fatal(err)
			}
			if reason := closedFor(t, c); reason != want {
				t.Errorf("%s: closed with %q, want %q", protocol, reason, want)
			}
		}
		conntest.Until(t, "places are free again", func() bool { return b.Visitors() == 0 })
		if n := b.Counts().RefusedSilent; n != 2 {
			t.Errorf("%d counted, want 2", n)
		}
	})
}

// A flood of visitors who never say anything fills the Gate and nothing else, and newcomers still
// come in: the oldest of the flood makes place. Those who are in are not disturbed.
func TestFloodIsBounded(t *testing.T) { synctest.Test(t, testFloodIsBounded) }

func testFloodIsBounded(t *testing.T) {
	const most = 6
	gate := transport.NewGate(most, 0)
	b := inBubble(t, Config{Gate: gate, HelloTimeout: 2 * time.Second})
	player, server := conntest.Connect(t, b.native(), true)
	if v := b.Visitors(); v != 0 {
		t.Errorf("%d visitors although the player is admitted", v)
	}
	var flood []*quic.Conn
	for i := range 20 {
		if c, err := b.raw(t, []string{transport.ALPN, webtransport.ALPN}[i%2]); err == nil {
			flood = append(flood, c)
		}
		if v := b.Visitors(); v > most {
			t.Fatalf("%d visitors, bound %d", v, most)
		}
	}
	conntest.Connect(t, b.native(), true)
	if _, out := gate.Counts(); len(flood) != 20 || out != 20+1-most {
		t.Errorf("%d got in, %d were put out; want 20 and %d", len(flood), out, 20+1-most)
	}
	if reason := closedFor(t, flood[0]); reason != transport.CrowdedOut {
		t.Errorf("the first of the flood ended with %q", reason)
	}
	player.Send(conntest.Datagram(1, 20))
	if _, _, err := server.Receive(conntest.Context(t)); err != nil {
		t.Error(err)
	}
	conntest.Until(t, "the flood ebbs", func() bool { return b.Visitors() == 0 })
	conntest.Connect(t, b.native(), true)
}

// A crowded gate makes newcomers prove their address with a Retry (RFC 9000 §8.1.2), which costs
// them a round trip and keeps forged addresses out. While it is not crowded nobody pays that.
func TestCrowdedGateAsksForTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := transport.NewGate(4, 0)
		l := inBubble(t, Config{Gate: gate})
		for range 2 {
			if _, err := l.raw(t, transport.ALPN); err != nil {
				t.Fatal(err)
			}
		}
		if n := l.router.retries.Load(); n != 0 {
			t.Errorf("%d Retry packets for the first two of four", n)
		}
		if !gate.Crowded(l.Addr()) {
			t.Fatal("two of four are not a crowd")
		}
		conntest.Connect(t, l.native(), true)
		if l.router.retries.Load() == 0 {
			t.Error("no Retry packet for a newcomer at a crowded gate")
		}
	})
}

// At a gate that is half full a handshake may take two seconds, at another one as long as a hello.
func TestHandshakesAtACrowdedGate(t *testing.T) {
	for _, c := range []struct {
		inside int
		dark   time.Duration // once a connection exists, and before the answer to it is sent
		want   int           // visitors that are left
	}{{0, 3 * time.Millisecond, 1}, {2, 12 * time.Millisecond, 2}} {
		synctest.Test(t, func(t *testing.T) {
			gate := transport.NewGate(4, 0)
			l := inBubble(t, Config{Gate: gate})
			l.router.latency = 5 * time.Millisecond
			for range c.inside {
				gate.Enter("127.0.0.1:1")
			}
			time.AfterFunc(c.dark, func() { l.router.dark.Store(true) })
			ctx, cancel := context.WithTimeout(overquic.From(t.Context(), l.socket()), 3*time.Second)
			defer cancel()
			if _, err := rawFrom(t, ctx, l.Listener, transport.ALPN, overquic.Config(0, 0)); err == nil {
				t.Error("a handshake ended without an answer")
			}
			if n := gate.Visitors(); n != c.want {
				t.Errorf("%d visitors three seconds after one began, %d others inside, want %d", n, c.inside, c.want)
			}
		})
	}
}

// A stranger can make the server hold unread no more than the windows say: a few streams of each
// kind, and 64 kB on all of them together.
func TestStrangersFillOnlyTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := inBubble(t, Config{HelloTimeout: time.Minute})
		l.router.latency = 5 * time.Millisecond
		c, err := l.raw(t, transport.ALPN)
		if err != nil {
			t.Fatal(err)
		}
		var streams []*quic.Stream
		for range 200 {
			s, err := c.OpenStream()
			if err != nil {
				break
			}
			streams = append(streams, s)
		}
		uni := 0
		for range 200 {
			if _, err := c.OpenUniStream(); err != nil {
				break
			}
			uni++
		}
		if len(streams) != 8 || uni != 8 {
			t.Fatalf("a stranger opens %d streams and %d one-way streams, want 8 and 8", len(streams), uni)
		}
		held := 0
		for _, s := range streams[1:] { // nobody reads these
			_ = s.SetWriteDeadline(time.Now().Add(time.Second))
			n, _ := s.Write(make([]byte, 1<<20))
			held += n
		}
		if held > 64<<10 || held < 32<<10 {
			t.Errorf("the server holds %d bytes unread, want at most 64 kB", held)
		}
	})
}
