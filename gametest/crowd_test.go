package gametest

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/netsim"
)

// A hundred bots in one world on a bad path: no state that a client applies ever differs from the
// server's, and everyone is drawn where it was.
//
// seeds: P10 R46
func TestHundredBotsNeverDiverge(t *testing.T) {
	seeds, span := []uint64{1, 2}, 30*time.Second
	if testing.Short() {
		seeds, span = seeds[:1], 5*time.Second
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			s := crowd(t, seed, 100, 1, netsim.Ocean)
			s.Run(span / 2)
			s.Measure()
			s.Run(span / 2)
			if err := s.Diverged(); err != nil {
				t.Fatalf("%v\nreplay: go test ./gametest -run '%s'", err, t.Name())
			}
			if q := s.Quality(); q.ViewErrorP95 > 1 {
				t.Errorf("pilots are drawn %.2f m from where they were at that moment", q.ViewErrorP95)
			}
			compared, old := s.Checked()
			t.Logf("%d states compared, %d too old; bytes hash to %x", compared, old, s.Hash())
			if compared < 100_000 {
				t.Errorf("only %d states compared", compared)
			}
		})
	}
}
