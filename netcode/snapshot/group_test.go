package snapshot

import (
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
)

// The states around a playout time are the pair that encloses it, however uneven the intervals: a
// ball's bounce keeps its lowest point, which the newest two states alone would cut off.
//
// seeds: B10
func TestAroundEnclosesThePlayoutTime(t *testing.T) {
	var g Group
	for _, s := range []motion.State{{Tick: 10, Vals: []int64{90}}, {Tick: 12, Vals: []int64{40}},
		{Tick: 13, Vals: []int64{5}},
		{Tick: 14, Vals: []int64{35}}, {Tick: 21, Vals: []int64{80}}, {Tick: 22, Bound: 4, Vals: []int64{85}}} {
		g.insert(&s)
	}
	const none = clock.Tick(0)
	for _, c := range []struct {
		t    clock.TickFrac
		a, b clock.Tick
	}{
		{clock.Tick(9).Frac(), 10, none}, // before all: the oldest
		{clock.Tick(10).Frac() - 1, 10, none},
		{clock.Tick(10).Frac(), 10, 12},
		{clock.Tick(12).Frac() - 1, 10, 12},
		{clock.Tick(12).Frac(), 12, 13},
		{clock.Tick(12).Frac() + 128, 12, 13},
		{clock.Tick(13).Frac(), 13, 14},
		{clock.Tick(20).Frac(), 14, 21},
		{clock.Tick(22).Frac(), 21, 22}, // shown four ticks later
		{clock.Tick(26).Frac() - 1, 21, 22},
		{clock.Tick(26).Frac(), 22, none},
		{clock.Tick(99).Frac(), 22, none},
	} {
		a, b := g.Around(c.t)
		next := none
		if b != nil {
			next = b.Tick
		}
		if a.Tick != c.a || next != c.b {
			t.Errorf("around %.2f: %d and %d, want %d and %d", float64(c.t)/clock.FracPerTick, a.Tick, next, c.a, c.b)
		}
	}
	if a, b := (&Group{}).Around(0); a != nil || b != nil {
		t.Errorf("around nothing: %v and %v", a, b)
	}
}
