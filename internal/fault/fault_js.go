// Package fault writes the texts of errors for packages that run in browsers too. Natively it is
// package fmt. Compiled for a browser it is a small formatter of its own, which knows what these
// texts use: fmt, with the packages below it, would be a seventh of the program that a player waits
// for.
package fault

// Errorf is what fmt.Errorf is natively.
func Errorf(format string, args ...any) error { return newError(format, args) }

// Sprintf is what fmt.Sprintf is natively.
func Sprintf(format string, args ...any) string {
	text, _ := appendf(nil, format, args)
	return string(text)
}
