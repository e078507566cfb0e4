package schema

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// SubSteps is the resolution of drawn values: 1/256 of an observer step.
const SubSteps = 256

// unkept returns p and hides from the compiler where it goes. Functions of classes are called
// through a table, so the compiler assumes that they keep what they are given, and would allocate
// every value that is stored or extracted. None of them keeps it.
//
// The result must go straight into a call. The compiler may hold it as an integer until then, and a
// value on a stack moves with it: during any call in between.
func unkept(p unsafe.Pointer) unsafe.Pointer {
	at := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&at))
}

// Extract writes the simulation integers of the struct at p into dst, which holds Sims of them.
func (k *Kind) Extract(p unsafe.Pointer, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		classes[q.Class].values.load(q, unkept(unsafe.Add(p, q.field.offset)), dst[q.At:q.At+q.Comps])
	}
}

// Store writes simulation integers into the struct at p: the state as the rules see it, on the
// grid.
func (k *Kind) Store(p unsafe.Pointer, src []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		classes[q.Class].values.store(q, &q.own.grid, unkept(unsafe.Add(p, q.field.offset)), src[q.At:q.At+q.Comps])
	}
}

// Settle rounds the struct at p onto the grid and brings its simulation integers, sims, up to date.
// It returns the set of the properties whose integers changed. was is another struct of the type,
// as Store makes it of sims: what has the same bytes in both did not change, so most properties
// cost a comparison. Settle keeps it so. scratch has room for Sims integers.
func (k *Kind) Settle(p, was unsafe.Pointer, sims, scratch []int64) (changed uint64) {
	for i := range k.Props {
		q := &k.Props[i]
		f, o := unsafe.Add(p, q.field.offset), unsafe.Add(was, q.field.offset)
		if q.field.same(f, o) {
			continue
		}
		vals, is, values := scratch[q.At:q.At+q.Comps], sims[q.At:q.At+q.Comps], &classes[q.Class].values
		values.load(q, unkept(f), vals)
		if !slices.Equal(vals, is) {
			copy(is, vals)
			changed |= 1 << uint(i)
		}
		values.store(q, &q.own.grid, unkept(f), is)
		q.copyField(o, f)
	}
	return changed
}

// Copy copies the properties of the struct at src to the one at dst.
func (k *Kind) Copy(dst, src unsafe.Pointer) {
	for i := range k.Props {
		q := &k.Props[i]
		q.copyField(unsafe.Add(dst, q.field.offset), unsafe.Add(src, q.field.offset))
	}
}

// same reports whether the field at a and b has the same bytes.
func (d *field) same(a, b unsafe.Pointer) bool {
	return string(unsafe.Slice((*byte)(a), d.size)) == string(unsafe.Slice((*byte)(b), d.size))
}

// copyField copies the field of a property at src to dst.
func (p *Prop) copyField(dst, src unsafe.Pointer) {
	if p.isText() { // the one class with a pointer
		*(*string)(dst) = *(*string)(src)
		return
	}
	copy(unsafe.Slice((*byte)(dst), p.field.size), unsafe.Slice((*byte)(src), p.field.size))
}

// Observe derives the observer integers dst from the simulation integers src.
func (k *Kind) Observe(src []int64, dst []int32) {
	for i := range k.Props {
		if q := &k.Props[i]; q.ObsAt >= 0 {
			classes[q.Class].values.observe(q, src[q.At:q.At+q.Comps], dst[q.ObsAt:q.ObsAt+q.Comps])
		}
	}
}

// ObserveSome is Observe for the properties of a set of indices in Props; the others' integers stay
// as they are.
func (k *Kind) ObserveSome(src []int64, dst []int32, set uint64) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if i >= len(k.Props) {
			return
		}
		if q := &k.Props[i]; q.ObsAt >= 0 {
			classes[q.Class].values.observe(q, src[q.At:q.At+q.Comps], dst[q.ObsAt:q.ObsAt+q.Comps])
		}
	}
}

var zeros [8]int64

// StoreDrawn writes drawn values, observer integers in 1/SubSteps, into the struct at p. Properties
// that observers do not receive become zero.
func (k *Kind) StoreDrawn(p unsafe.Pointer, drawn []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		f, store := unsafe.Add(p, q.field.offset), classes[q.Class].values.store
		if q.ObsAt < 0 {
			store(q, &q.own.grid, unkept(f), zeros[:q.Comps])
		} else {
			store(q, &q.drawn, unkept(f), drawn[q.ObsAt:q.ObsAt+q.Comps])
		}
	}
}

// Clamp forces simulation integers that came from outside, v holding Sims of them, into what
// Extract could have made.
func (k *Kind) Clamp(v []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		classes[q.Class].values.clamp(q, v[q.At:q.At+q.Comps])
	}
}

// Coarsen rounds an observer integer to the precision of a level of the kind: to a multiple of
// 1<<Shift, half a step upwards, within 32 bits. Multiples stay as they are, so their lower bits
// need not be written.
func (p *Prop) Coarsen(v int32, level int) int32 {
	s := p.Shift[level]
	if s == 0 {
		return v
	}
	digit := int64(0)
	w, least, most := int64(v), int64(math.MinInt32), int64(math.MaxInt32)
	switch g := &p.others.grid; {
	case g.base > 0: // a component of a rotation by itself, without what says which one is left out
		if w > g.base/2 {
			w, digit = w-g.base, g.base
		}
		least, most = -g.most, g.most
	case p.ranged:
		digit = p.others.code.least
		w, least, most = w-digit, 0, p.others.code.most-digit
	}
	w = (w + 1<<(s-1)) >> s
	w = clamp(w, -(-least>>s), most>>s) << s
	if p.Turn > 0 && w >= p.Turn {
		w = 0
	}
	return int32(w + digit)
}

