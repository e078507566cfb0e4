package snapshot

import (
	"math/bits"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A Writer codes the entries of one packet. Begin starts it, Try codes a candidate and says how
// large the packet becomes, Keep keeps it, End writes the packet. Candidates come in any order, the
// most urgent first; the packet has them by rising slot, because the distance to the slot before
// takes fewer bits than a slot.
//
// A Writer uses its memory again and may serve one View after the other. A server sends at most one
// packet of a View in a tick: of two, clients refuse the one that arrives second (wire.Agreement).
type Writer struct {
	v     *View
	w     wire.BitWriter
	mark  wire.Mark
	log   logWriter
	size  int // bits of the entries kept, without their slots
	kept  []kept
	place [Slots]uint16 // index in kept, by slot
	try   trial
	// Tally counts what is kept; nil: nothing is counted. The packet is the same.
	Tally *Tally
	costs codec.Costs // of the entry of try, where Tally is set
	// coded is for tests: what the differences of a record are taken from, and the size of its
	// body.
	coded func(id uint32, g int, age, gap clock.Tick, bits int)

	before   *packetSlots // newest packet that is known to be applied
	top      int          // number after the highest of its slots
	ordinary slotSet      // slots of ordinary updates
	updates  int          // how many ordinary updates
	changed  bool         // the packet lists how those slots differ from the ones of before
	list     slotList     // those slots, or the difference
	least    int          // from least to most updates the code of the list is the expected one
	most     int
	others   slotList // slots of other entries

	rows    [3][schema.MaxComps]int32 // of a coarse body
	obsRows [2][schema.MaxComps]int32 // of a body without hidden handles
	ownRows [2][schema.MaxComps]int64
	bodies  bodies

	viewer   codec.Viewer
	viewerAt viewerAt // record that has its place
}

// kept is a coded entry, without the distance between slots that comes before it.
type kept struct {
	d       *Candidate
	at, len int // bits in w
	near    bool
}

// trial is the entry that Try coded, and by how many bits the lists of slots grow with it.
type trial struct {
	kept
	ordinary bool
	listed   bool // it changes list
	list     int
	others   int
}

var noPacket packetSlots

// Begin starts a packet of v. due lists what will be tried, the most urgent first; about so many
// bits of it will fit.
func (x *Writer) Begin(v *View, due []Candidate, bits int) {
	x.v = v
	x.bodies.begin(v.h)
	x.w.Reset(x.w.Bytes()[:0])
	x.mark = x.w.Mark()
	x.viewerAt = v.viewer(&x.viewer)
	x.size, x.kept = 0, x.kept[:0]
	x.before, x.top = &noPacket, 0
	if t := v.before.tick; t > v.resync.tick && t < v.h.tick && v.h.tick-t < wire.AgreedTicks {
		x.before, x.top = &v.before, v.before.slots.top()
	}
	n := min(len(due), max(bits/32, 1))
	others, again := 0, 0 // of those n: at least so many others, and slots that before has too
	for i := range due[:n] {
		d := &due[i]
		if !v.maybeOrdinary(d) {
			others++
		}
		if x.before.slots.has(d.slot) {
			again++
		}
	}
	x.ordinary, x.updates = slotSet{}, 0
	// As a rule nearly all slots of the packet before come again, or hardly any.
	if held := x.before.slots.count(); again > 0 && n+held-2*again <= n/2 {
		x.changed = true
		x.list.begin(&x.before.slots, sparse(x.top))
	} else {
		x.changed = false
		x.list.begin(&slotSet{}, orderFor((len(v.slots.list)-n)/max(n, 1)))
		x.least, x.most = expectedFor(x.top, x.list.order)
	}
	x.others.begin(&slotSet{}, sparse(x.top))
	if x.top == 0 || others > fewOthers {
		x.others.order = orderFor((len(v.slots.list) - others) / max(others, 1))
	}
}

// fewOthers: up to so many entries that are not ordinary updates use the expected code.
const fewOthers = 3

// maybeOrdinary reports whether d may be an ordinary update, as far as is known without coding it.
func (v *View) maybeOrdinary(d *Candidate) bool {
	if d.First || d.Gone {
		return false
	}
	return d.Exact || d.groups == 1<<uint(v.h.rules[v.h.At(d.Ent).Kind].ordinary)
}

// Try codes the entry of d and returns how many bits the packet's entries would take with it, all
// included. Keep keeps it; otherwise the next Try replaces it. At most one entry of a slot may be
// kept.
func (x *Writer) Try(d *Candidate) int {
	x.w.Rewind(x.mark)
	at := x.w.Len()
	x.viewer.Asked = false
	t := &x.try
	if x.Tally != nil {
		x.costs = codec.Costs{}
	}
	t.ordinary = x.entry(d)
	t.kept = kept{d, at, x.w.Len() - at, x.viewer.Asked}
	t.list, t.others = 0, 0
	if t.listed = t.ordinary || x.changed && x.before.slots.has(d.slot); t.listed {
		t.list = x.list.cost(int(d.slot))
	}
	updates, others, n := x.updates, x.others.n, x.list.n
	if t.ordinary {
		updates++
	} else {
		t.others = x.others.cost(int(d.slot))
		others++
	}
	if t.listed {
		if x.list.has(d.slot) {
			n--
		} else {
			n++
		}
	}
	return x.head(updates, others, n) + x.list.size + x.others.size + x.size + t.list + t.others + t.len
}

// Keeps reports whether the entry of d, which is a first sight or a removal, was kept.
func (x *Writer) Keeps(d *Candidate) bool { return x.others.has(d.slot) }

// Has reports whether a record of an entity was kept.
func (x *Writer) Has(i int32) bool {
	return slices.ContainsFunc(x.kept, func(k kept) bool { return k.d.Ent == i && !k.d.Gone })
}

// Size returns how many bits the kept entries take, all included.
func (x *Writer) Size() int {
	if len(x.kept) == 0 {
		return x.Head()
	}
	return x.Head() + x.list.size + x.others.size + x.size
}

// Head returns how many of those bits a packet has once, whatever its slots and entries are.
func (x *Writer) Head() int { return x.head(x.updates, x.others.n, x.list.n) }

// head returns the bits of the head of so many ordinary updates and others, with n slots in the
// list.
func (x *Writer) head(updates, others, n int) int {
	head := 2 + wire.UvarintBits(uint64(others), othersK)
	if updates+others == 0 {
		return head + wire.UvarintBits(0, countK)
	}
	switch {
	case !x.changed:
		if head += wire.UvarintBits(uint64(n), countK); n > 0 {
			if head++; x.top == 0 || n < x.least || n > x.most {
				head += orderB
			}
		}
	case others+n == 0:
		head = 1
	default:
		head += wire.UvarintBits(uint64(n), changesK)
	}
	if others > 0 {
		head += x.orderBits(x.others.order, sparse(x.top))
	}
	return head + x.viewerAt.bits(x.v.h)
}

// orderBits returns how many bits the order of a code takes.
func (x *Writer) orderBits(order, expected int) int {
	if x.top > 0 && order == expected {
		return 1
	}
	return 1 + orderB
}

func (x *Writer) appendOrder(w *wire.BitWriter, order, expected int) {
	other := x.orderBits(order, expected) > 1
	if w.Bool(other); other {
		w.Bits(uint64(order), orderB)
	}
}

// Keep keeps the entry of the last Try.
func (x *Writer) Keep() {
	t := &x.try
	n := t.d.slot
	x.mark = x.w.Mark()
	x.size += t.len
	x.place[n] = uint16(len(x.kept))
	if t.listed {
		x.list.turn(n, t.list)
	}
	if t.ordinary {
		x.ordinary.add(n)
		x.updates++
	} else {
		x.others.turn(n, t.others)
	}
	x.kept = append(x.kept, t.kept)
	if x.Tally != nil && !t.d.Gone {
		x.Tally.add(int(x.v.h.At(t.d.Ent).Kind), t.len, &x.costs)
	}
}

// End writes the kept entries to w, in no more bits than Size says, and notes in the View that
// packet p has them.
func (x *Writer) End(w *wire.BitWriter, p *wire.Packet, now clock.Time) {
	x.w.Rewind(x.mark)
	b := x.w.Bytes()
	x.shorten()
	alike := x.changed && x.list.n+x.others.n == 0
	if w.Bool(!alike); !alike {
		w.Bool(x.changed)
		w.Uvarint(uint64(x.others.n), othersK)
		if x.changed {
			w.Uvarint(uint64(x.list.n), changesK)
		} else {
			w.Uvarint(uint64(x.list.n), countK)
		}
	}
	if len(x.kept) == 0 {
		return
	}
	if x.others.n > 0 {
		x.appendOrder(w, x.others.order, sparse(x.top))
	}
	if !x.changed && x.list.n > 0 {
		x.appendOrder(w, x.list.order, expectedOrder(x.top, x.list.n))
	}
	if x.v.h.near {
		near := false
		for i := range x.kept {
			near = near || x.kept[i].near
		}
		x.viewerAt.append(w, near)
	}
	x.v.speaks(p.Tick, p.Seq, now)
	x.log.begin(x.log.b[:0])
	last := -1
	for slot := x.others.from(0); slot < Slots; slot = x.others.from(slot + 1) {
		w.Uvarint(uint64(slot-last-1), x.others.order)
		x.end(w, b, slot, p)
		last = slot
	}
	x.list.append(w)
	for slot := x.ordinary.from(0); slot < Slots; slot = x.ordinary.from(slot + 1) {
		x.end(w, b, slot, p)
	}
	p.Refs = x.log.b // wire.Log.Charge copies it
}

// shorten looks for a shorter head than Size promised, now that all entries are known.
func (x *Writer) shorten() {
	if x.changed && 2*x.list.n > x.updates { // fewer slots came again than expected
		was, size := x.list, x.Size()
		x.changed = false
		x.list.begin(&x.ordinary, expectedOrder(x.top, max(x.updates, 1)))
		x.least, x.most = expectedFor(x.top, x.list.order)
		if len(x.kept) > 0 && x.Size() >= size {
			x.changed, x.list = true, was
		}
	}
	if !x.changed && x.list.n > 0 {
		x.bestOrder(&x.list, expectedOrder(x.top, x.list.n))
	}
	if x.others.n > 0 {
		x.bestOrder(&x.others, sparse(x.top))
	}
}

// end writes the entry of a slot and notes it.
func (x *Writer) end(w *wire.BitWriter, b []byte, slot int, p *wire.Packet) {
	e := &x.kept[x.place[slot]]
	w.Copy(b, e.at, e.len)
	x.v.commit(e.d, p, &x.log)
}

// bestOrder chooses the code that writes the distances of a list in the fewest bits.
func (x *Writer) bestOrder(l *slotList, expected int) {
	first := *l
	for _, order := range [...]int{first.order - 1, first.order + 1, expected} {
		if order < 0 || order > maxOrder {
			continue
		}
		var other slotList
		if other.begin(&first.slotSet, order); other.size+x.orderBits(order, expected) < l.size+x.orderBits(l.order,
			expected) {
			*l = other
		}
	}
}

// entry codes an entry, without the distance between slots, and reports whether it is an ordinary
// update.
func (x *Writer) entry(d *Candidate) bool {
	v, w := x.v, &x.w
	s := &v.slots.list[d.slot]
	if d.Gone {
		if d.groups == 0 {
			isGone.append(w)
		} else {
			mustForget.append(w)
			w.Bits(uint64(d.groups), schema.MaxGroups)
		}
		return false
	}
	h := v.h
	e := h.At(s.ent)
	k := h.kinds[e.Kind]
	if d.First {
		firstSight.append(w)
		w.Bits(uint64(e.Kind), kindBits(len(h.kinds)))
		w.Uvarint(uint64(e.ID), idK)
		if w.Bool(s.exact()); s.exact() {
			if h.rules[e.Kind].ahead {
				appendWhose(w, s, &e.Spawn, h.tick)
			}
		} else if h.rules[e.Kind].later != 0 {
			w.Bits(uint64(d.groups), len(k.Groups))
		}
	} else {
		g := OwnerGroup
		if !s.exact() {
			g = h.rules[e.Kind].ordinary
		}
		if d.groups == 1<<uint(g) {
			if hd := v.header(s, e, k, g, d); hd.base != 0 && hd.plain() && hd.agreed {
				x.body(e, k, g, &hd)
				return true
			}
		}
		general.append(w)
		if !s.exact() {
			w.Bits(uint64(d.groups), len(k.Groups))
		}
	}
	for set := d.groups; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		hd := v.header(s, e, k, g, d)
		if !d.First && h.rules[e.Kind].later>>uint(g)&1 != 0 {
			w.Bool(hd.base == 0)
		}
		hd.append(w, k, g, h.tick)
		x.body(e, k, g, &hd)
	}
	return false
}

