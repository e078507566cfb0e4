package rate

import (
	"time"

	"meanwhile/netcode/clock"
)

// Bounds of RTT. RFC 6298 section 2.4 asks for a timeout of at least 1 s because a stray TCP
// retransmission halves a window; here one costs its bytes, so MinTimeout is low.
const (
	firstTimeout = time.Second // RFC 6298 section 2.1
	MinTimeout   = 50 * time.Millisecond
	MaxTimeout   = 10 * time.Second
	maxSample    = 60 * time.Second
	// RTT.Least is the least sample of the last leastWindow, in steps of a tenth.
	leastWindow = 10 * time.Second

	granularity = time.Millisecond // G of RFC 6298
	leastParts  = 10
	leastPart   = leastWindow / leastParts
)

// RTT estimates the round-trip time of a path by RFC 6298. The zero RTT knows nothing yet.
type RTT struct {
	known               bool
	smoothed, deviation time.Duration

	least [leastParts]time.Duration // 0: no sample in that part
	part  int64                     // index of the newest part
}

// Sample records one round trip, seen at now, without the time that the peer kept the packet.
// Negative ones and those above maxSample are ignored. By Karn's algorithm (RFC 6298 section 3) it
// must not be measured on anything that was sent twice; packets here never are.
func (r *RTT) Sample(now clock.Time, d time.Duration) {
	if d < 0 || d > maxSample {
		return
	}
	if !r.known { // section 2.2
		r.known, r.smoothed, r.deviation = true, d, d/2
	} else { // section 2.3, alpha = 1/8, beta = 1/4
		off := r.smoothed - d
		if off < 0 {
			off = -off
		}
		r.deviation += (off - r.deviation) / 4
		r.smoothed += (d - r.smoothed) / 8
	}
	r.advance(now)
	at := &r.least[r.part%leastParts]
	if *at == 0 || d < *at {
		*at = max(d, 1)
	}
}

// advance empties the parts that begin between the newest sample and now.
func (r *RTT) advance(now clock.Time) {
	part := max(int64(now)/int64(leastPart), 0)
	for range min(max(part-r.part, 0), leastParts) {
		r.part++
		r.least[r.part%leastParts] = 0
	}
	r.part = max(r.part, part)
}

// Smoothed returns the smoothed round trip, SRTT; 0 before the first sample.
func (r *RTT) Smoothed() time.Duration { return r.smoothed }

// Least returns the least round trip of the last ten seconds before the newest sample: the path
// without queues. It is 0 before the first sample.
func (r *RTT) Least() time.Duration {
	least := time.Duration(0)
	for _, d := range r.least {
		if d != 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// Timeout returns after which time a packet without an answer counts as lost: SRTT + max(G, 4
// RTTVAR), in [MinTimeout, MaxTimeout].
func (r *RTT) Timeout() time.Duration {
	d := firstTimeout
	if r.known {
		d = max(r.smoothed+max(granularity, 4*r.deviation), MinTimeout)
	}
	return min(d, MaxTimeout)
}
