package schema

import "reflect"

// Another entity, by its number.
var handleClass = class{
	name: "handle", goes: "game.Tick or game.ID", typed: "ID", works: "handle",
	tags:  tagRules{kind: reflect.Uint32, team: true, group: 1},
	facts: facts{shape: ShapeNumber},
	values: valueRules{
		load: loadUint32, store: storeUint32, clamp: clampUint32, observe: observeUint32,
		drawn: drawnUint32, exact: exactScaled, round: roundUint32,
		redraw: func(q *Prop, src []float64, dst []int64) {
			roundUint32(q, src, dst)
			dst[0] *= SubSteps
		},
		form: unsigned, delta: 6, alone: 10,
	},
}

// isHandle reports whether the property names an entity.
func (p *Prop) isHandle() bool { return p.Class == Handle }
