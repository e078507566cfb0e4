package vet

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// A command is the struct that players of a Definition send, as far as it is of the same package.
type command struct {
	named  *types.Named
	fields *types.Struct
	read   []bool // of each field: whether some code of the package reads it
	whole  bool   // a value goes where it may be read as a whole, so nothing is known
}

// unread reports the fields of commands that no code of the package reads. It says nothing where
// Act is a function of another package, and where a command goes as a whole to what the package
// does not show: into a struct, an interface, a generic function, a comparison.
func (c *checker) unread() {
	commands := map[*types.Named]*command{}
	for _, f := range c.pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && definition(c.info.TypeOf(lit)) {
				c.defined(commands, lit)
			}
			return true
		})
	}
	if len(commands) == 0 {
		return
	}
	for _, f := range c.pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok || c.test(f) { // what a test reads has no effect on the game
				return !c.test(f)
			}
			if cmd := commands[commandOf(c.info.Types[e].Type)]; cmd != nil && c.info.Types[e].IsValue() {
				c.commandUsed(cmd, e)
			}
			return true
		})
	}
	for _, cmd := range slices.SortedFunc(maps.Values(commands), func(x, y *command) int {
		return cmp.Compare(x.named.Obj().Pos(), y.named.Obj().Pos())
	}) {
		for i := range cmd.fields.NumFields() {
			v := cmd.fields.Field(i)
			p := c.pass.Fset.Position(v.Pos())
			if cmd.whole || cmd.read[i] || v.Name() == "_" || c.ok[place{p.Filename, p.Line}] {
				continue
			}
			c.pass.Report(analysis.Diagnostic{Pos: v.Pos(), Category: "command", Message: fmt.Sprintf("no rule reads "+
				"%s.%s, so what players send there has no effect: use it in Act, or take it out",
				cmd.named.Obj().Name(), v.Name())})
		}
	}
}

// test reports whether f is the file of a test.
func (c *checker) test(f *ast.File) bool {
	return strings.HasSuffix(c.pass.Fset.Position(f.Pos()).Filename, "_test.go")
}

// commandOf returns the named type of a command, or of what a pointer to one points to.
func commandOf(t types.Type) *types.Named {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// defined notes the command of a Definition whose Act is a function of this package.
func (c *checker) defined(commands map[*types.Named]*command, lit *ast.CompositeLit) {
	def := commandOf(c.info.TypeOf(lit)) // named, too
	if def.TypeArgs().Len() != 1 {
		return
	}
	named, ok := types.Unalias(def.TypeArgs().At(0)).(*types.Named)
	if !ok || named.Obj().Pkg() != c.pass.Pkg || named.TypeArgs().Len() > 0 || c.inTest(named.Obj()) {
		return
	}
	fields, ok := named.Underlying().(*types.Struct)
	if !ok || fields.NumFields() > 0 && fields.Field(0).Pkg() != c.pass.Pkg {
		return
	}
	cmd := commands[named]
	if cmd == nil {
		cmd = &command{named: named, fields: fields, read: make([]bool, fields.NumFields())}
		commands[named] = cmd
	}
	var act ast.Expr
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Act" {
				act = ast.Unparen(kv.Value)
			}
		}
	}
	switch act := act.(type) {
	case *ast.FuncLit:
	case *ast.Ident:
		cmd.whole = cmd.whole || !c.plain(act)
	default: // none, set later, made by a function, or a method
		cmd.whole = true
	}
}

func (c *checker) inTest(o types.Object) bool {
	return strings.HasSuffix(c.pass.Fset.Position(o.Pos()).Filename, "_test.go")
}

// plain reports whether id names a function of this package that is not generic.
func (c *checker) plain(id *ast.Ident) bool {
	fn, ok := c.info.Uses[id].(*types.Func)
	return ok && fn.Pkg() == c.pass.Pkg && fn.Signature().TypeParams() == nil
}

