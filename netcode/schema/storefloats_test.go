package schema_test

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

type shown struct {
	At    geom.Vec2  `net:"pos,1cm"`
	Speed geom.Vec3  `net:"vel,others=1cm/s"`
	Face  geom.Angle `net:"angle,1deg"`
	Heat  float64    `net:"float,0.5"`
	Lives int        `net:"int,0..9"`
	Armed bool       `net:"bool"`
	Since clock.Tick `net:"tick"`
	On    uint32     `net:"handle"`
	Title string     `net:"text,12"`
	Tiles [6]byte    `net:"bytes"`
	Aim   geom.Angle `net:"angle,1deg,to=owner"`
}

// A program that draws gets what lies between two steps as it is, and all else unchanged.
func TestStoreFloatsKeepsWhatIsDrawn(t *testing.T) {
	k, err := schema.New("shown", reflect.TypeFor[shown](), 30)
	if err != nil {
		t.Fatal(err)
	}
	was := shown{At: geom.Vec2{X: 1, Y: -2}, Speed: geom.Vec3{X: 3, Z: -4}, Face: 1, Heat: 7.5, Lives: 4, Armed: true,
		Since: math.MaxUint32, On: 1 << 31, Title: "Zoë the 3rd", Tiles: [6]byte{0, 255, 3, 4, 5, 6}, Aim: -2}
	ints := make([]int64, k.Sims)
	k.Extract(unsafe.Pointer(&was), ints)
	k.Store(unsafe.Pointer(&was), ints) // on the grid
	floats := k.AppendExact(nil, nil, ints, 65536)
	var got shown
	k.StoreFloats(unsafe.Pointer(&got), floats, ints)
	close := func(what string, got, want, most float64) {
		t.Helper()
		if math.Abs(got-want) > most {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	close("the direction", float64(got.Face), float64(was.Face), 1e-4)
	close("the speed", got.Speed.X, was.Speed.X, 1e-4)
	got.Face, got.Speed = was.Face, was.Speed
	if got != was {
		t.Errorf("drawn as %+v, want %+v", got, was)
	}

	// 0.4 of a step further: drawn things move smoothly, though the rules count in steps.
	place := k.PlaceProp()
	floats[place.At] += 0.004
	for i := range k.Props {
		switch p := &k.Props[i]; p.Name {
		case "Face":
			floats[p.At] += 0.4 * math.Pi / 180
		case "Heat":
			floats[p.At] += 0.2
		}
	}
	k.StoreFloats(unsafe.Pointer(&got), floats, ints)
	close("the place between two steps", got.At.X, was.At.X+0.004, 1e-4)
	close("the direction between two steps", float64(got.Face), float64(was.Face)+0.4*math.Pi/180, 1e-4)
	close("the number between two steps", got.Heat, was.Heat+0.2, 0.01)
	if n := testing.AllocsPerRun(100, func() { k.StoreFloats(unsafe.Pointer(&got), floats, ints) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
