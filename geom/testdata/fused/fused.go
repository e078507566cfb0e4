// Package fused does what package geom must not: it leaves products to be fused. It is there so that the test that
// looks for fused instructions is known to find them.
package fused

import "math"

// MulAdd is fused on arm64 and on amd64 with GOAMD64=v3.
func MulAdd(x, y, z float64) float64 { return x*y + z }

// Later is fused although the product went through a variable.
func Later(x, y, z float64) float64 {
	p := x * y
	if z > 0 {
		return z + p
	}
	return p
}

// Scale is fused once it is inlined into a sum.
func Scale(x float64) float64 {
	x *= 3
	return x
}

// Rounded is not fused.
func Rounded(x, y, z float64) float64 { return float64(x*y) + z }

// Sin is not the same on every machine.
func Sin(x float64) float64 { return math.Sin(math.Sqrt(x)) }
