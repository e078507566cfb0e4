// Package exact says which arithmetic of Go computes the same bits on every machine. It stands apart
// so that the tests of the core can use it without the analyzer.
package exact

import (
	"go/constant"
	"math"
)

// Math lists the functions of package math whose results are the same everywhere: those that
// IEEE 754 or their definition rounds correctly, or that only move bits.
var Math = []string{
	"Abs", "Ceil", "Copysign", "Dim", "FMA", "Float32bits", "Float32frombits", "Float64bits",
	"Float64frombits", "Floor", "Frexp", "Inf", "IsInf", "IsNaN", "Ldexp", "Max", "Min", "Mod",
	"Modf", "NaN", "Nextafter", "Nextafter32", "Remainder", "Round", "RoundToEven", "Signbit",
	"Sqrt", "Trunc",
}

// PowerOfTwo reports whether a divisor is a constant power of two, also a negative one. A quotient by
// it is a product for the compiler, which may fuse it with a sum. v is nil if the divisor is no
// constant.
func PowerOfTwo(v constant.Value) bool {
	if v == nil {
		return false
	}
	f, _ := constant.Float64Val(constant.ToFloat(v))
	fraction, _ := math.Frexp(f)
	return math.Abs(fraction) == 0.5 && math.Abs(f) < 0x1p1023 // one over 0x1p1023 is not a normal number
}
