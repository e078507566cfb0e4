package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
)

// A Program is a game's client in WebAssembly and what a page needs to run it.
type Program struct {
	wasm, exec *asset
}

// NewProgram returns a Program of the WebAssembly, the same packed with brotli, and wasm_exec.js of
// the Go version that compiled it. One of wasm and br may be nil. It fails on bytes that are not
// WebAssembly and on an empty exec.
func NewProgram(wasm, br, exec []byte) (*Program, error) {
	if wasm == nil {
		var err error
		if wasm, err = io.ReadAll(io.LimitReader(brotli.NewReader(bytes.NewReader(br)), maxFile)); err != nil {
			return nil, fmt.Errorf("site: unpacking the program: %w", err)
		}
	}
	if !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil, errors.New("site: the program is not WebAssembly")
	}
	if len(exec) == 0 {
		return nil, errors.New("site: wasm_exec.js is missing")
	}
	return &Program{newAsset(types[".wasm"], wasm, br), newAsset(types[".js"], exec, nil)}, nil
}

// Size returns the size of the WebAssembly in bytes, as it is and packed with brotli.
func (p *Program) Size() (plain, packed int) { return len(p.wasm.raw), len(p.wasm.brotli()) }

// errNoSource reports that the source of the running program cannot be found.
var errNoSource = errors.New("site: the page's program cannot be built: " +
	"the source of this program is not on this machine")

// A Source is where the source of the running program is.
type Source struct {
	Main string // folder of its package main
	Root string // folder of its module's go.mod
}

// FindSource finds the source of the running program: where it was compiled, or in or above the
// working directory. It fails with errNoSource, as for a program that was moved to another machine.
func FindSource() (Source, error) {
	// Compiled without -trimpath, the program knows where its main function is.
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(0, pc)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "main.main" {
			continue
		}
		dir := filepath.Dir(f.File)
		if root, ok := moduleAbove(dir); ok && filepath.IsAbs(dir) {
			return Source{dir, root}, nil
		}
	}
	info, ok := debug.ReadBuildInfo()
	wd, err := os.Getwd()
	if !ok || err != nil || info.Main.Path == "" {
		return Source{}, errNoSource
	}
	// Otherwise it knows the names of its package and module.
	for dir := wd; ; {
		root, ok := moduleAbove(dir)
		if !ok {
			return Source{}, fmt.Errorf("%w: it is not in or above %s", errNoSource, wd)
		}
		if moduleName(root) == info.Main.Path {
			below := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(info.Path, ".test"), info.Main.Path), "/")
			if main := filepath.Join(root, filepath.FromSlash(below)); isDir(main) {
				return Source{main, root}, nil
			}
		}
		dir = filepath.Dir(root)
	}
}

// SourceIn returns the source of a program whose package main is in a folder, or in the only folder
// below its cmd.
func SourceIn(dir string) (Source, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Source{}, err
	}
	root, ok := moduleAbove(dir)
	if !ok {
		return Source{}, fmt.Errorf("there is no go.mod in or above %s", dir)
	}
	if isMain(dir) {
		return Source{dir, root}, nil
	}
	below, _ := filepath.Glob(filepath.Join(dir, "cmd", "*")) // the pattern is sound
	below = slices.DeleteFunc(below, func(d string) bool { return !isMain(d) })
	if len(below) != 1 {
		return Source{}, fmt.Errorf("%s has no package main, and %d folders of its cmd have one: name the folder", dir,
			len(below))
	}
	return Source{below[0], root}, nil
}

// isMain reports whether a folder has a package main.
func isMain(dir string) bool {
	names, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is sound
	return slices.ContainsFunc(names, func(name string) bool {
		b, err := os.ReadFile(name)
		return err == nil && !strings.HasSuffix(name, "_test.go") && mainClause.Match(b)
	})
}

var mainClause = regexp.MustCompile(`(?m)^package main\b`)

