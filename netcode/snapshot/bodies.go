package snapshot

import (
	"math/bits"

	"meanwhile/netcode/clock"
)

// bodies are the bodies of records that a Writer coded for one tick of a History. What a body says
// depends on the entity, the record's tick and what it is a difference from, but not on the client:
// one without handles that are hidden from a client is coded for that client alone.
// Where packets have room for most changes, most clients hold the same states, and most bodies
// were coded for another client before: nine of ten at 64 kbit/s, but one of six at 13 kbit/s.
type bodies struct {
	list        []coded
	h           *History
	tick        clock.Tick
	turn        uint32 // counts ticks and histories
	tries, hits int
	shared      bool // looking for them was worth it the last time
	on          bool
}

// coded is one body of at most 64 bits.
type coded struct {
	key  uint64
	bits uint64
	turn uint32
	n    uint8
}

const (
	leastShared = 4       // looking for bodies is worth it where one in so many is there
	probeEvery  = 16      // ticks after which that is found out anew
	mostBodies  = 1 << 16 // that are remembered
	perEntity   = 64      // that are expected
)

// begin forgets what was coded for another tick, or History.
func (b *bodies) begin(h *History) {
	if b.h == h && b.tick == h.tick {
		return
	}
	if b.tries > 0 {
		b.shared = b.hits*leastShared >= b.tries
	}
	b.h, b.tick, b.tries, b.hits = h, h.tick, 0, 0
	b.turn++
	b.on = b.shared || h.tick%probeEvery == 0
	if n := min(1<<bits.Len(uint(h.Len()*perEntity)), mostBodies); b.on && n > len(b.list) {
		b.list = make([]coded, n)
	}
}

// find returns where the body of a record of group g is remembered, and its key; nil where none is.
func (b *bodies) find(id uint32, g int, hd *header) (at *coded, key uint64) {
	age := b.tick - hd.base
	if !b.on || g == OwnerGroup || hd.base == 0 || age >= HistoryTicks || hd.hides|hd.hid != 0 {
		return nil, 0
	}
	key = uint64(id)<<32 | uint64(age)<<16 | uint64(hd.gap())<<9 | uint64(g)<<7 |
		uint64(hd.level)<<4 | uint64(hd.baseLevel)<<2 | uint64(hd.priorLevel)
	b.tries++
	return &b.list[key*0x9e3779b97f4a7c15>>32*uint64(len(b.list))>>32], key
}
