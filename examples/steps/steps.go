// Package steps has the game of docs/guide/first-game.md as it stands after each of the six steps.
package steps

import "embed"

// Last is the folder step6: the whole game with its page and its test, which "meanwhile new" begins
// games with.
//
//go:embed step6/game.go step6/game_test.go step6/web/game.js
var Last embed.FS
