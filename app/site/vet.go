package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// home is the module that has the tool which checks rules.
const home = "meanwhile"

// Vet runs go vet with a tool on packages, ./... if args is empty, and returns the exit status: 0
// if nothing was found, 1 otherwise.
func Vet(ctx context.Context, tool string, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"./..."}
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"vet", "-vettool=" + tool}, args...)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		fmt.Fprintln(stderr, Sentence(home, fmt.Errorf("the rules cannot be checked: %w", err)))
	}
	return 1
}

// VetGame is Vet for the program of the game called name: it builds the tool from the source of
// module meanwhile that the working directory's module uses. The program itself does not contain
// the tool, and a game's go.mod does not need what the tool imports.
func VetGame(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	fail := func(err error) int {
		if ctx.Err() == nil {
			fmt.Fprintln(stderr, Sentence(name, fmt.Errorf("the rules cannot be checked: %w", err)))
		}
		return 1
	}
	dir, err := homeDir(ctx)
	if err != nil {
		return fail(err)
	}
	temp, err := os.MkdirTemp("", "vetrules")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(temp)
	tool := filepath.Join(temp, "vetrules")
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", tool, "./cmd/vetrules")
	build.Dir = dir
	// For this machine, whatever is to be checked, and without what belongs to the game's module.
	build.Env = append(os.Environ(), "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("building %s: %w\n%s", filepath.Join(dir, "cmd", "vetrules"), err, bytes.TrimSpace(out)))
	}
	return Vet(ctx, tool, args, stdout, stderr)
}

// homeDir returns the folder of module meanwhile, as the module in the working directory sees it.
func homeDir(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list -m %s: %w\n%s", home, err, bytes.TrimSpace(stderr.Bytes()))
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("the source of module %s is not on this machine: run go mod download %s", home, home)
	}
	return dir, nil
}
