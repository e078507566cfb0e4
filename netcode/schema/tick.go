package schema

import (
	"math"
	"reflect"
	"unsafe"
)

// A tick number.
var tickClass = class{
	name: "tick", goes: "game.Tick or game.ID", typed: "Tick", works: "tick",
	tags:  tagRules{kind: reflect.Uint32, group: 1},
	facts: facts{shape: ShapeNumber},
	values: valueRules{
		load: loadUint32, store: storeUint32, clamp: clampUint32, observe: observeUint32,
		drawn: drawnUint32, exact: exactScaled, round: roundUint32,
		form: tickNumber, delta: 4, alone: 6,
	},
}

// Values of all 32 bits, of which observers hold the upper half as negative ones.

func loadUint32(_ *Prop, f unsafe.Pointer, dst []int64) { dst[0] = int64(*(*uint32)(f)) }

func storeUint32(_ *Prop, g *grid, f unsafe.Pointer, src []int64) {
	*(*uint32)(f) = uint32(src[0] >> g.shift)
}

// clampUint32 keeps what roundUint32 made, and of all else 32 bits.
func clampUint32(_ *Prop, v []int64) { v[0] &= math.MaxUint32 }

func observeUint32(_ *Prop, src []int64, dst []int32) {
	for c, v := range src {
		dst[c] = int32(uint32(v))
	}
}

func drawnUint32(_ *Prop, src []int64, dst []float64) {
	for c, v := range src {
		dst[c] = float64(uint32(v >> 8))
	}
}

func roundUint32(_ *Prop, src []float64, dst []int64) {
	dst[0] = clamp(round(src[0]), 0, math.MaxUint32)
}