// Floats is how many numbers AppendDrawn and AppendExact give for a kind: its simulation integers.
func (k *Kind) Floats() int { return k.Sims }

var noFloats [(MaxLine + 3) / 4]float64

// AppendDrawn appends the properties of drawn observer integers (1/SubSteps) as numbers, in order
// of properties and components: metres, metres per second, radians, and integers as they are. Texts
// and bytes come four bytes to a number or fewer, rotations as X, Y and Z of the quaternion whose W
// is not negative. Properties that observers do not receive are 0.
func (k *Kind) AppendDrawn(dst []float64, drawn []int64) []float64 {
	for i := range k.Props {
		q := &k.Props[i]
		at := len(dst)
		if dst = append(dst, noFloats[:q.Comps]...); q.ObsAt >= 0 {
			classes[q.Class].values.drawn(q, drawn[q.ObsAt:q.ObsAt+q.Comps], dst[at:])
		}
	}
	return dst
}

// AppendExact does the same for simulation integers, u/65536 of the way from a to b: places,
// velocities and angles in between, all else as in b. a may be nil.
func (k *Kind) AppendExact(dst []float64, a, b []int64, u int64) []float64 {
	if a == nil {
		a, u = b, 65536
	}
	for i := range k.Props {
		q := &k.Props[i]
		at := len(dst)
		if dst = append(dst, noFloats[:q.Comps]...); q.Audience != Server {
			from, to := a[q.At:q.At+q.Comps], b[q.At:q.At+q.Comps]
			if !classes[q.Class].facts.graded { // there is nothing in between
				from = to
			}
			classes[q.Class].values.exact(q, from, to, float64(float64(u)/65536), dst[at:])
		}
	}
	return dst
}

// Between writes to dst the simulation integers that are u/65536 of the way from a to b, on the
// simulation grid: as AppendExact, with all properties. dst may be b.
func (k *Kind) Between(dst, a, b []int64, u int64) {
	copy(dst, b)
	var between [MaxComps]float64
	for i := range k.Props {
		q := &k.Props[i]
		if !classes[q.Class].facts.graded {
			continue
		}
		from, to, v := a[q.At:q.At+q.Comps], b[q.At:q.At+q.Comps], &classes[q.Class].values
		if slices.Equal(from, to) {
			continue
		}
		v.exact(q, from, to, float64(float64(u)/65536), between[:])
		v.round(q, between[:q.Comps], dst[q.At:q.At+q.Comps])
	}
}

// Differ calls f for each property in which the simulation integers a and b differ, with both
// values as AppendExact gives them. It is for texts about what went wrong: it allocates.
func (k *Kind) Differ(a, b []int64, f func(p *Prop, x, y []float64)) {
	x, y := k.AppendExact(nil, nil, a, 65536), k.AppendExact(nil, nil, b, 65536)
	for i := range k.Props {
		p := &k.Props[i]
		if from, to := p.At, p.At+p.Comps; !slices.Equal(a[from:to], b[from:to]) {
			f(p, x[from:to], y[from:to])
		}
	}
}

// FromFloats is AppendExact's way back, for commands that a page makes: it rounds numbers, in order
// of properties and components, onto the simulation grid and into what the schema allows. src and
// dst have Floats numbers. Any src, infinities and NaN too, gives a dst that Extract could have
// made. Texts become empty.
func (k *Kind) FromFloats(src []float64, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		classes[q.Class].values.round(q, src[q.At:q.At+q.Comps], dst[q.At:q.At+q.Comps])
	}
	k.Clamp(dst)
}

// FromExact turns numbers as AppendExact makes them into drawn values (1/SubSteps), for entities
// that are relative to one of which only those numbers are known: its places, rotations and
// handles. All else becomes 0. src has Floats numbers, dst Obs integers.
func (k *Kind) FromExact(src []float64, dst []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		if q.ObsAt < 0 {
			continue
		}
		out := dst[q.ObsAt : q.ObsAt+q.Comps]
		if redraw := classes[q.Class].values.redraw; redraw != nil {
			redraw(q, src[q.At:q.At+q.Comps], out)
		} else {
			clear(out)
		}
	}
}

// StoreFloats writes numbers as AppendDrawn and AppendExact make them into the struct at p, for
// programs that draw: what comes in steps by 1/SubSteps of what observers receive, all else as it
// is. src has Floats numbers, scratch room for Sims integers.
func (k *Kind) StoreFloats(p unsafe.Pointer, src []float64, scratch []int64) {
	for i := range k.Props {
		q := &k.Props[i]
		c, g := classes[q.Class], &q.own.grid
		from, to := src[q.At:q.At+q.Comps], scratch[:q.Comps]
		switch {
		case q.isText():
			for j := range from {
				roundUint32(q, from[j:], to[j:])
			}
		case q.ObsAt < 0 || !c.facts.graded && c.values.redraw == nil:
			c.values.round(q, from, to)
		case c.values.redraw != nil:
			g = &q.drawn
			c.values.redraw(q, from, to)
		default:
			g = &q.drawn
			redrawScaled(q, from, to)
		}
		c.values.store(q, g, unkept(unsafe.Add(p, q.field.offset)), to)
	}
}
