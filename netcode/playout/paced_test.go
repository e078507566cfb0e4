package playout_test

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
)

const msec = time.Millisecond

// pacedServer is a server and the path from it.
type pacedServer struct {
	*playout.Clock
	tell    bool // packets announce the server's lateness
	at, now clock.Time
}

// run plays packets with the given gaps and holds. It returns the delay when the last one arrived,
// and the hitches until then.
func (s *pacedServer) run(gaps, holds []time.Duration) (delay time.Duration, hitches uint64) {
	const usual, path = 50 * msec, 30 * msec
	before := s.Hitches()
	for i, gap := range gaps {
		s.at = s.at.Add(gap)
		arrival := s.at.Add(holds[i] + path)
		for ; s.now < arrival; s.now = s.now.Add(time.Second / 60) {
			s.Advance(s.now)
		}
		if s.tell {
			s.Paced(arrival, gap-usual, max(gap, holds[i])-usual, holds[i])
		}
		s.Arrive(arrival, s.at, false)
	}
	s.Advance(s.now)
	return s.Delay(), s.Hitches() - before
}

func repeat(d time.Duration, n int) (s []time.Duration) {
	for range n {
		s = append(s, d)
	}
	return s
}

// A server that announces that it is slow gets the delay that this needs, at once and for as long
// as it lasts. Nothing of it is learned.
func TestPaced(t *testing.T) {
	for _, tell := range []bool{false, true} {
		c, err := playout.New(playout.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := &pacedServer{Clock: c, tell: tell}
		calm, _ := s.run(repeat(50*msec, 400), repeat(10*msec, 400))
		target := c.Target()
		// Packets 100 ms apart, each 40 ms on its way out: 50 + 30 ms more.
		busy, hitches := s.run(repeat(100*msec, 100), repeat(40*msec, 100))
		if !tell {
			if c.Target() < target+30*msec {
				t.Errorf("untold, the target went from %v to %v only", target, c.Target())
			}
			continue
		}
		if more := busy - calm; more < 70*msec || more > 95*msec || hitches > 1 {
			t.Errorf("the delay went from %v to %v with %d hitches, want 80 ms more and 1 at most", calm, busy,
				hitches)
		}
		if after, _ := s.run(repeat(50*msec, 60), repeat(10*msec, 60)); c.Target() > target+5*msec ||
			after > calm+15*msec {
			t.Errorf("3 s after, the target is %v and the delay %v; before they were %v and %v", c.Target(), after,
				target, calm)
		}
	}
}

// A stall of the server is one hitch, and the path does not pay for it.
func TestPacedStall(t *testing.T) {
	c, err := playout.New(playout.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &pacedServer{Clock: c, tell: true}
	s.run(repeat(50*msec, 200), repeat(10*msec, 200))
	target := c.Target()
	for range 8 {
		gaps := append([]time.Duration{300 * msec}, repeat(50*msec, 199)...)
		if _, hitches := s.run(gaps, repeat(10*msec, 200)); hitches > 1 {
			t.Errorf("%d hitches for one stall", hitches)
		}
	}
	if c.Target() > target+5*msec {
		t.Errorf("the target went from %v to %v", target, c.Target())
	}
}

// Whatever a server claims, the delay stays within its bound and time does not run back.
func TestPacedHostile(t *testing.T) {
	c, err := playout.New(playout.Config{})
	if err != nil {
		t.Fatal(err)
	}
	last := clock.Time(0)
	for i := range 500 {
		at := clock.Time(i) * clock.Time(50*msec)
		wild := time.Duration(1<<62) * time.Duration(i%3-1)
		c.Paced(at, wild, -wild, wild/time.Duration(i+1))
		c.Arrive(at, at, false)
		now := c.Advance(at)
		if c.Target() < 0 || c.Target() > playout.MaxDelay || now < last {
			t.Fatalf("packet %d: target %v, time from %v to %v", i, c.Target(), last, now)
		}
		last = now
	}
}
