package host

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"meanwhile/session"
)

// A world whose ticks or entities run short of numbers says so once, and ends before they are used
// up: its players are sent away with a sentence, and may come back at once.
func TestWornWorldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := newStage(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		ann := s.join("ann", "")
		s.Host.mu.Lock()
		r := s.Host.rooms[s.Host.cfg.Room]
		s.Host.mu.Unlock()
		r.call(func() {
			for _, share := range []float64{r.srv.Worn(), worn - 0.01, worn + 0.01, worn + 0.02, wornOut - 0.01} {
				if why, over := r.wear(share); over {
					t.Errorf("at %v the world ends: %v", share, why)
				}
			}
			if why, over := r.wear(wornOut); !over || why.Code != session.ShuttingDown || why.Text == "" {
				t.Errorf("a worn out world goes on: %v", why)
			}
		})
		ann.leave()
		<-ann.left
		s.end()
		if n := strings.Count(log.String(), "short of numbers"); n != 1 {
			t.Errorf("the log says %d times that numbers run short, want once:\n%s", n, &log)
		}
	})
}
