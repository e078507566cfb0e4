//go:build !js

// Package fault writes the texts of errors for packages that run in browsers too. Natively it is
// package fmt. Compiled for a browser it is a small formatter of its own, which knows what these
// texts use: fmt, with the packages below it, would be a seventh of the program that a player waits
// for.
package fault

import "fmt"

// Errorf is fmt.Errorf.
func Errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Sprintf is fmt.Sprintf.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
