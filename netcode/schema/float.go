package schema

import (
	"math"
	"reflect"

	"meanwhile/internal/fault"
)

// Any number, in steps, with bounds if the tag has a range.
var floatClass = class{
	name: "float", goes: "geom.Angle or float64", usual: true, works: "float,0.1",
	tags: tagRules{
		kind: reflect.Float64,
		steps: func(_ *Prop, word string) (float64, error) {
			if v, ok := number(word); ok && v >= 1e-9 && v <= 1e9 {
				return 1 / v, nil
			}
			return wantPrecision(word, "a step such as 0.1, from 1e-9 to 1e9")
		},
		need: "class float needs a precision", same: true, ranges: true,
		group: 1,
		finish: func(p *Prop, t *tag) error {
			if !t.ranged {
				return nil
			}
			p.Min, p.Max = round(float64(t.least*p.Sim)), round(float64(t.most*p.Sim))
			p.ranged = p.Min < p.Max
			if !p.ranged || observeOne(p, p.Min) < math.MinInt32 || observeOne(p, p.Max) > math.MaxInt32 {
				return fault.Errorf("a range of %v..%v has to be a step at least, and for observers at most 32 bits",
					t.least, t.most)
			}
			return nil
		},
	},
	facts: facts{shape: ShapeNumber, motion: Varies, graded: true},
	values: valueRules{
		load: loadScaled, store: storeScaled, clamp: clampScaled, observe: observeScaled,
		drawn: drawnScaled, exact: exactScaled, round: roundScaled,
		delta: 2, alone: 8,
	},
}
