package client

import (
	"time"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/wire"
)

const (
	// maxUnsent is how many messages of a player may be on their way at once. A server of ours lets
	// as many wait.
	maxUnsent = 32
	// maxOpen is how many requests may be without an answer at once.
	maxOpen = 16
	// maxWords is how many messages wait for Client.Words, beside answers. Those beyond it are lost
	// and counted.
	maxWords = 256
)

// A Word is a message of the rules, or the answer to a request.
type Word struct {
	Message int        // index in Rules.Messages
	Tick    clock.Tick // in which the server sent it
	// From is the avatar of the player whose message or command made the rules send it; 0: nobody
	// in particular, or one that this player may not know of.
	From game.ID
	Vals []int64 // simulation integers of the payload; nil of a refusal

	Answer  bool   // to the request with the number Call
	Call    uint8  // what Ask returned
	Refused bool   // the request was refused
	Refusal string // why, for the player
}

// words is what a player says to the rules by messages, and what they say to it.
type words struct {
	rules *game.Rules
	stats *Stats

	sender *reliable.Sender // nil in games in which players say nothing
	next   []clock.Time     // by message, see engine.MessageKind.Admit
	calls  uint8            // number of the newest request
	open   []call

	heard, shown []Word
	answers      int // in heard
	w            wire.BitWriter
	body         []byte
}

// A call is a request without an answer.
type call struct {
	number  uint8
	message int
}

func (q *words) init(c *Client) (err error) {
	q.rules, q.stats = c.rules, &c.stats
	if c.rules.Listens() {
		q.next = make([]clock.Time, len(c.rules.Messages))
		q.sender, err = reliable.NewSender(reliable.Config{})
	}
	return err
}

// Say sends a message to the rules: that with an index in Rules.Messages, with a payload as
// simulation integers. It arrives once and in order. Say fails, and sends nothing, if players do
// not send such a message, if they send it more often than the game allows, and while too many are
// on their way. The error is a sentence for the player.
func (c *Client) Say(message int, vals []int64) error {
	return c.words.say(message, vals, &c.time, c.up.made, false)
}

// Ask sends a request and returns the number that its answer has, among those that wait for one.
// Failures are those of Say.
func (c *Client) Ask(message int, vals []int64) (call uint8, err error) {
	err = c.words.say(message, vals, &c.time, c.up.made, true)
	return c.words.calls, err
}

// Words returns the messages and answers that arrived since the last call, in the order in which
// the server sent them. They are valid until the next call.
func (c *Client) Words() []Word {
	q := &c.words
	q.heard, q.shown, q.answers = q.shown[:0], q.heard, 0
	return q.shown
}

// RefuseOpen refuses all requests that wait for an answer, in Words: none comes once the program
// gives the connection up, or goes on with another Client. why is a sentence for the player.
func (c *Client) RefuseOpen(why string) {
	q := &c.words
	for _, x := range q.open {
		q.heard = append(q.heard, Word{Message: x.message, Tick: c.up.made, Answer: true, Call: x.number, Refused: true,
			Refusal: why})
	}
	q.answers, q.open = q.answers+len(q.open), nil
}

func (q *words) say(message int, vals []int64, t *timelines, made clock.Tick, ask bool) error {
	if message < 0 || message >= len(q.rules.Messages) {
		return sayError("there is no such message")
	}
	m := &q.rules.Messages[message]
	if !m.Heard {
		return sayError("players do not send " + m.Name)
	}
	next, ok := m.Admit(q.next[message], t.now)
	switch {
	case ask != (m.Answer != nil) || len(vals) != m.Payload.Sims:
		return sayError("this is not how " + m.Name + " is sent")
	case q.sender.Pending() >= maxUnsent:
		return sayError("too many messages are still on their way")
	case ask && len(q.open)+q.answers >= maxOpen: // so answers that nobody fetches are bounded, too
		return sayError("too many requests have no answer yet")
	case !ok:
		return sayError(m.Name + " is sent too often")
	}
	q.body = q.body[:0]
	if ask {
		q.body = packet.Request(q.calls + 1).Append(q.body)
	}
	q.w.Reset(q.body)
	packet.AppendMessage(&q.w, m.Payload, made, vals)
	q.body = q.w.Bytes()
	if err := q.sender.Send(reliable.Message{Tick: made, Kind: uint8(packet.FirstMessage + message), AtOnce: true,
		Body: q.body}); err != nil {
		return err
	}
	if q.next[message] = next; ask {
		q.calls++
		q.open = append(q.open, call{q.calls, message})
	}
	return nil
}

