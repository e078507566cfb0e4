package engine

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
)

// Limits of messages.
const (
	maxPerSecond = 100 // messages that one player may send
	maxBurst     = 100 // of them at once
	// MaxSaid is how many messages the rules may send in one tick. Further ones are dropped.
	MaxSaid = 1024
)

// A Message declares a message or a request. Its address identifies it.
type Message struct {
	Name   string
	Type   reflect.Type
	Answer reflect.Type // of a request; nil: it is a message
	// PerSecond is how many of them one player may send on average, Burst how many at once. 0 of
	// both: only the rules send it.
	PerSecond float64
	Burst     int
}

// A Handler runs on the server for a message of a player: of the payload vals, as integers of k.
// That of a request writes the answer, as integers of ak, or returns why it refuses.
type Handler func(w *World, from ID, k *schema.Kind, vals []int64, ak *schema.Kind, answer []int64) error

// Handled is a message with its handler; nil for what only the rules send.
type Handled struct {
	*Message
	On Handler
}

// A MessageKind is a message or request of a compiled game.
type MessageKind struct {
	_ [0]func() // no == for it, which pages would have to load

	Name    string
	Payload *schema.Kind
	Answer  *schema.Kind // nil: it is no request
	Heard   bool         // players may send it
	Size    int          // the most bytes of a payload

	every time.Duration // from one message of a player to the next, on average
	burst int
}

// Admit reports whether a player may send a message now. next is kept for each player and message,
// beginning with 0: it returns the value to keep.
func (m *MessageKind) Admit(next, now clock.Time) (clock.Time, bool) {
	if next.Sub(now) > time.Duration(m.burst-1)*m.every {
		return next, false
	}
	return max(next, now).Add(m.every), true
}

// text describes the message for hashes and for naming differences.
func (m *MessageKind) text() string {
	head, props, _ := strings.Cut(m.Payload.Text(), "\n")
	text := head + m.bounds() + "\n" + props
	if m.Answer == nil {
		return "message " + text
	}
	return "request " + text + "answer " + m.Answer.Text()
}

func (m *MessageKind) bounds() string {
	if !m.Heard {
		return ""
	}
	return " every=" + strconv.FormatInt(int64(m.every), 10) + " burst=" + strconv.Itoa(m.burst)
}

// messages compiles what players and rules say to each other.
func (c *compiler) messages(all []Handled) {
	if len(all) > packet.MaxMessages {
		c.fail("%d messages; at most %d fit a game", len(all), packet.MaxMessages)
		return
	}
	for i, m := range all {
		if m.Message == nil {
			c.fail("Messages[%d] was not made by NewMessage or NewRequest", i)
			continue
		}
		if c.names["event"+m.Name] {
			c.fail("message %q: an event has that name; pages tell them apart by their names", m.Name)
		}
		k := MessageKind{Name: m.Name, Payload: c.schema("message", m.Name, m.Type), Heard: m.On != nil}
		if m.Answer != nil {
			k.Answer = c.schema("message", m.Name+"-answer", m.Answer)
		}
		c.open(k.Payload)
		c.open(k.Answer)
		if k.Payload != nil {
			k.Size = packet.MessageSize(k.Payload)
		}
		c.pace(m, &k)
		c.r.messages, c.r.Messages = append(c.r.messages, m), append(c.r.Messages, k)
	}
}

// open refuses fields that not every receiver gets: a message has them all.
func (c *compiler) open(k *schema.Kind) {
	if k == nil {
		return
	}
	for i := range k.Props {
		if p := &k.Props[i]; p.Audience != schema.Everyone {
			c.fail("message %q: %s has an audience of its own, which fields of entities have only", k.Name, p.Name)
		}
	}
}

// pace checks how often a player may send a message.
func (c *compiler) pace(m Handled, k *MessageKind) {
	sent := m.PerSecond != 0 || m.Burst != 0
	switch {
	case sent && !(m.PerSecond > 0 && m.PerSecond <= maxPerSecond && m.Burst >= 1 && m.Burst <= maxBurst):
		c.fail("message %q: %v a second and %d at once are outside (0, %d] and [1, %d]; both are 0 if only the rules send it",
			m.Name, m.PerSecond, m.Burst, maxPerSecond, maxBurst)
		return
	case sent && m.On == nil:
		c.fail("message %q: players may send it, and nobody handles it: list it as On(...) of it", m.Name)
		return
	case !sent && m.On != nil:
		c.fail("message %q has a handler, but players may send 0 a second and 0 at once", m.Name)
		return
	}
	if sent {
		k.every, k.burst = time.Duration(math.Round(float64(float64(time.Second)/m.PerSecond))), m.Burst
	}
}

