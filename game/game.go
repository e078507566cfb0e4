// Package game is the contract between Meanwhile and the rules of a game. Rules are plain functions over a
// World; the same compiled functions run on the server, in a player's prediction and in tests.
//
// Join, Leave and Referee run on the server alone. Act runs one command of one player: at once as a prediction
// in that player's client, for good on the server. Step moves what nobody commands. Rules are deterministic:
// they use geom instead of math's trigonometry, World.Rand instead of math/rand, and no clock but World.Tick.
package game

import (
	"iter"
	"reflect"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// ID names an entity for the whole life of a world. It is never reused; 0 names nothing.
type ID = engine.ID

// Tick numbers the fixed steps of the simulation.
type Tick = engine.Tick

// DefaultSend is how many times a second a client is sent records at most, where Definition.Send is 0.
const DefaultSend = engine.DefaultSend

// MaxSee is the default and maximum of Definition.See.
const MaxSee = engine.MaxSee

// AnyKind is a Kind of any type. It is implemented by Kind alone.
type AnyKind interface{ kind() *engine.Kind }

// Kind is a typed handle on all entities whose state is a T. It holds no world, so it can be a package
// variable. Methods that take a World panic if the kind is not listed in the world's definition.
type Kind[T any] struct{ k *engine.Kind }

// NewKind declares a kind of entity. Names are for pages, logs and the schema; they must differ within a game.
func NewKind[T any](name string, options ...KindOption) Kind[T] {
	k := &engine.Kind{Name: name, Type: reflect.TypeFor[T](), New: fresh[T]}
	for _, o := range options {
		o(k)
	}
	return Kind[T]{k}
}

// A KindOption is a choice about all entities of a kind.
type KindOption func(*engine.Kind)

// Extrapolated is an option of NewKind: NewKind[Rocket]("rocket", Extrapolated). It lets clients that are told to (client.Config.Extrapolate) draw entities of the kind beyond their newest record, where they would be
// if they went on as they did: closer to where they are now, and wrong at every turn. What is guessed cannot be hit, since nobody could say
// again what was seen: Seen of such a kind panics, and World.SeenOn knows no place of what rides on one, which is drawn where that is drawn.
// Such a kind has no parent itself. What is dead reckoned in it (draw=dr) is sent once, and drawn on by all clients for as long as it
// goes on as it did: projectiles.
func Extrapolated(k *engine.Kind) { k.Extrapolated = true }

// fresh is reflect.New, which would bring calls by reflection into a browser's program.
func fresh[T any]() unsafe.Pointer { return unsafe.Pointer(new(T)) }

func (k Kind[T]) kind() *engine.Kind { return k.k }

// of returns the entities of this kind in a world.
func (k Kind[T]) of(w *World) *engine.Store { return w.engine().Store(k.k) }

// Kinds lists kinds for a Definition.
func Kinds(k ...AnyKind) []AnyKind { return k }

// Spawn makes an entity with the state v and returns its ID. In a client's prediction it makes nothing and
// returns 0: the entity arrives from the server.
func (k Kind[T]) Spawn(w *World, v T) ID {
	return k.of(w).Spawn(unsafe.Pointer(&v))
}

// Get returns the state of entity id: the present state on the server and of what a client predicts, the
// newest known state of all others in a client. It never returns nil: if there is no such entity, and for
// what a client does not predict, writes through the pointer are discarded and counted.
// The pointer is valid until the callback returns.
func (k Kind[T]) Get(w *World, id ID) *T {
	return (*T)(k.of(w).Get(id))
}

// Has reports whether entity id exists, is of this kind and, in a client, is known.
func (k Kind[T]) Has(w *World, id ID) bool { return k.of(w).Has(id) }

// Len returns the number of entities of this kind.
func (k Kind[T]) Len(w *World) int { return k.of(w).Len() }

// All ranges over the entities of this kind by rising ID, with pointers like those of Get. Entities spawned
// during the range are not visited; those despawned during the callback still are.
func (k Kind[T]) All(w *World) iter.Seq2[ID, *T] {
	return func(yield func(ID, *T) bool) { // so small that it is inlined, and a range allocates nothing
		s := k.of(w)
		n := s.Size()
		for i := 0; i < n; i++ {
			id, v := s.Visit(i)
			if v != nil && !yield(id, (*T)(v)) {
				return
			}
		}
	}
}

// Seen ranges over copies of the others of this kind exactly as player me saw them when the present command
// was made: in the player's client as they are drawn, on the server rewound to the same moment. It is the
// whole of lag compensation. Properties that observers do not receive are zero, and places that are relative to a parent stay so:
// World.SeenOn says where that was. me itself is left out. It panics for a kind that is Extrapolated.
func (k Kind[T]) Seen(w *World, me ID) iter.Seq2[ID, T] {
	return func(yield func(ID, T) bool) {
		seen := k.of(w).Look(me)
		if seen == nil {
			return
		}
		var v T
		for i := range seen.Len() {
			if now := seen.Now(i); now != nil {
				v = *(*T)(now) // all of it is overwritten, but a text that is the same needs no new memory
			}
			id := seen.Read(i, unsafe.Pointer(&v))
			if !yield(id, v) {
				break
			}
		}
		seen.Close() // a panic leaves it to the next callback
	}
}

// AnyEvent is an Event of any type. It is implemented by Event alone.
type AnyEvent interface{ event() *engine.Kind }

// Event is a typed handle on things that happen once: shots, deaths, goals.
type Event[T any] struct{ e *engine.Kind }

// NewEvent declares an event with a payload of type T.
func NewEvent[T any](name string) Event[T] {
	return Event[T]{&engine.Kind{Name: name, Type: reflect.TypeFor[T]()}}
}

// NewUrgentEvent declares an event that others give way to: where more happens than a player's network carries, shots go before deaths are lost.
func NewUrgentEvent[T any](name string) Event[T] {
	return Event[T]{&engine.Kind{Name: name, Type: reflect.TypeFor[T](), Urgent: true}}
}

func (e Event[T]) event() *engine.Kind { return e.e }

// Events lists events for a Definition.
func Events(e ...AnyEvent) []AnyEvent { return e }

// Emit tells everyone who can see the place at, once, when they see who act that far. Its actor's own client,
// if it predicted the event, saw it at once and is not told again.
func (e Event[T]) Emit(w *World, actor ID, at geom.Vec2, v T) {
	w.engine().Emit(e.e, actor, at, unsafe.Pointer(&v))
}

// A CommandMode says when the server runs a player's commands.
type CommandMode = engine.CommandMode

const (
	// Timed runs each command at the tick that it was made for, or never. Who does not get through in time goes on moving for a moment.
	Timed = engine.Timed
	// Queued runs each command exactly once, in order, as soon as it is there: at its own tick as far as Act can see, which may lie somewhat before
	// the present one, or after it. Who does not get through stands still, and catches up when it does, by a bounded time. Step is no part of
	// that: it runs once in each tick of the server, so in a game with queued commands it should leave avatars alone.
	Queued = engine.Queued
)

// Definition is a game: its rules and what the network must know of them.
type Definition[C any] struct {
	Name string // letters, digits and dashes
	Rate int    // ticks per second; 0: 30
	Send int    // records per second and client at most; 0: DefaultSend
	See  int    // entities that a player knows of at most; 0: MaxSee

	Kinds  []AnyKind
	Events []AnyEvent

	// Commands is when the server runs a player's commands: Timed, unless it is Queued.
	Commands CommandMode

	// Static identifies the world that is not networked, such as the map: client and server must agree.
	Static uint64

	Join    func(w *World, name string) ID // a player arrives: spawn its avatar
	Leave   func(w *World, me ID)          // a player has left; nil: its avatar is despawned
	Act     func(w *World, me ID, c C)     // one command of one player
	Step    func(w *World)                 // what nobody commands; may be nil
	Referee func(w *World)                 // after all commands of a tick, server only; may be nil
	Bot     func(w *World, me ID) C        // plays from what a player knows; may be nil
}

// Rules is a compiled Definition: what servers and clients work with. It does not change and may be shared.
type Rules = engine.Rules

// Rules compiles the definition. Every mistake in it is reported in one error.
func (d *Definition[C]) Rules() (*Rules, error) {
	def := engine.Definition{Name: d.Name, Rate: d.Rate, Send: d.Send, See: d.See, Command: reflect.TypeFor[C](), Mode: d.Commands, Static: d.Static}
	for _, k := range d.Kinds {
		var kind *engine.Kind
		if k != nil {
			kind = k.kind()
		}
		def.Kinds = append(def.Kinds, kind)
	}
	for _, e := range d.Events {
		var event *engine.Kind
		if e != nil {
			event = e.event()
		}
		def.Events = append(def.Events, event)
	}
	if join := d.Join; join != nil { // copies, like all else: a Definition that is changed later changes nothing
		def.Join = func(w *engine.World, name string) ID { return join((*World)(w), name) }
	}
	if leave := d.Leave; leave != nil {
		def.Leave = func(w *engine.World, me ID) { leave((*World)(w), me) }
	}
	if step := d.Step; step != nil {
		def.Step = func(w *engine.World) { step((*World)(w)) }
	}
	if referee := d.Referee; referee != nil {
		def.Referee = func(w *engine.World) { referee((*World)(w)) }
	}
	if act := d.Act; act != nil {
		def.Act = func(w *engine.World, me ID, cmd []int64) {
			var c C
			w.Command().Store(unsafe.Pointer(&c), cmd)
			act((*World)(w), me, c)
		}
	}
	if d.Bot != nil {
		def.Bot = BotOf(d.Bot)
	}
	return engine.NewRules(def)
}

// A BotFunc writes the command of a bot, as simulation integers, into cmd.
type BotFunc = engine.BotFunc

// BotOf returns f as a BotFunc of rules whose command type is C.
func BotOf[C any](f func(w *World, me ID) C) BotFunc {
	return func(w *engine.World, me ID, cmd []int64) {
		c := f((*World)(w), me)
		w.Command().Extract(unsafe.Pointer(&c), cmd)
	}
}

// PanicError says that a callback of a game's rules panicked. Nothing that the callback did has happened.
type PanicError = engine.PanicError
