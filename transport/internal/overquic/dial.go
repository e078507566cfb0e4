package overquic

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/quic-go/quic-go"
)

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
	network := "udp4"
	if remote.IP.To4() == nil {
		network = "udp6"
	}
	socket, err := net.ListenUDP(network, nil)
	if err != nil {
		return nil, nil, err
	}
	if t.ServerName == "" {
		t = t.Clone()
		t.ServerName = host
	}
	tr := &quic.Transport{Conn: socket}
	close = func() {
		_ = tr.Close()
		_ = socket.Close()
	}
	if c, err = tr.Dial(ctx, remote, t, q); err != nil {
		close()
		return nil, nil, err
	}
	return c, close, nil
}
