package site

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meanwhile/host"
	"meanwhile/host/metrics"
)

// What is dropped before QUIC reads it is in the figures.
func TestGarbageIsCounted(t *testing.T) {
	s := serve(t, Config{Host: host.Config{Rules: rules(t)}}, fake(t))
	stranger, err := net.Dial("udp", s.QUIC())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	for { // the test ends by its own time where it never comes
		w := httptest.NewRecorder()
		metrics.Handler(s.sources()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if strings.Contains(w.Body.String(), "\nmeanwhile_garbage_datagrams_total 1\n") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
