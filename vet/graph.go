package vet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A unit is a function with the literals inside it, the initial value of a package variable, or an
// expression in a Definition. If its parts run, all of it is taken to run.
type unit struct {
	node     ast.Node
	root     bool // an expression in a Definition: what is declared around it outlives the call
	findings []finding
	edges    []edge

	// params has the receiver as 0 and the parameters from 1 on; writes says through which of them
	// the unit writes, and where.
	params map[*types.Var]int
	writes map[int]token.Pos
	calls  []call
}

// An edge leads from a unit to one that it uses, with the classes that matter there.
type edge struct {
	to   *unit
	want set
}

// A call is one whose arguments may be written through. args has the receiver as 0, or nil.
type call struct {
	pos    token.Pos
	callee *types.Func
	args   []ast.Expr
}

// A root is a rule of a Definition; rank is its index in callbacks.
type root struct {
	unit *unit
	rank int
}

func (c *checker) unit(node ast.Node) *unit {
	u := &unit{node: node, params: map[*types.Var]int{}, writes: map[int]token.Pos{}}
	c.units = append(c.units, u)
	return u
}

// declare makes the units of a declaration.
func (c *checker) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		fn, ok := c.info.Defs[d.Name].(*types.Func)
		if !ok || d.Body == nil {
			return
		}
		u := c.unit(d.Body)
		c.byFunc[fn] = u
		sig := fn.Signature()
		if r := sig.Recv(); r != nil {
			u.params[r] = 0
		}
		for i := range sig.Params().Len() {
			u.params[sig.Params().At(i)] = i + 1
		}
		if d.Recv == nil && fn.Name() == "init" {
			c.inits = append(c.inits, u)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			spec, ok := s.(*ast.ValueSpec)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for i, name := range spec.Names {
				v, ok := c.info.Defs[name].(*types.Var)
				if !ok {
					continue
				}
				u := c.unit(spec)
				if len(spec.Values) == len(spec.Names) {
					u.node = spec.Values[i]
				}
				c.byVar[v] = u
			}
		}
	}
}

// definition reports whether t is game.Definition or a pointer to it.
func definition(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Definition" && named.Obj().Pkg() != nil &&
		within(named.Obj().Pkg().Path(), home+"/game")
}

// rank returns the index in callbacks of the field that a key of a Definition names, or -1.
func rank(name string) int {
	for i, k := range callbacks {
		if k.name == name {
			return i
		}
	}
	return -1
}

// roots returns the rules of all Definitions in the package, and makes the units for those that are
// no declared function.
func (c *checker) roots() (found []root) {
	add := func(name string, value ast.Expr) {
		if k := rank(name); k >= 0 {
			for _, v := range c.possible(value, nil) {
				found = append(found, root{c.rule(v), k})
			}
		}
	}
	for _, f := range c.pass.Files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				t := c.info.TypeOf(n)
				if !definition(t) {
					break
				}
				for i, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); ok {
							add(key.Name, kv.Value)
						}
					} else if s, ok := t.Underlying().(*types.Struct); ok && i < s.NumFields() {
						add(s.Field(i).Name(), e)
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) && definition(c.info.TypeOf(sel.X)) {
						add(sel.Sel.Name, n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	return found
}

// possible returns the expressions that may be what e is: e itself, or all that a local variable
// was set to.
func (c *checker) possible(e ast.Expr, seen []*types.Var) []ast.Expr {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return []ast.Expr{e}
	}
	v, ok := c.info.Uses[id].(*types.Var)
	if !ok || global(v) || len(seen) > 8 {
		return []ast.Expr{e}
	}
	var all []ast.Expr
	for _, a := range c.aliases[v] {
		all = append(all, c.possible(a, append(seen, v))...)
	}
	return all
}

// rule returns the unit of one value in a Definition.
func (c *checker) rule(value ast.Expr) *unit {
	u := c.unit(value)
	u.root = true
	c.scan(u)
	c.spreadWrites()
	if sel, ok := ast.Unparen(value).(*ast.SelectorExpr); ok {
		// A method value keeps its receiver from call to call.
		if fn, ok := c.info.Uses[sel.Sel].(*types.Func); ok && c.byFunc[fn.Origin()] != nil {
			if pos, ok := c.byFunc[fn.Origin()].writes[0]; ok {
				c.add(u, state, pos, stateText(types.ExprString(sel.X)))
			}
		}
	}
	return u
}

// refers follows a name that u uses.
func (c *checker) refers(u *unit, id *ast.Ident) {
	switch o := c.info.Uses[id].(type) {
	case *types.Func:
		c.refersFunc(u, id, o.Origin())
	case *types.Var:
		if !global(o) {
			return
		}
		if to := c.byVar[o]; to != nil {
			u.edges = append(u.edges, edge{to, initial})
			if !u.root {
				return
			}
			u.edges[len(u.edges)-1].want = everything // a rule that is a variable
			return
		}
		if o.Pkg().Path() == "os" {
			c.add(u, outside, id.Pos(), "os."+o.Name()+" "+outsideText)
		}
		c.imported(u, id.Pos(), o, initial)
	case *types.TypeName:
		if o.Pkg() == types.Unsafe || o == types.Universe.Lookup("uintptr") {
			c.add(u, address, id.Pos(), o.Name()+" holds an address, which is another one in each run: use an index or a "+
				"game.ID")
		}
	}
}

func (c *checker) refersFunc(u *unit, id *ast.Ident, fn *types.Func) {
	if fn.Pkg() == nil {
		return // error.Error
	}
	if to := c.byFunc[fn]; to != nil {
		u.edges = append(u.edges, edge{to, everything})
		return
	}
	if recv := fn.Signature().Recv(); recv != nil {
		if face, ok := recv.Type().Underlying().(*types.Interface); ok {
			c.implementers(u, face, fn.Name())
			return
		}
	}
	if class, text := library(fn); text != "" {
		if class == order && c.sorted(id) || fn.FullName() == "(*sync.Pool).Put" {
			return
		}
		if fn.FullName() == "(*sync.Pool).Get" {
			if !c.resets(id) {
				c.add(u, class, id.Pos(), poolText)
			}
			return
		}
		c.add(u, class, id.Pos(), text)
		return
	}
	c.imported(u, id.Pos(), fn, everything)
}

// implementers leads to the methods called name of all types of the package that implement face.
func (c *checker) implementers(u *unit, face *types.Interface, name string) {
	scope := c.pass.Pkg.Scope()
	for _, n := range scope.Names() {
		t, ok := scope.Lookup(n).(*types.TypeName)
		if !ok || t.IsAlias() || types.IsInterface(t.Type()) {
			continue
		}
		if p := types.NewPointer(t.Type()); types.Implements(p, face) {
			c.method(u, p, name)
		}
	}
}

// method leads to the method of t called name, if it is of this package.
func (c *checker) method(u *unit, t types.Type, name string) {
	o, _, _ := types.LookupFieldOrMethod(t, true, c.pass.Pkg, name)
	if fn, ok := o.(*types.Func); ok && c.byFunc[fn.Origin()] != nil {
		u.edges = append(u.edges, edge{c.byFunc[fn.Origin()], everything})
	}
}

// handsOver leads to the methods of an argument that the callee can call, because it becomes a
// value of an interface: sort.Sort calls Less.
func (c *checker) handsOver(u *unit, param types.Type, arg ast.Expr) {
	face, ok := param.Underlying().(*types.Interface)
	t := c.info.TypeOf(arg)
	if !ok || t == nil || types.IsInterface(t) {
		return
	}
	for m := range face.Methods() {
		c.method(u, t, m.Name())
	}
}
