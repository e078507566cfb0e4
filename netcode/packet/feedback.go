package packet

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// Limits of a Feedback.
const (
	// SlackPerTick is how many units of Feedback.Slack a tick has.
	SlackPerTick = 16
	// MaxSlack bounds Feedback.Slack both ways: 1,024 ticks. Append and DecodeFeedback cut what is
	// beyond it.
	MaxSlack = 1 << 14
	// StarvedRange is the modulus of Feedback.Starved, EventsRange that of Feedback.Events.
	StarvedRange = 1 << starvedBits
	EventsRange  = 1 << eventsBits

	starvedBits = 4
	eventsBits  = 4
)

// Orders of the Exp-Golomb codes of a Feedback.
const (
	ackedOrder = 4
	slackOrder = 5
	ranOrder   = 3
)

// Feedback is the server's report on a client's commands, by which the client times them.
//
//	1 bit      whether commands arrived at all; then tick-Acked, signed, of order 4
//	1 bit      whether there is a Slack; then Slack, signed, of order 5
//	4 bits     Starved
//	1 bit      where commands are queued: whether one ran; then tick-Ran, signed, of order 3
//	4 bits     in games with events: Events
//	list       in games whose commands have presses: a bit before each of Receipts and, unless there are MaxReceipts, one
//	           that is not set
type Feedback struct {
	// Acked is the newest tick up to which every command has arrived or is of no use any more.
	// Zero: none arrived yet.
	Acked clock.Tick
	// HasSlack says that new commands arrived, or that a packet with an earlier report of them was
	// lost.
	HasSlack bool
	// Slack is the least time by which those commands preceded their ticks, in 1/SlackPerTick
	// ticks. Negative: one came after its tick had run.
	Slack int
	// Starved is how many ticks ran without a command of their own so far, modulo StarvedRange.
	Starved uint8
	// Ran is the newest command that ran, where commands are queued. Zero: none ran yet.
	Ran clock.Tick
	// Events is how many events the player's own commands have emitted so far, modulo EventsRange.
	// The client showed them when it predicted the commands; the server does not send it those.
	Events uint8
	// Receipts say how shots of the player were judged.
	Receipts Receipts
}

// FeedbackForm says which fields the Feedbacks of a game have.
type FeedbackForm struct {
	Queued bool // the game queues commands: Ran
	Events bool // it has events: Events
	Shoots bool // its commands have presses: Receipts
}

// Append writes f into a datagram of a tick.
func (f *Feedback) Append(w *wire.BitWriter, tick clock.Tick, form FeedbackForm) {
	if w.Bool(f.Acked != 0); f.Acked != 0 {
		w.Varint(int64(tick)-int64(f.Acked), ackedOrder)
	}
	if w.Bool(f.HasSlack); f.HasSlack {
		w.Varint(int64(min(max(f.Slack, -MaxSlack), MaxSlack)), slackOrder)
	}
	w.Bits(uint64(f.Starved%StarvedRange), starvedBits)
	if form.Queued {
		if w.Bool(f.Ran != 0); f.Ran != 0 {
			w.Varint(int64(tick)-int64(f.Ran), ranOrder)
		}
	}
	if form.Events {
		w.Bits(uint64(f.Events%EventsRange), eventsBits)
	}
	if form.Shoots {
		f.Receipts.append(w, tick)
	}
}

// DecodeFeedback reads the Feedback of a datagram of a tick. Ticks outside the range of a
// clock.Tick become its bounds. A datagram that is cut short leaves r Bad.
func DecodeFeedback(r *wire.BitReader, tick clock.Tick, form FeedbackForm) (f Feedback) {
	if r.Bool() {
		f.Acked = tickBefore(tick, r.Varint(ackedOrder))
	}
	if f.HasSlack = r.Bool(); f.HasSlack {
		f.Slack = int(min(max(r.Varint(slackOrder), -MaxSlack), MaxSlack))
	}
	f.Starved = uint8(r.Bits(starvedBits))
	if form.Queued && r.Bool() {
		f.Ran = tickBefore(tick, r.Varint(ranOrder))
	}
	if form.Events {
		f.Events = uint8(r.Bits(eventsBits))
	}
	if form.Shoots {
		f.Receipts = decodeReceipts(r, tick)
	}
	return f
}

// tickBefore returns the tick that lies back ticks before t, within the range of a clock.Tick.
func tickBefore(t clock.Tick, back int64) clock.Tick {
	return clock.Tick(min(max(int64(t)-back, 0), math.MaxUint32))
}
