package schema_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

type order struct {
	Move  geom.Vec2  `net:"stick,5bit"`
	Aim   geom.Angle `net:"angle,1deg"`
	To    geom.Vec3  `net:"pos,1cm"`
	Power float64    `net:"float,0.1"`
	Slot  int        `net:"int,-3..9"`
	On    bool       `net:"bool"`
	Fire  bool       `net:"press"`
	When  clock.Tick `net:"tick"`
	Who   uint32     `net:"handle"`
}

func orders(t testing.TB) *schema.Kind {
	k, err := schema.New("order", reflect.TypeFor[order](), 30)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What AppendExact makes of integers, FromFloats turns back into them.
func TestFromFloatsIsTheWayBack(t *testing.T) {
	k := orders(t)
	rapid.Check(t, func(t *rapid.T) {
		o := order{
			Move: geom.Vec2{X: rapid.Float64Range(-2, 2).Draw(t, "x"), Y: rapid.Float64Range(-2, 2).Draw(t, "y")},
			Aim:  geom.Angle(rapid.Float64Range(-7, 7).Draw(t, "aim")),
			To:   geom.Vec3{X: rapid.Float64Range(-1e6, 1e6).Draw(t, "to"), Z: rapid.Float64Range(-5, 5).Draw(t, "z")},
			Slot: rapid.IntRange(-9, 19).Draw(t, "slot"), Power: rapid.Float64Range(-9, 9).Draw(t, "power"),
			On: rapid.Bool().Draw(t, "on"), Fire: rapid.Bool().Draw(t, "fire"),
			When: clock.Tick(rapid.Uint32().Draw(t, "when")), Who: rapid.Uint32().Draw(t, "who"),
		}
		want, got := make([]int64, k.Sims), make([]int64, k.Sims)
		k.Extract(unsafe.Pointer(&o), want)
		floats := k.AppendExact(nil, nil, want, 65536)
		if k.FromFloats(floats, got); !slices.Equal(got, want) {
			t.Fatalf("%v as floats is %v, and back %v", want, floats, got)
		}
	})
}

// A page may hand over anything; what comes out is on the grid and within the schema.
func TestFromFloatsOfAnything(t *testing.T) {
	k := orders(t)
	wild := rapid.OneOf(rapid.Float64(),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, math.MaxFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOfN(wild, k.Sims, k.Sims).Draw(t, "src")
		got, again := make([]int64, k.Sims), make([]int64, k.Sims)
		k.FromFloats(src, got)
		var o order
		k.Store(unsafe.Pointer(&o), got)
		if k.Extract(unsafe.Pointer(&o), again); !slices.Equal(got, again) {
			t.Fatalf("%v gives %v, which as a struct is %v", src, got, again)
		}
	})
}
