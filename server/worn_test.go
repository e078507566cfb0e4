package server

import (
	"testing"

	"meanwhile/game"
	"meanwhile/netcode/clock"
)

// What wears a world out is whichever runs short first, ticks or entities.
func TestWorn(t *testing.T) {
	n := newNest(t, Config{})
	n.referee = func(w *game.World) {
		for range 50 {
			w.Despawn(crumbs.Spawn(w, crumb{}))
		}
	}
	n.tick(nil)
	if got := n.s.Worn() * (1 << 32); got < 50 || got > 60 {
		t.Errorf("after 50 entities %v numbers are used up", got)
	}
	n.s.tick = clock.Tick(3 << 30)
	if got := n.s.Worn(); got != 0.75 {
		t.Errorf("after three quarters of all ticks %v of the numbers are used up", got)
	}
}
