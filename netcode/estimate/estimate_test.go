package estimate

import (
	"math"
	"strings"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Interval: -1}, "Interval -1ns is outside [0, 500ms]"},
		{Config{Interval: time.Second}, "Interval 1s is outside [0, 500ms]"},
		{Config{Budget: -1}, "Budget -1 a minute is outside [0, 60]"},
		{Config{Budget: math.NaN()}, "Budget NaN a minute is outside [0, 60]"},
		{Config{FixedPrice: time.Second}, "FixedPrice 1s is outside [0, 300ms]"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}

func TestEdges(t *testing.T) {
	if edges[0] != 2*ms || edges[1] != 2200*time.Microsecond || edges[buckets-1].Truncate(ms) != 810*ms {
		t.Errorf("%v %v %v", edges[0], edges[1], edges[buckets-1])
	}
	for _, c := range []struct {
		x time.Duration
		i int
	}{{-1, 0}, {0, 0}, {2 * ms, 0}, {2*ms + 1, 1}, {2200 * time.Microsecond, 1}, {time.Hour, buckets - 1},
		{edges[40], 40}, {edges[40] + 1, 41}} {
		if got := bucket(c.x); got != c.i {
			t.Errorf("%v is in bucket %d, want %d", c.x, got, c.i)
		}
	}
}

// Ten values: nine around 50 ms, one of 200 ms.
func TestHistogram(t *testing.T) {
	var h histogram
	if h.Quantile(0.5) != 0 || h.Cheapest(1e9) != edges[0] || h.Above(0) != 0 {
		t.Error("an empty histogram knows something")
	}
	for range 9 {
		h.Add(50 * ms)
	}
	h.Add(200 * ms)
	at50, at200 := edges[bucket(50*ms)], edges[bucket(200*ms)]
	if got := h.Above(50 * ms); math.Abs(got-0.1) > 1e-12 {
		t.Errorf("%v are above 50 ms, want 0.1", got)
	}
	if got := h.Quantile(0.5); got < at50*10/11 || got > at50 {
		t.Errorf("median %v", got)
	}
	if (h.Quantile(1)-at200).Abs() > 10 || (h.Quantile(7)-at200).Abs() > 10 || h.Len() != 10 {
		t.Errorf("maximum %v", h.Quantile(1))
	}
	// Covering 200 ms too costs about 150 ms and saves 0.1 of the price.
	if got := h.Cheapest(1400 * float64(ms)); got != at50 {
		t.Errorf("at 1.4 s: %v", got)
	}
	if got := h.Cheapest(1700 * float64(ms)); got != at200 {
		t.Errorf("at 1.7 s: %v", got)
	}
}

func TestHistogramProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h histogram
		values := rapid.SliceOfN(rapid.Int64Range(0, 900e6), 1, 300).Draw(t, "values")
		for _, v := range values {
			h.Add(time.Duration(v))
		}
		sum := 0.0
		for _, w := range h.weight {
			if w < 0 {
				t.Fatalf("weight %v", w)
			}
			sum += w
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("weights sum to %v", sum)
		}
		if len(values) <= 119 { // equal weights up to there
			over := 0
			for _, v := range values {
				if bucket(time.Duration(v)) > 20 {
					over++
				}
			}
			if got := h.Above(edges[20]); math.Abs(got-float64(over)/float64(len(values))) > 1e-9 {
				t.Fatalf("%v above, want %d of %d", got, over, len(values))
			}
		}
		price := rapid.Float64Range(0, 1e12).Draw(t, "price")
		best := h.Cheapest(price)
		cost := func(v time.Duration) float64 { return float64(v) + price*h.Above(v) }
		for _, v := range edges {
			if cost(v) < cost(best)*(1-1e-9) {
				t.Fatalf("%v costs %v, but %v costs %v", best, cost(best), v, cost(v))
			}
		}
		if more := h.Cheapest(price * 2); more < best {
			t.Fatalf("a higher price lowers the delay from %v to %v", best, more)
		}
		last := time.Duration(0)
		for q := 0.0; q <= 1; q += 0.05 {
			v := h.Quantile(q)
			if v < last {
				t.Fatalf("quantile %v is %v, below %v", q, v, last)
			}
			last = v
		}
	})
}

