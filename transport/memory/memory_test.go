package memory_test

import (
	"context"
	"testing"
	"time"

	"meanwhile/transport"
	"meanwhile/transport/internal/conntest"
	"meanwhile/transport/memory"
)

func open(t testing.TB, hello time.Duration) conntest.Network {
	l, err := memory.Listen(memory.Config{Client: conntest.Clock, Server: conntest.Clock, HelloTimeout: hello})
	if err != nil {
		t.Fatal(err)
	}
	return conntest.Network{Listener: l, Dial: func(context.Context) (transport.Conn, error) { return l.Dial() }}
}

func TestConn(t *testing.T) { conntest.Run(t, "memory", open) }
