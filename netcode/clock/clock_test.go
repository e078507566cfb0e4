package clock_test

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"pgregory.net/rapid"
)

func TestStamps(t *testing.T) {
	const wrap = clock.Time(1<<32) * 1000
	for _, c := range []struct {
		name string
		near clock.Time
		of   clock.Time
	}{
		{"same", 5e9, 5e9},
		{"before", 5e9, 4e9},
		{"after", 5e9, 6e9},
		{"across the wrap", wrap + 1e6, wrap - 1e6},
		{"to the wrap", wrap - 1e6, wrap + 1e6},
		{"almost half a wrap back", 3 * wrap, 3*wrap - wrap/2 + 1000},
		{"almost half a wrap on", 3 * wrap, 3*wrap + wrap/2 - 1000},
		{"negative", -5e9, -6e9},
	} {
		if got := c.near.Near(c.of.Stamp()); got != c.of {
			t.Errorf("%s: near %d the stamp of %d is %d", c.name, c.near, c.of, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at := clock.Time(rapid.Int64Range(-1e18, 1e18).Draw(t, "us") / 1000 * 1000)
		off := clock.Time(rapid.Int64Range(-2_147_483_647, 2_147_483_647).Draw(t, "off") * 1000)
		if got := (at + off).Near(at.Stamp()); got != at {
			t.Fatalf("near %d: %d, want %d", at+off, got, at)
		}
	})
}

func TestTickFrac(t *testing.T) {
	for _, c := range []struct {
		f    clock.TickFrac
		tick clock.Tick
		part uint8
	}{
		{0, 0, 0}, {255, 0, 255}, {256, 1, 0}, {1000, 3, 232}, {-1, 0, 255}, {1 << 40, 1<<32 - 1, 0},
		{clock.Tick(1<<32 - 1).Frac(), 1<<32 - 1, 0},
	} {
		if c.f.Tick() != c.tick || c.f.Part() != c.part {
			t.Errorf("%d: tick %d part %d, want %d and %d", c.f, c.f.Tick(), c.f.Part(), c.tick, c.part)
		}
	}
}

// Ticks 10 and 11 are 50 ms apart; then the server slows down to 100 ms. Times in ms.
func TestTimelineStretches(t *testing.T) {
	var l clock.Timeline
	if l.TickAt(5e9) != 0 || l.TimeOf(256) != 0 {
		t.Error("an empty timeline knows something")
	}
	at := func(ms int64) clock.Time { return clock.Time(ms * 1e6) }
	for _, a := range []struct {
		tick   clock.Tick
		ms     int64
		period time.Duration
		used   bool
	}{
		{10, 1000, 50 * time.Millisecond, true},
		{11, 1050, 100 * time.Millisecond, true},
		{11, 1060, 50 * time.Millisecond, false}, // known
		{9, 950, 50 * time.Millisecond, false},   // older
		{14, 1350, 100 * time.Millisecond, true}, // 12 and 13 were lost
		{15, 1350, 100 * time.Millisecond, false},
		{15, 1300, 100 * time.Millisecond, false},
		{15, 1400, 0, false},
		{15, 1400, time.Hour, false},
		{0, 1400, 100 * time.Millisecond, false},
	} {
		if used := l.Update(a.tick, at(a.ms), a.period); used != a.used {
			t.Errorf("tick %d at %d ms: used %v", a.tick, a.ms, used)
		}
	}
	for _, c := range []struct {
		ms    int64
		f     clock.TickFrac
		about string
	}{
		{900, 8 * 256, "before the oldest: its period, 50 ms"},
		{1000, 10 * 256, "an anchor"},
		{1025, 10*256 + 128, "half of a 50 ms tick"},
		{1050, 11 * 256, "an anchor"},
		{1150, 12 * 256, "a third of the 300 ms from 11 to 14"},
		{1350, 14 * 256, "the newest"},
		{1400, 14*256 + 128, "half of a 100 ms tick to come"},
		{2350, 24 * 256, "ten of them"},
	} {
		if got := l.TickAt(at(c.ms)); got != c.f {
			t.Errorf("%d ms (%s): %d, want %d", c.ms, c.about, got, c.f)
		}
		if got := l.TimeOf(c.f); got != at(c.ms) {
			t.Errorf("%d (%s): at %d, want %d", c.f, c.about, got, at(c.ms))
		}
	}
	if tick, when, p := l.Newest(); tick != 14 || when != at(1350) || p != 100*time.Millisecond {
		t.Error(l.Newest())
	}
}

func TestTimelineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l clock.Timeline
		tick, at := clock.Tick(rapid.Uint32Range(100, 1<<31).Draw(t, "tick")),
			clock.Time(rapid.Int64Range(-1e15, 1e15).Draw(t, "at"))
		first := tick
		for range rapid.IntRange(1, 150).Draw(t, "n") {
			periods := rapid.Int64Range(int64(clock.MinPeriod), int64(clock.MaxPeriod))
			period := time.Duration(periods.Draw(t, "period"))
			if !l.Update(tick, at, period) {
				t.Fatal("refused")
			}
			skip := rapid.Uint32Range(1, 5).Draw(t, "skip")
			tick += clock.Tick(skip)
			at += clock.Time(rapid.Int64Range(int64(skip)*1e6, int64(skip)*4e9).Draw(t, "gap"))
			if old := rapid.Uint32Range(0, 10).Draw(t, "old"); l.Update(tick-clock.Tick(skip+old), at, period) {
				t.Fatal("an old tick was used")
			}
		}
		lo, hi := first.Frac()-5000, tick.Frac()+5000
		f := clock.TickFrac(rapid.Int64Range(int64(lo), int64(hi)).Draw(t, "f"))
		when := l.TimeOf(f)
		if got := l.TickAt(when); got != f {
			t.Fatalf("TickAt(TimeOf(%d) = %d) = %d", f, when, got)
		}
		if got := l.TickAt(when - 1); got >= f {
			t.Fatalf("TimeOf(%d) is not the first instant: %d before it", f, got)
		}
		if l.TimeOf(f+1) <= when {
			t.Fatalf("TimeOf does not increase at %d", f)
		}
	})
}

// Whatever a server claims, the map neither panics nor runs backwards.
func TestTimelineHostile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l clock.Timeline
		for range 20 {
			l.Update(clock.Tick(rapid.Uint32().Draw(t, "tick")),
				clock.Time(rapid.Int64Range(-1<<61, 1<<61).Draw(t, "at")),
				time.Duration(rapid.Int64().Draw(t, "period")))
		}
		a, b := rapid.Int64Range(-1<<61, 1<<61).Draw(t, "a"), rapid.Int64Range(-1<<61, 1<<61).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if l.TickAt(clock.Time(a)) > l.TickAt(clock.Time(b)) {
			t.Fatalf("TickAt runs backwards between %d and %d", a, b)
		}
		a, b = a>>20, b>>20
		if l.TimeOf(clock.TickFrac(a)) > l.TimeOf(clock.TickFrac(b)) {
			t.Fatalf("TimeOf runs backwards between %d and %d", a, b)
		}
	})
}
