package engine

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
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

// MaxSee is the default and maximum of Definition.See.
const MaxSee = 250

// A Kind is a kind of entity or of event, before it is compiled. Its address identifies it.
type Kind struct {
	Name         string
	Type         reflect.Type
	New          func() unsafe.Pointer // a new zero value, of an entity
	Urgent       bool                  // an event that others give way to
	Extrapolated bool                  // a kind that clients may draw beyond its newest record
}

// title names a kind in messages, also one that NewKind or NewEvent did not make.
func (k *Kind) title() string {
	if k == nil {
		return "the zero value"
	}
	return k.Name
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

// Callbacks are the rules of a game. Join and Act are set, the others may be nil.
type Callbacks struct {
	Join    func(w *World, name string) ID
	Leave   func(w *World, me ID)
	Act     func(w *World, me ID, cmd []int64)
	Step    func(w *World)
	Referee func(w *World)
	Bot     BotFunc
}

// A BotFunc writes the command of a bot, as simulation integers, into cmd.
type BotFunc func(w *World, me ID, cmd []int64)

// Definition is a game as a program states it. See game.Definition.
type Definition struct {
	Name   string
	Rate   int
	Send   int
	See    int
	Kinds  []*Kind // nil: not made by NewKind
	Events []*Kind
	// Command is the type of commands.
	Command reflect.Type
	Mode    CommandMode
	Static  uint64
	Callbacks
}

// Rules is a compiled Definition: what servers and clients work with. It does not change and may be shared.
type Rules struct {
	Name    string
	Rate    int
	Send    int
	See     int
	Kinds   []*schema.Kind
	Coders  []*codec.Coder // of Kinds, shared by all worlds
	Events  []*schema.Kind
	Command *schema.Kind
	Mode    CommandMode // of commands
	Text    string      // the schema in readable form; both sides must have the same
	Hash    uint64      // of Text

	call   Callbacks
	kinds  []*Kind
	events []*Kind
}

// Urgent reports whether events of number i are such that others give way to.
func (r *Rules) Urgent(i int) bool { return r.events[i].Urgent }

// Bot returns the game's own bot, nil if it has none.
func (r *Rules) Bot() BotFunc { return r.call.Bot }

// NewRules compiles a definition. Every mistake in it is reported in one error.
func NewRules(d Definition) (*Rules, error) {
	r := &Rules{Name: d.Name, Rate: d.Rate, Send: d.Send, See: d.See, Mode: d.Mode, call: d.Callbacks}
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
		r.See = MaxSee
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
	if r.See < 1 || r.See > MaxSee {
		fail("See %d is outside [1, %d]", see, MaxSee)
	}
	if r.Mode > Queued {
		fail("Commands %d is neither Timed nor Queued", r.Mode)
	}
	if r.call.Join == nil || r.call.Act == nil {
		fail("Join and Act must be set")
	}
	if len(d.Kinds) < 1 || len(d.Kinds) > MaxKinds || len(d.Events) > MaxEvents {
		fail("%d kinds and %d events; 1 to %d kinds and at most %d events fit a game", len(d.Kinds), len(d.Events), MaxKinds, MaxEvents)
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
	for i, k := range d.Kinds {
		if k == nil {
			fail("Kinds[%d] was not made by NewKind", i)
			continue
		}
		r.kinds = append(r.kinds, k)
		kind := compile("kind", k.Name, k.Type)
		if r.Kinds = append(r.Kinds, kind); kind == nil || !k.Extrapolated {
			continue
		}
		if kind.Extrapolated = true; kind.Parent >= 0 {
			fail("kind %q is Extrapolated and has a parent: what rides is drawn where its parent is", k.Name)
		}
	}
	for i, e := range d.Events {
		if e == nil {
			fail("Events[%d] was not made by NewEvent", i)
			continue
		}
		r.events = append(r.events, e)
		r.Events = append(r.Events, compile("event", e.Name, e.Type))
	}
	r.Command = compile("command", "command", d.Command)
	if len(errs) > 0 {
		return nil, fault.Errorf("game: %s: %w", r.Name, errors.Join(errs...))
	}
	r.Coders = codec.All(r.Kinds...)
	var b strings.Builder
	b.WriteString("game " + r.Name + " rate=" + strconv.Itoa(r.Rate) + " static=" + strconv.FormatUint(d.Static, 16))
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
	return r, nil
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
