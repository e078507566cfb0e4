package clock

import (
	"math/bits"

	"time"
)

// TickFrac is a position on the tick axis in 1/256 tick. Everything that a game can see is dated in
// it, because ticks stretch under load and server time does not.
type TickFrac int64

// FracPerTick is the number of TickFrac units in one tick.
const FracPerTick = 256

// Frac returns the beginning of t on the tick axis.
func (t Tick) Frac() TickFrac { return TickFrac(t) * FracPerTick }

// Tick returns the tick that contains f. Positions before tick 0 give 0, positions beyond the last
// tick give the last.
func (f TickFrac) Tick() Tick {
	switch {
	case f < 0:
		return 0
	case f >= TickFrac(1<<32)*FracPerTick:
		return 1<<32 - 1
	}
	return Tick(f / FracPerTick)
}

// Part returns how far f lies into its tick, in 1/256 tick.
func (f TickFrac) Part() uint8 { return uint8(f & (FracPerTick - 1)) }

// Bounds of a tick period that a Timeline or a Pacer accepts.
const (
	MinPeriod = time.Millisecond
	MaxPeriod = 2 * time.Second
)

// anchors is the number of announcements that a Timeline remembers: at 20 a second, 3.2 seconds of
// the past.
const anchors = 64

type anchor struct {
	tick   Tick
	at     Time
	period time.Duration
}

// A Timeline maps server time to tick time and back. It is built from the (tick, server time,
// period) triples that packets announce. Between two announced ticks it is the straight line
// through both, so the past keeps the lengths that its ticks really had. After the newest it goes
// on with the newest period, before the oldest one remembered with the oldest period. Neither
// direction ever decreases, and TickAt(TimeOf(f)) == f for each f, as long as announced ticks are
// at least 256 ns apart.
//
// The zero Timeline is empty. It never allocates and is not safe for concurrent use.
type Timeline struct {
	ring [anchors]anchor
	head int // index of the newest
	n    int
}

// Update records one announcement and reports whether it was used. An announcement is ignored if
// tick is 0 or not newer than the newest known one, if at does not lie after that of the newest, or
// if period is outside [MinPeriod, MaxPeriod].
func (l *Timeline) Update(tick Tick, at Time, period time.Duration) bool {
	if tick == 0 || period < MinPeriod || period > MaxPeriod {
		return false
	}
	if l.n > 0 {
		if a := &l.ring[l.head]; tick <= a.tick || at <= a.at {
			return false
		}
		l.head = (l.head + 1) % anchors
	}
	l.ring[l.head] = anchor{tick, at, period}
	l.n = min(l.n+1, anchors)
	return true
}

// Newest returns the newest announcement, or zeroes while there is none.
func (l *Timeline) Newest() (Tick, Time, time.Duration) {
	a := l.ring[l.head]
	return a.tick, a.at, a.period
}

// back returns the i-th newest anchor, 0 <= i < l.n.
func (l *Timeline) back(i int) *anchor { return &l.ring[(l.head-i+anchors)%anchors] }

// TickAt returns the server's position on the tick axis at server time t, rounded down to 1/256
// tick. It is 0 before the first Update.
func (l *Timeline) TickAt(t Time) TickFrac {
	if l.n == 0 {
		return 0
	}
	a := l.back(0)
	if t >= a.at {
		return a.tick.Frac() + TickFrac(mulDivFloor(int64(t-a.at), FracPerTick, int64(a.period)))
	}
	for i := 1; i < l.n; i++ {
		b := a
		if a = l.back(i); t >= a.at {
			return a.tick.Frac() + TickFrac(mulDivFloor(int64(t-a.at), int64(b.tick.Frac()-a.tick.Frac()),
				int64(b.at-a.at)))
		}
	}
	return a.tick.Frac() + TickFrac(mulDivFloor(int64(t-a.at), FracPerTick, int64(a.period)))
}

// TimeOf returns the first nanosecond of server time at which the tick axis has reached f: the
// inverse of TickAt. It is 0 before the first Update.
func (l *Timeline) TimeOf(f TickFrac) Time {
	if l.n == 0 {
		return 0
	}
	a := l.back(0)
	if f >= a.tick.Frac() {
		return a.at + Time(mulDivCeil(int64(f-a.tick.Frac()), int64(a.period), FracPerTick))
	}
	for i := 1; i < l.n; i++ {
		b := a
		if a = l.back(i); f >= a.tick.Frac() {
			return a.at + Time(mulDivCeil(int64(f-a.tick.Frac()), int64(b.at-a.at),
				int64(b.tick.Frac()-a.tick.Frac())))
		}
	}
	return a.at + Time(mulDivCeil(int64(f-a.tick.Frac()), int64(a.period), FracPerTick))
}

// mulDivFloor returns a*b/d rounded down, for b >= 0 and d > 0. The product has 128 bits. A
// quotient that does not fit becomes the largest or the smallest int64.
func mulDivFloor(a, b, d int64) int64 {
	if a < 0 {
		return -mulDiv(uint64(-a), b, d, uint64(d-1))
	}
	return mulDiv(uint64(a), b, d, 0)
}

// mulDivCeil is mulDivFloor rounded up.
func mulDivCeil(a, b, d int64) int64 {
	if a < 0 {
		return -mulDiv(uint64(-a), b, d, 0)
	}
	return mulDiv(uint64(a), b, d, uint64(d-1))
}

// mulDiv returns (a*b+add)/d, at most 1<<62.
func mulDiv(a uint64, b, d int64, add uint64) int64 {
	const most = 1 << 62
	hi, lo := bits.Mul64(a, uint64(b))
	lo, carry := bits.Add64(lo, add, 0)
	hi += carry
	if hi >= uint64(d) {
		return most
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return int64(min(q, most))
}
