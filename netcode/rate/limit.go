package rate

import (
	"time"

	"meanwhile/netcode/wire"
)

// queueSlack is the queueing that Limit allows for on top of the empty path's round trip.
const queueSlack = 100 * time.Millisecond

// Limit returns how many bytes, overhead included, may be in flight: what the path carries at rate
// in its least round trip and 100 ms, and always one full datagram. Sending only while less is in
// flight keeps the queues below the program short (those of the QUIC stack, the kernel and the
// modem), so what waits stays in the program and is still fresh when it goes. A rate outside
// [MinBudget, MaxBudget] and a round trip outside [0, maxSample] count as the nearest bound.
func Limit(rate BytesPerSecond, least time.Duration) int {
	rate = min(max(rate, MinBudget), MaxBudget)
	least = min(max(least, 0), maxSample)
	return max(int(int64(rate)*int64((least+queueSlack)/time.Microsecond)/1_000_000), wire.MaxDatagram+wire.Overhead)
}