// moduleAbove returns the nearest folder at or above dir that has a go.mod.
func moduleAbove(dir string) (string, bool) {
	for {
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && info.Mode().IsRegular() {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// moduleName returns the path in the module line of a go.mod.
func moduleName(root string) string {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			name, _, _ = strings.Cut(name, "//")
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return ""
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Web returns the folder of the game's page: the nearest folder called web, with a game.js or an
// index.html, from the folder of package main up to that of the module.
func (s Source) Web() (string, bool) {
	for dir := s.Main; ; dir = filepath.Dir(dir) {
		web := filepath.Join(dir, "web")
		for _, name := range []string{"game.js", "index.html"} {
			if info, err := os.Stat(filepath.Join(web, name)); err == nil && info.Mode().IsRegular() {
				return web, true
			}
		}
		if dir == s.Root || dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// errNoToolchain reports that there is no Go toolchain to build with.
var errNoToolchain = errors.New("site: the page's program must be built, but this machine has no Go toolchain: " +
	"install Go from https://go.dev/dl/")

// A BuildError is a failed build. Output is the compiler's.
type BuildError struct {
	Dir    string
	Output string
	Err    error
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("site: building %s for the browser failed: %v", e.Dir, e.Err)
}

func (e *BuildError) Unwrap() error { return e.Err }

// builds is the folder for what was built before, in os.UserCacheDir.
const builds = "meanwhile"

// keptBuilds and keptPacks are how many programs the cache keeps, and how many packed ones; the
// oldest go first.
const (
	keptBuilds = 12
	keptPacks  = 24
)

// Build compiles the package main in dir for the browser with this machine's Go toolchain, and
// packs it. It skips both steps if nothing has changed. It writes a line to progress. It fails
// without a toolchain, with a *BuildError, or with an error of a file.
func Build(ctx context.Context, dir, name string, progress io.Writer) (*Program, error) {
	return buildWasm(ctx, dir, name, progress, true)
}

// BuildPlain is Build without packing, which takes longer than it saves on one machine.
func BuildPlain(ctx context.Context, dir, name string, progress io.Writer) (*Program, error) {
	return buildWasm(ctx, dir, name, progress, false)
}

func buildWasm(ctx context.Context, dir, name string, progress io.Writer, pack bool) (*Program, error) {
	//lint:ignore SA1019 where the program was built, if that still exists; else toolchain looks in the path
	tool, err := toolchain(runtime.GOROOT())
	if err != nil {
		return nil, err
	}
	env := append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		// Set by go run and go test for the program's own machine.
		return strings.HasPrefix(v, "GOOS=") || strings.HasPrefix(v, "GOARCH=") || strings.HasPrefix(v, "GOROOT=")
	}), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, tool, args...)
		cmd.Dir, cmd.Env = dir, env
		cmd.Cancel = func() error { // killed, it would leave its files behind
			if cmd.Process.Signal(os.Interrupt) == nil {
				return nil
			}
			return cmd.Process.Kill()
		}
		cmd.WaitDelay = 5 * time.Second
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			return "", &BuildError{dir, strings.TrimSpace(errs.String()), err}
		}
		return strings.TrimSpace(out.String()), nil
	}
	root, err := run("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	start, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, fmt.Errorf("site: this Go toolchain has no wasm_exec.js: %w", err)
	}

	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	sum := newAsset("", []byte(dir), nil).hash[:16]
	out := filepath.Join(cache, sum+"-"+name+".wasm")
	fmt.Fprintf(progress, "building %s.wasm ... ", name)
	began := time.Now()
	// The go command leaves an up-to-date file alone. It works on a copy, so that two programs that
	// start at once do not write to the same file.
	work := fmt.Sprintf("%s.%d", out, os.Getpid())
	defer os.Remove(work)
	if old, err := os.ReadFile(out); err == nil {
		_ = os.WriteFile(work, old, 0o755)
	}
	if _, err := run("build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", work, "."); err != nil {
		fmt.Fprintln(progress, "failed")
		return nil, err
	}
	wasm, err := os.ReadFile(work)
	if err != nil {
		return nil, err
	}
	_ = os.Rename(work, out) // if it fails, the next build takes longer
	prune(cache, "*.wasm", keptBuilds)
	p, err := NewProgram(wasm, nil, start)
	if err != nil {
		return nil, err
	}
	took := func() time.Duration { return time.Since(began).Round(10 * time.Millisecond) }
	if !pack {
		fmt.Fprintf(progress, "%.1f MB, %v\n", float64(len(p.wasm.raw))/1e6, took())
		return p, nil
	}
	p.pack(cache)
	plain, packed := p.Size()
	fmt.Fprintf(progress, "%.1f MB, %.2f MB packed, %v\n", float64(plain)/1e6, float64(packed)/1e6, took())
	return p, nil
}

// Write writes the two files of a Program beside a page, for Prebuilt.
func (p *Program) Write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".wasm"), p.wasm.raw, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "wasm_exec.js"), p.exec.raw, 0o666)
}

