// Package websocket carries connections over WebSocket, for browsers and networks that block UDP.
// Its bytes are in docs/PROTOCOL.md, "Transports".
//
// One TCP connection delivers everything in order, so a lost packet delays all later ones, and
// newer data cannot displace what the kernel has accepted. This package keeps the second delay
// small: it makes the kernel accept little that TCP cannot send yet.
package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	ws "github.com/coder/websocket"

	"meanwhile/netcode/packet"
	"meanwhile/transport"
)

// The first byte of each WebSocket message.
const (
	prefixDatagram = 0
	prefixMessage  = 1
)

// unsent is how many bytes the kernel may hold that TCP cannot send yet.
const unsent = 4 << 10

// Config describes a Server. Clock must be set; the rest has sound defaults.
type Config struct {
	// Clock stamps datagrams.
	Clock transport.Clock
	// Origins are the pages that may connect from browsers.
	Origins transport.Origins
	// Gate bounds the clients that are not admitted. Nil means one with the default bounds.
	Gate *transport.Gate
	// HelloTimeout is how long a client may take to be admitted; IdleTimeout ends connections whose
	// peer is silent. 0 means the defaults of package transport.
	HelloTimeout, IdleTimeout time.Duration
}

// Counts counts what became of a Server's clients.
type Counts struct {
	Accepted        uint64 // connections that Accept returned or will return
	RefusedCrowded  uint64 // turned away by the Gate
	RefusedBacklog  uint64 // turned away because nobody accepted them
	RefusedOrigin   uint64 // from a page that is not allowed
	RefusedProtocol uint64 // not a WebSocket request
}

// A Server is an HTTP handler that turns requests into connections. The caller's http.Server owns
// the socket; it should set ReadHeaderTimeout, which is what bounds clients before this handler
// sees them.
type Server struct {
	cfg  Config
	gate *transport.Gate
	in   *transport.Intake
	n    struct{ accepted, backlog, origin, protocol atomic.Uint64 }
}

var (
	_ transport.Listener = (*Server)(nil)
	_ http.Handler       = (*Server)(nil)
)

// NewServer returns a Server, to be mounted at transport.Path.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		return nil, errors.New("websocket: Config.Clock must be set")
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = transport.IdleTimeout
	}
	s := &Server{cfg: cfg, gate: cfg.Gate, in: transport.NewIntake()}
	if s.gate == nil {
		s.gate = transport.NewGate(0, 0)
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o := r.Header.Get("Origin"); !s.cfg.Origins.Allow(o, r.Host) {
		s.n.origin.Add(1)
		http.Error(w, fmt.Sprintf("origin %q is not allowed", o), http.StatusForbidden)
		return
	}
	visitor, ok := s.gate.Enter(r.RemoteAddr)
	if !ok {
		http.Error(w, "too many visitors", http.StatusServiceUnavailable)
		return
	}
	hijacker := &hijacker{ResponseWriter: w, clock: s.cfg.Clock}
	conn, err := ws.Accept(hijacker, r, &ws.AcceptOptions{
		InsecureSkipVerify: true, // origins are checked above
		OnPingReceived:     func(context.Context, []byte) bool { return hijacker.conn.ping() },
	})
	if err != nil {
		visitor.Leave()
		s.n.protocol.Add(1)
		return
	}
	err = s.in.Join(transport.LinkConfig{
		Remote: r.RemoteAddr, Clock: s.cfg.Clock,
		Visitor: true, HelloTimeout: s.cfg.HelloTimeout, OnAdmit: visitor.Leave, OnDone: visitor.Leave,
	}, func(cfg transport.LinkConfig) (*transport.Link, error) {
		l := link(conn, hijacker.conn, cfg, s.cfg.IdleTimeout)
		visitor.Ends(l.PutOut)
		return l, nil
	})
	switch {
	case err == nil:
		s.n.accepted.Add(1)
	case errors.Is(err, transport.ErrBusy): // Join has closed it with a reason
		s.n.backlog.Add(1)
	default:
		visitor.Leave()
		_ = conn.CloseNow()
	}
}

// Accept implements transport.Listener.
func (s *Server) Accept(ctx context.Context) (transport.Conn, error) { return s.in.Accept(ctx) }

// Close implements transport.Listener. Requests that come later are refused.
func (s *Server) Close(reason string) { s.in.Close(reason) }

// Addr implements transport.Listener: the path; the address is the http.Server's.
func (s *Server) Addr() string { return transport.Path }

