package motion

import "meanwhile/netcode/clock"

// For the tests of package motion_test.
const (
	Converge  = converge
	MaxFlight = maxFlight
)

// For the tests of package motion_test.
var (
	Between = between
	Jumps   = jumps
)

// Ticks is how long things go on.
func (h *Horizon) Ticks(rate int) float64 { return h.ticks(rate) }

// Class returns the class of a record whose successor comes up to so many ticks later than with the
// next packet: the least whose Wait is not less, or the last.
func Class(ticks clock.Tick) uint8 {
	for c, w := range waits {
		if w >= ticks {
			return uint8(c)
		}
	}
	return Bounds - 1
}
