package quic

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/webtransport"
)

// serve opens a listener on loopback with a certificate of its own.
func serve(t testing.TB, cfg Config) (*Listener, *cert.SelfSigned) {
	t.Helper()
	c, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Clock = conntest.Clock
	if cfg.Certificate == nil {
		cfg.Certificate = c.GetCertificate
	}
	l, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close("test is over") })
	return l, c
}

func pins(t testing.TB, c *cert.SelfSigned) []cert.Fingerprint {
	t.Helper()
	f, err := c.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func dialNative(ctx context.Context, l *Listener, pin ...cert.Fingerprint) (transport.Conn, error) {
	return Dial(ctx, l.Addr(), DialConfig{Clock: conntest.Clock, TLS: cert.Pin(pin...)})
}

func dialWeb(ctx context.Context, l *Listener, origin string, pin ...cert.Fingerprint) (transport.Conn, error) {
	return webtransport.Dial(ctx, "https://"+l.Addr()+transport.Path,
		webtransport.DialConfig{Clock: conntest.Clock, TLS: cert.Pin(pin...), Origin: origin})
}

func dialWebAt(ctx context.Context, addr string, t *tls.Config) (transport.Conn, error) {
	return webtransport.Dial(ctx, "https://"+addr+transport.Path, webtransport.DialConfig{Clock: conntest.Clock, TLS: t})
}

func TestNative(t *testing.T) {
	t.Parallel()

	conntest.Run(t, "quic", func(t testing.TB, hello time.Duration) conntest.Network {
		l, c := serve(t, Config{HelloTimeout: hello})
		return conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			return dialNative(ctx, l, pins(t, c)...)
		}}
	})
}

func TestWebTransport(t *testing.T) {
	t.Parallel()

	conntest.Run(t, "webtransport", func(t testing.TB, hello time.Duration) conntest.Network {
		l, c := serve(t, Config{HelloTimeout: hello})
		return conntest.Network{Listener: l, Dial: func(ctx context.Context) (transport.Conn, error) {
			return dialWeb(ctx, l, "", pins(t, c)...)
		}}
	})
}
