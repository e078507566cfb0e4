package packet

import (
	"strings"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Limits of messages, requests and their answers.
const (
	// FirstMessage is the kind of reliable messages that carry the game's message 0; message i has
	// the kind FirstMessage+i. Smaller kinds are events.
	FirstMessage = 64
	// MaxMessages is how many messages and requests a game has at most.
	MaxMessages = 64
	// maxRefusal is how many bytes of UTF-8 a refusal of a request has at most. Longer ones are
	// cut.
	maxRefusal = 160

	lengthBits = 8 // of a text; it counts bytes
)

// AppendMessage writes the payload of a message of a tick: the properties of its kind in order. A
// text is its length in bytes, 8 bits, and so many bytes; everything else stands by itself in
// simulation precision. vals are its k.Sims integers.
func AppendMessage(w *wire.BitWriter, k *schema.Kind, tick clock.Tick, vals []int64) {
	var line [schema.MaxLine + 1]byte
	for i := range k.Props {
		p := &k.Props[i]
		if p.Class != schema.Text {
			appendProp(w, p, vals, tick)
			continue
		}
		text := p.AppendText(line[:0], vals)
		w.Bits(uint64(len(text)), lengthBits)
		for _, c := range text {
			w.Bits(uint64(c), 8)
		}
	}
}

// DecodeMessage reads the payload of a message into vals, which has k.Sims integers, within the
// bounds of the schema. A text that is longer than its tag says, no UTF-8, or has a zero byte is
// refused, and so is what ends too early or too late; vals is then not to be used.
func DecodeMessage(body []byte, k *schema.Kind, tick clock.Tick, vals []int64) error {
	var r wire.BitReader
	r.Reset(body)
	var line [schema.MaxLine + 1]byte
	for i := range k.Props {
		p := &k.Props[i]
		if p.Class != schema.Text {
			decodeProp(&r, p, vals, tick)
			continue
		}
		text := line[:r.Bits(lengthBits)]
		for j := range text {
			text[j] = byte(r.Bits(8))
		}
		if !r.Bad() && !p.SetText(vals, text) {
			return fault.Errorf("packet: %s.%s is no text of at most %d bytes", k.Name, p.Name, p.Max)
		}
	}
	switch {
	case r.Bad():
		return wire.ErrTruncated
	case r.Left() >= 8 || r.Bits(r.Left()) != 0:
		return fault.Errorf("packet: something follows the message %s", k.Name)
	}
	k.Clamp(vals)
	return nil
}

// MessageSize returns the most bytes that the payload of a message has.
func MessageSize(k *schema.Kind) int {
	bits := 0
	for i := range k.Props {
		if p := &k.Props[i]; p.Class == schema.Text {
			bits += lengthBits + 8*int(p.Max)
		} else {
			bits += p.Comps * maxCompBits
		}
	}
	return (bits + 7) / 8
}

// maxCompBits bounds the bits of an integer that stands by itself: an Exp-Golomb code of a number
// of 49 bits and a sign takes fewer.
const maxCompBits = 104

// A Request is what stands before the payload of a request: one byte, by which its answer names it.
//
// An answer is that byte, then 0 and the payload of the answer, or 1 and the sentence of a refusal:
// its length in bytes, one byte, and so many bytes of UTF-8, at most maxRefusal.
type Request uint8

// Append writes r.
func (r Request) Append(b []byte) []byte { return append(b, byte(r)) }

// DecodeRequest returns what a request begins with, and its payload.
func DecodeRequest(body []byte) (r Request, payload []byte, err error) {
	if len(body) == 0 {
		return 0, nil, wire.ErrTruncated
	}
	return Request(body[0]), body[1:], nil
}

const (
	granted = 0
	refused = 1
)

// AppendGranted begins the answer to r. The payload follows.
func (r Request) AppendGranted(b []byte) []byte { return append(b, byte(r), granted) }

// AppendRefused writes the answer to r that refuses it with a sentence. What is no text in it is
// left out.
func (r Request) AppendRefused(b []byte, sentence string) []byte {
	sentence = strings.ReplaceAll(strings.ToValidUTF8(sentence, ""), "\x00", "")
	sentence = wire.CutText(sentence, maxRefusal)
	return append(append(b, byte(r), refused, byte(len(sentence))), sentence...)
}

// DecodeAnswer returns which request an answer is to, and its payload; or the sentence of a
// refusal, and no payload.
func DecodeAnswer(body []byte) (r Request, payload []byte, refusal string, isRefused bool, err error) {
	switch {
	case len(body) < 2:
		return 0, nil, "", false, wire.ErrTruncated
	case body[1] == granted:
		return Request(body[0]), body[2:], "", false, nil
	case body[1] != refused:
		return 0, nil, "", false, fault.Errorf("packet: an answer is %d, want 0 or 1", body[1])
	}
	if len(body) < 3 {
		return 0, nil, "", false, wire.ErrTruncated
	}
	text := body[3:]
	if len(text) != int(body[2]) || len(text) > maxRefusal || !schema.IsText(text) {
		return 0, nil, "", false, fault.Errorf("packet: a refusal is no text of at most %d bytes", maxRefusal)
	}
	return Request(body[0]), nil, string(text), true, nil
}
