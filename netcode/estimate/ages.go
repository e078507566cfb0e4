package estimate

import (
	"time"

	"meanwhile/netcode/clock"
)

// FloorWindow is how far back Ages looks for the least delay, in steps of a fifteenth.
const FloorWindow = 30 * time.Second

const (
	floorParts = 15
	floorPart  = FloorWindow / floorParts
)

// Ages turns arrivals into values for an Estimator.
//
// The age of information is the time since the newest stamp that has arrived. It peaks just before
// something newer arrives, at arrival - previous stamp. The peak contains the sender's interval,
// jitter, loss and reordering at once, while the delay of each single packet would be blind to
// loss. The floor is taken off: the least arrival - stamp of the last FloorWindow, which is the
// network itself and also the difference between the two clocks.
//
// The zero Ages is ready.
type Ages struct {
	newest clock.Time // stamp
	known  bool
	skip   bool // the next peak is announced silence

	floors [floorParts]time.Duration
	filled [floorParts]bool
	part   int64
}

// Arrive records a packet with the given stamp that arrived at now. fresh says that it is newer
// than all before. x is then how old the newest stamp had become, above the floor. counts is false,
// and x 0, where that age means nothing: for the first packet, and the first after Quiet. A packet
// that is not newer changes only the floor.
func (a *Ages) Arrive(now, stamp clock.Time) (x time.Duration, fresh, counts bool) {
	a.observe(now, now.Sub(stamp))
	if a.known && stamp <= a.newest {
		return 0, false, false
	}
	previous := a.newest
	counts = a.known && !a.skip
	a.newest, a.known, a.skip = stamp, true, false
	if !counts {
		return 0, true, false
	}
	return max(now.Sub(previous)-a.Floor(), 0), true, true
}

// Quiet records that the sender has announced silence, so that the next peak is no late packet.
func (a *Ages) Quiet() { a.skip = true }

// Newest returns the newest stamp. It is false before the first packet.
func (a *Ages) Newest() (clock.Time, bool) { return a.newest, a.known }

// Age returns how old the newest stamp is at now, above the floor; 0 before the first packet and
// after Quiet.
func (a *Ages) Age(now clock.Time) time.Duration {
	if !a.known || a.skip {
		return 0
	}
	return now.Sub(a.newest) - a.Floor()
}

// Floor returns the least arrival - stamp of the last FloorWindow; 0 before the first packet.
func (a *Ages) Floor() time.Duration {
	floor, any := time.Duration(0), false
	for i, ok := range a.filled {
		if ok && (!any || a.floors[i] < floor) {
			floor, any = a.floors[i], true
		}
	}
	return floor
}

func (a *Ages) observe(now clock.Time, d time.Duration) {
	part := max(int64(now)/int64(floorPart), a.part)
	if !a.known {
		a.part = part
	}
	for range min(part-a.part, floorParts) {
		a.part++
		a.filled[a.part%floorParts] = false
	}
	a.part = part
	if i := a.part % floorParts; !a.filled[i] || d < a.floors[i] {
		a.floors[i], a.filled[i] = d, true
	}
}

// Reset forgets everything, for a new path or a clock that was set.
func (a *Ages) Reset() { *a = Ages{} }
