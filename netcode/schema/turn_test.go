package schema_test

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

// What turns an entity in its numbers is what TurnOf then reads; a view stays as it is.
func TestTurn(t *testing.T) {
	kind := func(v any) *schema.Kind {
		k, err := schema.New("thing", reflect.TypeOf(v), 60)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	flat := kind(struct {
		Pos geom.Vec2  `net:"pos"`
		Yaw geom.Angle `net:"angle,1deg"`
	}{})
	solid := kind(struct {
		Pos geom.Vec3 `net:"pos"`
		Rot geom.Quat `net:"quat"`
	}{})
	looks := kind(struct {
		Pos geom.Vec2 `net:"pos"`
		Eye geom.View `net:"view"`
	}{})
	plain := kind(struct {
		Pos geom.Vec2 `net:"pos"`
	}{})
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Float64Range(-1, 1)
		quat := func() geom.Quat {
			axis := geom.Vec3{X: part.Draw(t, "x"), Y: part.Draw(t, "y"), Z: part.Draw(t, "z")}
			return geom.Around(axis, geom.Angle(rapid.Float64Range(-3, 3).Draw(t, "angle")))
		}
		q, by := quat(), quat()
		vals := []float64{1, 2, 3, q.X, q.Y, q.Z}
		if q.W < 0 {
			vals[3], vals[4], vals[5] = -q.X, -q.Y, -q.Z
		}
		solid.Turn(vals, by)
		if got, want := solid.TurnOf(vals), by.Mul(q); math.Abs(got.Dot(want)) < 1-1e-9 || vals[0] != 1 {
			t.Fatalf("%v turned by %v is %v, want %v", q, by, got, want)
		}
		a, b := geom.Angle(rapid.Float64Range(-3.1, 3.1).Draw(t, "a")), geom.Angle(rapid.Float64Range(-3.1, 3.1).Draw(t, "b"))
		vals = []float64{1, 2, float64(a)}
		flat.Turn(vals, geom.Around(geom.Vec3{Z: 1}, b))
		if d := geom.Angle(vals[2]).Diff(a + b); math.Abs(float64(d)) > 1e-9 || vals[2] > math.Pi {
			t.Fatalf("%v turned by %v is %v", a, b, vals[2])
		}
		if d := flat.TurnOf(vals).Mul(geom.Around(geom.Vec3{Z: -1}, a+b)); math.Abs(d.W) < 1-1e-9 {
			t.Fatalf("%v is read as a rotation that is %v off", vals[2], d)
		}
		vals = []float64{1, 2, float64(a), 0.5}
		if looks.Turn(vals, by); vals[2] != float64(a) || vals[3] != 0.5 || looks.TurnOf(vals) != (geom.Quat{}) {
			t.Fatalf("a view was turned: %v", vals)
		}
		if plain.Turn(vals, by); vals[0] != 1 || plain.TurnOf(vals) != (geom.Quat{}) {
			t.Fatalf("a kind that faces nowhere was turned: %v", vals)
		}
	})
}
