// The arena's client for browsers; meanwhile demo builds and serves it. Natively it is the arena as any other game.
package main

import (
	"meanwhile/app"
	"meanwhile/examples/arena"
)

func main() { app.Main(&arena.Game) }
