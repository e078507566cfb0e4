package snapshot

import (
	"math/bits"

	"meanwhile/clock"
	"meanwhile/schema"
	"meanwhile/wire"
)

// A Writer puts the entries of one packet together. They are offered in any order, by urgency; what is kept is written by
// rising slot, because the distance to the slot before takes fewer bits than a slot. How much the packet takes is known at each
// moment. It uses its memory again and may serve one View after the other.
type Writer struct {
	v     *View
	usual usual
	order int // of the code of the distances
	w     wire.BitWriter
	mark  wire.Mark
	size  int // bits of what is kept, with the distances between them
	kept  []kept
	place [Slots]uint16 // of a slot that is kept: index in kept
	set   [Slots / 64]uint64
	try   kept
	cost  int // bits that try adds
	votes [8]vote
	coded func(id uint32, g int, age, gap clock.Tick, bits int) // for tests: what the differences of a record are taken from, and the size of its body

	viewer schema.Viewer
	sight  viewerAt // which place that is
}

// kept is an entry without the distance that comes before it.
type kept struct {
	d       *Due
	at, len int // bits in w
	near    bool
}

type vote struct {
	usual
	n int
}

// sample is how many of the most urgent entries decide what is usual.
const sample = 64

// Begin starts a packet of v. due says what may be offered, the most urgent first, of which about so many bits will fit.
func (x *Writer) Begin(v *View, due []Due, bits int) {
	x.v = v
	x.w.Reset(x.w.Bytes()[:0])
	x.mark = x.w.Mark()
	x.sight = v.viewer(&x.viewer)
	x.size, x.kept, x.set = 0, x.kept[:0], [Slots / 64]uint64{}
	n := min(len(due), max(bits/32, 1))
	x.order = 0
	if n > 0 {
		x.order = orderFor((len(v.slots) - n) / n)
	}
	x.usual = x.choose(due[:min(len(due), sample)])
}

// orderFor returns the best order of the code of distances with a mean.
func orderFor(mean int) int {
	return min(max(bits.Len(uint(max(mean, 0)*3/4))-1, 0), maxOrder)
}

// choose returns the reference of most of what is due.
func (x *Writer) choose(due []Due) usual {
	votes, found := x.votes[:0], 0
	now := x.v.h.tick
	for i := range due {
		d := &due[i]
		if d.First || d.Gone {
			continue
		}
		s := &x.v.slots[d.Slot]
		k := &x.v.of(s)[place(bits.TrailingZeros32(d.groups))]
		r := k.ref(now)
		if r.base == 0 {
			continue
		}
		if r.found {
			found++
		}
		u, known := usual{now - r.base, r.gap()}, false
		for j := range votes {
			if votes[j].usual == u {
				votes[j].n++
				known = true
				break
			}
		}
		if !known && len(votes) < len(x.votes) {
			votes = append(votes, vote{u, 1})
		}
	}
	best := vote{n: found}
	for _, v := range votes {
		if v.n > best.n+1 { // saying it costs a few bits
			best = v
		}
	}
	return best.usual
}

// Try codes the entry of d and returns how many bits the packet's entries would take with it, all included. Keep keeps
// it; otherwise the next Try takes its place. At most one entry of a slot may be kept.
func (x *Writer) Try(d *Due) int {
	x.w.Rewind(x.mark)
	at := x.w.Len()
	x.viewer.Asked = false
	x.entry(d)
	x.try = kept{d, at, x.w.Len() - at, x.viewer.Asked}
	x.cost = x.try.len
	slot, before, after := int(d.Slot), x.before(int(d.Slot)), x.from(int(d.Slot)+1)
	x.cost += x.distance(before, slot)
	if after < Slots {
		x.cost += x.distance(slot, after) - x.distance(before, after)
	}
	return x.head(len(x.kept)+1) + x.size + x.cost
}

// Size returns how many bits the entries kept take, all included.
func (x *Writer) Size() int { return x.head(len(x.kept)) + x.size }

// Head returns how many of those stand before the first entry: a packet has them once.
func (x *Writer) Head() int { return x.head(len(x.kept)) }

// head returns the bits before the first entry.
func (x *Writer) head(n int) int {
	size := wire.UvarintBits(uint64(n), countK)
	if n == 0 {
		return size
	}
	size += wire.UvarintBits(uint64(x.order), orderK) + 1 + x.sight.bits(x.v.h)
	if u := x.usual; u.age != 0 {
		size += wire.UvarintBits(uint64(u.age)-1, usualAgeK) + wire.UvarintBits(uint64(u.gap), usualGapK)
	}
	return size
}

func (x *Writer) distance(from, to int) int { return wire.UvarintBits(uint64(to-from-1), x.order) }

// before returns the kept slot before one, -1 if there is none.
func (x *Writer) before(slot int) int {
	w := slot >> 6
	for set := x.set[w] & (1<<uint(slot&63) - 1); ; set = x.set[w] {
		if set != 0 {
			return w<<6 + 63 - bits.LeadingZeros64(set)
		}
		if w--; w < 0 {
			return -1
		}
	}
}

// from returns the first kept slot from one on, Slots if there is none.
func (x *Writer) from(slot int) int {
	w := slot >> 6
	if w == len(x.set) {
		return Slots
	}
	for set := x.set[w] >> uint(slot&63) << uint(slot&63); ; set = x.set[w] {
		if set != 0 {
			return w<<6 + bits.TrailingZeros64(set)
		}
		if w++; w == len(x.set) {
			return Slots
		}
	}
}

