package codec

import (
	"math"

	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Viewer is where the receiving player's avatar is, or was: a place that both sides of a connection
// know. A place near it needs few bits a coordinate to stand by itself (see [wire.Nearest]),
// whatever the size of the world: that is what the word wire=near of a tag asks for.
type Viewer struct {
	MM    [3]int64 // millimetres, rounded down
	Asked bool     // a value was written or read beside it
}

// ViewerOf returns the place of an entity of kind k from its simulation integers. ok is false if
// the kind has no place.
func ViewerOf(k *schema.Kind, sims []int64) (v Viewer, ok bool) {
	p := k.PlaceProp()
	if p == nil {
		return v, false
	}
	for c, s := range sims[p.At : p.At+p.Comps] {
		v.MM[c] = int64(math.Floor(float64(float64(s)*1000) / p.Sim))
	}
	return v, true
}

// in returns a component of the viewer's place in the observer steps of q.
func (v *Viewer) in(q *schema.Prop, c int) int32 {
	return int32(nearest(min(max(float64(float64(v.MM[c])*q.Obs)/1000, math.MinInt32), math.MaxInt32)))
}

// appendNear writes a place beside v: a bit whether all of it is near enough, and then q.Near bits
// a component; else each component by itself. The writer does what the reader will do, so nothing
// comes out wrong, wherever either believes the viewer to be.
func appendNear[T int32 | int64](w *wire.BitWriter, q *schema.Prop, vals []T, v *Viewer) {
	near, n := true, int(q.Near)
	low := func(val T) uint32 { return uint32(val) & (1<<uint(n) - 1) }
	for c, val := range vals {
		near = near && wire.Nearest(low(val), n, v.in(q, c)) == int32(val)
	}
	v.Asked = true
	w.Bool(near)
	for _, val := range vals {
		if near {
			w.Bits(uint64(low(val)), n)
		} else {
			q.AppendAbsolute(w, int64(val), true, 0)
		}
	}
}

// readNear reads what appendNear wrote beside the same v.
func readNear[T int32 | int64](r *wire.BitReader, q *schema.Prop, vals []T, v *Viewer) {
	near := r.Bool()
	for c := range vals {
		if near {
			vals[c] = T(wire.Nearest(uint32(r.Bits(int(q.Near))), int(q.Near), v.in(q, c)))
		} else {
			vals[c] = T(q.ReadAbsolute(r, true, 0))
		}
	}
}
