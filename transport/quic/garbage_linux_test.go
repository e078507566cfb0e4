package quic

import (
	"net"
	"testing"

	"meanwhile/transport/internal/conntest"
)

// A server drops garbage where it reads it. The handshake came behind the garbage through the same
// socket, so that has been read when it is over.
func TestGarbageIsDropped(t *testing.T) {
	l, c := serve(t, Config{})
	stranger, err := net.Dial("udp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	const n = 5
	for range n {
		if _, err := stranger.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := dialNative(conntest.Context(t), l, pins(t, c)...)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close("")
	if got := l.Counts().Garbage; got != n {
		t.Errorf("%d datagrams dropped, want %d", got, n)
	}
}
