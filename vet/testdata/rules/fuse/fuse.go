// Package fuse has products that may be fused with sums, and such that may not.
package fuse

import (
	"math"

	"meanwhile/game"
)

type Angle float64

type Vec struct{ X, Y float64 }

func (v Vec) Add(w Vec) Vec { return Vec{v.X + w.X, v.Y + w.Y} }

type Cmd struct{ X, Y, Z float64 }

var Things = game.NewKind[Vec]("thing")

var Game = game.Definition[Cmd]{Name: "fuse", Act: act}

func act(w *game.World, me game.ID, c Cmd) {
	p := Things.Get(w, me)
	p.X = direct(c) + through(c) + away(c) + sound(c) + generic(c.X, c.Y, c.Z) + float64(angles(Angle(c.X), Angle(c.Y)))
	p.Y = real(complexes(complex(c.X, c.Y))) + named(c) + halved(c) + literal(c) + passed(c) + float64(small(1, 2, 3))
}

func direct(c Cmd) (v float64) {
	v = c.X*c.Y + c.Z        // want `c\.X \* c\.Y may be fused with the sum here on some machines, .*: write float64\(c\.X \* c\.Y\) \(in Act\)`
	v = c.X*c.Y - c.Z        // want `c\.X \* c\.Y may be fused with the sum here`
	v = c.Z + c.X*c.Y        // want `c\.X \* c\.Y may be fused`
	v = c.Z - (c.X * c.Y)    // want `c\.X \* c\.Y may be fused`
	v = -(c.X * c.Y) + c.Z   // want `c\.X \* c\.Y may be fused`
	v += c.X * c.Y           // want `c\.X \* c\.Y may be fused`
	v -= c.X * c.Y           // want `c\.X \* c\.Y may be fused`
	v = c.X*c.X + c.Y*c.Y    // want `c\.X \* c\.X may be fused` `c\.Y \* c\.Y may be fused`
	v = c.X*c.Y*c.Z + 1      // want `c\.X \* c\.Y \* c\.Z may be fused`
	v = float64(c.X*c.Y) + v // rounded
	v = c.X*c.Y/c.Z + v      // divided in between
	v = c.X/2 + v            // want `c\.X / 2 may be fused with the sum here on some machines, .*: write float64\(c\.X / 2\)`
	v = c.X/3 + v/c.Z        // divided
	v = 2*math.Pi*3 + c.X    // a constant
	v = float64(3*4) + c.X   // a constant
	n := int64(c.X)
	return v + float64(n*n+n) // integers
}

func through(c Cmd) float64 {
	p := c.X * c.Y // want `c\.X \* c\.Y may be fused with the sum on line 50 through p on some machines`
	s := p + c.Z
	q := c.X * c.Y // want `c\.X \* c\.Y may be fused with the sum on line 53 through r`
	r := q
	s += r
	t := c.X
	t *= c.Y // want `t \*= c\.Y may be fused with the sum on line 56 through t .*: write t = float64\(t \* c\.Y\)`
	t++
	u := c.X
	u *= c.Y + 1 // want `u \*= \(c\.Y \+ 1\) may be fused with the sum on line 59 .*: write u = float64\(u \* \(c\.Y \+ 1\)\)`
	u += 1
	var x = c.X * c.X // want `c\.X \* c\.X may be fused with the sum on line 61 through x`
	return s + t + u + x
}

func halved(c Cmd) float64 {
	v := c.X
	v /= 8 // want `v /= 8 may be fused with the sum on line 67 through v .*: write v = float64\(v / 8\)`
	return v + c.Y
}

func away(c Cmd) float64 {
	v := Vec{}
	v.X = c.X * c.Y            // want `c\.X \* c\.Y is stored in v\.X unrounded, and may be fused with a sum there on some machines`
	v = v.Add(Vec{c.X * 3, 0}) // want `c\.X \* 3 is stored unrounded`
	f := func() float64 {
		return c.X * 5 // want `c\.X \* 5 is returned unrounded`
	}
	y := c.X * 7 // want `c\.X \* 7 is kept behind a pointer through y unrounded`
	py := &y
	return f() + *py + v.X
}

func named(c Cmd) (v float64) {
	v = c.X * c.Y // want `c\.X \* c\.Y is returned through v unrounded`
	return
}

func literal(c Cmd) float64 {
	all := append([]float64{}, c.X*c.Y) // want `c\.X \* c\.Y is passed to append unrounded`
	return all[0]
}

func passed(c Cmd) float64 {
	a := adds(c.X*c.Y, 1)     // want `c\.X \* c\.Y is passed to adds unrounded`
	b := compares(c.X*c.Y, 1) // only compared there
	f := adds
	d := f(c.X*c.Z, 1)        // want `c\.X \* c\.Z is passed to f unrounded`
	e := math.Dim(c.X*c.X, 1) // want `c\.X \* c\.X is passed to math\.Dim unrounded`
	g := math.Max(c.X*c.X, 1) // no product any more
	h := 0.0
	if b {
		h = a
	}
	return h + d + e + g
}

func adds(a, b float64) float64  { return a + b }
func compares(a, b float64) bool { return a < b }

func sound(c Cmd) float64 {
	n := c.X * c.Y
	if n > c.Z || c.X*c.Z < 1 {
		return 0
	}
	switch c.X * c.X {
	case 3:
		return 1
	}
	_ = c.X * c.Y
	m := c.X * c.Y
	o := float64(m*c.Z) + min(c.X*c.X, 3) + math.Sqrt(c.X*c.Y)
	k := c.X * c.Y
	return o + float64(k)
}

func generic[T float32 | float64](x, y, z T) T {
	v := T(x*y) + z
	return x*y + z + v // want `x \* y may be fused with the sum here .* write T\(x \* y\)`
}

func small(x, y, z float32) float32 { return x*y + z } // want `write float32\(x \* y\)`

func angles(a, b Angle) Angle {
	d := Angle(a*b) + a
	return a*b + a + d // want `write Angle\(a \* b\)`
}

func complexes(z complex128) complex128 {
	z /= 2           // want `complex products and quotients may be fused`
	z *= z           // want `complex products and quotients may be fused`
	return z*z + 1/z // want `complex products` `complex products`
}
