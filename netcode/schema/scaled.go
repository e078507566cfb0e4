package schema

import (
	"math"
	"unsafe"
)

// The functions of classes whose values are numbers: in steps, as places, velocities and floats, or
// whole ones.

// round gives the nearest integer, half a step upwards, within MaxValue; NaN becomes 0. The product
// with the steps per unit has at most two roundings by 2^-53 of a value below 2^48, so a value from
// the grid never ends half a step away.
func round(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= MaxValue:
		return MaxValue
	case v <= -MaxValue:
		return -MaxValue
	}
	return int64(math.Floor(v + 0.5))
}

func clamp(v, lo, hi int64) int64 { return min(max(v, lo), hi) }

func loadScaled(q *Prop, f unsafe.Pointer, dst []int64) {
	for c := range dst {
		dst[c] = round(float64(*(*float64)(unsafe.Add(f, c*8)) * q.Sim))
	}
	if q.ranged {
		clampScaled(q, dst)
	}
}

func storeScaled(_ *Prop, g *grid, f unsafe.Pointer, src []int64) {
	for c := range src {
		*(*float64)(unsafe.Add(f, c*8)) = float64(src[c]) / g.per
	}
}

func clampScaled(q *Prop, v []int64) {
	least, most := int64(-MaxValue), int64(MaxValue)
	if q.ranged {
		least, most = q.Min, q.Max
	}
	for c := range v {
		v[c] = clamp(v[c], least, most)
	}
}

func observeScaled(q *Prop, src []int64, dst []int32) {
	if q.Sim == q.Obs {
		observeSame(q, src, dst)
		return
	}
	ratio := q.Sim / q.Obs
	for c, v := range src {
		dst[c] = int32(clamp(round(float64(v)/ratio), math.MinInt32, math.MaxInt32))
	}
}

// observeOne is observeScaled of one value, without the bounds of 32 bits.
func observeOne(q *Prop, v int64) int64 {
	if q.Sim == q.Obs {
		return v
	}
	return round(float64(v) / (q.Sim / q.Obs))
}

// observeSame is for values that observers receive as they are.
func observeSame(_ *Prop, src []int64, dst []int32) {
	for c, v := range src {
		dst[c] = int32(clamp(v, math.MinInt32, math.MaxInt32))
	}
}

func drawnScaled(q *Prop, src []int64, dst []float64) {
	for c, v := range src {
		dst[c] = float64(v) / q.drawn.per
	}
}

func exactScaled(q *Prop, a, b []int64, u float64, dst []float64) {
	for c, to := range b {
		from := a[c]
		dst[c] = (float64(from) + float64(float64(to-from)*u)) / q.Sim
	}
}

func roundScaled(q *Prop, src []float64, dst []int64) {
	for c, v := range src {
		dst[c] = round(float64(v * q.Sim))
	}
}

func redrawScaled(q *Prop, src []float64, dst []int64) {
	for c, v := range src {
		dst[c] = round(float64(v * q.drawn.per))
	}
}
