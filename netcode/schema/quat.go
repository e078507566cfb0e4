package schema

import (
	"math"
	"reflect"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/fault"
)

// A rotation in space.
var quatClass = class{
	name: "quat", goes: "geom.Quat", usual: true, works: "quat,others=9bit",
	tags: tagRules{
		fits: func(p *Prop, t goType) bool {
			p.Comps = 3
			return t.kind == reflect.Struct && t.shape == "WXYZ"
		},
		sim: 1 << 16, obs: 1 << 9,
		steps: func(_ *Prop, word string) (float64, error) {
			if n := bitWord(word, minQuat, maxQuat); n > 0 {
				return float64(int64(1) << uint(n)), nil
			}
			return wantPrecision(word, fault.Sprintf("%dbit up to %dbit", minQuat, maxQuat))
		},
	},
	facts: facts{shape: ShapeQuat, graded: true, faces: true},
	values: valueRules{
		load: func(q *Prop, f unsafe.Pointer, dst []int64) {
			roundQuat(*(*geom.Quat)(f), q.own.grid.base, q.own.grid.most, dst)
		},
		store: func(_ *Prop, g *grid, f unsafe.Pointer, src []int64) {
			*(*geom.Quat)(f) = floatQuat(src, g.base, g.most)
		},
		clamp:   func(q *Prop, v []int64) { canonQuat(v, q.own.grid.base, q.own.grid.most) },
		observe: observeQuat,
		drawn: func(q *Prop, src []int64, dst []float64) {
			dst[0], dst[1], dst[2] = upright(floatQuat(src, q.drawn.base, q.drawn.most))
		},
		exact: func(q *Prop, a, b []int64, u float64, dst []float64) {
			base, m := q.own.grid.base, q.own.grid.most
			rot := floatQuat(b, base, m)
			if u < 1 {
				rot = nlerp(floatQuat(a, base, m), rot, u)
			}
			dst[0], dst[1], dst[2] = upright(rot)
		},
		round: func(q *Prop, src []float64, dst []int64) {
			roundQuat(upQuat(src), q.own.grid.base, q.own.grid.most, dst)
		},
		redraw: func(q *Prop, src []float64, dst []int64) {
			roundQuat(upQuat(src), q.drawn.base, q.drawn.most, dst)
		},
		delta: 3,
	},
}

// A rotation travels as the three components of its unit quaternion that are smaller than the
// fourth, which follows from them; the fourth is made positive, as a quaternion and its negative
// are one rotation. With b bits a component is an integer of [-m, m], m = 2^(b-1)-1, in units of
// 1/(m sqrt 2), since none of the three exceeds sqrt(1/2). Which one was left out is a number of
// two bits, 0 for W; its lower bit adds 2^b to the first component and its upper bit to the second.
// So no rotation is 0 0 0, and while the largest component stays the same the integers change
// smoothly.
const (
	minQuat = 4 // bits; with fewer, the three that are kept may be too long together
	maxQuat = 20
)

// quatScale returns 2^b, and the largest magnitude of a component, for integers in 1/sub steps.
func quatScale(steps float64, sub int64) (base, m int64) {
	base = int64(steps)
	return base * sub, (base/2 - 1) * sub
}

// QuatScale is what PackQuat and UnpackQuat need to know of drawn values, observer integers in
// 1/SubSteps.
func (p *Prop) QuatScale() (base, m int64) { return p.drawn.base, p.drawn.most }

// Rotates reports whether the property is a rotation in space.
func (p *Prop) Rotates() bool { return p.Class == Quat }

// UnpackQuat returns the quaternion behind three integers: W, X, Y, Z in the same steps, the
// largest one rounded down. The sum of their squares is 2 m m, or a little less. Integers of any
// size up to 2^40 give some quaternion.
func UnpackQuat(v []int64, base, m int64) (q [4]int64) {
	var part [3]int64
	big, left := 0, 2*m*m
	for c := range part {
		a := v[c]
		if a > base/2 {
			a -= base
			if c < 2 {
				big |= 1 << c
			}
		}
		part[c] = clamp(a, -m, m)
		left -= part[c] * part[c]
	}
	c := 0
	for i := range q {
		if i == big {
			q[i] = isqrt(max(left, 0))
			continue
		}
		q[i] = part[c]
		c++
	}
	return q
}

// PackQuat writes the three integers of a quaternion, the sum of whose squares is 2 m m up to
// rounding, into dst. The component that is left out is the first of the largest.
func PackQuat(q [4]int64, base, m int64, dst []int64) {
	big := 0
	for i := range q {
		if abs(q[i]) > abs(q[big]) {
			big = i
		}
	}
	sign := int64(1)
	if q[big] < 0 {
		sign = -1
	}
	c := 0
	for i := range q {
		if i != big {
			dst[c] = clamp(sign*q[i], -m, m)
			c++
		}
	}
	dst[0] += base * int64(big&1)
	dst[1] += base * int64(big>>1)
}

