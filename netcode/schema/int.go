package schema

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"meanwhile/internal/fault"
)

// An integer in a range, both ends included.
var intClass = class{
	name: "int", goes: "an integer type", usual: true, works: "int,0..100",
	tags: tagRules{
		fits: fitsInteger,
		steps: func(p *Prop, word string) (float64, error) {
			lo, hi, found := strings.Cut(word, "..")
			a, err1 := strconv.ParseInt(lo, 10, 64)
			b, err2 := strconv.ParseInt(hi, 10, 64)
			if !found || err1 != nil || err2 != nil || a > b || a < math.MinInt32 || b > math.MaxInt32 {
				return wantPrecision(word, "a range such as 0..999 within 32 bits")
			}
			if least, most, _ := intRange(p.field.kind); a < least || b > most {
				return wantPrecision(word, fault.Sprintf("a range that fits Go type %s", p.field.kind))
			}
			p.Min, p.Max, p.ranged = a, b, true
			return 1, nil
		},
		need: "class int needs a precision", team: true, group: 1,
	},
	facts: facts{shape: ShapeNumber},
	values: valueRules{
		load: loadInt, store: storeInt, clamp: clampScaled, observe: observeSame,
		drawn: drawnWhole, exact: exactScaled, round: roundWhole,
		delta: 2,
	},
}

func loadInt(q *Prop, f unsafe.Pointer, dst []int64) { dst[0] = clamp(q.field.load(f), q.Min, q.Max) }

func storeInt(q *Prop, g *grid, f unsafe.Pointer, src []int64) { q.field.store(f, src[0]>>g.shift) }

func fitsInteger(_ *Prop, t goType) bool {
	_, _, ok := intRange(t.kind)
	return ok
}

// drawnWhole and roundWhole are for integers between which there is nothing.
func drawnWhole(_ *Prop, src []int64, dst []float64) {
	for c, v := range src {
		dst[c] = float64(v >> 8)
	}
}

func roundWhole(_ *Prop, src []float64, dst []int64) {
	for c, v := range src {
		dst[c] = round(v)
	}
}

// intRange returns the least and the largest value of an integer type, as far as an int64 goes.
func intRange(k reflect.Kind) (least, most int64, ok bool) {
	switch k {
	case reflect.Int, reflect.Int64:
		return math.MinInt64, math.MaxInt64, true
	case reflect.Int8:
		return math.MinInt8, math.MaxInt8, true
	case reflect.Int16:
		return math.MinInt16, math.MaxInt16, true
	case reflect.Int32:
		return math.MinInt32, math.MaxInt32, true
	case reflect.Uint, reflect.Uint64:
		return 0, math.MaxInt64, true
	case reflect.Uint8:
		return 0, math.MaxUint8, true
	case reflect.Uint16:
		return 0, math.MaxUint16, true
	case reflect.Uint32:
		return 0, math.MaxUint32, true
	}
	return 0, 0, false
}

// load reads an integer field.
func (d *field) load(p unsafe.Pointer) int64 {
	switch d.kind {
	case reflect.Int:
		return int64(*(*int)(p))
	case reflect.Int8:
		return int64(*(*int8)(p))
	case reflect.Int16:
		return int64(*(*int16)(p))
	case reflect.Int32:
		return int64(*(*int32)(p))
	case reflect.Int64:
		return *(*int64)(p)
	case reflect.Uint:
		return int64(min(*(*uint)(p), math.MaxInt32)) // no range ends beyond
	case reflect.Uint64:
		return int64(min(*(*uint64)(p), math.MaxInt32))
	case reflect.Uint8:
		return int64(*(*uint8)(p))
	case reflect.Uint16:
		return int64(*(*uint16)(p))
	}
	return int64(*(*uint32)(p))
}

// store writes an integer field.
func (d *field) store(p unsafe.Pointer, v int64) {
	switch d.kind {
	case reflect.Int:
		*(*int)(p) = int(v)
	case reflect.Int8:
		*(*int8)(p) = int8(v)
	case reflect.Int16:
		*(*int16)(p) = int16(v)
	case reflect.Int32:
		*(*int32)(p) = int32(v)
	case reflect.Int64:
		*(*int64)(p) = v
	case reflect.Uint:
		*(*uint)(p) = uint(v)
	case reflect.Uint64:
		*(*uint64)(p) = uint64(v)
	case reflect.Uint8:
		*(*uint8)(p) = uint8(v)
	case reflect.Uint16:
		*(*uint16)(p) = uint16(v)
	default:
		*(*uint32)(p) = uint32(v)
	}
}
