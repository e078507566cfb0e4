// Package vet finds what makes the rules of a game compute one thing on the server and another in a
// player's client, or one thing today and another in a replay. It is an analyzer for go vet;
// docs/VET.md lists the checks with examples.
//
// Rules are the functions in a game.Definition and all that they reach: calls, functions used as
// values, methods behind interfaces of the same package, and the initial values of package
// variables. Facts carry the result for each function to packages that import it, so helpers in
// other packages are checked too.
//
// Act and Step run on both sides, so everything is reported there. Join, Leave, Referee, Bot,
// ShownTo and Groups run on one machine alone, where fused products and inexact functions do no
// harm; what a replay would repeat differently is reported all the same.
//
// Fields of commands that no code of the package reads are reported, too.
//
// A comment "//meanwhile:ok" with a reason behind it, on the line or on the one before, silences
// the findings of a line.
package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// home is the path of the module that holds package game.
const home = "meanwhile"

// trusted lists packages of home that rules may call and that are not looked into. Tests hold what
// they must obey: internal/verify/arch and internal/verify/exact.
var trusted = []string{home + "/game", home + "/internal", home + "/netcode"}

// Analyzer checks the rules of games.
var Analyzer = &analysis.Analyzer{
	Name: "meanwhile",
	Doc: `find rules of a game that are not the same on every machine and in every run

Looks at the functions in a game.Definition and at all that they reach. Reports products that may
be fused with sums, inexact functions of package math, conversions of unlimited floats to integers,
clocks, random numbers that are not the world's, ranges over maps, goroutines, state outside the
world, unsafe, and fields of commands that nothing reads. A comment "//meanwhile:ok reason" silences
a line.`,
	FactTypes: []analysis.Fact{new(impure), new(checked)},
	Run:       run,
}

// A class is a kind of finding.
type class uint8

const (
	fused      class = iota // products that may be fused with a sum
	inexact                 // functions of package math with another last bit elsewhere
	conversion              // floats to integers beyond the integer's range
	clock                   // the machine's time
	random                  // numbers that are not the world's
	order                   // ranges over maps
	concurrent              // goroutines, channels, locks
	state                   // what lives outside the world
	outside                 // files, environment, network
	address                 // unsafe and uintptr
	classes
)

var classNames = [classes]string{"fuse", "math", "convert", "clock", "random", "order", "goroutine", "state",
	"outside", "unsafe"}

// A set of classes.
type set uint16

const (
	everything set = 1<<classes - 1
	// oneSided is what matters for rules that run on one machine alone.
	oneSided = everything &^ (1<<fused | 1<<inexact | 1<<conversion)
	// initial is what matters for the initial value of a package variable, which is computed once
	// in each process, before any rule runs.
	initial = everything &^ (1<<state | 1<<concurrent)
)

func (s set) has(c class) bool { return s>>c&1 != 0 }

// callbacks lists the fields of game.Definition that hold rules, those of both sides first.
var callbacks = []struct {
	name string
	want set
}{
	{"Act", everything}, {"Step", everything}, {"Join", oneSided}, {"Leave", oneSided}, {"Referee", oneSided},
	{"Bot", oneSided}, {"ShownTo", oneSided}, {"Groups", oneSided},
}

// A finding is one place that breaks a rule.
type finding struct {
	class class
	pos   token.Pos
	text  string
}

func run(pass *analysis.Pass) (any, error) {
	if standard(pass) || within(pass.Pkg.Path(), trusted...) {
		return nil, nil
	}
	c := newChecker(pass)
	for _, u := range c.units {
		c.scan(u)
	}
	c.spreadWrites()
	c.exportFacts()
	c.report()
	c.unread()
	return nil, nil
}

// standard reports whether the package belongs to the standard library, which has no module.
func standard(pass *analysis.Pass) bool {
	return (pass.Module == nil || pass.Module.Path == "") && pass.Pkg.Path() != "command-line-arguments"
}

// within reports whether path is one of roots or below. The go command names the variant of a
// package that is built with its tests "path [path.test]".
func within(path string, roots ...string) bool {
	path, _, _ = strings.Cut(path, " ")
	return slices.ContainsFunc(roots, func(r string) bool { return path == r || strings.HasPrefix(path, r+"/") })
}

// report follows the rules from each Definition and reports what they reach.
func (c *checker) report() {
	roots := c.roots()
	slices.SortStableFunc(roots, func(a, b root) int { return cmp.Compare(a.rank, b.rank) })
	reported := map[finding]bool{}
	for _, r := range roots {
		c.reach(r.unit, callbacks[r.rank].want, func(u *unit, want set) {
			for _, f := range u.findings {
				f.text += " (in " + callbacks[r.rank].name + ")"
				once := finding{class: f.class, pos: f.pos}
				if want.has(f.class) && !reported[once] {
					reported[once] = true
					c.pass.Report(analysis.Diagnostic{Pos: f.pos, Category: classNames[f.class], Message: f.text})
				}
			}
		})
	}
}

