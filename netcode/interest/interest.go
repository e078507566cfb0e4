// Package interest decides what a client knows of: the nearest entities that the game allows.
//
// A [Grid] holds the positions of all entities. It is rebuilt each tick, because that costs less
// than keeping it up to date, and then only read: any number of goroutines may search it at the
// same time. A [Set] finds in it exactly the nearest of one client, and who comes and goes since
// the last time, with hysteresis, so that entities at the edge do not flicker. It sorts nothing but
// newcomers.
//
// Everything is integers and totally ordered: the same calls give the same result on every machine.
// Positions are in any unit, the same for both axes; the engine uses millimetres.
package interest

import (
	"math"
	"strconv"
)

// A Neighbour is an entity and how far it is.
type Neighbour struct {
	// Dist2 is the squared distance from the point asked about, in squared units. Beyond
	// math.MaxInt64 (3.04e9 units, more than half the diagonal of the whole int32 range) it is
	// math.MaxInt64; such neighbours count as equally far.
	Dist2 int64
	// Index is what Insert was given.
	Index int32
}

// Before is the total order of neighbours: by distance, then by index.
func (a Neighbour) Before(b Neighbour) bool {
	return a.Dist2 < b.Dist2 || a.Dist2 == b.Dist2 && a.Index < b.Index
}

func compareNeighbours(a, b Neighbour) int {
	switch {
	case a.Before(b):
		return -1
	case b.Before(a):
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
