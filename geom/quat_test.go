package geom_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
)

func ExampleQuat() {
	quarter := geom.Around(geom.Vec3{Z: 1}, 90*geom.Degree)
	v := quarter.Mul(quarter).Rotate(geom.Vec3{X: 2, Z: 1})
	fmt.Printf("%.3f %.3f %.3f\n", v.X, v.Y, v.Z)
	// Output: -2.000 0.000 1.000
}

func genVec3(most float64) *rapid.Generator[geom.Vec3] {
	return rapid.Custom(func(t *rapid.T) geom.Vec3 {
		f := rapid.Float64Range(-most, most)
		return geom.Vec3{X: f.Draw(t, "x"), Y: f.Draw(t, "y"), Z: f.Draw(t, "z")}
	})
}

func genQuat() *rapid.Generator[geom.Quat] {
	return rapid.Custom(func(t *rapid.T) geom.Quat {
		f := rapid.Float64Range(-1, 1)
		return geom.Quat{W: f.Draw(t, "w"), X: f.Draw(t, "x"), Y: f.Draw(t, "y"), Z: f.Draw(t, "z")}.Unit()
	})
}

func apart(a, b geom.Vec3) float64 { return a.Sub(b).Len() }

func TestQuatRotations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, r, v := genQuat().Draw(t, "q"), genQuat().Draw(t, "r"), genVec3(10).Draw(t, "v")
		if d := apart(q.Mul(r).Rotate(v), q.Rotate(r.Rotate(v))); d > 1e-13*20 {
			t.Errorf("turning one after the other differs by %v from turning by the product", d)
		}
		if d := apart(q.Conj().Rotate(q.Rotate(v)), v); d > 1e-13*20 {
			t.Errorf("there and back ends %v away", d)
		}
		if d := math.Abs(q.Rotate(v).Len() - v.Len()); d > 1e-13*20 {
			t.Errorf("a rotation changes the length by %v", d)
		}
	})
}

// A rotation about the upright axis is that of the plane.
func TestQuatInThePlane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := geom.Angle(rapid.Float64Range(-7, 7).Draw(t, "a"))
		v := genVec3(10).Draw(t, "v")
		want := v.XY().Rotate(a).At(v.Z)
		if d := apart(geom.Around(geom.Vec3{Z: 3}, a).Rotate(v), want); d > 1e-13*20 {
			t.Errorf("off by %v", d)
		}
		if d := apart(geom.One.Spun(geom.Vec3{Z: float64(a)}, 1).Rotate(v), want); d > 1e-13*20 {
			t.Errorf("a second at that speed is off by %v", d)
		}
	})
}

func TestQuatWithoutALength(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, q := range []geom.Quat{{}, {W: nan}, {X: inf}, {W: 1, Z: -inf}} {
		if q.Unit() != geom.One {
			t.Errorf("%v has the unit %v", q, q.Unit())
		}
	}
	if got := (geom.Quat{X: 1e300, Y: 1e300}).Unit(); math.Abs(got.X-math.Sqrt(0.5)) > 1e-15 || got.X != got.Y {
		t.Errorf("a long one has the unit %v", got)
	}
	if got := (geom.Quat{Z: -5e-324}).Unit(); got.Z != -1 {
		t.Errorf("a short one has the unit %v", got)
	}
	v := geom.Vec3{X: 1, Y: 2, Z: 3}
	if (geom.Quat{}).Rotate(v) != v || (geom.Quat{}).Mul(geom.Quat{}) != geom.One ||
		geom.Around(geom.Vec3{}, 1) != geom.One {
		t.Error("the zero quaternion turns something")
	}
	if d := apart(geom.View{Yaw: 90 * geom.Degree}.Dir(), geom.Vec3{Y: 1}); d > 1e-15 {
		t.Error("who looks along Y looks elsewhere")
	}
}
