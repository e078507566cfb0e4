package interest_test

import (
	"fmt"

	"meanwhile/netcode/interest"
)

// What three clients see of each other and of a chest: each tick the grid is built anew, and each
// client's set follows the two nearest, itself left out.
func Example() {
	grid, err := interest.NewGrid(1000) // positions in millimetres, cells of about a metre
	if err != nil {
		fmt.Println(err)
		return
	}
	const ann, bob, cid, chest = 0, 1, 2, 3
	names := []string{"ann", "bob", "cid", "chest"}
	x := []int32{0, 5000, 9000, 8000}

	var (
		sets    [3]interest.Set // one for each client
		near    []interest.Neighbour
		changes interest.Changes
	)
	see := func(client int32) {
		grid.Reset()
		for i := range x {
			grid.Insert(int32(i), x[i], 0)
		}
		grid.Build()
		const n, margin = 2, 1
		near = grid.Nearest(x[client], 0, 1+n+margin, near) // one more: the client itself
		others := func(index int32) bool { return index != client }
		for _, v := range sets[client].Update(near, n, margin, others, &changes) {
			fmt.Printf("%s at %d mm^2; ", names[v.Index], v.Dist2)
		}
		fmt.Println("entered:", changes.Entered, "left:", changes.Left)
	}
	see(ann)
	x[cid] = 7000 // now nearer to ann than the chest, which lingers
	see(ann)
	// Output:
	// bob at 25000000 mm^2; chest at 64000000 mm^2; entered: [1 3] left: []
	// bob at 25000000 mm^2; cid at 49000000 mm^2; chest at 64000000 mm^2; entered: [2] left: []
}

// Two records fit into the packet: those whose entities seem farthest from where they are.
func ExampleSelect() {
	scale := interest.Scale{Near: 1000, Creep: 10}
	type held struct {
		name      string
		err, age  uint32 // millimetres, ticks
		distance2 int64
	}
	entities := []held{
		{"walks far away", 2000, 10, 100_000 * 100_000},
		{"walks nearby", 2000, 10, 5_000 * 5_000},
		{"rests, acknowledged", 0, 0, 2_000 * 2_000},
		{"new, nearby", 5000, 1, 8_000 * 8_000}, // not being shown is worth 5 m
	}
	var keys, best []interest.Key
	for i, e := range entities {
		weight := scale.Weight(e.distance2) // kept until the distance changes much
		keys = append(keys, interest.MakeKey(scale.Score(e.err, e.age, weight), uint32(i)))
	}
	best = interest.Select(keys, 2, best)
	for _, k := range best {
		fmt.Printf("%s: %.2f rad\n", entities[k.ID()].name, float64(k.Score())/interest.Radian)
	}
	// Output:
	// new, nearby: 0.63 rad
	// walks nearby: 0.42 rad
}