func TestHistogramForgets(t *testing.T) {
	var h histogram
	for range 1000 {
		h.Add(300 * ms)
	}
	for range 180 { // a minute and a half of blocks
		h.Add(50 * ms)
	}
	if got := h.Above(100 * ms); math.Abs(got-math.Exp(-1)) > 0.003 {
		t.Errorf("a minute and a half later %v of the past are left, want 1/e", got)
	}
}

// blocks feeds n blocks of one value each, from block index from on.
func blocks(e *Estimator, from, n int, x time.Duration) int {
	for i := range n {
		e.Observe(clock.Time(from+i)*clock.Time(blockSpan), x)
	}
	return from + n
}

func TestStart(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if e.Target() != 130*ms || e.Settled() || e.Price() != StartPrice {
		t.Errorf("at the start: %v, price %v", e.Target(), e.Price())
	}
	at := blocks(e, 0, 10, 60*ms) // the tenth is still open
	if e.Target() != 130*ms || e.Settled() {
		t.Errorf("after 9 blocks: %v", e.Target())
	}
	blocks(e, at, 1, 60*ms)
	if want := edges[bucket(60*ms)]; e.Target() != want || !e.Settled() {
		t.Errorf("after 10 blocks: %v, want %v", e.Target(), want)
	}
	if typ := e.Typical(); typ < 54*ms || typ > 66*ms {
		t.Errorf("typical %v", typ)
	}
	if e.reset(); e.Target() != 130*ms || e.Settled() {
		t.Error("reset left something")
	}
	e, _ = New(Config{Interval: 400 * ms})
	if e.Target() != MaxTarget {
		t.Errorf("a long interval starts at %v", e.Target())
	}
	e, _ = New(Config{Interval: 100 * ms, FixedPrice: 10 * ms})
	if e.Target() != 230*ms || e.Price() != 10*ms {
		t.Errorf("start %v, price %v", e.Target(), e.Price())
	}
}

// The price of a minute without hitches falls by e^0.15 at a budget of 1, and two hitches in a
// block raise it by e^0.3; nearly three times as much at first, then less and less. Nothing that
// happens before the price chooses the target moves it.
func TestBudget(t *testing.T) {
	e, _ := New(Config{Budget: 1})
	moves := func(from, n int, hitches float64) (sum float64) { // of the price's logarithm, in blocks from on
		for b := from; b < from+n; b++ {
			sum -= 0.15 / 120 * (1 + 2*240/(240+float64(b)))
		}
		return sum + hitches*0.15*(1+2*240/(240+float64(from+n-1)))
	}
	e.Hitch(7)
	at := blocks(e, 0, settled+1, 50*ms)
	if e.Price() != StartPrice {
		t.Errorf("before there was a choice the price became %v", e.Price())
	}
	at = blocks(e, at, 120, 50*ms)
	if got, want := float64(e.Price())/float64(StartPrice),
		math.Exp(moves(settled+1, 120, 0)); math.Abs(got-want) > 1e-6 {
		t.Errorf("after a quiet minute the price is %v of the first, want %v", got, want)
	}
	before := e.Price()
	e.Hitch(2)
	at = blocks(e, at, 2, 50*ms)
	if got, want := float64(e.Price())/float64(before),
		math.Exp(moves(settled+121, 2, 2)); math.Abs(got-want) > 1e-6 {
		t.Errorf("after two hitches the price is %v of before, want %v", got, want)
	}
	// An outage that is all that a block saw forgives the hitches in it and teaches nothing.
	before, target := e.Price(), e.Target()
	e.Hitch(5)
	e.Observe(clock.Time(at)*clock.Time(blockSpan), MaxTarget+1)
	at = blocks(e, at+1, 2, 50*ms)
	if got, want := float64(e.Price())/float64(before),
		math.Exp(moves(settled+123, 2, 0)); math.Abs(got-want) > 1e-6 || e.Target() != target {
		t.Errorf("an outage moved the price by %v, the target to %v", got, e.Target())
	}
	// One that ended in a block with other values counts as a sixteenth of one hitch, however long
	// it lasted.
	before = e.Price()
	e.Hitch(5)
	e.Observe(clock.Time(at)*clock.Time(blockSpan), MaxTarget+1)
	at = blocks(e, at, 2, 50*ms)
	if got, want := float64(e.Price())/float64(before),
		math.Exp(moves(settled+125, 2, 1./16)); math.Abs(got-want) > 1e-5 || e.Target() != target {
		t.Errorf("an outage among other values moved the price by %v, want %v; the target to %v", got, want,
			e.Target())
	}
	for range 100 {
		e.Hitch(50)
		at = blocks(e, at, 1, 50*ms)
	}
	if e.Price() != MaxPrice {
		t.Errorf("many hitches: price %v", e.Price())
	}
	e.Hitch(-1000)
	blocks(e, at, 3500, 50*ms)
	if e.Price() != minPrice {
		t.Errorf("half an hour minutes without: price %v", e.Price())
	}
	f, _ := New(Config{FixedPrice: 10 * ms})
	f.Hitch(50)
	if blocks(f, 0, 100, 50*ms); f.Price() != 10*ms {
		t.Errorf("the fixed price moved to %v", f.Price())
	}
}

