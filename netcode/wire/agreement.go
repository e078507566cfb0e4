package wire

import "meanwhile/netcode/clock"

// AgreedTicks is how many ticks before a packet the packets are that an Agreement tells of. They
// all lie within the acknowledgement window, as a server sends at most one packet a tick.
const AgreedTicks = 64

// rememberedTicks is for how many ticks an Agreement remembers: so much less AgreedTicks a packet
// may be late and still be understood.
const rememberedTicks = 256

// Agreement is what a client remembers of the packets that it applied, to know later what the
// server knew. Each packet of the server acknowledges the newest packet of the client, and that one
// acknowledged all that the client had applied before it. So for each packet of the server both
// sides know exactly the same of those before it, whatever was lost or overtaken. The zero
// Agreement has applied nothing.
type Agreement struct {
	ring [rememberedTicks]struct {
		tick clock.Tick
		by   Seq // the first of the client's packets to acknowledge it
	}
	newest clock.Tick
}

// Applied notes that the server's packet of a tick was applied, before the client's own packet
// next. Agreed must have allowed it.
func (a *Agreement) Applied(tick clock.Tick, next Seq) {
	e := &a.ring[tick%rememberedTicks]
	e.tick, e.by = tick, next
	a.newest = max(a.newest, tick)
}

// Agreed returns of which packets the server knew that they had been applied when it sent that of a
// tick, which acknowledges the client's own packet latest as the newest: bit i is the packet of i
// ticks before. It returns false if the packet must not be applied: it is so late that this is
// forgotten, or another packet of its tick was applied. Packets are told apart by their ticks, so
// of two that a server sends in one tick a client takes in the first to come, and the other one is
// lost.
func (a *Agreement) Agreed(tick clock.Tick, latest Seq) (agreed uint64, known bool) {
	if a.newest > tick && a.newest-tick > rememberedTicks-AgreedTicks {
		return 0, false
	}
	if a.ring[tick%rememberedTicks].tick == tick {
		return 0, false
	}
	for i := clock.Tick(1); i < min(AgreedTicks, tick); i++ {
		if e := &a.ring[(tick-i)%rememberedTicks]; e.tick == tick-i && !e.by.Newer(latest) {
			agreed |= 1 << i
		}
	}
	return agreed, true
}
