package rate_test

import (
	"fmt"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// No second carries more than the budget, headers of the lower layers included.
func ExampleWindow() {
	w, err := rate.NewWindow(13_000 / 8)
	if err != nil {
		panic(err)
	}
	ms := clock.Time(time.Millisecond)
	for now := clock.Time(0); now <= 1200*ms; now += 200 * ms {
		room := min(w.Room(now), 400) // what is worth sending
		fmt.Println(time.Duration(now), room, room > 0 && w.Spend(now, room))
	}
	// Output:
	// 0s 400 true
	// 200ms 400 true
	// 400ms 400 true
	// 600ms 257 true
	// 800ms 0 false
	// 1s 400 true
	// 1.2s 400 true
}

// Packets are sent only while the path, not a queue, can carry those in flight.
func ExampleLimit() {
	const size = 500 + wire.Overhead
	inFlight := 0
	for inFlight+size <= rate.Limit(8000, 80*time.Millisecond) {
		inFlight += size
	}
	fmt.Println(inFlight, "of", rate.Limit(8000, 80*time.Millisecond))
	// Output: 1084 of 1440
}
