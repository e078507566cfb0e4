package snapshot

import "testing"

// For how many updates an order is the expected one is what the rule says.
func TestExpectedOrders(t *testing.T) {
	for _, top := range []int{1, 2, 3, 7, 8, 60, 250, 511, Slots} {
		for n := 1; n <= Slots; n++ {
			want := expectedOrder(top, n)
			for order := 0; order <= maxOrder; order++ {
				if least, most := expectedFor(top, order); (least <= n && n <= most) != (order == want) {
					t.Fatalf("%d updates below slot %d: order %d, which is said to be for %d to %d", n, top, want, least, most)
				}
			}
		}
	}
}
