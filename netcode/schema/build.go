package schema

import (
	"reflect"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

// Build begins a Kind without reflection, for programs that must be small. sample is any value of
// the struct type; the fields that Add names are fields of it. The result equals that of New for
// the same fields and tags in the same order, but its Type is nil.
//
//	var r Runner
//	kind, err := schema.Build("runner", 30, &r).
//		Add("Pos", &r.Pos, "pos,others=1cm").
//		Add("Team", schema.Integer(&r.Team), "enum,red|blue").
//		Kind()
func Build[T any](name string, rate int, sample *T) *Builder {
	b := builder(name, name, rate)
	b.base, b.size = unsafe.Pointer(sample), unsafe.Sizeof(*sample) // kept, so that it stays where it is
	return b
}

// A Field is a field of a type of your own, see Integer and Array.
type Field struct {
	at unsafe.Pointer
	t  goType
}

// Integer is a field whose type is made of an integer type.
func Integer[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](p *T) Field {
	var zero T
	signed := zero-1 < zero
	kind := reflect.Uint64
	switch size := unsafe.Sizeof(zero); {
	case size == 1 && signed:
		kind = reflect.Int8
	case size == 2 && signed:
		kind = reflect.Int16
	case size == 4 && signed:
		kind = reflect.Int32
	case signed:
		kind = reflect.Int64
	case size == 1:
		kind = reflect.Uint8
	case size == 2:
		kind = reflect.Uint16
	case size == 4:
		kind = reflect.Uint32
	}
	return Field{unsafe.Pointer(p), goType{name: kind.String(), kind: kind}}
}

// Array is a field whose type is an array of bytes: Array(r.Key[:]).
func Array(b []byte) Field {
	return Field{unsafe.Pointer(unsafe.SliceData(b)), goType{name: fault.Sprintf("[%d]uint8", len(b)), kind: reflect.Array, n: len(b)}}
}

// Add adds a field with the words of its tag. field points to it: to a geom.Vec2, Vec3, View, Quat
// or Angle, a float64, bool, string, integer or clock.Tick; fields of other types are a Field.
func (b *Builder) Add(name string, field any, tag string) *Builder {
	f, _ := field.(Field)
	switch p := field.(type) {
	case *geom.Vec2:
		f = Field{unsafe.Pointer(p), goType{name: "geom.Vec2", kind: reflect.Struct, n: 2, shape: "XY"}}
	case *geom.Vec3:
		f = Field{unsafe.Pointer(p), goType{name: "geom.Vec3", kind: reflect.Struct, n: 3, shape: "XYZ"}}
	case *geom.View:
		f = Field{unsafe.Pointer(p), goType{name: "geom.View", kind: reflect.Struct, n: 2, shape: "YawPitch"}}
	case *geom.Quat:
		f = Field{unsafe.Pointer(p), goType{name: "geom.Quat", kind: reflect.Struct, n: 4, shape: "WXYZ"}}
	case *geom.Angle:
		f = Field{unsafe.Pointer(p), goType{name: "geom.Angle", kind: reflect.Float64, short: "Angle"}}
	case *float64:
		f = Field{unsafe.Pointer(p), goType{name: "float64", kind: reflect.Float64}}
	case *bool:
		f = Field{unsafe.Pointer(p), goType{name: "bool", kind: reflect.Bool}}
	case *string:
		f = Field{unsafe.Pointer(p), goType{name: "string", kind: reflect.String}}
	case *clock.Tick:
		f = Integer(p)
		f.t.name, f.t.short = "clock.Tick", "Tick"
	case *int:
		f = Integer(p)
	case *int8:
		f = Integer(p)
	case *int16:
		f = Integer(p)
	case *int32:
		f = Integer(p)
	case *int64:
		f = Integer(p)
	case *uint:
		f = Integer(p)
	case *uint8:
		f = Integer(p)
	case *uint16:
		f = Integer(p)
	case *uint32:
		f = Integer(p)
	case *uint64:
		f = Integer(p)
	}
	if f.at == nil {
		b.errs = append(b.errs, fault.Errorf("%s.%s is added as a %T, want a pointer to a field, or Integer or Array of one", b.title, name, field))
		return b
	}
	offset := uintptr(f.at) - uintptr(b.base)
	if offset >= b.size { // also where it lies before the sample
		b.errs = append(b.errs, fault.Errorf("%s.%s is added with a pointer that does not point into the sample", b.title, name))
		return b
	}
	b.add(name, tag, true, offset, f.t)
	return b
}
