package snapshot

import (
	"time"

	"meanwhile/netcode/clock"
)

// sentTimes remembers when packets with entries were sent to one client, to tell which of them should have been
// acknowledged by now. It remembers mostSent of them, which is enough for timeouts of a second or of the longest
// one so far; older packets count as late.
type sentTimes struct {
	ring    []sentTime // as many as were needed so far
	oldest  int        // in ring
	longest uint32     // the longest timeout so far, at least leastWait
}

// sentTime is when the packet of a tick was sent.
type sentTime struct {
	tick clock.Tick
	at   uint32 // in units of 1<<msB ns
}

const (
	// msB makes units of 1.05 ms of a nanosecond clock. 32 bits of them wrap after 52 days.
	msB = 20
	// mostSent is how many packets are remembered.
	mostSent = 64
	// leastWait is a second, in units of 1<<msB ns.
	leastWait = 1 << (30 - msB)
)

// newest returns the tick of the newest packet; ok is false if there is none.
func (t *sentTimes) newest() (tick clock.Tick, ok bool) {
	n := len(t.ring)
	if n == 0 {
		return 0, false
	}
	return t.ring[(t.oldest+n-1)%n].tick, true
}

// note notes that the packet of a tick was sent.
func (t *sentTimes) note(tick clock.Tick, now clock.Time) {
	n := len(t.ring)
	at := uint32(now >> msB)
	if last, ok := t.newest(); ok && last == tick {
		t.ring[(t.oldest+n-1)%n].at = at
		return
	}
	if n == 0 || n < mostSent && at-t.ring[t.oldest].at <= t.longest {
		ring, before := make([]sentTime, max(8, 2*n)), clock.Tick(0)
		if n > 0 {
			before = t.ring[t.oldest].tick - 1
		}
		for i := range len(ring) - n { // what is not there any more was sent long ago
			ring[i] = sentTime{before, at - 1<<31}
		}
		for i := range n {
			ring[len(ring)-n+i] = t.ring[(t.oldest+i)%n]
		}
		t.ring, t.oldest = ring, 0
	}
	t.ring[t.oldest] = sentTime{tick, at}
	t.oldest = (t.oldest + 1) % len(t.ring)
}

// late returns the newest tick whose packet should have been acknowledged by now; rto is the timeout.
func (t *sentTimes) late(now clock.Time, rto time.Duration) clock.Tick {
	at, wait := uint32(now>>msB), uint32(rto>>msB)
	t.longest = max(t.longest, wait, leastWait)
	n := len(t.ring)
	for i := n - 1; i >= 0; i-- {
		if s := &t.ring[(t.oldest+i)%n]; at-s.at > wait {
			return s.tick
		}
	}
	if n > 0 {
		return t.ring[t.oldest].tick - min(t.ring[t.oldest].tick, 1)
	}
	return 0
}
