// Package silenced has findings with a comment that silences them, and comments that do not.
package silenced

import (
	"math"

	"meanwhile/game"
)

type Cmd struct{}

var Game = game.Definition[Cmd]{Act: act}

func act(w *game.World, me game.ID, c Cmd) {
	_ = math.Sin(0) //meanwhile:ok the sine of 0 is 0 on every machine
	//meanwhile:ok the cosine of 0 is 1 on every machine
	_ = math.Cos(0)
	_ = math.Cos(1) // want `math\.Cos`

	/* want `silences nothing without a reason` */ //meanwhile:ok
	_ = math.Cos(2)                                // want `math\.Cos`

	//meanwhile:okay this is another word
	_ = math.Cos(3) // want `math\.Cos`
}
