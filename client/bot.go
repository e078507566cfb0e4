package client

import (
	"meanwhile/game"
	"meanwhile/internal/engine"
)

// A BotFunc writes a bot's command into cmd. See BotOf.
type BotFunc = engine.BotFunc

// BotOf makes a BotFunc of f, for a game with commands of type C.
func BotOf[C any](f func(w *game.World, me game.ID) C) BotFunc {
	return func(w *engine.World, me game.ID, cmd []int64) {
		c := f((*game.World)(w), me)
		engine.ToInts(w.Command(), &c, cmd)
	}
}
