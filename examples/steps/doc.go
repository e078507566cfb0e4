// Package steps has the game of docs/guide/first-game.md as it stands after each of the six steps.
package steps
