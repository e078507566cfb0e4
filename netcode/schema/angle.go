package schema

import (
	"math"
	"reflect"
	"strings"
	"unsafe"
)

const twoPi = 2 * math.Pi

// A direction, in radians.
var angleClass = class{
	name: "angle", goes: "geom.Angle or float64", typed: "Angle", works: "angle,1deg",
	tags: tagRules{
		kind: reflect.Float64, sim: 65536, obs: 65536, steps: stepsOfTurn, same: true,
		slow: slowTurn, unit: unit{suffix: "deg", degrees: true},
		reckons: true, leader: Spin,
	},
	facts: facts{shape: ShapeAngle, motion: Turns, graded: true, turns: true, faces: true},
	values: valueRules{
		load: func(q *Prop, f unsafe.Pointer, dst []int64) {
			dst[0] = wrap(round(float64(*(*float64)(f)/twoPi*q.Sim)), q.SimTurn)
		},
		store:   storeTurn,
		clamp:   func(q *Prop, v []int64) { v[0] = wrap(v[0], q.SimTurn) },
		observe: observeTurn, drawn: drawnTurn, exact: exactTurn,
		round:  func(q *Prop, src []float64, dst []int64) { dst[0] = round(float64(src[0] / twoPi * q.Sim)) },
		redraw: redrawTurn,
		delta:  3,
	},
}

func stepsOfTurn(_ *Prop, word string) (float64, error) {
	if s, ok := strings.CutSuffix(word, "deg"); ok {
		if v, ok := number(s); ok && 360/v >= 2 && 360/v <= 1<<24 {
			return math.Floor(360/v + 0.5), nil
		}
	}
	if n := bitWord(word, 1, 24); n > 0 {
		return float64(int64(1) << uint(n)), nil
	}
	return wantPrecision(word, "an angle such as 1deg, or 8bit up to 24bit")
}

func slowTurn(word string) (perSecond float64, ok bool) {
	word, deg := strings.CutSuffix(word, "deg")
	n, ok := number(word)
	return float64(n * (twoPi / 360)), ok && deg && n >= 1e-6 && n <= 1e6
}

// wrap brings v into 0 to turn-1.
func wrap(v, turn int64) int64 {
	if turn&(turn-1) == 0 { // as most are
		return v & (turn - 1)
	}
	if v %= turn; v < 0 {
		v += turn
	}
	return v
}

// turnToAngle maps 0..turn-1 to radians in (-pi, pi].
func turnToAngle(v, turn int64) float64 {
	if 2*v > turn {
		v -= turn
	}
	return float64(float64(v) / float64(turn) * twoPi)
}

func storeTurn(_ *Prop, g *grid, f unsafe.Pointer, src []int64) {
	for c := range src {
		*(*float64)(unsafe.Add(f, c*8)) = turnToAngle(src[c], g.turn)
	}
}

func observeTurn(q *Prop, src []int64, dst []int32) {
	if q.Sim == q.Obs {
		observeSame(q, src, dst)
		return
	}
	for c, v := range src {
		dst[c] = int32(wrap((2*v*q.Turn+q.SimTurn)/(2*q.SimTurn), q.Turn))
	}
}

func drawnTurn(q *Prop, src []int64, dst []float64) {
	for c, v := range src {
		dst[c] = turnToAngle(v, q.drawn.turn)
	}
}

func exactTurn(q *Prop, a, b []int64, u float64, dst []float64) {
	for c, to := range b {
		from := a[c]
		d := wrap(to-from, q.SimTurn)
		if 2*d > q.SimTurn {
			d -= q.SimTurn
		}
		if dst[c] = float64((float64(from) + float64(float64(d)*u)) / q.Sim * twoPi); dst[c] > twoPi/2 {
			dst[c] -= twoPi
		}
	}
}

func redrawTurn(q *Prop, src []float64, dst []int64) {
	for c, v := range src {
		dst[c] = wrap(round(float64(v/twoPi*float64(q.drawn.turn))), q.drawn.turn)
	}
}
