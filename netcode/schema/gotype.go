package schema

import "reflect"

// fitting says what can be networked.
const fitting = "use geom.Vec2, geom.Vec3, geom.View, geom.Quat, geom.Angle, float64, an integer type, bool, string, " +
	"an array of 1 to 32 bytes, game.Tick or game.ID; keep other things outside of entities"

// A goType is what of a Go type decides which classes fit it.
type goType struct {
	name  string // in messages
	kind  reflect.Kind
	short string // its own name: Angle, Tick and ID are recognised by it
	n     int    // fields of a struct of float64, bytes of an array
	shape string // names of the fields of such a struct, joined
}

func typeOf(t reflect.Type) goType {
	g := goType{name: t.String(), kind: t.Kind(), short: t.Name()}
	switch {
	case t.Kind() == reflect.Struct && t.NumField() <= 4:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Type.Kind() != reflect.Float64 {
				g.n, g.shape = 0, ""
				break
			}
			g.n++
			g.shape += f.Name
		}
	case t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		g.n = t.Len()
	}
	return g
}

// vector returns how many fields a vector type has, 0 if it is none.
func (t goType) vector() int {
	if t.kind == reflect.Struct && (t.n == 2 || t.n == 3) && !t.view() {
		return t.n
	}
	return 0
}

// example returns a tag that works for a Go type: of the class with a name where that fits, else of
// the class that such types usually have; "" if none fits.
func (t goType) example(name string) string {
	best, works := 0, ""
	for _, c := range classes {
		rank := 0
		switch {
		case c.name == name:
			rank = 3
		case c.typed != "" && c.typed == t.short:
			rank = 2
		case c.usual:
			rank = 1
		}
		if rank > best && c.fits(new(Prop), t) {
			best, works = rank, c.works
		}
	}
	return works
}
