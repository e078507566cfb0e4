//go:build linux || darwin

package websocket

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"

	"meanwhile/transport"
	"meanwhile/transport/internal/conntest"
)

// The kernel holds no more than 4 kB that TCP cannot send yet, or datagrams on a slow path would be
// seconds old.
func TestKernelHoldsLittle(t *testing.T) {
	s, err := NewServer(Config{Clock: conntest.Clock})
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu      sync.Mutex
		sockets []*net.TCPConn
	)
	h := httptest.NewUnstartedServer(s)
	h.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			mu.Lock()
			defer mu.Unlock()
			sockets = append(sockets, tcp)
		}
	}
	h.Start()
	t.Cleanup(func() {
		s.Close("test is over")
		h.Close()
	})
	c, err := dial(conntest.Context(t), "ws"+h.URL[len("http"):]+transport.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close("")
	if _, err := s.Accept(conntest.Context(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sockets) != 1 {
		t.Fatalf("%d sockets, want 1", len(sockets))
	}
	raw, err := sockets[0].SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	if e := raw.Control(func(fd uintptr) {
		got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowAt)
	}); e != nil || err != nil {
		t.Skipf("NOT CHECKED: this kernel has no such bound: %v, %v", e, err)
	}
	if got != 4<<10 {
		t.Errorf("the kernel may hold %d bytes unsent, want 4096", got)
	}
}
