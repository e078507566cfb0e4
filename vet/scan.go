package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// scan collects the findings and the edges of a unit.
func (c *checker) scan(u *unit) {
	ast.Inspect(u.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if lit, ok := c.parents[n].(*ast.CompositeLit); ok && n != u.node && definition(c.info.TypeOf(lit)) {
				key, ok := n.Key.(*ast.Ident)
				return !ok || rank(key.Name) < 0 // rules are not what a Definition's other users run
			}
		case *ast.Ident:
			c.refers(u, n)
			c.captured(u, n)
		case *ast.GoStmt:
			c.add(u, concurrent, n.Pos(), "a goroutine runs when it likes: do the work here, or a little in each tick")
		case *ast.SelectStmt:
			c.add(u, concurrent, n.Pos(), "select "+channelText)
		case *ast.SendStmt:
			c.add(u, concurrent, n.Arrow, "a channel "+channelText)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				c.add(u, concurrent, n.Pos(), "a channel "+channelText)
			}
		case *ast.RangeStmt:
			c.ranges(u, n)
		case *ast.BinaryExpr:
			c.product(u, n)
		case *ast.AssignStmt:
			c.assigned(u, n)
		case *ast.IncDecStmt:
			c.writeTo(u, n.X, n.Pos(), false)
		case *ast.CallExpr:
			c.called(u, n)
		}
		return true
	})
}

const channelText = "waits for another goroutine, and rules run in one: keep what must wait in the world"

// captured leads from a rule to the functions in local variables that are declared around it.
func (c *checker) captured(u *unit, id *ast.Ident) {
	v, ok := c.info.Uses[id].(*types.Var)
	if !ok || !u.root || global(v) || v.IsField() || inside(v, u.node) {
		return
	}
	if to := c.byVar[v]; to != nil {
		u.edges = append(u.edges, edge{to, everything})
		return
	}
	if _, ok := v.Type().Underlying().(*types.Signature); !ok {
		return
	}
	for _, value := range c.aliases[v] {
		to := c.unit(value)
		to.root = true
		c.byVar[v] = to
		c.scan(to)
		u.edges = append(u.edges, edge{to, everything})
	}
}

// inside reports whether o is declared in n.
func inside(o types.Object, n ast.Node) bool { return n.Pos() <= o.Pos() && o.Pos() < n.End() }

// ranges checks a range statement.
func (c *checker) ranges(u *unit, n *ast.RangeStmt) {
	t := c.info.TypeOf(n.X)
	if t == nil {
		return
	}
	switch t.Underlying().(type) {
	case *types.Chan:
		c.add(u, concurrent, n.Pos(), "a channel "+channelText)
	case *types.Map:
		if !c.anyOrder(n) {
			c.add(u, order, n.Pos(), "range over the map "+types.ExprString(n.X)+" "+orderText)
		}
	}
	for _, e := range []ast.Expr{n.Key, n.Value} {
		if e != nil && n.Tok == token.ASSIGN {
			c.writeTo(u, e, e.Pos(), false)
		}
	}
}

// anyOrder reports whether a range over a map cannot depend on the order: it only counts, or it
// only deletes.
func (c *checker) anyOrder(n *ast.RangeStmt) bool {
	if blank(n.Key) && blank(n.Value) {
		return true
	}
	if len(n.Body.List) != 1 {
		return false
	}
	s, ok := n.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := s.X.(*ast.CallExpr)
	return ok && c.builtin(call) == "delete" && types.ExprString(call.Args[0]) == types.ExprString(n.X)
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return e == nil || ok && id.Name == "_"
}

// assigned checks an assignment: what it writes to, and a product that it makes.
func (c *checker) assigned(u *unit, n *ast.AssignStmt) {
	for _, left := range n.Lhs {
		if id, ok := left.(*ast.Ident); ok && c.info.Defs[id] != nil {
			continue // declared here
		}
		c.writeTo(u, left, left.Pos(), false)
	}
	if n.Tok == token.MUL_ASSIGN || n.Tok == token.QUO_ASSIGN {
		c.multiplied(u, n)
	}
}

// called checks a call: conversions, builtins that write, and what becomes of its arguments.
func (c *checker) called(u *unit, n *ast.CallExpr) {
	if tv := c.info.Types[n.Fun]; tv.IsType() {
		c.converted(u, n, tv.Type)
		return
	}
	switch c.builtin(n) {
	case "delete", "clear", "copy":
		c.writeTo(u, n.Args[0], n.Pos(), true)
		return
	case "close":
		c.add(u, concurrent, n.Pos(), "a channel "+channelText)
		return
	case "":
	default:
		return
	}
	sig, ok := c.info.TypeOf(n.Fun).Underlying().(*types.Signature)
	if !ok {
		return
	}
	args := []ast.Expr{nil}
	fn := c.callee(n)
	if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && fn != nil && fn.Signature().Recv() != nil {
		if c.info.Selections[sel] != nil && c.info.Selections[sel].Kind() == types.MethodVal {
			args[0] = sel.X
		}
	}
	for i, arg := range n.Args {
		args = append(args, arg)
		if k := min(i, sig.Params().Len()-1); k >= 0 {
			t := sig.Params().At(k).Type()
			if s, ok := t.(*types.Slice); ok && sig.Variadic() && k == sig.Params().Len()-1 {
				t = s.Elem()
			}
			c.handsOver(u, t, arg)
		}
	}
	if fn != nil {
		u.calls = append(u.calls, call{n.Pos(), fn, args})
	}
}

