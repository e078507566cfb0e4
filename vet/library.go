package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"meanwhile/vet/exact"
)

// keepsNothing lists functions of package math whose result is not their argument, so that a
// product cannot pass through them to a sum. (Dim would be inlined, and subtracts.)
var keepsNothing = []string{
	"Abs", "Ceil", "Copysign", "Float32bits", "Float64bits", "Floor", "IsInf", "IsNaN", "Max", "Min", "Mod",
	"Round", "RoundToEven", "Signbit", "Sqrt", "Trunc",
}

const (
	clockText   = "reads or waits for the machine's clock: count in ticks, with World.Tick and World.Dt"
	randomText  = "draws other numbers on each side and in each run: use World.Rand"
	lockText    = "is for goroutines, and rules run in one: keep state in the world, where it needs no lock"
	orderText   = "comes in another order in each run: range over slices.Sorted(maps.Keys(m)), or use a slice"
	outsideText = "reaches outside the world, to what differs between machines: decide before the game starts, or in " +
		"the page"
	mathText = "has another last bit on amd64, arm64 and wasm: use package geom"
)

// refused lists the packages of the standard library that rules must not use, or of which they must
// not use some functions.
var refused = map[string]struct {
	class class
	names string // the functions and methods; empty means all
	text  string
}{
	"time":         {clock, "Now Since Until Sleep After AfterFunc Tick NewTicker NewTimer", clockText},
	"context":      {clock, "WithTimeout WithTimeoutCause WithDeadline WithDeadlineCause", clockText},
	"math/rand":    {random, "", randomText},
	"math/rand/v2": {random, "", randomText},
	"crypto/rand":  {random, "", randomText},
	"hash/maphash": {
		random,
		"",
		"has another seed in each process: write a hash of your own, as of World.Tick and an ID",
	},
	"math/cmplx":    {inexact, "", mathText},
	"maps":          {order, "Keys Values All", orderText},
	"reflect":       {order, "MapKeys MapRange", orderText},
	"sync":          {concurrent, "", lockText},
	"sync/atomic":   {concurrent, "", lockText},
	"fmt":           {outside, "Scan Scanf Scanln", outsideText},
	"os":            {outside, "", outsideText},
	"net":           {outside, "", outsideText},
	"syscall":       {outside, "", outsideText},
	"runtime":       {outside, "", outsideText},
	"path/filepath": {outside, "Abs Glob Walk WalkDir EvalSymlinks", outsideText},
}

// library says what is wrong with a function of the standard library, or nothing.
func library(fn *types.Func) (class, string) {
	path, name := fn.Pkg().Path(), objectName(fn)
	if path == "math" {
		if !slices.Contains(exact.Math, fn.Name()) {
			return inexact, name + " " + mathText
		}
		return 0, ""
	}
	for {
		if r, ok := refused[path]; ok {
			if r.names == "" || slices.Contains(strings.Fields(r.names), fn.Name()) {
				return r.class, name + " " + r.text
			}
			return 0, ""
		}
		switch i := strings.LastIndexByte(path, '/'); {
		case i < 0:
			return 0, ""
		default:
			path = path[:i] // net/http is refused as net is
			if path != "net" && path != "os" && path != "syscall" && path != "runtime" {
				return 0, ""
			}
		}
	}
}

// sorted reports whether id, in a call such as maps.Keys(m), is the direct argument of
// slices.Sorted or its kin.
func (c *checker) sorted(id *ast.Ident) bool {
	var n ast.Node = id
	if sel, ok := c.parents[n].(*ast.SelectorExpr); ok {
		n = sel
	}
	keys, ok := c.parents[n].(*ast.CallExpr)
	if !ok {
		return false
	}
	outer, ok := c.parents[keys].(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := c.callee(outer)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "slices" && strings.HasPrefix(fn.Name(), "Sorted")
}

const poolText = "sync.Pool.Get gives what another world may have left: call Reset in the next line, as in " +
	"s := pool.Get().(*T); s.Reset()"

// resets reports whether id is the Get of s := pool.Get().(*T), and the next statement is s.Reset().
func (c *checker) resets(id *ast.Ident) bool {
	call, _ := c.parents[c.parents[id]].(*ast.CallExpr)
	assert, _ := c.parents[call].(*ast.TypeAssertExpr)
	assign, _ := c.parents[assert].(*ast.AssignStmt)
	block, _ := c.parents[assign].(*ast.BlockStmt)
	if block == nil || len(assign.Lhs) != 1 {
		return false
	}
	next := slices.Index(block.List, ast.Stmt(assign)) + 1
	if next == len(block.List) {
		return false
	}
	expr, _ := block.List[next].(*ast.ExprStmt)
	if expr == nil {
		return false
	}
	return types.ExprString(expr.X) == types.ExprString(assign.Lhs[0])+".Reset()"
}

// sortsInPlace reports whether a function of the standard library changes its first argument.
func sortsInPlace(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "sort":
		return !strings.HasPrefix(fn.Name(), "Search") && !strings.Contains(fn.Name(), "Sorted") &&
			!strings.HasPrefix(fn.Name(), "Find")
	case "slices":
		return fn.Name() == "Reverse" || strings.HasPrefix(fn.Name(), "Sort") && !strings.HasPrefix(fn.Name(), "Sorted")
	case "maps":
		return fn.Name() == "Copy" || fn.Name() == "DeleteFunc" || fn.Name() == "Insert"
	}
	return false
}

// objectName returns the name of an object of a package as code writes it, such as sync.Mutex.Lock.
func objectName(o types.Object) string {
	name := o.Name()
	if fn, ok := o.(*types.Func); ok && fn.Signature().Recv() != nil {
		t := fn.Signature().Recv().Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if named, ok := types.Unalias(t).(*types.Named); ok {
			name = named.Obj().Name() + "." + name
		}
	}
	return o.Pkg().Name() + "." + name
}
