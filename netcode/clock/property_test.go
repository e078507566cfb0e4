package clock_test

import (
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"pgregory.net/rapid"
)

// Whatever stamps a peer sends, everything keeps to its cap. A reading advances by at most a tenth
// and the largest skew more than the local clock, or jumps forward once the estimate is more than
// StepLimit ahead, or began anew less than a second ago; the rate stays within MaxSkew; the bound
// covers both edges of the estimate and is never negative.
func TestHostileStampsKeepToTheCaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e clock.Estimator
		out := clock.NewOutput(&e)
		local := clock.Time(10e9)
		for t0 := clock.Time(0); t0 < local; t0 += 100e6 { // an honest beginning: the clock is 1 s ahead
			e.Exchange(t0, t0+1e9+20e6, t0+1e9+20e6, t0+40e6)
			out.Now(t0 + 40e6)
		}
		last := out.Now(local)
		resets, begun := e.Resets(), clock.Time(0) // when an estimate that began anew was first followed
		for range 100 {
			dt := clock.Time(rapid.Int64Range(1, 3e8).Draw(t, "dt"))
			local += dt
			near := func(name string, by int64) clock.Time {
				return local + clock.Time(rapid.Int64Range(-by, by).Draw(t, name))
			}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				e.Exchange(near("t0", 1e9), near("t1", 3e9), near("t2", 3e9), local)
			case 1:
				e.OneWay(near("sent", 3e9), local)
			case 2:
				e.OneWay(clock.Time(rapid.Int64().Draw(t, "absurd")), local)
			case 3:
				e.Receive(local, clock.Stamp(rapid.Uint32().Draw(t, "stamp")),
					clock.Stamp(rapid.Uint32().Draw(t, "echo")), time.Duration(rapid.Int64().Draw(t, "hold")))
			case 4:
				e.Receive(local, near("stamp", 3e9).Stamp(), near("echo", 1e9).Stamp(),
					time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "hold")))
			}
			at, bound, ok := e.At(local)
			ahead := at.Sub(last.Add(time.Duration(dt)))
			now := out.Now(local)
			if ok && resets != e.Resets() {
				resets, begun = e.Resets(), local
			}
			acquires := ok && local.Sub(begun) <= time.Second && ahead > -clock.StepLimit+time.Millisecond
			if acquires && now != max(last, at) {
				t.Fatalf("%v after the estimate began anew the clock is %v from it", local.Sub(begun), at.Sub(now))
			}
			most := time.Duration(dt)*11/10 + time.Duration(dt)*clock.MaxSkew/1e9 + 2
			if moved := now.Sub(last); moved < 0 || moved > most && !acquires &&
				!(ok && ahead > clock.StepLimit-time.Duration(dt)/1000) {
				t.Fatalf("in %v the clock moved by %v; the estimate was %v ahead", time.Duration(dt), moved, ahead)
			}
			if s := e.Skew(); s > clock.MaxSkew || s < -clock.MaxSkew {
				t.Fatalf("skew %d ppb", s)
			}
			if bound < 0 || e.LikelyError() < 0 || e.LikelyError() > e.MaxError() || e.SteadyError(local) < 0 {
				t.Fatalf("bound %v, likely %v, estimated %v", bound, e.LikelyError(), e.SteadyError(local))
			}
			last = now
		}
	})
}

// At rest one packet goes each way every 10 s. Six pairs a minute keep the clock: for ten minutes
// nothing is reset, and the truth stays within the bound even for a crystal that wanders by 20 ppm.
// The readings are wrong by about as much as queues still hide.
func TestOnePairInTenSeconds(t *testing.T) {
	for _, wander := range []int64{0, 20} {
		var e clock.Estimator
		out := clock.NewOutput(&e)
		r := geom.NewRand(5)
		remote := func(t clock.Time) clock.Time {
			x := int64(t) % 60e9 // a parabola: from +wander to -wander ppm in a minute
			return t.Add(time.Second+time.Duration(x/1000*((60e9-x)/1000)/60e9*wander)) + t/1_000_000*50
		}
		feed(&e, &r, 0, 60e9, remote, 20*time.Millisecond, 20*time.Millisecond, 5*time.Millisecond)
		worst := time.Duration(0)
		for t0 := clock.Time(60e9); t0 < 660e9; t0 += 10e9 {
			feed(&e, &r, t0, t0+1, remote, 20*time.Millisecond, 20*time.Millisecond, 5*time.Millisecond)
			for at := t0 + 100e6; at < t0+10e9; at += 100e6 {
				got, bound, ok := e.At(at)
				off := got.Sub(remote(at)).Abs()
				if !ok || off > bound || off > e.SteadyError(at) {
					t.Fatalf("wander %d ppm, at %v: off by %v, bound %v, estimated %v", wander, time.Duration(at),
						off, bound, e.SteadyError(at))
				}
				worst = max(worst, out.Now(at).Sub(remote(at)).Abs())
			}
		}
		if worst > 4*time.Millisecond || e.Resets() != 0 {
			t.Errorf("wander %d ppm: off by up to %v, %d resets", wander, worst, e.Resets())
		}
	}
}

