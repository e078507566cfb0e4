package snapshot

import (
	"math/bits"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// slotSet is a set of slots.
type slotSet [Slots / 64]uint64

func (s *slotSet) add(n uint16)      { s[n>>6] |= 1 << (n & 63) }
func (s *slotSet) remove(n uint16)   { s[n>>6] &^= 1 << (n & 63) }
func (s *slotSet) has(n uint16) bool { return s[n>>6]>>(n&63)&1 != 0 }

// count returns how many slots there are in s.
func (s *slotSet) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// top returns the number after the highest slot, 0 if there is none.
func (s *slotSet) top() int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0 {
			return i<<6 + bits.Len64(s[i])
		}
	}
	return 0
}

// before returns the slot before one, -1 if there is none.
func (s *slotSet) before(slot int) int {
	w := slot >> 6
	for set := s[w] & (1<<uint(slot&63) - 1); ; set = s[w] {
		if set != 0 {
			return w<<6 + 63 - bits.LeadingZeros64(set)
		}
		if w--; w < 0 {
			return -1
		}
	}
}

// from returns the first slot from one on, Slots if there is none.
func (s *slotSet) from(slot int) int {
	w := slot >> 6
	if w == len(s) {
		return Slots
	}
	for set := s[w] >> uint(slot&63) << uint(slot&63); ; set = s[w] {
		if set != 0 {
			return w<<6 + bits.TrailingZeros64(set)
		}
		if w++; w == len(s) {
			return Slots
		}
	}
}

// packetSlots is which slots a packet had records for: those of all its entries but ends.
type packetSlots struct {
	_ [0]func() // no == for it, which pages would have to load

	tick  clock.Tick // 0: none
	slots slotSet
}

// shape is how a packet lists the slots of its ordinary updates.
type shape int

const (
	plainly    shape = iota // by the distances between them
	changed                 // by those that differ from an earlier packet's
	likeBefore              // they are those of an earlier packet, and there are no other entries
)

// slotList is a list of slots that is coded as the distances between them.
type slotList struct {
	slotSet
	n, size int // how many, and the bits of all distances
	order   int // of the Exp-Golomb code of the distances
}

func (l *slotList) distance(from, to int) int { return wire.UvarintBits(uint64(to-from-1), l.order) }

// cost returns by how many bits the list grows if a slot is added, or removed if it is there;
// negative if it shrinks.
func (l *slotList) cost(slot int) int {
	before, after := l.before(slot), l.from(slot+1)
	cost := l.distance(before, slot)
	if after < Slots {
		cost += l.distance(slot, after) - l.distance(before, after)
	}
	if l.has(uint16(slot)) {
		return -cost
	}
	return cost
}

// turn adds a slot, or removes it if it is there. cost is what method cost returned.
func (l *slotList) turn(n uint16, cost int) {
	if l.size += cost; l.has(n) {
		l.n--
	} else {
		l.n++
	}
	l.slotSet[n>>6] ^= 1 << (n & 63)
}

// begin makes the list that of a set's slots, in the code of an order.
func (l *slotList) begin(set *slotSet, order int) {
	*l = slotList{slotSet: *set, order: order}
	last := -1
	for slot := l.from(0); slot < Slots; slot = l.from(slot + 1) {
		l.size += l.distance(last, slot)
		l.n++
		last = slot
	}
}

// append writes the list.
func (l *slotList) append(w *wire.BitWriter) {
	last := -1
	for slot := l.from(0); slot < Slots; slot = l.from(slot + 1) {
		w.Uvarint(uint64(slot-last-1), l.order)
		last = slot
	}
}

// orderFor returns the best order of a code for distances with a mean.
func orderFor(mean int) int {
	return min(max(bits.Len(uint(max(mean, 0)*3/4))-1, 0), maxOrder)
}

// expectedOrder is the order for n ordinary updates after a packet with slots below top.
func expectedOrder(top, n int) int { return orderFor((top - n) / n) }

// expectedFor returns for which numbers of ordinary updates an order is the expected one: from
// least to most.
func expectedFor(top, order int) (least, most int) {
	upTo := func(order int) int { // up to so many updates have this order or a higher one
		return top / ((4<<order+2)/3 + 1)
	}
	least, most = 1, Slots
	if order > 0 {
		most = upTo(order)
	}
	if order < maxOrder {
		least = upTo(order+1) + 1
	}
	return least, most
}

// sparse is the expected order for a list that is commonly empty, or nearly so.
func sparse(top int) int { return min(max(bits.Len(uint(top))-2, 0), maxOrder) }
