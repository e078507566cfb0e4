// Package webtransport carries a connection in a WebTransport session over HTTP/3, as browsers do.
// Dial is a client for tests and load; the server's half is used by package quic, which serves
// WebTransport and native QUIC on one port. Its bytes are in docs/PROTOCOL.md, "Transports".
package webtransport

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	wt "github.com/quic-go/webtransport-go"

	"meanwhile/transport"
	"meanwhile/transport/internal/overquic"
)

// ALPN is the application protocol of HTTP/3.
const ALPN = http3.NextProtoH3

// Bounds of a session. Safari accepts no session of a server that does not announce all three, so
// none may be zero; the QUIC connection below has tighter ones.
const (
	maxStreams    = 4
	maxUniStreams = 4
	maxData       = 256 << 10
	maxHeader     = 8 << 10
	// goodbye is how long a session that we close may take to tell the client so before the
	// connection below it is closed too.
	goodbye = 250 * time.Millisecond
)

func sessionConfig() *wt.Config {
	return &wt.Config{MaxIncomingStreams: maxStreams, MaxIncomingUniStreams: maxUniStreams, MaxIncomingData: maxData}
}

// A Server upgrades HTTP/3 connections to sessions.
type Server struct {
	inner *wt.Server
}

// NewServer returns a Server that lets pages of the origins in at path and calls accept with each
// session, in a goroutine of its own; the context is that of the QUIC connection. refuse is called
// with the reason for each request that is turned away.
func NewServer(
	path string, origins transport.Origins, accept func(context.Context, *Session), refuse func(error),
) *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "this is a WebTransport endpoint", http.StatusMethodNotAllowed)
			return
		}
		if o := r.Header.Get("Origin"); !origins.Allow(o, r.Host) {
			refuse(fmt.Errorf("webtransport: origin %q is not allowed", o))
			http.Error(w, "origin not allowed", http.StatusForbidden)
			return
		}
		session, err := s.inner.Upgrade(w, r)
		if err != nil {
			refuse(fmt.Errorf("webtransport: %w", err))
			http.Error(w, "not a WebTransport request", http.StatusBadRequest)
			return
		}
		accept(r.Context(), &Session{session, w.(http3.HTTPStreamer).HTTPStream()})
	})
	s.inner = &wt.Server{
		H3: &http3.Server{
			Handler: mux, MaxHeaderBytes: maxHeader,
		},
		Config: sessionConfig(),
		// The handler above has looked already; the default would refuse pages from another port.
		CheckOrigin:       func(*http.Request) bool { return true },
		ReorderingTimeout: transport.HelloTimeout,
	}
	return s
}

// ServeConn serves a QUIC connection whose protocol is ALPN, until it ends.
func (s *Server) ServeConn(c *quic.Conn) error { return s.inner.ServeQUICConn(c) }

// Close ends all connections at once.
func (s *Server) Close() error { return s.inner.Close() }

// A Session is a WebTransport session whose stream is not open yet.
type Session struct {
	inner   *wt.Session
	connect *http3.Stream // the one that the session began on
}

// Accept waits for the client's stream and makes a connection of the session. conn is the QUIC
// connection that the session is on, which ends with it.
func (s *Session) Accept(ctx context.Context, conn *quic.Conn, cfg transport.LinkConfig) (*transport.Link, error) {
	stream, err := s.inner.AcceptStream(ctx)
	if err != nil {
		return nil, fmt.Errorf("webtransport: waiting for the client's stream: %w", err)
	}
	return link(s.inner, conn, stream, cfg, func(reason string) { s.end(conn, overquic.CodeClosed, reason) }), nil
}

// Refuse ends the session and the connection below it.
func (s *Session) Refuse(conn *quic.Conn, reason string) { s.end(conn, overquic.CodeRefused, reason) }

// end tells the client that the session ends, and why, with a capsule on the session's stream
// (draft-ietf-webtrans-http3, section 6), and then ends the connection.
//
// CloseWithError of webtransport-go v0.13.0 writes that capsule too, but asks the client in the
// same packet to send no more; Chromium reads that first and forgets the reason (webtransport-go
// issues 242 and 359). The stream must not be finished behind the capsule, as it should: the
// library may have a capsule of its own to write, takes the failure for an error, and resets the
// stream. It also resets it when Chromium ends its side, so over a path of less than a millisecond
// the reason can get lost.
func (s *Session) end(conn *quic.Conn, code quic.ApplicationErrorCode, reason string) {
	const closeSession = 0x2843
	reason = transport.CutReason(reason)
	capsule := quicvarint.Append(nil, closeSession)
	capsule = quicvarint.Append(capsule, uint64(4+len(reason)))
	capsule = binary.BigEndian.AppendUint32(capsule, uint32(code))
	if s.inner.Context().Err() == nil && s.connect.TryWriteAll(append(capsule, reason...)) == nil {
		select { // not when it ends the session: its page may not know yet, and would learn of the connection first
		case <-conn.Context().Done():
		case <-time.After(goodbye):
		}
	}
	_ = conn.CloseWithError(code, reason)
}

