package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"meanwhile/vet/exact"
)

// Go may compile x*y + z into one instruction that rounds once, on some processors, and also across
// statements and inlined functions. An explicit conversion such as float64(x*y) forbids it (Go
// specification, "Floating-point operators"). So a product is sound if it is converted, or if it
// cannot reach a sum: it is compared, multiplied again, divided.
//
// A quotient by a constant power of two is a product for the compiler, since one over it is exact.
// Rounding it loses nothing but where the quotient is below the least normal number.

const complexText = "complex products and quotients may be fused on some machines, and cannot be written so that " +
	"they are " +
	"not: compute with two floats"

// A fate is what becomes of a product that is not rounded.
type fate struct {
	sum  ast.Node // the sum that it reaches, or nil
	away string   // how it leaves the checker's view, such as "returned", or ""
	via  string   // the variable that it goes through, or ""
}

// product checks a binary expression.
func (c *checker) product(u *unit, n *ast.BinaryExpr) {
	tv := c.info.Types[n]
	switch {
	case tv.Value != nil: // a constant, which the compiler computes exactly
	case (n.Op == token.MUL || n.Op == token.QUO) && is(tv.Type, types.IsComplex):
		c.add(u, fused, n.Pos(), complexText)
	case !is(tv.Type, types.IsFloat):
	case n.Op == token.MUL, n.Op == token.QUO && exact.PowerOfTwo(c.info.Types[n.Y].Value):
		text := types.ExprString(n)
		c.fused(u, n, text, fmt.Sprintf("%s(%s)", c.typeName(tv.Type), text), c.follow(n, map[*types.Var]bool{}))
	}
}

// multiplied checks x *= y, and x /= y where y is a constant power of two.
func (c *checker) multiplied(u *unit, n *ast.AssignStmt) {
	t := c.info.TypeOf(n.Lhs[0])
	left, right := types.ExprString(n.Lhs[0]), types.ExprString(n.Rhs[0])
	if _, ok := ast.Unparen(n.Rhs[0]).(*ast.BinaryExpr); ok {
		right = "(" + right + ")"
	}
	switch {
	case is(t, types.IsComplex):
		c.add(u, fused, n.Pos(), complexText)
	case is(t, types.IsFloat) && (n.Tok == token.MUL_ASSIGN || exact.PowerOfTwo(c.info.Types[n.Rhs[0]].Value)):
		op := strings.TrimSuffix(n.Tok.String(), "=")
		c.fused(u, n, left+" "+op+"= "+right, fmt.Sprintf("%s = %s(%s %s %s)", left, c.typeName(t), left, op, right),
			c.stored(n.Lhs[0], map[*types.Var]bool{}))
	}
}

func (c *checker) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == c.pass.Pkg {
			return ""
		}
		return p.Name()
	})
}

// fused reports the product at n if its fate can be a sum.
func (c *checker) fused(u *unit, n ast.Node, text, better string, f fate) {
	through := ""
	if f.via != "" {
		through = " through " + f.via
	}
	switch {
	case f.sum != nil:
		where := "here"
		if line := c.pass.Fset.Position(f.sum.Pos()).Line; line != c.pass.Fset.Position(n.Pos()).Line {
			where = fmt.Sprintf("on line %d", line)
		}
		c.add(u, fused, n.Pos(), fmt.Sprintf("%s may be fused with the sum %s%s on some machines, which rounds once "+
			"instead of twice: write %s", text, where, through, better))
	case f.away != "":
		c.add(
			u,
			fused,
			n.Pos(),
			fmt.Sprintf("%s is %s%s unrounded, and may be fused with a sum there on some machines: write %s",
				text, f.away, through, better),
		)
	}
}

// follow returns the fate of the value of e. seen has the variables that it went through.
func (c *checker) follow(e ast.Expr, seen map[*types.Var]bool) fate {
	var n ast.Node = e
	for {
		parent := c.parents[n]
		switch p := parent.(type) {
		case *ast.ParenExpr:
			n = p
			continue
		case *ast.UnaryExpr:
			if p.Op == token.AND {
				return fate{away: "kept behind a pointer"}
			}
			n = p // -x*y + z is fused, too
			continue
		case *ast.BinaryExpr:
			if p.Op == token.ADD || p.Op == token.SUB {
				return fate{sum: p}
			}
			return fate{}
		case *ast.CallExpr:
			return c.argument(p, n, seen)
		case *ast.AssignStmt:
			return c.assignment(p, n, seen)
		case *ast.IncDecStmt:
			return fate{sum: p}
		case *ast.ValueSpec:
			for i, v := range p.Values {
				if v == n && len(p.Values) == len(p.Names) {
					return c.stored(p.Names[i], seen)
				}
			}
			return fate{}
		case *ast.ReturnStmt:
			return fate{away: "returned"}
		case *ast.KeyValueExpr, *ast.CompositeLit:
			if c.handedToUs(p) {
				return fate{}
			}
			return fate{away: "stored"}
		case *ast.SendStmt:
			return fate{away: "sent"}
		case *ast.SelectorExpr:
			fn, _ := c.info.Uses[p.Sel].(*types.Func)
			if fn != nil && !c.adds(fn.Origin(), 0, seen) {
				return fate{}
			}
			return fate{away: "passed to " + p.Sel.Name}
		default: // compared by a switch, or discarded
			return fate{}
		}
	}
}

