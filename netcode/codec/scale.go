package codec

import (
	"math"
	"math/bits"
)

// octave returns the base-2 logarithm of v, to the nearest integer: the next one begins at 1.5
// times a power of two.
func octave(v float64) int {
	f, e := math.Frexp(v) // f in [0.5, 1)
	if f >= 0.75 {
		return e
	}
	return e - 1
}

// A scale has rising limits. A value's class is how many of them it reaches.
type scale struct {
	limits [16]int64 // then the largest integer, which ends every search
	// start is the class at which a search begins: that of the least value of a quarter of an
	// octave. Values below 8 are at 12 + v, others at 4 times their octave plus their three highest
	// bits.
	start [256]uint8
}

const scaleBits = 57 // of the largest value

func newScale(limits []int64) *scale {
	s := new(scale)
	for i := range s.limits {
		s.limits[i] = math.MaxInt64
	}
	copy(s.limits[:], limits)
	c := 0
	for i := 12; i < 4*(scaleBits+2); i++ {
		least := int64(i - 12) // below 8
		if i >= 20 {           // octaves are counted by bits, 4 for 8 to 15
			least = int64(4|i&3) << (i/4 - 4)
		}
		for least >= s.limits[c] {
			c++
		}
		s.start[i] = uint8(c)
	}
	return s
}

// of returns the class of v, 0 <= v < 1<<scaleBits.
func (s *scale) of(v int64) int {
	octave := bits.Len64(uint64(v) | 4)
	c := int(s.start[uint8(octave*4)+uint8(v>>(uint(octave-3)&63))])
	for v >= s.limits[c&15] {
		c++
	}
	return c
}

// magnitude is |v|: the sign is as good as random, so no branch.
func magnitude(v int64) int64 { return (v ^ v>>63) - v>>63 }

// wrap brings v into 0 to turn-1.
func wrap(v, turn int64) int64 {
	if turn&(turn-1) == 0 { // as most are
		return v & (turn - 1)
	}
	if v %= turn; v < 0 {
		v += turn
	}
	return v
}

func clamp(v, lo, hi int64) int64 { return min(max(v, lo), hi) }

// nearest is v rounded to the nearest integer, half a step upwards.
func nearest(v float64) int64 { return int64(math.Floor(v + 0.5)) }
