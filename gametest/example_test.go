package gametest_test

import (
	"fmt"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/gametest"
	"meanwhile/netsim"
	"meanwhile/server"
)

// Half a minute of four bots on a hotel's Wi-Fi, in virtual time. The same seed gives the same
// bytes on every machine.
func ExampleSim() {
	rules, err := zap.Game.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	sim, err := gametest.NewSim(rules, 1, server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 4 {
		if _, err := sim.Join("bot", netsim.HotelWiFi, rules.Bot()); err != nil {
			fmt.Println(err)
			return
		}
	}
	sim.Run(10 * time.Second) // clocks and delays settle
	sim.Measure()
	sim.Run(20 * time.Second)
	q := sim.Quality()
	fmt.Println("every state that a client applied was the server's:", sim.Diverged() == nil)
	fmt.Println("what shooters saw is what happened, nine times in ten at least:", q.Agreement > 0.9 && q.Shots > 0)
	fmt.Println("predictions that were wrong without outside influence:", q.CleanMispredictions)
	// Output:
	// every state that a client applied was the server's: true
	// what shooters saw is what happened, nine times in ten at least: true
	// predictions that were wrong without outside influence: 0
}
