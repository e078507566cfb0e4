// Package game is the contract between Meanwhile and the rules of a game. Rules are plain functions over a
// World; the same compiled functions run on the server, in a player's prediction and in tests.
//
// Join, Leave and Referee run on the server alone. Act runs one command of one player: at once as a prediction
// in that player's client, for good on the server. Step moves what nobody commands. Rules are deterministic:
// they use geom instead of math's trigonometry, World.Rand instead of math/rand, and no clock but World.Tick.
package game

import (
	"errors"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// ID names an entity for the whole life of a world. It is never reused; 0 names nothing.
type ID uint32

// Tick numbers the fixed steps of the simulation.
type Tick = clock.Tick

// Limits of a definition.
const (
	MaxKinds  = 64
	MaxEvents = 64
	MaxRate   = 240 // ticks a second
	MaxName   = 32  // bytes of a game's, kind's or event's name
)

// DefaultSend is how many times a second a client is sent records at most, where Definition.Send is 0.
const DefaultSend = 20

// DefaultSee is how many entities a player knows of at most, where Definition.See is 0.
const DefaultSee = 250

type kindInfo struct {
	name    string
	typ     reflect.Type
	fresh   func() unsafe.Pointer // a new zero value
	urgent  bool                  // an event that others give way to
	guessed bool                  // a kind that clients may draw beyond its newest record
}

// title names a handle in messages, also one that NewKind or NewEvent did not make.
func (i *kindInfo) title() string {
	if i == nil {
		return "the zero value"
	}
	return i.name
}

// AnyKind is a Kind of any type. It is implemented by Kind alone.
type AnyKind interface{ kind() *kindInfo }

// Kind is a typed handle on all entities whose state is a T. It holds no world, so it can be a package
// variable. Methods that take a World panic if the kind is not listed in the world's definition.
type Kind[T any] struct{ info *kindInfo }

// NewKind declares a kind of entity. Names are for pages, logs and the schema; they must differ within a game.
func NewKind[T any](name string, options ...KindOption) Kind[T] {
	i := &kindInfo{name: name, typ: reflect.TypeFor[T](), fresh: fresh[T]}
	for _, o := range options {
		o(i)
	}
	return Kind[T]{i}
}

// A KindOption is a choice about all entities of a kind.
type KindOption func(*kindInfo)

// Guessed is an option of NewKind: NewKind[Rocket]("rocket", Guessed). It lets clients that are told to (client.Config.Extrapolate) draw entities of the kind beyond their newest record, where they would be
// if they went on as they did: closer to where they are now, and wrong at every turn. What is guessed cannot be hit, since nobody could say
// again what was seen: Seen of such a kind panics, and World.SeenOn knows no place of what rides on one, which is drawn where that is drawn.
// Such a kind has no parent itself. What is dead reckoned in it (draw=dr) is sent once, and drawn on by all clients for as long as it
// goes on as it did: projectiles.
func Guessed(i *kindInfo) { i.guessed = true }

// fresh is reflect.New, which would bring calls by reflection into a browser's program.
func fresh[T any]() unsafe.Pointer { return unsafe.Pointer(new(T)) }

func (k Kind[T]) kind() *kindInfo { return k.info }

// Kinds lists kinds for a Definition.
func Kinds(k ...AnyKind) []AnyKind { return k }

// Spawn makes an entity with the state v and returns its ID. In a client's prediction it makes nothing and
// returns 0: the entity arrives from the server.
func (k Kind[T]) Spawn(w *World, v T) ID {
	return w.spawn(w.store(k.info), unsafe.Pointer(&v))
}

// Get returns the state of entity id: the present state on the server and of what a client predicts, the
// newest known state of all others in a client. It never returns nil: if there is no such entity, and for
// what a client does not predict, writes through the pointer are discarded and counted.
// The pointer is valid until the callback returns.
func (k Kind[T]) Get(w *World, id ID) *T {
	return (*T)(w.get(w.store(k.info), id))
}

// Has reports whether entity id exists, is of this kind and, in a client, is known.
func (k Kind[T]) Has(w *World, id ID) bool {
	_, ok := w.find(w.store(k.info), id)
	return ok
}

// Len returns the number of entities of this kind.
func (k Kind[T]) Len(w *World) int {
	s := w.store(k.info)
	n := len(s.recs)
	for _, r := range s.recs {
		if w.isHidden(r) {
			n--
		}
	}
	return n
}

// All ranges over the entities of this kind by rising ID, with pointers like those of Get. Entities spawned
// during the range are not visited; those despawned during the callback still are.
func (k Kind[T]) All(w *World) iter.Seq2[ID, *T] {
	return func(yield func(ID, *T) bool) { // so small that it is inlined, and a range allocates nothing
		s := w.store(k.info)
		n := len(s.recs)
		for i := 0; i < n; i++ {
			r := s.recs[i]
			if w.isHidden(r) {
				continue
			}
			w.touch(s, r)
			if !yield(r.id, (*T)(r.ptr)) {
				return
			}
		}
	}
}

// Seen ranges over copies of the others of this kind exactly as player me saw them when the present command
// was made: in the player's client as they are drawn, on the server rewound to the same moment. It is the
// whole of lag compensation. Properties that observers do not receive are zero, and places that are relative to a parent stay so:
// World.SeenOn says where that was. me itself is left out. It panics for a kind that is Guessed.
func (k Kind[T]) Seen(w *World, me ID) iter.Seq2[ID, T] {
	return func(yield func(ID, T) bool) {
		s := w.store(k.info)
		if k.info.guessed {
			panic("game: Seen of kind " + k.info.name + ", which is Guessed: what is guessed cannot be hit")
		}
		if w.seer == nil {
			return
		}
		at := w.look(s, me)
		var v T
		for i, id := range at.ids {
			if r := s.any(id); r != nil {
				v = *(*T)(r.ptr) // all of it is overwritten, but a text that is the same needs no new memory
			}
			s.schema.StoreDrawn(unsafe.Pointer(&v), at.drawn[i*s.schema.Obs:(i+1)*s.schema.Obs])
			if !yield(id, v) {
				break
			}
		}
		w.looks-- // a panic leaves it to the next callback
	}
}

// AnyEvent is an Event of any type. It is implemented by Event alone.
type AnyEvent interface{ event() *kindInfo }

// Event is a typed handle on things that happen once: shots, deaths, goals.
type Event[T any] struct{ info *kindInfo }

// NewEvent declares an event with a payload of type T.
func NewEvent[T any](name string) Event[T] {
	return Event[T]{&kindInfo{name: name, typ: reflect.TypeFor[T]()}}
}

// NewUrgentEvent declares an event that others give way to: where more happens than a player's network carries, shots go before deaths are lost.
func NewUrgentEvent[T any](name string) Event[T] {
	return Event[T]{&kindInfo{name: name, typ: reflect.TypeFor[T](), urgent: true}}
}

func (e Event[T]) event() *kindInfo { return e.info }

// Events lists events for a Definition.
func Events(e ...AnyEvent) []AnyEvent { return e }

// Emit tells everyone who can see the place at, once, when they see who act that far. Its actor's own client,
// if it predicted the event, saw it at once and is not told again.
func (e Event[T]) Emit(w *World, actor ID, at geom.Vec2, v T) {
	w.emit(e.info, actor, at, unsafe.Pointer(&v))
}

// A CommandMode says when the server runs a player's commands.
type CommandMode uint8

const (
	// Timed runs each command at the tick that it was made for, or never. Who does not get through in time goes on moving for a moment.
	Timed CommandMode = iota
	// Queued runs each command exactly once, in order, as soon as it is there: at its own tick as far as Act can see, which may lie somewhat before
	// the present one, or after it. Who does not get through stands still, and catches up when it does, by a bounded time. Step is no part of
	// that: it runs once in each tick of the server, so in a game with queued commands it should leave avatars alone.
	Queued
)

// Definition is a game: its rules and what the network must know of them.
type Definition[C any] struct {
	Name string // letters, digits and dashes
	Rate int    // ticks per second; 0: 30
	Send int    // records per second and client at most; 0: DefaultSend
	See  int    // entities that a player knows of at most; 0: DefaultSee

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
type Rules struct {
	Name    string
	Rate    int
	Send    int
	See     int
	Kinds   []*schema.Kind
	Events  []*schema.Kind
	Command *schema.Kind
	Mode    CommandMode // of commands
	Text    string      // the schema in readable form; both sides must have the same
	Hash    uint64      // of Text

	kindInfos  []*kindInfo
	eventInfos []*kindInfo
	join       func(w *World, name string) ID
	leave      func(w *World, me ID)
	act        func(w *World, me ID, c []int64)
	step       func(w *World)
	referee    func(w *World)
	bot        BotFunc
}

// Urgent reports whether events of number i are such that others give way to.
func (r *Rules) Urgent(i int) bool { return r.eventInfos[i].urgent }

// Rules compiles the definition. Every mistake in it is reported in one error.
func (d *Definition[C]) Rules() (*Rules, error) {
	r := &Rules{Mode: d.Commands, Name: d.Name, Rate: d.Rate, Send: d.Send, See: d.See, join: d.Join, leave: d.Leave, step: d.Step, referee: d.Referee}
	if err := r.compile(d.Kinds, d.Events, reflect.TypeFor[C](), d.Act != nil, d.Static); err != nil {
		return nil, err
	}
	act := d.Act // a copy, like all else: a Definition that is changed later changes nothing
	r.act = func(w *World, me ID, ints []int64) {
		var c C
		r.Command.Store(unsafe.Pointer(&c), ints)
		act(w, me, c)
	}
	if d.Bot != nil {
		r.bot = BotOf(r, d.Bot)
	}
	return r, nil
}

// compile is what of Rules does not depend on the type of commands: generic code stands in a program once for each.
func (r *Rules) compile(kinds []AnyKind, events []AnyEvent, command reflect.Type, acts bool, static uint64) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fault.Errorf(format, args...)) }
	rate, send, see := r.Rate, r.Send, r.See // as the Definition has them
	if r.Rate == 0 {
		r.Rate = 30
	}
	if r.Send == 0 {
		r.Send = min(DefaultSend, max(r.Rate, 1))
	}
	if r.See == 0 {
		r.See = DefaultSee
	}
	if !goodName(r.Name) {
		fail("Name %q is not 1 to %d lower-case letters, digits and dashes", r.Name, MaxName)
	}
	if r.Rate < 1 || r.Rate > MaxRate {
		fail("Rate %d is outside [1, %d] ticks a second", rate, MaxRate)
		r.Rate = 30
	}
	if r.Send < 1 || r.Send > r.Rate {
		fail("Send %d is outside [1, Rate %d]", send, r.Rate)
	}
	if r.See < 1 || r.See > DefaultSee {
		fail("See %d is outside [1, %d]", see, DefaultSee)
	}
	if r.Mode > Queued {
		fail("Commands %d is neither Timed nor Queued", r.Mode)
	}
	if r.join == nil || !acts {
		fail("Join and Act must be set")
	}
	if len(kinds) < 1 || len(kinds) > MaxKinds || len(events) > MaxEvents {
		fail("%d kinds and %d events; 1 to %d kinds and at most %d events fit a game", len(kinds), len(events), MaxKinds, MaxEvents)
	}
	names := map[string]bool{}
	compile := func(what, name string, t reflect.Type) *schema.Kind {
		if !goodName(name) || names[what+name] {
			fail("%s %q: names are 1 to %d lower-case letters, digits and dashes, and differ", what, name, MaxName)
		}
		names[what+name] = true
		k, err := schema.New(name, t, r.Rate)
		if err == nil && what != "kind" {
			err = k.Plain()
		}
		if err != nil {
			errs = append(errs, err)
		}
		return k
	}
	for i, k := range kinds {
		if k == nil || k.kind() == nil {
			fail("Kinds[%d] was not made by NewKind", i)
			continue
		}
		r.kindInfos = append(r.kindInfos, k.kind())
		kind := compile("kind", k.kind().name, k.kind().typ)
		if r.Kinds = append(r.Kinds, kind); kind == nil || !k.kind().guessed {
			continue
		}
		if kind.Guessed = true; kind.Parent >= 0 {
			fail("kind %q is Guessed and has a parent: what rides is drawn where its parent is", k.kind().name)
		}
	}
	for i, e := range events {
		if e == nil || e.event() == nil {
			fail("Events[%d] was not made by NewEvent", i)
			continue
		}
		r.eventInfos = append(r.eventInfos, e.event())
		r.Events = append(r.Events, compile("event", e.event().name, e.event().typ))
	}
	r.Command = compile("command", "command", command)
	if len(errs) > 0 {
		return fault.Errorf("game: %s: %w", r.Name, errors.Join(errs...))
	}
	var b strings.Builder
	b.WriteString("game " + r.Name + " rate=" + strconv.Itoa(r.Rate) + " static=" + strconv.FormatUint(static, 16))
	if r.Mode == Queued {
		b.WriteString(" commands=queued")
	}
	b.WriteString("\n")
	for _, k := range r.Kinds {
		b.WriteString("kind " + k.Text())
	}
	for _, k := range r.Events {
		b.WriteString("event " + k.Text())
	}
	b.WriteString(r.Command.Text())
	r.Text = b.String()
	r.Hash = schema.Hash(r.Text)
	return nil
}

func goodName(s string) bool {
	if s == "" || len(s) > MaxName {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
