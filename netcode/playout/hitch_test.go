package playout

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Both bounds hold to the nanosecond, and a stall that ended leaves nothing behind.
func TestStall(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name  string
		steps []time.Duration
		want  []bool
	}{
		{"up to the bound", []time.Duration{hitchAfter}, []bool{false}},
		{"beyond it", []time.Duration{hitchAfter + 1}, []bool{true}},
		{"beyond it in two frames", []time.Duration{hitchAfter, 1, us}, []bool{false, true, false}},
		{"a frame of a second is one", []time.Duration{time.Second, us}, []bool{true, false}},
		{"250 ms after the last one counted", []time.Duration{20 * time.Millisecond, hitchAgain, 1},
			[]bool{true, false, true}},
		{"and 250 ms after that", []time.Duration{20 * time.Millisecond, hitchAgain + 1, hitchAgain, 1},
			[]bool{true, true, false, true}},
	} {
		var s Stall
		for again := range 2 {
			for i, dt := range c.steps {
				if got := s.Add(dt); got != c.want[i] {
					t.Errorf("%s, round %d: frame %d is a hitch: %v, want %v", c.name, again, i, got, c.want[i])
				}
			}
			s.End()
		}
	}
}

// The hitches of a stall whose length is known, at both sides of each bound.
func TestHitchesOfAStall(t *testing.T) {
	for _, c := range []struct {
		stall time.Duration
		want  uint64
	}{
		{-time.Hour, 0}, {0, 0}, {16700 * time.Microsecond, 0}, {16700*time.Microsecond + 1, 1},
		{266700*time.Microsecond - 1, 1},
		{266700 * time.Microsecond, 2}, {516700 * time.Microsecond, 3}, {time.Minute, 240},
	} {
		if got := Hitches(c.stall); got != c.want {
			t.Errorf("a stall of %v is %d hitches, want %d", c.stall, got, c.want)
		}
	}
}

// Counted frame by frame, a stall has at most as many hitches as its whole length has, and fewer
// only because each hitch is noticed at the end of a frame.
func TestFramesCountWhatTheLengthSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := time.Duration(rapid.Int64Range(1, int64(50*time.Millisecond)).Draw(t, "frame"))
		var s Stall
		var length time.Duration
		count := uint64(0)
		for range rapid.IntRange(1, 500).Draw(t, "frames") {
			length += frame
			if s.Add(frame) {
				count++
			}
		}
		least := Hitches(length)
		if least > 0 { // each of them may be a frame late
			least = 1 + uint64(max(length-hitchAfter-frame, 0)/(hitchAgain+frame))
		}
		if most := Hitches(length); count > most || count < least {
			t.Fatalf("%d hitches in %v of frames of %v, want %d to %d", count, length, frame, least, most)
		}
	})
}
