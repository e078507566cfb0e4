// Package a declares what package b uses, and what nobody does.
package a

// Lone is used by nobody.
func Lone() {}

// Thing is used.
type Thing struct{ N int }

// Do is used.
func (Thing) Do() Field { return Field{} }

// Idle is used by nobody.
func (Thing) Idle() {}

// String is asked for by fmt.Stringer.
func (Thing) String() string { return "" }

// Field is used without being named: Do returns it.
type Field struct{ Used, Spare int }
