package site

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A pipes listener hands out one end of pipes, with made-up addresses.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

type pipe struct {
	net.Conn
	from string
}

func (p pipe) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.from)) }

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(from string) net.Conn {
	client, server := net.Pipe()
	p.conns <- pipe{server, from}
	return client
}

// An address has a bounded number of connections; this machine and trusted proxies are not counted
// so. A connection that is closed makes place.
func TestConnectionsPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		var refused atomic.Uint64
		l := bound(p, func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") }, &refused,
			slog.New(slog.DiscardHandler))
		var conns []net.Conn
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				conns = append(conns, c)
			}
		}()
		closed := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, err := c.Read(make([]byte, 1))
			return errors.Is(err, io.EOF)
		}
		for i := range MaxConnectionsPerAddress + 1 {
			if c := p.dial("203.0.113.7:1"); closed(c) != (i == MaxConnectionsPerAddress) {
				t.Errorf("number %d: closed: %v", i, closed(c))
			}
		}
		for i := range MaxConnectionsPerAddress + 10 {
			for _, from := range []string{"127.0.0.1:1", "192.0.2.1:1"} {
				if closed(p.dial(from)) {
					t.Fatalf("number %d from %s is closed", i, from)
				}
			}
		}
		synctest.Wait() // until the last one is noted
		_ = conns[0].Close()
		_ = conns[0].Close() // counts once
		if closed(p.dial("203.0.113.7:2")) || !closed(p.dial("203.0.113.7:3")) {
			t.Error("a connection that was closed made place for none or for two")
		}
		if refused.Load() != 2 {
			t.Errorf("%d were refused", refused.Load())
		}

		// Connections that end at once count by how often they begin.
		in := 0
		for range 2 * MaxNewConnections {
			c := p.dial("203.0.113.8:1")
			synctest.Wait()
			if n := len(conns) - 1; conns[n].RemoteAddr().String() == "203.0.113.8:1" && refused.Load() == 2 {
				in++
				_ = conns[n].Close()
			}
			_ = c.Close()
		}
		if in != MaxNewConnections || refused.Load() != 2+MaxNewConnections {
			t.Errorf("of %d connections at once %d were accepted; %d were refused", 2*MaxNewConnections, in, refused.Load())
		}
		time.Sleep(NewConnectionsRefill / 4)
		if closed(p.dial("203.0.113.8:2")) {
			t.Error("an address that opened too many stays shut out")
		}
		synctest.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
		if l.open != 0 || len(l.from) != 0 {
			t.Errorf("%d still count, from %v", l.open, l.from)
		}
		_ = l.Close()
	})
}
