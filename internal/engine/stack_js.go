package engine

// stack returns nil in a browser. debug.Stack would make the program a tenth larger, and nobody
// reads it there.
func stack() []byte { return nil }
