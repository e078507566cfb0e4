package estimate

import (
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// Packets come every 50 ms for a minute over a path of 75 ms with jitter, then something happens.
func TestAnotherPathIsSeen(t *testing.T) {
	const ms = time.Millisecond
	const change = 1200 // packets
	r := geom.NewRand(7)
	jitter := func() time.Duration { return time.Duration(r.IntN(30)) * ms }
	from := func(n int, a, b time.Duration) func(i int) time.Duration {
		return func(i int) time.Duration {
			if i < n {
				return a + jitter()
			}
			return b + jitter()
		}
	}
	outages := func(i int) time.Duration {
		if i > change && i%12 == 0 {
			return time.Second
		}
		return 50 * ms
	}
	for _, c := range []struct {
		name    string
		transit func(i int) time.Duration
		held    func(i int) time.Duration
		gaps    func(i int) time.Duration // before packet i
		within  int                       // packets after the change, 0: never
		more    time.Duration
	}{
		{name: "the same", transit: from(change, 75*ms, 75*ms)},
		{name: "faster by 5 ms", transit: from(change, 75*ms, 70*ms), within: 20},
		{name: "faster by 70 ms", transit: from(change, 75*ms, 5*ms), within: 3},
		{name: "slower by 60 ms", transit: from(change, 75*ms, 135*ms), within: 45, more: 60 * ms},
		{name: "slower by 60 ms, with outages", transit: from(change, 75*ms, 135*ms), gaps: outages,
			within: 45, more: 60 * ms},
		// What arrives late between outages says nothing where some packet is as fast as before.
		{name: "outages, and queues after them", gaps: outages, transit: func(i int) time.Duration {
			if i > change && i%12 < 9 {
				return 175*ms + jitter()
			}
			return 75*ms + jitter()
		}},
		{name: "slower by 5 ms", transit: from(change, 75*ms, 80*ms)},
		{name: "a crystal off by 200 ppm", transit: func(i int) time.Duration {
			return 75*ms + jitter() - time.Duration(i)*10*time.Microsecond
		}},
		// It makes all others late, and what was learned with it is forgotten.
		{name: "one wrong stamp", within: 45, more: 50 * ms, transit: func(i int) time.Duration {
			if i == change {
				return 25 * ms
			}
			return 75*ms + jitter()
		}},
		{name: "a queue for a second and a half", transit: func(i int) time.Duration {
			if i >= change && i < change+30 {
				return 175*ms + jitter()
			}
			return 75*ms + jitter()
		}},
		{name: "nothing for three seconds", transit: from(change, 75*ms, 75*ms), gaps: func(i int) time.Duration {
			if i == change {
				return 3 * time.Second
			}
			return 50 * ms
		}},
		// What rare packets took least says little.
		{name: "rest, then motion", transit: func(i int) time.Duration {
			if i < change {
				return 80 * ms
			}
			return 75*ms + jitter()
		}, gaps: func(i int) time.Duration {
			if i > change-20 && i < change {
				return 10 * time.Second
			}
			return 50 * ms
		}},
		{name: "a sender that keeps packets", transit: from(change, 75*ms, 115*ms), held: func(i int) time.Duration {
			if i < change {
				return 0
			}
			return 40 * ms
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a Ages
			stamp := clock.Time(time.Hour)
			seen := -1
			for i := range change + 600 {
				gap := 50 * ms
				if c.gaps != nil {
					gap = c.gaps(i)
				}
				stamp = stamp.Add(gap)
				if c.held != nil {
					a.Held(c.held(i))
				}
				a.Arrive(stamp.Add(c.transit(i)), stamp)
				more, another := a.Another()
				if !another {
					continue
				}
				if seen >= 0 || c.within == 0 || i < change {
					t.Fatalf("packet %d shows another path, %v longer", i-change, more)
				}
				if seen = i - change; (more - c.more).Abs() > 5*ms {
					t.Errorf("it is longer by %v, not %v", more, c.more)
				}
			}
			if c.within > 0 && (seen < 0 || seen > c.within) {
				t.Errorf("seen after %d packets, not %d", seen, c.within)
			}
			if floor, took := a.Floor(), c.transit(change+500)-30*ms; c.within > 0 && floor < took {
				t.Errorf("the floor is %v where packets take at least %v", floor, took)
			}
		})
	}
}

// What another path needs does not depend on what the path before needed.
func TestAnotherPathIsLearnedAnew(t *testing.T) {
	learn := func(e *Estimator, from, blocks int, x time.Duration) {
		for i := range blocks {
			e.Observe(clock.Time(from+i)*clock.Time(blockSpan), x)
		}
	}
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	first := e.Target()
	learn(e, 0, 300, 300*time.Millisecond)
	if got := e.Target(); got < 290*time.Millisecond {
		t.Fatalf("target %v where every block needs 300 ms", got)
	}
	e.Another(0)
	if got := e.Target(); got != first {
		t.Errorf("target %v on another path, not the first one %v", got, first)
	}
	learn(e, 300, 7, 50*time.Millisecond)
	if got := e.Target(); got > 60*time.Millisecond {
		t.Errorf("target %v after 3 s that need 50 ms", got)
	}
	e.Another(0)
	if got := e.Target(); got > 60*time.Millisecond {
		t.Errorf("target %v on a faster path, longer than on the one before", got)
	}
	e.Another(70 * time.Millisecond)
	if got := e.Target(); got < first+60*time.Millisecond {
		t.Errorf("target %v on a path that is slower by 70 ms", got)
	}
	learn(e, 310, 3, 280*time.Millisecond)
	if got := e.Target(); got < 270*time.Millisecond {
		t.Errorf("target %v on a slower path with gaps of 280 ms", got)
	}
}
