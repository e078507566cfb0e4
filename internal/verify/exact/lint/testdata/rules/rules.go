// Package rules holds one line for each thing that the linter reports, and some that it must not.
package rules

import (
	"math"
	"math/cmplx"

	"meanwhile/geom"
)

type metres float64

func refused(x, y float64, f float32, c complex128, m metres) {
	_ = x*y + 1       // want "product x * y may be fused"
	_ = (x * y)       // want "product x * y may be fused"
	_ = f * f         // want "product f * f may be fused"
	_ = m * 2         // want "product m * 2 may be fused"
	_ = x / 4         // want "product x / 4 may be fused"
	x /= 2            // want "product x /= 2 may be fused"
	x *= y            // want "product x *= y may be fused"
	_ = c * c         // want "complex c * c"
	_ = c / c         // want "complex c / c"
	_ = cmplx.Sqrt(c) // want "math/cmplx.Sqrt is not the same"
	_ = math.Sin(x)   // want "math.Sin is not the same"
	sine := math.Cos  // want "math.Cos is not the same"
	_ = sine
	_ = float64(x*y*x) + 1 // want "product x * y may be fused"
}

func fine(x, y float64, i int, m metres) {
	_ = float64(x*y) + float64((x * y))
	_ = metres(m*m) + metres(x)
	_ = i * i
	_ = x/y + x/3 + float64(x/2)
	_ = math.Floor(math.Sqrt(x)) + math.Pi*2
	_ = 2 * math.Pi
	_ = geom.Vec2{X: x}.Mul(y)
}