// callee returns the function or method that a call names, or nil.
func (c *checker) callee(n *ast.CallExpr) *types.Func {
	var id *ast.Ident
	fun := ast.Unparen(n.Fun)
	switch f := fun.(type) { // F[T](x)
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := c.info.Uses[id].(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// builtin returns the name of the builtin function that a call runs, or "".
func (c *checker) builtin(n *ast.CallExpr) string {
	if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok {
		if b, ok := c.info.Uses[id].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

// converted checks a conversion. Only floats beyond 9e18 do not fit into an int or an int64, which
// is nothing that rules compute; negative ones do not fit into an unsigned integer.
func (c *checker) converted(u *unit, n *ast.CallExpr, to types.Type) {
	from := c.info.Types[n.Args[0]]
	if from.Value != nil || !is(from.Type, types.IsFloat) || !is(to, types.IsInteger) {
		return
	}
	if b, ok := to.Underlying().(*types.Basic); ok && (b.Kind() == types.Int || b.Kind() == types.Int64) {
		return
	}
	if !c.limited(n.Args[0]) {
		c.add(
			u,
			conversion,
			n.Pos(),
			fmt.Sprintf("%s gives another number on each kind of machine if the float does not fit, "+
				"such as below zero: limit it first, as in %s(geom.Clamp(x, low, high)), or convert to int",
				types.ExprString(n), types.ExprString(n.Fun)),
		)
	}
}

// limited reports whether a float is limited where it is computed: by a clamp, by min and max, or
// because it was an integer.
func (c *checker) limited(e ast.Expr) bool {
	e = ast.Unparen(e)
	if tv := c.info.Types[e]; tv.Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident:
		v, ok := c.info.Uses[e].(*types.Var)
		return ok && !global(v) && c.limitedVar(v)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.ADD, token.SUB, token.MUL:
			return c.limited(e.X) && c.limited(e.Y)
		case token.QUO:
			return c.limited(e.X) && c.info.Types[e.Y].Value != nil
		}
	case *ast.UnaryExpr:
		return c.limited(e.X)
	case *ast.CallExpr:
		if tv := c.info.Types[e.Fun]; tv.IsType() {
			return is(c.info.TypeOf(e.Args[0]), types.IsInteger) || c.limited(e.Args[0])
		}
		if name := c.builtin(e); name == "min" || name == "max" {
			return c.bounded(e, "min") && c.bounded(e, "max")
		}
		fn := c.callee(e)
		switch {
		case fn == nil:
		case strings.HasPrefix(strings.ToLower(fn.Name()), "clamp"):
			return true
		case fn.Pkg() != nil && fn.Pkg().Path() == "math":
			switch fn.Name() {
			case "Floor", "Ceil", "Round", "RoundToEven", "Trunc", "Abs":
				return c.limited(e.Args[0])
			}
		}
	}
	return false
}

// limitedVar reports whether all that a local variable is set to is limited. A variable that grows
// from its own value is not.
func (c *checker) limitedVar(v *types.Var) bool {
	known, ok := c.limits[v]
	if ok {
		return known
	}
	c.limits[v] = false
	sets := c.sets(v)
	known = len(sets) > 0
	for _, s := range sets {
		known = known && s != nil && c.limited(s)
	}
	c.limits[v] = known
	return known
}

// bounded reports whether a nest of min and max has a limited argument of the builtin called name:
// a min bounds from above, a max from below.
func (c *checker) bounded(e *ast.CallExpr, name string) bool {
	for _, arg := range e.Args {
		if c.builtin(e) == name && c.limited(arg) {
			return true
		}
		inner, ok := ast.Unparen(arg).(*ast.CallExpr)
		if ok && (c.builtin(inner) == "min" || c.builtin(inner) == "max") && c.bounded(inner, name) {
			return true
		}
	}
	return false
}

// sets returns the values that a local variable is set to, nil for one that is not a plain
// assignment.
func (c *checker) sets(v *types.Var) []ast.Expr {
	all := slices.Clone(c.values[v])
	for _, id := range c.uses[v] {
		switch p := c.parents[id].(type) {
		case *ast.UnaryExpr:
			if p.Op == token.AND {
				all = append(all, nil)
			}
		case *ast.IncDecStmt:
			all = append(all, nil)
		case *ast.AssignStmt:
			if p.Tok != token.ASSIGN && p.Tok != token.DEFINE && p.Lhs[0] == ast.Expr(id) {
				all = append(all, nil)
			}
		}
	}
	return all
}

// is reports whether t, or a type that a type parameter t stands for, is of a basic sort.
func is(t types.Type, info types.BasicInfo) bool {
	if t == nil {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&info != 0
	case *types.Interface: // of a type parameter
		for e := range t.EmbeddedTypes() {
			union, ok := e.(*types.Union)
			if !ok {
				if is(e, info) {
					return true
				}
				continue
			}
			for term := range union.Terms() {
				if is(term.Type(), info) {
					return true
				}
			}
		}
	}
	return false
}
