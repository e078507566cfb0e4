package schema

import (
	"reflect"
	"unsafe"
)

// Yes or no; in a command, a button that is held down.
var boolClass = class{
	name: "bool", goes: "bool", usual: true, works: "bool",
	tags:   tagRules{kind: reflect.Bool, group: 1},
	facts:  facts{shape: ShapeBool, input: InputHeld},
	values: boolRules,
}

var boolRules = valueRules{
	load: func(_ *Prop, f unsafe.Pointer, dst []int64) {
		dst[0] = 0
		if *(*bool)(f) {
			dst[0] = 1
		}
	},
	store:   func(_ *Prop, g *grid, f unsafe.Pointer, src []int64) { *(*bool)(f) = src[0]>>g.shift != 0 },
	clamp:   func(_ *Prop, v []int64) { v[0] &= 1 },
	observe: observeSame, drawn: drawnWhole, exact: exactScaled,
	round: func(_ *Prop, src []float64, dst []int64) {
		dst[0] = 0
		if src[0] != 0 && src[0] == src[0] {
			dst[0] = 1
		}
	},
	bits:  1,
	whole: true,
}