// Whatever is observed, whenever: the target stays within its cap, and the price within its bounds.
func TestHostile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, _ := New(Config{Interval: time.Duration(rapid.Int64Range(0, int64(MaxTarget)).Draw(t, "interval"))})
		var a Ages
		for range 300 {
			now, stamp := clock.Time(rapid.Int64Range(-1<<60, 1<<60).Draw(t, "now")),
				clock.Time(rapid.Int64Range(-1<<60, 1<<60).Draw(t, "stamp"))
			if x, _, counts := a.Arrive(now, stamp); counts {
				e.Observe(now, x)
			}
			e.Hitch(rapid.Int().Draw(t, "hitches"))
			e.Observe(now, time.Duration(rapid.Int64().Draw(t, "x")))
			if d := e.Target(); d < 0 || d > MaxTarget {
				t.Fatalf("target %v", d)
			}
			if p := e.Price(); p < minPrice || p > MaxPrice {
				t.Fatalf("price %v", p)
			}
			if d := e.Typical(); d < 0 || d > MaxTarget*11/10 {
				t.Fatalf("typical %v", d)
			}
		}
	})
}

// Stamps 50 ms apart that take 20 ms, the third one 70 ms; the fourth is overtaken by the fifth.
func TestAges(t *testing.T) {
	var a Ages
	at := func(ms int64) clock.Time { return clock.Time(ms * 1e6) }
	if a.Age(at(5)) != 0 || a.Floor() != 0 {
		t.Error("an empty Ages knows something")
	}
	for _, c := range []struct {
		now, stamp    int64
		x             time.Duration
		fresh, counts bool
	}{
		{20, 0, 0, true, false}, // the first
		{70, 50, 50 * ms, true, true},
		{70, 50, 0, false, false}, // twice
		{170, 100, 100 * ms, true, true},
		{220, 200, 100 * ms, true, true},
		{221, 150, 0, false, false}, // overtaken
	} {
		x, fresh, counts := a.Arrive(at(c.now), at(c.stamp))
		if x != c.x || fresh != c.fresh || counts != c.counts {
			t.Errorf("stamp %d at %d: %v %v %v, want %v", c.stamp, c.now, x, fresh, counts, c)
		}
	}
	if a.Floor() != 20*ms || a.Age(at(300)) != 80*ms {
		t.Errorf("floor %v, age %v", a.Floor(), a.Age(at(300)))
	}
	if stamp, ok := a.Newest(); stamp != at(200) || !ok {
		t.Error(a.Newest())
	}
	// Announced silence is no starvation, and the packet after it does not count.
	a.Quiet()
	if a.Age(at(9000)) != 0 {
		t.Errorf("in silence: %v", a.Age(at(9000)))
	}
	if _, fresh, counts := a.Arrive(at(9030), at(9000)); !fresh || counts {
		t.Error("the first after silence counts")
	}
	if x, _, counts := a.Arrive(at(9080), at(9050)); x != 60*ms || !counts {
		t.Errorf("the second after silence: %v", x)
	}
	// A new, longer way: the old floor is forgotten after 30 s.
	for i := range int64(700) {
		a.Arrive(at(9100+50*i+40), at(9100+50*i))
	}
	if a.Floor() != 40*ms {
		t.Errorf("35 s later: floor %v", a.Floor())
	}
	if a.Reset(); a.Floor() != 0 {
		t.Error("reset left something")
	}
}

