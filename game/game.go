// Package game is the contract with a game's rules: functions over a World. The server runs all, a
// player's client Act and Step as a prediction. Rules must be deterministic: use geom, World.Rand
// and World.Tick, not math, rand, clocks.
package game

import (
	"iter"
	"reflect"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/schema"
)

// ID names an entity and is never used again in its world; 0 names nothing.
type ID = engine.ID

type Tick = engine.Tick

// anyKind is a Kind of any type.
type anyKind interface{ kind() *engine.Kind }

// Kind is a typed handle on all entities whose state is a T.
type Kind[T any] handle

// handle hides the engine's part of a Kind or an Event.
type handle struct{ k *engine.Kind }

func NewKind[T any](name string, options ...KindOption) Kind[T] {
	k := &engine.Kind{Name: name, Type: reflect.TypeFor[T](), New: fresh[T]}
	for _, o := range options {
		o(k)
	}
	engine.Made(k)
	return Kind[T]{k}
}

type KindOption func(*engine.Kind)

// Extrapolated kinds are drawn at the present and never hit: Seen panics.
func Extrapolated(k *engine.Kind) { k.Extrapolated = true }

// ExtrapolatedBeyond is Extrapolated beyond so many metres, at most 1000, from the eye. Seen
// leaves out what is there.
func ExtrapolatedBeyond(metres float64) KindOption {
	return func(k *engine.Kind) { k.Beyond = metres }
}

// Predicted is for doors, platforms, balls: clients run them ahead by Step and show at once
// what commands spawn. Seen is as of the Eye. All is for all.
func Predicted(k *engine.Kind) { k.Ahead = schema.Predicted }

// Near is Predicted for players within so many metres, and for its spawner.
func Near(metres float64) KindOption {
	return func(k *engine.Kind) { k.Ahead, k.Reach = schema.Near, metres }
}

// Playout is the default. Saying so stops warnings of writes in vain.
func Playout(k *engine.Kind) { k.Playout = true }

// fresh does what reflect.New does, without the part of package reflect that makes a browser's
// program larger.
func fresh[T any]() unsafe.Pointer { return unsafe.Pointer(new(T)) }

func (k Kind[T]) kind() *engine.Kind { return k.k }

// of returns the entities of this kind in a world.
func (k Kind[T]) of(w *World) *engine.Store { return w.engine().Store(k.k) }

func Kinds(k ...anyKind) []anyKind {
	listKinds(k)
	return k
}

// Spawn makes an entity. A client's Act spawns Predicted and Near kinds alone.
func (k Kind[T]) Spawn(w *World, v T) ID {
	return k.of(w).Spawn(unsafe.Pointer(&v))
}

// Get returns the state of entity id, in a client the newest known: never nil, valid in this
// callback. Writes to what is absent or not predicted are lost.
func (k Kind[T]) Get(w *World, id ID) *T {
	return (*T)(k.of(w).Get(id))
}

// Has reports whether entity id is of this kind and, in a client, known.
func (k Kind[T]) Has(w *World, id ID) bool { return k.of(w).Has(id) }

func (k Kind[T]) Len(w *World) int { return k.of(w).Len() }

