// Package sites serves games within tests: a site that ends with its test, its program for the
// browser, and a piece of network before it that can be cut.
package sites

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"meanwhile/app/site"
	"meanwhile/game"
	"meanwhile/transport/relay"
)

// above is the way from the folder of a browser's test to the root of the module.
const above = "../../../.."

// Program builds the package main in a folder of the module for the browser. An unchanged one is not
// built again.
func Program(t testing.TB, dir, name string) *site.Program {
	t.Helper()
	p, err := site.Build(t.Context(), filepath.Join(above, dir), name, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Zap builds the sample game's program.
func Zap(t testing.TB) *site.Program {
	t.Helper()
	return Program(t, "examples/zap/cmd/zap", "zap")
}

// Rules returns the rules of a game.
func Rules[C any](t testing.TB, def *game.Definition[C]) *game.Rules {
	t.Helper()
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Listen opens a site, on a free port of this machine if cfg names no address.
func Listen(t testing.TB, cfg site.Config) *site.Site {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	s, err := site.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run serves a site until stop is called or the test ends. A browser that was opened later is closed
// before.
func Run(t testing.TB, s *site.Site, p *site.Program) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, p) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Serve is Listen and Run.
func Serve(t testing.TB, cfg site.Config, p *site.Program) (s *site.Site, stop func()) {
	t.Helper()
	s = Listen(t, cfg)
	return s, Run(t, s, p)
}

// Relay returns a relay on this machine, which ends with the test. It leads nowhere before ServeBehind.
func Relay(t testing.TB) *relay.Relay {
	t.Helper()
	r, err := relay.New("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// ServeBehind is Serve for a site that players reach through a relay alone, which leads to it from
// now on.
func ServeBehind(t testing.TB, r *relay.Relay, cfg site.Config, p *site.Program) (s *site.Site, stop func()) {
	t.Helper()
	cfg.Door.PublicAddr = r.Addr()
	// A relay leads to one port, but a site whose TCP port is taken for UDP has two.
	s = Listen(t, cfg)
	for tries := 1; !onePort(s); tries++ {
		if s.Close(); tries == 20 {
			t.Fatal("no port is free for both TCP and UDP")
		}
		s = Listen(t, cfg)
	}
	stop = Run(t, s, p)
	if err := r.To(s.QUIC()); err != nil {
		t.Fatal(err)
	}
	return s, stop
}

// onePort reports whether a site's UDP port is its TCP port, too.
func onePort(s *site.Site) bool {
	c, err := net.Dial("tcp", s.QUIC())
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// URL is the address of the page behind a relay.
func URL(r *relay.Relay) string { return "http://" + r.Addr() + "/" }

// Notice is an expression of the page: the text over the canvas, or "".
const Notice = `(() => {
	const n = document.querySelector(".meanwhile-notice")
	return !n || n.classList.contains("quiet") ? "" : n.innerText.trim()
})()`
