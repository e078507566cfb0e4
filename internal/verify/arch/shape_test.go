package arch

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestShape holds the bounds of functions, structs, lines, files and table cells.
func TestShape(t *testing.T) {
	tree, err := Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := LoadPages("../../..")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, f := range Shape(tree, pages) {
		t.Error(f)
	}
}

// TestShapeCatches proves that each bound of TestShape can fail, and by one.
func TestShapeCatches(t *testing.T) {
	ifs := func(n int) string { return strings.Repeat("if x {\n}\n", n) }
	branches := func(n int) string { return "func f(x bool) {\n" + ifs(n-1) + "}" }
	many := func(n int) string { return strings.Repeat("_ int\n", n) }
	structure := func(n int) string { return "type T struct {\n" + many(n) + "}" }
	chain := strings.Repeat(" &&\nx", 30)
	for name, c := range map[string]struct {
		file, src, want string // want is part of the finding, "" if there is none
	}{
		"complexity":           {"lab/a.go", "package lab\n" + branches(MaxComplexity), ""},
		"complexity, one more": {"lab/a.go", "package lab\n" + branches(MaxComplexity+1), "complexity of 31"},
		"of verify":            {"internal/verify/arch/a.go", "package arch\n" + branches(MaxComplexity+1), ""},
		"operators":            {"lab/a.go", "package lab\nfunc f(x bool) bool { return x" + chain + "}", "complexity of 31"},
		"fields":               {"client/a.go", "package client\n" + structure(MaxFields), ""},
		"fields, one more":     {"client/a.go", "package client\n" + structure(MaxFields+1), "T has 31 fields"},
		"fields, of no core":   {"lab/a.go", "package lab\n" + structure(MaxFields+1), ""},
		"fields inside":        {"client/a.go", "package client\ntype T struct{ a struct{\n" + many(30) + "}}", "31 fields"},
		"line":                 {"lab/a.go", "package lab\n//" + strings.Repeat("é", MaxColumns-2), ""},
		"line, one more":       {"lab/a.go", "package lab\n//" + strings.Repeat("é", MaxColumns-1), "a line of 121"},
		"lines":                {"lab/a.go", "package lab" + strings.Repeat("\n", MaxLines), ""},
		"lines, one more":      {"lab/a.go", "package lab" + strings.Repeat("\n", MaxLines+1), "a file of 901"},
		"cell":                 {"docs/a.md", "| a | " + strings.Repeat("b", MaxCell) + " |", ""},
		"cell, one more":       {"docs/a.md", "| a | " + strings.Repeat("b", MaxCell+1) + " |", "a cell of 121"},
		"cell, in an example":  {"docs/a.md", "```\n| " + strings.Repeat("b", MaxCell+1) + " |\n```\n", ""},
	} {
		var tree Tree
		var pages []File
		if f := (File{c.file, []byte(c.src)}); strings.HasSuffix(c.file, ".md") {
			pages = append(pages, f)
		} else {
			tree.Files = append(tree.Files, f)
		}
		got := Shape(tree, pages)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), c.want)) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// TestExportsHaveUsers holds the list of exported names that no other package's program code uses:
// each is there for games and tools, and was reviewed. A name leaves the list when it is used, and
// a new one is used, unexported or listed.
func TestExportsHaveUsers(t *testing.T) {
	names, err := Unused("../../..")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/exports.txt")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			listed = append(listed, line)
		}
	}
	for _, n := range names {
		if !slices.Contains(listed, n) {
			t.Errorf(
				"no other package uses %s: unexport it, delete it, or list it in testdata/exports.txt if games or tools need it",
				n,
			)
		}
	}
	for _, n := range listed {
		if !slices.Contains(names, n) {
			t.Errorf("testdata/exports.txt lists %s, which is used by now or is gone", n)
		}
	}
}

// TestUnusedCatches proves that Unused tells used names from others, in a module of two packages.
func TestUnusedCatches(t *testing.T) {
	got, err := Unused("testdata/exports")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a Field.Spare", "a Lone", "a Thing.Idle"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// faces bounds the lines that go doc -all prints of packages that newcomers read whole.
var faces = map[string]int{"game": 200}

func TestFaces(t *testing.T) {
	for pkg, most := range faces {
		cmd := exec.Command("go", "doc", "-all", "./"+pkg)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(out), "\n"); n < 20 || n >= most {
			t.Errorf("go doc -all ./%s prints %d lines, want fewer than %d", pkg, n, most)
		}
	}
}
