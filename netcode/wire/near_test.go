package wire

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The example of the article's figure 6, in its steps of 16 mm.
//
// seeds: R38
func TestNearestVectors(t *testing.T) {
	const viewer = 0x2C000
	for _, c := range []struct {
		name  string
		full  int32
		low   uint16
		delta int32
	}{
		{"A", 0x2E000, 0xE000, 0x2000},
		{"B", 0x26000, 0x6000, -0x6000},
		{"C", 0x32000, 0x2000, 0x6000},
	} {
		got := Nearest(uint32(c.low), 16, viewer)
		if uint16(c.full) != c.low || got != c.full || got-viewer != c.delta {
			t.Errorf("%s: low bits %#x come back as %#x, %#x away, want %#x", c.name, c.low, got, got-viewer, c.full)
		}
	}
}

// A coordinate less than 1<<15 steps away comes back, also across the wrap of 32 bits; one further
// away does not.
//
// seeds: R37
func TestNearestRoundTrip(t *testing.T) {
	refs := []int32{0, 1, -1, 0x2C000, math.MaxInt32, math.MinInt32, math.MaxInt32 - 7, math.MinInt32 + 9}
	for _, ref := range refs {
		for _, off := range []int64{0, 1, 1000, 1<<15 - 1, 1 << 15, 1<<15 + 1, 1 << 16, 1 << 31} {
			for _, sign := range []int64{1, -1} {
				full := ref + int32(sign*off) // wraps
				steps := int64(full - ref)    // the shorter way round
				want := steps >= -1<<15 && steps < 1<<15
				if got := Nearest(uint32(uint16(full)), 16, ref); want != (got == full) {
					t.Errorf("from %d, %d (%+d) comes back as %d", ref, full, sign*off, got)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ref := rapid.Int32().Draw(t, "ref")
		full := ref + rapid.Int32Range(-1<<15, 1<<15-1).Draw(t, "offset") // wraps
		if got := Nearest(uint32(uint16(full)), 16, ref); got != full {
			t.Fatalf("from %d, %d comes back as %d", ref, full, got)
		}
	})
}

// What stands still comes out the same from wherever it is looked at: it does not shimmer while the
// viewer moves.
//
// seeds: R39
func TestNearestDoesNotShimmer(t *testing.T) {
	for _, full := range []int32{0x2E000, 5, -5, math.MaxInt32, math.MinInt32} {
		for step := range int32(10_000) {
			viewer := full + (step-5000)*6 // through the window, with all low bits
			if got := Nearest(uint32(uint16(full)), 16, viewer); got != full {
				t.Fatalf("%d seen from %d is %d", full, viewer, got)
			}
		}
	}
}

// A world in millimetres whose places travel as 16 bits of 16 mm each: the article's truncated
// coordinates. shortened is what travels; lengthened brings it back beside a viewer.
func shortened(mm int32) uint16 { return uint16(mm >> 4) }

func lengthened(short uint16, viewer int32) int32 { return Nearest(uint32(short), 16, viewer>>4) << 4 }

// The article's figure 6 in millimetres. A place less than 524 m away comes back with an error of
// less than 16 mm, also across the wrap of 32 bits, and the same from wherever it is looked at.
//
// seeds: R37 R38 R39
func TestTruncatedCoordinates(t *testing.T) {
	const viewer = 0x2C0000
	for _, c := range []struct {
		full  int32
		short uint16
		delta int32
	}{
		{0x2E0000, 0xE000, 0x20000},
		{0x260000, 0x6000, -0x60000},
		{0x320000, 0x2000, 0x60000},
	} {
		if got := lengthened(c.short, viewer); shortened(c.full) != c.short || got != c.full || got-viewer != c.delta {
			t.Errorf("%#x: short %#x, comes back as %#x, %#x away", c.full, shortened(c.full), got, got-viewer)
		}
	}
	viewers := []int32{0, 1, 15, 16, -1, -16, viewer, viewer + 15,
		math.MaxInt32, math.MinInt32, math.MaxInt32 - 7, math.MinInt32 + 9}
	const window = 1<<15*16 - 16 // 524 m
	for _, v := range viewers {
		for _, off := range []int32{0, 1, 15, 16, 1000, 300_000, window - 16, window - 1, window} {
			for _, full := range []int32{v + off, v - off} { // may wrap
				if got := lengthened(shortened(full), v); full-got < 0 || full-got >= 16 {
					t.Errorf("viewer %d: %d comes back as %d", v, full, got)
				}
			}
		}
	}
	for _, full := range []int32{0x2E0003, 5, -5, math.MaxInt32, math.MinInt32} {
		for i := range int32(10_000) {
			from := full + (i-5000)*103 // may wrap
			if got := lengthened(shortened(full), from); got != full&^15 {
				t.Fatalf("%d seen from %d is %d", full, from, got)
			}
		}
	}
}

func ExampleNearest() {
	const viewer, creature = 180_224, 188_417 // in steps of 16 mm
	low := uint16(creature & 0xffff)          // 2 bytes, the same for everyone who is near
	for _, at := range []int32{viewer, viewer + 77, viewer + 100_000} {
		fmt.Println(Nearest(uint32(low), 16, at))
	}
	// Output:
	// 188417
	// 188417
	// 253953
}
