package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echoes listens on one port for TCP and UDP.
func echoes(t *testing.T) (net.Listener, net.PacketConn) {
	t.Helper()
	for range 20 { // the port that TCP got may be taken for UDP
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if udp, err := net.ListenPacket("udp", tcp.Addr().String()); err == nil {
			return tcp, udp
		}
		tcp.Close()
	}
	t.Fatal("no port is free for both TCP and UDP")
	return nil, nil
}

// What goes through a proxy arrives late and whole, over UDP and TCP, and is counted.
func TestProxy(t *testing.T) {
	tcp, udp := echoes(t)
	defer tcp.Close()
	go func() {
		for c, err := tcp.Accept(); err == nil; c, err = tcp.Accept() {
			go func() { defer c.Close(); io.Copy(c, c) }()
		}
	}()
	defer udp.Close()
	go func() {
		b := make([]byte, 100)
		for n, from, err := udp.ReadFrom(b); err == nil; n, from, err = udp.ReadFrom(b) {
			udp.WriteTo(b[:n], from)
		}
	}()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"proxy", tcp.Addr().String(), "--addr", "127.0.0.1:0", "--profile", "none",
			"--delay", "20ms"}, in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n')
	addr, _, _ := strings.Cut(strings.TrimPrefix(first, "http://"), "/")
	lines.ReadString('\n')
	for _, network := range []string{"tcp", "udp"} {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begun := time.Now()
		b := make([]byte, 5)
		c.Write([]byte("hello"))
		c.SetReadDeadline(begun.Add(10 * time.Second))
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" || time.Since(begun) < 40*time.Millisecond {
			t.Errorf("%s: %q came back after %v: %v", network, b, time.Since(begun), err)
		}
	}
	stop()
	if last, _ := lines.ReadString('\n'); last != "1 datagrams to the server, 1 to clients; 0 were lost to cuts\n" {
		t.Errorf("it ends with %q", last)
	}
	if c := <-code; c != 0 {
		t.Errorf("exit status %d", c)
	}
}

func TestProxyRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{"--profile=moon", "moon"}, {"--loss=101", "--loss 101"}, {"--corrupt=-1", "--corrupt -1"}, {"--mtu=5", "MTU 5"},
		{"--cut=40s", "--cut 40s"}, {"--kbit=-1", "--kbit -1"}, {"--addr=here", `"here"`},
		{"--trace-up=/nonexistent", "/nonexistent"}, {"--delay=11s", "11"},
	} {
		var errs strings.Builder
		code := run(t.Context(), []string{"proxy", "127.0.0.1:1", c[0], "--for=1ns"}, io.Discard, &errs)
		if code != 2 || !strings.Contains(errs.String(), c[1]) {
			t.Errorf("%s: exit status %d, %q", c[0], code, &errs)
		}
	}
}
