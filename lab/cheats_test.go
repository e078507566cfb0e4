package lab

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/netsim"
)

// However and whenever a client sends commands, it runs no further than time allows: by less than
// one tick of 400. Where commands run at their tick it jumps nowhere, and where they are queued no
// further than the time that may be caught up on. What it sent once counts, and at no time do shots
// miss it that hit what the shooter saw.
//
// seeds: B20
func TestCheatsDoNotPay(t *testing.T) {
	const span = 16 * time.Second
	const most = 3600.0 / 400 // ticks a minute
	for i := range cheats {
		of := &cheats[i]
		for n := range 2 * len(of.sizes) {
			size, mode := of.sizes[n/2], []game.CommandMode{game.Timed, game.Queued}[n%2]
			got, err := playCheat(of, size, mode, 1, netsim.LAN, span)
			if err != nil {
				t.Fatal(err)
			}
			if of.name == "honest" && got.gained < -most || got.shots < 150 {
				t.Errorf("%s: an honest client gains %.1f ticks a minute, and is shot at %d times", of.name, got.gained, got.shots)
			}
			jump := 1.0
			if mode == game.Queued { // server.QueuedCredit, and the error of a clock that is allowed for
				jump = 100 * cheatSpeed * (0.5 + 0.15)
			}
			if got.gained > most || got.jump > jump || got.rewritten > 0 || got.untouchable > 0 || got.missed > 0 {
				t.Errorf("%s of %v, mode %v: gains %.1f ticks a minute, want at most %.0f; jumps %.0f cm, want at most %.0f; "+
					"rewrites %.0f ticks a minute; %d shots missed, %.0f ms untouchable", of.name, size, mode, got.gained,
					most, got.jump, jump, got.rewritten, got.missed, got.untouchable)
			}
		}
	}
}

// What the rules hide from a client is in none of its packets: no state of it, and no handle that
// names it.
//
// seeds: B20
func TestWallsHold(t *testing.T) {
	got, err := playWalls(1, netsim.Ocean, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got.hiddenShare < 0.2 || got.states < 1000 || got.names < 1000 {
		t.Errorf("%.2f hidden, %d states, %d names", got.hiddenShare, got.states, got.names)
	}
	if got.hiddenStates > 0 || got.hiddenNames > 0 {
		t.Errorf("clients read %d states and %d names that the rules hide", got.hiddenStates, got.hiddenNames)
	}
}
