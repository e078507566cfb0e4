package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"meanwhile/internal/verify/exact/lint"
)

// TestRepository holds the rules for every Go file of this repository.
func TestRepository(t *testing.T) {
	tree, err := Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 3 {
		t.Fatalf("only %d Go files found under ../..; the check would hold of nothing", len(tree.Files))
	}
	findings, err := Check(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// TestPagesNameEveryRoom keeps the table of docs/architecture.md in step with the list of rooms, in
// its order, and the list of the module's own doc.go in step with both.
func TestPagesNameEveryRoom(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("../../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "| package | what it is |")
	for _, side := range rooms {
		for _, r := range side {
			at := strings.Index(text, "`"+r+"`")
			if at < 0 {
				t.Errorf("docs/architecture.md does not name `%s`, or not in the order of the rooms", r)
				continue
			}
			text = text[at:]
			if ours := within(r, "internal") || within(r, "examples") || within(r, "demo") || within(r, "cmd"); !ours &&
				!strings.Contains(string(list), r+" ") {
				t.Errorf("doc.go does not list %s", r)
			}
		}
	}
}

// unrounded lists the rooms of the core that TestArithmeticIsExact does not hold yet. It may only
// become shorter.
var unrounded = []string{}

// TestArithmeticIsExact holds what makes floats equal on every machine. In the core each product is
// written so that no compiler may fuse it with a sum. Rules of sample games may write products as
// they come, because geom's functions round what they are given; so it is their machine code that
// must not be fused.
func TestArithmeticIsExact(t *testing.T) {
	tree, err := Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var core, rules []string
	for _, f := range tree.Files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Src, parser.PackageClauseOnly)
		if err != nil {
			continue // TestRepository says it
		}
		dir := path.Dir(f.Path)
		switch own, _ := room(dir); {
		case !mustBePure(f, own, parsed.Name.Name) || slices.Contains(unrounded, own):
		case isCore(own):
			core = append(core, "./"+dir)
		default:
			rules = append(rules, "./"+dir)
		}
	}
	findings, err := lint.Sources("../../..", slices.Compact(core)...)
	if err != nil {
		t.Error(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
	for _, dir := range slices.Compact(rules) {
		for _, target := range lint.Fusing {
			_, lines, err := lint.Fused("../../..", dir, target)
			if err != nil {
				t.Error(err)
			}
			for _, line := range lines {
				t.Errorf(
					"%s for %s: the compiler fused a product with a sum, and client and server will differ: write float64(x*y)\n%s",
					dir,
					target.Arch,
					line,
				)
			}
		}
	}
}

// heavy lists what only servers need. One of these linked into a browser's program more than
// doubles what every player downloads, and the build says nothing.
var heavy = []string{
	"net/http",
	"crypto/tls",
	"github.com/quic-go/quic-go",
	"github.com/prometheus/client_golang",
	"github.com/alecthomas/kong",
	"github.com/andybalholm/brotli",
}

// TestBrowserProgramsAreLight looks at what the programs that run in a browser link.
func TestBrowserProgramsAreLight(t *testing.T) {
	cmd := exec.Command(
		"go",
		"list",
		"-e",
		"-f",
		`{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`,
		"./examples/...",
		"./demo/...",
	)
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	for line := range strings.Lines(string(out)) {
		deps := strings.Fields(line)
		if len(deps) < 2 {
			continue
		}
		for _, dep := range deps[1:] {
			if withinAny(dep, heavy) {
				t.Errorf("%s, built for the browser, links %s: keep it behind a build tag, //go:build !js", deps[0], dep)
			}
		}
	}
}

// TestCatches proves that each rule can fail, and that what it must allow passes. In each source
// the lines that must be found end with "// bad: " and a word of the finding; every other line must
// pass.
func TestCatches(t *testing.T) {
	for name, archive := range map[string]string{
		"imports point up": `
-- geom/a.go --
package geom
import _ "m/netcode/wire" // bad: wire stands below geom
-- netcode/wire/a.go --
package wire
import _ "m/geom"
-- netcode/wire/bits/a.go --
package bits
import _ "m/netcode/wire"
-- client/a.go --
package client
import (
	_ "m/netcode/wire"
	_ "m/server" // bad: side by side
)
-- server/a.go --
package server
import _ "m/transport" // bad: declare the methods that server needs
-- transport/quic/a.go --
package quic
import (
	_ "m/netcode/wire"
	_ "m/transport"
	_ "m/host" // bad: host stands below transport
)
-- gametest/a.go --
package gametest
import (
	_ "m/server"
	_ "m/lab" // bad: lab stands below gametest
)
-- examples/zap/zap/zap_test.go --
package zap
import _ "m/gametest"
-- lab/a.go --
package lab
import (
	_ "m/gametest"
	_ "m/examples/zap/zap"
)
`,
		"what stays apart": `
-- host/a.go --
package host
import (
	_ "m/client" // bad: headless/ has players
	_ "m/server"
)
-- host/a_test.go --
package host
import _ "m/client"
-- app/internal/bridge/a.go --
package bridge
import (
	_ "m/client"
	_ "m/netcode/motion" // bad: handed what it draws
	_ "m/netcode/snapshot" // bad: handed what it draws
)
`,
		"rooms are known": `
-- util/a.go --
package util // bad: in no room
-- doc.go --
package m
-- a.go --
package m // bad: in no room
var X int
-- netcode/wire/a.go --
package wire
import _ "m/common" // bad: in no room
-- wirez/a.go --
package wirez // bad: in no room
`,
		"internal is for tests": `
-- netcode/wire/a.go --
package wire
import _ "m/internal/verify/exact" // bad: only test files need it
-- netcode/wire/a_test.go --
package wire
import _ "m/internal/verify/exact"
-- internal/verify/exact/a.go --
package exact
import _ "m/netcode/wire"
-- internal/verify/exact/cmd/exact/main.go --
package main
import _ "m/internal/verify/exact"
`,
		"other modules": `
-- netcode/wire/a.go --
package wire
import _ "github.com/google/uuid" // bad: the standard library alone
-- netcode/wire/a_test.go --
package wire
import (
	_ "pgregory.net/rapid"
	_ "github.com/chromedp/chromedp"
	_ "github.com/stretchr/testify/assert" // bad: not among those that use this module
)
-- transport/quic/a.go --
package quic
import (
	_ "github.com/quic-go/quic-go/http3"
	_ "github.com/quic-go/quic-gone" // bad: not among
	_ "github.com/prometheus/client_golang/prometheus" // bad: not among
)
-- host/a.go --
package host
import _ "github.com/prometheus/client_golang/prometheus" // bad: not among
-- host/metrics/a.go --
package metrics
import _ "github.com/prometheus/client_golang/prometheus"
-- examples/zap/main.go --
package main
import _ "github.com/alecthomas/kong" // bad: not among
`,
		"the core imports no edge": `
-- netcode/rate/a.go --
package rate
import (
	_ "crypto/hmac"
	_ "crypto/rand" // bad: one seed
	_ "errors"
	_ "io/fs"
	_ "log/slog" // bad: host/ logs them
	_ "math/bits"
	_ "math/rand/v2" // bad: hash of seed
	_ "net" // bad: sockets
	_ "net/http" // bad: sockets
	_ "net/netip"
	_ "os" // bad: the edge
	_ "os/exec" // bad: the edge
	_ "runtime" // bad: scheduler
	_ "runtime/debug"
	_ "sync" // bad: one loop
	_ "sync/atomic" // bad: one loop
	_ "context" // bad: do not block
	_ "unsafe" // bad: stranger
	_ "hash/maphash" // bad: seed
	_ "syscall/js" // bad: the page
)
-- netcode/rate/a_test.go --
package rate
import (
	_ "net"
	_ "os"
	_ "time"
)
var _ = time.Now()
-- netcode/rate/a_js.go --
package rate
import _ "sync" // bad: one loop
-- netcode/schema/a.go --
package schema
import "unsafe"
var _ unsafe.Pointer
-- host/a.go --
package host
import (
	_ "net"
	_ "sync"
)
`,
		"the core is told the time": `
-- netcode/clock/a.go --
package clock
import (
	"time"
	when "time"
)
const beat = 50 * time.Millisecond
var a = time.Now() // bad: told the time
var b = when.Since(a) // bad: told the time
var c = time.NewTicker(beat) // bad: told the time
var d *time.Timer // bad: told the time
var e = time.Unix(0, 0)
var f = time.Local // bad: place of the machine
func g(time struct{ Now int }) int { return time.Now }
func h() { time.Sleep(beat) } // bad: told the time
-- host/a.go --
package host
import "time"
var a = time.Now()
`,
		"the core starts and blocks nothing": `
-- server/a.go --
package server
import "iter"
func f(in chan int, s iter.Seq[int]) { // bad: does not block
	go f(in, s) // bad: goroutines
	select {} // bad: select
}
func g(s iter.Seq[int]) { iter.Pull(s) } // bad: coroutine
-- host/a.go --
package host
func f(in chan int) {
	go f(in)
	select {}
}
`,
		"the core prints nothing": `
-- server/a.go --
package server
import "fmt"
func f() {
	fmt.Println("x") // bad: prints nothing
	println("x") // bad: prints nothing
	_ = fmt.Sprint("x")
}
`,
		"arithmetic is exact": `
-- geom/a.go --
package geom
import "math"
func f(x float64) float64 {
	x = math.Sqrt(x) + math.Floor(x) + math.Pi + math.MaxInt32
	x = math.Sin(x) // bad: geom's
	return math.Pow(x, 2) // bad: geom's
}
-- geom/a_test.go --
package geom
import "math"
var _ = math.Sin(1)
-- examples/zap/zap/a.go --
package zap
import "math"
var x = math.Atan2(1, 2) // bad: geom's
-- examples/zap/main.go --
package main
import (
	"math"
	"os"
	"time"
)
var x = math.Atan2(1, 2)
var y = time.Now()
var _ = os.Args
`,
		"order does not depend on maps": `
-- netcode/interest/a.go --
package interest
import (
	"maps"
	"slices"
)
type set map[int]bool
func f[M ~map[int]bool](m map[int]bool, s set, g M, list []int) (n int) {
	for range m { // bad: order differs
		n++
	}
	for range s { // bad: order differs
	}
	for range g { // bad: order differs
	}
	for range list {
	}
	for _, v := range m { // any order: a sum of integers
		if v { n++ }
	}
	// any order: a sum of integers
	for range m {
	}
	// any order:
	for range m { // bad: order differs
	}
	_ = slices.Collect(maps.Keys(m)) // bad: order differs
	_ = slices.Sorted(maps.Keys(m)) // any order: sorted
	return
}
-- game/a.go --
package game
type Index map[int]int
-- session/a.go --
package session
import "m/game"
func f(i game.Index) {
	for range i { // bad: order differs
	}
}
`,
		"the core has no variables that change": `
-- netcode/wire/a.go --
package wire
type box struct{ n int; list []int }
var (
	count int
	table [4]int
	one box
	many map[int]*box
)
func init() { table[0] = 1 }
func f() {
	count = 1 // bad: write to wire.count
	count++ // bad: write to wire.count
	table[1] = 2 // bad: write to wire.table
	one.n = 3 // bad: write to wire.one
	many[0].n = 4 // bad: write to wire.many
	delete(many, 0) // bad: write to wire.many
	copy(one.list, nil) // bad: write to wire.one
	for count = range 3 { // bad: write to wire.count
	}
	count := 2
	count++
	b := one
	b.n = 4
	_ = count
}
var Public int
-- netcode/rate/a.go --
package rate
import "m/netcode/wire"
func f() { wire.Public = 1 } // bad: write to wire.Public
`,
		"rules of sample games are pure too": `
-- app/a.go --
package app
-- examples/zap/zap/a.go --
package zap
import (
	_ "m/app" // bad: same code
	_ "m/geom"
	_ "time"
	_ "os" // bad: the edge
)
-- examples/zap/main.go --
package main
import (
	_ "m/app"
	_ "m/examples/zap/zap"
	_ "os"
)
-- geom/a.go --
package geom
`,
		"nothing hides": `
-- netcode/wire/a.go --
package wire
import . "fmt" // bad: hides
import _ "unsafe" // bad: stranger
//go:linkname now runtime.nanotime // bad: past every rule
func now() int64
var _ = Sprint
`,
		"what does not compile is said": `
-- netcode/wire/a.go --
package wire
var x int = "no" // bad: by type
-- netcode/rate/a.go --
package rate
func { // bad: expected
`,
	} {
		t.Run(name, func(t *testing.T) {
			files := split(archive)
			findings, err := Check(Tree{Module: "m", Files: files})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{} // file:line to what was found there
			for _, f := range findings {
				at := fmt.Sprintf("%s:%d", f.Pos.Filename, max(f.Pos.Line, 1))
				got[at] += f.String() + "\n"
			}
			for _, f := range files {
				for i, line := range strings.Split(string(f.Src), "\n") {
					at := fmt.Sprintf("%s:%d", f.Path, i+1)
					_, want, bad := strings.Cut(line, "// bad: ")
					switch {
					case bad && !strings.Contains(got[at], want):
						t.Errorf("%s: want a finding with %q, got %q\n\t%s", at, want, got[at], line)
					case !bad && got[at] != "":
						t.Errorf("%s: found where nothing is wrong: %s\n\t%s", at, got[at], line)
					}
					delete(got, at)
				}
			}
			for at, what := range got {
				t.Errorf("%s: found on a line that is not there: %s", at, what)
			}
		})
	}
}

func TestModuleOf(t *testing.T) {
	if got := moduleOf([]byte("// a comment\nmodule example.org/x // note\n\ngo 1.26\n")); got != "example.org/x" {
		t.Errorf("got %q", got)
	}
}

// split takes apart files that each begin with a line "-- path --".
func split(archive string) (files []File) {
	for line := range strings.Lines(archive) {
		if name, ok := strings.CutPrefix(line, "-- "); ok {
			files = append(files, File{Path: strings.TrimSuffix(name, " --\n")})
		} else if len(files) > 0 {
			last := &files[len(files)-1]
			last.Src = append(last.Src, line...)
		}
	}
	return files
}

// TestBrowserProgramIsLean holds what docs/adr/0015-small-program.md says: these packages and what
// lies below them would be a twelfth of the program that a player waits for.
func TestBrowserProgramIsLean(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "../../../demo/client", "../../../examples/zap/cmd/zap")
	list.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"fmt", "os", "encoding/json", "log", "math/big", "regexp"} {
		if slices.Contains(strings.Fields(string(out)), heavy) {
			t.Errorf("a browser's program imports %s; internal/fault stands in for fmt", heavy)
		}
	}
}
