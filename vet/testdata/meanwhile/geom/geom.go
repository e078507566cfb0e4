// Package geom rounds what it is given, as the real one does.
package geom

type Vec2 struct{ X, Y float64 }

func (v Vec2) Add(w Vec2) Vec2 {
	return Vec2{float64(v.X) + float64(w.X), float64(v.Y) + float64(w.Y)}
}
