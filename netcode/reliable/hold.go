package reliable

import "meanwhile/netcode/clock"

// Bounds of a Hold.
const (
	maxHoldMessages = 256       // messages
	maxHoldBytes    = 128 << 10 // body bytes
	keptBody        = 1 << 10   // memory of a taken message that is kept for the next one, bytes
)

// A Hold keeps received messages until their entity is drawn at their tick. The zero Hold is ready
// to use.
type Hold struct {
	// messages are in order of Put. Slots beyond the length keep the memory of their bodies.
	messages []Message
	bytes    int
}

// Put adds m, of which it keeps a copy. It reports false, and does nothing, if that would exceed
// 256 messages or 128 KiB of bodies; an empty Hold accepts every message. The remedy is to show the
// oldest message too early, which is better than losing one or queueing without an end:
//
//	for !h.Put(m) {
//		show(h.Pop())
//	}
func (h *Hold) Put(m Message) bool {
	n := len(h.messages)
	if n > 0 && (n >= maxHoldMessages || h.bytes+len(m.Body) > maxHoldBytes) {
		return false
	}
	if n < cap(h.messages) {
		h.messages = h.messages[:n+1]
	} else {
		h.messages = append(h.messages, Message{})
	}
	slot := &h.messages[n]
	body := append(slot.Body[:0], m.Body...)
	*slot = m
	slot.Body = body
	h.bytes += len(body)
	return true
}

// Take removes and returns the oldest message that is AtOnce or due, and false if there is none. It
// calls due with the message's entity and tick. Messages of one entity keep their order if their
// ticks never decrease and due holds, for that entity, up to some tick. Body is valid until the
// next Put.
func (h *Hold) Take(due func(entity uint32, t clock.Tick) bool) (Message, bool) {
	for i := range h.messages {
		if m := &h.messages[i]; m.AtOnce || due(m.Entity, m.Tick) {
			return h.remove(i), true
		}
	}
	return Message{}, false
}

// Pop removes and returns the oldest message, and the zero Message if there is none. Body is valid
// until the next Put.
func (h *Hold) Pop() Message {
	if len(h.messages) == 0 {
		return Message{}
	}
	return h.remove(0)
}

// Len returns how many messages wait.
func (h *Hold) Len() int { return len(h.messages) }

func (h *Hold) remove(i int) Message {
	m := h.messages[i]
	n := len(h.messages) - 1
	copy(h.messages[i:], h.messages[i+1:])
	h.messages[n] = Message{}
	if cap(m.Body) <= keptBody {
		h.messages[n].Body = m.Body
	}
	h.messages = h.messages[:n]
	h.bytes -= len(m.Body)
	return m
}
