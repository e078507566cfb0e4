package schema

import (
	"meanwhile/geom"
	"meanwhile/internal/fault"
)

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
	facts: facts{shape: ShapeVec2, motion: Travels, graded: true},
	values: valueRules{
		load: loadScaled, store: storeScaled, clamp: clampScaled, observe: observeScaled,
		drawn: drawnScaled, exact: exactScaled, round: roundScaled,
		redraw: redrawScaled,
		delta:  4, alone: 12,
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

// PlaceProp returns the property that says where an entity is, relative to its parent if it has
// one; nil if none does.
func (k *Kind) PlaceProp() *Prop {
	if k.Place < 0 {
		return nil
	}
	return &k.Props[k.Place]
}

// PlaceOf returns where an entity is, from the kind's numbers as AppendDrawn and AppendExact make
// them. ok is false if it has no place.
func (k *Kind) PlaceOf(vals []float64) (at geom.Vec3, ok bool) {
	p := k.PlaceProp()
	if p == nil {
		return at, false
	}
	if at.X, at.Y = vals[p.At], vals[p.At+1]; p.Comps == 3 {
		at.Z = vals[p.At+2]
	}
	return at, true
}

// DrawnPlace returns the place among drawn observer integers, as StoreDrawn writes it: zero if
// observers do not receive it. ok is false if the kind has no place.
func (k *Kind) DrawnPlace(drawn []int64) (at geom.Vec3, ok bool) {
	p := k.PlaceProp()
	if p == nil || p.ObsAt < 0 {
		return at, p != nil
	}
	var v [3]float64
	drawnScaled(p, drawn[p.ObsAt:p.ObsAt+p.Comps], v[:])
	return geom.Vec3{X: v[0], Y: v[1], Z: v[2]}, true
}

// DrawnParent returns whom such a place is relative to, 0: nobody.
func (k *Kind) DrawnParent(drawn []int64) uint32 {
	if k.Parent < 0 || k.Props[k.Parent].ObsAt < 0 {
		return 0
	}
	return uint32(drawn[k.Props[k.Parent].ObsAt] / SubSteps)
}

// Millimetres returns how long an observer step of a place is.
func (p *Prop) Millimetres() float64 { return 1000 / p.Obs }

// isPlace reports whether the property is a place.
func (p *Prop) isPlace() bool { return p.Class == Pos }
