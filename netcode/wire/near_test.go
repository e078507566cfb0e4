package wire

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The example of the article's figure 6.
//
// seeds: R38
func TestShortVectors(t *testing.T) {
	const viewer = 0x2C0000
	if got := Short(viewer); got != 0xC000 {
		t.Errorf("the viewer's short is %#x", got)
	}
	for _, c := range []struct {
		name  string
		full  int32
		short uint16
		delta int32
		steps uint16 // the delta in steps
	}{
		{"A", 0x2E0000, 0xE000, 0x20000, 0x2000},
		{"B", 0x260000, 0x6000, -0x60000, 0xA000},
		{"C", 0x320000, 0x2000, 0x60000, 0x6000},
	} {
		got := FullCoordinate(c.short, viewer)
		if Short(c.full) != c.short || got != c.full || got-viewer != c.delta || c.short-Short(viewer) != c.steps || !Near(c.full, viewer) {
			t.Errorf("%s: short %#x, comes back as %#x, delta %#x in %#x steps", c.name, Short(c.full), got, got-viewer, c.short-Short(viewer))
		}
	}
}

// What lies within the window comes back on the grid of 16 mm, also across the wrap of 32 bits; where the window ends, Near says so.
//
// seeds: R37
func TestShortRoundTrip(t *testing.T) {
	for _, viewer := range []int32{0, 1, 15, 16, -1, -16, 0x2C0000, 0x2C000F, math.MaxInt32, math.MinInt32, math.MaxInt32 - 7, math.MinInt32 + 9} {
		for _, off := range []int64{0, 1, 15, 16, 1000, 300_000, ShortNear - 32, ShortNear - 16, ShortNear - 1, ShortNear, ShortNear + 16, ShortNear + 1<<20, 1 << 31} {
			for _, sign := range []int64{1, -1} {
				full := int32(int64(viewer) + sign*off)
				// The window in steps, from the two's grid cells: that is what fits 16 bits with a sign.
				steps := int64(int32(uint32(full)&^15-uint32(viewer)&^15)) >> 4
				want := steps >= -1<<15 && steps < 1<<15
				got := FullCoordinate(Short(full), viewer)
				if Near(full, viewer) != want || want != (got == full&^15) {
					t.Errorf("viewer %d, place %d (%+d): comes back as %d, near %v, want %v", viewer, full, sign*off, got, Near(full, viewer), want)
				}
				if off <= ShortNear-16 && !want {
					t.Errorf("viewer %d: %d mm away is not near", viewer, off)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		viewer := rapid.Int32().Draw(t, "viewer")
		full := viewer + rapid.Int32Range(-ShortNear+16, ShortNear-16).Draw(t, "offset") // wraps
		got := FullCoordinate(Short(full), viewer)
		if err := full - got; err < 0 || err >= ShortStep || !Near(full, viewer) {
			t.Fatalf("viewer %d: %d comes back as %d", viewer, full, got)
		}
	})
}

// A thing that stands still comes out the same from wherever it is looked at: it does not shimmer while the viewer moves.
//
// seeds: R39
func TestShortDoesNotShimmer(t *testing.T) {
	for _, full := range []int32{0x2E0003, 5, -5, math.MaxInt32, math.MinInt32} {
		for step := range int32(10_000) {
			viewer := full + (step-5000)*103 // through the window, with all low bits
			if got := FullCoordinate(Short(full), viewer); got != full&^15 {
				t.Fatalf("%d seen from %d is %d", full, viewer, got)
			}
		}
	}
}

func ExampleFullCoordinate() {
	const viewer, creature = 2_883_584, 3_014_661 // millimetres
	short := Short(creature)                      // 2 bytes, the same for everyone who is near
	fmt.Println(FullCoordinate(short, viewer), FullCoordinate(short, viewer+1234))
	fmt.Println(Near(creature, viewer), Near(creature, viewer+2_000_000))
	// Output:
	// 3014656 3014656
	// true false
}