// Plain leaves the WebAssembly of a Program unpacked, for players on the same machine.
func (p *Program) Plain() *Program {
	p.wasm.plain = true
	return p
}

// BuildNative compiles the package main in dir for this machine into a file.
func BuildNative(ctx context.Context, dir, out string) error {
	//lint:ignore SA1019 where the program was built, if that still exists; else toolchain looks in the path
	tool, err := toolchain(runtime.GOROOT())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, tool, "build", "-buildvcs=false", "-o", out, ".")
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return &BuildError{dir, strings.TrimSpace(errs.String()), err}
	}
	return nil
}

// toolchain returns the path of the go command: from the search path, or from root, the toolchain
// that built this program.
func toolchain(root string) (string, error) {
	if tool, err := exec.LookPath("go"); err == nil {
		return tool, nil
	}
	name := "go"
	if runtime.GOOS == "windows" {
		name = "go.exe"
	}
	if tool := filepath.Join(root, "bin", name); root != "" && isFile(tool) {
		return tool, nil
	}
	return "", errNoToolchain
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// cacheDir makes and returns the folder of built programs.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir() // a service without a home
	}
	dir := filepath.Join(base, builds)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("site: a folder for what is built: %w", err)
	}
	return dir, nil
}

// pack packs the WebAssembly, or reads it packed from the cache, where its name is its hash.
func (p *Program) pack(cache string) {
	name := filepath.Join(cache, fmt.Sprintf("%s-%d.br", p.wasm.hash[:32], brotliLevel))
	if br, err := os.ReadFile(name); err == nil && len(br) > 0 {
		again, err := io.ReadAll(io.LimitReader(brotli.NewReader(bytes.NewReader(br)), maxFile))
		if err == nil && bytes.Equal(again, p.wasm.raw) {
			p.wasm.br.once.Do(func() { p.wasm.br.b = br })
			now := time.Now()
			_ = os.Chtimes(name, now, now)
			return
		}
	}
	work := fmt.Sprintf("%s.%d", name, os.Getpid())
	if os.WriteFile(work, p.wasm.brotli(), 0o644) == nil {
		_ = os.Rename(work, name)
	}
	_ = os.Remove(work)
	prune(cache, "*.br", keptPacks)
}

// prune deletes all but the newest files that match a pattern.
func prune(cache, pattern string, keep int) {
	list, err := filepath.Glob(filepath.Join(cache, pattern))
	if err != nil || len(list) <= keep {
		return
	}
	age := func(name string) time.Time {
		info, err := os.Stat(name)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(list, func(a, b string) int { return age(b).Compare(age(a)) })
	for _, name := range list[keep:] {
		_ = os.Remove(name)
	}
}

// Prebuilt returns the program that stands beside the page as NAME.wasm and wasm_exec.js. It fails
// with fs.ErrNotExist if NAME.wasm is missing.
func Prebuilt(tree fs.FS, name string) (*Program, error) {
	wasm, err := fs.ReadFile(tree, name+".wasm")
	if err != nil {
		return nil, err
	}
	start, err := fs.ReadFile(tree, "wasm_exec.js")
	if err != nil {
		return nil, fmt.Errorf("site: %s.wasm needs the wasm_exec.js of the Go that built it beside it: %w", name, err)
	}
	return NewProgram(wasm, nil, start)
}
