package schema

import (
	"reflect"
	"strings"
)

// An angular velocity, in radians per second.
var spinClass = class{
	name: "spin", goes: "geom.Vec3, geom.Angle or float64", works: "spin,1deg/s",
	tags: tagRules{
		fits: func(p *Prop, t goType) bool {
			if t.kind == reflect.Struct {
				p.Comps = t.vector()
			}
			return t.kind == reflect.Float64 || p.Comps == 3
		},
		sim: 65536, perTick: twoPi, obs: 360 / twoPi,
		steps: func(_ *Prop, word string) (float64, error) {
			if s, ok := strings.CutSuffix(word, "deg/s"); ok {
				if v, ok := number(s); ok && v >= 1e-6 && v <= 1e6 {
					return 360 / float64(v*twoPi), nil
				}
			}
			return wantPrecision(word, "an angular velocity such as 1deg/s")
		},
		slow: slowTurn, unit: unit{suffix: "deg/s", degrees: true, speed: true},
	},
	facts: facts{shape: ShapeVec2, motion: Varies, graded: true},
	values: valueRules{
		load: loadScaled, store: storeScaled, clamp: clampScaled, observe: observeScaled,
		drawn: drawnScaled, exact: exactScaled, round: roundScaled,
		delta: 4, alone: 8,
	},
}
