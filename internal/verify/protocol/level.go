package protocol

import (
	"math"
	"slices"
)

// Rounded returns what observers at a level receive of a value of the simulation.
func (p *Prop) Rounded(v int64, level int) int64 {
	switch t := p.turn(true); {
	case t > 0 && p.Sim != p.Obs:
		v = (2*v*t + int64(p.Sim)) / (2 * int64(p.Sim)) % t
	case p.Class == "quat":
		m, n := int64(p.Sim)/2-1, int64(p.Obs)/2-1
		digit := int64(0)
		if v > int64(p.Sim)/2 {
			v, digit = v-int64(p.Sim), int64(p.Obs)
		}
		v = min(floorDiv(2*v*n+m, 2*m), n) + digit
	default:
		v = min(max(p.observed(v), math.MinInt32), math.MaxInt32)
	}
	return p.coarsen(v, level)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// coarsened rounds values to a level.
func (k *Kind) coarsened(props []*Prop, vals []int64, level int) []int64 {
	vals = slices.Clone(vals)
	at := 0
	for _, p := range props {
		for range p.Comps {
			vals[at] = p.coarsen(vals[at], level)
			at++
		}
	}
	return vals
}

func (p *Prop) coarsen(v int64, level int) int64 {
	s := p.Shift[level]
	if s == 0 {
		return v
	}
	from, least, most := int64(0), int64(math.MinInt32), int64(math.MaxInt32)
	switch {
	case p.Class == "quat":
		b := int64(p.Obs)
		if v > b/2 {
			from = b
		}
		least, most = -(b/2 - 1), b/2-1
	case p.ranged():
		from, least, most = p.obsMin, 0, p.obsMax-p.obsMin
	}
	v = (v - from + 1<<(s-1)) >> s << s
	for v > most {
		v -= 1 << s
	}
	for v < least {
		v += 1 << s
	}
	if p.angle() && v >= int64(p.Obs) {
		v = 0
	}
	return v + from
}

// shorter says by how many bits the integers of a level are shorter on the wire.
func (p *Prop) shorter(level int) int {
	if s := p.Shift[level]; p.Class != "quat" && !(p.angle() && int64(p.Obs)&(1<<s-1) != 0) {
		return s
	}
	return 0
}

func atLevel(props []*Prop, level int) (ps []*Prop) {
	for _, p := range props {
		q, s := *p, p.shorter(level)
		q.Obs /= float64(int64(1) << s)
		q.lower = s
		if s > 0 && q.ranged() {
			q.obsMin, q.obsMax = 0, (p.obsMax-p.obsMin)>>s
		}
		ps = append(ps, &q)
	}
	return ps
}

func (p *Prop) floor(s int) int64 {
	if s > 0 && p.ranged() {
		return p.obsMin
	}
	return 0
}

func shrunk(props []*Prop, vals []int64, level int) []int64 {
	at := 0
	for _, p := range props {
		s := p.shorter(level)
		for range p.Comps {
			if vals != nil {
				vals[at] = (vals[at] - p.floor(s)) >> s
			}
			at++
		}
	}
	return vals
}

func grown(props []*Prop, vals []int64, level int) []int64 {
	at := 0
	for _, p := range props {
		s := p.shorter(level)
		for range p.Comps {
			vals[at] = int64(int32(vals[at]<<s + p.floor(s)))
			at++
		}
	}
	return vals
}
