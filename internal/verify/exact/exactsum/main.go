// Command exactsum prints a hash of what package geom computes, one line for each group of
// functions and one for all together. The lines must be the same on every machine:
//
//	go run ./internal/verify/exact/exactsum
//	GOAMD64=v3 go run ./internal/verify/exact/exactsum
//	GOARCH=arm64 go run -exec qemu-aarch64-static ./internal/verify/exact/exactsum
//	GOOS=wasip1 GOARCH=wasm go build -o exactsum.wasm ./internal/verify/exact/exactsum   # for any WASI runtime
//
// With a number as its argument it draws other inputs, with that number as seed. With the argument
// "control" it prints instead a hash of arithmetic that is left to the compiler, which is not the
// same on every machine.
package main

import (
	"os"
	"strconv"

	"meanwhile/internal/verify/exact"
)

func main() {
	seed, n := uint64(1), exact.Rounds
	if len(os.Args) > 1 && os.Args[1] == "control" {
		line("control", exact.Control(seed, n))
		return
	}
	if len(os.Args) > 1 {
		var err error
		if seed, err = strconv.ParseUint(os.Args[1], 10, 64); err != nil {
			os.Stderr.WriteString("exactsum: " + os.Args[1] + " is neither a seed nor \"control\"\n")
			os.Exit(2)
		}
	}
	sums := exact.Sums(seed, n)
	for _, s := range sums {
		line(s.Name, s.Hash)
	}
	line("all", exact.Fold(sums))
}

func line(name string, h uint64) {
	digits := strconv.FormatUint(h, 16)
	os.Stdout.WriteString("0000000000000000"[len(digits):] + digits + " " + name + "\n")
}
