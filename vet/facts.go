package vet

import (
	"fmt"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
)

// impure is what a package's importers learn of a function or variable: what would be wrong with
// it in rules, through which parameters it writes, and which of them may reach a sum. The receiver
// counts as parameter 0.
type impure struct {
	Found  []remote
	Writes []int
	Adds   []int
}

// checked says that a package was looked at, so that what has no fact is sound.
type checked struct{}

func (*checked) AFact()         {}
func (*checked) String() string { return "checked" }

// remote is a finding in another package. At names the file with its folder, line and column.
type remote struct {
	Class uint8
	At    string
	Text  string
}

func (*impure) AFact() {}

func (i *impure) String() string {
	return fmt.Sprintf("%d findings %v, writes %v, adds %v", len(i.Found), i.Found, i.Writes, i.Adds)
}

// exportFacts says of each function and variable of the package what it leads to: one finding a
// class, which is enough to know that it must not be called.
func (c *checker) exportFacts() {
	export := func(o types.Object, u *unit, want set) {
		var fact impure
		var have set
		c.reach(u, want, func(u *unit, want set) {
			for _, f := range u.findings {
				if want.has(f.class) && !have.has(f.class) {
					have |= 1 << f.class
					fact.Found = append(fact.Found, remote{uint8(f.class), c.short(f.pos), f.text})
				}
			}
		})
		for i := range u.writes {
			fact.Writes = append(fact.Writes, i)
		}
		slices.Sort(fact.Writes)
		if fn, ok := o.(*types.Func); ok {
			fact.Adds = c.added(fn)
		}
		if len(fact.Found)+len(fact.Writes)+len(fact.Adds) > 0 {
			c.pass.ExportObjectFact(o, &fact)
		}
	}
	c.pass.ExportPackageFact(new(checked))
	for fn, u := range c.byFunc {
		if fn.Exported() {
			export(fn, u, everything)
		}
	}
	for v, u := range c.byVar {
		if v.Exported() {
			export(v, u, initial)
		}
	}
}

// added returns the parameters of fn that are floats and may reach a sum.
func (c *checker) added(fn *types.Func) (all []int) {
	sig := fn.Signature()
	for i := range sig.Params().Len() + 1 {
		v := sig.Recv()
		if i > 0 {
			v = sig.Params().At(i - 1)
		}
		if v != nil && is(v.Type(), types.IsFloat) && c.adds(fn, i, map[*types.Var]bool{}) {
			all = append(all, i)
		}
	}
	return all
}

// short returns a position with the file's folder alone.
func (c *checker) short(pos token.Pos) string {
	p := c.pass.Fset.Position(pos)
	name := filepath.ToSlash(p.Filename)
	return fmt.Sprintf("%s:%d:%d", path.Join(path.Base(path.Dir(name)), path.Base(name)), p.Line, p.Column)
}

// imported adds what is known of an object of another package.
func (c *checker) imported(u *unit, pos token.Pos, o types.Object, want set) {
	var fact impure
	if o.Pkg() == nil || o.Pkg() == c.pass.Pkg || within(o.Pkg().Path(), trusted...) ||
		!c.pass.ImportObjectFact(o, &fact) {
		return
	}
	for _, f := range fact.Found {
		if k := class(f.Class); want.has(k) {
			c.add(u, k, pos, fmt.Sprintf("%s is not safe in rules, see %s: %s", objectName(o), f.At, f.Text))
		}
	}
}

// writesOf returns through which parameters of fn it writes.
func (c *checker) writesOf(fn *types.Func) []int {
	if u := c.byFunc[fn]; u != nil {
		var all []int
		for i := range u.writes {
			all = append(all, i)
		}
		return all
	}
	var fact impure
	if fn.Pkg() != nil && fn.Pkg() != c.pass.Pkg && c.pass.ImportObjectFact(fn, &fact) {
		return fact.Writes
	}
	if sortsInPlace(fn) {
		return []int{1}
	}
	return nil
}
