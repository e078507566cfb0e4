package site

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/transport"
)

// Limits of TCP connections, WebSockets included.
const (
	// MaxConnections is how many are open at once; one more is closed.
	MaxConnections = 8192
	// MaxConnectionsPerAddress is how many of them may come from one address, those of this machine
	// and of trusted proxies excepted. A browser opens six to load a page and keeps them for a
	// minute, and host.DefaultPlayersPerAddress players may be behind one router.
	MaxConnectionsPerAddress = 512
	// MaxNewConnections is how many connections one address may begin at once, and
	// NewConnectionsRefill in which time as many again: a handshake of TLS costs a millisecond of
	// work, whatever becomes of it.
	MaxNewConnections    = 1024
	NewConnectionsRefill = time.Minute
	// sendBuffer is how many bytes of an answer the kernel holds for a client that does not read.
	sendBuffer = 128 << 10
	// StallTimeout is how long a client may take to read the next 16 kB of an answer.
	StallTimeout = 10 * time.Second
	stallChunk   = 16 << 10
)

// A bounded listener closes connections beyond its limits, and those that are open count until they
// are closed.
type bounded struct {
	net.Listener
	exempt  func(netip.Addr) bool // addresses whose connections are not counted one by one
	refused *atomic.Uint64        // counts connections that were closed at once
	log     *slog.Logger
	begun   *transport.Rates[netip.Addr]

	mu   sync.Mutex
	open int
	from map[netip.Addr]int
}

func bound(l net.Listener, exempt func(netip.Addr) bool, refused *atomic.Uint64, log *slog.Logger) *bounded {
	return &bounded{Listener: l, exempt: exempt, refused: refused, log: log, from: make(map[netip.Addr]int),
		begun: transport.NewRates[netip.Addr](MaxNewConnections, NewConnectionsRefill)}
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.log.Warn("no connection can be accepted", "error", err) // no file descriptors, for instance
			}
			return nil, err
		}
		if c, ok := l.count(conn); ok {
			return c, nil
		}
		l.refused.Add(1)
		_ = conn.Close()
	}
}

func (l *bounded) count(conn net.Conn) (net.Conn, bool) {
	a, counted := transport.Origin(conn.RemoteAddr().String())
	if ip, _, ok := splitAddr(conn.RemoteAddr()); ok && l.exempt(ip) {
		counted = false
	}
	if counted && !l.begun.Take(a) {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= MaxConnections || counted && l.from[a] >= MaxConnectionsPerAddress {
		return nil, false
	}
	l.open++
	if counted {
		l.from[a]++
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetWriteBuffer(sendBuffer)
	}
	return &countedConn{Conn: conn, leave: sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open--
		if !counted {
			return
		}
		if l.from[a]--; l.from[a] == 0 {
			delete(l.from, a)
		}
	})}, true
}

type countedConn struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// NetConn returns the socket below.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// brisk ends answers that their client does not read.
func brisk(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&briskWriter{w, http.NewResponseController(w)}, r)
	})
}

type briskWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Unwrap is for http.ResponseController, which takes connections over.
func (w *briskWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *briskWriter) Write(b []byte) (n int, err error) {
	for {
		part := b[n:min(n+stallChunk, len(b))]
		_ = w.control.SetWriteDeadline(time.Now().Add(StallTimeout))
		m, err := w.ResponseWriter.Write(part)
		n += m
		if err != nil || n == len(b) {
			return n, err
		}
	}
}
