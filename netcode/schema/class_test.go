package schema

import (
	"reflect"
	"testing"
)

// Each class has all that others call without asking, a name of its own, and an example that fits
// some Go type.
func TestClassesAreComplete(t *testing.T) {
	types := []goType{
		{kind: reflect.Struct, n: 2, shape: "XY"},
		{kind: reflect.Struct, n: 2, shape: "YawPitch"},
		{kind: reflect.Struct, n: 4, shape: "WXYZ"},
		{kind: reflect.Float64},
		{kind: reflect.Bool},
		{kind: reflect.String},
		{kind: reflect.Array, n: 5},
		{kind: reflect.Uint32},
	}
	names := map[string]bool{}
	for i, c := range classes {
		v := reflect.ValueOf(c.values)
		for _, f := range []string{"load", "store", "clamp", "observe", "drawn", "exact", "round"} {
			if v.FieldByName(f).IsNil() {
				t.Errorf("class %s has no %s", c.name, f)
			}
		}
		if c.name == "" || names[c.name] || c.goes == "" || c.facts.shape == "" {
			t.Errorf("class %d has the name %q, fits %q and looks like %q", i, c.name, c.goes, c.facts.shape)
		}
		names[c.name] = true
		works := 0
		for _, goes := range types {
			p := Prop{tag: written{text: c.works}}
			if p.parse(goes, 30) == nil && p.Class == Class(i) {
				works++
			}
		}
		if works == 0 {
			t.Errorf("class %s: its example %q works for no Go type", c.name, c.works)
		}
	}
}
