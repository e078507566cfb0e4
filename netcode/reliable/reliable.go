// Package reliable carries reliable messages inside datagrams: events, chat, scores and everything
// else that must arrive exactly once and in order, next to state that may be lost.
//
// A Sender queues messages and writes the parts that are due into the room that a packet has left.
// Its owner reports what became of each packet. The Sender sends a part again when its packet was
// lost, or when no answer came within the retransmission timeout. A Receiver checks a whole section
// before it applies any of it, drops duplicates and hands messages out in the order of Send.
//
// Messages are aligned with the world's time. Each names the tick and the entity that it is about,
// and is meant to be shown when that entity is drawn at that tick; otherwise deaths and shots would
// come before what the player sees. A Hold keeps received messages until then. AtOnce skips the
// wait (chat).
//
// Parts are numbered, not packets. A body above [PartSize] bytes is cut into parts with consecutive
// 16-bit numbers. At most [Window] consecutive numbers are in flight, so the receiver's memory is
// bounded whatever the network or a hostile peer does:
//
//	sender    delivered | base ......... base+63 | queued, bounded by Config
//	receiver  handed out | next ........ next+63 | refused
//
// base <= next always holds, because a part counts as delivered only when a packet that carried it
// was acknowledged, and packets are acknowledged only when applied completely.
//
// The encoding is byte aligned and independent of the packet's bit stream. A section:
//
//	offset  size  field
//	0       1     Count    parts in this section, 0 to 64; 0 ends the section here
//	1       2     Number   of the first part, little-endian
//	3             Count parts, by increasing number:
//	        1     Flags    1 start, 2 more, 4 at once, 8 entity, 16 gap; others are 0
//	        0, 1  Gap      if gap: this number is the previous one + 1 + Gap, Gap 1 to 62
//	        0, 1  Kind     if start
//	        0..5  Tick     if start: zigzag varint, difference to the previous start in the section (first: to 0)
//	        0..5  Entity   if entity: varint, not 0
//	        1     Length   0 to 200; 200 exactly if more; not 0 if not start
//	        Length  Body
//
// Varints are those of encoding/binary in their shortest form. There is one encoding for each
// section; every other one is refused.
//
// Nothing here is safe for concurrent use; a Sender and a Receiver are owned by their connection's
// loop.
package reliable

import (
	"errors"
	"strconv"

	"meanwhile/netcode/clock"
)

// Limits of the protocol. They are part of the wire format: both sides must agree on them.
const (
	// PartSize is the largest number of body bytes in one part; longer bodies are cut.
	PartSize = 200
	// Window is how many consecutive part numbers may be in flight. The sender waits before it
	// exceeds that; the receiver refuses what does.
	Window = 64
	// MaxMessage is the largest number of body bytes in one message. Send refuses longer ones; a
	// receiver refuses the section that would complete one.
	MaxMessage = 16 << 10
	// MinRoom is the room, in bytes, in which any single part fits: section header 3, part header
	// 13 (the first part has no gap), body. A sender that never gets this much may starve.
	MinRoom = sectionHeader + maxPartHeader + PartSize
)

const (
	sectionHeader = 3  // Count 1, Number 2
	maxPartHeader = 13 // Flags 1, Kind 1, Tick 5, Entity 5, Length 1
)

// Why a message or a section was refused. Use errors.Is; the errors returned also name the value
// and the bound.
var (
	// ErrFull: the sender's queue is full, and nothing in it is less urgent than the message. The
	// message was not queued.
	ErrFull = errors.New("reliable: queue is full")
	// ErrTooLong: a message of more than MaxMessage bytes.
	ErrTooLong = errors.New("reliable: message is too long")
	// ErrTruncated: a section ends before its last part does.
	ErrTruncated = errors.New("reliable: section is truncated")
	// ErrFormat: a section that no sender writes.
	ErrFormat = errors.New("reliable: section is malformed")
	// ErrAhead: a part lies at least Window numbers beyond the next one to be handed out. The peer
	// ignores the window, or the owner of the receiver does not call Next.
	ErrAhead = errors.New("reliable: part is beyond the window")
)

// A Message is one reliable message.
type Message struct {
	// ID is the number of the message's first part, set by the Sender. It wraps and grows by the
	// number of parts, so it names a message only among those of the same time.
	ID uint16
	// Tick is when the message happened in the world; 0 means no tick.
	Tick clock.Tick
	// Entity is the entity that the message is about; 0 means none.
	Entity uint32
	// Kind says how the owner is to read Body.
	Kind uint8
	// AtOnce asks for delivery on arrival instead of at the playout time of Entity.
	AtOnce bool
	// Priority decides which messages stay when the queue is full: a message replaces those of
	// lower priority that have not been sent yet. It is not on the wire, and changes no order.
	Priority uint8
	// Body is the content, at most MaxMessage bytes.
	Body []byte
}

// A limitError names the value that crossed a bound.
type limitError struct {
	reason error
	what   string
	value  int64
	bound  int64
}

func (e *limitError) Error() string {
	return e.reason.Error() + ": " + e.what + " " + strconv.FormatInt(e.value, 10) + ", bound " +
		strconv.FormatInt(e.bound, 10)
}

func (e *limitError) Unwrap() error { return e.reason }

func exceeds(reason error, what string, value, bound int64) error {
	return &limitError{reason, what, value, bound}
}

// A configError names the field of a Config that is outside its bounds.
type configError struct {
	field              string
	value, least, most int
}

func (e *configError) Error() string {
	return "reliable: " + e.field + " " + strconv.Itoa(e.value) + " is outside [" +
		strconv.Itoa(e.least) + ", " + strconv.Itoa(e.most) + "]"
}
