package rate

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// The promise also holds when more datagrams lie in a second than the window has slots. That may
// only delay datagrams, and by no more than the slots are apart.
func TestWindowPromiseInACrowd(t *testing.T) {
	for _, gap := range []time.Duration{time.Microsecond, 3 * time.Millisecond, 5 * time.Millisecond,
		11 * time.Millisecond} {
		w, err := NewWindow(12_000)
		if err != nil {
			t.Fatal(err)
		}
		type datagram struct {
			at   clock.Time
			cost int
		}
		var log []datagram
		total := 0
		for i := range 5000 {
			now := clock.Time(i) * clock.Time(gap)
			used := w.Used(now)
			if w.Spend(now, 10) {
				log = append(log, datagram{now, 10 + wire.Overhead})
				total += 10 + wire.Overhead
			}
			sum := 0
			for j := len(log) - 1; j >= 0 && now.Sub(log[j].at) < windowSpan; j-- {
				sum += log[j].cost
			}
			if sum > 12_000 || w.Used(now) < sum || used > 12_000 {
				t.Fatalf("every %v, datagram %d: %d B in the last second, the window says %d", gap, i, sum,
					w.Used(now))
			}
		}
		if w.Used(5000*clock.Time(gap)+clock.Time(windowSpan)) != 0 {
			t.Errorf("every %v: %d B are left after a second", gap, w.Used(1<<60))
		}
		demand := 5000 * 52
		if fair := min(demand, int(time.Duration(5000)*gap*12_000/time.Second)+12_000); total < fair/4 {
			t.Errorf("every %v: only %d B of %d went", gap, total, fair)
		}
	}
}

// A datagram sent a second ago no longer counts, whichever method is called first. A negative Guard
// is none.
func TestWindowForgetsInEachQuestion(t *testing.T) {
	full := func() *Window {
		w, _ := NewWindow(1000)
		w.Guard = -time.Minute
		if !w.Spend(5e9, 1000-wire.Overhead) {
			t.Fatal("an empty window refuses")
		}
		return w
	}
	const late = 6e9
	if at, ok := full().When(late, 500); !ok || at != late {
		t.Errorf("When: %d, %v", at, ok)
	}
	if at, ok := full().When(late-1, 500); !ok || at != late {
		t.Errorf("When, just before: %d, %v", at, ok)
	}
	if got := full().Room(late); got != 1000-wire.Overhead {
		t.Errorf("Room: %d", got)
	}
	if full().Used(late) != 0 || full().Used(late-1) != 1000 {
		t.Error("Used")
	}
	if !full().Spend(late, 0) || full().Spend(late-1, 0) {
		t.Error("Spend")
	}
}

// On a path that never varies the timeout is the round trip and the clock's grain (RFC 6298 section
// 2.3). A round trip of zero is a sample like any other.
func TestRTTOfASteadyPath(t *testing.T) {
	var r RTT
	for i := range 200 {
		r.Sample(clock.Time(i)*1e8, 100*time.Millisecond)
	}
	if !r.known || r.Smoothed() != 100*time.Millisecond || r.Timeout() < r.Smoothed()+time.Millisecond ||
		r.Timeout() > r.Smoothed()+2*time.Millisecond {
		t.Errorf("known %v, smoothed %v, timeout %v", r.known, r.Smoothed(), r.Timeout())
	}
	for _, d := range []time.Duration{0, maxSample} {
		var r RTT
		if r.Sample(-1e9, d); !r.known || r.Smoothed() != d || r.Least() != max(d, 1) {
			t.Errorf("a round trip of %v: known %v, smoothed %v, least %v", d, r.known, r.Smoothed(), r.Least())
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		rate  BytesPerSecond
		least time.Duration
		want  int
	}{
		{"an unknown path: the slack", 80_000, 0, 8000},
		{"nonsense below", 80_000, -time.Hour, 8000},
		{"nonsense above", 80_000, time.Hour, Limit(80_000, maxSample)},
		{"too fast", MaxBudget + 1, time.Second, Limit(MaxBudget, time.Second)},
		{"no rate", -5, time.Second, wire.MaxDatagram + wire.Overhead},
	} {
		if got := Limit(c.rate, c.least); got != c.want {
			t.Errorf("%s: %d B, want %d", c.name, got, c.want)
		}
	}
}

// The least of a part of a second counts, not its first.
func TestOneWayInOnePart(t *testing.T) {
	const ms = time.Millisecond
	var o OneWay
	for i, c := range []struct{ transit, want time.Duration }{{90 * ms, 0}, {40 * ms, 0}, {60 * ms, 20 * ms},
		{40 * ms, 0}, {41 * ms, ms}} {
		if got := o.Queued(clock.Time(i)*clock.Time(10*ms), c.transit); got != c.want {
			t.Errorf("packet %d: %v queued, want %v", i, got, c.want)
		}
	}
	if got := o.Queued(clock.Time(leastWindow-2*leastPart), 50*ms); got != 10*ms {
		t.Errorf("within the window %v queued, want 10 ms", got)
	}
	if got := o.Queued(clock.Time(leastWindow+leastPart), 55*ms); got != 5*ms {
		t.Errorf("beyond the window %v queued, want 5 ms", got)
	}
}

func TestCapacityStarts(t *testing.T) {
	for _, cfg := range []CapacityConfig{{Floor: 1000, Ceiling: 1000}, {Floor: 1000, Ceiling: 5000, Start: 1000},
		{Floor: 1000, Ceiling: 5000, Start: 5000}, {Floor: 1000, Ceiling: 5000}} {
		want := cfg.Start
		if want == 0 {
			want = cfg.Ceiling
		}
		if c, err := NewCapacity(cfg); err != nil || c.Rate() != want {
			t.Errorf("%+v: %v, %v", cfg, c, err)
		}
	}
	if _, err := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 5000, Start: 999}); err == nil {
		t.Error("a start below the floor is taken")
	}
	if _, err := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 5000, Start: -1}); err == nil {
		t.Error("a negative start is taken")
	}
}

// Round trips that no packet of ours showed count like others. queue is the delay on top of the
// empty path. Restart keeps nothing but the rate.
func TestCapacitySample(t *testing.T) {
	const ms = time.Millisecond
	c, _ := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 9000})
	if c.Sample(0, -1); c.rtt.known {
		t.Error("a negative round trip counts")
	}
	c.Sample(0, 50*ms)
	if !c.rtt.known || c.queue() != 0 || c.rtt.Smoothed() != 50*ms {
		t.Errorf("queue %v, smoothed %v", c.queue(), c.rtt.Smoothed())
	}
	now := clock.Time(0)
	for i := range 100 {
		now = now.Add(20 * ms)
		c.Sample(now, 250*ms)
		if q := c.queue(); i == 19 && (q < 185*ms || q > 200*ms) { // 200 ms x (1 - (7/8)^20) = 186 ms
			t.Errorf("queue %v, want 186 ms", q)
		}
	}
	rate := c.Rate()
	if rate >= 9000 {
		t.Errorf("two seconds of a queue of 200 ms leave the rate at %d", rate)
	}
	c.Missing(now)
	if c.Restart(); c.Rate() != rate || c.rtt.known || c.queue() != 0 || c.loss() != 0 {
		t.Errorf("after Restart: %d B/s, queue %v", c.Rate(), c.queue())
	}
}

// queue returns by how much the smoothed round trip exceeds that of the empty path.
func (c *Capacity) queue() time.Duration { return max(c.rtt.Smoothed()-c.rtt.Least(), 0) }