// appendWhose writes whose an exact entity is, of a kind that clients run ahead.
func appendWhose(w *wire.BitWriter, s *slot, by *Spawn, now clock.Tick) {
	if w.Bool(s.mine()); s.mine() {
		return
	}
	if w.Bool(s.spawned()); s.spawned() {
		w.Varint(int64(now)-int64(by.Tick), spawnK)
		w.Uvarint(uint64(by.N), spawnNK)
	}
}

// header returns what the record of group g has besides its values. In a first sight that is what
// happened since the entity came into sight, as the client may hold an earlier copy that the server
// does not know of.
func (v *View) header(s *slot, e *Entity, k *schema.Kind, g int, d *Candidate) header {
	hd := header{bound: v.bound(s, d), level: v.level(s, g)}
	var since clock.Tick
	if d.First {
		since = v.unseen(s)
	} else {
		unit := s.unit(g)
		known := &v.ledger.known[unit]
		hd.ref, hd.was = v.ledger.ref(unit, v.h.tick), known.bound()
		hd.baseLevel, hd.priorLevel = known.level(), known.priorLevel()
		if since = hd.base; since == 0 {
			since = max(s.since, v.goneTick(s, g))
		}
	}
	if g == OwnerGroup || k.Groups[g].Moving {
		hd.cut, hd.start, hd.rest = e.times(g, since)
	}
	if v.handles != nil {
		if hd.hides = v.hides(s, g, v.h.tick); hd.base != 0 {
			hd.hid = v.hides(s, g, hd.base)
		}
	}
	return hd
}

