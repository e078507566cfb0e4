package schema

import (
	"reflect"
	"unsafe"
)

// A direction of sight: yaw and pitch in radians. The pitch is kept as an angle too, down being the
// end of a turn.
var viewClass = class{
	name: "view", goes: "geom.View", usual: true, works: "view,1deg",
	tags: tagRules{
		fits: func(p *Prop, t goType) bool {
			p.Comps = 2
			return t.view()
		},
		sim: 65536, obs: 65536, steps: stepsOfTurn, same: true,
	},
	facts: facts{shape: ShapeView, motion: Turns, graded: true, turns: true, faces: true},
	values: valueRules{
		load: func(q *Prop, f unsafe.Pointer, dst []int64) {
			roundView(q, *(*float64)(f), *(*float64)(unsafe.Add(f, 8)), dst)
		},
		store: storeTurn,
		clamp: func(q *Prop, v []int64) {
			v[0] = wrap(v[0], q.SimTurn)
			if v[1] = wrap(v[1], q.SimTurn); 2*v[1] > q.SimTurn {
				v[1] -= q.SimTurn
			}
			v[1] = wrap(clamp(v[1], -q.SimTurn/4, q.SimTurn/4), q.SimTurn)
		},
		observe: observeTurn, drawn: drawnTurn, exact: exactTurn,
		round:  func(q *Prop, src []float64, dst []int64) { roundView(q, src[0], src[1], dst) },
		redraw: redrawTurn,
		delta:  3,
	},
}

func (t goType) view() bool { return t.kind == reflect.Struct && t.shape == "YawPitch" }

// roundView keeps the pitch within a quarter of a turn.
func roundView(q *Prop, yaw, pitch float64, dst []int64) {
	dst[0] = wrap(round(float64(yaw/twoPi*q.Sim)), q.SimTurn)
	dst[1] = wrap(clamp(round(float64(pitch/twoPi*q.Sim)), -q.SimTurn/4, q.SimTurn/4), q.SimTurn)
}

// Pitch reports whether a component is a pitch: it goes up and down, and never the short way over
// the back.
func (p *Prop) Pitch(c int) bool { return p.Class == View && c == 1 }
