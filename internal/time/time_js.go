// Package time is what packages that run in browsers need of the standard one: a length of time. Natively these are its own types and
// constants, and to callers there is no difference. Compiled for a browser they stand alone: the standard package brings settings,
// metrics and stack hashes of the runtime along, a twentieth of the program that a player waits for (docs/adr/0020-small-program.md).
package time

// Duration is a length of time in nanoseconds.
type Duration = duration

// Common lengths of time.
const (
	Nanosecond  Duration = 1
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)
