package schema

import (
	"math/bits"

	"meanwhile/clock"
	"meanwhile/wire"
)

// OwnerGroup is the group that only an entity's owner receives, in simulation precision.
const OwnerGroup = MaxGroups

// Base is what the differences of a record are taken from. Both sides hold it. Its values are those of the record's group, like the
// record's own: observer integers, or all simulation integers where the group is OwnerGroup.
type Base[T int32 | int64] struct {
	Vals  []T        // the acknowledged state; nil: the record's values stand by themselves
	Prior []T        // the acknowledged state before it; nil: none
	Age   clock.Tick // ticks from Vals to the record
	Gap   clock.Tick // ticks from Prior to Vals

	Viewer *Viewer // a place that both sides know; nil: none
}

// Members returns the properties that a record of group g has, in their order.
func (k *Kind) Members(g int) []int {
	if g == OwnerGroup {
		return k.Owned
	}
	return k.Groups[g].Props
}

// Width returns how many integers a record of group g has.
func (k *Kind) Width(g int) int {
	if g == OwnerGroup {
		return k.Sims
	}
	return k.Groups[g].N
}

// place returns where among the integers of group g the property begins.
func (q *Prop) place(k *Kind, g int) int {
	if g == OwnerGroup {
		return q.At
	}
	return q.ObsAt - k.Groups[g].At
}

// Nonzero returns the set of the properties of group g that are not all zero in vals, which is what a first sight has to tell.
func Nonzero[T int32 | int64](k *Kind, g int, vals []T) (set uint64) {
	for _, i := range k.Members(g) {
		q := &k.Props[i]
		at := q.place(k, g)
		for _, v := range vals[at : at+q.Comps] {
			if v != 0 {
				set |= 1 << i
				break
			}
		}
	}
	return set
}

// A part is one component as it will be coded: what it differs from, and how the difference is written.
type part struct {
	code *wire.Code
	want int64 // what is expected
	turn int32 // steps of a turn, 0 if not an angle
	at   uint8 // among the group's integers
	raw  uint8 // low bits that are written as they are
	as   role

	minus int8 // -1: the difference changes its sign; 0
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
	list  []part // room for all that the group has
	n     int
	shy   bool // not all are loud
	lead  int  // index of the first that is loud; -1 if there is none
	quiet bool // a bit says whether the quiet ones are as expected
}

// add appends the components of property i.
func add[T int32 | int64](ps *parts, s *sight, b *body, i int, base *Base[T], cur []T) {
	look(s, b, i, base, cur)
	c := &b.coders[i]
	vals := base.Vals[c.at : c.at+c.n]
	list := ps.list[ps.n:][:len(vals)]
	ps.n += c.n
	t, shy, way := &c.tabs[0], loud, int64(0)
	var choice choice
	var coding *coding
	for j := range vals {
		if j == 2 {
			t = &c.tabs[1]
		}
		d := s.d[j]
		if j != 1 || c.model != Level { // whose horizontal components share their context
			var context int
			context, way = s.guess(c, j, d)
			choice = t.choices[context]
			coding = &t.codings[choice.code]
		}
		p := &list[j]
		p.code, p.turn, p.at = coding.code, int32(c.turn), uint8(c.at+j)
		p.want = int64(vals[j]) + way + damped(d*s.age&c.drifts, int64(choice.damp), s.gap)
		p.raw, p.minus, p.as = uint8(c.raw), int8(d>>63)&t.flips, coding.zero
		shy |= coding.zero
	}
	ps.shy = ps.shy || shy != loud
}

