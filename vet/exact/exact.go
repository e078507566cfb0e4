// Package exact lists the functions of package math that compute the same bits on every machine.
// The list stands apart so that the tests of the core can read it without the analyzer.
package exact

// Math lists the functions of package math whose results are the same everywhere: those that
// IEEE 754 or their definition rounds correctly, or that only move bits.
var Math = []string{
	"Abs", "Ceil", "Copysign", "Dim", "FMA", "Float32bits", "Float32frombits", "Float64bits",
	"Float64frombits", "Floor", "Frexp", "Inf", "IsInf", "IsNaN", "Ldexp", "Max", "Min", "Mod",
	"Modf", "NaN", "Nextafter", "Nextafter32", "Remainder", "Round", "RoundToEven", "Signbit",
	"Sqrt", "Trunc",
}
