package wire

import "meanwhile/clock"

// AgreedTicks is how many ticks before a packet the packets are that Heard tells of. They all lie within the acknowledgement window, as a
// server sends at most one packet a tick.
const AgreedTicks = 64

// heardTicks is for how many ticks Heard remembers: so much less AgreedTicks a packet may be late and still be understood.
const heardTicks = 256

// Heard is what a client remembers of the packets that it applied, to know later what the server knew. Each packet of the server
// acknowledges the newest packet of the client, and that one acknowledged all that the client had applied before it. So for each packet of
// the server both sides know exactly the same of those before it, whatever was lost or overtaken. The zero Heard has applied nothing.
type Heard struct {
	ring [heardTicks]struct {
		tick clock.Tick
		by   Seq // the first of the client's packets to acknowledge it
	}
	newest clock.Tick
}

// Applied notes that the server's packet of a tick was applied, before the client's own packet next.
func (h *Heard) Applied(tick clock.Tick, next Seq) {
	e := &h.ring[tick%heardTicks]
	e.tick, e.by = tick, next
	h.newest = max(h.newest, tick)
}

// Agreed returns of which packets the server knew that they had been applied when it sent that of a tick, which acknowledges the client's
// own packet latest as the newest: bit i is the packet of i ticks before. It returns false if the packet is so late that this is
// forgotten; then it cannot be read.
func (h *Heard) Agreed(tick clock.Tick, latest Seq) (agreed uint64, known bool) {
	if h.newest > tick && h.newest-tick > heardTicks-AgreedTicks {
		return 0, false
	}
	for i := clock.Tick(1); i < min(AgreedTicks, tick); i++ {
		if e := &h.ring[(tick-i)%heardTicks]; e.tick == tick-i && !e.by.Newer(latest) {
			agreed |= 1 << i
		}
	}
	return agreed, true
}
