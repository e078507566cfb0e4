package server

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
)

// The longest bound leaves the history room for a rewind.
func TestLongestBound(t *testing.T) {
	for _, c := range []struct {
		rate, send int
		rewind     bool
		most       clock.Tick
	}{{60, 20, true, 36}, {30, 20, true, 48}, {20, 20, true, 48}, {20, 20, false, 48}, {60, 20, false, 48}} {
		cfg := Config{Rewind: -1}
		if c.rewind {
			cfg.Rewind, cfg.RewindTotal = DefaultRewind, MaxRewind
		}
		s := &Server{rules: &game.Rules{Rate: c.rate}, cfg: cfg, period: time.Second / time.Duration(c.rate)}
		if got := motion.Wait(s.maxClass(c.send)); got != c.most {
			t.Errorf("%d ticks and %d packets a second, rewind %v: %d ticks, want %d", c.rate, c.send, c.rewind, got, c.most)
		}
	}
}
