package playout_test

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
)

// fixed returns a clock with a constant delay of 100 ms over a path of 30 ms. States arrived every
// 50 ms up to 3 s.
func fixed(t *testing.T, cfg playout.Config) *playout.Clock {
	t.Helper()
	c, err := playout.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for now := clock.Time(0); now <= clock.Time(3030*msec); now = now.Add(msec) {
		if sent := now.Add(-30 * msec); sent >= 0 && sent%clock.Time(50*msec) == 0 {
			c.Arrive(now, sent, false)
		}
		c.Advance(now)
	}
	return c
}

// A hitch counts after 16.7 ms without anything to draw, to the frame, another one after each
// further 250 ms, and anew in the next stall.
func TestHitchesToTheMillisecond(t *testing.T) {
	c := fixed(t, playout.Config{Fixed: 100 * msec}) // 3 s is the newest state, drawn at 3130 ms
	at := func(now time.Duration) uint64 { c.Advance(clock.Time(now)); return c.Hitches() }
	now := 3030 * msec
	for _, c := range []struct {
		until time.Duration
		want  uint64
	}{{3146 * msec, 0}, {3397 * msec, 1}, {3648 * msec, 2}, {3899 * msec, 3}} {
		for ; now <= c.until; now += msec {
			if got := at(now); got != c.want {
				t.Fatalf("%v after the newest state was drawn: %d hitches, want %d", now-3130*msec, got, c.want)
			}
		}
		now = c.until + 2*msec
		at(c.until + msec) // where it counts, give or take a frame
	}
	before := c.Hitches()
	for d := time.Duration(0); d < 400*msec; d += 50 * msec { // states come again, the last of 4.3 s
		c.Arrive(clock.Time(3980*msec+d), clock.Time(3950*msec+d), false)
	}
	for now = 4330 * msec; now <= 4430*msec; now += msec {
		if at(now) != before {
			t.Fatalf("at %v: %d hitches, %d before states came again", now, c.Hitches(), before)
		}
	}
	if at(4480*msec) != before+1 {
		t.Errorf("dry again: %d hitches, want %d", c.Hitches(), before+1)
	}
}

// Delay and Age are measured from the floor, the newest state that could be known, however long the
// path is. A local clock that runs back changes nothing.
func TestDelayAndAgeAreAboveTheFloor(t *testing.T) {
	c := fixed(t, playout.Config{Fixed: 100 * msec})
	now := clock.Time(3050 * msec)
	if got := c.Age(now); got != 20*msec { // of 3 s, could be 3020
		t.Errorf("age %v, want 20 ms", got)
	}
	got := c.Advance(now)
	if want := clock.Time(3050*msec - 30*msec - 100*msec); got != want || c.Delay() != 100*msec {
		t.Errorf("playout time %d, want %d; delay %v", got, want, c.Delay())
	}
	if back := c.Advance(now.Add(-time.Second)); back != got || c.Delay() != 100*msec {
		t.Errorf("a second back: %d, delay %v", back, c.Delay())
	}
	if on := c.Advance(now.Add(10 * msec)); on != got.Add(10*msec) {
		t.Errorf("and on: %d, want %d", on, got.Add(10*msec))
	}
}

// After a standstill of the program of more than a second the clock is at once where it would be.
// Smaller changes are slewed.
func TestJumpsOrSlews(t *testing.T) {
	c := fixed(t, playout.Config{Fixed: 100 * msec})
	now := clock.Time(3030 * msec)
	for range 100 { // 5 s arrive, stamped by the reader, while nothing is drawn
		now = now.Add(50 * msec)
		c.Arrive(now, now.Add(-30*msec), false)
	}
	if got := c.Advance(now); got != now.Add(-130*msec) || c.Hitches() != 0 {
		t.Errorf("after a pause %v behind, want 130 ms; %d hitches", now.Sub(got), c.Hitches())
	}
	if err := c.SetFixed(500 * msec); err != nil {
		t.Fatal(err)
	}
	at := c.Now()
	for i := range 3 { // 400 ms are slewed, never jumped
		now = now.Add(50 * msec)
		c.Arrive(now, now.Add(-30*msec), false)
		next := c.Advance(now)
		if next < at || next.Sub(at) < 40*msec || next.Sub(at) > 50*msec {
			t.Errorf("step %d towards a longer delay: %v in 50 ms", i, next.Sub(at))
		}
		at = next
	}
}

