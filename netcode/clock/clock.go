// Package clock holds the units of time of the whole project (ticks, instants, wire stamps) and
// what relates them: an [Estimator] of a remote clock from stamps of both directions, an [Output]
// that reads the estimate smoothly, a [Timeline] between ticks and server time, and a [Pacer] that
// says when ticks are due. Nothing here reads a clock.
package clock

import "time"

// Tick numbers fixed simulation steps. A match starts at tick 1; 0 means "no tick".
// At 60 Hz the range lasts 828 days, so ticks are ordered plainly and never wrap.
type Tick uint32

// Time is nanoseconds since a clock's own zero: the beginning of the match for a server, the
// start of the program for a client. It is an instant; a span is a time.Duration.
type Time int64

// Sub returns the span from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Add returns the instant d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Stamp is the low 32 bits of a Time in microseconds, as packets carry it. It wraps every 71.6
// minutes.
type Stamp uint32

// Stamp returns t in whole microseconds, modulo 1<<32.
func (t Time) Stamp() Stamp { return Stamp(uint32(int64(t) / 1000)) }

// Near returns the instant nearest to t whose stamp is s. It is right when the two lie less than
// half a wrap, 35.8 minutes, apart.
func (t Time) Near(s Stamp) Time {
	us := int64(t) / 1000
	return Time((us + int64(int32(uint32(s)-uint32(us)))) * 1000)
}
