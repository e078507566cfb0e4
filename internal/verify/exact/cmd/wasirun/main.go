// Command wasirun runs a WebAssembly program built with GOOS=wasip1, as a browser's machine would
// compute it:
//
//	go build -o wasirun ./internal/verify/exact/cmd/wasirun
//	GOOS=wasip1 GOARCH=wasm go build -o exact.wasm ./internal/verify/exact/cmd/exact
//	./wasirun exact.wasm
//
// It serves go test too: GOOS=wasip1 GOARCH=wasm go test -exec "$PWD/wasirun" ./geom. The program
// sees the files of the machine, the arguments, the environment and the clock.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: wasirun PROGRAM.wasm [ARGUMENT ...]")
		os.Exit(2)
	}
	err := run(context.Background(), os.Args[1], os.Args[1:])
	var exit *sys.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(int(exit.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "wasirun:", err)
		os.Exit(1)
	}
}

// run runs the program in file until it ends.
func run(ctx context.Context, file string, args []string) error {
	code, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	program, err := r.CompileModule(ctx, code)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	cfg := wazero.NewModuleConfig().WithArgs(args...).
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount("/", "/")).
		WithSysNanosleep().WithSysNanotime().WithSysWalltime().WithRandSource(rand.Reader)
	for _, pair := range os.Environ() {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" && name != "PWD" {
			cfg = cfg.WithEnv(name, value)
		}
	}
	_, err = r.InstantiateModule(ctx, program, cfg.WithEnv("PWD", dir)) // Go begins in PWD, as WASI has no working folder
	return err
}
