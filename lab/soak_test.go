package lab

import (
	"math"
	"testing"
	"time"
)

// Growth is the slope of measurements, not the difference of two of them.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"one", []float64{5}, 0},
		{"flat", []float64{100, 100, 100}, 0},
		{"leak", []float64{100, 101, 102, 103, 104}, 0.04},
		{"shrinks", []float64{100, 90, 80}, -0.2},
		{"one high at the end", []float64{100, 100, 100, 100, 100, 100, 100, 100, 100, 110}, 0.05},
	} {
		if got := Growth(c.values); math.Abs(got-c.want) > 0.006 {
			t.Errorf("%s: growth %v, want %v", c.name, got, c.want)
		}
	}
}

// A short soak: everything happens to players, nothing fails, and who left is forgotten.
func TestSoak(t *testing.T) {
	const players = 8
	k, err := newSoak(3, players)
	if err != nil {
		t.Fatal(err)
	}
	k.part(2*time.Minute, time.Minute)
	c, compared, divergences, err := k.sum()
	if err != nil || divergences > 0 || compared < 50_000 {
		t.Errorf("%d of %d states differ; %v", divergences, compared, err)
	}
	if c.cuts == 0 || c.roams == 0 || c.returns == 0 || c.leaves == 0 || c.span != 2*players*time.Minute {
		t.Errorf("something did not happen: %+v", c)
	}
	for _, w := range k.worlds {
		if n := len(w.sim.Players()); n > players {
			t.Errorf("%d players are known after %d left, %d play", n, c.leaves, players)
		}
	}
}
