package schema

import "strings"

// A velocity, in metres per second.
var velocityClass = class{
	name: "vel", goes: "geom.Vec2 or geom.Vec3", works: "vel,others=1cm/s",
	tags: tagRules{
		fits: fitsVector,
		sim:  256000, perTick: 1, obs: 100,
		steps: func(_ *Prop, word string) (float64, error) {
			if s, ok := strings.CutSuffix(word, "/s"); ok {
				if v, ok := length(s); ok {
					return v, nil
				}
			}
			return wantPrecision(word, "a speed such as 1cm/s")
		},
		slow: slowLength, unit: unit{suffix: "mm/s", speed: true},
	},
	facts: facts{shape: ShapeVec2, motion: Speeds, graded: true},
	values: valueRules{
		load: loadScaled, store: storeScaled, clamp: clampScaled, observe: observeScaled,
		drawn: drawnScaled, exact: exactScaled, round: roundScaled,
		delta: 4, alone: 8,
	},
}