// commandUsed notes what becomes of e, a command or a pointer to one.
func (c *checker) commandUsed(cmd *command, e ast.Expr) {
	if _, ok := e.(*ast.CompositeLit); ok {
		return // what a bot or a test makes
	}
	switch p := c.parents[e].(type) {
	case *ast.SelectorExpr:
		s := c.info.Selections[p]
		if s == nil || p.X != e {
			return // the field of a struct, which is looked at by itself
		}
		if i := s.Index()[0]; len(s.Index()) > 1 || s.Kind() == types.FieldVal {
			cmd.read[i] = cmd.read[i] || !c.onlySet(p)
			return
		}
		fn, ok := s.Obj().(*types.Func)
		cmd.whole = cmd.whole || !ok || fn.Pkg() != c.pass.Pkg
	case *ast.ParenExpr, *ast.ExprStmt:
	case *ast.StarExpr:
	case *ast.UnaryExpr:
		cmd.whole = cmd.whole || p.Op != token.AND
	case *ast.CallExpr:
		cmd.whole = cmd.whole || p.Fun != e && !c.passedOn(p, e)
	case *ast.AssignStmt:
		for i, right := range p.Rhs {
			if right == e {
				cmd.whole = cmd.whole || len(p.Lhs) != len(p.Rhs) || !c.local(p.Lhs[i], e)
			}
		}
	case *ast.ValueSpec:
		cmd.whole = cmd.whole || p.Type != nil && commandOf(c.info.TypeOf(p.Type)) != cmd.named
	case *ast.ReturnStmt:
		cmd.whole = cmd.whole || !c.returned(p, e)
	default:
		cmd.whole = true
	}
}

// onlySet reports whether a field is not read here: it, or a part of it, is set.
func (c *checker) onlySet(e ast.Expr) bool {
	for {
		switch p := c.parents[e].(type) {
		case *ast.SelectorExpr:
			if s := c.info.Selections[p]; p.X != e || s == nil || s.Kind() != types.FieldVal {
				return false
			}
			e = p
		case *ast.AssignStmt:
			for _, left := range p.Lhs {
				if left == e {
					return p.Tok == token.ASSIGN
				}
			}
			return false
		default:
			return false
		}
	}
}

// passedOn reports whether a call hands e on as what it is, to a function that this package shows.
func (c *checker) passedOn(call *ast.CallExpr, e ast.Expr) bool {
	if tv := c.info.Types[call.Fun]; tv.IsType() {
		return types.Identical(tv.Type, c.info.TypeOf(e))
	}
	sig, ok := c.info.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok || c.builtin(call) != "" {
		return false
	}
	if fn := c.callee(call); fn != nil && (fn.Pkg() != c.pass.Pkg || fn.Origin().Signature().TypeParams() != nil ||
		fn.Origin().Signature().RecvTypeParams() != nil) {
		return false
	}
	for i, arg := range call.Args {
		if arg == e {
			return i < sig.Params().Len() && types.Identical(sig.Params().At(i).Type(), c.info.TypeOf(e))
		}
	}
	return false
}

// local reports whether left is a local variable of the type of e, or blank.
func (c *checker) local(left, e ast.Expr) bool {
	id, ok := left.(*ast.Ident)
	if !ok || id.Name == "_" {
		return ok
	}
	v, ok := c.info.ObjectOf(id).(*types.Var)
	return ok && !global(v) && types.Identical(v.Type(), c.info.TypeOf(e))
}

// returned reports whether the function around a return statement says that it returns what e is.
func (c *checker) returned(r *ast.ReturnStmt, e ast.Expr) bool {
	var n ast.Node = r
	for n != nil {
		n = c.parents[n]
		var t types.Type
		switch f := n.(type) {
		case *ast.FuncLit:
			t = c.info.TypeOf(f)
		case *ast.FuncDecl:
			t = c.info.Defs[f.Name].Type()
		default:
			continue
		}
		results := t.(*types.Signature).Results()
		for i, value := range r.Results {
			if value == e {
				return results.Len() == len(r.Results) && types.Identical(results.At(i).Type(), c.info.TypeOf(e))
			}
		}
		return false
	}
	return false
}
