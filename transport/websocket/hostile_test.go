package websocket

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ws "github.com/coder/websocket"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
)

// raw dials without the package's client, and returns the server's end too.
func raw(t testing.TB, s *Server, url string) (*ws.Conn, transport.Conn) {
	t.Helper()
	c, _, err := ws.Dial(conntest.Context(t), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	server, err := s.Accept(conntest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return c, server
}

func TestGarbage(t *testing.T) {
	t.Parallel()

	s, url := serve(t, Config{})
	for _, c := range []struct {
		name string
		kind ws.MessageType
		b    []byte
		want string
	}{
		{"text", ws.MessageText, []byte("hello"), "text or empty"},
		{"empty", ws.MessageBinary, nil, "text or empty"},
		{"another first byte", ws.MessageBinary, []byte{2, 1, 2, 3}, "begins with 2"},
		{"a datagram of 4 kB", ws.MessageBinary, make([]byte, 4<<10), "a datagram of more than 2046 bytes"},
		{"a large early message", ws.MessageBinary,
			append([]byte{prefixMessage}, make([]byte, transport.MaxEarlyMessage+1)...), "bound of 8192"},
		{"a huge message", ws.MessageBinary, append([]byte{prefixMessage}, make([]byte, 4<<20)...), "bound of 8192"},
	} {
		conn, server := raw(t, s, url)
		_ = conn.Write(conntest.Context(t), c.kind, c.b) // the huge one is cut off on the way
		var closed ws.CloseError
		if _, _, err := conn.Read(conntest.Context(t)); errors.As(err, &closed) &&
			!strings.Contains(closed.Reason, c.want) {
			t.Errorf("%s: closed with %q, want %q", c.name, closed.Reason, c.want)
		} else if err == nil {
			t.Errorf("%s: answered", c.name)
		}
		conntest.Wait(t, server.Done(), c.name+" is borne")
		if !strings.Contains(server.Err().Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, server.Err(), c.want)
		}
	}
}

func TestOddButAllowed(t *testing.T) {
	s, url := serve(t, Config{})
	conn, server := raw(t, s, url)
	server.Admit()
	ctx := conntest.Context(t)
	for _, n := range []int{0, transport.MinDatagram - 1, transport.MaxDatagram + 1, 2046} {
		if err := conn.Write(ctx, ws.MessageBinary, make([]byte, 1+n)); err != nil {
			t.Fatal(err)
		}
	}
	conntest.Until(t, "all counted", func() bool { return server.Stats().IgnoredSize == 4 })
	w, err := conn.Writer(ctx, ws.MessageBinary) // a message in pieces
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range [][]byte{{prefixMessage}, []byte("hel"), []byte("lo")} {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err := server.ReceiveMessage(ctx); err != nil || string(m) != "hello" {
		t.Errorf("%q, %v", m, err)
	}
}

func TestOrigins(t *testing.T) {
	s, url := serve(t, Config{Origins: transport.Origins{"https://play.example"}})
	for origin, ok := range map[string]bool{"": true, "https://play.example": true, "https://evil.example": false} {
		c, err := Dial(conntest.Context(t), url, DialConfig{Clock: conntest.Clock, Origin: origin})
		if (err == nil) != ok {
			t.Errorf("origin %q: %v", origin, err)
		}
		if err == nil {
			conntest.End(t, c)
		}
	}
	// The last connection may be there before it is counted.
	conntest.Until(t, "two connections are counted", func() bool { return s.Counts().Accepted == 2 })
	if n := s.Counts(); n.RefusedOrigin != 1 || n.Accepted != 2 {
		t.Errorf("%+v", n)
	}
}

func TestOtherRequests(t *testing.T) {
	s, url := serve(t, Config{})
	r, err := http.Get("http" + strings.TrimPrefix(url, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUpgradeRequired || s.Counts().RefusedProtocol != 1 || s.Visitors() != 0 {
		t.Errorf("%s, %+v, %d visitors", r.Status, s.Counts(), s.Visitors())
	}
}

// A flood of visitors fills the Gate and nothing else, and a newcomer still comes in: the oldest of
// the flood makes place.
func TestFloodIsBounded(t *testing.T) { synctest.Test(t, testFloodIsBounded) }

func testFloodIsBounded(t *testing.T) {
	const most = 4
	gate := transport.NewGate(most, 0)
	s, n := inBubble(t, Config{Gate: gate, HelloTimeout: 2 * time.Second})
	conntest.Connect(t, n.Network, true)
	var flood []transport.Conn
	for range 12 {
		c, err := n.Dial(conntest.Context(t))
		if err != nil {
			continue
		}
		flood = append(flood, c)
		if _, err := s.Accept(conntest.Context(t)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conntest.End(t, c) })
		if v := s.Visitors(); v > most {
			t.Fatalf("%d visitors, bound %d", v, most)
		}
		time.Sleep(time.Millisecond)
	}
	conntest.Connect(t, n.Network, true)
	if _, out := gate.Counts(); len(flood) != 12 || out != 12+1-most {
		t.Errorf("%d got in, %d were put out; want 12 and %d", len(flood), out, 12+1-most)
	}
	<-flood[0].Done()
	if err := flood[0].Err(); !strings.Contains(err.Error(), transport.CrowdedOut) {
		t.Errorf("the first of the flood ended with %v", err)
	}
	time.Sleep(2*time.Second + 1)
	synctest.Wait()
	if v := s.Visitors(); v != 0 {
		t.Errorf("%d visitors stay", v)
	}
	conntest.Connect(t, n.Network, true)
}

// Frames that the library reads and answers by itself are counted: a client that floods with them
// is put out by name, and gets few answers.
func TestPingFlood(t *testing.T) {
	t.Parallel()

	s, url := serve(t, Config{})
	for _, c := range []struct {
		name   string
		opcode byte
		want   string
	}{{"pings", 0x89, transport.TooManyMessages}, {"pongs", 0x8a, transport.TooManyBytes}} {
		socket, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		fmt.Fprintf(socket,
			"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
				"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		answers := make(chan int64, 1)
		go func() { n, _ := io.Copy(io.Discard, socket); answers <- n }()
		server, err := s.Accept(conntest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		server.Admit()
		// As large as they may be, with a mask.
		frames := bytes.Repeat(append([]byte{c.opcode, 0x80 | 125, 0, 0, 0, 0}, make([]byte, 125)...), 1000)
		sent := 0
		for err == nil && sent < 100<<20 {
			_, err = socket.Write(frames)
			sent += len(frames)
		}
		conntest.Wait(t, server.Done(), c.name+" are borne")
		if err := server.Err(); !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %d bytes of %s: %v, want %s", sent, c.name, err, c.want)
		}
		most := int64(transport.ClientMessages * transport.Allowance / time.Second)
		if n := <-answers; n > 127*2*most {
			t.Errorf("%d bytes of answers to %s, want those to about %d", n, c.name, most)
		}
	}
}

// A peer that reads nothing never blocks Send: what TCP does not take is displaced by what is
// newer.
func TestPeerThatDoesNotRead(t *testing.T) {
	t.Parallel()

	s, url := serve(t, Config{})
	socket, err := net.Dial("tcp", strings.TrimPrefix(url, "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_ = socket.(*net.TCPConn).SetReadBuffer(8 << 10)
	fmt.Fprintf(socket,
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	if r, err := http.ReadResponse(bufio.NewReaderSize(socket, 16), nil); err != nil ||
		r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(r, err)
	}
	server, err := s.Accept(conntest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	server.Admit()
	var (
		seq     wire.Seq
		dropped []wire.Seq
	)
	conntest.Until(t, "the kernel takes no more", func() bool {
		for range 20 {
			seq++
			server.Send(conntest.Datagram(seq, transport.MaxDatagram))
		}
		dropped = server.Dropped(dropped)
		return len(dropped) > 1000
	})
	t.Logf("TCP swallowed %d of %d datagrams", server.Stats().Sent, seq)
	for i, q := range dropped[1:] {
		if !q.Newer(dropped[i]) {
			t.Fatalf("reports %d and %d are %d and %d", i, i+1, dropped[i], q)
		}
	}
}

// A peer that is silent is found out, also when it takes nothing that is sent to it; a quiet one
// that answers is kept.
func TestIdle(t *testing.T) {
	const idle = 3 * time.Second
	for _, takes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			_, n := inBubble(t, Config{IdleTimeout: idle})
			client, server := conntest.Connect(t, n.Network, true)
			time.Sleep(time.Minute)
			client.Send(conntest.Datagram(1, 20))
			if _, _, err := server.Receive(conntest.Context(t)); err != nil {
				t.Fatal(err)
			}
			n.up.Store(true)
			n.down.Store(!takes)
			start := time.Now()
			for seq := wire.Seq(2); server.Err() == nil && time.Since(start) < 2*idle; seq++ {
				server.Send(conntest.Datagram(seq, transport.MaxDatagram))
				time.Sleep(time.Millisecond)
			}
			if err := server.Err(); err == nil || !strings.Contains(err.Error(), "silent") {
				t.Errorf("a silent peer that takes what comes: %v: %v", takes, err)
			}
			if d := time.Since(start); d > idle+idle/3 {
				t.Errorf("found out after %v", d)
			}
			conntest.Wait(t, server.Done(), "the connection does not end")
		})
	}
}

func TestOverTLS(t *testing.T) {
	own, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(Config{Clock: conntest.Clock})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: own.GetCertificate})
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)} // it complains of the refused client
	go h.Serve(ln)
	t.Cleanup(func() { s.Close("test is over"); h.Close() })
	f, err := own.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	url := "wss://" + ln.Addr().String()
	n := conntest.Network{Listener: s, Dial: func(ctx context.Context) (transport.Conn, error) {
		return Dial(ctx, url, DialConfig{Clock: conntest.Clock, TLS: cert.Pin(f...)})
	}}
	client, server := conntest.Connect(t, n, true)
	client.Send(conntest.Datagram(1, 20))
	if _, _, err := server.Receive(conntest.Context(t)); err != nil {
		t.Error(err)
	}
	other := DialConfig{Clock: conntest.Clock, TLS: cert.Pin(cert.Fingerprint{1})}
	if _, err := Dial(conntest.Context(t), url, other); !errors.Is(err, cert.ErrNotPinned) {
		t.Error(err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := NewServer(Config{Clock: conntest.Clock})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	n := conntest.Network{Listener: s, Dial: func(ctx context.Context) (transport.Conn, error) {
		return dial(ctx, "ws"+strings.TrimPrefix(h.URL, "http"))
	}}
	var clients []transport.Conn
	for i := range 4 {
		client, _ := conntest.Connect(t, n, i > 0)
		clients = append(clients, client)
	}
	s.Close("over")
	for _, c := range clients {
		conntest.Wait(t, c.Done(), "a client stays")
	}
	h.Close()
	conntest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func TestConfig(t *testing.T) {
	if _, err := NewServer(Config{}); err == nil {
		t.Error("no clock")
	}
	if _, err := Dial(context.Background(), "ws://127.0.0.1:1", DialConfig{}); err == nil {
		t.Error("no clock")
	}
	if _, err := Dial(context.Background(), "ftp://127.0.0.1:1", DialConfig{Clock: conntest.Clock}); err == nil {
		t.Error("ftp")
	}
}

// One datagram across the loopback, from Send to Deliver.
func BenchmarkDatagram(b *testing.B) {
	s, url := serve(b, Config{})
	n := conntest.Network{Listener: s, Dial: func(ctx context.Context) (transport.Conn,
		error) {
		return dial(ctx, url)
	}}
	client, server := conntest.Connect(b, n, true)
	arrived := make(chan struct{}, 1)
	server.Deliver(func([]byte, clock.Time) { arrived <- struct{}{} })
	d := conntest.Datagram(1, 200)
	b.ReportAllocs()
	for b.Loop() {
		client.Send(d)
		<-arrived
	}
}
