package estimate_test

import (
	"fmt"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
)

// A client draws the past as late as needed and no later: it learns how irregularly snapshots come.
func Example() {
	delay, err := estimate.New(estimate.Config{Interval: 50 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	fmt.Println("to begin with", delay.Target())

	var ages estimate.Ages
	ms := clock.Time(time.Millisecond)
	for i := range clock.Time(600) { // half a minute; each takes 30 ms, now and then 20 ms more
		stamp := i * 50 * ms
		arrival := stamp + 30*ms
		if i%25 == 0 {
			arrival += 20 * ms
		}
		if x, _, counts := ages.Arrive(arrival, stamp); counts {
			delay.Observe(arrival, x)
		}
	}
	fmt.Println("later", delay.Target().Round(time.Millisecond), "above a floor of", ages.Floor())
	// Output:
	// to begin with 130ms
	// later 75ms above a floor of 30ms
}
