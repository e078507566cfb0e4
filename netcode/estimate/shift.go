package estimate

import (
	"time"

	"meanwhile/netcode/clock"
)

// How a Shift knows another path.
const (
	// shiftFall: the least transit of a path is found within seconds, and then does not fall by so
	// much again, but for what clocks drift: less than a part in shiftDrift. Two packets show it,
	// as one could have a wrong stamp.
	shiftFall  = 2 * time.Millisecond
	shiftDrift = 1000
	// shiftRise: queues make packets late by more, but hardly ever all of shiftCount that arrive in
	// at least shiftSpan. Gaps of more than shiftGap are outages: they show nothing, and do not count.
	shiftRise  = 25 * time.Millisecond
	shiftSpan  = 2 * time.Second
	shiftCount = 40
	shiftGap   = 500 * time.Millisecond
	// The least transit is known after shiftLearns, and shiftKnown packets without a longer silence
	// than shiftSilence: rare signs of life do not show it. A silence takes nothing from what is
	// known, unless another came before shiftKnown packets, or it is so long that the least of
	// before is forgotten.
	shiftLearns  = 10 * time.Second
	shiftKnown   = 100
	shiftSilence = 5 * time.Second
)

// A Shift notices by the least time that packets take that they come over another path: a phone
// that leaves a train and finds Wi-Fi, a route that changed. What was learned of the path before
// then says nothing. Queues, loss and stops of the same path change what packets take on top of the
// least, not the least itself. The zero Shift is ready. It is not safe for concurrent use.
type Shift struct {
	begun clock.Time // of the present path
	last  clock.Time // newest packet
	known int        // packets since begun
	since int        // packets since the newest silence

	fell time.Duration // by which the least transit fell of late

	above      clock.Time    // since when all packets were late
	late       int           // packets since
	lateAt     clock.Time    // newest of them
	leastSoFar time.Duration // of them, without those of the first half of shiftSpan
}

// Observe records a packet that arrived at now and took so much more than the least transit known
// before, or less if negative. It reports whether the path is another, and by how much its least
// transit is above the one known now; what fell below is known already.
func (s *Shift) Observe(now clock.Time, over time.Duration) (more time.Duration, another bool) {
	silence := now.Sub(s.last)
	switch {
	case s.known == 0 || silence > shiftSilence && (s.since < shiftKnown || silence > FloorWindow/2 || !s.learned(s.last)):
		*s = Shift{begun: now, last: now, known: 1, since: 1}
		return 0, false
	case silence > shiftSilence:
		s.since, s.late = 0, 0
	}
	s.fell = max(s.fell-silence/shiftDrift, 0)
	s.last, s.known, s.since = now, min(s.known+1, shiftKnown), min(s.since+1, shiftKnown)
	learned := s.learned(now)
	if s.rose(now, over) && learned {
		more = s.leastSoFar
		*s = Shift{begun: now, last: now, known: 1, since: 1}
		return more, true
	}
	if s.fell >= shiftFall && over < s.fell/2 {
		*s = Shift{begun: now, last: now, known: 1, since: 1}
		return 0, true
	}
	if over < 0 && learned {
		s.fell -= over
	}
	return 0, false
}

// learned reports whether the least transit is known.
func (s *Shift) learned(now clock.Time) bool {
	return s.known == shiftKnown && now.Sub(s.begun) >= shiftLearns
}

// rose reports whether no packet has shown the known least transit for long.
func (s *Shift) rose(now clock.Time, over time.Duration) bool {
	if over <= shiftRise || over > MaxTarget {
		s.late = 0
		return false
	}
	if s.late == 0 {
		s.above = now
	} else if gap := now.Sub(s.lateAt); gap > shiftGap {
		s.above = s.above.Add(gap)
	}
	if s.lateAt, s.late = now, s.late+1; now.Sub(s.above) < shiftSpan/2 {
		s.leastSoFar = over // the first may have come over the path before
	}
	s.leastSoFar = min(s.leastSoFar, over)
	return now.Sub(s.above) >= shiftSpan && s.late >= shiftCount
}
