// Command vetrules checks the rules of games, as a tool of go vet:
//
//	go vet -vettool=$(which vetrules) ./...
//
// "meanwhile vet" and the vet command of a game's own program run it that way. docs/VET.md lists
// the checks.
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"meanwhile/vet"
)

func main() { unitchecker.Main(vet.Analyzer) }
