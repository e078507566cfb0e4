package protocol

import (
	"math"
)

// What is drawn, as the document's "Drawing" tells it.

// Waits are by how many ticks a record of each class is shown later.
var Waits = []int64{0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85, 113}

func (s *State) shown() int64 { return 256 * (s.Tick + Waits[s.Bound]) }

// Draw returns what is drawn of a group at playout time t, in 1/256 steps, from a and the next
// newer record b, nil if there is none.
func Draw(k *Kind, g int, a, b *State, t int64) (drawn []int64) {
	props := k.members(g)
	at := places(props)
	u := int64(0)
	jumped := false
	if b != nil {
		jumped = k.jumps(props, at, a, b)
		u = fraction(a, b, t, jumped)
	}
	to := a
	if b != nil {
		to = b
	}
	for _, p := range props {
		i := at[p.Name]
		x, y := a.Vals[i:i+p.Comps], to.Vals[i:i+p.Comps]
		var v []int64
		switch {
		case p.velocity(props) != nil && p.Draw == 3:
			q := p.velocity(props)
			v = reckon(p, k, a, b, x, y, at[q.Name], rateOf(p, q, k), t, u, jumped || b != nil && b.Cut > a.Tick)
		case u >= 65536:
			v = times256(y)
		case u <= 0 || p.Draw == 0 && p.Class != "quat":
			v = times256(x)
		case p.Class == "quat":
			v = rotate(x, y, u, int64(p.Obs))
		case p.angle():
			turn := int64(p.Obs)
			for c := range x {
				from, d := x[c], short(y[c]-x[c], turn)
				if c == 1 { // a pitch does not go round
					from, d = signed(x[c], turn), signed(y[c], turn)-signed(x[c], turn)
				}
				v = append(v, mod(256*from+(256*d*u>>16), 256*turn))
			}
		case p.Draw == 2:
			q := p.velocity(props)
			j := at[q.Name]
			for c := range x {
				v = append(v, cubic(x[c], y[c], a.Vals[j+c], b.Vals[j+c], rateOf(p, q, k), a, b, u))
			}
		default:
			for c := range x {
				v = append(v, 256*x[c]+((y[c]-x[c])*u>>8))
			}
		}
		drawn = append(drawn, v...)
	}
	return drawn
}

func times256(vals []int64) (v []int64) {
	for _, x := range vals {
		v = append(v, 256*x)
	}
	return v
}

func mod(v, turn int64) int64 { return (v%turn + turn) % turn }

// short is a difference of angles the short way round, half a turn being positive.
func short(d, turn int64) int64 {
	if d = mod(d, turn); 2*d > turn {
		d -= turn
	}
	return d
}

// signed counts a pitch from -turn/2 on.
func signed(v, turn int64) int64 { return short(v, turn) }

func (k *Kind) jumps(props []*Prop, at map[string]int, a, b *State) bool {
	for _, p := range props {
		i := at[p.Name]
		if p.Parent && a.Vals[i] != b.Vals[i] {
			return true
		}
		if p.Warp > 0 {
			sum := float64(0)
			for c := i; c < i+p.Comps; c++ {
				d := float64(b.Vals[c] - a.Vals[c])
				sum += float64(d * d)
			}
			if sum > float64(p.Warp*p.Warp) {
				return true
			}
		}
	}
	return false
}

func fraction(a, b *State, t int64, jumped bool) int64 {
	late := 256 * Waits[b.Bound]
	from, to := a.shown(), b.shown()
	switch {
	case t >= to:
		return 65536
	case b.Cut > a.Tick:
		if t >= 256*b.Cut+late {
			return 65536
		}
		return 0
	case jumped:
		return 0
	}
	if b.Start > a.Tick+1 {
		from = max(from, 256*(b.Start-1)+late)
	}
	if t <= from {
		return 0
	}
	return 65536 * (t - from) / (to - from)
}

// velocity returns what a property is drawn by.
func (p *Prop) velocity(props []*Prop) *Prop {
	if p.Draw != 2 && p.Draw != 3 {
		return nil
	}
	want := "vel"
	if p.angle() {
		want = "spin"
	}
	for _, q := range props {
		if q.Class == want && q.Comps == p.Comps {
			return q
		}
	}
	return nil
}

