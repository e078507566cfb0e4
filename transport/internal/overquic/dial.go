package overquic

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/quic-go/quic-go"
)

// socketKey finds the socket in a context that From made.
type socketKey struct{}

// From returns a context with which Dial takes this socket and makes none: for tests that need no
// kernel, and so run in virtual time.
func From(ctx context.Context, socket net.PacketConn) context.Context {
	return context.WithValue(ctx, socketKey{}, socket)
}

// A Shared is a UDP socket from which many clients dial. It reads in batches where sockets of their
// own are read one by one. Its kernel buffer is shared too, so it suits a few dozen.
type Shared struct {
	socket *net.UDPConn
	tr     *quic.Transport
}

// NewShared opens a socket for IPv4, and for IPv6 where the system has that.
func NewShared() (*Shared, error) {
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return &Shared{socket: socket, tr: &quic.Transport{Conn: socket}}, nil
}

// With returns a context with which Dial connects from the shared socket.
func (s *Shared) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, socketKey{}, s)
}

// Close closes the socket. The connections must have ended.
func (s *Shared) Close() {
	_ = s.tr.Close()
	_ = s.socket.Close()
}

// Dial opens a QUIC connection from a socket of its own; close closes that socket, after the
// connection. addr is "host:port"; ctx bounds the dialling only.
func Dial(ctx context.Context, addr string, t *tls.Config, q *quic.Config) (c *quic.Conn, close func(), err error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("address %q is not host:port: %w", addr, err)
	}
	remote, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, nil, err
	}
	if t.ServerName == "" {
		t = t.Clone()
		t.ServerName = host
	}
	if s, ok := ctx.Value(socketKey{}).(*Shared); ok {
		c, err = s.tr.Dial(ctx, remote, t, q)
		return c, func() {}, err
	}
	socket, given := ctx.Value(socketKey{}).(net.PacketConn)
	if !given {
		network := "udp4"
		if remote.IP.To4() == nil {
			network = "udp6"
		}
		if socket, err = net.ListenUDP(network, nil); err != nil {
			return nil, nil, err
		}
	}
	close = func() { _ = socket.Close() }
	// A socket of one connection needs no connection IDs. With them, each change of the client's
	// address takes one for good, and the client is deaf after the third (quic-go issue 5814).
	if c, err = quic.Dial(ctx, socket, remote, t, q); err != nil {
		close()
		return nil, nil, err
	}
	return c, close, nil
}