// Visitors is how many clients are connected without having been admitted.
func (s *Server) Visitors() int { return s.gate.Visitors() }

// Counts returns what happened so far. RefusedCrowded and PutOut are the Gate's, which listeners
// may share.
func (s *Server) Counts() Counts {
	refused, _ := s.gate.Counts()
	return Counts{
		Accepted: s.n.accepted.Load(), RefusedCrowded: refused, RefusedBacklog: s.n.backlog.Load(),
		RefusedOrigin: s.n.origin.Load(), RefusedProtocol: s.n.protocol.Load(),
	}
}

// A path is a transport.Carrier over a WebSocket.
type path struct {
	conn   *ws.Conn
	socket net.Conn // below conn, and below TLS
	meter  *metered // of a server's client
	idle   time.Duration
	heard  atomic.Int64 // when the peer was last heard, by the wall's monotonic clock
	began  time.Time

	datagram []byte // scratch of SendDatagram
	message  []byte // scratch of WriteMessage
}

var _ transport.Carrier = (*path)(nil)

func link(conn *ws.Conn, socket net.Conn, cfg transport.LinkConfig, idle time.Duration) *transport.Link {
	meter, _ := socket.(*metered)
	for {
		over, ok := socket.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		socket = over.NetConn()
	}
	if t, ok := socket.(*net.TCPConn); ok {
		limitUnsent(t, unsent)
	}
	conn.SetReadLimit(-1) // read bounds messages itself, by what its peer may send now
	p := &path{conn: conn, socket: socket, meter: meter, idle: idle, began: time.Now()}
	cfg.Name = "websocket"
	return transport.NewLink(cfg, p, p.read, p.watch)
}

// SendDatagram implements transport.Carrier.
func (p *path) SendDatagram(b []byte) error {
	p.datagram = append(append(p.datagram[:0], prefixDatagram), b...)
	err := p.conn.Write(context.Background(), ws.MessageBinary, p.datagram)
	if errors.Is(err, net.ErrClosed) {
		return nil // whoever reads knows why
	}
	return err
}

// WriteMessage implements transport.Carrier.
func (p *path) WriteMessage(b []byte) error {
	p.message = append(append(p.message[:0], prefixMessage), b...)
	err := p.conn.Write(context.Background(), ws.MessageBinary, p.message)
	if cap(p.message) > transport.MaxEarlyMessage { // rare large ones need not be kept room for
		p.message = nil
	}
	return err
}

// Finish implements transport.Carrier: the close frame comes behind the last message anyhow.
func (p *path) Finish() {}

// Close implements transport.Carrier.
func (p *path) Close(reason string) {
	// The handshake of closing waits for a peer that may be gone; it gets as long as other
	// goodbyes.
	_ = p.socket.SetDeadline(time.Now().Add(transport.Linger))
	if p.meter != nil && (reason == transport.TooManyDatagrams || reason == transport.TooManyMessages) {
		p.meter.stop(reason)
	}
	_ = p.conn.Close(ws.StatusNormalClosure, reason)
	_ = p.socket.Close()
}

// Explain implements transport.Carrier.
func (p *path) Explain(err error) *transport.CloseError {
	var closed ws.CloseError
	if errors.As(err, &closed) {
		reason := transport.CutReason(closed.Reason)
		if reason == "" && closed.Code != ws.StatusNormalClosure && closed.Code != ws.StatusNoStatusRcvd {
			reason = closed.Code.String()
		}
		return &transport.CloseError{Reason: reason, Remote: true, Cause: err}
	}
	var local violation
	if errors.As(err, &local) {
		return &transport.CloseError{Reason: transport.CutReason(err.Error()), Cause: err}
	}
	return &transport.CloseError{Reason: transport.CutReason("connection lost: " + err.Error()), Cause: err}
}

// Measure implements transport.Carrier: TCP does not tell.
func (p *path) Measure(*transport.Stats) {}

// A violation is something that no peer of ours sends, or that a silent one fails to send.
type violation string

func (v violation) Error() string { return string(v) }