// One direction takes 30 ms more from now on. Nobody can know which one: the estimate ends 15 ms
// off, half of that, and its bound covers it all the time.
func TestRouteChange(t *testing.T) {
	for _, shorter := range []bool{false, true} {
		var e clock.Estimator
		r := geom.NewRand(2)
		remote := shifted(time.Second, 20)
		before, after := 20*time.Millisecond, 50*time.Millisecond
		if shorter {
			before, after = after, before
		}
		feed(&e, &r, 0, 60e9, remote, before, 20*time.Millisecond, 2*time.Millisecond)
		was, _, _ := e.At(60e9)
		bias := was.Sub(remote(60e9))
		for t0 := clock.Time(60e9); t0 < 240e9; t0 += 1e9 {
			feed(&e, &r, t0, t0+1e9, remote, after, 20*time.Millisecond, 2*time.Millisecond)
			at, bound, _ := e.At(t0 + 1e9)
			if off := at.Sub(remote(t0 + 1e9)).Abs(); off > bound {
				t.Fatalf("%v after: off by %v, bound %v", time.Duration(t0-60e9), off, bound)
			}
		}
		at, _, _ := e.At(240e9)
		moved := at.Sub(remote(240e9)) - bias
		if shorter {
			moved = -moved
		}
		if (moved - 15*time.Millisecond).Abs() > time.Millisecond {
			t.Errorf("three minutes after a change of 30 ms the estimate moved by %v, want 15 ms", moved)
		}
	}
}

// A crystal that is off by 200 ppm for an hour, with one that was set by two seconds in between:
// the truth is within the bound throughout, and five seconds after the start, or the step, within a
// tick of 50 ms.
//
// seeds: R15
func TestAnHour(t *testing.T) {
	for _, ppm := range []int64{200, -200} {
		var e clock.Estimator
		out := clock.NewOutput(&e)
		r := geom.NewRand(9)
		set := time.Second
		stepped := clock.Time(1800e9)
		for t0 := clock.Time(0); t0 < 3600e9; t0 += 1e9 {
			if t0 == stepped {
				set += 2 * time.Second
			}
			remote := shifted(set, ppm)
			feed(&e, &r, t0, t0+1e9, remote, 30*time.Millisecond, 30*time.Millisecond, 40*time.Millisecond)
			now := t0 + 1e9
			at, bound, _ := e.At(now)
			if off := at.Sub(remote(now)).Abs(); off > bound {
				t.Fatalf("%d ppm, at %v: off by %v, bound %v", ppm, time.Duration(now), off, bound)
			}
			if off := out.Now(now).Sub(remote(now)).Abs(); off > 50*time.Millisecond &&
				(now > 5e9 && now < stepped || now > stepped+5e9) {
				t.Fatalf("%d ppm, at %v: the clock is off by %v", ppm, time.Duration(now), off)
			}
		}
		if e.Resets() != 1 {
			t.Errorf("%d ppm: %d resets, want 1", ppm, e.Resets())
		}
	}
}

// The packets of a burst leave the same clock in whatever order they are processed: the best sample
// of each direction decides.
func TestOrderOfABurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type exchange [4]clock.Time
		var burst []exchange
		arrive := clock.Time(20e9)
		for range 8 {
			t0 := arrive - clock.Time(rapid.Int64Range(40e6, 400e6).Draw(t, "rtt"))
			t1 := t0 + clock.Time(rapid.Int64Range(20e6, int64(arrive-t0)-20e6).Draw(t, "up"))
			burst = append(burst, exchange{t0, t1 + 1e9, t1 + 1e9, arrive})
		}
		run := func(order []int) (at clock.Time, bound time.Duration, skew int64) {
			var e clock.Estimator
			r := geom.NewRand(4)
			feed(&e, &r, 0, 15e9, shifted(time.Second, 10), 20*time.Millisecond, 20*time.Millisecond,
				10*time.Millisecond)
			for _, i := range order {
				e.Exchange(burst[i][0], burst[i][1], burst[i][2], burst[i][3])
			}
			e.Exchange(21e9, 22e9+50e6, 22e9+50e6, 21e9+100e6) // solves anew
			at, bound, _ = e.At(22e9)
			return at, bound, e.Skew()
		}
		at, bound, skew := run([]int{0, 1, 2, 3, 4, 5, 6, 7})
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(t, "order")
		if a, b, s := run(order); a.Sub(at).Abs() > time.Microsecond || (b-bound).Abs() > time.Microsecond ||
			s-skew > 10 || skew-s > 10 {
			t.Fatalf("in order %v: %d %v %d; in sequence %d %v %d", order, a, b, s, at, bound, skew)
		}
	})
}