// argument returns the fate of n as a part of a call.
func (c *checker) argument(p *ast.CallExpr, n ast.Node, seen map[*types.Var]bool) fate {
	if tv := c.info.Types[p.Fun]; tv.IsType() {
		if _, generic := types.Unalias(tv.Type).(*types.TypeParam); !generic && types.IsInterface(tv.Type) {
			return fate{away: "stored"}
		}
		return fate{} // a conversion rounds
	}
	switch name := c.builtin(p); name {
	case "":
	case "append", "complex":
		return fate{away: "passed to " + name}
	default:
		return fate{} // min and max return what is no product for the compiler any more
	}
	fn := c.callee(p)
	for i, arg := range p.Args {
		if arg == n && fn != nil && !c.adds(fn, i+1, seen) {
			return fate{}
		}
	}
	return fate{away: "passed to " + types.ExprString(p.Fun)}
}

// adds reports whether what is passed to fn as its i-th parameter, the receiver being the 0th, may
// reach a sum. The compiler may weave fn into its caller.
func (c *checker) adds(fn *types.Func, i int, seen map[*types.Var]bool) bool {
	if fn.Pkg() == nil || fn.Signature().Variadic() && i >= fn.Signature().Params().Len() {
		return true
	}
	if c.byFunc[fn] != nil {
		v := fn.Signature().Recv()
		if i > 0 {
			v = fn.Signature().Params().At(i - 1)
		}
		f := c.variable(v, seen)
		return f.sum != nil || f.away != ""
	}
	if ours(fn) {
		return false
	}
	if fn.Pkg().Path() == "math" {
		return !slices.Contains(keepsNothing, fn.Name())
	}
	if fn.Pkg() == c.pass.Pkg || !c.pass.ImportPackageFact(fn.Pkg(), new(checked)) {
		return true // a method of an interface, or nobody looked
	}
	var fact impure
	return c.pass.ImportObjectFact(fn, &fact) && slices.Contains(fact.Adds, i) || types.IsInterface(recvType(fn))
}

// ours reports whether fn is of the library. Its functions round what they are given before they
// add to it: a test of package geom holds that, and the engine keeps what rules write in memory.
func ours(fn *types.Func) bool {
	return fn != nil && fn.Pkg() != nil && (fn.Pkg().Path() == home+"/geom" || within(fn.Pkg().Path(), trusted...))
}

// handedToUs reports whether a composite literal, which n is a part of, goes to a function of the
// library right away, as in Pilots.Spawn(w, Pilot{...}).
func (c *checker) handedToUs(n ast.Node) bool {
	for {
		switch p := n.(type) {
		case *ast.KeyValueExpr, *ast.CompositeLit, *ast.ParenExpr:
			n = c.parents[n]
		case *ast.CallExpr:
			return c.builtin(p) == "" && ours(c.callee(p))
		case *ast.SelectorExpr:
			fn, _ := c.info.Uses[p.Sel].(*types.Func)
			return ours(fn)
		default:
			return false
		}
	}
}

// recvType returns the type that fn is a method of, or nil's.
func recvType(fn *types.Func) types.Type {
	if r := fn.Signature().Recv(); r != nil {
		return r.Type()
	}
	return types.Typ[types.UntypedNil]
}

// assignment returns the fate of n as an operand of an assignment, on either side.
func (c *checker) assignment(p *ast.AssignStmt, n ast.Node, seen map[*types.Var]bool) fate {
	switch p.Tok {
	case token.ADD_ASSIGN, token.SUB_ASSIGN:
		return fate{sum: p}
	case token.ASSIGN, token.DEFINE:
		for i, r := range p.Rhs {
			if r == n && len(p.Lhs) == len(p.Rhs) {
				return c.stored(p.Lhs[i], seen)
			}
		}
	}
	return fate{}
}

// stored returns the fate of a value that left is set to.
func (c *checker) stored(left ast.Expr, seen map[*types.Var]bool) fate {
	id, ok := ast.Unparen(left).(*ast.Ident)
	if !ok {
		return fate{away: "stored in " + types.ExprString(left)}
	}
	v, ok := c.info.ObjectOf(id).(*types.Var)
	switch {
	case !ok:
		return fate{}
	case global(v):
		return fate{away: "stored in " + id.Name}
	}
	return c.variable(v, seen)
}

// variable returns the fate of the value of a local variable.
func (c *checker) variable(v *types.Var, seen map[*types.Var]bool) fate {
	if seen[v] {
		return fate{}
	}
	seen[v] = true
	var worst fate
	if c.results[v] {
		worst = fate{away: "returned", via: v.Name()}
	}
	for _, use := range c.uses[v] {
		f := c.follow(use, seen)
		if f.via == "" {
			f.via = v.Name()
		}
		if f.sum != nil {
			return f
		}
		if worst.away == "" {
			worst = f
		}
	}
	return worst
}
