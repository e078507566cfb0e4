package play_test

import (
	"context"
	"fmt"
	"time"

	"meanwhile/app/play"
	"meanwhile/examples/zap"
)

// A program with a window runs the frames: it says what the player wants, and draws what is there.
func ExampleDial() {
	server, stop, err := serve("127.0.0.1:0") // or from a shell: go run ./examples/zap/cmd/zap
	if err != nil {
		panic(err)
	}
	defer stop()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := play.Dial(ctx, &zap.Game, server.URL(), play.Options{Name: "Ada"})
	if err != nil {
		panic(err) // a sentence that says what to do
	}
	defer c.Close()

	for drawn := false; !drawn; time.Sleep(time.Second / 60) { // for each frame of the screen
		if err := c.Frame(zap.Cmd{Aim: 1}); err != nil {
			panic(err) // the player is out for good
		}
		for e, pilot := range zap.Pilots.Drawn(c) {
			if e.Mine {
				drawn = true
				fmt.Println("my pilot can shoot:", pilot.Ammo > 0)
			}
		}
		for e, shot := range zap.Zaps.Shown(c) {
			fmt.Println(e.Actor, "shoots", shot.From, shot.To)
		}
	}
	// Output: my pilot can shoot: true
}
