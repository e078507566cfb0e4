package rate

import (
	"strings"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"pgregory.net/rapid"
)

// kbit returns k kbit/s: 13 kbit/s are 1625 bytes a second.
func kbit(k int) BytesPerSecond { return BytesPerSecond(k * 1000 / 8) }

// 13 kbit/s is 1625 B/s. Datagrams of 240 B cost 282 B: five fit (1410), the sixth only when the
// first is a second old.
func TestWindow(t *testing.T) {
	w, err := NewWindow(kbit(13))
	if err != nil {
		t.Fatal(err)
	}
	ms := clock.Time(time.Millisecond)
	for i := range clock.Time(5) {
		if !w.Spend(i*100*ms, 240) {
			t.Fatalf("datagram %d does not fit", i)
		}
	}
	if w.Spend(500*ms, 240) || w.Used(500*ms) != 1410 || w.Room(500*ms) != 1625-1410-42 {
		t.Errorf("used %d, room %d", w.Used(500*ms), w.Room(500*ms))
	}
	if at, ok := w.When(500*ms, 240); !ok || at != 1000*ms {
		t.Errorf("the sixth fits at %v", at)
	}
	if w.Spend(1000*ms-1, 240) || !w.Spend(1000*ms, 240) {
		t.Error("a stretch of a second includes its first instant and not its last")
	}
	if !w.Spend(1000*ms, 1625-1410-42) || w.Spend(1000*ms, 0) || w.Room(1000*ms) != 0 {
		t.Errorf("room %d in a full second", w.Room(1000*ms))
	}
	if _, ok := w.When(1000*ms, 1625-42+1); ok {
		t.Error("more than the budget fits sometime")
	}
	if at, ok := w.When(1000*ms, 1625-42); !ok || at != 2000*ms {
		t.Errorf("all of the budget fits at %v", at)
	}
	if w.Spend(1100*ms, -1) {
		t.Error("a negative size was taken")
	}
	// A smaller budget holds back until the last second fits it.
	if err := w.SetBudget(500); err != nil {
		t.Fatal(err)
	}
	if w.Spend(1500*ms, 0) || !w.Spend(2000*ms, 458) || w.budget != 500 {
		t.Error("a smaller budget")
	}
}

func TestBudgetBounds(t *testing.T) {
	for _, b := range []BytesPerSecond{-1, 0, MinBudget - 1, MaxBudget + 1} {
		if _, err := NewWindow(b); err == nil || !strings.Contains(err.Error(), "B/s is outside [100, 1073741824]") {
			t.Errorf("window of %d: %v", b, err)
		}
	}
	w, _ := NewWindow(1000)
	if w.SetBudget(0) == nil || w.budget != 1000 {
		t.Error("an invalid budget was taken")
	}
}

// Against brute force: no second that ends with a datagram exceeds the budget, and while there are
// few datagrams, a refused one would really have broken it.
func TestWindowPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(100, 20_000).Draw(t, "budget")
		guard := time.Duration(rapid.SampledFrom([]int64{0, 0, 5e6}).Draw(t, "guard"))
		w, err := NewWindow(BytesPerSecond(budget))
		if err != nil {
			t.Fatal(err)
		}
		w.Guard = guard
		type datagram struct {
			at   clock.Time
			cost int
		}
		var log []datagram
		crowded := false // more datagrams in a second than slots: times are rounded up
		now := clock.Time(rapid.Int64Range(-1e12, 1e12).Draw(t, "start"))
		gap := rapid.Int64Range(1, 2e8).Draw(t, "most")
		for range 300 {
			now += clock.Time(rapid.Int64Range(0, gap).Draw(t, "gap"))
			size := rapid.IntRange(0, 1200).Draw(t, "size")
			sum, n := 0, 0
			for _, d := range log {
				if now.Sub(d.at) < time.Second+guard {
					sum += d.cost
					n++
				}
			}
			crowded = crowded || n >= windowSlots
			room, fits := w.Room(now), sum+size+wire.Overhead <= budget
			when, ever := w.When(now, size)
			ok := w.Spend(now, size)
			if ok && !fits {
				t.Fatalf("%d B were taken with %d of %d used", size, sum, budget)
			}
			if !ok && fits && !crowded {
				t.Fatalf("%d B were refused with %d of %d used", size, sum, budget)
			}
			if room > 0 && ok != (size <= room) {
				t.Fatalf("room was %d, %d taken: %v", room, size, ok)
			}
			if ok != (when == now && ever) {
				t.Fatalf("taken %v at %d, but When says %d, %v", ok, now, when, ever)
			}
			if ever != (size+wire.Overhead <= budget) {
				t.Fatalf("%d B ever: %v", size, ever)
			}
			if ok {
				log = append(log, datagram{now, size + wire.Overhead})
			}
		}
	})
}

