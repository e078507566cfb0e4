// Package engine runs the rules of a game without knowing their types: entities are stores of IDs and integers, rules are closures.
// Package game is its typed face; servers, clients and tests drive a world with an Engine.
package engine
