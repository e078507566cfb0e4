// Command exact prints a hash for each part of the project whose result must be the same on every
// machine. `.ci/exact` builds it for each kind of machine, runs it there and compares the lines.
//
//	go run ./internal/verify/exact/cmd/exact            every part
//	go run ./internal/verify/exact/cmd/exact geom       one part
package main

import (
	"fmt"
	"os"
	"slices"

	"meanwhile/internal/verify/exact"
)

// A part is one line: a name and the hash of everything that part computes for inputs that never
// change. A hash has no right value, it only has to be the same everywhere, so a part may be
// extended at will. When geom's differs, internal/verify/exact/exactsum names the functions that
// do.
type part struct {
	name string
	sum  func() uint64
}

var parts = []part{
	{"geom", func() uint64 { return exact.Digest(1, exact.Rounds) }},
	{"wire", wireSum},
	{"records", recordSum},
	{"lab", labSum},
}

func main() {
	wanted := os.Args[1:]
	for _, name := range wanted {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			fmt.Fprintf(os.Stderr, "exact: no part is called %q\n", name)
			os.Exit(2)
		}
	}
	for _, p := range parts {
		if len(wanted) == 0 || slices.Contains(wanted, p.name) {
			fmt.Printf("%s %016x\n", p.name, p.sum())
		}
	}
}
