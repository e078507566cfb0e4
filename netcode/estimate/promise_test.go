package estimate

import (
	"math"
	"strings"
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// Bounds are allowed, values beyond them refused, and changing a Config afterwards changes nothing.
func TestConfigAtItsBounds(t *testing.T) {
	for _, cfg := range []Config{{Interval: MaxTarget}, {Budget: 60}, {FixedPrice: MaxPrice},
		{Start: MaxPrice}, {Start: 1}} {
		if _, err := New(cfg); err != nil {
			t.Error(err)
		}
	}
	for _, start := range []time.Duration{-1, MaxPrice + 1} {
		if _, err := New(Config{Start: start}); err == nil ||
			!strings.Contains(err.Error(), "Start "+start.String()+" is outside [0, 300ms]") {
			t.Errorf("a start of %v: %v", start, err)
		}
	}
	slows := Overdue{Share: 0.2, Most: 0.4}
	run := func(change bool) time.Duration {
		e, err := New(Config{Slows: &slows, FixedPrice: 20 * ms})
		if err != nil {
			t.Fatal(err)
		}
		if change {
			slows = Overdue{Share: 1, Most: 0.01}
		}
		for i := range 200 {
			x := 50 * ms
			if i%5 == 0 {
				x = 300 * ms
			}
			e.Observe(clock.Time(i)*clock.Time(blockSpan), x)
		}
		return e.Target()
	}
	if want, got := run(false), run(true); got != want {
		t.Errorf("the target is %v, and %v where the caller's Overdue was changed", want, got)
	}
}

// A hitch moves the price once, with the value that follows it; a hundred at most, and none that
// was excused.
func TestHitchesCountOnce(t *testing.T) {
	price := func(felt func(e *Estimator)) time.Duration {
		e, err := New(Config{Budget: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			if i == 30 {
				felt(e)
			}
			e.Observe(clock.Time(i)*clock.Time(blockSpan), 50*ms)
		}
		return e.Price()
	}
	none := price(func(*Estimator) {})
	one := price(func(e *Estimator) { e.Hitch(1) })
	if one <= none {
		t.Errorf("a hitch moves the price from %v to %v", none, one)
	}
	// One hitch: the price rises once, by the gain of that block, exp(0.15 (1 + 2 240/(240+31))) =
	// 1.52.
	if ratio := float64(one) / float64(none); ratio < 1.4 || ratio > 1.6 {
		t.Errorf("a hitch makes the price %.2f times what it was", ratio)
	}
	for name, c := range map[string]struct {
		felt func(e *Estimator)
		want time.Duration
	}{
		"excused":         {func(e *Estimator) { e.Hitch(3); e.Excuse() }, none},
		"excused before":  {func(e *Estimator) { e.Hitch(3); e.Excuse(); e.Hitch(1) }, one},
		"taken back":      {func(e *Estimator) { e.Hitch(2); e.Hitch(-1) }, one},
		"more taken back": {func(e *Estimator) { e.Hitch(-5); e.Hitch(1) }, one},
		"one value and another": {func(e *Estimator) {
			e.Hitch(1)
			e.Observe(30*clock.Time(blockSpan), ms)
			e.Observe(30*clock.Time(blockSpan), ms)
		}, one},
		"more than are believed": {func(e *Estimator) { e.Hitch(1 << 40); e.Hitch(1 << 40) },
			price(func(e *Estimator) { e.Hitch(100) })},
	} {
		if got := price(c.felt); got != c.want {
			t.Errorf("%s: price %v, want %v", name, got, c.want)
		}
	}
}

// A quantile is interpolated between the bounds of its bucket. A value that is spread keeps its
// weight, also at both ends.
func TestWithinABucket(t *testing.T) {
	var h histogram
	for range 9 {
		h.Add(50 * ms)
	}
	h.Add(200 * ms)
	bounds := func(x time.Duration) (lower, upper float64) {
		b := bucket(x)
		return float64(edges[b-1]), float64(edges[b])
	}
	lo, hi := bounds(50 * ms)
	for q, want := range map[float64]float64{0.45: (lo + hi) / 2, 0.09: lo + (hi-lo)/10, -1: lo, 0: lo} {
		if got := h.Quantile(q); math.Abs(float64(got)-want) > 2 {
			t.Errorf("quantile %v is %v, want %v", q, got, time.Duration(want))
		}
	}
	lo, hi = bounds(200 * ms)
	if got := h.Quantile(0.95); math.Abs(float64(got)-(lo+hi)/2) > 2 {
		t.Errorf("quantile 0.95 is %v, want %v", got, time.Duration((lo+hi)/2))
	}
	for _, x := range []time.Duration{0, edges[1], 50 * ms, edges[buckets-2], time.Hour} {
		var h histogram
		h.Spread(x)
		sum, mean := 0.0, 0.0
		for i, w := range h.weight {
			sum += w
			mean += w * float64(i)
			if w < 0 || w > 0 && (i < bucket(x)-2 || i > bucket(x)+2) {
				t.Errorf("%v: weight %v in bucket %d", x, w, i)
			}
		}
		if off := math.Abs(mean - float64(bucket(x))); math.Abs(sum-1) > 1e-12 || off > 0.5 || bucket(x) > 1 &&
			bucket(x) < buckets-2 && off > 1e-9 {
			t.Errorf("%v: the weights sum to %v around bucket %v, want 1 and %d", x, sum, mean, bucket(x))
		}
	}
}
