package motion_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

type body struct {
	Turn geom.Quat `net:"quat,16bit,others=16bit"`
	Look geom.View `net:"view,1deg"`
}

// drawBody draws both properties u/256 of the way from a to b, a tick apart, and returns them as
// floats.
func drawBody(k *schema.Kind, a, b []int64, u int64) ([]int64, body) {
	dst := make([]int64, len(a))
	motion.Draw(k, &k.Groups[0], &motion.State{Tick: 10, Vals: a}, &motion.State{Tick: 11, Vals: b},
		clock.Tick(10).Frac()+clock.TickFrac(u), dst)
	f := k.AppendDrawn(nil, dst)
	w := math.Sqrt(max(0, 1-f[0]*f[0]-f[1]*f[1]-f[2]*f[2]))
	return dst, body{geom.Quat{W: w, X: f[0], Y: f[1], Z: f[2]}, geom.View{Yaw: geom.Angle(f[3]), Pitch: geom.Angle(f[4])}}
}

func bodyInts(k *schema.Kind, q geom.Quat) []int64 {
	row := make([]int32, k.Obs)
	k.Observe(extractBody(k, body{Turn: q}), row)
	out := make([]int64, k.Obs)
	for i, v := range row {
		out[i] = int64(v)
	}
	return out
}

// angleOf is the angle between two rotations, in degrees.
func angleOf(a, b geom.Quat) float64 {
	return 2 * math.Acos(min(1, math.Abs(a.Dot(b)))) * 180 / math.Pi
}

// Against steady turning about one axis, the way that is drawn is the same, and the lag or lead is
// bounded by how far apart the records are. The rounding to 16 bits is part of what is allowed.
func TestTurnedAgainstSteadyTurning(t *testing.T) {
	k := kind(t, body{}, 30)
	for _, c := range []struct{ degrees, most float64 }{{10, 0.01}, {30, 0.04}, {60, 0.28}, {90, 0.93},
		{120, 2.25}, {179, 8.02}} {
		rapid.Check(t, func(t *rapid.T) {
			f := rapid.Float64Range(-1, 1)
			from := geom.Quat{W: f.Draw(t, "w"), X: f.Draw(t, "x"), Y: f.Draw(t, "y"), Z: f.Draw(t, "z")}.Unit()
			axis := geom.Vec3{X: f.Draw(t, "a"), Y: f.Draw(t, "b"), Z: f.Draw(t, "c")}
			if axis.Len() < 0.1 {
				axis = geom.Vec3{Z: 1}
			}
			u := rapid.Int64Range(0, 256).Draw(t, "u")
			way := geom.Angle(c.degrees * rapid.Float64Range(-1, 1).Draw(t, "way") * math.Pi / 180)
			a, b := bodyInts(k, from), bodyInts(k, geom.Around(axis, way).Mul(from))
			_, got := drawBody(k, a, b, u)
			want := geom.Around(axis, way*geom.Angle(u)/256).Mul(from)
			if off := angleOf(got.Turn, want); off > c.most {
				t.Fatalf("%d/256 of %v degrees is %v degrees off", u, way*180/math.Pi, off)
			}
		})
	}
}

// What is drawn begins and ends with the records to the bit, and never leaves the way between them.
func TestTurnedStaysBetween(t *testing.T) {
	k := kind(t, body{}, 30)
	rapid.Check(t, func(t *rapid.T) {
		one := func(label string) []int64 {
			v := rapid.SliceOfN(rapid.Int64Range(-1<<31, 1<<31-1), 5, 5).Draw(t, label)
			k.Clamp(v) // both precisions are the same here
			return v
		}
		a, b := one("from"), one("to")
		first, qa := drawBody(k, a, b, 0)
		last, qb := drawBody(k, a, b, 256)
		for c := range a {
			if first[c] != a[c]*schema.SubSteps || last[c] != b[c]*schema.SubSteps {
				t.Fatalf("from %v to %v it is drawn from %v to %v", a, b, first, last)
			}
		}
		whole, gone := angleOf(qa.Turn, qb.Turn), 0.0
		for u := int64(0); u <= 256; u += 16 {
			_, q := drawBody(k, a, b, u)
			there, left := angleOf(qa.Turn, q.Turn), angleOf(q.Turn, qb.Turn)
			if there+left > whole+0.05 || there < gone-0.05 {
				t.Fatalf("at %d/256 of %v degrees, %v from the one and %v from the other, %v before", u, whole, there, left, gone)
			}
			gone = there
		}
	})
}

// Integers that no rounding makes, from a server that means harm, draw some rotation.
func TestTurnedOfAnything(t *testing.T) {
	k := kind(t, body{}, 30)
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Int64Range(math.MinInt32, math.MaxInt32), 10, 10).Draw(t, "values")
		_, q := drawBody(k, v[:5], v[5:], rapid.Int64Range(0, 256).Draw(t, "u"))
		for _, f := range []float64{q.Turn.W, q.Turn.X, q.Turn.Y, q.Turn.Z} {
			if !(math.Abs(f) < 1.01) {
				t.Fatalf("%v is drawn as %+v", v, q)
			}
		}
	})
}

func TestViewNeverGoesOverTheBack(t *testing.T) {
	k := kind(t, body{}, 30)
	row := func(yaw, pitch int64) []int64 { return []int64{0, 0, 0, yaw, (pitch + 360) % 360} }
	for _, c := range []struct{ fromYaw, fromPitch, toYaw, toPitch, yaw, pitch int64 }{
		{0, 90, 0, -90, 0, 0},
		{0, -90, 0, 90, 0, 0},
		{350, 10, 20, 30, 5, 20},
		{20, -10, 350, -50, 5, 330}, // -30 degrees
	} {
		got, _ := drawBody(k, row(c.fromYaw, c.fromPitch), row(c.toYaw, c.toPitch), 128)
		if !slices.Equal(got[3:], []int64{c.yaw * 256, c.pitch * 256}) {
			t.Errorf("half way from %d,%d to %d,%d it looks along %d/256, want %d %d", c.fromYaw, c.fromPitch,
				c.toYaw, c.toPitch, got[3:], c.yaw, c.pitch)
		}
	}
}

func extractBody(k *schema.Kind, b body) []int64 {
	v := make([]int64, k.Sims)
	f := []float64{b.Turn.X, b.Turn.Y, b.Turn.Z, float64(b.Look.Yaw), float64(b.Look.Pitch)}
	if b.Turn.W < 0 {
		f[0], f[1], f[2] = -f[0], -f[1], -f[2]
	}
	k.FromFloats(f, v)
	return v
}

func ExampleDraw_rotation() {
	type body struct {
		Turn geom.Quat `net:"quat,16bit,others=16bit"`
	}
	k, _ := schema.New("body", reflect.TypeFor[body](), 30)
	a, b := make([]int64, 3), make([]int64, 3)
	k.FromFloats([]float64{0, 0, 0}, a)
	k.FromFloats([]float64{0, 0, math.Sqrt(0.5)}, b) // a quarter turn about Z
	drawn := make([]int64, 3)
	motion.Draw(k, &k.Groups[0], &motion.State{Tick: 10, Vals: a}, &motion.State{Tick: 12, Vals: b},
		clock.Tick(11).Frac(), drawn)
	z := k.AppendDrawn(nil, drawn)[2]
	fmt.Printf("%.2f degrees\n", 2*math.Asin(z)*180/math.Pi)
	// Output: 45.00 degrees
}