// wordless refuses texts in commands.
func (c *compiler) wordless(k *schema.Kind) {
	if k == nil {
		return
	}
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Text {
			c.fail("the command's field %s is a text: a command travels in many datagrams, and the newest stands for "+
				"those that are lost; send texts as a message, see game.NewMessage", p.Name)
		}
	}
}

// Listens reports whether players may send messages of some kind.
func (r *Rules) Listens() bool {
	for i := range r.Messages {
		if r.Messages[i].Heard {
			return true
		}
	}
	return false
}

// MessageIndex returns the index of a message in Messages, -1 if the game does not list it.
func (r *Rules) MessageIndex(m *Message) int {
	for i := range r.messages {
		if r.messages[i].Message == m {
			return i
		}
	}
	return -1
}

// Said is a message of the rules.
type Said struct {
	Message int // index in Rules.Messages
	From    ID  // the player whose command or message made the rules send it; 0: none
	To      ID  // its receiver; 0: see All and Players
	All     bool
	Players []ID    // receivers; 0 stands for all without an avatar
	Vals    []int64 // simulation integers of the payload
}

// Said returns the messages of the rules since Drain, in order.
func (e *Engine) Said() []Said { return e.w.said }

// Say sends a message with the payload at v to a player; 0 is nobody. It panics if the game does
// not list the message. In a client it does nothing, as in callbacks that change nothing.
func (w *World) Say(m *Message, to ID, v unsafe.Pointer) {
	if s := w.say(m, v); s != nil {
		s.To = to
	}
}

// SayAll is Say to all players for whose avatars where returns true. It is called once with 0 for
// those without an avatar. Nil means everyone.
func (w *World) SayAll(m *Message, where func(player ID) bool, v unsafe.Pointer) {
	var to []ID
	if where != nil && w.server {
		if where(0) {
			to = append(to, 0)
		}
		for _, store := range w.stores {
			for _, e := range store.entities {
				if e.owned && where(e.id) {
					to = append(to, e.id)
				}
			}
		}
	}
	if s := w.say(m, v); s != nil {
		s.All, s.Players = where == nil, to
	}
}

// say notes a message, to be addressed by the caller; nil where it has no effect.
func (w *World) say(m *Message, v unsafe.Pointer) *Said {
	i := w.rules.MessageIndex(m)
	if i < 0 || w.rules.messages[i].Answer != nil {
		name := "the zero value"
		if m != nil {
			name = m.Name
		}
		panic(w.rules.notListed("message", "Messages", name))
	}
	if !w.server || w.phase.readOnly() || len(w.said) >= MaxSaid {
		return nil
	}
	k := w.rules.Messages[i].Payload
	s := Said{Message: i, Vals: make([]int64, k.Sims)}
	if w.phase == hearing || w.phase == acting {
		s.From = w.actor
	}
	k.Extract(v, s.Vals)
	w.said = append(w.said, s)
	return &w.said[len(w.said)-1]
}

// Hear runs the handler of message i for what a player sent, from being its avatar or 0. It returns
// the integers of the answer if it is a request, valid until the next callback, or why it refuses.
// err is a PanicError.
func (e *Engine) Hear(i int, from ID, vals []int64) (answer []int64, refusal string, err error) {
	w := e.w
	m := &w.rules.Messages[i]
	if m.Answer != nil {
		answer = make([]int64, m.Answer.Sims)
	}
	w.heard++
	err = w.run(hearing, from, mixSeed(w.secret, w.heard), func() { // messages of one tick draw different numbers
		if no := w.rules.messages[i].On(w, from, m.Payload, vals, m.Answer, answer); no != nil {
			if refusal = strings.TrimSpace(no.Error()); refusal == "" {
				refusal = "no"
			}
		}
	})
	if err != nil {
		refusal = "the rules of the game failed"
	}
	return answer, refusal, err
}

// ToInts writes the simulation integers of v, a struct of the kind's type, into dst, which holds
// k.Sims of them.
func ToInts[T any](k *schema.Kind, v *T, dst []int64) { k.Extract(unsafe.Pointer(v), dst) }

// FromInts writes into v, a struct of the kind's type, what simulation integers stand for.
func FromInts[T any](k *schema.Kind, v *T, src []int64) { k.Store(unsafe.Pointer(v), src) }