// A datagram fits at the instant that When returns, and not a nanosecond before.
func TestWindowWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, _ := NewWindow(2000)
		now := clock.Time(0)
		for range rapid.IntRange(1, 100).Draw(t, "n") {
			now += clock.Time(rapid.Int64Range(0, 1e8).Draw(t, "gap"))
			w.Spend(now, rapid.IntRange(0, 300).Draw(t, "size"))
		}
		size := rapid.IntRange(0, 1958).Draw(t, "size")
		when, ok := w.When(now, size)
		if !ok {
			t.Fatal("never")
		}
		early := *w
		if when > now && early.Spend(when-1, size) {
			t.Fatal("it fits before")
		}
		if !w.Spend(when, size) {
			t.Fatal("it does not fit then")
		}
	})
}

// RFC 6298 by hand, in ms: first 100: srtt 100, var 50. Then 140: var 50+(40-50)/4 = 47.5, srtt
// 100+40/8 = 105.
func TestRTT(t *testing.T) {
	var r RTT
	ms := time.Millisecond
	if r.known || r.Timeout() != time.Second || r.Least() != 0 {
		t.Error("a new RTT knows something")
	}
	r.Sample(0, 100*ms)
	if r.Smoothed() != 100*ms || r.deviation != 50*ms || r.Timeout() != 300*ms {
		t.Error(r.Smoothed(), r.deviation, r.Timeout())
	}
	r.Sample(1e8, 140*ms)
	if r.Smoothed() != 105*ms || r.deviation != 47500*time.Microsecond || r.Timeout() != 295*ms ||
		r.Least() != 100*ms {
		t.Error(r.Smoothed(), r.deviation, r.Timeout(), r.Least())
	}
	before := r.Timeout()
	r.Sample(2e8, -1)
	r.Sample(2e8, maxSample+1)
	if r.Timeout() != before {
		t.Error("an absurd sample was used")
	}
	for range 200 {
		r.Sample(3e8, 10*ms)
	}
	if r.Timeout() != MinTimeout || r.Least() != 10*ms {
		t.Errorf("a quiet path: %v, least %v", r.Timeout(), r.Least())
	}
}

func TestRTTLeastForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r RTT
		type sample struct {
			at clock.Time
			d  time.Duration
		}
		var log []sample
		now := clock.Time(0)
		for range 100 {
			now += clock.Time(rapid.Int64Range(0, 3e9).Draw(t, "gap"))
			d := time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "rtt"))
			r.Sample(now, d)
			log = append(log, sample{now, d})
			within, beyond := d, d
			for _, s := range log {
				if now.Sub(s.at) <= leastWindow-leastPart {
					within = min(within, s.d)
				}
				if now.Sub(s.at) <= leastWindow {
					beyond = min(beyond, s.d)
				}
			}
			if got := r.Least(); got > within || got < beyond {
				t.Fatalf("at %d: least %v, want between %v and %v", now, got, beyond, within)
			}
		}
	})
}

func TestLimit(t *testing.T) {
	// 8000 B/s x (50 + 100 ms) = 1200 B
	if got := Limit(8000, 50*time.Millisecond); got != 1200 {
		t.Errorf("limit %d", got)
	}
	// 1625 B/s x 0.3 s = 487 B: less than one full datagram, which must always have room.
	if got := Limit(1625, 200*time.Millisecond); got != wire.MaxDatagram+wire.Overhead {
		t.Errorf("limit %d", got)
	}
	if got := Limit(MaxBudget*2, time.Hour); got <= 0 {
		t.Errorf("limit %d", got)
	}
}

func TestAllocs(t *testing.T) {
	w, _ := NewWindow(8000)
	var r RTT
	c, _ := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 9000})
	now := clock.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 16e6
		w.Room(now)
		w.When(now, 200)
		w.Spend(now, 100)
		r.Sample(now, 40*time.Millisecond)
		r.Least()
		c.Limited()
		c.Delivered(now, 142, 40*time.Millisecond)
		Limit(8000, r.Least())
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWindow(b *testing.B) {
	w, _ := NewWindow(8000)
	now := clock.Time(0)
	for b.Loop() {
		now += 50e6
		if w.Room(now) > 300 {
			w.Spend(now, 300)
		}
	}
}
