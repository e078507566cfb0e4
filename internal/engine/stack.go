//go:build !js

package engine

import "runtime/debug"

// stack is what led to a panic.
func stack() []byte { return debug.Stack() }
