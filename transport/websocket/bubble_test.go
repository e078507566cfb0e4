package websocket

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	ws "github.com/coder/websocket"

	"meanwhile/transport"
	"meanwhile/transport/internal/conntest"
)

// A bubbleNet is a Server and its clients in a bubble of synctest, where time is virtual: nothing
// of it waits for a kernel.
type bubbleNet struct {
	conntest.Network
	up, down atomic.Bool // datagrams of clients, and those for them, get stuck on their way
}

// inBubble returns a Server that is reached without sockets.
func inBubble(t testing.TB, cfg Config) (*Server, *bubbleNet) {
	t.Helper()
	start := time.Now()
	cfg.Clock = conntest.ClockFrom(start)
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := &bubbleNet{Network: conntest.Network{Listener: s}}
	l := &doorway{arrive: make(chan net.Conn), closed: make(chan struct{})}
	h := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	go h.Serve(l)
	t.Cleanup(func() {
		s.Close("test is over")
		h.Close()
		time.Sleep(2 * time.Second) // what is on its way ends
	})
	n.Dial = func(ctx context.Context) (transport.Conn, error) {
		var near *end
		web := &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				a, b := net.Pipe()
				var far *end
				near, far = newEnd(a, &n.up), newEnd(b, &n.down)
				l.arrive <- far
				return near, nil
			}}
		conn, _, err := ws.Dial(ctx, "ws://bubble"+transport.Path,
			&ws.DialOptions{HTTPClient: &http.Client{Transport: web}})
		if err != nil {
			if near != nil {
				near.Close()
			}
			return nil, err
		}
		return link(conn, near, transport.LinkConfig{Remote: "bubble", Clock: cfg.Clock}, transport.IdleTimeout), nil
	}
	return s, n
}

// A doorway is a net.Listener to whom connections are brought.
type doorway struct {
	arrive chan net.Conn
	closed chan struct{}
}

func (d *doorway) Accept() (net.Conn, error) {
	select {
	case c := <-d.arrive:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *doorway) Close() error   { close(d.closed); return nil }
func (d *doorway) Addr() net.Addr { return &net.TCPAddr{} }

// An end is one of a pipe, which takes as much as a kernel would before Write blocks.
type end struct {
	net.Conn
	stuck  *atomic.Bool
	taken  chan []byte
	closed chan struct{}
	over   atomic.Bool
}

func newEnd(c net.Conn, stuck *atomic.Bool) *end {
	e := &end{Conn: c, stuck: stuck, taken: make(chan []byte, 64), closed: make(chan struct{})}
	go e.pump()
	return e
}

// pump is the network.
func (e *end) pump() {
	defer e.Conn.Close()
	for {
		select {
		case b := <-e.taken:
			for e.stuck.Load() && !e.over.Load() {
				select {
				case <-e.closed:
				case <-time.After(time.Millisecond):
				}
			}
			if _, err := e.Conn.Write(b); err != nil {
				e.Close()
				return
			}
		case <-e.closed:
			if len(e.taken) == 0 {
				return
			}
		}
	}
}

func (e *end) Write(b []byte) (int, error) {
	select {
	case <-e.closed:
		return 0, net.ErrClosed
	case e.taken <- slices.Clone(b):
		return len(b), nil
	}
}

// Close lets what was taken arrive.
func (e *end) Close() error {
	if !e.over.Swap(true) {
		close(e.closed)
		_ = e.Conn.SetDeadline(time.Now().Add(time.Second))
	}
	return nil
}

// SetDeadline is called when the connection is about to be closed: by then nothing may block any
// more.
func (e *end) SetDeadline(at time.Time) error {
	if !at.IsZero() {
		time.AfterFunc(time.Until(at), func() { e.Close() })
	}
	return e.Conn.SetDeadline(at)
}
