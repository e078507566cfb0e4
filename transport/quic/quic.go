// Package quic carries connections over QUIC. Its Listener serves native clients and browsers
// (WebTransport) on the same UDP port; the application protocol that a client names in the
// handshake tells them apart. Its bytes are in docs/PROTOCOL.md, "Transports".
package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"meanwhile/transport"
	"meanwhile/transport/internal/overquic"
	"meanwhile/transport/webtransport"
)

// ResetKeySize is the size of Config.ResetKey in bytes.
const ResetKeySize = len(quic.StatelessResetKey{})

// Config describes a Listener. Clock and Certificate must be set; the rest has sound defaults.
type Config struct {
	// Addr is the UDP address to listen on, "host:port". Empty means a free port on 127.0.0.1.
	Addr string
	// Clock stamps datagrams.
	Clock transport.Clock
	// Certificate returns the server's certificate, for instance cert.SelfSigned.GetCertificate. It
	// is asked at every handshake, so certificates can change while the server runs.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Origins are the pages that may connect from browsers.
	Origins transport.Origins
	// Path is where browsers find the server. Empty means transport.Path.
	Path string
	// Gate bounds the clients that are not admitted. Nil means one with the default bounds.
	Gate *transport.Gate
	// HelloTimeout bounds the handshake, and then the time until a client is admitted; IdleTimeout
	// ends connections whose peer is silent. 0 means the defaults of package transport.
	HelloTimeout, IdleTimeout time.Duration
	// ResetKey lets a server that was killed and started again end the connections that it no longer
	// knows (RFC 9000 §10.3): their clients would else wait for the idle timeout. It must be the same
	// secret in both runs. Nil leaves them waiting.
	ResetKey *[ResetKeySize]byte

	socket net.PacketConn // of tests that need no kernel; nil opens one at Addr
}

// Counts counts what became of a Listener's clients.
type Counts struct {
	Accepted        uint64 // connections that Accept returned or will return
	RefusedCrowded  uint64 // turned away by the Gate, most of them before any handshake
	RefusedBacklog  uint64 // turned away because nobody accepted them
	RefusedSession  uint64 // requests over HTTP/3 that were no session, or from the wrong page
	RefusedSilent   uint64 // no stream within the hello timeout
	RefusedProtocol uint64 // no protocol that we speak
	Garbage         uint64 // datagrams that were dropped unread, since they could be no QUIC for a server
}

// A Listener is a server's UDP socket.
type Listener struct {
	cfg    Config
	gate   *transport.Gate
	socket net.PacketConn
	filter *overquic.Socket // socket, where it is of the kernel
	tr     *quic.Transport
	ln     *quic.Listener
	web    *webtransport.Server
	in     *transport.Intake

	ctx    context.Context // of the goroutines that wait for clients
	cancel context.CancelFunc
	wg     sync.WaitGroup // these goroutines
	stop   sync.Once
	closed chan struct{}

	n struct {
		accepted, backlog, session, silent, protocol atomic.Uint64
	}
}

var _ transport.Listener = (*Listener)(nil)

// visitorKey finds the visitor in the context of its connection.
type visitorKey struct{}

// A visitor is a QUIC connection from its first packet until it is admitted.
type visitor struct {
	*transport.Visitor
	taken atomic.Bool // one session on each connection
	conn  atomic.Pointer[quic.Conn]
}

// Listen opens the socket and begins to take connections in.
func Listen(cfg Config) (*Listener, error) {
	if cfg.Clock == nil || cfg.Certificate == nil {
		return nil, errors.New("quic: Config.Clock and Config.Certificate must be set")
	}
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.Path == "" {
		cfg.Path = transport.Path
	}
	if cfg.HelloTimeout <= 0 {
		cfg.HelloTimeout = transport.HelloTimeout
	}
	addr, err := net.ResolveUDPAddr("udp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("quic: address %q: %w", cfg.Addr, err)
	}
	l := &Listener{
		cfg: cfg, gate: cfg.Gate, in: transport.NewIntake(), closed: make(chan struct{}),
	}
	if l.gate == nil {
		l.gate = transport.NewGate(0, 0)
	}
	if l.socket = cfg.socket; l.socket == nil {
		c, err := net.ListenUDP("udp", addr)
		if err != nil {
			return nil, fmt.Errorf("quic: %w", err)
		}
		l.filter = overquic.NewSocket(c)
		l.socket = l.filter
	}
	l.tr = &quic.Transport{
		Conn: l.socket,
		// Until a newcomer has proved its address, it costs no more than an answer.
		VerifySourceAddress: func(a net.Addr) bool { return l.gate.Crowded(a.String()) },
		ConnContext:         l.enter,
		StatelessResetKey:   (*quic.StatelessResetKey)(cfg.ResetKey),
	}
	usual := overquic.Config(cfg.IdleTimeout, cfg.HelloTimeout)
	// The whole handshake may take twice as long as its longest silence.
	hurried := overquic.Config(cfg.IdleTimeout, min(cfg.HelloTimeout, transport.CrowdedHelloTimeout/2))
	usual.GetConfigForClient = func(*quic.ClientInfo) (*quic.Config, error) {
		if l.gate.Hurried() {
			return hurried, nil
		}
		return usual, nil
	}
	l.ln, err = l.tr.Listen(&tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: cfg.Certificate,
		NextProtos:     []string{transport.ALPN, webtransport.ALPN},
	}, usual)
	if err != nil {
		_ = l.socket.Close()
		return nil, fmt.Errorf("quic: %w", err)
	}
	l.web = webtransport.NewServer(cfg.Path, cfg.Origins, l.session, func(error) { l.n.session.Add(1) })
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.wg.Go(l.take)
	l.wg.Go(l.watch)
	return l, nil
}