// Keep keeps what was tried last.
func (x *Writer) Keep() {
	n := x.try.d.Slot
	x.mark = x.w.Mark()
	x.size += x.cost
	x.place[n] = uint16(len(x.kept))
	x.set[n>>6] |= 1 << (n & 63)
	x.kept = append(x.kept, x.try)
}

// End writes the entries kept to w, in no more bits than Size says, and notes that they ride in packet p.
func (x *Writer) End(w *wire.BitWriter, p *wire.Packet, now clock.Time) {
	w.Uvarint(uint64(len(x.kept)), countK)
	if len(x.kept) == 0 {
		return
	}
	x.w.Rewind(x.mark)
	b := x.w.Bytes()
	order := x.best()
	w.Uvarint(uint64(order), orderK)
	w.Bool(x.usual.age != 0)
	if u := x.usual; u.age != 0 {
		w.Uvarint(uint64(u.age)-1, usualAgeK)
		w.Uvarint(uint64(u.gap), usualGapK)
	}
	if x.v.h.near {
		near := false
		for i := range x.kept {
			near = near || x.kept[i].near
		}
		x.sight.append(w, near)
	}
	last := -1
	for slot := x.from(0); slot < Slots; slot = x.from(slot + 1) {
		e := &x.kept[x.place[slot]]
		w.Uvarint(uint64(slot-last-1), order)
		w.Copy(b, e.at, e.len)
		last = slot
		x.v.commit(e.d, p, now)
	}
}

// best returns the order that codes the distances in the fewest bits.
func (x *Writer) best() int {
	best, least := x.order, 0
	for order := max(x.order-1, 0); order <= min(x.order+1, maxOrder); order++ {
		size, last := wire.UvarintBits(uint64(order), orderK), -1
		for slot := x.from(0); slot < Slots; slot = x.from(slot + 1) {
			size += wire.UvarintBits(uint64(slot-last-1), order)
			last = slot
		}
		if least == 0 || size < least {
			best, least = order, size
		}
	}
	return best
}

// entry writes an entry without its distance.
func (x *Writer) entry(d *Due) {
	v, w := x.v, &x.w
	s := &v.slots[d.Slot]
	if d.Gone {
		if d.groups == 0 {
			isGone.append(w)
		} else {
			mustForget.append(w)
			w.Bits(uint64(d.groups), schema.MaxGroups)
		}
		return
	}
	h := v.h
	e := h.At(s.ent)
	k := h.kinds[e.Kind]
	var u usual
	if d.First {
		firstSight.append(w)
		w.Uvarint(uint64(e.Kind), kindK)
		w.Uvarint(uint64(e.ID), idK)
		if w.Bool(s.mine); !s.mine && len(h.rules[s.kind].limits) > 0 {
			w.Bits(uint64(d.groups), len(k.Groups))
		}
	} else {
		u = x.usual
		g := OwnerGroup
		if !s.mine {
			g = h.rules[e.Kind].usual
		}
		if d.groups == 1<<uint(g) {
			if hd := v.header(s, e, k, g, d); hd.base != 0 && hd.plain() {
				if u.is(&hd.ref, h.tick) {
					ordinary.append(w)
				} else {
					oddly.append(w)
					hd.ref.append(w, h.tick, u)
				}
				x.body(e, k, g, &hd)
				return
			}
		}
		general.append(w)
		if !s.mine {
			w.Bits(uint64(d.groups), len(k.Groups))
		}
	}
	for set := d.groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		hd := v.header(s, e, k, g, d)
		if !d.First && k.Limited(g) {
			w.Bool(hd.base == 0)
		}
		hd.append(w, k, g, h.tick, u)
		x.body(e, k, g, &hd)
	}
}

// header returns what the record of group g says beside its values. At first sight that is what happened since the entity came into
// sight, as the client may hold an earlier copy without our knowing.
func (v *View) header(s *slot, e *Entity, k *schema.Kind, g int, d *Due) header {
	hd := header{bound: v.bound(s, d), level: v.level(s, g)}
	since := s.since
	if !d.First {
		known := &v.of(s)[place(g)]
		hd.ref, hd.was = known.ref(v.h.tick), known.bound
		hd.baseLevel, hd.priorLevel = known.level, known.priorLevel
		if since = hd.base; since == 0 {
			since = max(s.since, known.gone)
		}
	}
	if g == OwnerGroup || k.Groups[g].Moving {
		hd.cut, hd.start, hd.rest = e.Times(g, since)
	}
	return hd
}

func (x *Writer) body(e *Entity, k *schema.Kind, g int, hd *header) {
	var viewer *schema.Viewer
	if x.sight.known {
		viewer = &x.viewer
	}
	var age, gap clock.Tick
	at := x.w.Len()
	if g == OwnerGroup {
		age, gap = appendBody(&x.w, x.v.h, e, k, g, hd, viewer, e.own, k.Sims, e.ownChanged)
	} else {
		age, gap = appendBody(&x.w, x.v.h, e, k, g, hd, viewer, e.obs, k.Obs, e.changed)
	}
	if x.coded != nil {
		x.coded(e.ID, g, age, gap, x.w.Len()-at)
	}
}

// All writes a packet of everything in due, without regard to its size.
func (x *Writer) All(w *wire.BitWriter, v *View, due []Due, p *wire.Packet, now clock.Time) {
	x.Begin(v, due, 32*len(due))
	for i := range due {
		x.Try(&due[i])
		x.Keep()
	}
	x.End(w, p, now)
}
