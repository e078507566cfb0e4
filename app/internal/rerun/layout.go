package rerun

import (
	"fmt"
	"math"
)

// A Layout says what the floats of a frame mean: what a page gets from its engine.
type Layout struct {
	Game  string
	Rate  float64
	Kinds []KindLayout
	Stats []string
}

// A KindLayout describes the entities of a kind.
type KindLayout struct {
	Name       string
	Properties []Field
}

// A Field is a property.
type Field struct {
	Name, Type string
	Length     int
}

// size returns how many floats a property has.
func (f *Field) size() int {
	switch f.Type {
	case "vec2", "view":
		return 2
	case "vec3", "quat":
		return 3
	case "bytes":
		return (f.Length + 3) / 4
	}
	return 1
}

// An Entity is one as a page drew it.
type Entity struct {
	ID                            uint32
	Kind                          string
	Mine, Cut, Predicted, Stalled bool
	Placed                        bool
	X, Y, Z                       float64 // metres
	LateMs                        float64 // drawn later than the others by this
	IntervalMs                    float64 // between its records
	Values                        []float64
}

const headFloats = 8

// Flags of entities; docs/BRIDGE.md describes them.
const (
	flagMine = 1 << iota
	flagCut
	flagPredicted
	flagStalled
	lateUnit
)

// Picture is what a frame showed.
type Picture struct {
	Me       uint32
	Stats    map[string]float64
	Entities []Entity
}

// Read returns the picture that floats are.
func (l *Layout) Read(f []float64) (*Picture, error) {
	if len(f) < headFloats || f[4] != float64(len(l.Stats)) || f[5] != float64(len(l.Kinds)) {
		return nil, fmt.Errorf("%w: floats that are no picture of %s", ErrMalformed, l.Game)
	}
	p := &Picture{Me: uint32(f[2]), Stats: map[string]float64{}}
	at := headFloats
	take := func(n int) []float64 {
		if at+n > len(f) {
			at = len(f) + 1
			return make([]float64, n)
		}
		at += n
		return f[at-n : at]
	}
	for i, v := range take(len(l.Stats)) {
		p.Stats[l.Stats[i]] = v
	}
	for i := range l.Kinds {
		k := &l.Kinds[i]
		for n := take(1)[0]; n > 0 && at <= len(f); n-- {
			head := take(3)
			flags := int(head[1])
			e := Entity{ID: uint32(head[0]), Kind: k.Name, Mine: flags&flagMine != 0, Cut: flags&flagCut != 0,
				Predicted: flags&flagPredicted != 0, Stalled: flags&flagStalled != 0, LateMs: float64(flags / lateUnit),
				IntervalMs: head[2]}
			first := at
			for j := range k.Properties {
				e.place(&k.Properties[j], take(k.Properties[j].size()))
			}
			if at <= len(f) {
				e.Values = f[first:at]
				p.Entities = append(p.Entities, e)
			}
		}
	}
	if at > len(f) {
		return nil, fmt.Errorf("%w: a picture of %s is cut off", ErrMalformed, l.Game)
	}
	return p, nil
}

// place notes where the entity is: its first vector that is known.
func (e *Entity) place(f *Field, v []float64) {
	if e.Placed || f.Type != "vec2" && f.Type != "vec3" || math.IsNaN(v[0]) {
		return
	}
	e.Placed, e.X, e.Y = true, v[0], v[1]
	if len(v) > 2 {
		e.Z = v[2]
	}
}
