package playout

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
)

const (
	ms    = clock.Time(time.Millisecond)
	frame = 16 * ms
)

func newClock(t interface {
	Helper()
	Fatal(...any)
}, cfg Config) *Clock {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Fixed: -1}, "playout: Fixed -1ns is outside [0, 500ms]"},
		{Config{Fixed: MaxDelay + 1}, "playout: Fixed 500.000001ms is outside [0, 500ms]"},
		{Config{Extrapolate: -1}, "playout: Extrapolate -1ns is outside [0, 100ms]"},
		{Config{Extrapolate: MaxExtrapolate + 1}, "playout: Extrapolate 100.000001ms is outside [0, 100ms]"},
		{Config{Interval: -1}, "playout: estimate: Interval -1ns is outside [0, 500ms]"},
		{Config{Interval: time.Second}, "playout: estimate: Interval 1s is outside [0, 500ms]"},
	} {
		if _, err := New(c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	c := newClock(t, Config{})
	if err := c.SetFixed(time.Second); err == nil || c.Target() != 130*time.Millisecond {
		t.Errorf("a refused SetFixed: %v, target %v", err, c.Target())
	}
	if err := c.SetFixed(MaxDelay); err != nil || c.Target() != MaxDelay {
		t.Errorf("SetFixed: %v, target %v", err, c.Target())
	}
	if c.SetFixed(0); c.Target() != 130*time.Millisecond { // two intervals of 50 ms and 30 ms
		t.Errorf("adaptive again: target %v", c.Target())
	}
}

// Before anything arrived there is nothing to draw.
func TestBeforeTheFirstPacket(t *testing.T) {
	c := newClock(t, Config{})
	for now := clock.Time(0); now < 5000*ms; now += frame {
		if got := c.Advance(now); got != 0 || c.Delay() != 0 || c.Hitches() != 0 || c.Age(now) != 0 {
			t.Fatalf("at %v: playout time %v, delay %v, %d hitches", now, got, c.Delay(), c.Hitches())
		}
	}
}

// A fixed delay is exactly its length behind the newest state that could be known. The first state
// is drawn for the whole delay, as in the article: 350 ms are 100 ms until the second state and 250
// ms more.
//
// seeds: B11 S4
func TestFixedDelays(t *testing.T) {
	for _, fixed := range []time.Duration{
		100 * time.Millisecond, // Half-Life at 20 Hz
		200 * time.Millisecond, // Half-Life, to ride out one lost update
		350 * time.Millisecond, // a lobby at 10 Hz
		150 * time.Millisecond, // three intervals of 50 ms
	} {
		for _, interval := range []clock.Time{50 * ms, 100 * ms} {
			// One-way delay and clock difference: both are the floor.
			for _, way := range []clock.Time{0, 35 * ms, 2000 * ms} {
				c := newClock(t, Config{Fixed: fixed})
				const first = 5000 * ms // stamp of the first state
				began := clock.Time(0)
				for now := first + way; now < first+way+3000*ms; now += ms {
					if sent := now - way; (sent-first)%interval == 0 {
						c.Arrive(now, sent, false)
					}
					got := c.Advance(now)
					if want := now.Add(-fixed) - way; got != want {
						t.Fatalf("fixed %v every %v, way %v: at %v playout time %v, want %v", fixed, interval, way,
							now, got, want)
					}
					if began == 0 && got >= first {
						began = now - first - way
					}
				}
				if began != clock.Time(fixed) {
					t.Errorf("fixed %v: movement begins %v after the first state", fixed, began)
				}
				if c.Delay() != fixed || c.Hitches() != 0 {
					t.Errorf("fixed %v: delay %v, %d hitches", fixed, c.Delay(), c.Hitches())
				}
			}
		}
	}
}

// Whatever arrives in whatever order, the playout time never runs back, is never more than a tenth
// too fast unless it jumps a second, and does not pass the newest state while its delay is short of
// the target.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{}
		if rapid.Bool().Draw(t, "fixed") {
			cfg.Fixed = time.Duration(rapid.IntRange(1, 500).Draw(t, "ms")) * time.Millisecond
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		now, way := clock.Time(rapid.IntRange(0, 1000).Draw(t, "start"))*ms,
			clock.Time(rapid.IntRange(-500, 500).Draw(t, "way"))*ms
		newest, known, hitches := clock.Time(0), false, uint64(0)
		silent := false
		before := clock.Time(0)
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			if rapid.Bool().Draw(t, "packet") {
				stamp := now - way - clock.Time(rapid.IntRange(0, 400).Draw(t, "late"))*ms
				quiet := rapid.IntRange(0, 9).Draw(t, "quiet") == 0
				c.Arrive(now, stamp, quiet)
				if !known || stamp > newest {
					newest, known, silent = stamp, true, quiet
				}
				continue
			}
			dt := clock.Time(rapid.IntRange(0, 60).Draw(t, "dt")) * ms
			if rapid.IntRange(0, 20).Draw(t, "pause") == 0 {
				dt = clock.Time(rapid.IntRange(0, 5000).Draw(t, "pause ms")) * ms
			}
			now += dt
			short := c.Delay() < c.Target()
			got := c.Advance(now)
			if got < before {
				t.Fatalf("at %v: from %v back to %v", now, before, got)
			}
			if c.Hitches() < hitches || silent && c.Hitches() != hitches {
				t.Fatalf("hitches went from %d to %d, silent %v", hitches, c.Hitches(), silent)
			}
			if before != 0 && short && !silent && got > max(newest, before) && c.Delay() < c.Target() {
				t.Fatalf("at %v: %v is past the newest, %v, with a delay of %v of %v", now, got, newest, c.Delay(),
					c.Target())
			}
			before, hitches = got, c.Hitches()
		}
	})
}