// Order, repetition and the distance of the two clocks change nothing: newest is the greatest
// stamp, the floor the least difference of the window.
func TestAgesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := clock.Time(rapid.SampledFrom([]int64{0, 3600e9, -3600e9}).Draw(t, "shift"))
		var a, b Ages
		now, newest, known := clock.Time(0), clock.Time(0), false
		type packet struct{ now, stamp clock.Time }
		var log []packet
		for range 100 {
			now += clock.Time(rapid.Int64Range(0, 4e9).Draw(t, "gap"))
			stamp := now - clock.Time(rapid.Int64Range(0, 1e9).Draw(t, "delay"))
			previous := newest
			x, fresh, counts := a.Arrive(now, stamp)
			log = append(log, packet{now, stamp})
			if fresh != (!known || stamp > newest) || counts != (fresh && known) {
				t.Fatalf("stamp %d after %d: fresh %v, counts %v", stamp, newest, fresh, counts)
			}
			if fresh {
				newest, known = stamp, true
			}
			if got, _ := a.Newest(); got != newest {
				t.Fatalf("newest %d, want %d", got, newest)
			}
			within, beyond := now.Sub(stamp), now.Sub(stamp)
			for _, p := range log {
				if now.Sub(p.now) <= FloorWindow-floorPart {
					within = min(within, p.now.Sub(p.stamp))
				}
				if now.Sub(p.now) <= FloorWindow {
					beyond = min(beyond, p.now.Sub(p.stamp))
				}
			}
			if f := a.Floor(); f > within || f < beyond {
				t.Fatalf("floor %v, want between %v and %v", f, beyond, within)
			}
			if counts && x != max(now.Sub(previous)-a.Floor(), 0) {
				t.Fatalf("x %v", x)
			}
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				y, again, _ := b.Arrive(now, stamp+shift)
				if again && y != x {
					t.Fatalf("shifted by %v: %v, want %v", shift, y, x)
				}
			}
			if b.Age(now) != a.Age(now) {
				t.Fatalf("age %v, shifted %v", a.Age(now), b.Age(now))
			}
		}
	})
}