func link(
	session *wt.Session, conn *quic.Conn, stream *wt.Stream, cfg transport.LinkConfig, end func(reason string),
) *transport.Link {
	p := &overquic.Path{
		Conn: conn, Datagrams: session, Stream: stream, End: end,
		Why: func(err error) *transport.CloseError { return explain(session, conn, err) },
	}
	cfg.Name, cfg.Remote, cfg.HalfClose = "webtransport", session.RemoteAddr().String(), true
	return transport.NewLink(cfg, p, p.ReadDatagrams, p.ReadMessages)
}

// explain turns an error of a part of a session into the reason for the end of the connection. The
// parts fail with errors of their own, some before the session knows why it ends.
func explain(session *wt.Session, conn *quic.Conn, err error) *transport.CloseError {
	var ofStream *wt.StreamError
	if errors.Is(err, transport.ErrTooLarge) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &ofStream) {
		return overquic.Explain(err) // of the stream alone: the session would go on
	}
	patience := time.NewTimer(transport.Linger)
	defer patience.Stop()
	select {
	case <-session.Context().Done():
	case <-patience.C:
		return overquic.Explain(err)
	}
	_, ended := session.OpenStream() // a closed session opens none, and says why
	var closed *wt.SessionError
	if errors.As(ended, &closed) {
		return &transport.CloseError{Reason: transport.CutReason(closed.Message), Remote: closed.Remote, Cause: err}
	}
	// Either the connection ended, or a peer that closed the session asked us to send no more on
	// its stream: webtransport-go v0.13.0 then stops reading there as well when it has a capsule to
	// send, and the peer's reason is lost. The peer ends the connection with the same reason.
	select {
	case <-conn.Context().Done():
		return overquic.Explain(context.Cause(conn.Context()))
	case <-patience.C:
	}
	var h3 *http3.Error
	if errors.As(ended, &h3) && h3.Remote {
		return &transport.CloseError{Reason: "the peer ended the session", Remote: true, Cause: err}
	}
	return overquic.Explain(err)
}

// DialConfig says how to reach a server.
type DialConfig struct {
	// Clock stamps datagrams. It must be set.
	Clock transport.Clock
	// TLS trusts the server, for instance cert.Pin. Nil trusts the system's authorities.
	TLS *tls.Config
	// Origin is sent as the page's origin. Empty sends none, like any program.
	Origin string
	// IdleTimeout ends the connection when the server is silent for so long; 0 means the default.
	IdleTimeout time.Duration
}

// Dial opens a session at address, such as https://127.0.0.1:4433/meanwhile, and the stream in it.
// The server learns of the connection with the first message. ctx bounds the dialling only.
func Dial(ctx context.Context, address string, cfg DialConfig) (transport.Conn, error) {
	if cfg.Clock == nil {
		return nil, errors.New("webtransport: DialConfig.Clock must be set")
	}
	tlsConf := &tls.Config{}
	if cfg.TLS != nil {
		tlsConf = cfg.TLS.Clone()
	}
	tlsConf.NextProtos = []string{ALPN}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" {
		return nil, fmt.Errorf("webtransport: %q is no address of the form https://host:port/path", address)
	}
	conn, end, err := overquic.Dial(ctx, u.Host, tlsConf, overquic.Config(cfg.IdleTimeout, 0))
	if err != nil {
		return nil, fmt.Errorf("webtransport: dialling %s: %w", address, err)
	}
	fail := func(what string, err error) error {
		_ = conn.CloseWithError(overquic.CodeClosed, "")
		end()
		return fmt.Errorf("webtransport: %s %s: %w", what, address, err)
	}
	header := http.Header{}
	if cfg.Origin != "" {
		header.Set("Origin", cfg.Origin)
	}
	// Not the Dial of wt.Transport: it ends the connection with the session, and so loses the
	// reason.
	d := &wt.Transport{Config: sessionConfig()}
	client, err := d.NewClientConn(conn)
	if err != nil {
		return nil, fail("dialling", err)
	}
	_, session, err := client.Dial(ctx, address, header)
	if err != nil {
		return nil, fail("opening a session at", err)
	}
	stream, err := session.OpenStreamSync(ctx)
	if err != nil {
		return nil, fail("opening the stream at", err)
	}
	return link(session, conn, stream, transport.LinkConfig{Clock: cfg.Clock}, func(reason string) {
		first := session.Context().Err() == nil
		_ = session.CloseWithError(wt.SessionErrorCode(overquic.CodeClosed), reason)
		if first {
			select { // the server ends the connection when it has read the reason
			case <-conn.Context().Done():
			case <-time.After(goodbye):
			}
		}
		_ = conn.CloseWithError(overquic.CodeClosed, reason)
		end()
	}), nil
}
