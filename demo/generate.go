//go:build ignore

// This program builds the arena's client into demo/dist, where demo embeds it: go generate ./demo
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"

	"meanwhile/examples/arena"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("demo/generate: ")
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	rules, err := arena.Game.Rules()
	must(err)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	must(err)
	start, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	must(err)

	work, err := os.MkdirTemp("", "meanwhile-")
	must(err)
	defer os.RemoveAll(work)
	out := filepath.Join(work, "arena.wasm")
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", out, "./client")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	must(build.Run())
	wasm, err := os.ReadFile(out)
	must(err)
	var packed bytes.Buffer
	w := brotli.NewWriterLevel(&packed, brotli.BestCompression)
	_, err = w.Write(wasm)
	must(err)
	must(w.Close())

	must(os.MkdirAll("dist", 0o755))
	must(os.WriteFile("dist/arena.wasm.br", packed.Bytes(), 0o644))
	must(os.WriteFile("dist/wasm_exec.js", start, 0o644))
	must(os.WriteFile("dist/schema", []byte(fmt.Sprintf("%016x\n", rules.Hash)), 0o644))
	fmt.Printf("dist/arena.wasm.br: %d bytes, %d unpacked\n", packed.Len(), len(wasm))
}
