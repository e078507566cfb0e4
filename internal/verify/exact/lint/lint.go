// Package lint finds what makes floating-point arithmetic differ between machines: in source, and
// in machine code. It is for tests and tools and needs the go command.
//
// Go may compile x*y + z into one instruction that rounds once, on some processors and across
// statements; an explicit conversion such as float64(x*y) forbids it (Go specification,
// "Floating-point operators"). The standard library's own sine, exponential and so on are
// compiled, or written in assembly, differently for each processor too.
package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"meanwhile/vet/exact"
)

// Finding is one place in a source file.
type Finding struct {
	Pos  token.Position
	Text string
}

func (f Finding) String() string { return f.Pos.String() + ": " + f.Text }

// Sources checks the Go files, without tests, of the packages that the patterns name, as seen
// from directory dir. It reports
//   - products of floats that are not the operand of a conversion: write float64(x*y); quotients by
//     a constant power of two are products for the compiler;
//   - complex products and quotients, which cannot be written exactly;
//   - functions of package math that are not in exact.Math, and any use of math/cmplx.
func Sources(dir string, patterns ...string) ([]Finding, error) {
	var found []Finding
	err := load(dir, patterns, func(fset *token.FileSet, p *types.Package, info *types.Info, files []*ast.File) {
		for _, f := range files {
			found = append(found, file(fset, info, f)...)
		}
	})
	return found, err
}

// Unused lists the exported functions and methods of the package with import path callee that the
// package caller, as seen from dir, does not mention, and counts those it does.
func Unused(dir, caller, callee string) (unused []string, used int, err error) {
	err = load(dir, []string{caller}, func(_ *token.FileSet, p *types.Package, info *types.Info, _ []*ast.File) {
		mentioned := map[*types.Func]bool{}
		for _, o := range info.Uses {
			if fn, ok := o.(*types.Func); ok {
				mentioned[fn] = true
			}
		}
		check := func(fn *types.Func) {
			switch {
			case !fn.Exported():
			case mentioned[fn]:
				used++
			default:
				unused = append(unused, fn.FullName())
			}
		}
		for _, imported := range p.Imports() {
			if imported.Path() != callee {
				continue
			}
			scope := imported.Scope()
			for _, name := range scope.Names() {
				switch o := scope.Lookup(name).(type) {
				case *types.Func:
					check(o)
				case *types.TypeName:
					if named, ok := o.Type().(*types.Named); ok {
						for m := range named.Methods() {
							check(m)
						}
					}
				}
			}
		}
	})
	return unused, used, err
}

// load type-checks the packages that the patterns name, and calls visit with each.
func load(dir string, patterns []string, visit func(*token.FileSet, *types.Package, *types.Info, []*ast.File)) error {
	pkgs, err := list(dir, patterns)
	if err != nil {
		return err
	}
	exports := map[string]string{}
	for _, p := range pkgs {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("lint: no export data for %q", path)
		}
		return os.Open(exports[path])
	})
	for _, p := range pkgs {
		if p.DepOnly {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return fmt.Errorf("lint: %w", err)
			}
			files = append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		checked, err := (&types.Config{Importer: imp}).Check(p.ImportPath, fset, files, info)
		if err != nil {
			return fmt.Errorf("lint: %w", err)
		}
		visit(fset, checked, info, files)
	}
	return nil
}

type pkg struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// list asks the go command for the packages and, compiled, for everything they import.
func list(dir string, patterns []string) ([]pkg, error) {
	cmd := exec.Command(
		"go",
		append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "--"}, patterns...)...)
	cmd.Dir = dir
	out, err := run(cmd)
	if err != nil {
		return nil, err
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs, nil
		case err != nil:
			return nil, fmt.Errorf("lint: go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

func file(fset *token.FileSet, info *types.Info, f *ast.File) (found []Finding) {
	report := func(n ast.Node, format string, args ...any) {
		found = append(found, Finding{fset.Position(n.Pos()), fmt.Sprintf(format, args...)})
	}
	rounded := map[ast.Expr]bool{} // operands of conversions
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if tv := info.Types[n.Fun]; tv.IsType() && len(n.Args) == 1 && is(tv.Type, types.IsFloat) {
				rounded[ast.Unparen(n.Args[0])] = true
			}
		case *ast.BinaryExpr:
			tv := info.Types[n]
			switch {
			case tv.Value != nil: // a constant, which the compiler computes exactly
			case (n.Op == token.MUL || n.Op == token.QUO && exact.PowerOfTwo(info.Types[n.Y].Value)) &&
				is(tv.Type, types.IsFloat) && !rounded[n]:
				report(n, "product %s may be fused with a sum: write %s(%s)",
					types.ExprString(n), types.TypeString(tv.Type, (*types.Package).Name), types.ExprString(n))
			case (n.Op == token.MUL || n.Op == token.QUO) && is(tv.Type, types.IsComplex):
				report(n, "complex %s is not the same on every machine", types.ExprString(n))
			}
		case *ast.AssignStmt:
			product := n.Tok == token.MUL_ASSIGN ||
				n.Tok == token.QUO_ASSIGN && exact.PowerOfTwo(info.Types[n.Rhs[0]].Value)
			if product && is(info.Types[n.Lhs[0]].Type, types.IsFloat) {
				report(n, "product %s %s %s may be fused with a sum: write it as a conversion",
					types.ExprString(n.Lhs[0]), n.Tok, types.ExprString(n.Rhs[0]))
			}
		case *ast.SelectorExpr:
			fn, ok := info.Uses[n.Sel].(*types.Func)
			if !ok || fn.Pkg() == nil {
				break
			}
			path := fn.Pkg().Path()
			if path == "math/cmplx" || path == "math" && !slices.Contains(exact.Math, fn.Name()) {
				report(n, "%s.%s is not the same on every machine: see package geom", path, fn.Name())
			}
		}
		return true
	})
	return found
}

func is(t types.Type, info types.BasicInfo) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

// Target is a kind of machine to compile for.
type Target struct {
	Arch string // a GOARCH
	Env  string // one more variable, such as GOAMD64=v3, or empty
}

// Fusing lists the targets for which Fused knows the instructions.
var Fusing = []Target{{Arch: "arm64"}, {Arch: "amd64", Env: "GOAMD64=v3"}}

// fused matches the fused multiply-adds of arm64 and amd64.
var fused = regexp.MustCompile(`\bV?FN?M(ADD|SUB)[0-9A-Z]*\b`)

// Fused compiles the package for target and returns its number of functions and, for each fused
// instruction in them, a line of assembly behind the name of the function. Functions of other
// packages that the compiler wove into those of this package count as well.
//
// It reads what the compiler says of itself (-S), because go tool objdump does not know the
// encoding of VFMADD on amd64 and prints another instruction.
func Fused(dir, pkg string, target Target) (functions int, lines []string, err error) {
	build := exec.Command("go", "build", "-gcflags=-S", "-o", os.DevNull, pkg)
	build.Dir = dir
	build.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+target.Arch)
	if target.Env != "" {
		build.Env = append(build.Env, target.Env)
	}
	out, err := build.CombinedOutput()
	if err != nil {
		return 0, nil, fmt.Errorf("lint: %s: %w\n%s", strings.Join(build.Args, " "), err, out)
	}
	name := ""
	for line := range strings.Lines(string(out)) {
		if symbol, _, ok := strings.Cut(line, " STEXT "); ok {
			name = symbol
			functions++
		} else if fused.MatchString(line) {
			lines = append(lines, name+": "+strings.Join(strings.Fields(line), " "))
		}
	}
	return functions, lines, nil
}

func run(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("lint: %s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return out, nil
}
