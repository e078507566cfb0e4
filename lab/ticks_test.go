package lab

import (
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

func TestTicksGolden(t *testing.T) {
	status, out, errs := lab("ticks", "--quick", "--seed", "3", "--json")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	golden.Check(t, "testdata/ticks.golden", shape(out))
}

// The cost of overload and stalls is bounded: a server at twice what it can do for ten seconds of a
// minute, or one that stands still.
//
// seeds: R16
func TestTicksLimits(t *testing.T) {
	for _, load := range loads[1:] {
		var sum, usual ticksResult
		for seed := range uint64(3) {
			for _, one := range []struct {
				load string
				to   *ticksResult
			}{{loads[0], &usual}, {load, &sum}} {
				res, err := playTicks(seed+1, netsim.Fiber, ours, one.load, 60, 120*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				one.to.add(res)
			}
		}
		m := sum.metrics(&usual, 60)
		growth, _ := m.Get("delay_growth_ms")
		beyond, _ := m.Get("beyond_per_min")
		if growth > 60 || beyond > 1 {
			t.Errorf("load %s: the delay grows by %.1f ms, want 60 at most; %.2f hitches a minute beyond, want 1 "+
				"at most", load, growth, beyond)
		}
	}
}

// Each way to keep time runs the nominal number of ticks while it has time to, and none runs more
// than it owes.
func TestBeats(t *testing.T) {
	const step = 50 * time.Millisecond
	for _, policy := range ticksExperiment.policies {
		b := newBeat(policy, step)
		now, ticks := clock.Time(0), 0
		for now < 10e9 {
			for range b.Due(now) {
				b.Ran(10 * time.Millisecond)
				now = now.Add(10 * time.Millisecond)
				ticks++
			}
			now = max(now, b.Next())
		}
		if ticks < 199 || ticks > 201 || b.Spacing() != step {
			t.Errorf("%s: %d ticks in 200 periods, spacing %v", policy, ticks, b.Spacing())
		}
	}
}
