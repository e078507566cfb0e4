package lab

import (
	"testing"
	"time"

	"meanwhile/netsim"
)

// A place in the plane and the number of a floor say where a walker is in a house, and the client
// has every one on the right floor. They take fewer bits than 16 bits of height, and than heights as
// differences.
//
// seeds: R40
func TestFloorsAreCheaperThanHeights(t *testing.T) {
	for _, hills := range []bool{false, true} {
		bits := map[string]floorsBits{}
		for _, policy := range floorsExperiment.policies {
			b, err := floorsOf(policy, 2, netsim.Fiber, hills, 40*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("hills %v, %s: %+v", hills, policy, b)
			if b.wrong != 0 || b.updates < 10_000 {
				t.Errorf("hills %v, %s: %d walkers are elsewhere, after %d updates", hills, policy, b.wrong, b.updates)
			}
			bits[policy] = b
		}
		if floor := bits["floor"]; floor.update > 0.9*bits["height"].update || floor.update > 0.5*bits["z16"].update ||
			floor.first > bits["z16"].first {
			t.Errorf("hills %v: %+v", hills, bits)
		}
	}
}