func TestOverdue(t *testing.T) {
	var o Overdue
	for _, c := range []struct {
		name                        string
		age, delay, typical, target time.Duration
		want                        float64
	}{
		{"usual", 50 * ms, 200 * ms, 50 * ms, 200 * ms, 0},
		{"at 1.1 x typical + 5 ms", 60 * ms, 200 * ms, 50 * ms, 200 * ms, 0},
		// e = 75-60 = 15, slack 0.3*(150-50) = 30: half of the half
		{"half way", 75 * ms, 150 * ms, 50 * ms, 200 * ms, 0.25},
		{"all of the slack", 105 * ms, 200 * ms, 50 * ms, 200 * ms, 0.5},
		{"more", 190 * ms, 200 * ms, 50 * ms, 200 * ms, 0.5},
		{"no slack at all", 90 * ms, 40 * ms, 50 * ms, 200 * ms, 0.5},
		{"already 2.5 x the target", 190 * ms, 251 * ms, 50 * ms, 100 * ms, 0},
		{"beyond the cap", 600 * ms, 501 * ms, 50 * ms, 400 * ms, 0},
	} {
		if got := o.Slow(c.age, c.delay, c.typical, c.target); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := (Overdue{Share: 0.4, Most: 0.3}).Slow(90*ms, 200*ms, 50*ms, 200*ms); math.Abs(got-0.15) > 1e-9 {
		t.Errorf("with its own limits: %v", got)
	}
}

// With the delay that need returns, and not with 2 ms less, a clock that slows down draws until the
// gap ends.
func TestNeed(t *testing.T) {
	const step = 50 * time.Microsecond
	for _, o := range []Overdue{{}, {Share: 0.1}, {Share: 1, Most: 0.3}} {
		// lasts returns the age at which a clock with this delay has nothing left to draw.
		lasts := func(delay, typical time.Duration) time.Duration {
			age, have := time.Duration(0), delay
			for ; age < have && age < time.Second; age += step {
				// The slack is taken at the delay that the gap began with, as Need does.
				have += time.Duration(o.Slow(age, delay, typical, MaxTarget) * float64(step))
			}
			return age
		}
		for typical := 5 * ms; typical <= 300*ms; typical += 17 * ms {
			before := time.Duration(0)
			for age := time.Duration(0); age <= MaxTarget; age += 3 * ms {
				need := o.need(age, typical)
				if need < 0 || need > age || need < before-time.Microsecond || need < min(age, typical) {
					t.Fatalf("%+v: age %v, typical %v: %v, and %v for 3 ms less", o, age, typical, need, before)
				}
				before = need
				if need == age {
					continue
				}
				if got := lasts(need+ms, typical); got < age {
					t.Fatalf("%+v: with %v, typical %v, it lasts until %v, not %v", o, need, typical, got, age)
				}
				if got := lasts(need-2*ms, typical); got > age {
					t.Fatalf("%+v: with 2 ms less than %v, typical %v, it still lasts until %v, not %v", o, need,
						typical, got, age)
				}
			}
		}
	}
}

// A clock that slows down needs less delay for the same gaps, and as much as before for the usual.
func TestSlows(t *testing.T) {
	for _, rare := range []time.Duration{50 * ms, 250 * ms} {
		plain, _ := New(Config{FixedPrice: 20 * ms})
		slows, _ := New(Config{FixedPrice: 20 * ms, Slows: &Overdue{}})
		for i := range 400 {
			x := 50 * ms
			if i%4 == 0 {
				x = rare
			}
			blocks(plain, i, 1, x)
			blocks(slows, i, 1, x)
		}
		if rare == 50*ms && slows.Target() != plain.Target() || rare > 50*ms &&
			(slows.Target() > plain.Target()*9/10 || slows.Target() < 60*ms) {
			t.Errorf("at times %v: %v, and %v for a clock that does not slow down", rare, slows.Target(),
				plain.Target())
		}
		if slows.Typical() != plain.Typical() {
			t.Errorf("typical %v and %v", slows.Typical(), plain.Typical())
		}
	}
}

func TestSlew(t *testing.T) {
	// 60 ms to go in 300 ms: 20 % of speed, capped at 10 %.
	if got := PlayoutSlew.Step(100*ms, 160*ms, 10*ms); got != 101*ms {
		t.Errorf("up: %v", got)
	}
	// 15 ms in 300 ms: 5 %
	if got := PlayoutSlew.Step(100*ms, 115*ms, 10*ms); got != 100*ms+500*time.Microsecond {
		t.Errorf("a little up: %v", got)
	}
	// 100 ms down in a second: 10 %
	if got := PlayoutSlew.Step(200*ms, 100*ms, 10*ms); got != 199*ms {
		t.Errorf("down: %v", got)
	}
	if got := InputSlew.Step(200*ms, 100*ms, 10*ms); got != 200*ms-300*time.Microsecond {
		t.Errorf("lead down: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		have, want := time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "have")),
			time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "want"))
		dt := time.Duration(rapid.Int64Range(-10, 2e9).Draw(t, "dt"))
		got := InputSlew.Step(have, want, dt)
		if got < min(have, want) || got > max(have, want) || (got-have).Abs() > max(dt, 0)/10+1 {
			t.Fatalf("from %v to %v in %v: %v", have, want, dt, got)
		}
	})
}

func TestAllocs(t *testing.T) {
	e, _ := New(Config{})
	var a Ages
	now := clock.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 50e6
		if x, _, counts := a.Arrive(now, now-20e6); counts {
			e.Observe(now, x)
		}
		(Overdue{}).Slow(a.Age(now), e.Target(), e.Typical(), e.Target())
		PlayoutSlew.Step(e.Target(), 100*ms, 16*ms)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	e, _ := New(Config{})
	now := clock.Time(0)
	for b.Loop() {
		now += 50e6
		e.Observe(now, 60*ms)
	}
}

// A gap that comes while delay is left over from the one before needs less target.
func TestSpareDelayBridgesGaps(t *testing.T) {
	target := func(spare time.Duration) time.Duration {
		e, err := New(Config{FixedPrice: 20 * time.Millisecond, Slows: &Overdue{}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			x := 55 * time.Millisecond
			if i%4 == 0 {
				x = 300 * time.Millisecond
			}
			e.Spare(spare)
			e.Observe(clock.Time(i)*clock.Time(blockSpan), x)
		}
		return e.Target()
	}
	none := target(0)
	if got := target(90 * time.Millisecond); got > none-15*time.Millisecond {
		t.Errorf("target %v with 90 ms to spare, %v with none", got, none)
	}
	if got := target(-90 * time.Millisecond); got != none {
		t.Errorf("target %v with a delay below its target, not %v", got, none)
	}
	if got := target(time.Hour); got < 55*time.Millisecond {
		t.Errorf("target %v is below the usual", got)
	}
}