// sayError is why nothing was sent.
type sayError string

func (e sayError) Error() string { return "client: " + string(e) }

// hear reads a message of the server. One that cannot be read is counted.
func (q *words) hear(m *reliable.Message) {
	i := int(m.Kind) - packet.FirstMessage
	if i < 0 || i >= len(q.rules.Messages) {
		q.stats.Malformed++
		return
	}
	k := &q.rules.Messages[i]
	if k.Answer == nil && len(q.heard)-q.answers >= maxWords {
		q.stats.WordsLost++
		return
	}
	word := Word{Message: i, Tick: m.Tick, From: game.ID(m.Entity)}
	body, payload := m.Body, k.Payload
	if k.Answer != nil {
		number, rest, refusal, refused, err := packet.DecodeAnswer(body)
		if err != nil || !q.close(uint8(number), i) {
			q.stats.Malformed++
			return
		}
		word.Answer, word.Call, word.Refused, word.Refusal = true, uint8(number), refused, refusal
		body, payload = rest, k.Answer
	}
	if !word.Refused {
		word.Vals = make([]int64, payload.Sims)
		if packet.DecodeMessage(body, payload, m.Tick, word.Vals) != nil {
			q.stats.Malformed++
			return
		}
	}
	if q.heard = append(q.heard, word); word.Answer {
		q.answers++
	}
}

// close reports whether a request waits for an answer, which has come.
func (q *words) close(number uint8, message int) bool {
	for i, x := range q.open {
		if x == (call{number, message}) {
			q.open = append(q.open[:i], q.open[i+1:]...)
			return true
		}
	}
	return false
}

// due reports whether something is to be sent now.
func (q *words) due(now clock.Time, timeout time.Duration) bool {
	return q.sender != nil && q.sender.NeedsSend(now, timeout)
}

// append writes what has to be sent behind a datagram's commands.
func (q *words) append(b []byte, seq wire.Seq, now clock.Time, timeout time.Duration) []byte {
	if q.sender == nil {
		return b
	}
	return q.sender.Append(b, uint16(seq), wire.MaxDatagram-len(b), now, timeout)
}

// settle notes what became of one of our datagrams.
func (q *words) settle(seq wire.Seq, arrived bool) {
	switch {
	case q.sender == nil:
	case arrived:
		q.sender.Delivered(uint16(seq))
	default:
		q.sender.Lost(uint16(seq))
	}
}

// payload returns the index of a message and its integers for v.
func payload[T any](c *Client, m *engine.Message, v *T) (int, []int64, error) {
	i := c.rules.MessageIndex(m)
	if i < 0 {
		return 0, nil, sayError("the game does not list this message")
	}
	k := c.rules.Messages[i].Payload
	vals := make([]int64, k.Sims)
	engine.ToInts(k, v, vals)
	return i, vals, nil
}

// Say sends a message to the rules, see Client.Say.
func Say[T any](c *Client, m game.Message[T], v T) error {
	i, vals, err := payload(c, m.Message, &v)
	if err != nil {
		return err
	}
	return c.Say(i, vals)
}

// Ask sends a request to the rules, see Client.Ask.
func Ask[T, A any](c *Client, r game.Request[T, A], v T) (call uint8, err error) {
	i, vals, err := payload(c, r.Message, &v)
	if err != nil {
		return 0, err
	}
	return c.Ask(i, vals)
}

// Heard returns what a word says if it is a message m.
func Heard[T any](c *Client, w *Word, m game.Message[T]) (v T, ok bool) {
	if w.Answer || c.rules.MessageIndex(m.Message) != w.Message {
		return v, false
	}
	engine.FromInts(c.rules.Messages[w.Message].Payload, &v, w.Vals)
	return v, true
}

// Answered returns the answer to a request r if a word is one that grants it.
func Answered[T, A any](c *Client, w *Word, r game.Request[T, A]) (answer A, ok bool) {
	if !w.Answer || w.Refused || c.rules.MessageIndex(r.Message) != w.Message {
		return answer, false
	}
	engine.FromInts(c.rules.Messages[w.Message].Answer, &answer, w.Vals)
	return answer, true
}
