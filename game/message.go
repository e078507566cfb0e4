package game

import (
	"reflect"
	"unsafe"

	"meanwhile/internal/engine"
	"meanwhile/netcode/schema"
)

// anyMessage is a Message or a Request of any type, with its handler if it has one.
type anyMessage interface{ handled() engine.Handled }

// handled is what On returns.
type handled engine.Handled

func (h handled) handled() engine.Handled { return engine.Handled(h) }

// Message is what players (g.send, client.Say) and rules say, such as chat.
type Message[T any] struct{ *engine.Message }

// NewMessage declares a message that each player may send so often, and more at once after a pause.
// With 0 and 0 only rules send it.
func NewMessage[T any](name string, perSecond float64, atOnce int) Message[T] {
	m := &engine.Message{Name: name, Type: reflect.TypeFor[T](), PerSecond: perSecond, Burst: atOnce}
	engine.Made(m)
	return Message[T]{m}
}

func (m Message[T]) handled() engine.Handled { return engine.Handled{Message: m.Message} }

// On lists m with what runs on the server, before the tick's commands, when a player sent it; from
// is 0 for a spectator.
func (m Message[T]) On(f func(w *World, from ID, v T)) anyMessage {
	on := func(w *engine.World, from ID, k *schema.Kind, vals []int64, _ *schema.Kind, _ []int64) error {
		var v T
		k.Store(unsafe.Pointer(&v), vals)
		f((*World)(w), from, v)
		return nil
	}
	return handled{m.Message, on}
}

// Send sends v to a player, once and in order; a prediction sends nothing.
func (m Message[T]) Send(w *World, to ID, v T) { w.engine().Say(m.Message, to, unsafe.Pointer(&v)) }

// SendAll sends v to players that to accepts (0: spectators), to all if nil.
func (m Message[T]) SendAll(w *World, to func(player ID) bool, v T) {
	w.engine().SayAll(m.Message, to, unsafe.Pointer(&v))
}

// A Request is a player's question, such as a vote, with an answer of type A.
type Request[T, A any] struct{ *engine.Message }

func NewRequest[T, A any](name string, perSecond float64, atOnce int) Request[T, A] {
	m := &engine.Message{Name: name, Type: reflect.TypeFor[T](), Answer: reflect.TypeFor[A](),
		PerSecond: perSecond, Burst: atOnce}
	engine.Made(m)
	return Request[T, A]{m}
}

func (r Request[T, A]) handled() engine.Handled { return engine.Handled{Message: r.Message} }

// On is that of a Message. An error refuses: its sentence is for the player.
func (r Request[T, A]) On(f func(w *World, from ID, v T) (A, error)) anyMessage {
	on := func(w *engine.World, from ID, k *schema.Kind, vals []int64, ak *schema.Kind, answer []int64) error {
		var v T
		k.Store(unsafe.Pointer(&v), vals)
		a, err := f((*World)(w), from, v)
		if err == nil {
			ak.Extract(unsafe.Pointer(&a), answer)
		}
		return err
	}
	return handled{r.Message, on}
}

func Messages(m ...anyMessage) []anyMessage {
	listMessages(m)
	return m
}

// addMessages lists messages for the engine.
func addMessages(def *engine.Definition, messages []anyMessage) {
	for _, m := range messages {
		var h engine.Handled
		if m != nil {
			h = m.handled()
		}
		def.Messages = append(def.Messages, h)
	}
}