// gather lists the components of a set of properties, and casts them. led says that one of them may lead.
func gather[T int32 | int64](ps *parts, s *sight, b *body, set uint64, led bool, base *Base[T], cur []T) {
	ps.n, ps.shy, ps.lead, ps.quiet = 0, false, -1, false
	for _, i := range b.order {
		if set>>uint(i)&1 != 0 {
			add(ps, s, b, i, base, cur)
		}
	}
	if ps.shy || ps.n == 0 {
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

// AppendBody writes the body of a record, all of it but what package snapshot says about it: the presence of each property
// of group g, and the values in cur of those in the set changed; what is not in the set is as in base. tick is the record's.
func AppendBody[T int32 | int64](w *wire.BitWriter, k *Kind, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick) {
	b := &k.bodies[g]
	if base.Vals == nil || b.usual == 0 {
		appendSet(w, k.Members(g), changed)
		for _, i := range b.order {
			if changed>>uint(i)&1 != 0 {
				appendPlain(w, k, g, i, cur, base, tick)
			}
		}
		return
	}
	if b.modelled <= fewModelled {
		var list [fewModelled]part
		var diffs [fewModelled]int64
		appendUsual(w, k, g, cur, base, changed, tick, list[:], diffs[:])
		return
	}
	var list [maxModelled]part
	var diffs [maxModelled]int64
	appendUsual(w, k, g, cur, base, changed, tick, list[:], diffs[:])
}

// fewModelled components are what most groups have at most: the room for them is soon cleared.
const fewModelled = 9

// appendUsual is AppendBody where there is a baseline and some properties have a model; it works in list and diffs.
func appendUsual[T int32 | int64](w *wire.BitWriter, k *Kind, g int, cur []T, base *Base[T], changed uint64, tick clock.Tick, list []part, diffs []int64) {
	b := &k.bodies[g]
	ps := parts{list: list}
	var off [silent + 1]bool // whether some of a role are not as expected
	var s sight
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	gather(&ps, &s, b, b.alone, true, base, cur)
	for j := range ps.list[:ps.n] {
		p := &ps.list[j]
		diffs[j] = difference(p, cur[p.at])
		off[p.as] = off[p.as] || diffs[j] != 0
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
		told = b.alone == b.usual && !off[loud] && !off[quiet] && !off[silent]
	}
	if ps.quiet {
		w.Bool(told && !off[quiet])
	}
	if !told {
		w.Symbol(ps.list[max(ps.lead, 0)].code, wire.Other)
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
				appendParts(w, &ps, &s, k, g, i, base, cur)
			}
		}
		return
	}
	if ps.lead >= 0 {
		if off[silent] {
			w.Symbol(ps.list[ps.lead].code, wire.Other)
			w.Bits(0, 1)
		}
		p := &ps.list[ps.lead]
		w.Coded(p.code, diffs[ps.lead], uint(p.raw))
	}
	off[loud] = true
	for j := range ps.list[:ps.n] {
		if p := &ps.list[j]; j != ps.lead && off[p.as] {
			w.Coded(p.code, diffs[j], uint(p.raw))
		}
	}
	if b.usual != b.alone {
		gather(&ps, &s, b, b.usual&^b.alone, false, base, cur)
		off[quiet] = !ps.quiet
		for j := range ps.list[:ps.n] {
			p := &ps.list[j]
			diffs[j] = difference(p, cur[p.at])
			off[quiet] = off[quiet] || p.as == quiet && diffs[j] != 0
		}
		if ps.quiet {
			w.Bool(!off[quiet])
		}
		for j := range ps.list[:ps.n] {
			if p := &ps.list[j]; off[p.as] {
				w.Coded(p.code, diffs[j], uint(p.raw))
			}
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

// appendParts writes the components of a property, each by its code.
func appendParts[T int32 | int64](w *wire.BitWriter, ps *parts, s *sight, k *Kind, g, i int, base *Base[T], cur []T) {
	ps.n = 0
	add(ps, s, &k.bodies[g], i, base, cur)
	for j := range ps.list[:ps.n] {
		p := &ps.list[j]
		w.Coded(p.code, difference(p, cur[p.at]), uint(p.raw))
	}
}

// difference is what is coded of v: modulo 1<<32 for observers, the short way for angles.
func difference[T int32 | int64](p *part, v T) int64 {
	d := int64(v) - p.want
	if p.turn > 0 {
		turn := int64(p.turn)
		if d = wrap(d, turn); 2*d > turn {
			d -= turn
		}
	} else {
		d = int64(T(d))
	}
	minus := int64(p.minus)
	return (d ^ minus) - minus
}

// value is what the difference came from.
func (p *part) value(d int64, obs bool) int64 {
	minus := int64(p.minus)
	d = (d ^ minus) - minus
	switch {
	case p.turn > 0:
		return wrap(p.want+d, int64(p.turn)) // both are below 1<<57
	case obs:
		return int64(int32(p.want + d))
	}
	return clamp(p.want+d, -MaxValue, MaxValue)
}

// ReadBody reads what AppendBody wrote into dst, which holds what the properties are whose values do not follow. The caller asks r
// whether it is Bad.
func ReadBody[T int32 | int64](r *wire.BitReader, k *Kind, g int, dst []T, base *Base[T], tick clock.Tick) {
	b := &k.bodies[g]
	if base.Vals == nil || b.usual == 0 {
		changed := readSet(r, k.Members(g))
		for _, i := range b.order {
			if changed>>uint(i)&1 != 0 && !r.Bad() {
				readPlain(r, k, g, i, dst, base, tick)
			}
		}
		return
	}
	if b.modelled <= fewModelled {
		var list [fewModelled]part
		readUsual(r, k, g, dst, base, tick, list[:])
		return
	}
	var list [maxModelled]part
	readUsual(r, k, g, dst, base, tick, list[:])
}

// readUsual reads what appendUsual wrote.
func readUsual[T int32 | int64](r *wire.BitReader, k *Kind, g int, dst []T, base *Base[T], tick clock.Tick, list []part) {
	b, obs := &k.bodies[g], g != OwnerGroup
	ps := parts{list: list}
	var s sight
	s.see(b, base.Age, base.Gap, base.Prior != nil)
	gather(&ps, &s, b, b.alone, true, base, dst)
	var off [silent + 1]bool
	off[loud], off[quiet] = true, true
	if ps.quiet {
		off[quiet] = !r.Bool()
	}
	first, told := int64(0), true
	lead := ps.lead
	if lead < 0 && off[quiet] {
		lead = 0
	}
	if lead >= 0 {
		var other bool
		p := &ps.list[lead]
		if first, other = r.Coded(p.code, uint(p.raw)); other {
			if told = ps.lead >= 0 && !r.Bool(); told {
				off[silent] = true
				if first, other = r.Coded(p.code, uint(p.raw)); other {
					r.Fail()
				}
			}
		}
	}
	if !told {
		changed := readSet(r, k.Members(g))
		for _, i := range b.order {
			switch {
			case changed>>uint(i)&1 == 0 || r.Bad():
			case b.usual>>uint(i)&1 == 0:
				readPlain(r, k, g, i, dst, base, tick)
			default:
				readParts(r, &ps, &s, k, g, i, base, dst)
			}
		}
		return
	}
	for j := range ps.list[:ps.n] {
		p, d, other := &ps.list[j], int64(0), false
		switch {
		case j == lead:
			d = first
		case off[p.as]:
			if d, other = r.Coded(p.code, uint(p.raw)); other {
				r.Fail()
			}
		}
		dst[p.at] = T(p.value(d, obs))
	}
	if b.usual != b.alone && !r.Bad() {
		gather(&ps, &s, b, b.usual&^b.alone, false, base, dst)
		off[quiet] = !ps.quiet || !r.Bool()
		for j := range ps.list[:ps.n] {
			p, d, other := &ps.list[j], int64(0), false
			if off[p.as] {
				if d, other = r.Coded(p.code, uint(p.raw)); other {
					r.Fail()
				}
			}
			dst[p.at] = T(p.value(d, obs))
		}
	}
}

func readParts[T int32 | int64](r *wire.BitReader, ps *parts, s *sight, k *Kind, g, i int, base *Base[T], dst []T) {
	ps.n = 0
	add(ps, s, &k.bodies[g], i, base, dst)
	for j := range ps.list[:ps.n] {
		p := &ps.list[j]
		d, other := r.Coded(p.code, uint(p.raw))
		if other {
			r.Fail()
		}
		dst[p.at] = T(p.value(d, g != OwnerGroup))
	}
}

// appendPlain writes the components of a property that has no model, or no baseline.
func appendPlain[T int32 | int64](w *wire.BitWriter, k *Kind, g, i int, cur []T, base *Base[T], tick clock.Tick) {
	q, obs := &k.Props[i], g != OwnerGroup
	at := q.place(k, g)
	if base.Vals == nil && base.Viewer != nil && q.Near && obs {
		appendNear(w, q, cur[at:at+q.Comps], base.Viewer)
		return
	}
	for c := at; c < at+q.comps(obs); c++ {
		if base.Vals != nil {
			q.AppendDelta(w, int64(cur[c]), int64(base.Vals[c]), obs)
		} else {
			q.AppendAbsolute(w, int64(cur[c]), obs, int64(tick))
		}
	}
}

func readPlain[T int32 | int64](r *wire.BitReader, k *Kind, g, i int, dst []T, base *Base[T], tick clock.Tick) {
	q, obs := &k.Props[i], g != OwnerGroup
	at := q.place(k, g)
	if base.Vals == nil && base.Viewer != nil && q.Near && obs {
		readNear(r, q, dst[at:at+q.Comps], base.Viewer)
		return
	}
	for c := at; c < at+q.comps(obs); c++ {
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