// deliver plays states every 50 ms, stamped by the server's clock, and calls each after each frame.
func deliver(c *Clock, from, to clock.Time, lost func(at clock.Time) bool, each func(now clock.Time)) {
	for now := from; now < to; now += ms {
		if now%(50*ms) == 0 && !lost(now) {
			c.Arrive(now, now, false)
		}
		if now%(10*ms) == 0 {
			c.Advance(now)
			if each != nil {
				each(now)
			}
		}
	}
}

// A hitch is counted once the clock has run dry for 16.7 ms, and again for each further 250 ms.
func TestHitches(t *testing.T) {
	for _, c := range []struct {
		gap  clock.Time // between two states; the delay is 100 ms, so that much less runs dry
		want uint64
	}{{50 * ms, 0}, {100 * ms, 0}, {150 * ms, 1}, {350 * ms, 1}, {400 * ms, 2}, {650 * ms, 3}, {950 * ms, 4}} {
		p := newClock(t, Config{Fixed: 100 * time.Millisecond})
		lost := func(at clock.Time) bool { return at > 2000*ms && at < 2000*ms+c.gap }
		deliver(p, 1000*ms, 4000*ms, lost, nil)
		if p.Hitches() != c.want {
			t.Errorf("a gap of %v: %d hitches, want %d", c.gap, p.Hitches(), c.want)
		}
	}
}

// Announced silence is no stall, and the first state after it no sign of a bad path.
func TestQuietIsNotStarvation(t *testing.T) {
	c := newClock(t, Config{})
	deliver(c, 1000*ms, 20000*ms, func(clock.Time) bool { return false }, nil)
	target := c.Target()
	for range 20 {
		start := c.local + 10*ms // 50 ms after the last state
		c.Arrive(start, start, true)
		for now := start; now < start+7000*ms; now += frame {
			c.Advance(now)
			if c.Age(now) != 0 || c.slow != 0 {
				t.Fatalf("in silence: age %v, slowed by %v", c.Age(now), c.slow)
			}
		}
		deliver(c, start+7000*ms, start+12000*ms, func(clock.Time) bool { return false }, nil)
	}
	if c.Hitches() != 0 || c.Target() > target {
		t.Errorf("%d hitches, target from %v to %v", c.Hitches(), target, c.Target())
	}
}

// A walker who stood for 5 s and walks on is drawn walking as soon as the delay allows. The pause
// teaches nothing: target and playout time from then on are those of a clock without a pause.
//
// seeds: R44
func TestPauseThenWalk(t *testing.T) {
	never := func(clock.Time) bool { return false }
	c := newClock(t, Config{})
	deliver(c, 1000*ms, 20000*ms, never, nil)
	target := c.Target()
	stop := 20000 * ms
	c.Arrive(stop, stop, true)
	for now := stop; now < stop+5000*ms; now += 10 * ms {
		c.Advance(now)
	}
	start := stop + 5000*ms
	shown := clock.Time(0) // when the first step was drawn
	deliver(c, start, start+3000*ms, never, func(now clock.Time) {
		if shown == 0 && c.Now() >= start {
			shown = now
		}
	})
	if lag := shown - start - clock.Time(target); lag > 50*ms {
		t.Errorf("the first step is drawn %v after it could be, with a delay of %v", lag, target)
	}
	if c.Target() != target || c.Hitches() != 0 {
		t.Errorf("the target went from %v to %v, with %d hitches", target, c.Target(), c.Hitches())
	}
}

