package site

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"meanwhile/examples/arena"
	"meanwhile/host"
)

// A server with --otlp sends its figures, the last ones when it ends, and a wrong address is named
// before it starts.
func TestOTLP(t *testing.T) {
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	got := map[string][]byte{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = b
	}))
	defer collector.Close()
	cfg := Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules}, Door: Door{UDP: udpOff, OTLP: collector.URL}}
	s, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.Serve(ended, nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"meanwhile_rooms", "meanwhile_tick_seconds", "go_goroutines", "service.name", "arena"} {
		if !bytes.Contains(got["/v1/metrics"], []byte(want)) {
			t.Errorf("%d bytes of figures lack %q", len(got["/v1/metrics"]), want)
		}
	}
	cfg.Door.OTLP = "collector:4318"
	if s, err := Listen(cfg); err == nil || !strings.HasPrefix(err.Error(), `--otlp: "collector:4318" is no address`) {
		t.Errorf("a wrong address: %v, %v", s, err)
	}
}
