package playout

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"pgregory.net/rapid"
)

// The display stands still through a gap and then goes on from there, at up to three times the pace
// of the clock, until it is where the clock is. It never goes back or beyond the newest state, and
// jumps only over a gap that is too long to catch up with.
func TestCatchesUp(t *testing.T) {
	const step = 10 * time.Millisecond
	for _, c := range []struct {
		gap    clock.Time
		fixed  time.Duration
		within time.Duration // of the gap's end the display is where the clock is
		leap   bool
	}{
		{300 * ms, 0, 500 * time.Millisecond, false},
		{1000 * ms, 0, 900 * time.Millisecond, false},
		{1000 * ms, 200 * time.Millisecond, 900 * time.Millisecond, false},
		{1400 * ms, 0, 1200 * time.Millisecond, false},
		{3000 * ms, 0, step, true},
	} {
		p := newClock(t, Config{Fixed: c.fixed})
		end := 20000*ms + c.gap
		before, newest, caught := clock.Time(0), clock.Time(0), clock.Time(0)
		lost := func(at clock.Time) bool {
			if l := at > 20000*ms && at < end; !l {
				newest = at
				return false
			}
			return true
		}
		deliver(p, 1000*ms, end+3000*ms, lost, func(now clock.Time) {
			got := min(p.DisplayTime(), newest) // what lies beyond is drawn as the newest state says
			switch moved := got.Sub(before); {
			case now < 2000*ms:
			case moved < 0:
				t.Fatalf("gap %v: at %v the display goes back by %v", c.gap, now, -moved)
			case moved > 3*step+step/10 && !c.leap:
				t.Fatalf("gap %v: at %v the display leaps by %v", c.gap, now, moved)
			}
			if p.DisplayTime() > p.Now() {
				t.Fatalf("gap %v: at %v the display is ahead of the clock", c.gap, now)
			}
			if before = got; now < end || p.DisplayTime() != p.Now() {
				caught = now
			}
		})
		if after := caught.Sub(end) + step; after > c.within {
			t.Errorf("gap %v, delay %v: it took %v to catch up, want %v", c.gap, c.fixed, after, c.within)
		}
	}
}

// There is nothing to catch up with where nothing was missed: after announced silence, after a
// stall of the server itself, and after the clock was set.
func TestNothingToCatchUpWith(t *testing.T) {
	never := func(clock.Time) bool { return false }
	for _, name := range []string{"quiet", "stalled", "set"} {
		c := newClock(t, Config{})
		deliver(c, 1000*ms, 20000*ms, never, nil)
		start := 20600 * ms
		if name == "quiet" {
			c.Arrive(20000*ms, 20000*ms, true)
		}
		for now := 20000 * ms; now < start; now += 10 * ms {
			c.Advance(now)
		}
		switch name {
		case "stalled":
			c.Paced(start, 600*time.Millisecond, 0, 0)
			c.Arrive(start, start, false)
			c.Paced(start, 0, 0, 0)
		case "set":
			c.Reset()
		}
		deliver(c, start, start+2000*ms, never, func(now clock.Time) {
			if c.DisplayTime() != c.Now() {
				t.Fatalf("%s: %v after it went on the display is %v behind the clock", name, now.Sub(start),
					c.Now().Sub(c.DisplayTime()))
			}
		})
	}
}

// Arrivals, losses, frames of any length, silences: the displayed state never goes back, and is
// never ahead of the clock or of the newest state. It advances by more than three times real time
// (and the tenth by which the clock hurries) only after announced silence and over mostBehind at
// once.
func TestDisplayNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		beyond := time.Duration(rapid.SampledFrom([]int{0, 0, 100}).Draw(t, "extrapolate")) * time.Millisecond
		c, err := New(Config{Extrapolate: beyond})
		if err != nil {
			t.Fatal(err)
		}
		now, newest, before := 1000*ms, clock.Time(0), clock.Time(0)
		quiet, since := false, newest // until something newer comes
		advance := func(dt time.Duration) {
			now = now.Add(dt)
			was := c.DisplayTime()
			c.Advance(now)
			drawn := min(c.DisplayTime(), newest.Add(beyond))
			if drawn < before {
				t.Fatalf("at %v the display goes back by %v", now, before.Sub(drawn))
			}
			if c.DisplayTime() > c.Now() {
				t.Fatalf("at %v the display is %v ahead of the clock", now, c.DisplayTime().Sub(c.Now()))
			}
			if leap, most := drawn.Sub(before), 3*dt+dt/2+time.Millisecond; !quiet && was > 1 && leap > most &&
				leap < mostBehind-MaxDelay {
				t.Fatalf("at %v the display leaps by %v in %v", now, leap, dt)
			}
			before, quiet = drawn, quiet && newest == since
		}
		arrive := func(sent clock.Time, quiet bool) {
			c.Arrive(now, sent, quiet)
			newest = max(newest, sent)
		}
		for now < 4000*ms { // an honest beginning
			advance(10 * time.Millisecond)
			if now%(50*ms) == 0 {
				arrive(now, false)
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "episodes") {
			length := clock.Time(rapid.IntRange(1, 200).Draw(t, "length")) * 10 * ms
			end := now + length
			kind := rapid.SampledFrom([]string{"comes", "jitters", "nothing", "quiet"}).Draw(t, "kind")
			if kind == "quiet" {
				arrive(now, true)
				quiet, since = true, newest
			}
			late := clock.Time(0)
			for now < end {
				advance(time.Duration(rapid.IntRange(1, 100).Draw(t, "frame")) * time.Millisecond)
				switch kind {
				case "jitters":
					late = clock.Time(rapid.IntRange(0, 400).Draw(t, "late")) * ms
					fallthrough
				case "comes":
					arrive(max((now-late)/(50*ms)*(50*ms), 1), false)
				}
			}
		}
	})
}
