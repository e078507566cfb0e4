package demo

import (
	"embed"
	"strings"
)

// dist holds the arena's client in WebAssembly, which generate.go writes, for programs that are
// given away without their source. A fresh checkout has none; then meanwhile builds it with the
// local toolchain.
//
//go:generate go run generate.go
//go:embed all:dist
var dist embed.FS

// Client returns the arena's client packed with brotli, and the file wasm_exec.js that belongs to
// it, if this program was compiled with one. schema is the hash of the rules that it plays by, in
// hexadecimal digits.
func Client() (br, exec []byte, schema string, ok bool) {
	br, err := dist.ReadFile("dist/arena.wasm.br")
	if err != nil {
		return nil, nil, "", false
	}
	exec, err = dist.ReadFile("dist/wasm_exec.js")
	if err != nil {
		return nil, nil, "", false
	}
	hash, err := dist.ReadFile("dist/schema")
	return br, exec, strings.TrimSpace(string(hash)), err == nil
}