// All ranges by rising ID over what exists, with pointers like those of Get.
func (k Kind[T]) All(w *World) iter.Seq2[ID, *T] {
	return func(yield func(ID, *T) bool) { // small enough to be inlined: a range allocates nothing
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

// Drawn is what this frame shows by rising ID; c is a client of app/play.
func (k Kind[T]) Drawn(c engine.Screen) iter.Seq2[engine.DrawnInfo, T] {
	return func(yield func(engine.DrawnInfo, T) bool) {
		var v T
		for info := range c.Picture().DrawnOf(k.k, unsafe.Pointer(&v)) {
			if !yield(info, v) {
				return
			}
		}
	}
}

// Seen is lag compensation: copies of the others as player me saw them at the command, as far as
// observers know. Places are relative to parents (SeenOn).
func (k Kind[T]) Seen(w *World, me ID) iter.Seq2[ID, T] {
	return func(yield func(ID, T) bool) { each(k.of(w).Look(me), yield) }
}

// SeenAlong is Seen of those whose place is, from above, at most radius metres from a line; faster
// where few are. Add the size of hulls to radius.
func (k Kind[T]) SeenAlong(w *World, me ID, from, to geom.Vec2, radius float64) iter.Seq2[ID, T] {
	return func(yield func(ID, T) bool) {
		each(k.of(w).LookAlong(me, geom.Capsule{Axis: geom.Segment{A: from, B: to}, Radius: radius}), yield)
	}
}

// Eye returns the avatar of player me as shown at the press: aim from there.
func (k Kind[T]) Eye(w *World, me ID) (v T) {
	k.of(w).Eye(me, unsafe.Pointer(&v))
	return v
}

func each[T any](seen *engine.Sight, yield func(ID, T) bool) {
	if seen == nil {
		return
	}
	var v T
	for i := range seen.Len() {
		if now := seen.Now(i); now != nil {
			v = *(*T)(now) // Read overwrites it; an unchanged text then needs no new memory
		}
		id := seen.Read(i, unsafe.Pointer(&v))
		if !yield(id, v) {
			break
		}
	}
	seen.Close()
}

// anyEvent is an Event of any type.
type anyEvent interface{ event() *engine.Kind }

// Event is a typed handle on things that happen once, such as shots.
type Event[T any] handle

func NewEvent[T any](name string) Event[T] {
	return event[T](&engine.Kind{Name: name, Type: reflect.TypeFor[T]()})
}

// NewUrgentEvent declares one that is sent before others and lost last.
func NewUrgentEvent[T any](name string) Event[T] {
	return event[T](&engine.Kind{Name: name, Type: reflect.TypeFor[T](), Urgent: true})
}

func event[T any](k *engine.Kind) Event[T] {
	engine.Made(k)
	return Event[T]{k}
}

func (e Event[T]) event() *engine.Kind { return e.k }

func Events(e ...anyEvent) []anyEvent {
	listEvents(e)
	return e
}

// Shown is Drawn for what happens in this frame.
func (e Event[T]) Shown(c engine.Screen) iter.Seq2[engine.ShownInfo, T] {
	return func(yield func(engine.ShownInfo, T) bool) {
		var v T
		for info := range c.Picture().ShownOf(e.k, unsafe.Pointer(&v)) {
			if !yield(info, v) {
				return
			}
		}
	}
}

// Emit sends an event to all who can see at, at once where it is predicted.
func (e Event[T]) Emit(w *World, actor ID, at geom.Vec2, v T) {
	w.engine().Emit(e.k, actor, at, unsafe.Pointer(&v))
}

type CommandMode = engine.CommandMode

const (
	Timed  = engine.Timed  // at its tick, or never; the player moves on for a moment meanwhile
	Queued = engine.Queued // once each and in order, with its own World.Tick; Step should leave avatars alone
)

// Definition is a game: its rules, and what the network must know of them.
type Definition[C any] struct {
	Name     string          // letters, digits and dashes
	Rate     int             // ticks per second, at most 240; 0 means 30
	Send     int             // records per second, entity and client, at most Rate; 0 means 20, or Rate if less
	See      int             // how many of the nearest entities a player knows, at most 255; 0 means 250
	Kinds    []anyKind       // made by Kinds
	Events   []anyEvent      // made by Events
	Messages []anyMessage    // made by Messages
	Saved    []*engine.Saved // what lasts beyond the world; see package game/saved
	Commands CommandMode     // Timed by default
	Static   uint64          // identifies what is not networked, such as the map; client and server must agree

	Join    func(w *World, name string) ID // a player arrives: spawn its avatar, or return 0 for a spectator
	Leave   func(w *World, me ID)          // a player left; nil despawns its avatar
	Act     func(w *World, me ID, c C)     // one command of one player
	Step    func(w *World)                 // everything that no player commands; may be nil
	Referee func(w *World)                 // after all commands of a tick, on the server alone; may be nil
	Bot     func(w *World, me ID) C        // plays from what a player knows; may be nil

	// Players receive their avatar and what shares a group with them, one bit for each. Like Watch
	// both run on the server after Referee, and me is 0 for a spectator. Set both or neither.
	ShownTo func(w *World, id ID) uint64
	Groups  func(w *World, me ID) uint64
	// Watch lists what a player attends to, such as target and party: the first 16 are known at any
	// distance and sent up to times as often, what lies within 60 degrees of facing, if any, twice.
	Watch func(w *World, me ID, watch func(id ID, times int)) (facing geom.Vec2)
}

type Rules = engine.Rules

// Rules compiles the definition, and reports every mistake in it in one error.
func (d *Definition[C]) Rules() (*Rules, error) {
	def := engine.Definition{Name: d.Name, Rate: d.Rate, Send: d.Send, See: d.See,
		Mode: d.Commands, Static: d.Static, Saved: d.Saved, Command: reflect.TypeFor[C]()}
	if act := d.Act; act != nil {
		def.Act = func(w *engine.World, me ID, cmd []int64) {
			var c C
			w.Command().Store(unsafe.Pointer(&c), cmd)
			act((*World)(w), me, c)
		}
	}
	if bot := d.Bot; bot != nil {
		def.Bot = func(w *engine.World, me ID, cmd []int64) {
			c := bot((*World)(w), me)
			w.Command().Extract(unsafe.Pointer(&c), cmd)
		}
	}
	addHandles(&def, d.Kinds, d.Events)
	addMessages(&def, d.Messages)
	addCallbacks(&def, d.Join, d.Leave, d.Step, d.Referee, d.ShownTo, d.Groups)
	addWatch(&def, d.Watch)
	return engine.NewRules(def)
}

// addHandles and addCallbacks are no part of Rules, as a program contains generic code once for
// each type.
func addHandles(def *engine.Definition, kinds []anyKind, events []anyEvent) {
	for _, k := range kinds {
		var kind *engine.Kind
		if k != nil {
			kind = k.kind()
		}
		def.Kinds = append(def.Kinds, kind)
	}
	for _, e := range events {
		var event *engine.Kind
		if e != nil {
			event = e.event()
		}
		def.Events = append(def.Events, event)
	}
}

func addCallbacks(def *engine.Definition, join func(w *World, name string) ID, leave func(w *World, me ID),
	step, referee func(w *World), shownTo, groups func(w *World, id ID) uint64) {
	if join != nil {
		def.Join = func(w *engine.World, name string) ID { return join((*World)(w), name) }
	}
	if leave != nil {
		def.Leave = func(w *engine.World, me ID) { leave((*World)(w), me) }
	}
	if step != nil {
		def.Step = func(w *engine.World) { step((*World)(w)) }
	}
	if referee != nil {
		def.Referee = func(w *engine.World) { referee((*World)(w)) }
	}
	if shownTo != nil {
		def.ShownTo = func(w *engine.World, id ID) uint64 { return shownTo((*World)(w), id) }
	}
	if groups != nil {
		def.Groups = func(w *engine.World, me ID) uint64 { return groups((*World)(w), me) }
	}
}

func addWatch(def *engine.Definition, watch func(w *World, me ID, watch func(ID, int)) geom.Vec2) {
	if watch != nil {
		def.Watch = func(w *engine.World, me ID, f func(ID, int)) geom.Vec2 { return watch((*World)(w), me, f) }
	}
}
