package clock_test

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"pgregory.net/rapid"
)

func msec(x float64) clock.Time { return clock.Time(x * 1e6) }

func TestPacerKeepsThePlan(t *testing.T) {
	p := clock.Pacer{Step: 50 * time.Millisecond}
	for _, c := range []struct {
		now     float64
		due     int
		planned float64 // of the first
		next    float64
	}{
		{1000, 1, 1000, 1050},
		{1000, 0, 1000, 1050}, // asked again
		{1049, 0, 1000, 1050},
		{1051, 1, 1050, 1100}, // a millisecond late: the plan stays
		{1100, 1, 1100, 1150},
		{1090, 0, 1100, 1150}, // a clock that runs backwards
		{1225, 2, 1150, 1250}, // a missed beat: both at once
		{1250, 1, 1250, 1300},
		{9999, 2, 9949, 10049}, // a long stall: two, and the rest of the debt is forgiven
		{10000, 0, 9949, 10049},
		{10049, 1, 10049, 10099},
	} {
		if due := p.Due(msec(c.now)); due != c.due || p.Planned(0) != msec(c.planned) || p.Next() != msec(c.next) {
			t.Fatalf("at %v ms: %d due, planned %v, next %v; want %v", c.now, due, p.Planned(0), p.Next(), c)
		}
	}
}

func TestPacerBounds(t *testing.T) {
	for _, c := range []struct{ step, period time.Duration }{
		{0, clock.MinPeriod}, {-1, clock.MinPeriod}, {time.Hour, clock.MaxPeriod},
		{time.Second / 60, time.Second / 60},
	} {
		p := clock.Pacer{Step: c.step}
		if p.Period() != c.period {
			t.Errorf("step %v: period %v, want %v", c.step, p.Period(), c.period)
		}
		if p.Due(0); p.Next() != clock.Time(c.period) {
			t.Errorf("step %v: next %v", c.step, p.Next())
		}
	}
}

// load runs a loop whose ticks take cost(t) and returns the ticks run, the longest burst and the
// longest gap between the planned times of successive ticks, in periods.
func load(p *clock.Pacer, from, until clock.Time, cost func(clock.Time) time.Duration) (ticks, burst int) {
	now := from
	for now < until {
		n := p.Due(now)
		burst = max(burst, n)
		for range n {
			c := cost(now)
			p.Ran(c)
			now = now.Add(c)
			ticks++
		}
		now = max(now, p.Next())
	}
	return ticks, burst
}

// One stall of half a second in ten seconds: a tick that hangs, or a process that sleeps. The tick
// count is not exact: of the 30 ticks that could not run in time all are given up, except one that
// may run at once after a sleep. It is exact that no more are lost, and that none is hurried
// afterwards.
//
// seeds: R16
func TestPacerAfterAStall(t *testing.T) {
	for _, c := range []struct {
		name         string
		hangs        bool
		ticks, burst int
	}{{"a tick hangs", true, 600 - 30 + 1, 1}, {"the process sleeps", false, 600 - 30 + 1, 2}} {
		p := clock.Pacer{Step: time.Second / 60}
		stalled := false
		now, end := clock.Time(0), msec(10_000)
		ticks, most := 0, 0
		var planned []clock.Time
		for now < end {
			n := p.Due(now)
			most = max(most, n)
			for i := range n {
				planned = append(planned, p.Planned(i))
				took := 2 * time.Millisecond
				if c.hangs && !stalled && now > msec(5000) {
					stalled, took = true, 500*time.Millisecond
				}
				p.Ran(took)
				now = now.Add(took)
				ticks++
			}
			if now = max(now, p.Next()); !c.hangs && !stalled && now > msec(5000) {
				stalled, now = true, now+msec(500)
			}
		}
		if ticks < c.ticks-1 || ticks > c.ticks+1 || most != c.burst || p.Period() != time.Second/60 {
			t.Errorf("%s: %d ticks, want %d; %d at once, want %d; period %v", c.name, ticks, c.ticks, most, c.burst,
				p.Period())
		}
		for i := range planned[1:] { // announced to clients: evenly spaced but for the stall
			if d := planned[i+1].Sub(planned[i]); d < time.Second/60-time.Microsecond {
				t.Errorf("%s: tick %d is planned %v after the one before", c.name, i+1, d)
			}
		}
		t.Logf("%s: %d ticks, %d at once", c.name, ticks, most)
	}
}

