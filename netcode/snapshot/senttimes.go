package snapshot

import (
	"time"

	"meanwhile/netcode/clock"
)

// sentTimes remembers when packets with entries were sent to one client, to tell which of them
// should have been acknowledged by now. It remembers mostSent of them, which is enough for timeouts
// of a second or of the longest one so far; older packets count as late.
type sentTimes struct {
	ring    []sentTime // as many as were needed so far
	oldest  uint32     // in ring
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

// at returns the i-th packet, the oldest first.
func (t *sentTimes) at(i int) *sentTime { return &t.ring[(int(t.oldest)+i)%len(t.ring)] }

// newest returns the tick of the newest packet; ok is false if there is none.
func (t *sentTimes) newest() (tick clock.Tick, ok bool) {
	if len(t.ring) == 0 {
		return 0, false
	}
	return t.at(len(t.ring) - 1).tick, true
}

// note notes that the packet of a tick was sent.
func (t *sentTimes) note(tick clock.Tick, now clock.Time) {
	n := len(t.ring)
	at := uint32(now >> msB)
	if last, ok := t.newest(); ok && last == tick {
		t.at(n - 1).at = at
		return
	}
	if n == 0 || n < mostSent && at-t.at(0).at <= t.longest {
		ring, before := make([]sentTime, max(8, 2*n)), clock.Tick(0)
		if n > 0 {
			before = t.at(0).tick - 1
		}
		for i := range len(ring) - n { // what is not there any more was sent long ago
			ring[i] = sentTime{before, at - 1<<31}
		}
		for i := range n {
			ring[len(ring)-n+i] = *t.at(i)
		}
		t.ring, t.oldest = ring, 0
	}
	*t.at(0) = sentTime{tick, at}
	t.oldest = (t.oldest + 1) % uint32(len(t.ring))
}

// late returns the newest tick whose packet should have been acknowledged by now; rto is the
// timeout.
func (t *sentTimes) late(now clock.Time, rto time.Duration) clock.Tick {
	at, wait := uint32(now>>msB), uint32(rto>>msB)
	t.longest = max(t.longest, wait, leastWait)
	n := len(t.ring)
	for i := n - 1; i >= 0; i-- {
		if s := t.at(i); at-s.at > wait {
			return s.tick
		}
	}
	if n > 0 {
		return t.at(0).tick - min(t.at(0).tick, 1)
	}
	return 0
}