func rateOf(p, v *Prop, k *Kind) int64 {
	per := p.Obs
	if p.angle() {
		per /= 2 * math.Pi
	}
	return min(int64(math.Floor(per/float64(v.Obs*float64(k.Rate))*(1<<32)+0.5)), 1<<36)
}

func clamp(v, lo, hi int64) int64 { return min(max(v, lo), hi) }

func cubic(x, y, v, w, q int64, a, b *State, u int64) int64 {
	since := a.Tick
	if b.Start > a.Tick+1 {
		since = b.Start - 1
	}
	ticks, d := min(b.Tick-since, 256), y-x
	tangent := func(v int64) int64 {
		t := (clamp(v, -1<<24, 1<<24) * q >> 16) * ticks >> 16
		return clamp(t, min(0, 3*d), max(0, 3*d))
	}
	u2 := u * u >> 16
	u3 := u2 * u >> 16
	s := 256*x + (((3*u2-2*u3)*d + (u3-2*u2+u)*tangent(v) + (u3-u2)*tangent(w)) >> 8)
	return clamp(s, 256*min(x, y), 256*max(x, y))
}

// reckon draws on from the older record, and leads over to the newer one.
func reckon(p *Prop, k *Kind, a, b *State, x, y []int64, vel int, q, t, u int64, jump bool) (v []int64) {
	turn := int64(0)
	if p.angle() {
		turn = 256 * int64(p.Obs)
	}
	on := func(s *State, vals []int64, c int, t int64) int64 {
		dt := clamp(t-s.shown(), 0, 65536)
		if s.Rest {
			dt = 0
		}
		return 256*vals[c] + ((clamp(s.Vals[vel+c], -1<<24, 1<<24)*q>>16)*dt)>>16
	}
	for c := range x {
		var r int64
		switch {
		case b == nil:
			r = on(a, x, c, t)
		case u >= 65536:
			r = on(b, y, c, t)
		default:
			r = on(a, x, c, t)
			from := max(b.shown()-4*256, a.shown())
			if b.Start > a.Tick+1 {
				from = max(from, 256*(b.Start-1+Waits[b.Bound]))
			}
			if to := b.shown(); !jump && t > from {
				e := 256*y[c] - on(a, x, c, to)
				if turn > 0 {
					e = short(e, turn)
				}
				r += e * (65536 * (t - from) / (to - from)) >> 16
			}
		}
		if turn > 0 {
			r = mod(r, turn)
		}
		v = append(v, r)
	}
	return v
}

// root is a square root, rounded down.
func root(v int64) int64 {
	r := int64(math.Sqrt(float64(v)))
	for r*r > v {
		r--
	}
	for (r+1)*(r+1) <= v {
		r++
	}
	return r
}

// whole makes a rotation W X Y Z in 1/256 steps.
func whole(v []int64, base int64) (q [4]int64) {
	m, largest := 256*(base/2-1), 0
	left := 2 * m * m
	var three [3]int64
	for c := range three {
		x := v[c]
		if c < 2 && x > base/2 {
			x -= base
			largest |= 1 << c
		}
		three[c] = 256 * x
		left -= three[c] * three[c]
	}
	c := 0
	for i := range q {
		if i == largest {
			q[i] = root(max(left, 0))
			continue
		}
		q[i] = three[c]
		c++
	}
	return q
}

func rotate(x, y []int64, u, base int64) []int64 {
	a, b := whole(x, base), whole(y, base)
	m, dot, square := 256*(base/2-1), int64(0), int64(0)
	for i := range a {
		dot += a[i] * b[i] >> 16
	}
	var q [4]int64
	for i := range q {
		if dot < 0 {
			b[i] = -b[i]
		}
		q[i] = a[i] + ((b[i] - a[i]) * u >> 16)
		square += q[i] * q[i]
	}
	all, length := root(2*m*m), max(root(square), 1)
	largest := 0
	for i := range q {
		q[i] = q[i] * all / length
		if abs(q[i]) > abs(q[largest]) {
			largest = i
		}
	}
	var v []int64
	for i := range q {
		if i == largest {
			continue
		}
		x := q[i]
		if q[largest] < 0 {
			x = -x
		}
		v = append(v, clamp(x, -m, m))
	}
	v[0] += 256 * base * int64(largest&1)
	v[1] += 256 * base * int64(largest>>1)
	return v
}
