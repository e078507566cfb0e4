package estimate

import (
	"math"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"pgregory.net/rapid"
)

// Every second for a minute something takes 30 ms, and every tenth time 100 ms: a lead of 50 ms
// starves six times a minute, one of 20 ms always.
func TestRises(t *testing.T) {
	var r Rises
	if perMinute(&r, 0) != 0 {
		t.Error("an empty Rises knows something")
	}
	for i := range 61 {
		x := 30 * ms
		if i%10 == 5 {
			x = 100 * ms
		}
		r.Observe(clock.Time(i)*1e9, x)
	}
	// Fading over a minute weighs rises and time alike, but for where in it they lie.
	for _, c := range []struct {
		v    time.Duration
		want float64
	}{{100 * ms, 0}, {98 * ms, 12}, {50 * ms, 12}, {30 * ms, 12}, {28 * ms, 60}, {0, 60}, {RisesMost, 0},
		{time.Hour, 0}, {-ms, 60}} {
		// 6 of 100 ms, each of which lasts until the next is known, a second: as long as counts
		// once more.
		if got := perMinute(&r, c.v); math.Abs(got-c.want) > 1.2 {
			t.Errorf("a lead of %v: %.2f a minute, want %.0f", c.v, got, c.want)
		}
	}
	for _, c := range []struct {
		price       time.Duration
		first, step time.Duration
		want        time.Duration
	}{
		{ms, 0, ms, 30 * ms},                 // 70 ms more for 12 less: not worth it
		{10 * ms, 0, ms, 100 * ms},           // it is
		{10 * ms, 5 * ms, 16 * ms, 101 * ms}, // 5 + 6 x 16
		{0, 7 * ms, ms, 7 * ms},
	} {
		got, cost := r.Cheapest(c.price, 0, c.first, c.step)
		if got != c.want || cost != r.Cost(got, 0, c.price) {
			t.Errorf("price %v, from %v by %v: %v, want %v", c.price, c.first, c.step, got, c.want)
		}
	}
	if got, _ := r.Cheapest(10*ms, 4*ms, 4*ms, ms); got != 104*ms {
		t.Errorf("with a margin of 4 ms: %v", got)
	}
	// What lies two hours back weighs nothing.
	for i := range 7200 {
		r.Observe(clock.Time(i+61)*1e9, 30*ms)
	}
	if got := perMinute(&r, 50*ms); got > 1e-6 {
		t.Errorf("two hours later: %v a minute", got)
	}
}

// perMinute returns how often a minute a lead of v would have starved.
func perMinute(r *Rises, v time.Duration) float64 { return r.perMinute(v) }

// Every tenth of a second the need is another one from 90 to 360 ms, after a path that needed none.
// A lead of 15 ms starves all the time, which is no better than to starve at some of the peaks.
func TestRisesUpAndDown(t *testing.T) {
	var r Rises
	for i := range 100 {
		x := time.Duration(0)
		if i >= 60 {
			x = [...]time.Duration{90 * ms, 360 * ms, 90 * ms, 250 * ms, 130 * ms}[i%5]
		}
		r.Observe(clock.Time(i)*1e8, x)
	}
	if got, _ := r.Cheapest(10*ms, 4*ms, 15*ms, 16*ms); got < 364*ms {
		t.Errorf("a lead of %v", got)
	}
}

// Whatever is observed, whenever: the results are numbers, never negative, a longer lead starves no
// more than a shorter one, and the lead stays within its cap.
func TestRisesHostile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Rises
		for range 200 {
			r.Observe(clock.Time(rapid.Int64Range(-1<<60, 1<<60).Draw(t, "now")),
				time.Duration(rapid.Int64().Draw(t, "x")))
			v := time.Duration(rapid.Int64().Draw(t, "v"))
			if n := perMinute(&r, v); !(n >= 0) || math.IsInf(n, 0) {
				t.Fatalf("%v a minute", n)
			} else if more := perMinute(&r, max(v, v+40*ms)); more > n {
				t.Fatalf("a lead of %v starves %v times a minute, %v with 40 ms more", v, n, more)
			}
			if best, cost := r.Cheapest(10*ms, 4*ms, 5*ms, 16*ms); best < 5*ms || best > RisesMost || !(cost >= 0) {
				t.Fatalf("%v at %v", best, cost)
			}
		}
	})
}

func TestRisesAllocs(t *testing.T) {
	var r Rises
	now := clock.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 50e6
		r.Observe(now, time.Duration(now%7)*10*ms)
		r.Cheapest(10*ms, 4*ms, 5*ms, 16*ms)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRises(b *testing.B) {
	var r Rises
	now := clock.Time(0)
	for b.Loop() {
		now += 50e6
		r.Observe(now, time.Duration(now%7)*10*ms)
	}
}

func BenchmarkCheapest(b *testing.B) {
	var r Rises
	r.Observe(0, 100*ms)
	r.Observe(1e9, 200*ms)
	for b.Loop() {
		r.Cheapest(10*ms, 4*ms, 5*ms, 2*ms)
	}
}
