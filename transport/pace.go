package transport

import (
	"sync/atomic"
	"time"

	"meanwhile/netcode/clock"
)

// What one client may send to a server, on the average. A client sends its commands in at most 120
// datagrams a second, most of them below 100 bytes, and few messages.
const (
	// ClientDatagrams and ClientBytes bound datagrams: their number and their bytes a second.
	ClientDatagrams = 240
	ClientBytes     = 32 << 10
	// ClientMessages and ClientMessageBytes bound messages likewise, and the pings of a WebSocket.
	ClientMessages     = 60
	ClientMessageBytes = 32 << 10
	// ClientPackets bounds the packets of a QUIC connection, whatever is in them, a second.
	ClientPackets = 1000
	// ClientStreamBytes bounds what is read from a WebSocket, whatever it is, in bytes a second.
	ClientStreamBytes = 96 << 10
	// Allowance is for how long a client may be ahead of these rates: so much may come at once, for
	// instance when the server has hung. One who sends more is disconnected.
	Allowance = 10 * time.Second
)

// The reasons for which a connection ends whose client sends too much.
const (
	TooManyDatagrams = "too many datagrams"
	TooManyMessages  = "too many messages"
	TooManyPackets   = "too many packets"
	TooManyBytes     = "too many bytes"
)

// Floods lists them.
var Floods = []string{TooManyDatagrams, TooManyMessages, TooManyPackets, TooManyBytes}

// A Pace measures whether something comes faster than allowed (GCRA: ITU-T I.371, Annex A). The
// zero Pace has seen nothing. Safe for concurrent use.
type Pace struct {
	due atomic.Int64 // when all that came would have come at the allowed rate
}

// Over counts n that come at now, of which perSecond are allowed a second, and reports whether that
// is more than Allowance ahead of the rate.
func (p *Pace) Over(now clock.Time, n, perSecond int) bool {
	for {
		due := p.due.Load()
		from := due
		if due == 0 || due < int64(now) { // clocks may begin anywhere
			from = int64(now)
		}
		next := from + int64(n)*int64(time.Second)/int64(perSecond)
		if p.due.CompareAndSwap(due, next) {
			return next-int64(now) > int64(Allowance)
		}
	}
}

// paces are those of one client.
type paces struct {
	datagrams, bytes, messages, messageBytes, packets Pace

	seen    atomic.Uint64 // packets that were counted
	flooded atomic.Bool
}

// Flood ends the connection at once because its peer sends too much.
func (l *Link) Flood(reason string) {
	l.paces.flooded.Store(true)
	l.stop(&CloseError{Reason: reason}, false)
}

// Flooded reports whether Flood was called. What still comes need not be read.
func (l *Link) Flooded() bool { return l.paces.flooded.Load() }

// checkPackets counts the transport's packets. One caller at a time.
func (l *Link) checkPackets() {
	var s Stats
	l.carrier.Measure(&s)
	n := s.PacketsReceived - l.paces.seen.Swap(s.PacketsReceived)
	if l.paces.packets.Over(l.Now(), int(n), ClientPackets) {
		l.Flood(TooManyPackets)
	}
}

// CheckPackets disconnects clients that send too many packets, whatever is in them. It is called
// about once a second, by one goroutine.
func (in *Intake) CheckPackets() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for l := range in.open {
		l.checkPackets()
	}
}
