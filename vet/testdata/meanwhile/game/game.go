// Package game has as much of the contract with rules as the tests of the check need.
package game

import "iter"

type (
	World struct{}
	ID    uint32
)

func (w *World) Dt() float64   { return 1.0 / 60 }
func (w *World) Tick() uint32  { return 1 }
func (w *World) Rand() float64 { return 0.5 }

type Kind[T any] struct{ state *T }

func (k Kind[T]) Get(w *World, id ID) *T         { return k.state }
func (k Kind[T]) All(w *World) iter.Seq2[ID, *T] { return func(yield func(ID, *T) bool) {} }
func NewKind[T any](name string) Kind[T]         { return Kind[T]{new(T)} }

type Definition[C any] struct {
	Name string
	Rate int

	Join    func(w *World, name string) ID
	Leave   func(w *World, me ID)
	Act     func(w *World, me ID, c C)
	Step    func(w *World)
	Referee func(w *World)
	Bot     func(w *World, me ID) C

	ShownTo func(w *World, id ID) uint64
	Groups  func(w *World, me ID) uint64
}
