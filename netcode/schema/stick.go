package schema

import (
	"math"
	"unsafe"
)

// A direction within the unit disc: where the player of a command wants to go.
var stickClass = class{
	name: "stick", goes: "geom.Vec2", works: "stick,5bit",
	tags: tagRules{
		fits: func(p *Prop, t goType) bool {
			p.Comps = t.vector()
			return p.Comps == 2
		},
		sim: 15, obs: 15,
		steps: func(_ *Prop, word string) (float64, error) {
			if n := bitWord(word, 2, 16); n > 0 {
				return float64(int64(1)<<uint(n-1) - 1), nil
			}
			return wantPrecision(word, "2bit up to 16bit")
		},
		same: true, group: 1,
	},
	facts: facts{shape: ShapeVec2, input: InputMove},
	values: valueRules{
		load: func(q *Prop, f unsafe.Pointer, dst []int64) {
			roundStick(q, *(*float64)(f), *(*float64)(unsafe.Add(f, 8)), dst)
		},
		store: storeScaled, clamp: intoDisc, observe: observeSame, drawn: drawnScaled,
		exact: exactScaled,
		round: func(q *Prop, src []float64, dst []int64) { roundStick(q, src[0], src[1], dst) },
		whole: true,
	},
}

// isStick reports whether the property is within a disc.
func (p *Prop) isStick() bool { return p.Class == Stick }

// roundStick rounds a direction, shortened to length 1 where it is longer.
func roundStick(q *Prop, x, y float64, dst []int64) {
	if n := float64(x*x) + float64(y*y); n > 1 {
		n = math.Sqrt(n)
		x, y = x/n, y/n
	}
	dst[0], dst[1] = round(float64(x*q.Sim)), round(float64(y*q.Sim))
	intoDisc(q, dst)
}

// intoDisc brings a stick into its disc, in whole steps. Rounding may leave the disc by half a
// step, and sender and receiver must agree on what that becomes: doing it twice changes nothing.
func intoDisc(q *Prop, s []int64) {
	m := int64(q.Sim)
	s[0], s[1] = clamp(s[0], -m, m), clamp(s[1], -m, m)
	if n2 := s[0]*s[0] + s[1]*s[1]; n2 > (m+2)*(m+2) { // no rounding of ours: shorten it, towards zero
		n := int64(math.Sqrt(float64(n2))) + 1
		s[0], s[1] = s[0]*m/n, s[1]*m/n
	}
	for s[0]*s[0]+s[1]*s[1] > m*m { // at most a few times
		big := 0
		if max(s[1], -s[1]) > max(s[0], -s[0]) {
			big = 1
		}
		if s[big] > 0 {
			s[big]--
		} else {
			s[big]++
		}
	}
}
