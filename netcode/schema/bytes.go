package schema

import (
	"reflect"
	"unsafe"
)

// Bytes as they are, in as few integers as hold four each, equally full.
var bytesClass = class{
	name: "bytes", goes: "an array of 1 to 32 bytes", usual: true, works: "bytes",
	tags: tagRules{
		fits: func(p *Prop, t goType) bool {
			ok := t.kind == reflect.Array && t.n >= 1 && t.n <= MaxBytes
			if ok {
				p.Comps = (t.n + 3) / 4
				p.field.width, p.Max = (t.n+p.Comps-1)/p.Comps, int64(t.n)
			}
			return ok
		},
		group: 2,
	},
	facts: facts{shape: ShapeBytes},
	values: valueRules{
		load: func(q *Prop, f unsafe.Pointer, dst []int64) {
			clear(dst)
			for i, b := range unsafe.Slice((*byte)(f), int(q.Max)) {
				dst[i/q.field.width] |= int64(b) << (8 * (i % q.field.width))
			}
		},
		store: func(q *Prop, g *grid, f unsafe.Pointer, src []int64) {
			w := q.field.width
			for i := range int(q.Max) {
				*(*byte)(unsafe.Add(f, i)) = byte(src[i/w] >> g.shift >> (8 * (i % w)))
			}
		},
		clamp: func(q *Prop, v []int64) {
			w := q.field.width
			for c := range v {
				v[c] &= 1<<(8*min(w, int(q.Max)-c*w)) - 1
			}
		},
		observe: observeUint32, drawn: drawnUint32, exact: exactScaled,
		round: roundWhole,
		whole: true,
	},
}
