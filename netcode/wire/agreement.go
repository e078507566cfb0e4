package wire

import "meanwhile/netcode/clock"

// AgreedTicks is how far back an Agreement reaches, in ticks before a packet. Those packets all lie
// within the acknowledgement window, as a server sends at most one packet a tick.
const AgreedTicks = 64

// rememberedTicks is how long an Agreement remembers a packet. A packet may be late by this less
// AgreedTicks and still be understood.
const rememberedTicks = 256

// An Agreement is what a client remembers of the packets that it applied, to know later what the
// server knew when it sent a packet. Each packet of the server acknowledges the newest packet of
// the client, and that one acknowledged everything that the client had applied before it. So for
// each packet of the server both sides know the same set of earlier packets to be applied, whatever
// was lost or overtaken. The zero Agreement has applied nothing.
type Agreement struct {
	ring [rememberedTicks]struct {
		tick clock.Tick
		by   Seq // the first of the client's packets to acknowledge it
	}
	newest clock.Tick
}

// Applied notes that the server's packet of a tick was applied, before the client sent its own
// packet next. Call Agreed first: it must have returned true.
func (a *Agreement) Applied(tick clock.Tick, next Seq) {
	e := &a.ring[tick%rememberedTicks]
	e.tick, e.by = tick, next
	a.newest = max(a.newest, tick)
}

// Agreed returns which packets the server knew to be applied when it sent the packet of a tick: bit
// i is the packet of i ticks before. latest is the newest packet of the client that this packet
// acknowledges.
//
// It returns false if the packet must not be applied: it is so late that the answer is forgotten,
// or another packet of its tick was applied. Packets are told apart by their ticks, so of two that
// a server sends in one tick the client applies the first to arrive, and the other is lost.
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
