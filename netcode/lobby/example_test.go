package lobby_test

import (
	"fmt"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/lobby"
)

// Player 3 walks; two of its messages arrive in the wrong order.
func Example() {
	var players [256]lobby.Interpolator // by the player's number
	at := func(millis int) clock.Time { return clock.Time(millis) * clock.Time(time.Millisecond) }
	draw := func(millis int) {
		p, err := players[3].Draw(at(millis))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d ms: %.1f %.1f\n", millis, p.X, p.Y)
	}
	receive := func(millis int, datagram []byte) {
		m, _, err := lobby.DecodeMessage(datagram)
		if err != nil {
			return // count it
		}
		// players of a real lobby are reset when they join, so Push does not fail
		_, _ = players[m.User].Push(at(millis), m.Seq, geom.Vec2{X: float64(m.X), Y: float64(m.Y)})
	}

	draw(0) // nobody has this number yet
	players[3].Reset(geom.Vec2{X: 1, Y: 2})
	receive(100, lobby.Place{User: 3, Seq: 1, X: 2, Y: 2}.AppendMessage(nil))
	receive(310, lobby.Place{User: 3, Seq: 3, X: 4, Y: 3}.AppendMessage(nil))
	receive(320, lobby.Place{User: 3, Seq: 2, X: 3, Y: 2}.AppendMessage(nil))
	for _, millis := range []int{350, 400, 450, 500, 600, 650, 5000} {
		draw(millis)
	}
	// Output:
	// lobby: Interpolator is used before Reset
	// 350 ms: 1.0 2.0
	// 400 ms: 1.5 2.0
	// 450 ms: 2.0 2.0
	// 500 ms: 2.5 2.0
	// 600 ms: 3.5 2.5
	// 650 ms: 4.0 3.0
	// 5000 ms: 4.0 3.0
}
