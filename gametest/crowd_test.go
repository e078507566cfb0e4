package gametest

import (
	"testing"
	"time"

	"meanwhile/netsim"
)

// A hundred bots in one world on a bad path: no state that a client applies ever differs from the
// server's, and everyone is drawn where it was. The experiments hundred and soak of the laboratory do
// this for longer; the former is part of its gate.
//
// seeds: P10 R46
func TestHundredBotsNeverDiverge(t *testing.T) {
	s := crowd(t, 1, 100, 1, netsim.Ocean)
	s.Run(3 * time.Second)
	s.Measure()
	s.Run(5 * time.Second)
	if err := s.Diverged(); err != nil {
		t.Fatal(err)
	}
	if q := s.Quality(); q.ViewErrorP95 > 1 {
		t.Errorf("pilots are drawn %.2f m from where they were at that moment", q.ViewErrorP95)
	}
	compared, old := s.Checked()
	t.Logf("%d states compared, %d too old; bytes hash to %x", compared, old, s.Hash())
	if compared < 100_000 {
		t.Errorf("only %d states compared", compared)
	}
}
