package bridge

import (
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
)

// A click in the first frame after a pause is one shot at any rate: the first of the commands that
// are due then may be too old for the server to run its press.
func TestPressAfterAPause(t *testing.T) {
	for _, rate := range []int{10, 15, 20, 30, 60} {
		for _, pause := range []time.Duration{30 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond,
			3 * time.Second} {
			def := zap.Game
			def.Rate = rate
			def.Referee = func(w *game.World) {
				for _, p := range zap.Pilots.All(w) {
					p.Ammo = 5
				}
			}
			w := newWorld(t, &def)
			p, other := w.page("ann", nil), w.page("bob", nil)
			click := false
			p.input = func([]float64) []float64 {
				cmd := []float64{0, 0, 0, 0}
				if click { // as keys and the pointer do: it is in the first command, and in no other
					click, cmd[3] = false, 1
				}
				return cmd
			}
			w.run(3 * time.Second)
			for range 3 {
				p.frozen = true
				w.run(pause)
				p.frozen, click = false, true
				w.run(2 * time.Second)
			}
			for who, events := range map[string][]happened{"the shooter": p.events, "the other": other.events} {
				shots := 0
				for _, e := range events {
					if e.name == "zap" {
						shots++
					}
				}
				if shots != 3 {
					t.Errorf("%d Hz, frames stand still for %v: %s is shown %d shots of 3", rate, pause, who, shots)
				}
			}
		}
	}
}
