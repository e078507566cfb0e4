// Package interest decides what a client knows of: the nearest entities that the game allows.
//
// A [Grid] answers "the n nearest" exactly. It is rebuilt each tick from the positions of all
// entities, because that costs less than keeping it up to date, and then only read: any number of
// goroutines may ask it at the same time. A [Set] turns its answers into what one client sees, with
// hysteresis, so that entities at the edge do not come and go with each step.
//
// Everything is integers and totally ordered: the same calls give the same result on every machine.
// Positions are in any unit, the same for both axes; the engine uses millimetres.
package interest

import (
	"math"
	"strconv"
)

// A Neighbour is one answer of Grid.Nearest.
type Neighbour struct {
	// Dist2 is the squared distance from the point asked about, in squared units. Beyond
	// math.MaxInt64 (3.04e9 units, more than half the diagonal of the whole int32 range) it is
	// math.MaxInt64; such neighbours count as equally far.
	Dist2 int64
	// Index is what Insert was given.
	Index int32
}

// before is the total order of neighbours: by distance, then by index.
func (a Neighbour) before(b Neighbour) bool {
	return a.Dist2 < b.Dist2 || a.Dist2 == b.Dist2 && a.Index < b.Index
}

func compareNeighbours(a, b Neighbour) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

// distance2 returns the squared distance for any differences of two int32, limited to
// math.MaxInt64.
func distance2(dx, dy int64) int64 {
	// |dx| < 1<<32, so that dx*dx as a uint64 is exact.
	a, b := uint64(dx*dx), uint64(dy*dy)
	if a > math.MaxInt64 || b > math.MaxInt64 || a+b > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(a + b)
}

// An argumentError says which argument is outside its bounds.
type argumentError struct {
	name  string
	value int64
	bound string
}

func (e *argumentError) Error() string {
	return "interest: " + e.name + " " + strconv.FormatInt(e.value, 10) + " is not " + e.bound
}
