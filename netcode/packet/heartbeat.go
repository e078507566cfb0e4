package packet

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// A Heartbeat is the datagram by which the edge of a server tells a client that the next tick is
// overdue: while a tick is computed, or hangs, nothing else can be sent. It is a wire.Header with
// its Heartbeat flag and no body. It is neither acknowledged nor ever sent again.
type Heartbeat struct {
	Session uint16
	Stamp   clock.Stamp   // when it left, by the server's clock; the edge patches it
	Tick    clock.Tick    // newest tick that has begun; the one after it is overdue
	Time    clock.Stamp   // server time of that tick
	Period  time.Duration // tick period announced with it; 0: the nominal one
}

// Append encodes h.
func (h *Heartbeat) Append(b []byte) []byte {
	head := wire.Header{Session: h.Session, Stamp: h.Stamp, Server: true, Heartbeat: true, Tick: h.Tick, Time: h.Time,
		Period: h.Period}
	return head.Append(b)
}

// DecodeHeartbeat reads the Heartbeat that data is; data is not retained. It fails with
// wire.ErrTruncated, or with wire.ErrMalformed for another datagram and for one with a body.
func DecodeHeartbeat(data []byte) (Heartbeat, error) {
	h, n, err := wire.DecodeHeader(data)
	switch {
	case err != nil:
		return Heartbeat{}, err
	case !h.Heartbeat:
		return Heartbeat{}, fault.Errorf("%w: it is no heartbeat", wire.ErrMalformed)
	case n < len(data):
		return Heartbeat{}, fault.Errorf("%w: %d bytes follow a heartbeat", wire.ErrMalformed, len(data)-n)
	}
	return Heartbeat{h.Session, h.Stamp, h.Tick, h.Time, h.Period}, nil
}
