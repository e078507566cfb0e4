//go:build !js

package engine

import "runtime/debug"

// stack returns the stack of a panic, as text.
func stack() []byte { return debug.Stack() }