// A dry clock goes on from where it stood, not from where it would be by now. It stays within a
// frame of the newest state, and the delay grows with each instant, until it is two and a half
// times its target.
func TestGoesOnFromWhereItStood(t *testing.T) {
	c := newClock(t, Config{})
	deliver(c, 1000*ms, 19501*ms, func(clock.Time) bool { return false }, nil)
	const newest, frame = 19500 * ms, 10 * ms
	target, before, stood := c.Target(), c.Now(), 0
	now := newest + frame
	for ; c.Delay() < 2*target; now += frame {
		got := c.Advance(now)
		if got > newest+frame {
			t.Fatalf("with a delay of %v, target %v, the clock is at %v, more than a frame beyond the newest state",
				c.Delay(), target, got)
		}
		if got == before {
			stood++
		}
		if before = got; now > newest+1000*ms {
			t.Fatalf("the delay is %v", c.Delay())
		}
	}
	if most := int(target / time.Duration(frame)); stood < most/2 || stood > most+2 {
		t.Errorf("it stood for %d frames of 10 ms until the delay was twice %v", stood, target)
	}
	for at := newest + 50*ms; at < now; at += 50 * ms { // states come, all at once: on from there, without a jump
		c.Arrive(now, at, false)
	}
	if got := c.Advance(now); got < before || got > before+frame*11/10 {
		t.Errorf("then it goes on from %v with %v", before, got)
	}
}

// However far off stamps and arrivals are, neither the target nor the delay after a jump lies
// outside [0, MaxDelay], and time does not run back.
func TestHostileStamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Extrapolate: time.Duration(rapid.IntRange(0, 100).Draw(t, "extrapolate ms")) * time.Millisecond}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		now, before := clock.Time(rapid.Int64Range(0, 1<<40).Draw(t, "start")), clock.Time(0)
		for range rapid.IntRange(1, 300).Draw(t, "packets") {
			now += clock.Time(rapid.Int64Range(0, int64(time.Second)).Draw(t, "dt"))
			stamp := clock.Time(rapid.Int64Range(-1<<60, 1<<60).Draw(t, "stamp"))
			if rapid.Bool().Draw(t, "near") {
				stamp = now - stamp%clock.Time(time.Second)
			}
			c.Arrive(now, stamp, rapid.IntRange(0, 9).Draw(t, "quiet") == 0)
			got := c.Advance(now)
			if got < before || c.Target() < 0 || c.Target() > MaxDelay {
				t.Fatalf("target %v, time from %v to %v", c.Target(), before, got)
			}
			before = got
		}
	})
}

// A client's clock that is off by hours changes no delay. Neither do duplicates, nor packets that
// newer ones overtook, once the floor is known.
func TestShiftsAndCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := rapid.Int64Range(0, int64(2*time.Hour)/int64(estimate.FloorWindow)).Draw(t, "windows")
		shift := clock.Time(windows) * clock.Time(estimate.FloorWindow)
		plain, other := newClock(t, Config{}), newClock(t, Config{})
		var sent []clock.Time
		for now := 1000 * ms; now < 60000*ms; now += 10 * ms {
			if now%(50*ms) == 0 && rapid.IntRange(0, 9).Draw(t, "lost") > 0 {
				stamp := now - 5*ms - clock.Time(rapid.IntRange(0, 40).Draw(t, "jitter"))*ms
				sent = append(sent, stamp)
				plain.Arrive(now, stamp, false)
				other.Arrive(now+shift, stamp, false)
				if old := sent[rapid.IntRange(0, len(sent)-1).Draw(t, "copy")]; old < stamp {
					other.Arrive(now+shift, old, false)
				}
				other.Arrive(now+shift, stamp, false)
			}
			a, b := plain.Advance(now), other.Advance(now+shift)
			if a != b || plain.Delay() != other.Delay() || plain.Hitches() != other.Hitches() {
				t.Fatalf("at %v: %v with %v, and shifted by %v: %v with %v", now, a, plain.Delay(), shift, b,
					other.Delay())
			}
		}
	})
}

