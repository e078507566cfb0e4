package codec

import (
	"math/bits"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A part is one component as it will be coded, beside the Difference that package wire codes.
type part struct {
	want  int64 // what is expected
	minus int32 // -1: the difference changes its sign; 0: it does not
	as    role
}

// A role says how a component is written in a usual body. Until roles are settled by cast it is the
// share of 256 in which the component is as expected, or explicit.
type role uint8

const (
	explicit     role = iota // by its code
	skipTogether             // not at all if one bit says that all components of this role are as expected
	implied                  // not at all: it is as expected, unless the first component's code says otherwise
)

// Shares in 1/256 of how often a component is as expected.
const (
	skipShare    = 160 // from which it need not be explicit
	impliedShare = 240 // of all implied ones together, at least
)

// maxUnchanged is how many components that did not change a usual body may hold. With more of them
// it is shorter to say which properties changed.
const maxUnchanged = 12

// parts are the components of a usual body that are coded together: those that stand alone, or
// those that a velocity drives.
type parts struct {
	n       int
	first   int  // index of the first explicit one, which goes before all others; -1: none
	mixed   role // explicit if all are
	skipBit bool // a bit says whether those that are skipped together are as expected
	writes  bool // the record is written, not read: differences are wanted
	list    [maxModelled]part
	diffs   [maxModelled]wire.Difference // of the same components
}

// difference is what is coded of v: for observers modulo 1<<32, for angles the short way.
func (t *octaveTable) difference(v, want, minus int64) int64 {
	d := v - want
	if t.turn > 0 {
		if d = wrap(d, t.turn); 2*d > t.turn {
			d -= t.turn
		}
	} else {
		d = d << (t.narrow & 63) >> (t.narrow & 63)
	}
	return (d ^ minus) - minus
}

// gather lists the components of some properties, and settles their roles. alone says that these
// are the components that begin a usual body: one of them may go first.
func gather[T int32 | int64](ps *parts, s *contexts, props []*member, alone bool, base *Base[T], cur []T) {
	ps.n, ps.mixed, ps.first, ps.skipBit = 0, explicit, -1, false
	expect(ps, s, props, base, cur)
	if ps.mixed != explicit || ps.n == 0 {
		ps.cast(alone)
	} else if alone {
		ps.first = 0
	}
}

// cast settles the roles.
func (ps *parts) cast(alone bool) {
	for j := range ps.list[:ps.n] {
		if alone && ps.list[j].as == explicit {
			ps.first = j
			break
		}
	}
	all, left := 256, 0
	for j := range ps.list[:ps.n] {
		p := &ps.list[j]
		if p.as == explicit {
			continue
		}
		if with := all * int(p.as) >> 8; ps.first >= 0 && with >= impliedShare {
			all, p.as = with, implied
			continue
		}
		p.as = skipTogether
		left++
	}
	// A bit for a single component says no more than its code.
	if ps.skipBit = left > 1 || alone && ps.first < 0; !ps.skipBit && left > 0 {
		for j := range ps.list[:ps.n] {
			if p := &ps.list[j]; p.as == skipTogether {
				p.as = explicit
			}
		}
	}
}

// Append writes the body of a record of group g: which properties are in the set changed, and their
// values in cur. What is not in the set is as in base. tick is the record's.
func Append[T int32 | int64](
	w *wire.BitWriter, c *Coder, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick,
) {
	k, b := c.kind, &c.groups[g]
	if base.Vals == nil || b.usual == 0 {
		appendSet(w, k.Members(g), changed)
		for _, i := range b.order {
			if changed>>uint(i)&1 != 0 {
				appendPlain(w, k, g, i, cur, base, tick)
			}
		}
		return
	}
	appendUsual(w, c, g, cur, base, changed, tick)
}

// appendUsual is Append where there is a baseline and some properties have a model.
func appendUsual[T int32 | int64](
	w *wire.BitWriter, c *Coder, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick,
) {
	k, b := c.kind, &c.groups[g]
	var s contexts
	ps := &parts{writes: true}
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	gather(ps, &s, b.alone, true, base, cur)
	off := uint8(0)
	if ps.mixed != explicit || changed == 0 {
		off = ps.off()
	}
	// A usual body holds all properties with a model, changed or not. One that did not change takes
	// a bit or less as a rule.
	usual := changed&^b.usual == 0
	if usual && changed != b.usual {
		n := 0
		for left := b.usual &^ changed; left != 0; left &= left - 1 {
			n += k.Props[bits.TrailingZeros64(left)].Comps
		}
		usual = n <= maxUnchanged
	}
	if changed == 0 {
		usual = len(b.driven) == 0 && off == 0
	}
	if ps.skipBit {
		w.Bool(usual && off&(1<<skipTogether) == 0)
	}
	if !usual {
		w.Symbol(ps.diffs[max(ps.first, 0)].Code, wire.Other)
		if ps.first >= 0 {
			w.Bits(1, 1)
		}
		appendSet(w, k.Members(g), changed)
		for _, i := range b.order {
			switch {
			case changed>>uint(i)&1 == 0:
			case b.usual>>uint(i)&1 == 0:
				appendPlain(w, k, g, i, cur, base, tick)
			default:
				ps.n = 0
				one := [1]*member{&b.members[i]}
				expect(ps, &s, one[:], base, cur)
				w.Differences(ps.diffs[:ps.n])
				base.Costs.differences(one[:], ps)
			}
		}
		return
	}
	from := 0
	if ps.mixed != explicit {
		if ps.first >= 0 && off&(1<<implied) != 0 {
			w.Symbol(ps.diffs[ps.first].Code, wire.Other)
			w.Bits(0, 1)
		}
		ps.leave(off)
		if from = ps.first; from > 0 { // it goes before the others
			w.Differences(ps.diffs[from:][:1])
			w.Differences(ps.diffs[:from])
			from++
		}
	}
	w.Differences(ps.diffs[max(from, 0):ps.n])
	base.Costs.differences(b.alone, ps)
	if len(b.driven) > 0 {
		gather(ps, &s, b.driven, false, base, cur)
		if ps.skipBit {
			off = ps.off()
			w.Bool(off&(1<<skipTogether) == 0)
			ps.leave(off)
		}
		w.Differences(ps.diffs[:ps.n])
		base.Costs.differences(b.driven, ps)
	}
}

// differences adds what the differences of some properties take. A nil Costs counts nothing.
func (c *Costs) differences(props []*member, ps *parts) {
	if c != nil {
		c.count(props, ps)
	}
}

//go:noinline
func (c *Costs) count(props []*member, ps *parts) {
	n := 0
	for _, m := range props {
		for range m.n {
			c[m.prop] += uint32(ps.diffs[n].Bits())
			n++
		}
	}
}

// off returns the set of roles in which some parts are not as expected.
func (ps *parts) off() (off uint8) {
	for j := range ps.list[:ps.n] {
		off |= bit(ps.diffs[j].V != 0) << (ps.list[j].as & 7)
	}
	return off
}

// leave leaves out the parts that are neither explicit nor of a role in the set.
func (ps *parts) leave(but uint8) {
	for j := range ps.list[:ps.n] {
		if (but|1<<explicit)>>(ps.list[j].as&7)&1 == 0 {
			ps.diffs[j].Code = nil
		}
	}
}

// bit is 1 for true.
func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// Read reads what Append wrote into dst, which holds the baseline's values before, or zeros. Bytes
// of any kind are read within bounds; the caller asks r whether it is Bad.
func Read[T int32 | int64](r *wire.BitReader, c *Coder, g int, dst []T, base *Base[T], tick clock.Tick) {
	k, b := c.kind, &c.groups[g]
	if base.Vals == nil || b.usual == 0 {
		changed := readSet(r, k.Members(g))
		for _, i := range b.order {
			if changed>>uint(i)&1 != 0 && !r.Bad() {
				readPlain(r, k, g, i, dst, base, tick)
			}
		}
		return
	}
	readUsual(r, c, g, dst, base, tick)
}

// readUsual reads what appendUsual wrote.
func readUsual[T int32 | int64](r *wire.BitReader, c *Coder, g int, dst []T, base *Base[T], tick clock.Tick) {
	b := &c.groups[g]
	var s contexts
	ps := &parts{}
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	gather(ps, &s, b.alone, true, base, dst)
	off, first := uint8(1<<explicit|1<<skipTogether), ps.first
	if ps.skipBit && r.Bool() {
		off = 1 << explicit
	}
	if first < 0 && off&(1<<skipTogether) != 0 {
		first = 0
	}
	if ps.mixed != explicit {
		ps.leave(off)
	}
	if first >= 0 {
		end := ps.n
		if first > 0 { // it goes before the others
			end = first + 1
		}
		n := r.Differences(ps.diffs[first:end])
		if n == 0 && !r.Bad() {
			if ps.first < 0 || r.Bool() {
				readChanged(r, c, g, dst, base, tick, ps, &s)
				return
			}
			if ps.mixed != explicit { // all codes are needed again
				gather(ps, &s, b.alone, true, base, dst)
				ps.leave(off | 1<<implied)
			}
			n = r.Differences(ps.diffs[first:end])
		}
		if n += first; n < end {
			r.Fail()
		}
		if first > 0 {
			readAll(r, ps.diffs[:first])
			readAll(r, ps.diffs[end:ps.n])
		}
	} else {
		readAll(r, ps.diffs[:ps.n]) // all are left out
	}
	settle(ps, b.alone, dst)
	if len(b.driven) > 0 && !r.Bad() {
		gather(ps, &s, b.driven, false, base, dst)
		if ps.skipBit && r.Bool() {
			ps.leave(0)
		}
		readAll(r, ps.diffs[:ps.n])
		settle(ps, b.driven, dst)
	}
}

// readChanged reads which properties changed, and them.
func readChanged[T int32 | int64](
	r *wire.BitReader, c *Coder, g int, dst []T, base *Base[T], tick clock.Tick, ps *parts, s *contexts,
) {
	k, b := c.kind, &c.groups[g]
	changed := readSet(r, k.Members(g))
	for _, i := range b.order {
		switch {
		case changed>>uint(i)&1 == 0 || r.Bad():
		case b.usual>>uint(i)&1 == 0:
			readPlain(r, k, g, i, dst, base, tick)
		default:
			one := [1]*member{&b.members[i]}
			ps.n = 0
			expect(ps, s, one[:], base, dst)
			readAll(r, ps.diffs[:ps.n])
			settle(ps, one[:], dst)
		}
	}
}

// readAll reads differences where the symbol other has no meaning.
func readAll(r *wire.BitReader, diffs []wire.Difference) {
	if r.Differences(diffs) < len(diffs) {
		r.Fail()
	}
}

// settle puts what was read of some properties into dst.
func settle[T int32 | int64](ps *parts, props []*member, dst []T) {
	n := 0
	for _, c := range props {
		for j := 0; j < c.n; j++ {
			p, at := &ps.list[n], c.at+j
			minus := int64(p.minus)
			v := p.want + (ps.diffs[n].V ^ minus) - minus
			if c.turn > 0 {
				v = wrap(v, c.turn) // both are below 1<<57
			} else if c.table.narrow > 0 {
				v = int64(int32(v))
			} else {
				v = clamp(v, -schema.MaxValue, schema.MaxValue)
			}
			dst[at] = T(v)
			n++
		}
	}
}

// appendPlain writes the components of a property that has no model, or no baseline.
func appendPlain[T int32 | int64](
	w *wire.BitWriter, k *schema.Kind, g, i int, cur []T, base *Base[T], tick clock.Tick,
) {
	q, obs := &k.Props[i], g != schema.OwnerGroup
	at := k.Offset(g, i)
	from := w.Len()
	if base.Vals == nil && base.Viewer != nil && q.Near > 0 && obs {
		appendNear(w, q, cur[at:at+q.Comps], base.Viewer)
	} else {
		for c := at; c < at+q.WireComps(obs); c++ {
			if base.Vals != nil {
				q.AppendDelta(w, int64(cur[c]), int64(base.Vals[c]), obs)
			} else {
				q.AppendAbsolute(w, int64(cur[c]), obs, int64(tick))
			}
		}
	}
	if base.Costs != nil {
		base.Costs[i] += uint32(w.Len() - from)
	}
}

func readPlain[T int32 | int64](r *wire.BitReader, k *schema.Kind, g, i int, dst []T, base *Base[T], tick clock.Tick) {
	q, obs := &k.Props[i], g != schema.OwnerGroup
	at := k.Offset(g, i)
	if base.Vals == nil && base.Viewer != nil && q.Near > 0 && obs {
		readNear(r, q, dst[at:at+q.Comps], base.Viewer)
		return
	}
	for c := at; c < at+q.WireComps(obs); c++ {
		if base.Vals != nil {
			dst[c] = T(q.ReadDelta(r, int64(base.Vals[c]), obs))
		} else {
			dst[c] = T(q.ReadAbsolute(r, obs, int64(tick)))
		}
	}
}

// appendSet writes which of a group's properties are in a set: whether it is a single one, and then
// which; else a bit for each. A group of one property has that bit alone.
func appendSet(w *wire.BitWriter, members []int, set uint64) {
	if len(members) > 1 {
		one := bits.OnesCount64(set) == 1
		if w.Bool(one); one {
			for at, i := range members {
				if set>>uint(i)&1 != 0 {
					w.Bits(uint64(at), bits.Len(uint(len(members)-1)))
				}
			}
			return
		}
	}
	for _, i := range members {
		w.Bits(set>>uint(i)&1, 1)
	}
}

func readSet(r *wire.BitReader, members []int) (set uint64) {
	if len(members) > 1 && r.Bool() {
		at := int(r.Bits(bits.Len(uint(len(members) - 1))))
		if at >= len(members) {
			r.Fail()
			return 0
		}
		return 1 << uint(members[at])
	}
	for _, i := range members {
		set |= r.Bits(1) << uint(i)
	}
	return set
}
