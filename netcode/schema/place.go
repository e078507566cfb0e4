package schema

import "meanwhile/internal/fault"

// A place, in metres.
var placeClass = class{
	name: "pos", goes: "geom.Vec2 or geom.Vec3", usual: true, works: "pos,others=1cm",
	tags: tagRules{
		fits: fitsVector,
		sim:  256000, obs: 100,
		steps: func(_ *Prop, word string) (float64, error) {
			if v, ok := length(word); ok {
				return v, nil
			}
			return wantPrecision(word, "a length such as 1cm, 1mm or 1/256mm")
		},
		slow: slowLength, unit: unit{suffix: "mm"},
		curves: true, reckons: true, leader: Vel,
	},
	facts: facts{shape: ShapeVector, motion: Travels, graded: true},
	values: valueRules{
		load: loadScaled, store: storeScaled, clamp: clampScaled, observe: observeScaled,
		drawn: drawnScaled, exact: exactScaled, round: roundScaled,
		redraw: func(q *Prop, src []float64, dst []int64) {
			for c, v := range src {
				dst[c] = round(float64(v * q.drawn.per))
			}
		},
		delta: 4, alone: 12,
	},
}

func fitsVector(p *Prop, t goType) bool {
	p.Comps = t.vector()
	return p.Comps > 0
}

func slowLength(word string) (perSecond float64, ok bool) {
	n, ok := length(word)
	return 1 / n, ok
}

// wantPrecision is the mistake of a precision that a class does not know.
func wantPrecision(word, want string) (float64, error) {
	return 0, fault.Errorf("precision %q, want %s", word, want)
}

// isPlace reports whether the property is a place.
func (p *Prop) isPlace() bool { return p.Class == Pos }
