package motion_test

import (
	"fmt"
	"reflect"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

type cart struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// Two records, and what is drawn between them.
func Example() {
	k, err := schema.New("cart", reflect.TypeFor[cart](), 30)
	if err != nil {
		fmt.Println(err)
		return
	}
	a := &motion.State{Tick: 100, Vals: []int64{200, 0}}
	b := &motion.State{Tick: 103, Vals: []int64{500, 90}}
	teleported := &motion.State{Tick: 103, Cut: 102, Vals: []int64{500, 90}}

	drawn := make([]int64, 2)
	for _, t := range []clock.TickFrac{clock.Tick(101).Frac(), clock.Tick(102).Frac() + 128, clock.Tick(110).Frac()} {
		motion.Draw(k, &k.Groups[0], a, b, t, drawn)
		x := float64(drawn[0]) / schema.SubSteps
		motion.Draw(k, &k.Groups[0], a, teleported, t, drawn)
		fmt.Printf("tick %.1f: %.0f cm, teleported: %.0f cm\n", float64(t)/clock.FracPerTick, x,
			float64(drawn[0])/schema.SubSteps)
	}
	// Output:
	// tick 101.0: 300 cm, teleported: 200 cm
	// tick 102.5: 450 cm, teleported: 500 cm
	// tick 110.0: 500 cm, teleported: 500 cm
}
