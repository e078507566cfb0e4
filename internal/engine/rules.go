package engine

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
)

// ID names an entity for the whole life of a world. It is never reused; 0 names nothing.
type ID uint32

// Tick numbers the fixed steps of the simulation.
type Tick = clock.Tick

// Limits of a definition.
const (
	maxKinds  = 64
	maxEvents = 64
	maxRate   = 240  // ticks a second
	maxName   = 32   // bytes of a game's, kind's or event's name
	maxReach  = 1000 // metres

	defaultRate = 30 // ticks a second
)

// defaultSend is the default of Definition.Send, unless Rate is less.
const defaultSend = 20

// Bounds of Definition.See.
const (
	DefaultSee = 250
	MaxSee     = 255 // a lobby of 255, in which all see each other
)

// A Kind declares a kind of entity, or of event. Its address identifies it.
type Kind struct {
	Name         string
	Type         reflect.Type
	New          func() unsafe.Pointer // returns a new zero state; nil for an event
	Urgent       bool                  // an event that is sent before others and lost after them
	Extrapolated bool                  // an entity that clients draw at the present, and nobody hits
	Beyond       float64               // metres from the avatar beyond which that is so; 0: nowhere
	Ahead        schema.Ahead          // which clients run it ahead
	Playout      bool                  // none does, as its author chose
	Reach        float64               // metres within which those of schema.Near do
}

// title is the kind's name in messages. It also works for the zero value of a handle.
func (k *Kind) title() string {
	if k == nil {
		return "the zero value"
	}
	return k.Name
}

// notListed is the mistake of rules that use what their game does not list.
func (r *Rules) notListed(what, list, name string) string {
	return "game: " + what + " \"" + name + "\" is not listed in the " + list + " of game \"" + r.Name + "\""
}

// A CommandMode says when the server runs a player's commands.
type CommandMode uint8

const (
	// Timed runs each command at the tick that it was made for, or never. While no command arrives,
	// the player goes on moving for a moment.
	Timed CommandMode = iota
	// Queued runs each command exactly once, in order, as soon as it has arrived. Act sees the tick
	// that the command was made for, which may differ a little from the present one. While no
	// command arrives, the player stands still; later it catches up by a bounded time. Step runs
	// once in each tick of the server, whatever commands arrive, so it should leave avatars alone
	// in such a game.
	Queued
)

// Callbacks are the rules of a game. Join and Act must be set, the others may be nil; ShownTo and
// Groups are set together.
type Callbacks struct {
	Join    func(w *World, name string) ID
	Leave   func(w *World, me ID)
	Act     func(w *World, me ID, cmd []int64)
	Step    func(w *World)
	Referee func(w *World)
	ShownTo func(w *World, id ID) uint64
	Groups  func(w *World, me ID) uint64
	Watch   func(w *World, me ID, watch func(id ID, times int)) (facing geom.Vec2)
	Bot     BotFunc
}

// A BotFunc writes the command of a bot into cmd, as simulation integers.
type BotFunc func(w *World, me ID, cmd []int64)

// Definition is a game before it is compiled. game.Definition describes the fields.
type Definition struct {
	Name   string
	Rate   int
	Send   int
	See    int
	Kinds  []*Kind // nil stands for a handle that NewKind did not make
	Events []*Kind // nil stands for a handle that NewEvent did not make
	// Messages are what players and rules say to each other, with who handles it.
	Messages []Handled
	Mode     CommandMode
	Static   uint64

	Command reflect.Type
	Saved   []*Saved // nil stands for what package saved did not make
	Callbacks
}

// Rules is a compiled game, as servers and clients use it. It does not change and may be shared.
type Rules struct {
	Name    string
	Rate    int // ticks per second
	Send    int // records per second, entity and client at most
	See     int // entities that a client knows at most
	Kinds   []*schema.Kind
	Coders  []*codec.Coder // of Kinds, shared by all worlds
	Events  []*schema.Kind
	Command *schema.Kind
	// Messages are in the order of the definition; package packet numbers them.
	Messages []MessageKind
	Mode     CommandMode
	Text     string // the schema in readable form; server and client must have the same
	Hash     uint64 // of Text

	call     Callbacks
	kinds    []*Kind
	events   []*Kind
	messages []Handled
	saved    []*Saved
}

