// Package arch holds the shape of this repository: which package may import which, and what keeps
// the core pure.
//
// The core packages (geom to server and client) take bytes and the time and return bytes and facts.
// Then one seed gives one result on every machine, a log replays a match bit for bit, and the same
// code runs in the browser. That is easily lost by one call of time.Now, so the test of this
// package reads every source file and fails with the reason.
package arch

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"meanwhile/vet/exact"
)

// File is one Go source file. Path is relative to the root of the module, with slashes.
type File struct {
	Path string
	Src  []byte
}

// Tree is the source of one module.
type Tree struct {
	Module string // its path, as go.mod declares it
	Files  []File
}

// Finding is one place that breaks a rule.
type Finding struct {
	Pos  token.Position
	What string
	Why  string
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Pos, f.What, f.Why) }

// Load reads the Go files of the module at root. It leaves out what the go command leaves out too:
// testdata, folders that begin with a dot or an underscore, and modules of their own.
func Load(root string) (Tree, error) {
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return Tree{}, err
	}
	tree := Tree{Module: moduleOf(gomod)}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == root {
				return nil
			}
			if base := d.Name(); base == "testdata" || base == "vendor" || base == "node_modules" || base[0] == '.' ||
				base[0] == '_' {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if base := d.Name(); !strings.HasSuffix(base, ".go") || base[0] == '.' || base[0] == '_' {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		tree.Files = append(tree.Files, File{Path: filepath.ToSlash(rel), Src: src})
		return nil
	})
	return tree, err
}

// Check returns every finding in tree, in the order of their places. It fails only when it cannot
// look up the standard library with the go command.
func Check(tree Tree) ([]Finding, error) {
	c := &checker{module: tree.Module, fset: token.NewFileSet(), packages: map[string]*unit{}}
	for _, f := range tree.Files {
		c.file(f)
	}
	if err := c.types(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Pos.Filename, b.Pos.Filename),
			cmp.Compare(a.Pos.Offset, b.Pos.Offset),
			cmp.Compare(a.What, b.What),
		)
	})
	return slices.CompactFunc(c.findings, func(a, b Finding) bool { return a == b }), nil
}

// unit is a package that must be pure, with the files that this platform compiles.
type unit struct {
	dir   string
	core  bool
	files []*ast.File
}

type checker struct {
	module   string
	fset     *token.FileSet
	packages map[string]*unit // by import path
	findings []Finding
}

func (c *checker) add(at token.Pos, why, format string, args ...any) {
	c.findings = append(c.findings, Finding{Pos: c.fset.Position(at), What: fmt.Sprintf(format, args...), Why: why})
}

// mustBePure reports whether the rules of the core hold for a file of a room that declares package
// name: in the core, and in the rules of the sample games, which run on server, client and in tests
// as the core does. Programs are not bound, and neither are the samples of what runs beside the
// rules: a login, which asks a provider, and requests over HTTP.
func mustBePure(f File, own, name string) bool {
	if dir := path.Dir(f.Path); dir == "examples/oidc" || dir == "examples/routes" {
		return false
	}
	return !strings.HasSuffix(f.Path, "_test.go") && (isCore(own) || own == "examples" && name != "main")
}

// file checks one file by its syntax, whatever platform it is for, and files it under its package
// for the checks by type.
func (c *checker) file(f File) {
	tree, err := parser.ParseFile(c.fset, f.Path, f.Src, parser.ParseComments)
	if err != nil {
		bad := Finding{Pos: token.Position{Filename: f.Path}, What: "does not parse", Why: err.Error()}
		if list, ok := err.(scanner.ErrorList); ok {
			bad.Pos, bad.Why = list[0].Pos, list[0].Msg
		}
		c.findings = append(c.findings, bad)
		return
	}
	pkg := path.Dir(f.Path)
	own, line := room(pkg)
	if pkg == "." && len(tree.Decls) == 0 {
		return // the page that go doc shows first
	}
	if own == "" {
		c.add(
			tree.Package,
			"give it a place in the list of rooms in internal/verify/arch, in docs/architecture.md and in doc.go",
			"package %s is in no room",
			pkg,
		)
		return
	}
	test := strings.HasSuffix(f.Path, "_test.go")
	pure := mustBePure(f, own, tree.Name.Name)
	for _, spec := range tree.Imports {
		if to, err := strconv.Unquote(spec.Path.Value); err == nil {
			c.imported(spec, to, pkg, own, line, test, pure)
		}
	}
	if !pure {
		return
	}
	c.pure(tree)
	if matches(f) {
		imp := c.module + "/" + pkg
		if c.packages[imp] == nil {
			c.packages[imp] = &unit{dir: pkg, core: isCore(own)}
		}
		c.packages[imp].files = append(c.packages[imp].files, tree)
	}
}

