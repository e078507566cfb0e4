package geom_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	. "meanwhile/geom"
)

// coord draws coordinates as levels have them: often on whole metres, where things line up.
func coord() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-20, 20), func(i int) float64 { return float64(i) }),
		rapid.Map(rapid.IntRange(-20<<18, 20<<18), func(i int) float64 { return float64(i) / (1 << 18) }),
		rapid.Float64Range(-20, 20),
	)
}

func vec2() *rapid.Generator[Vec2] {
	return rapid.Custom(func(t *rapid.T) Vec2 { return Vec2{coord().Draw(t, "x"), coord().Draw(t, "y")} })
}

func vec3() *rapid.Generator[Vec3] {
	return rapid.Custom(func(t *rapid.T) Vec3 {
		return Vec3{coord().Draw(t, "x"), coord().Draw(t, "y"), coord().Draw(t, "z")}
	})
}

func angle() *rapid.Generator[Angle] {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(-16, 16), func(i int) Angle { return Angle(i) * Pi / 8 }),
		rapid.Map(rapid.Float64Range(-10, 10), func(f float64) Angle { return Angle(f) }),
	)
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func TestVec2(t *testing.T) {
	v, w := Vec2{3, 4}, Vec2{-4, 3}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"Add", v.Add(w), Vec2{-1, 7}},
		{"Sub", v.Sub(w), Vec2{7, 1}},
		{"Mul", v.Mul(-2), Vec2{-6, -8}},
		{"Neg", v.Neg(), Vec2{-3, -4}},
		{"Dot", v.Dot(w), 0.0},     // 3·-4 + 4·3
		{"Cross", v.Cross(w), 25.}, // 3·3 - 4·-4: w lies to the left
		{"Len", v.Len(), 5.0},
		{"Len2", v.Len2(), 25.0},
		{"Dist", v.Dist(w), math.Sqrt(50)},
		{"Unit", v.Unit(), Vec2{0.6, 0.8}},
		{"Unit of zero", Vec2{}.Unit(), Vec2{}},
		{"Perp", v.Perp(), w},
		{"Limit", v.Limit(10), v},
		{"Limit shorter", Vec2{30, 40}.Limit(5), Vec2{3, 4}},
		{"Limit 0", v.Limit(0), Vec2{}},
		{"Limit NaN", v.Limit(math.NaN()), Vec2{}},
		{"Toward", Vec2{1, 1}.Toward(Vec2{1, 11}, 4), Vec2{1, 5}},
		{"Toward within reach", Vec2{1, 1}.Toward(Vec2{0.1, 0.7}, 1), Vec2{0.1, 0.7}},
		{"Toward backwards", v.Toward(w, -1), v},
		{"Toward NaN", v.Toward(w, math.NaN()), v},
		{"Toward at once", v.Toward(w, math.Inf(1)), w},
		{"Lerp", Vec2{0, 10}.Lerp(Vec2{10, 20}, 0.25), Vec2{2.5, 12.5}},
		{"Reflect", Vec2{1, -2}.Reflect(Vec2{0, 1}), Vec2{1, 2}},
		{"Along", Vec2{1, -2}.Along(Vec2{0, 1}), Vec2{1, 0}},
		{"At", v.At(5), Vec3{3, 4, 5}},
		{"Finite", v.Finite(), true},
		{"Finite NaN", Vec2{math.NaN(), 0}.Finite(), false},
		{"Finite Inf", Vec2{0, math.Inf(-1)}.Finite(), false},
		{"Angle of zero", Vec2{}.Angle(), Angle(0)},
		{"Angle of negative zeros", Vec2{math.Copysign(0, -1), math.Copysign(0, -1)}.Angle(), Angle(0)},
		{"Angle left", Vec2{-1, 0}.Angle(), Pi},
		{"Angle left from below", Vec2{-1, math.Copysign(0, -1)}.Angle(), Pi},
		{"Angle left by a hair from below", Vec2{-1, -0x1p-1074}.Angle(), Pi},
		{"Angle up", Vec2{0, 2}.Angle(), Pi / 2},
		{"Angle down", Vec2{0, -2}.Angle(), -Pi / 2},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestUnitOfAnySize(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ v, want Vec2 }{
		{Vec2{3e300, 4e300}, Vec2{0.6, 0.8}},
		{Vec2{3e-300, -4e-300}, Vec2{0.6, -0.8}},
		{Vec2{math.MaxFloat64, 0}, Vec2{1, 0}},
		{Vec2{0, -math.SmallestNonzeroFloat64}, Vec2{0, -1}},
		{Vec2{inf, 5}, Vec2{1, 0}},
		{Vec2{-inf, inf}, Vec2{-math.Sqrt2 / 2, math.Sqrt2 / 2}},
	} {
		if got := c.v.Unit(); !near(got.X, c.want.X, 1e-15) || !near(got.Y, c.want.Y, 1e-15) {
			t.Errorf("%v.Unit() = %v, want %v", c.v, got, c.want)
		}
		got, want := c.v.At(0).Unit(), c.want.At(0)
		if !near(got.X, want.X, 1e-15) || !near(got.Y, want.Y, 1e-15) || got.Z != 0 {
			t.Errorf("%v.Unit() = %v, want %v", c.v.At(0), got, want)
		}
	}
	if u := (Vec2{math.NaN(), 1}).Unit(); u.Finite() {
		t.Errorf("the unit of NaN is %v", u)
	}
	if l := (Vec3{3e300, 4e300, 0}).Len(); !near(l/5e300, 1, 1e-15) {
		t.Errorf("a long vector has length %v", l)
	}
}

