package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

type Runner struct {
	Pos   geom.Vec2  `net:"pos,others=1cm"` // simulated in 1/256 mm, others receive 1 cm
	Aim   geom.Angle `net:"angle,1deg"`
	Name  string     `net:"text,12"`
	Ammo  int        `net:"int,0..30,to=owner"`
	Bribe int        `net:"int,0..9,server"` // never leaves the server
}

// A state becomes integers once; everything after that is exact.
func Example() {
	k, err := schema.New("runner", reflect.TypeFor[Runner](), 30)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := Runner{Pos: geom.Vec2{X: 12.3456789, Y: -7}, Aim: 1, Name: "Zoë", Ammo: 12, Bribe: 3}
	sims := make([]int64, k.Sims)
	k.Extract(unsafe.Pointer(&r), sims)
	k.Store(unsafe.Pointer(&r), sims) // the rules go on with what was recorded
	fmt.Println(r.Pos.X, r.Aim.Degrees())

	others := make([]int32, k.Obs)
	k.Observe(sims, others)
	fmt.Println("others receive", others[:3])

	// A metre to the right, as what others receive of it.
	pos := &k.Props[0]
	var w wire.BitWriter
	w.Reset(nil)
	pos.AppendDelta(&w, int64(others[0])+100, int64(others[0]), true)
	fmt.Println(w.Len(), "bits as a difference")
	// Output:
	// 12.3456796875 57
	// others receive [1235 -700 57]
	// 11 bits as a difference
}

// Every mistake is named, with a tag that works.
func ExampleNew_mistakes() {
	type lamp struct {
		On    bool `net:"boolean"`
		Level int
	}
	_, err := schema.New("lamp", reflect.TypeFor[lamp](), 30)
	fmt.Println(strings.NewReplacer(", want", ",\n  want", "; ", ";\n  ").Replace(err.Error()))
	// Output:
	// schema: lamp: lamp.On `net:"boolean"`: unknown class "boolean",
	//   want one of pos vel angle float int bool tick handle text stick press view quat spin enum bytes;
	//   an example that works: `net:"bool"`
	// lamp.Level has no net tag;
	//   write for example `net:"int,0..100"`, or `net:"int,0..100,server"` if it never leaves the server
}