// body writes the values of group g.
func (x *Writer) body(e *Entity, k *schema.Kind, g int, hd *header) {
	if x.Tally != nil {
		x.code(e, k, g, hd)
		return
	}
	at, key := x.bodies.find(e.ID, g, hd)
	if at == nil || x.coded != nil {
		x.code(e, k, g, hd)
		return
	}
	if at.key == key && at.turn == x.bodies.turn {
		x.bodies.hits++
		x.w.Bits(at.bits, int(at.n))
		return
	}
	from := x.w.Mark()
	x.code(e, k, g, hd)
	if v, n, ok := x.w.Since(from); ok {
		*at = coded{key, v, x.bodies.turn, uint8(n)}
	}
}

// code codes the values of group g.
func (x *Writer) code(e *Entity, k *schema.Kind, g int, hd *header) {
	var viewer *codec.Viewer
	if x.viewerAt.known {
		viewer = &x.viewer
	}
	h := x.v.h
	coder := h.rules[e.Kind].coder
	var costs *codec.Costs
	if x.Tally != nil {
		costs = &x.costs
	}
	var age, gap clock.Tick
	at := x.w.Len()
	if g == OwnerGroup {
		cur, b, set := bodyOf(h, e, k, g, hd, viewer, e.own, k.Sims, e.ownChanged)
		b.Costs = costs
		if hd.hides|hd.hid != 0 {
			cur, set = withoutHidden(k, g, hd, cur, &b, set, &x.ownRows)
		}
		codec.Append(&x.w, coder, g, cur, &b, set, h.tick)
		age, gap = b.Age, b.Gap
	} else {
		cur, b, set := bodyOf(h, e, k, g, hd, viewer, e.obs, k.Obs, e.changed)
		b.Costs = costs
		if hd.hides|hd.hid != 0 {
			cur, set = withoutHidden(k, g, hd, cur, &b, set, &x.obsRows)
		}
		if hd.level != 0 || hd.baseLevel != 0 || b.Prior != nil && hd.priorLevel != 0 {
			x.coarseBody(k, coder, g, hd, cur, &b, set, h.tick)
		} else {
			codec.Append(&x.w, coder, g, cur, &b, set, h.tick)
		}
		age, gap = b.Age, b.Gap
	}
	if x.coded != nil {
		x.coded(e.ID, g, age, gap, x.w.Len()-at)
	}
}

