// Package sides has rules that run on the server alone.
package sides

import (
	"math"
	"time"

	"meanwhile/game"
)

type Cmd struct{ X float64 }

var Game = game.Definition[Cmd]{
	Join: join, Leave: leave, Referee: referee, Bot: bot, ShownTo: shown, Groups: shown,
}

var joined int

func join(w *game.World, name string) game.ID {
	joined++ // want `writes to joined, .* \(in Join\)`
	return game.ID(both(1, 2, 3))
}

func leave(w *game.World, me game.ID) { _ = time.Now() } // want `time\.Now .* \(in Leave\)`

func referee(w *game.World) {
	for k, v := range map[int]int{} { // want `range over the map .* \(in Referee\)`
		_, _ = k, v
	}
}

func bot(w *game.World, me game.ID) Cmd { return Cmd{math.Sin(3)} }

func shown(w *game.World, id game.ID) uint64 {
	go leave(w, id) // want `a goroutine runs when it likes.*\(in ShownTo\)`
	return 1
}

// both is a rule of one side here, so what differs between machines is no error.
func both(x, y, z float64) float64 { return math.Sin(x*y + z) }
