package rate

import (
	"time"

	"meanwhile/netcode/wire"
)

// GateSlack is the queueing that a Gate allows for on top of the empty path's round trip.
const GateSlack = 100 * time.Millisecond

// A Gate keeps the queues below the program short: those of the QUIC stack, the kernel, and the
// modem. A datagram is handed over only while less is in flight than the path carries in one round
// trip and GateSlack; what waits, waits in the program, where it is still fresh when it goes. The
// zero Gate is open and empty.
type Gate struct {
	inFlight int
}

// Limit returns the bytes that may be in flight: rate x (least + GateSlack), and always room for
// one full datagram.
func Limit(rate BytesPerSecond, least time.Duration) int {
	rate = min(max(rate, MinBudget), MaxBudget)
	least = min(max(least, 0), MaxSample)
	return max(int(int64(rate)*int64((least+GateSlack)/time.Microsecond)/1_000_000), wire.MaxDatagram+wire.Overhead)
}

// Open reports whether a datagram of size bytes, without overhead, may be handed over. An empty
// path is always open.
func (g *Gate) Open(size int, rate BytesPerSecond, least time.Duration) bool {
	return g.inFlight == 0 || g.inFlight+size+wire.Overhead <= Limit(rate, least)
}

// Sent counts a datagram of size bytes as in flight.
func (g *Gate) Sent(size int) { g.inFlight += size + wire.Overhead }

// Done counts it as no longer in flight: acknowledged, lost, or dropped before it reached the path.
func (g *Gate) Done(size int) { g.inFlight = max(g.inFlight-size-wire.Overhead, 0) }

// InFlight returns the bytes in flight, overhead included.
func (g *Gate) InFlight() int { return g.inFlight }

// Reset forgets what is in flight, for a new path.
func (g *Gate) Reset() { *g = Gate{} }