// Extrapolation makes the delay shorter by what it spares. A gap within it is no hitch, and one
// beyond it is.
//
// seeds: B12
func TestExtrapolate(t *testing.T) {
	bad := func(at clock.Time) bool { return at%(2000*ms) > 1800*ms } // 200 ms without a state every 2 s
	hold, ahead := newClock(t, Config{}), newClock(t, Config{Extrapolate: 100 * time.Millisecond})
	if hold.Target()-ahead.Target() != 100*time.Millisecond {
		t.Errorf("at the start the targets are %v and %v", hold.Target(), ahead.Target())
	}
	for _, c := range []*Clock{hold, ahead} {
		deliver(c, 1000*ms, 120000*ms, bad, nil)
	}
	if less := hold.Target() - ahead.Target(); less < 50*time.Millisecond || less > 110*time.Millisecond {
		t.Errorf("targets %v, and %v with 100 ms of extrapolation", hold.Target(), ahead.Target())
	}
	for _, c := range []struct {
		gap  clock.Time // the delay is 100 ms and 100 ms may be extrapolated: that much less runs dry
		want uint64
	}{{50 * ms, 0}, {200 * ms, 0}, {250 * ms, 1}, {450 * ms, 1}, {500 * ms, 2}} {
		p := newClock(t, Config{Fixed: 100 * time.Millisecond, Extrapolate: 100 * time.Millisecond})
		deliver(p, 1000*ms, 4000*ms, func(at clock.Time) bool { return at > 2000*ms && at < 2000*ms+c.gap }, nil)
		if p.Hitches() != c.want {
			t.Errorf("a gap of %v: %d hitches, want %d", c.gap, p.Hitches(), c.want)
		}
	}
}

// As long as no gap is longer than the delay, what is drawn lies between two states that have
// arrived.
//
// seeds: R10
func TestDrawsBetweenWhatArrived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := clock.Time(rapid.IntRange(100, 500).Draw(t, "delay ms")) * ms
		c := newClock(t, Config{Fixed: time.Duration(delay)})
		first, newest := 1000*ms, clock.Time(0)
		for now, next := first, first; now < first+5000*ms; now += 5 * ms {
			if now >= next {
				c.Arrive(now, now, false)
				newest = now
				next = now + clock.Time(rapid.Int64Range(1, int64(delay/ms)/5).Draw(t, "gap"))*5*ms
			}
			if got := c.Advance(now); got > newest || now >= first+delay && got < first {
				t.Fatalf("at %v: %v is not between %v and %v", now, got, first, newest)
			}
		}
		if c.Hitches() != 0 {
			t.Fatalf("%d hitches", c.Hitches())
		}
	})
}

// After a pause of the program the clock is where it would have been; after a gap of more than a
// second too.
func TestJumpsOverPauses(t *testing.T) {
	for _, pause := range []clock.Time{1500 * ms, 2000 * ms, 30000 * ms} {
		c := newClock(t, Config{Fixed: 200 * time.Millisecond})
		deliver(c, 1000*ms, 3000*ms, func(clock.Time) bool { return false }, nil)
		back := 3000*ms + pause
		for now := 3000 * ms; now < back; now += 50 * ms { // arrived meanwhile, stamped by the reader
			c.Arrive(now, now, false)
		}
		if got := c.Advance(back); got != back-200*ms {
			t.Errorf("after %v: %v, want %v", pause, got, back-200*ms)
		}
		if c.Hitches() != 0 {
			t.Errorf("after %v: %d hitches", pause, c.Hitches())
		}
	}
	// The path was dead, and the clock stood while its delay was short: it jumps when states come
	// again.
	c := newClock(t, Config{Fixed: 500 * time.Millisecond})
	deliver(c, 1000*ms, 2000*ms, func(clock.Time) bool { return false }, nil)
	c.SetFixed(100 * time.Millisecond)
	deliver(c, 2000*ms, 9000*ms, func(at clock.Time) bool { return at < 5000*ms }, nil)
	if d := c.Delay(); d < 99*time.Millisecond || d > 105*time.Millisecond {
		t.Errorf("4 s after an outage the delay is %v", d)
	}
}

// The target follows the path: bursts every second need more delay than steady states, and on the
// way there the clock never runs more than a tenth too fast or too slow.
func TestAdapts(t *testing.T) {
	c := newClock(t, Config{})
	never := func(clock.Time) bool { return false }
	deliver(c, 1000*ms, 30000*ms, never, nil)
	calm := c.Target()
	if calm > 70*time.Millisecond {
		t.Errorf("steady states every 50 ms want a delay of %v", calm)
	}
	bad := func(at clock.Time) bool { return at%(1000*ms) > 700*ms } // 300 ms without a state in each second
	before := clock.Time(0)
	deliver(c, 30000*ms, 90000*ms, bad, func(now clock.Time) {
		step := c.Now() - before
		if before != 0 && (step < 0 || step > 11*ms) {
			t.Fatalf("at %v: a step of %v in 10 ms", now, step)
		}
		before = c.Now()
	})
	// From 60 ms on the clock slows down, so that 195 ms last through the hole: 60 + 2 x 135 less
	// where it is not yet at its slowest.
	if c.Target() < 180*time.Millisecond {
		t.Errorf("holes of 300 ms: target %v", c.Target())
	}
	rough := c.Hitches()
	deliver(c, 90000*ms, 120000*ms, bad, nil)
	if n := c.Hitches() - rough; n > 2 {
		t.Errorf("%d hitches in half a minute of what it has learned", n)
	}
	deliver(c, 120000*ms, 420000*ms, never, nil)
	if c.Target() > calm+20*time.Millisecond {
		t.Errorf("five calm minutes later the target is still %v, before %v", c.Target(), calm)
	}
}