// Urgent reports whether event i is sent before others and lost after them.
func (r *Rules) Urgent(i int) bool { return r.events[i].Urgent }

// Feedback returns which fields the server's feedback on commands has.
func (r *Rules) Feedback() packet.FeedbackForm {
	return packet.FeedbackForm{Queued: r.Mode == Queued, Events: len(r.Events) > 0, Shoots: packet.HasPresses(r.Command)}
}

// Ahead reports whether clients run entities of some kind ahead, besides their own avatar.
func (r *Rules) Ahead() bool {
	for _, k := range r.Kinds {
		if k.Ahead != schema.Playout {
			return true
		}
	}
	return false
}

// Hides reports whether players may know of some entities only.
func (r *Rules) Hides() bool { return r.call.ShownTo != nil }

// Watches reports whether the game says what players attend to.
func (r *Rules) Watches() bool { return r.call.Watch != nil }

// Bot returns the game's own bot, or nil.
func (r *Rules) Bot() BotFunc { return r.call.Bot }

// NewRules compiles a definition. One error reports every mistake in it.
func NewRules(d Definition) (*Rules, error) {
	c := compiler{r: &Rules{Name: d.Name, Mode: d.Mode, call: d.Callbacks}, names: map[string]bool{}}
	c.numbers(&d)
	if len(d.Kinds) < 1 || len(d.Kinds) > maxKinds || len(d.Events) > maxEvents {
		c.fail("%d kinds and %d events; 1 to %d kinds and at most %d events fit a game",
			len(d.Kinds), len(d.Events), maxKinds, maxEvents)
	}
	for i, k := range d.Kinds {
		c.kind(i, k)
	}
	for i, e := range d.Events {
		c.event(i, e)
	}
	c.messages(d.Messages)
	c.r.Command = c.schema("command", "command", d.Command)
	c.wordless(c.r.Command)
	c.saved(d.Saved)
	if len(c.errs) > 0 {
		return nil, fault.Errorf("game: %s: %w", d.Name, errors.Join(c.errs...))
	}
	c.r.Coders = codec.All(c.r.Kinds...)
	c.text(d.Static)
	return c.r, nil
}

// compiler makes Rules of a Definition and collects what is wrong with it.
type compiler struct {
	r     *Rules
	names map[string]bool // taken: "kind" or "event", then the name
	errs  []error
}

//go:noinline
func (c *compiler) fail(format string, args ...any) {
	c.errs = append(c.errs, fault.Errorf(format, args...))
}

// numbers checks the definition's own fields and fills in the defaults.
func (c *compiler) numbers(d *Definition) {
	r := c.r
	if r.Rate = d.Rate; r.Rate == 0 {
		r.Rate = defaultRate
	}
	if r.Send = d.Send; r.Send == 0 {
		r.Send = min(defaultSend, max(r.Rate, 1))
	}
	if r.See = d.See; r.See == 0 {
		r.See = DefaultSee
	}
	if !goodName(d.Name) {
		c.fail("Name %q is not 1 to %d lower-case letters, digits and dashes", d.Name, maxName)
	}
	if r.Rate < 1 || r.Rate > maxRate {
		c.fail("Rate %d is outside [1, %d] ticks a second", d.Rate, maxRate)
		r.Rate = defaultRate
	}
	if r.Send < 1 || r.Send > r.Rate {
		c.fail("Send %d is outside [1, Rate %d]", d.Send, r.Rate)
	}
	if r.See < 1 || r.See > MaxSee {
		c.fail("See %d is outside [1, %d]", d.See, MaxSee)
	}
	if r.Mode > Queued {
		c.fail("Commands %d is neither Timed nor Queued", r.Mode)
	}
	if r.call.Join == nil || r.call.Act == nil {
		c.fail("Join and Act must be set")
	}
	if (r.call.ShownTo == nil) != (r.call.Groups == nil) {
		c.fail("ShownTo and Groups must be set together: an entity is hidden from players who share no group with it")
	}
}

