package playout

import "time"

// A hitch is a stall that players notice. hitchAfter is how long something that moves may be drawn
// other than between two received records before that counts; each further hitchAgain of the same
// stall is one more hitch. Outages, in which nothing arrives at all, are measured apart: whoever
// counts hitches leaves those times out.
const (
	hitchAfter = 16700 * time.Microsecond
	hitchAgain = 250 * time.Millisecond
)

// A Stall is how long one thing has been drawn without a newer record, frame by frame. It is a
// hitch after more than 16.7 ms, and one more for each further 250 ms. The zero Stall has not
// begun.
type Stall struct {
	length, counted time.Duration // counted: the length at the newest hitch
}

// Add makes the stall longer by one frame of length dt and reports whether that makes it one hitch
// more.
func (s *Stall) Add(dt time.Duration) (hitch bool) {
	s.length += dt
	if s.counted == 0 {
		hitch = s.length > hitchAfter
	} else {
		hitch = s.length-s.counted > hitchAgain
	}
	if hitch {
		s.counted = s.length
	}
	return hitch
}

// End ends the stall: there is something newer to draw.
func (s *Stall) End() { *s = Stall{} }

// Hitches returns how many hitches one stall is whose length is known: 0 up to 16.7 ms and for
// negative lengths, then one, and one more for each further 250 ms.
func Hitches(stall time.Duration) uint64 {
	if stall <= hitchAfter {
		return 0
	}
	return 1 + uint64((stall-hitchAfter)/hitchAgain)
}
