package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A write matters if it reaches what outlives the call and is no part of the world: variables of
// packages, and variables around a function literal in a Definition.

func stateText(name string) string {
	return "writes to " + name + ", which outlives the tick and is no part of the world: it is neither put back when a " +
		"prediction runs again nor repeated in a replay; keep it in a kind's struct"
}

// writeTo notes that u writes to e, or, if behind is true, to what e refers to.
func (c *checker) writeTo(u *unit, e ast.Expr, pos token.Pos, behind bool) {
	for _, t := range c.targets(e, behind, map[*types.Var]bool{}) {
		switch i, isParam := u.params[t.v]; {
		case global(t.v), u.root && !inside(t.v, u.node):
			if v := c.byVar[t.v]; v != nil && slices.Contains(c.inits, u) {
				v.edges = append(v.edges, edge{u, initial}) // its initial value, too
			}
			f := finding{state, pos, stateText(t.v.Name())}
			if !c.found[f] {
				c.found[f] = true
				c.add(u, f.class, f.pos, f.text)
			}
		case isParam && t.behind:
			if _, known := u.writes[i]; !known {
				u.writes[i] = pos
			}
		}
	}
}

// A target is a variable that a write goes to: itself, or what it refers to.
type target struct {
	v      *types.Var
	behind bool
}

// targets returns the variables that e is a part of. A local variable that refers to other memory
// stands for what it was set to as well.
func (c *checker) targets(e ast.Expr, behind bool, seen map[*types.Var]bool) []target {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.targets(e.X, behind, seen)
	case *ast.StarExpr:
		return c.targets(e.X, true, seen)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return c.targets(e.X, false, seen)
		}
	case *ast.SliceExpr:
		return c.targets(e.X, behind, seen)
	case *ast.TypeAssertExpr:
		return c.targets(e.X, behind, seen)
	case *ast.IndexExpr:
		return c.targets(e.X, behind || c.refersElsewhere(e.X), seen)
	case *ast.SelectorExpr:
		if s := c.info.Selections[e]; s != nil {
			return c.targets(e.X, behind || c.refersElsewhere(e.X), seen)
		}
		return c.targets(e.Sel, behind, seen) // pkg.Var
	case *ast.Ident:
		v, ok := c.info.ObjectOf(e).(*types.Var)
		if !ok || seen[v] {
			return nil
		}
		all := []target{{v, behind}}
		if behind && !global(v) {
			seen[v] = true
			for _, a := range c.aliases[v] {
				all = append(all, c.targets(a, true, seen)...)
			}
		}
		return all
	}
	return nil
}

// refersElsewhere reports whether a part of e lies behind a pointer, a slice or a map.
func (c *checker) refersElsewhere(e ast.Expr) bool {
	t := c.info.TypeOf(e)
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

// spreadWrites follows writes through parameters from callees to callers, until nothing is new.
func (c *checker) spreadWrites() {
	for again := true; again; {
		again = false
		for _, u := range c.units {
			before := len(u.writes) + len(u.findings)
			for _, call := range u.calls {
				for _, i := range c.writesOf(call.callee) {
					for k := i; k < len(call.args); k++ {
						if call.args[k] != nil {
							c.writeTo(u, call.args[k], call.pos, true)
						}
						if !call.callee.Signature().Variadic() || i < call.callee.Signature().Params().Len() {
							break
						}
					}
				}
			}
			again = again || len(u.writes)+len(u.findings) > before
		}
	}
}