// imported checks one import of a file.
func (c *checker) imported(spec *ast.ImportSpec, to, pkg, own string, line int, test, pure bool) {
	switch {
	case within(to, c.module):
		if test {
			return // a test may look at its package from above
		}
		below := strings.TrimPrefix(strings.TrimPrefix(to, c.module), "/")
		for _, a := range apart {
			if within(pkg, a.from) && within(below, a.to) {
				c.add(spec.Pos(), a.why, "%s imports %s", pkg, to)
			}
		}
		theirs, their := room(below)
		switch {
		case theirs == "":
			c.add(
				spec.Pos(),
				"give it a place in the list of rooms in internal/verify/arch",
				"%s imports %s, which is in no room",
				pkg,
				to,
			)
		case theirs == "internal" && own != "internal":
			c.add(spec.Pos(), "internal/ holds what checks this repository; only test files need it", "%s imports %s", pkg, to)
		case pure && own == "examples" && theirs != own && !isCore(theirs):
			c.add(
				spec.Pos(),
				"the same code of a game's rules runs on the server, in the browser and in tests, so rules import the core alone",
				"%s imports %s",
				pkg,
				to,
			)
		case their == line && theirs != own:
			c.add(
				spec.Pos(),
				"the two stand side by side; what both need belongs in a room above them",
				"%s imports %s",
				pkg,
				to,
			)
		case their > line:
			c.add(
				spec.Pos(),
				fmt.Sprintf(
					"imports point up the list of rooms, and %s stands below %s; declare the methods that %s needs as an interface "+
						"of its own, and join the two further down",
					theirs,
					own,
					own,
				),
				"%s imports %s",
				pkg,
				to,
			)
		}
	case standard(to):
		if pure {
			c.refused(spec, to, pkg, own)
		}
	default:
		allowed := thirdParty[own]
		if test {
			allowed = slices.Concat(append(slices.Collect(maps.Values(thirdParty)), thirdPartyTests)...)
		}
		if !withinAny(to, allowed) {
			why := "the room " + own + " is not among those that use this module; see thirdParty in internal/verify/arch and " +
				"docs/adr/0002-dependencies.md"
			if pure {
				why = "the core imports the standard library alone, so that it can be used, compiled for the browser and read " +
					"without anything else"
			}
			c.add(spec.Pos(), why, "%s imports %s", pkg, to)
		}
	}
}

// refused checks an import of the standard library by a file that must be pure.
func (c *checker) refused(spec *ast.ImportSpec, to, pkg, own string) {
	for _, r := range refusals {
		if within(to, r.path) && !withinAny(to, r.except) && !slices.Contains(r.rooms, own) {
			c.add(spec.Pos(), r.why, "%s imports %s", pkg, to)
		}
	}
}

// pure checks the syntax of a file that must be pure.
func (c *checker) pure(tree *ast.File) {
	names := map[string]string{} // local name of an import to its path
	for _, spec := range tree.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(to)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			c.add(spec.Pos(), "it hides where a name comes from, from readers and from this check", "dot import of %s", to)
		}
		names[name] = to
	}
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:linkname") {
				c.add(comment.Pos(), "it reaches into other packages, past every rule here", "go:linkname")
			}
		}
	}
	marks := orderMarks(c.fset, tree)
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.add(n.Pos(), "goroutines live at the edge, each with an owner; the core runs on its caller's", "go statement")
		case *ast.ChanType:
			c.add(n.Pos(), "the core does not block; a queue is a slice with a capacity and a drop counter", "channel")
		case *ast.SelectStmt:
			c.add(n.Pos(), "the core does not block; loops with select live at the edge", "select statement")
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Obj == nil && (id.Name == "print" || id.Name == "println") {
				c.add(n.Pos(), "the core prints nothing: return the value, the edge prints it", "call of %s", id.Name)
			}
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			if !ok || id.Obj != nil { // Obj is set when the name is declared in this file, so it is no package
				return true
			}
			from, name := names[id.Name], n.Sel.Name
			for _, call := range calls {
				if call.path == from && has(call.names, name) && !(call.why == whyOrder && marks[c.fset.Position(n.Pos()).Line]) {
					c.add(n.Pos(), call.why, "use of %s.%s", from, name)
				}
			}
			if from == "math" && !has(mathConstants, name) && !slices.Contains(exact.Math, name) {
				c.add(n.Pos(), whyMath, "use of math.%s", name)
			}
		}
		return true
	})
}

// orderMarks returns the lines that an orderMark speaks for: its own and the next.
func orderMarks(fset *token.FileSet, tree *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			if len(comment.Text) > len(orderMark) && strings.HasPrefix(comment.Text, orderMark) {
				at := fset.Position(comment.Pos()).Line
				lines[at], lines[at+1] = true, true
			}
		}
	}
	return lines
}

// moduleOf returns the module path that a go.mod declares.
func moduleOf(gomod []byte) string {
	for line := range bytes.Lines(gomod) {
		code, _, _ := bytes.Cut(line, []byte("//"))
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(code), []byte("module ")); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}