func TestPacerStretchesUnderLoad(t *testing.T) {
	p := clock.Pacer{Step: 50 * time.Millisecond}
	light := func(clock.Time) time.Duration { return 5 * time.Millisecond }
	heavy := func(clock.Time) time.Duration { return 90 * time.Millisecond }
	if ticks, _ := load(&p, 0, 10e9, light); ticks != 200 || p.Period() != 50*time.Millisecond {
		t.Fatalf("idle: %d ticks, period %v", ticks, p.Period())
	}
	last, at := p.Period(), clock.Time(10e9)
	for range 30 {
		ticks, burst := load(&p, at, at+1e9, heavy)
		at = max(at+1e9, p.Next())
		if ticks > 12 || ticks < 8 {
			t.Errorf("at %v: %d ticks of 90 ms in a second", at, ticks)
		}
		if grown := p.Period() - last; grown > last*51/1000+10*time.Microsecond || grown < 0 {
			t.Errorf("at %v: the period went from %v to %v in a second", at, last, p.Period())
		}
		if burst > 1 && at > 12e9 {
			t.Errorf("a burst of %d under overload", burst)
		}
		last = p.Period()
	}
	// 90 ms are 80 % of 112.5 ms; the controller rests anywhere between 70 % and 90 %: 100 to 129
	// ms.
	if p.Period() < 100*time.Millisecond || p.Period() > 113*time.Millisecond {
		t.Errorf("the period settled at %v", p.Period())
	}
	if l := p.Load(); l < 0.75 || l > 0.91 {
		t.Errorf("load %v", l)
	}
	load(&p, at, at+30e9, light)
	if p.Period() != 50*time.Millisecond {
		t.Errorf("30 s after the load went, the period is %v", p.Period())
	}
}

// The announced spacing is right at once under overload, and a stall does not move it.
func TestPacerSpacing(t *testing.T) {
	p := clock.Pacer{Step: 50 * time.Millisecond}
	if p.Spacing() != p.Step {
		t.Errorf("before the first tick: %v", p.Spacing())
	}
	light := func(clock.Time) time.Duration { return 5 * time.Millisecond }
	load(&p, 0, 10e9, light)
	p.Due(10.3e9) // a stall of 300 ms
	if p.Spacing() != p.Step {
		t.Errorf("after a stall: %v", p.Spacing())
	}
	load(&p, 10.3e9, 20e9, light)
	at := clock.Time(20e9)
	for i := range 8 { // ticks of 90 ms
		for range p.Due(at) {
			p.Ran(90 * time.Millisecond)
			at = at.Add(90 * time.Millisecond)
		}
		at = max(at, p.Next())
		if s := p.Spacing(); i > 5 && (s < 80*time.Millisecond || s > 100*time.Millisecond) {
			t.Errorf("tick %d of 90 ms: the spacing is %v, the period %v", i, s, p.Period())
		}
	}
}

func TestPacerLimits(t *testing.T) {
	p := clock.Pacer{Step: 20 * time.Millisecond}
	load(&p, 0, 1e12, func(clock.Time) time.Duration { return time.Minute })
	if p.Period() > clock.MaxStretch*p.Step {
		t.Errorf("period %v", p.Period())
	}
}

// Whatever the loop does, ticks are planned strictly one after the other, never in the future, and
// at most MaxBurst at once.
func TestPacerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := clock.Pacer{Step: time.Duration(rapid.Int64Range(1e6, 1e8).Draw(t, "step"))}
		now, last := clock.Time(rapid.Int64Range(-1e12, 1e12).Draw(t, "start")), clock.Time(-1<<62)
		for range 200 {
			n := p.Due(now)
			if n < 0 || n > clock.MaxBurst {
				t.Fatalf("%d due", n)
			}
			for i := range n {
				at := p.Planned(i)
				if at <= last || at > now {
					t.Fatalf("planned for %d after %d, now %d", at, last, now)
				}
				last = at
				p.Ran(time.Duration(rapid.Int64Range(-1e6, 2e8).Draw(t, "took")))
			}
			if p.Next() <= now-clock.Time(p.Period()) {
				t.Fatalf("after Due the next is still %v late", now.Sub(p.Next()))
			}
			now += clock.Time(rapid.Int64Range(-1e6, 3e8).Draw(t, "gap"))
		}
	})
}