// The delay grows by the server's announced lateness up to MaxDelay, never shrinks by it, and
// forgets it with a Reset.
func TestPacedIsBounded(t *testing.T) {
	c, err := playout.New(playout.Config{})
	if err != nil {
		t.Fatal(err)
	}
	base := c.Target()
	for _, s := range []struct {
		name             string
		late, next, hold time.Duration
		want             time.Duration
	}{
		{"as usual", 0, 0, 10 * msec, 0},
		{"the next one is late", 0, 40 * msec, 10 * msec, 40 * msec},
		{"this one was late, which is over", 40 * msec, 0, 10 * msec, 0},
		{"kept longer than the least", 0, 0, 35 * msec, 25 * msec},
		{"both", 0, 40 * msec, 35 * msec, 65 * msec},
		{"kept shorter than ever", 0, 0, 4 * msec, 0},
		{"from then on that is the least", 0, 0, 10 * msec, 6 * msec},
		{"negative", -time.Hour, -time.Hour, 4 * msec, 0},
		{"beyond all measure", time.Hour, time.Hour, time.Hour, playout.MaxDelay - base},
	} {
		c.Paced(0, s.late, s.next, s.hold)
		if got := c.Target() - base; got != s.want {
			t.Errorf("%s: %v more, want %v", s.name, got, s.want)
		}
	}
	c.Paced(0, 0, 20*msec, 4*msec)
	if c.Overdue(10 * msec); c.Target()-base != 20*msec {
		t.Errorf("a heartbeat that says less takes something off: %v", c.Target()-base)
	}
	if c.Overdue(50 * msec); c.Target()-base != 50*msec {
		t.Errorf("a heartbeat that says more: %v", c.Target()-base)
	}
	if c.Overdue(-time.Hour); c.Target()-base != 50*msec {
		t.Errorf("a heartbeat that says nonsense: %v", c.Target()-base)
	}
	if c.Reset(); c.Target() != base {
		t.Errorf("after Reset %v", c.Target())
	}
	// The least hold is that of the last half minute to minute: a server that now
	// always takes longer is as usual again.
	for now := clock.Time(0); now < clock.Time(90*time.Second); now = now.Add(50 * msec) {
		hold := 5 * msec
		if now > clock.Time(10*time.Second) {
			hold = 45 * msec
		}
		c.Paced(now, 0, 0, hold)
	}
	if c.Target() != base {
		t.Errorf("a minute later it still counts as lateness: %v", c.Target()-base)
	}
}

// Hitches make the delay of an adaptive clock grow: that is the purpose of the budget.
func TestHitchesAreLearned(t *testing.T) {
	run := func(budget float64) (target time.Duration, hitches uint64) {
		c, err := playout.New(playout.Config{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		for now := clock.Time(0); now < clock.Time(200*time.Second); now = now.Add(10 * msec) {
			// 300 ms fail in every 7 s
			if sent := now.Add(-30 * msec); sent%clock.Time(50*msec) == 0 &&
				sent%clock.Time(7*time.Second) >= clock.Time(300*msec) {
				c.Arrive(now, sent, false)
			}
			c.Advance(now)
		}
		return c.Target(), c.Hitches()
	}
	few, a := run(1)
	many, b := run(60)
	if few <= many || a > b {
		t.Errorf("a budget of 1 a minute: target %v, %d hitches; of 60: %v, %d", few, a, many, b)
	}
}
