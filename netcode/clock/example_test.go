package clock_test

import (
	"fmt"
	"time"

	"meanwhile/netcode/clock"
)

// A client learns the server's time from the stamps of one round trip, and goes on learning from
// every packet.
func ExampleEstimator() {
	var server clock.Estimator
	now := clock.NewOutput(&server)

	// Sent at 100 ms on our clock, received at 5.020 s and answered at 5.025 s on the server's,
	// back at 145 ms.
	ms := clock.Time(time.Millisecond)
	server.Exchange(100*ms, 5020*ms, 5025*ms, 145*ms)

	fmt.Println(time.Duration(now.Now(145*ms)).Round(time.Millisecond), "±",
		server.MaxError().Round(time.Millisecond))
	// Output: 5.045s ± 20ms
}

// Ticks stretch when a server is overloaded; the timeline maps them to server time as they really
// were.
func ExampleTimeline() {
	var ticks clock.Timeline
	ms := clock.Time(time.Millisecond)
	ticks.Update(100, 5000*ms, 50*time.Millisecond)
	ticks.Update(101, 5050*ms, 60*time.Millisecond) // from here on 60 ms a tick

	f := ticks.TickAt(5140 * ms)
	fmt.Println(f.Tick(), f.Part())
	fmt.Println(time.Duration(ticks.TimeOf(clock.Tick(100).Frac())))
	// Output:
	// 102 128
	// 5s
}

// A loop asks the pacer how many ticks are due, and sleeps until the next.
func ExamplePacer() {
	p := clock.Pacer{Step: 50 * time.Millisecond}
	ms := clock.Time(time.Millisecond)
	for _, now := range []clock.Time{0, 20 * ms, 51 * ms, 190 * ms, 950 * ms} {
		n := p.Due(now)
		fmt.Println(time.Duration(now), "due", n, "next", time.Duration(p.Next()))
	}
	// Output:
	// 0s due 1 next 50ms
	// 20ms due 0 next 50ms
	// 51ms due 1 next 100ms
	// 190ms due 2 next 200ms
	// 950ms due 2 next 1s
}
