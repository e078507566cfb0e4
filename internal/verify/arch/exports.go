package arch

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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Unused returns the exported names of the module at root that no other package's program code
// uses, as "package Name" or "package Type.Member", sorted. A type also counts as used where
// something used has it in its own type, and a method where an interface of the module or of the
// standard library's usual ones asks for it. Both the native and the browser's build are looked at.
// Packages below internal, sample games and programs export nothing.
func Unused(root string) ([]string, error) {
	x := &exports{
		declared: map[string]string{},
		used:     map[string]bool{},
		types:    map[string][]string{},
		asked:    map[string]bool{},
	}
	for _, name := range strings.Fields(usualMethods) {
		x.asked[name] = true
	}
	for _, env := range [][]string{nil, {"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}} {
		if err := x.load(root, env); err != nil {
			return nil, err
		}
	}
	return x.unused(), nil
}

// usualMethods are asked for by interfaces of the standard library and by JSON.
const usualMethods = `String Error Unwrap Is As Read Write Close Len Less Swap ServeHTTP Format GoString
	MarshalJSON UnmarshalJSON MarshalText UnmarshalText
	Open Stat ReadDir ReadFile Handle Enabled WithAttrs WithGroup Describe Collect`

type exports struct {
	declared map[string]string   // by place: what an exported name is called
	used     map[string]bool     // by place
	types    map[string][]string // by place: the places of the named types in its type
	asked    map[string]bool     // names of methods that interfaces ask for
}

type listed struct {
	ImportPath, Dir, Export, Name string
	GoFiles                       []string
	Module                        *struct{ Main bool }
}

// load type-checks every package of the module for one platform and notes what it declares and
// uses.
func (x *exports) load(root string, env []string) error {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,Name,GoFiles,Module", "./...")
	if env != nil {
		patterns := browserPackages(root)
		if len(patterns) == 0 {
			return nil
		}
		cmd.Args = append(cmd.Args[:len(cmd.Args)-1], patterns...)
	}
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("arch: go list: %w\n%s", err, stderr.Bytes())
	}
	export := map[string]string{}
	var ours []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		export[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		if export[name] == "" {
			return nil, fmt.Errorf("no export data for %s", name)
		}
		return os.Open(export[name])
	})
	for _, p := range ours {
		if err := x.pkg(fset, imp, p); err != nil {
			return err
		}
	}
	return nil
}

// browserPackages lists the patterns of the programs that are compiled for the page; they need the
// rest.
func browserPackages(root string) (patterns []string) {
	for _, dir := range []string{"examples", "demo"} {
		if _, err := os.Stat(filepath.Join(root, dir)); err == nil {
			patterns = append(patterns, "./"+dir+"/...")
		}
	}
	return patterns
}

func (x *exports) pkg(fset *token.FileSet, imp types.Importer, p listed) error {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	cfg := types.Config{Importer: imp}
	pkg, err := cfg.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return fmt.Errorf("arch: %s: %w", p.ImportPath, err)
	}
	place := func(o types.Object) string {
		at := fset.Position(o.Pos())
		return fmt.Sprintf("%s/%s:%d:%s", o.Pkg().Path(), filepath.Base(at.Filename), at.Line, o.Name())
	}
	for _, o := range info.Uses {
		if o.Pkg() == nil || o.Pkg() == pkg {
			continue
		}
		if v, ok := o.(*types.Var); ok {
			o = v.Origin()
		} else if f, ok := o.(*types.Func); ok {
			o = f.Origin()
		}
		x.used[place(o)] = true
	}
	for id, o := range info.Defs { // any order: a set
		if t, ok := o.(*types.TypeName); ok && id.Name != "_" {
			if i, ok := t.Type().Underlying().(*types.Interface); ok {
				for m := range i.Methods() {
					x.asked[m.Name()] = true
				}
			}
		}
	}
	if p.Name != "main" && !strings.Contains(p.ImportPath+"/", "/internal/") &&
		!strings.Contains(p.ImportPath, "/examples/") {
		x.declare(pkg, place)
	}
	return nil
}

// declare notes the exported names of a package.
func (x *exports) declare(pkg *types.Package, place func(types.Object) string) {
	_, short, _ := strings.Cut(pkg.Path(), "/")
	note := func(o types.Object, name string) {
		if o.Exported() {
			x.declared[place(o)] = short + " " + name
			x.types[place(o)] = namedIn(o.Type(), place)
		}
	}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		note(o, name)
		t, ok := o.(*types.TypeName)
		if !ok || !o.Exported() || t.IsAlias() {
			continue
		}
		named := t.Type().(*types.Named)
		for m := range named.Methods() {
			if !x.asked[m.Name()] {
				note(m, name+"."+m.Name())
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				if s.Tag(i) == "" && !s.Field(i).Embedded() {
					note(s.Field(i), name+"."+s.Field(i).Name())
				}
			}
		}
	}
}

// namedIn returns the places of the named types of this module in t.
func namedIn(t types.Type, place func(types.Object) string) (places []string) {
	seen := map[types.Type]bool{}
	var walk func(t types.Type)
	walk = func(t types.Type) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Named:
			if o := t.Obj(); o.Pkg() != nil {
				places = append(places, place(o))
			}
			for a := range t.TypeArgs().Types() {
				walk(a)
			}
		case *types.Pointer:
			walk(t.Elem())
		case *types.Slice:
			walk(t.Elem())
		case *types.Array:
			walk(t.Elem())
		case *types.Chan:
			walk(t.Elem())
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case *types.Signature:
			walk(t.Params())
			walk(t.Results())
		case *types.Tuple:
			for v := range t.Variables() {
				walk(v.Type())
			}
		}
	}
	walk(t)
	return places
}

func (x *exports) unused() (names []string) {
	for again := true; again; {
		again = false
		for at := range x.declared { // any order: until nothing changes
			if !x.used[at] {
				continue
			}
			for _, t := range x.types[at] {
				if !x.used[t] {
					x.used[t], again = true, true
				}
			}
		}
	}
	set := map[string]bool{}
	for at, name := range x.declared { // any order: sorted below
		if member := strings.Split(name, " ")[1]; !x.used[at] && !x.asked[member[strings.LastIndex(member, ".")+1:]] {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
