package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

// matches reports whether this platform compiles a file.
func matches(f File) bool {
	ctx := build.Default
	ctx.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.Src)), nil }
	ok, err := ctx.MatchFile(path.Dir(f.Path), path.Base(f.Path))
	return ok && err == nil
}

// types checks the pure packages by type: no range over a map, no write to a variable of a package.
func (c *checker) types() error {
	std, err := newStandardImporter(c.fset, c.standardImports())
	if err != nil {
		return err
	}
	w := &world{checker: c, std: std, done: map[string]*types.Package{}}
	for _, imp := range slices.Sorted(maps.Keys(c.packages)) {
		w.check(imp)
	}
	return nil
}

// standardImports lists the standard packages that the pure packages import.
func (c *checker) standardImports() []string {
	set := map[string]bool{}
	for _, u := range c.packages {
		for _, f := range u.files {
			for _, spec := range f.Imports {
				if to, err := strconv.Unquote(spec.Path.Value); err == nil && standard(to) && !within(to, c.module) &&
					to != "unsafe" &&
					to != "C" {
					set[to] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// newStandardImporter returns an importer for the given standard packages and what they need, from
// the export data that the go command has in its cache or builds.
func newStandardImporter(fset *token.FileSet, paths []string) (types.Importer, error) {
	export := map[string]string{}
	if len(paths) > 0 {
		cmd := exec.Command(
			"go",
			append(
				[]string{"list", "-e", "-deps", "-export", "-f", "{{if .Export}}{{.ImportPath}}\t{{.Export}}{{end}}", "--"},
				paths...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("arch: go list of the standard library: %w\n%s", err, stderr.Bytes())
		}
		for line := range strings.Lines(string(out)) {
			name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
			export[name] = file
		}
	}
	return importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		file, ok := export[name]
		if !ok {
			return nil, fmt.Errorf("no export data for %s", name)
		}
		return os.Open(file)
	}), nil
}

// world checks packages by type, each after those that it imports.
type world struct {
	*checker
	std  types.Importer
	done map[string]*types.Package // nil while a package is being checked
}

// Import is what the type checker calls for each import.
func (w *world) Import(name string) (*types.Package, error) {
	if !within(name, w.module) {
		return w.std.Import(name)
	}
	if w.packages[name] == nil {
		return nil, errors.New("not a package of the core")
	}
	p := w.check(name)
	if p == nil {
		return nil, errors.New("import cycle")
	}
	return p, nil
}

func (w *world) check(imp string) *types.Package {
	if p, ok := w.done[imp]; ok {
		return p
	}
	w.done[imp] = nil
	u := w.packages[imp]
	info := &types.Info{
		Uses:  map[*ast.Ident]types.Object{},
		Defs:  map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}
	reported := false
	cfg := types.Config{Importer: w, Error: func(err error) {
		// The first says it, the rest follow from it; and an import that is refused is reported already.
		if te, ok := err.(types.Error); ok && !reported && !w.found(te.Pos) {
			reported = true
			w.add(te.Pos, te.Msg, "%s cannot be checked by type", u.dir)
		}
	}}
	p, _ := cfg.Check(imp, w.fset, u.files, info)
	w.done[imp] = p
	for _, f := range u.files {
		w.ranges(f, info)
		if u.core {
			w.writes(f, info)
		}
	}
	return p
}

// found reports whether there is a finding on the line of at.
func (w *world) found(at token.Pos) bool {
	p := w.fset.Position(at)
	return slices.ContainsFunc(
		w.findings,
		func(f Finding) bool { return f.Pos.Filename == p.Filename && f.Pos.Line == p.Line },
	)
}

// ranges finds ranges over maps.
func (w *world) ranges(f *ast.File, info *types.Info) {
	marks := orderMarks(w.fset, f)
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok && isMap(info.Types[r.X].Type) && !marks[w.fset.Position(r.Pos()).Line] {
			w.add(r.Pos(), whyOrder, "range over a map")
		}
		return true
	})
}

// isMap reports whether t is a map, or a type parameter that stands for one.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := t.(*types.TypeParam); ok {
		i, ok := p.Constraint().Underlying().(*types.Interface)
		if !ok {
			return false
		}
		for e := range i.EmbeddedTypes() {
			if u, ok := e.(*types.Union); ok && u.Len() > 0 {
				e = u.Term(0).Type()
			}
			if _, ok := e.Underlying().(*types.Map); ok {
				return true
			}
		}
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// writes finds assignments to variables of a package outside of its init functions. A table that is
// filled before anything runs is no state; a variable that changes later is state that no log
// holds.
func (w *world) writes(f *ast.File, info *types.Info) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil && fn.Name.Name == "init" || fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					w.write(to, info)
				}
			case *ast.IncDecStmt:
				w.write(n.X, info)
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					w.write(n.Key, info)
					w.write(n.Value, info)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 {
					if b, ok := info.Uses[id].(*types.Builtin); ok && has("clear delete copy", b.Name()) {
						w.write(n.Args[0], info)
					}
				}
			}
			return true
		})
	}
}

// initialised lists variables of the core that change while packages are initialised, and never
// again: there is no world then.
var initialised = []string{"engine.handles"}

// write reports to when it is, or is part of, a variable of a package.
func (w *world) write(to ast.Expr, info *types.Info) {
	for at := to; at != nil; {
		switch x := at.(type) {
		case *ast.ParenExpr:
			at = x.X
		case *ast.IndexExpr:
			at = x.X
		case *ast.SliceExpr:
			at = x.X
		case *ast.StarExpr:
			at = x.X
		case *ast.SelectorExpr:
			if v, ok := info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
				at = x.Sel // a variable of another package
			} else {
				at = x.X
			}
		case *ast.Ident:
			if v, ok := info.Uses[x].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() &&
				!slices.Contains(initialised, v.Pkg().Name()+"."+v.Name()) {
				w.add(to.Pos(), "the core has no variables that change: keep it in the value that owns it, so that "+
					"one process runs many worlds", "write to %s.%s", v.Pkg().Name(), v.Name())
			}
			return
		default:
			return
		}
	}
}