func TestVec2Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w, a := vec2().Draw(t, "v"), vec2().Draw(t, "w"), angle().Draw(t, "a")
		step := rapid.Float64Range(0, 30).Draw(t, "step")

		if p := v.Toward(w, step); !(p.Dist(v) <= step+1e-12) || !near(p.Dist(v)+p.Dist(w), v.Dist(w), 1e-12) {
			t.Errorf("Toward leads from %v by %v to %v", v, p.Dist(v), p)
		}
		if d := v.Dist(w); v.Toward(w, d) != w || v.Lerp(w, 1) != w || v.Lerp(w, 0) != v || v.Lerp(v, step) != v {
			t.Errorf("Toward and Lerp miss their ends")
		}
		if u := v.Unit(); v != (Vec2{}) && !near(u.Len(), 1, 3e-16) {
			t.Errorf("|Unit| = %v", u.Len())
		}
		if l := v.Limit(step); !(l.Len() <= step*(1+4e-16)) || !near(l.Cross(v), 0, 1e-12) {
			t.Errorf("Limit(%v) = %v", step, l)
		}
		if r := v.Rotate(a); !near(r.Len(), v.Len(), 1e-13) || !near(r.Rotate(-a).Dist(v), 0, 1e-13) {
			t.Errorf("Rotate changes the length or does not turn back: %v", r)
		}
		if d := v.Angle().Dir().Mul(v.Len()); !near(d.Dist(v), 0, 1e-13) {
			t.Errorf("Angle and Len give %v", d)
		}
		if got := v.Angle(); got <= -Pi || got > Pi {
			t.Errorf("Angle = %v", got)
		}
		n := w.Unit()
		if r := v.Reflect(n); !near(r.Len(), v.Len(), 1e-12) || n != (Vec2{}) && !near(r.Dot(n), -v.Dot(n), 1e-12) {
			t.Errorf("Reflect = %v", r)
		}
		if r := v.Along(n); n != (Vec2{}) && !near(r.Dot(n), 0, 1e-13) {
			t.Errorf("Along = %v", r)
		}
	})
}

