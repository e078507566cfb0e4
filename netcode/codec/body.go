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
	minus int32 // -1: the difference changes its sign; 0
	as    role
}

// A role says how a component is coded when the usual set is.
type role uint8

const (
	loud   role = iota // by its code
	quiet              // not at all if one bit says that all of these are as expected
	silent             // not at all, unless the lead says otherwise
)

// Shares in 1/256 of what is as expected.
const (
	quietShare  = 160 // from which a component is quiet
	silentShare = 240 // down to which all silent ones together may come
)

// mostTold is how many components are told that did not change before the set of those that did is.
const mostTold = 12

// parts are those components of a record's usual set that do not depend on others of the same record.
type parts struct {
	n      int
	lead   int  // index of the first that is loud; -1 if there is none
	shy    role // loud if all are
	quiet  bool // a bit says whether the quiet ones are as expected
	writes bool // a record is written: differences are wanted
	list   [maxModelled]part
	diffs  [maxModelled]wire.Difference // of the same components
}

// difference is what is coded of v: modulo 1<<32 for observers, the short way for angles.
func (t *tab) difference(v, want, minus int64) int64 {
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

// gather lists the components of some properties, and casts them. led says that one of them may lead.
func gather[T int32 | int64](ps *parts, s *sight, props []*member, led bool, base *Base[T], cur []T) {
	ps.n, ps.shy, ps.lead, ps.quiet = 0, loud, -1, false
	look(ps, s, props, base, cur)
	if ps.shy != loud || ps.n == 0 {
		ps.cast(led)
	} else if led {
		ps.lead = 0
	}
}

// cast says who leads and who is quiet or silent.
func (ps *parts) cast(led bool) {
	for j := range ps.list[:ps.n] {
		if led && ps.list[j].as == loud {
			ps.lead = j
			break
		}
	}
	all, left := 256, 0
	for j := range ps.list[:ps.n] {
		p := &ps.list[j]
		if p.as == loud {
			continue
		}
		if with := all * int(p.as) >> 8; ps.lead >= 0 && with >= silentShare {
			all, p.as = with, silent
			continue
		}
		p.as = quiet
		left++
	}
	if ps.quiet = left > 1 || led && ps.lead < 0; !ps.quiet && left > 0 { // a bit for one says no more than its code
		for j := range ps.list[:ps.n] {
			if p := &ps.list[j]; p.as == quiet {
				p.as = loud
			}
		}
	}
}

// Append writes the body of a record, all of it but what package snapshot says about it: the presence of each property
// of group g, and the values in cur of those in the set changed; what is not in the set is as in base. tick is the record's.
func Append[T int32 | int64](w *wire.BitWriter, c *Coder, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick) {
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
func appendUsual[T int32 | int64](w *wire.BitWriter, c *Coder, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick) {
	k, b := c.kind, &c.groups[g]
	var s sight
	ps := &parts{writes: true}
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	gather(ps, &s, b.lone, true, base, cur)
	off := uint8(0)
	if ps.shy != loud || changed == 0 {
		off = ps.off()
	}
	// The usual set may tell of what did not change, too. A component of it takes a bit or less as a rule, to say what changed about
	// as many as mostTold.
	told := changed&^b.usual == 0
	if told && changed != b.usual {
		n := 0
		for left := b.usual &^ changed; left != 0; left &= left - 1 {
			n += k.Props[bits.TrailingZeros64(left)].Comps
		}
		told = n <= mostTold
	}
	if changed == 0 {
		told = b.alone == b.usual && off == 0
	}
	if ps.quiet {
		w.Bool(told && off&(1<<quiet) == 0)
	}
	if !told {
		w.Symbol(ps.diffs[max(ps.lead, 0)].Code, wire.Other)
		if ps.lead >= 0 {
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
				look(ps, &s, []*member{&b.members[i]}, base, cur)
				w.Differences(ps.diffs[:ps.n])
			}
		}
		return
	}
	from := 0
	if ps.shy != loud {
		if ps.lead >= 0 && off&(1<<silent) != 0 {
			w.Symbol(ps.diffs[ps.lead].Code, wire.Other)
			w.Bits(0, 1)
		}
		ps.leave(off)
		if from = ps.lead; from > 0 { // it goes before the others
			w.Differences(ps.diffs[from:][:1])
			w.Differences(ps.diffs[:from])
			from++
		}
	}
	w.Differences(ps.diffs[max(from, 0):ps.n])
	if len(b.driven) > 0 {
		gather(ps, &s, b.driven, false, base, cur)
		if ps.quiet {
			off = ps.off()
			w.Bool(off&(1<<quiet) == 0)
			ps.leave(off)
		}
		w.Differences(ps.diffs[:ps.n])
	}
}

// off returns the set of roles in which some parts are not as expected.
func (ps *parts) off() (off uint8) {
	for j := range ps.list[:ps.n] {
		off |= bit(ps.diffs[j].V != 0) << (ps.list[j].as & 7)
	}
	return off
}

// leave leaves out the parts that are not loud but for those of the set of roles.
func (ps *parts) leave(told uint8) {
	for j := range ps.list[:ps.n] {
		if (told|1<<loud)>>(ps.list[j].as&7)&1 == 0 {
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

// Read reads what Append wrote into dst, which holds what the properties are whose values do not follow. The caller asks r
// whether it is Bad.
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
	var s sight
	ps := &parts{}
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	gather(ps, &s, b.lone, true, base, dst)
	off, lead := uint8(1<<loud|1<<quiet), ps.lead
	if ps.quiet && r.Bool() {
		off = 1 << loud
	}
	if lead < 0 && off&(1<<quiet) != 0 {
		lead = 0
	}
	if ps.shy != loud {
		ps.leave(off)
	}
	if lead >= 0 {
		end := ps.n
		if lead > 0 { // it goes before the others
			end = lead + 1
		}
		n := r.Differences(ps.diffs[lead:end])
		if n == 0 && !r.Bad() {
			if ps.lead < 0 || r.Bool() {
				readChanged(r, c, g, dst, base, tick, ps, &s)
				return
			}
			if ps.shy != loud { // with all codes again
				gather(ps, &s, b.lone, true, base, dst)
				ps.leave(off | 1<<silent)
			}
			n = r.Differences(ps.diffs[lead:end])
		}
		if n += lead; n < end {
			r.Fail()
		}
		if lead > 0 {
			readAll(r, ps.diffs[:lead])
			readAll(r, ps.diffs[end:ps.n])
		}
	} else {
		readAll(r, ps.diffs[:ps.n]) // all are left out
	}
	settle(ps, b.lone, dst)
	if len(b.driven) > 0 && !r.Bad() {
		gather(ps, &s, b.driven, false, base, dst)
		if ps.quiet && r.Bool() {
			ps.leave(0)
		}
		readAll(r, ps.diffs[:ps.n])
		settle(ps, b.driven, dst)
	}
}

// readChanged reads which properties changed, and them.
func readChanged[T int32 | int64](r *wire.BitReader, c *Coder, g int, dst []T, base *Base[T], tick clock.Tick, ps *parts, s *sight) {
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
			look(ps, s, one[:], base, dst)
			readAll(r, ps.diffs[:ps.n])
			settle(ps, one[:], dst)
		}
	}
}

// readAll reads differences; the symbol other has no meaning there.
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
			} else if c.tab.narrow > 0 {
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
func appendPlain[T int32 | int64](w *wire.BitWriter, k *schema.Kind, g, i int, cur []T, base *Base[T], tick clock.Tick) {
	q, obs := &k.Props[i], g != schema.OwnerGroup
	at := k.Offset(g, i)
	if base.Vals == nil && base.Viewer != nil && q.Near && obs {
		appendNear(w, q, cur[at:at+q.Comps], base.Viewer)
		return
	}
	for c := at; c < at+q.WireComps(obs); c++ {
		if base.Vals != nil {
			q.AppendDelta(w, int64(cur[c]), int64(base.Vals[c]), obs)
		} else {
			q.AppendAbsolute(w, int64(cur[c]), obs, int64(tick))
		}
	}
}

func readPlain[T int32 | int64](r *wire.BitReader, k *schema.Kind, g, i int, dst []T, base *Base[T], tick clock.Tick) {
	q, obs := &k.Props[i], g != schema.OwnerGroup
	at := k.Offset(g, i)
	if base.Vals == nil && base.Viewer != nil && q.Near && obs {
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

// appendSet writes which of a group's properties are in a set: that it is one, and which; or bit by bit. A group of one property
// has the bit alone.
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
