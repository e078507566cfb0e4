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
	Stamp  clock.Stamp   // when it left, by the server's clock; the edge patches it
	Tick   clock.Tick    // newest tick that has begun; the one after it is overdue
	Time   clock.Stamp   // server time of that tick
	Period time.Duration // tick period announced with it; 0: the nominal one
}

// Append encodes h.
func (h *Heartbeat) Append(b []byte) []byte {
	head := wire.Header{Stamp: h.Stamp, Server: true, Heartbeat: true, Tick: h.Tick, HasTime: true, Time: h.Time,
		Period: h.Period}
	var w wire.BitWriter
	w.Reset(b)
	head.Append(&w, wire.Known{})
	return w.Bytes()
}

// HeartbeatOf returns the Heartbeat that a datagram is: h is its header, and r has read that. It
// fails with wire.ErrMalformed for another datagram and for one with a body.
func HeartbeatOf(h *wire.Header, r *wire.BitReader) (Heartbeat, error) {
	switch {
	case !h.Heartbeat:
		return Heartbeat{}, fault.Errorf("%w: it is no heartbeat", wire.ErrMalformed)
	case r.Left() >= 8 || r.Bits(r.Left()) != 0:
		return Heartbeat{}, fault.Errorf("%w: more follows a heartbeat", wire.ErrMalformed)
	}
	return Heartbeat{h.Stamp, h.Tick, h.Time, h.Period}, nil
}