// enter is asked at the first packet of each connection.
func (l *Listener) enter(ctx context.Context, from *quic.ClientInfo) (context.Context, error) {
	place, ok := l.gate.Enter(from.RemoteAddr.String())
	if !ok {
		return nil, errors.New("too many visitors")
	}
	context.AfterFunc(ctx, place.Leave) // the handshake failed, or the connection ended
	return context.WithValue(ctx, visitorKey{}, &visitor{Visitor: place}), nil
}

// take starts what each new connection needs. At most as many run as the Gate lets in.
func (l *Listener) take() {
	for {
		c, err := l.ln.Accept(l.ctx)
		if err != nil {
			if l.ctx.Err() == nil { // the socket failed, and whoever waits for clients must learn it
				go l.Close("the server's socket has failed")
			}
			return
		}
		v, ok := c.Context().Value(visitorKey{}).(*visitor)
		if !ok {
			panic("quic: a connection that enter did not see")
		}
		v.conn.Store(c)
		v.Ends(func() { // in a goroutine, which ends with the connection: closing waits for it
			go func() { _ = c.CloseWithError(overquic.CodeRefused, transport.CrowdedOut) }()
		})
		switch c.ConnectionState().TLS.NegotiatedProtocol {
		case transport.ALPN:
			l.wg.Go(func() { l.native(c, v) })
		case webtransport.ALPN:
			l.wg.Go(func() { _ = l.web.ServeConn(c) })
			l.wg.Go(func() { l.hurry(c, v) })
		default: // the handshake lets no other protocol pass
			l.n.protocol.Add(1)
			_ = c.CloseWithError(overquic.CodeRefused, "unknown application protocol")
		}
	}
}

// watch looks for clients that send too many packets.
func (l *Listener) watch() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
			l.in.CheckPackets()
		}
	}
}

// native waits for the stream of a native client.
func (l *Listener) native(c *quic.Conn, v *visitor) {
	l.join(v, func(cfg transport.LinkConfig) (*transport.Link, error) {
		ctx, cancel := context.WithTimeout(l.ctx, l.cfg.HelloTimeout)
		defer cancel()
		stream, err := c.AcceptStream(ctx)
		if err != nil {
			return nil, err
		}
		return link(c, stream, cfg, nil), nil
	}, func(reason string) { _ = c.CloseWithError(overquic.CodeRefused, reason) })
}

// hurry ends a browser's connection on which no session begins.
func (l *Listener) hurry(c *quic.Conn, v *visitor) {
	t := time.NewTimer(l.cfg.HelloTimeout)
	defer t.Stop()
	select {
	case <-c.Context().Done():
		return
	case <-l.ctx.Done():
	case <-t.C:
		if v.taken.Load() {
			return // the session has timeouts of its own
		}
		l.n.silent.Add(1)
	}
	if !v.taken.Load() {
		_ = c.CloseWithError(overquic.CodeRefused, fmt.Sprintf("no session within %v", l.cfg.HelloTimeout))
	}
}

// session waits for the stream in a browser's session. ctx is that of its connection.
func (l *Listener) session(ctx context.Context, s *webtransport.Session) {
	v, ok := ctx.Value(visitorKey{}).(*visitor)
	if !ok || v.conn.Load() == nil {
		panic("quic: a session on a connection that take did not see")
	}
	if v.taken.Swap(true) {
		l.n.session.Add(1)
		s.Refuse(v.conn.Load(), "one session a connection")
		return
	}
	c := v.conn.Load()
	l.join(v, func(cfg transport.LinkConfig) (*transport.Link, error) {
		ctx, cancel := context.WithTimeout(l.ctx, l.cfg.HelloTimeout)
		defer cancel()
		return s.Accept(ctx, c, cfg)
	}, func(reason string) { s.Refuse(c, reason) })
}

