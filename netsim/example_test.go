package netsim_test

import (
	"fmt"
	"strings"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

// Two ends talk over a hotel's radio in virtual time: nothing sleeps, and every run is the same.
func Example() {
	path, err := netsim.NewPath(1, netsim.HotelWiFi)
	if err != nil {
		panic(err)
	}
	var loop netsim.Loop
	loop.Every(0, 50*time.Millisecond, func() bool {
		path.Down.Push(loop.Now(), []byte("snapshot"))
		return true
	})
	received := 0
	loop.Every(0, time.Millisecond, func() bool {
		for {
			if _, _, ok := path.Down.Pop(loop.Now()); !ok {
				return true
			}
			received++
		}
	})
	loop.Run(clock.Time(time.Minute))
	fmt.Println(path.Down.Stats().Sent, "sent,", path.Down.Stats().Lost, "lost,", received+path.Down.InFlight(),
		"arrived or on the way")
	// Output: 1201 sent, 5 lost, 1196 arrived or on the way
}

// A profile is a value; a panel with sliders changes a copy and sets it while datagrams are under
// way.
func ExamplePath_Set() {
	path, err := netsim.NewPath(1, netsim.Fiber)
	if err != nil {
		panic(err)
	}
	worse := netsim.Fiber
	worse.Down.Delay = 100 * time.Millisecond
	worse.Down.Loss = netsim.Bursts(0.05, 3)
	fmt.Println(path.Set(worse))
	worse.Up.Delay = -time.Second
	fmt.Println(path.Set(worse))
	// Output:
	// <nil>
	// profile "fiber", up: netsim: Delay -1s is outside [0, 10s]
}

// Recorded capacities replace the generated ones.
func ExampleReadTrace() {
	trace, err := netsim.ReadTrace(strings.NewReader("0\n1\n1\n5\n8\n10\n"))
	if err != nil {
		panic(err)
	}
	p := netsim.TrainLTE.WithTraces(trace, nil)
	fmt.Println(trace.Period(), p.Down.Mean(), p.Up.Mean())
	_, err = netsim.ReadTrace(strings.NewReader("0\n12\n9\n"))
	fmt.Println(err)
	// Output:
	// 10ms 7200000 1950000
	// netsim: trace line 3: 9 ms comes after 12 ms
}