// read is a reader for transport.NewLink.
func (p *path) read(l *transport.Link) error {
	buf := make([]byte, 2048) // holds every datagram; messages that are longer make it grow for a while
	for {
		kind, r, err := p.conn.Reader(context.Background())
		if p.flooded(l) {
			return nil
		}
		if err != nil {
			return lost(err)
		}
		at := l.Now()
		n, err := readSome(r, buf)
		if p.flooded(l) {
			return nil
		}
		if err != nil {
			return lost(err)
		}
		p.heard.Store(int64(time.Since(p.began)))
		if kind != ws.MessageBinary || n == 0 {
			return violation("a message that is text or empty")
		}
		switch {
		case buf[0] == prefixDatagram && n < len(buf):
			l.Arrived(buf[1:n], false, at)
		case buf[0] == prefixMessage:
			m, err := readRest(r, buf[1:n], l.MessageLimit(), n == len(buf))
			if p.flooded(l) {
				return nil
			}
			if err != nil {
				return lost(err)
			}
			l.Incoming(m)
		case buf[0] == prefixDatagram:
			return violation(fmt.Sprintf("a datagram of more than %d bytes", len(buf)-2))
		default:
			return violation(fmt.Sprintf("a message that begins with %d", buf[0]))
		}
	}
}

// flooded reports whether the connection ends because the peer sends too much, and ends it if the
// socket says so.
func (p *path) flooded(l *transport.Link) bool {
	if p.meter != nil {
		if why := p.meter.over.Load(); why != nil {
			l.Flood(*why)
		}
	}
	return l.Flooded()
}

// readSome reads until r or buf ends.
func readSome(r io.Reader, buf []byte) (int, error) {
	n, err := io.ReadFull(r, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// readRest returns a copy of the message that begins with head, of which more follows from r.
func readRest(r io.Reader, head []byte, limit int, more bool) ([]byte, error) {
	m := append([]byte(nil), head...)
	if more {
		rest, err := io.ReadAll(io.LimitReader(r, int64(limit-len(head))+1))
		if err != nil {
			return nil, err
		}
		m = append(m, rest...)
	}
	if len(m) > limit {
		return nil, violation(fmt.Sprintf("a message over the bound of %d bytes", limit))
	}
	return m, nil
}

// lost keeps an end of the connection from being taken for the end of the peer's messages.
func lost(err error) error {
	if errors.Is(err, io.EOF) && ws.CloseStatus(err) < 0 {
		return errors.New("the peer has gone")
	}
	return err
}

// watch is a reader for transport.NewLink: it asks silent peers for a sign of life. Browsers answer
// by themselves.
func (p *path) watch(l *transport.Link) error {
	every := min(packet.KeepAlive, p.idle/3)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.Closing():
			return nil
		case <-tick.C:
		}
		silent := time.Since(p.began) - time.Duration(p.heard.Load())
		if silent < every {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.idle-every)
		err := p.conn.Ping(ctx) // ends at the latest when the connection is closed
		cancel()
		if err != nil {
			return violation("the peer has gone silent")
		}
		p.heard.Store(int64(time.Since(p.began)))
	}
}

// DialConfig says how to reach a server.
type DialConfig struct {
	// Clock stamps datagrams. It must be set.
	Clock transport.Clock
	// TLS trusts a wss server, for instance cert.Pin. Nil trusts the system's authorities.
	TLS *tls.Config
	// Origin is sent as the page's origin. Empty sends none, like any program.
	Origin string
	// IdleTimeout ends the connection when the server is silent for so long; 0 means the default.
	IdleTimeout time.Duration
}

// Dial connects to url, such as ws://127.0.0.1:8080/meanwhile or wss://. ctx bounds the dialling
// only.
func Dial(ctx context.Context, url string, cfg DialConfig) (transport.Conn, error) {
	if cfg.Clock == nil {
		return nil, errors.New("websocket: DialConfig.Clock must be set")
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = transport.IdleTimeout
	}
	var socket net.Conn
	t := &http.Transport{
		TLSClientConfig: cfg.TLS,
		Proxy:           http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var (
				d   net.Dialer
				err error
			)
			socket, err = d.DialContext(ctx, network, addr)
			return socket, err
		},
	}
	header := http.Header{}
	if cfg.Origin != "" {
		header.Set("Origin", cfg.Origin)
	}
	conn, _, err := ws.Dial(ctx, url, &ws.DialOptions{HTTPClient: &http.Client{Transport: t}, HTTPHeader: header})
	if err != nil {
		t.CloseIdleConnections()
		return nil, fmt.Errorf("websocket: dialling %s: %w", url, err)
	}
	return link(conn, socket, transport.LinkConfig{Remote: socket.RemoteAddr().String(), Clock: cfg.Clock},
		cfg.IdleTimeout), nil
}
