package site

import (
	"log/slog"
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
