package server

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

const (
	// firstFlight is how many bytes, overhead included, are sent before the path has shown that it
	// carries as many without a queue; where the budget is large, 1/firstShare of a second's. Each
	// byte that arrives allows for two more.
	firstFlight = 1000
	firstShare  = 8
	// calmQueue is a queue that need not be of our making.
	calmQueue = 60 * time.Millisecond

	// queueAllowance is how long packets may stand in queues below us beyond what rate.Limit
	// allows. A packet that comes half a second late can still be drawn, see playout.MaxDelay; one
	// that was withheld while the path stood still comes later than if it had stood in a queue.
	queueAllowance = 400 * time.Millisecond
)

// path is what is known of the network between the server and one client.
type path struct {
	capacity *rate.Capacity // of the way down
	rtt      rate.RTT       // of the network alone
	// answer is the time from sending to the acknowledgement. Besides the network it includes the
	// client's wait for its next frame and for something to send.
	answer    rate.RTT
	answered  wire.Seq    // newest packet whose answer was measured
	newest    wire.Seq    // packet sent
	asked     uint64      // bit i: packet newest-i asked for an answer
	down      rate.OneWay // how long packets stand in queues on the way down
	delivered int         // bytes that the present acknowledgement shows to have arrived
	packets   int         // that these were
	shown     int         // bytes that arrived so far without a queue
}

// arrived notes a packet of size bytes that the present acknowledgement shows to have arrived.
func (p *path) arrived(size int) {
	p.delivered += size
	p.packets++
}

// sent notes that packet seq is on its way, and whether it asks for an answer.
func (p *path) sent(seq wire.Seq, asks bool) {
	p.asked <<= seq - p.newest
	if p.newest = seq; asks {
		p.asked |= 1
	}
}

// acknowledged measures by an acknowledgement what the path carries. sent is the newest packet that
// it acknowledges, nil if it is too old; queued is how long the datagram stood in queues on the way
// up. That part is left out: sending less down would not shorten it.
func (p *path) acknowledged(h *wire.Header, sent *wire.Packet, arrival clock.Time, queued time.Duration) {
	delivered, packets, answer := p.delivered, p.packets, rate.MaxTimeout
	p.delivered, p.packets = 0, 0
	if sent != nil {
		answer = arrival.Sub(sent.Sent)
	}
	at := arrival.Add(-min(queued, answer))         // more than that is a clock that was set
	for left := delivered; packets > 0; packets-- { // one by one, as losses are counted so
		size := left / packets
		p.capacity.Delivered(at, size, -1)
		left -= size
	}
	if sent == nil || !sent.Seq.Newer(p.answered) {
		return // it or a later one was measured before
	}
	p.answered = sent.Seq
	// A packet that asked for no answer may have waited for seconds until the client had something to
	// say. Such an answer would delay what is lost alone by as much.
	asked := p.asked>>(p.newest-sent.Seq)&1 != 0
	if asked || p.answer.Smoothed() == 0 || answer <= p.timeout() {
		p.answer.Sample(arrival, answer)
	}
	// When the packet reached the client, by its own clock: exactly where an echo says so, else
	// when it sent the acknowledgement.
	there := at.Near(h.Stamp)
	if h.HasEcho {
		there = h.Arrival(there)
	}
	least := p.rtt.Least()
	if least == 0 {
		least = p.answer.Least()
	}
	queue := min(p.down.Queued(at, there.Sub(sent.Sent)), max(answer-least, 0))
	p.capacity.Sample(at, least+queue)
	if queue < calmQueue {
		p.shown += delivered
	}
}

// timeout returns how long after sending a packet counts as lost: the timeout of RFC 6298, but not
// much more than two round trips and at most a second. After an outage the deviation is large for
// long, and the last record before a rest, which no later packet reveals as lost, would wait for
// it; one resend too many costs a few bytes.
func (p *path) timeout() time.Duration {
	return min(p.answer.Timeout(), max(2*p.answer.Smoothed()+100*time.Millisecond, rate.MinTimeout), time.Second)
}

// flight returns how many bytes may be unacknowledged: what the path carries in its round trip and
// may keep in queues, and in silent, a time in which no acknowledgement can have come.
func (p *path) flight(budget int, silent time.Duration) int {
	bytes := rate.Limit(rate.BytesPerSecond(budget), p.answer.Least()+queueAllowance+silent)
	if first := max(budget/firstShare, firstFlight); p.shown < first {
		bytes = min(bytes, first+p.shown)
	}
	return bytes
}
