package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// outside are the packages that run goroutines without the race detector, and why.
var outside = map[string]string{
	"app/dev":       "a parent of programs: a test of cmd/meanwhile plays with it",
	"cmd/meanwhile": "programs: they start what the packages of the race section run",
	"lab/hostile":   "attackers: the hosts that they attack are tested under the detector by themselves",
	"lab":           "measured worlds that run beside each other and share nothing",
}

// TestRaceSeesGoroutines keeps the section race of .ci/run complete: each package whose code starts
// a goroutine is in one of its lists, or in outside.
func TestRaceSeesGoroutines(t *testing.T) {
	script, err := os.ReadFile("../../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	list := func(name string) []string {
		m := regexp.MustCompile(`(?m)^` + name + `="(.*)"$`).FindSubmatch(script)
		if m == nil {
			t.Fatalf(".ci/run has no list %s", name)
		}
		return strings.Fields(string(m[1]))
	}
	shared := map[string]bool{}
	for _, s := range list("SHARED") {
		_, dir, _ := strings.Cut(s, ":")
		shared[dir] = true
	}
	concurrent := list("CONCURRENT")
	seen := func(dir string) bool {
		for d := dir; d != "."; d = path.Dir(d) {
			for _, c := range concurrent {
				if c == d {
					return true
				}
			}
		}
		return shared[dir] || outside[dir] != ""
	}
	tree, err := Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]bool{}
	for _, f := range tree.Files {
		dir := path.Dir(f.Path)
		if strings.HasSuffix(f.Path, "_test.go") || strings.HasPrefix(dir, "internal/verify/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = true
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				found = found || ok && s.Sel.Name == "Go"
			}
			return true
		})
		starts[dir] = starts[dir] || found
		if found && !seen(dir) {
			t.Errorf("%s starts goroutines, and the section race of .ci/run does not test %s", f.Path, dir)
		}
	}
	for _, dir := range []string{"host", "transport", "gametest", "lab"} {
		if !starts[dir] {
			t.Errorf("no goroutine was found in %s, so others would not be found either", dir)
		}
	}
	for dir := range outside {
		if !starts[dir] {
			t.Errorf("%s starts no goroutine any more", dir)
		}
	}
}