// reach calls visit for u and for every unit that it leads to, with the classes that matter there.
// It may visit a unit again for more classes.
func (c *checker) reach(u *unit, want set, visit func(*unit, set)) {
	seen := map[*unit]set{}
	var follow func(*unit, set)
	follow = func(u *unit, want set) {
		if want &^= seen[u]; want == 0 {
			return
		}
		seen[u] |= want
		visit(u, want)
		for _, e := range u.edges {
			follow(e.to, want&e.want)
		}
	}
	follow(u, want)
}

// A checker looks at one package.
type checker struct {
	pass    *analysis.Pass
	info    *types.Info
	parents map[ast.Node]ast.Node
	uses    map[*types.Var][]*ast.Ident // of variables that are local to a function
	aliases map[*types.Var][]ast.Expr   // of those that refer to other memory: what they were set to
	values  map[*types.Var][]ast.Expr   // of those that are floats: what they were set to
	limits  map[*types.Var]bool         // floats: whether all that they are set to is limited
	results map[*types.Var]bool         // named results of functions
	ok      map[place]bool              // lines on which findings are silenced
	units   []*unit
	byFunc  map[*types.Func]*unit
	byVar   map[*types.Var]*unit
	inits   []*unit // functions called init
	found   map[finding]bool
}

type place struct {
	file string
	line int
}

func newChecker(pass *analysis.Pass) *checker {
	c := &checker{pass: pass, info: pass.TypesInfo, parents: map[ast.Node]ast.Node{},
		uses: map[*types.Var][]*ast.Ident{}, aliases: map[*types.Var][]ast.Expr{},
		values: map[*types.Var][]ast.Expr{}, limits: map[*types.Var]bool{}, results: map[*types.Var]bool{},
		ok: map[place]bool{}, byFunc: map[*types.Func]*unit{}, byVar: map[*types.Var]*unit{}, found: map[finding]bool{}}
	for _, f := range pass.Files {
		c.markers(f)
		c.index(f)
		for _, d := range f.Decls {
			c.declare(d)
		}
	}
	return c
}

// marker begins a comment that silences the findings of its line and of the next one.
const marker = "//meanwhile:ok"

// markers notes the lines of a file that are silenced.
func (c *checker) markers(f *ast.File) {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			reason, ok := strings.CutPrefix(comment.Text, marker)
			switch {
			case !ok || reason != "" && reason[0] != ' ' && reason[0] != '\t':
			case strings.TrimSpace(reason) == "":
				c.pass.Reportf(comment.Pos(), "%s silences nothing without a reason: write why this is safe behind it",
					marker)
			default:
				p := c.pass.Fset.Position(comment.Pos())
				c.ok[place{p.Filename, p.Line}], c.ok[place{p.Filename, p.Line + 1}] = true, true
			}
		}
	}
}

// index notes the parent of each node, and where local variables are used and set.
func (c *checker) index(f *ast.File) {
	var stack []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			c.parents[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.Ident:
			if v, ok := c.info.Uses[n].(*types.Var); ok && !v.IsField() && !global(v) {
				c.uses[v] = append(c.uses[v], n)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) {
					c.alias(left, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Names) == len(n.Values) {
					c.alias(name, n.Values[i])
				}
			}
		case *ast.RangeStmt:
			if n.Value != nil {
				c.alias(n.Value, n.X)
			}
		case *ast.FuncType:
			if n.Results == nil {
				break
			}
			for _, field := range n.Results.List {
				for _, name := range field.Names {
					if v, ok := c.info.Defs[name].(*types.Var); ok {
						c.results[v] = true
					}
				}
			}
		}
		return true
	})
}

// alias notes that a local variable was set to value.
func (c *checker) alias(left ast.Expr, value ast.Expr) {
	id, ok := left.(*ast.Ident)
	if !ok {
		return
	}
	v, ok := c.info.ObjectOf(id).(*types.Var)
	if !ok || global(v) {
		return
	}
	switch v.Type().Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Signature:
		c.aliases[v] = append(c.aliases[v], value)
	case *types.Basic:
		c.values[v] = append(c.values[v], value)
	}
}

// global reports whether v is a variable of a package.
func global(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }

// add notes a finding in u, unless its line is silenced.
func (c *checker) add(u *unit, class class, pos token.Pos, text string) {
	p := c.pass.Fset.Position(pos)
	if !c.ok[place{p.Filename, p.Line}] {
		u.findings = append(u.findings, finding{class, pos, text})
	}
}