func TestVec3(t *testing.T) {
	v, w := Vec3{1, 2, 3}, Vec3{4, 5, 6}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"Add", v.Add(w), Vec3{5, 7, 9}},
		{"Sub", v.Sub(w), Vec3{-3, -3, -3}},
		{"Mul", v.Mul(2), Vec3{2, 4, 6}},
		{"Neg", v.Neg(), Vec3{-1, -2, -3}},
		{"Dot", v.Dot(w), 32.0},                // 4 + 10 + 18
		{"Cross", v.Cross(w), Vec3{-3, 6, -3}}, // 2·6-3·5, 3·4-1·6, 1·5-2·4
		{"Len", Vec3{2, 3, 6}.Len(), 7.0},
		{"Len2", v.Len2(), 14.0},
		{"Dist", v.Dist(Vec3{1, 2, 5}), 2.0},
		{"Unit", Vec3{0, -3, 0}.Unit(), Vec3{0, -1, 0}},
		{"Unit of zero", Vec3{}.Unit(), Vec3{}},
		{"Limit", Vec3{20, 30, 60}.Limit(7), Vec3{2, 3, 6}},
		{"Limit negative", v.Limit(-1), Vec3{}},
		{"Toward", Vec3{}.Toward(Vec3{0, 0, 9}, 2), Vec3{0, 0, 2}},
		{"Toward within reach", v.Toward(w, 6), w},
		{"Toward nowhere", v.Toward(w, 0), v},
		{"Lerp", v.Lerp(w, 1), w},
		{"XY", v.XY(), Vec2{1, 2}},
		{"Yaw", Vec3{0, 5, 9}.Yaw(), Pi / 2},
		{"Yaw up", Vec3{0, 0, 9}.Yaw(), Angle(0)},
		{"Pitch up", Vec3{0, 0, 9}.Pitch(), Pi / 2},
		{"Pitch level", Vec3{-3, 0, 0}.Pitch(), Angle(0)},
		{"Pitch of zero", Vec3{0, 0, math.Copysign(0, -1)}.Pitch(), Angle(0)},
		{"Direction", Direction(0, 0), Vec3{1, 0, 0}},
		{"Finite", v.Finite(), true},
		{"Finite Inf", Vec3{0, 0, math.Inf(1)}.Finite(), false},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestVec3Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := vec3().Draw(t, "v"), vec3().Draw(t, "w")
		if d := Direction(v.Yaw(), v.Pitch()).Mul(v.Len()); !near(d.Dist(v), 0, 1e-13) {
			t.Errorf("Yaw, Pitch and Len give %v", d)
		}
		if c := v.Cross(w); !near(c.Dot(v), 0, 1e-10) || !near(c.Len2()+v.Dot(w)*v.Dot(w), v.Len2()*w.Len2(), 1e-8) {
			t.Errorf("Cross = %v", c)
		}
	})
}

func TestAngle(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want Angle
	}{
		{"Norm of π", Pi.Norm(), Pi},
		{"Norm of -π", (-Pi).Norm(), Pi},
		{"Norm of 3π", (3 * Pi).Norm(), Pi},
		{"Norm of a turn", Turn.Norm(), 0},
		{"Norm above", (Pi + 0.5).Norm(), -Pi + 0.5},
		{"Norm inside", Angle(3).Norm(), 3},
		{"Diff", (170 * Degree).Diff(-170 * Degree), 20 * Degree},
		{"Diff back", (-170 * Degree).Diff(170 * Degree), -20 * Degree},
		{"Diff across", Angle(0).Diff(Pi), Pi},
		{"Toward", (170 * Degree).Toward(-170*Degree, 5*Degree), 175 * Degree},
		{"Toward over the seam", (175 * Degree).Toward(-170*Degree, 10*Degree), -175 * Degree},
		{"Toward within reach", (170 * Degree).Toward(-170*Degree, 21*Degree), -170 * Degree},
		{"Toward back", (-170 * Degree).Toward(170*Degree, 5*Degree), -175 * Degree},
		{"Toward nowhere", Angle(1).Toward(2, -1), 1},
		{"Lerp", (170 * Degree).Lerp(-170*Degree, 0.5), Pi},
		{"Lerp to the end", (170 * Degree).Lerp(-170*Degree, 1), -170 * Degree},
	} {
		if !near(float64(c.got), float64(c.want), 2e-15) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
	if d := (90 * Degree).Degrees(); d != 90 {
		t.Errorf("90 degrees are %v", d)
	}
	if n := Angle(math.Inf(1)).Norm(); n == n {
		t.Errorf("Norm of +Inf = %v", n)
	}
}

func TestAngleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := angle().Draw(t, "a"), angle().Draw(t, "b")
		step := Angle(rapid.Float64Range(0, 4).Draw(t, "step"))
		for _, got := range []Angle{a.Norm(), a.Diff(b), a.Toward(b, step), a.Lerp(b, 0.3), (a + 100*b).Norm()} {
			if !(got > -Pi && got <= Pi) || got.Norm() != got {
				t.Errorf("%v is not in (-π, π]", got)
			}
		}
		if d := (a + a.Diff(b)).Dir().Dist(b.Dir()); d > 1e-14 {
			t.Errorf("Diff misses by %v", d)
		}
		moved := a.Toward(b, step)
		if d := math.Abs(float64(a.Diff(moved))); d > float64(step)+1e-14 {
			t.Errorf("Toward turns by %v", d)
		}
		if math.Abs(float64(a.Diff(b))) <= float64(step) && moved != b.Norm() {
			t.Errorf("Toward does not arrive")
		}
	})
}