// join makes a connection of what open returns, or refuses it.
func (l *Listener) join(
	v *visitor, open func(transport.LinkConfig) (*transport.Link, error), refuse func(reason string),
) {
	err := l.in.Join(transport.LinkConfig{
		Clock: l.cfg.Clock, Visitor: true, HelloTimeout: l.cfg.HelloTimeout, OnAdmit: v.Leave,
	}, open)
	switch {
	case err == nil:
		l.n.accepted.Add(1)
	case errors.Is(err, transport.ErrBusy): // Join has closed it with a reason
		l.n.backlog.Add(1)
	case errors.Is(err, transport.ErrClosed):
		refuse("server is closed")
	default:
		l.n.silent.Add(1)
		refuse(fmt.Sprintf("no stream within %v", l.cfg.HelloTimeout))
	}
}

// Accept implements transport.Listener.
func (l *Listener) Accept(ctx context.Context) (transport.Conn, error) { return l.in.Accept(ctx) }

// Close implements transport.Listener.
func (l *Listener) Close(reason string) {
	l.stop.Do(func() {
		defer close(l.closed)
		l.cancel() // whoever waits for a client gives up
		_ = l.ln.Close()
		l.in.Close(reason) // while the socket is open, so that goodbyes get through
		_ = l.web.Close()
		l.wg.Wait()
		_ = l.tr.Close()
		_ = l.socket.Close()
	})
	<-l.closed
}

// Addr implements transport.Listener: the UDP address as host:port.
func (l *Listener) Addr() string { return l.socket.LocalAddr().String() }

// Visitors is how many clients are connected without having been admitted, handshakes included.
func (l *Listener) Visitors() int { return l.gate.Visitors() }

// Counts returns what happened so far. RefusedCrowded and PutOut are the Gate's, which listeners
// may share.
func (l *Listener) Counts() Counts {
	refused, _ := l.gate.Counts()
	garbage := uint64(0)
	if l.filter != nil {
		garbage = l.filter.Garbage()
	}
	return Counts{
		Garbage: garbage, Accepted: l.n.accepted.Load(), RefusedCrowded: refused, RefusedBacklog: l.n.backlog.Load(),
		RefusedSession: l.n.session.Load(), RefusedSilent: l.n.silent.Load(), RefusedProtocol: l.n.protocol.Load(),
	}
}

func link(c *quic.Conn, stream *quic.Stream, cfg transport.LinkConfig, after func()) *transport.Link {
	p := &overquic.Path{
		Conn: c, Datagrams: c, Stream: stream,
		End: func(reason string) {
			_ = c.CloseWithError(overquic.CodeClosed, reason)
			if after != nil {
				after()
			}
		},
	}
	cfg.Name, cfg.Remote, cfg.HalfClose = "quic", c.RemoteAddr().String(), true
	return transport.NewLink(cfg, p, p.ReadDatagrams, p.ReadMessages)
}

// DialConfig says how to reach a server.
type DialConfig struct {
	// Clock stamps datagrams. It must be set.
	Clock transport.Clock
	// TLS trusts the server, for instance cert.Pin. Nil trusts the system's authorities.
	TLS *tls.Config
	// IdleTimeout ends the connection when the server is silent for so long; 0 means the default.
	IdleTimeout time.Duration
}

// A Shared is a UDP socket of many clients, for programs that play with many: that costs less than a
// socket each. The kernel's buffer is shared too, so a few dozen should share one. Clients whose
// address changes several times, as roaming ones', need sockets of their own.
type Shared = overquic.Shared

// Share opens a socket for many clients: Dial, and that of package webtransport, connect from it with
// a context of Shared.With.
func Share() (*Shared, error) {
	s, err := overquic.NewShared()
	if err != nil {
		return nil, fmt.Errorf("quic: %w", err)
	}
	return s, nil
}

// Dial connects a native client to addr, "host:port". The server learns of the connection with the
// first message. ctx bounds the dialling only.
func Dial(ctx context.Context, addr string, cfg DialConfig) (transport.Conn, error) {
	if cfg.Clock == nil {
		return nil, errors.New("quic: DialConfig.Clock must be set")
	}
	t := &tls.Config{}
	if cfg.TLS != nil {
		t = cfg.TLS.Clone()
	}
	t.NextProtos = []string{transport.ALPN}
	c, end, err := overquic.Dial(ctx, addr, t, overquic.Config(cfg.IdleTimeout, 0))
	if err != nil {
		return nil, fmt.Errorf("quic: dialling %s: %w", addr, err)
	}
	stream, err := c.OpenStreamSync(ctx)
	if err != nil {
		_ = c.CloseWithError(overquic.CodeClosed, "")
		end()
		return nil, fmt.Errorf("quic: opening the stream to %s: %w", addr, err)
	}
	return link(c, stream, transport.LinkConfig{Clock: cfg.Clock}, end), nil
}