// canonQuat makes three integers what rounding the quaternion behind them gives again: the one left
// out must be the first of those that are largest after rounding. It is not where, of two nearly
// equal ones, rounding made the wrong one larger; then the two change places, once: the one that is
// left out now is larger than its rounded value was, so it stays the largest.
func canonQuat(v []int64, base, m int64) {
	for c := range v {
		a, digit := v[c], int64(0)
		if a > base/2 && c < 2 {
			a, digit = a-base, base
		}
		v[c] = clamp(a, -m, m) + digit
	}
	left, big := 2*m*m, 0
	var part [3]int64
	for c := range part {
		part[c] = v[c]
		if v[c] > base/2 {
			part[c] -= base
			big |= 1 << c
		}
		left -= part[c] * part[c]
	}
	if left < 0 { // no rounding of ours
		x, y, z := float64(part[0]), float64(part[1]), float64(part[2])
		var q [4]float64
		q[(big+1)%4], q[(big+2)%4], q[(big+3)%4] = x, y, z
		roundQuat(geom.Quat{W: q[0], X: q[1], Y: q[2], Z: q[3]}, base, m, v)
		return
	}
	// The root of left rounds to w: the largest integer whose square less itself is below left.
	w := isqrt(left)
	if left > w*w+w { // root above w + 1/2
		w++
	}
	var q [4]int64
	c := 0
	for i := range q {
		if i == big {
			q[i] = w
			continue
		}
		q[i] = part[c]
		c++
	}
	PackQuat(q, base, m, v)
}

// roundQuat writes the integers of a rotation.
func roundQuat(q geom.Quat, base, m int64, dst []int64) {
	q = q.Unit()
	r := float64(float64(m) * math.Sqrt2)
	even := func(v float64) int64 { // q and its negative alike
		if v < 0 {
			return -round(-v)
		}
		return round(v)
	}
	parts := [4]int64{even(float64(q.W * r)), even(float64(q.X * r)), even(float64(q.Y * r)), even(float64(q.Z * r))}
	PackQuat(parts, base, m, dst)
	canonQuat(dst, base, m)
}

// floatQuat returns the rotation behind three integers.
func floatQuat(v []int64, base, m int64) geom.Quat {
	big, left := 0, 2*m*m
	var part [3]int64
	for c := range part {
		part[c] = v[c]
		if v[c] > base/2 {
			part[c] -= base
			if c < 2 {
				big |= 1 << c
			}
		}
		part[c] = clamp(part[c], -m, m)
		left -= part[c] * part[c]
	}
	r := float64(float64(m) * math.Sqrt2)
	var q [4]float64
	c := 0
	for i := range q {
		if i == big {
			q[i] = math.Sqrt(float64(max(left, 0))) / r
			continue
		}
		q[i] = float64(part[c]) / r
		c++
	}
	return geom.Quat{W: q[0], X: q[1], Y: q[2], Z: q[3]}
}

// observeQuat takes components to another number of bits.
func observeQuat(q *Prop, src []int64, dst []int32) {
	if q.Sim == q.Obs {
		observeSame(q, src, dst)
		return
	}
	base, m := q.own.grid.base, q.own.grid.most
	to, most := q.others.grid.base, q.others.grid.most
	for c, v := range src {
		digit := int64(0)
		if v > base/2 {
			v, digit = v-base, to
		}
		dst[c] = int32(digit + clamp(floorDiv(2*v*most+m, 2*m), -most, most))
	}
}

// upright returns the vector part of the unit quaternion whose W is not negative: three numbers
// that say all.
func upright(q geom.Quat) (x, y, z float64) {
	if q.W < 0 {
		return -q.X, -q.Y, -q.Z
	}
	return q.X, q.Y, q.Z
}

func floorDiv(a, b int64) int64 {
	d := a / b
	if a%b < 0 {
		d--
	}
	return d
}

func abs(v int64) int64 { return max(v, -v) }

// isqrt returns the root of v, up to 2^62, rounded down.
func isqrt(v int64) int64 {
	r := int64(math.Sqrt(float64(v)))
	for r*r > v {
		r--
	}
	for (r+1)*(r+1) <= v {
		r++
	}
	return r
}

// nlerp goes from a to b, the short way round.
func nlerp(a, b geom.Quat, u float64) geom.Quat {
	if a.Dot(b) < 0 {
		b = geom.Quat{W: -b.W, X: -b.X, Y: -b.Y, Z: -b.Z}
	}
	q := geom.Quat{
		W: geom.Lerp(a.W, b.W, u), X: geom.Lerp(a.X, b.X, u),
		Y: geom.Lerp(a.Y, b.Y, u), Z: geom.Lerp(a.Z, b.Z, u),
	}
	return q.Unit()
}

// upQuat is upright's way back.
func upQuat(v []float64) geom.Quat {
	n := float64(v[0]*v[0]) + float64(v[1]*v[1]) + float64(v[2]*v[2])
	return geom.Quat{W: math.Sqrt(max(1-n, 0)), X: v[0], Y: v[1], Z: v[2]}
}