// A clock that was set by seconds starts anew, also backwards.
func TestReset(t *testing.T) {
	c := newClock(t, Config{Fixed: 100 * time.Millisecond})
	deliver(c, 10000*ms, 12000*ms, func(clock.Time) bool { return false }, nil)
	c.Reset()
	if got := c.Advance(14000 * ms); got != 0 {
		t.Errorf("after Reset without a packet: %v", got)
	}
	for now := 14000 * ms; now < 15000*ms; now += 10 * ms { // the local clock was set forward by 2 s
		c.Arrive(now, now-2000*ms, false)
		if got, want := c.Advance(now), now-2100*ms; got != want {
			t.Fatalf("at %v: %v, want %v", now, got, want)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	c := newClock(t, Config{})
	now := 1000 * ms
	if n := testing.AllocsPerRun(1000, func() {
		now += 16 * ms
		c.Arrive(now, now-30*ms, false)
		c.Advance(now)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func Example() {
	c, err := New(Config{Fixed: 100 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	const oneWay = 40 * ms
	for sent := clock.Time(0); sent <= 400*ms; sent += 50 * ms {
		arrived := sent + oneWay
		c.Arrive(arrived, sent, false)
		c.Advance(arrived)
	}
	fmt.Println("newest 400ms, drawn", time.Duration(c.Now()), "hitches", c.Hitches())
	// Output: newest 400ms, drawn 300ms hitches 0
}

// A delay that is off by more than a second is corrected by a jump, at once. Up to a second the
// clock runs a tenth faster.
func TestJumpsBeyondOneSecond(t *testing.T) {
	for _, c := range []struct {
		shift clock.Time // by so much the server's clock was set forward
		jumps bool
	}{{900 * ms, false}, {1100 * ms, true}, {3000 * ms, true}} {
		const fixed, step = 200 * ms, 10 * ms
		p := newClock(t, Config{Fixed: time.Duration(fixed)})
		deliver(p, 1000*ms, 3000*ms, func(clock.Time) bool { return false }, nil)
		before, now := p.Now(), 3000*ms
		p.Arrive(now, now+c.shift, false)
		p.Advance(now)
		switch moved := p.Now() - before; {
		case c.jumps && p.Now() != now+c.shift-fixed:
			t.Errorf("%v off: the clock is %v off", time.Duration(c.shift), p.Now().Sub(now+c.shift-fixed))
		case !c.jumps && moved > step+step/10:
			t.Errorf("%v off: the clock moved by %v in %v", time.Duration(c.shift), time.Duration(moved),
				time.Duration(step))
		}
	}
}

// A hitch while the server announces its own lateness does not move the price of delay: more delay
// for the path's sake would not have spared it.
func TestHitchesOfTheServerAreExcused(t *testing.T) {
	run := func(stalls bool) *Clock {
		c := newClock(t, Config{})
		const hold = 5 * time.Millisecond
		last := clock.Time(0)
		for now := 1000 * ms; now < 200000*ms; now += 10 * ms {
			stalled := stalls && now > 60000*ms && now%(5000*ms) < 300*ms
			if now%(50*ms) == 0 && !stalled {
				late := time.Duration(0)
				if last != 0 {
					late = time.Duration(now-last) - 50*time.Millisecond
				}
				c.Paced(now, late, 0, hold)
				c.Arrive(now, now, false)
				last = now
			}
			c.Advance(now)
		}
		return c
	}
	steady, stalled := run(false), run(true)
	if n := stalled.Hitches(); n < 20 {
		t.Errorf("only %d hitches for 28 stalls: the test tests little", n)
	}
	if a, b := steady.est.Price(), stalled.est.Price(); a != b {
		t.Errorf("the price of a hitch is %v, and %v after stalls of the server", a, b)
	}
}
