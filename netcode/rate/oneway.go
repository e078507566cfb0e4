package rate

import (
	"time"

	"meanwhile/netcode/clock"
)

// A OneWay measures how long packets stand in queues on one way of a path. The clocks of two
// machines differ by an unknown amount, so the time that a packet took is known only up to a
// constant. The least of the last ten seconds stands for an empty path. The zero OneWay knows
// nothing. Not safe for concurrent use.
type OneWay struct {
	least [leastParts]time.Duration
	has   [leastParts]bool
	part  int64
}

// Queued records a packet that arrived at now and was sent transit before, by whatever clocks. It
// returns by how much the packet took longer than the least of the last ten seconds.
func (o *OneWay) Queued(now clock.Time, transit time.Duration) time.Duration {
	part := max(int64(now)/int64(leastPart), o.part)
	for range min(part-o.part, leastParts) {
		o.part++
		o.has[o.part%leastParts] = false
	}
	o.part = part
	if i := part % leastParts; !o.has[i] || transit < o.least[i] {
		o.least[i], o.has[i] = transit, true
	}
	least := transit
	for i, known := range o.has {
		if known {
			least = min(least, o.least[i])
		}
	}
	return transit - least
}
