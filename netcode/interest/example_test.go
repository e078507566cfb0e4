package interest_test

import (
	"fmt"

	"meanwhile/netcode/interest"
)

// Ann sees two of three others: each tick the grid is built anew, and her set follows the two
// nearest, herself left out.
func Example() {
	grid, err := interest.NewGrid(1000) // positions in millimetres, cells of about a metre
	if err != nil {
		fmt.Println(err)
		return
	}
	const ann, cid = 0, 2
	names := []string{"ann", "bob", "cid", "chest"}
	x := []int32{0, 5000, 9000, 8000}

	var set interest.Set
	var knows []int32
	see := func() {
		grid.Reset()
		for i := range x {
			grid.Insert(int32(i), x[i], 0)
		}
		grid.Build()
		others := func(index int32) bool { return index != ann }
		viewer := interest.Viewer{X: x[ann], Nearest: 2, Margin: 1, Allow: others}
		members := set.Follow(grid, &viewer, knows)
		knows = knows[:0]
		for _, m := range members {
			fmt.Printf("%s at %d mm^2; ", names[m.Index], m.Dist2)
			knows = append(knows, m.Index)
		}
		fmt.Println("entered:", set.Entered, "left:", set.Left)
	}
	see()
	x[cid] = 7000 // now nearer to ann than the chest, which lingers
	see()
	// Output:
	// bob at 25000000 mm^2; chest at 64000000 mm^2; entered: [1 3] left: []
	// bob at 25000000 mm^2; cid at 49000000 mm^2; chest at 64000000 mm^2; entered: [2] left: []
}
