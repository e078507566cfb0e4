package site

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"meanwhile/host"
)

// What a site logs goes through the host, which bounds and counts it.
func TestLogGoesThroughTheHost(t *testing.T) {
	var got diary
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules(t), Log: Logger(&got, true)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 10 * host.LogBurst { // more than refill meanwhile
		s.log.Info("a login failed")
	}
	s.log.Warn("important one")
	s.log.Warn("important two") // rarely, one message shares its counter with the flood
	if n := s.Host().Stats().LogDropped; n == 0 {
		t.Error("no line is counted as dropped")
	}
	if !strings.Contains(got.String(), `msg="important`) {
		t.Error("a flood of other lines displaces a warning")
	}
}

// What strangers choose neither evades the bounds of the log nor displaces other warnings.
func TestLogOfStrangers(t *testing.T) {
	var got diary
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules(t), Log: slog.New(slog.NewTextHandler(&got,
		&slog.HandlerOptions{Level: slog.LevelDebug}))}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := newHTTPServer(nil, s.log)
	for i := range 10 * host.LogBurst { // more than refill meanwhile
		server.ErrorLog.Printf("http: TLS handshake error from 192.0.2.1:%d: EOF", i)
	}
	if n := s.Host().Stats().LogDropped; n == 0 {
		t.Error("no line about failed connections is dropped")
	}
	for i := range 2 * maxOnce {
		s.once("one sentence", "origin", strings.Repeat("x", 10*maxShown)[i:])
		s.once("one sentence", "origin", strconv.Itoa(i))
		s.once("one sentence", "origin", "again")
	}
	s.once("another sentence", "host", "example")
	for sentence, want := range map[string]int{"one sentence": maxOnce, "another sentence": 1,
		strings.Repeat("x", maxShown): 1, strings.Repeat("x", maxShown+1): 0} {
		if n := strings.Count(got.String(), sentence); n != want {
			t.Errorf("%q is logged %d times, want %d", sentence, n, want)
		}
	}
}

// Without -v only warnings are logged.
func TestLogLevels(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var got diary
		log := Logger(&got, verbose)
		log.Log(t.Context(), slog.LevelInfo, "detail")
		log.Warn("warning")
		if strings.Contains(got.String(), "detail") != verbose || !strings.Contains(got.String(), "warning") {
			t.Errorf("verbose %v: %s", verbose, got.String())
		}
	}
}