// All writes a packet of everything in due, whatever its size.
func (x *Writer) All(w *wire.BitWriter, v *View, due []Candidate, p *wire.Packet, now clock.Time) {
	x.Begin(v, due, 32*len(due))
	for i := range due {
		x.Try(&due[i])
		x.Keep()
	}
	x.End(w, p, now)
}

// bodyOf returns what a record's body is made of: the values, what they are a difference from, and
// the set of properties that changed since the baseline, or that in a first sight are not all zero.
func bodyOf[T int32 | int64](h *History, e *Entity, k *schema.Kind, g int, hd *header, viewer *codec.Viewer, rows []T,
	width int, changed []clock.Tick) (cur []T, b codec.Base[T], set uint64) {
	at, n := 0, k.Width(g)
	if g != OwnerGroup {
		at = k.Groups[g].At
	}
	row := func(t clock.Tick) []T {
		return rowOf(rows, width, min(t, e.lastTick))[at : at+n : at+n]
	}
	cur, b.Viewer = row(h.tick), viewer
	if hd.base != 0 && h.has(e, hd.base) {
		b.Vals, b.Age = row(hd.base), h.tick-hd.base
		if hd.prior != 0 && hd.cut == 0 && !e.cutBetween(g, hd.prior, hd.base) && h.has(e, hd.prior) {
			b.Prior, b.Gap = row(hd.prior), hd.base-hd.prior
		}
	}
	if hd.base == 0 {
		return cur, b, schema.Nonzero(k, g, cur)
	}
	for _, i := range k.Members(g) {
		if changed[i] > hd.base {
			set |= 1 << i
		}
	}
	return cur, b, set
}

