//go:build !js

// Package time is what packages that run in browsers need of the standard one: a length of time. Natively these are its own types and
// constants, and to callers there is no difference. Compiled for a browser they stand alone: the standard package brings settings,
// metrics and stack hashes of the runtime along, a twentieth of the program that a player waits for (docs/adr/0020-small-program.md).
package time

import "time"

// Duration is a length of time in nanoseconds.
type Duration = time.Duration

// Common lengths of time.
const (
	Nanosecond  = time.Nanosecond
	Microsecond = time.Microsecond
	Millisecond = time.Millisecond
	Second      = time.Second
	Minute      = time.Minute
	Hour        = time.Hour
)
