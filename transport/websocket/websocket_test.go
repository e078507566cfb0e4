package websocket

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meanwhile/transport"
	"meanwhile/transport/internal/conntest"
)

// serve mounts a Server on loopback and returns its address, which begins with ws://.
func serve(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	cfg.Clock = conntest.Clock
	s, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close("test is over")
		h.Close()
	})
	return s, "ws" + strings.TrimPrefix(h.URL, "http")
}

func dial(ctx context.Context, url string) (transport.Conn, error) {
	return Dial(ctx, url, DialConfig{Clock: conntest.Clock})
}

func TestConn(t *testing.T) {
	t.Parallel()

	conntest.Run(t, "websocket", func(t testing.TB, hello time.Duration) conntest.Network {
		s, url := serve(t, Config{HelloTimeout: hello})
		return conntest.Network{Listener: s, Dial: func(ctx context.Context) (transport.Conn,
			error) {
			return dial(ctx, url)
		}}
	})
}

func TestHelloTimeout(t *testing.T) {
	conntest.HelloTimeout(t, func(t testing.TB, hello time.Duration) conntest.Network {
		_, n := inBubble(t, Config{HelloTimeout: hello})
		return n.Network
	})
}
