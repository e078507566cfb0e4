package baseline

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// The engine default: the mean of one-way differences, halved at 250 samples, of which each answer
// takes half the step. The expected values are worked out from answers that took 0, then 8 ms more
// on the way down.
//
// seeds: U3
func TestUnrealIsAHalfStepTowardsAMeanOf250(t *testing.T) {
	var c unreal
	now := clock.Time(0)
	answer := func(way time.Duration) time.Duration { // returns how far the clock is behind
		now = now.Add(time.Second)
		c.Exchange(Exchange{T0: now.Add(-way), T1: now.Add(-way), T2: now.Add(-way), T3: now})
		server, _, _ := c.Now(now)
		return now.Sub(server)
	}
	if got := answer(0); got != 0 {
		t.Fatalf("after the first answer %v behind", got)
	}
	// The mean of 0 and 8 ms is 4 ms; half of the way there are 2.
	if got := answer(8 * time.Millisecond); got != 2*time.Millisecond {
		t.Fatalf("after the second answer %v behind, want 2 ms: half a step to a mean of 4 ms", got)
	}
	// The mean of 0, 8 and 8 ms is 16/3 ms; from 2 ms half of the way are 11/3.
	if got, want := answer(8*time.Millisecond), 11*time.Millisecond/3; (got - want).Abs() > 2 {
		t.Fatalf("after the third answer %v behind, want %v", got, want)
	}
	for range 247 {
		answer(8 * time.Millisecond)
	}
	if c.n != 250 {
		t.Fatalf("the mean is of %d samples, want 250", c.n)
	}
	before := c.delta
	// The next begins a new mean, with the old one (249 times 8 ms in 250) as its first sample.
	got := answer(20 * time.Millisecond)
	mean := (8*time.Millisecond*249/250 + 20*time.Millisecond) / 2
	if want := -before + (mean+before)/2; c.n != 2 || (got-want).Abs() > time.Microsecond {
		t.Errorf("after 251 answers %v behind, want %v; %d samples in the mean", got, want, c.n)
	}
}
