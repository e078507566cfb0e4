package vet_test

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"meanwhile/internal/verify/exact/lint"
	"meanwhile/vet"
)

// The packages in testdata say in comments what must be found on their lines, and nothing else.
func TestFindings(t *testing.T) {
	for _, name := range []string{"fuse", "calls", "state", "reach", "sides", "silenced", "command"} {
		t.Run(name, func(t *testing.T) {
			results := analysistest.Run(diagnostics{t.Errorf}, analysistest.TestData()+"/rules", vet.Analyzer, "rules/"+name)
			if len(results) == 0 || len(results[0].Diagnostics) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// diagnostics drops complaints about facts, which the packages in testdata do not list: what
// importers are given shows in what is found there.
type diagnostics struct{ errorf func(string, ...any) }

func (d diagnostics) Errorf(format string, args ...any) {
	if len(args) < 2 || args[1] != "fact" {
		d.errorf(format, args...)
	}
}

// What the compilers for two kinds of machines really fuse is found, and what the check takes for
// sound they do not fuse.
func TestCompilersAgree(t *testing.T) {
	found := map[string]bool{}
	var names []string
	for _, r := range analysistest.Run(diagnostics{func(string, ...any) {}}, analysistest.TestData()+"/rules",
		vet.Analyzer, "rules/compiled") {
		for _, f := range r.Pass.Files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || fn.Name.Name == "plus" || fn.Name.Name == "far" {
					continue
				}
				names = append(names, fn.Name.Name)
				for _, diagnostic := range r.Diagnostics {
					if fn.Pos() <= diagnostic.Pos && diagnostic.Pos < fn.End() {
						found[fn.Name.Name] = true
					}
				}
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("the sample has %d functions, expected above 20", len(names))
	}
	found["Inlined"] = found["product"] // reported where the product is computed
	for _, name := range names {
		if sound := strings.HasPrefix(name, "sound"); sound == found[name] {
			t.Errorf("%s: reported: %v", name, found[name])
		}
	}
	symbol := regexp.MustCompile(`^rules/compiled\.(\w+)`)
	for _, target := range lint.Fusing {
		_, lines, err := lint.Fused("testdata/rules", "./compiled", target)
		if err != nil {
			t.Fatal(err)
		}
		fused := map[string]bool{}
		for _, line := range lines {
			if m := symbol.FindStringSubmatch(line); m != nil {
				fused[m[1]] = true
			}
		}
		if len(fused) < 10 {
			t.Errorf("%s: %v fused, expected above 10: this comparison shows nothing", target.Arch,
				slices.Sorted(maps.Keys(fused)))
		}
		for name := range fused {
			if !found[name] {
				t.Errorf("%s: the compiler fused %s, and nothing was found", target.Arch, name)
			}
		}
	}
}

// Rules may call all of package geom.
func TestGeomIsSound(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule}, "meanwhile/geom/...")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{vet.Analyzer}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, action := range graph.Roots {
		if action.Err != nil {
			t.Error(action.Err)
		}
		for _, f := range action.AllObjectFacts() {
			if seen++; !strings.HasPrefix(fmt.Sprint(f.Fact), "0 findings") {
				t.Errorf("%s: %v", f.Object, f.Fact)
			}
		}
	}
	if seen == 0 {
		t.Error("no function of geom has a fact, not even those that sort in place")
	}
}