func (c *compiler) kind(i int, k *Kind) {
	if k == nil {
		c.fail("Kinds[%d] was not made by NewKind", i)
		return
	}
	s := c.schema("kind", k.Name, k.Type)
	c.r.kinds, c.r.Kinds = append(c.r.kinds, k), append(c.r.Kinds, s)
	if s == nil {
		return
	}
	s.Extrapolated, s.Beyond, s.Ahead, s.Reach = k.Extrapolated, k.Beyond, k.Ahead, k.Reach
	c.extrapolation(k, s)
	flies := func(g schema.Group) bool { return g.Reckoned != 0 }
	if !k.Extrapolated || !slices.ContainsFunc(s.Groups, flies) { // a coarser record of what flies would be one more
		s.Grade()
	}
	if k.Ahead != schema.Near {
		return
	}
	if !(k.Reach > 0 && k.Reach <= maxReach) {
		c.fail("kind %q: Near %v m is outside (0, %d]", k.Name, k.Reach, maxReach)
	}
	if s.Place < 0 {
		c.fail("kind %q is Near and has no pos that everyone receives", k.Name)
	}
}

// extrapolation checks what draws a kind at the present.
func (c *compiler) extrapolation(k *Kind, s *schema.Kind) {
	word := "Extrapolated"
	switch {
	case k.Beyond != 0 && k.Extrapolated:
		c.fail("kind %q is Extrapolated and ExtrapolatedBeyond: it can be drawn in one way only", k.Name)
	case k.Beyond != 0:
		word = "ExtrapolatedBeyond"
		if !(k.Beyond > 0 && k.Beyond <= maxReach) {
			c.fail("kind %q: ExtrapolatedBeyond %v m is outside (0, %d]", k.Name, k.Beyond, maxReach)
		}
		if s.Place < 0 {
			c.fail("kind %q is ExtrapolatedBeyond and has no pos that everyone receives", k.Name)
		}
	case !k.Extrapolated:
		return
	}
	if s.Parent >= 0 {
		c.fail("kind %q is %s and has a parent: what rides is drawn where its parent is", k.Name, word)
	}
	if k.Ahead != schema.Playout {
		c.fail("kind %q is %s and Predicted or Near: it can be drawn in one way only", k.Name, word)
	}
}

func (c *compiler) event(i int, e *Kind) {
	if e == nil {
		c.fail("Events[%d] was not made by NewEvent", i)
		return
	}
	c.r.events, c.r.Events = append(c.r.events, e), append(c.r.Events, c.schema("event", e.Name, e.Type))
}

// schema compiles the type of a kind, an event or the command; nil after an error.
func (c *compiler) schema(what, name string, t reflect.Type) *schema.Kind {
	if !goodName(name) || c.names[what+name] {
		c.fail("%s %q: names are 1 to %d lower-case letters, digits and dashes, and differ", what, name, maxName)
	}
	c.names[what+name] = true
	compile := schema.New
	if what == "message" {
		compile = schema.NewMessage
	}
	k, err := compile(name, t, c.r.Rate)
	if err == nil && what != "kind" {
		err = k.Plain(what == "event")
	}
	if err != nil {
		c.errs = append(c.errs, err)
	}
	return k
}

// text writes the schema in readable form, which server and client compare when they connect.
func (c *compiler) text(static uint64) {
	r := c.r
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
	for i := range r.Messages {
		b.WriteString(r.Messages[i].text())
	}
	b.WriteString(r.Command.Text())
	r.Text = b.String()
	r.Hash = schema.Hash(r.Text)
}

func goodName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