// coarseBody writes a body if some level is not the first. The client holds the baseline as coarse
// as it received it, and both sides round it on to the level of the record; if that is finer, the
// baseline stays as it is.
func (x *Writer) coarseBody(k *schema.Kind, coder *codec.Coder, g int, hd *header, cur []int32,
	b *codec.Base[int32], set uint64, now clock.Tick) {
	level := int(hd.level)
	if hd.base == 0 {
		fresh := x.rows[0][:copy(x.rows[0][:], cur)]
		schema.Coarsen(k, g, level, fresh)
		set = schema.Nonzero(k, g, fresh)
	}
	fresh := k.Reduce(g, level, level, x.rows[0][:], cur)
	coarse := codec.Base[int32]{Age: b.Age, Gap: b.Gap, Viewer: b.Viewer, Costs: b.Costs}
	if b.Vals != nil {
		coarse.Vals = k.Reduce(g, int(hd.baseLevel), level, x.rows[1][:], b.Vals)
	}
	if b.Prior != nil {
		coarse.Prior = k.Reduce(g, int(hd.priorLevel), level, x.rows[2][:], b.Prior)
	}
	switch {
	case coarse.Vals != nil:
		set = schema.Differ(k, g, fresh, coarse.Vals)
	case hd.base != 0 && hd.level != hd.baseLevel:
		set |= k.Shifted(g, level, int(hd.baseLevel))
	}
	codec.Append(&x.w, coder.At(level), g, fresh, &coarse, set, now)
}
