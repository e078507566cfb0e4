package protocol

import (
	"encoding/binary"
	"math"
	"slices"
)

// A Message came in a reliable section.
type Message struct {
	Kind   int
	Tick   int64
	Entity int
	AtOnce bool
	Body   []byte
}

// reliableReader puts parts into order, as the document's "Reliable messages" says.
type reliableReader struct {
	next  uint16
	parts map[uint16]lanePart
}

type lanePart struct {
	flags byte
	Message
}

// section reads a reliable section of messages down.
func (r *Reader) section(b []byte) {
	parts := readSection(b)
	r.ops = append(r.ops, func() { r.reliable.take(parts, &r.Messages) })
}

// readSection reads a reliable section.
func readSection(b []byte) map[uint16]lanePart {
	take := func(n int) []byte {
		if n > len(b) {
			refuse("a reliable section is cut short")
		}
		part := b[:n]
		b = b[n:]
		return part
	}
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxUint32*2+1 {
			refuse("a number in a reliable section")
		}
		b = b[n:]
		return v
	}
	count := int(take(1)[0])
	if count == 0 {
		return nil
	}
	if count > 64 {
		refuse("%d parts", count)
	}
	at, tick := binary.LittleEndian.Uint16(take(2)), int64(0)
	parts := map[uint16]lanePart{}
	for range count {
		p := lanePart{flags: take(1)[0]}
		if p.flags&16 != 0 {
			at += uint16(take(1)[0])
		}
		if p.flags&1 != 0 {
			p.Kind = int(take(1)[0])
			z := number()
			tick += int64(z>>1) ^ -int64(z&1)
			p.Tick, p.AtOnce = tick, p.flags&4 != 0
			if p.flags&8 != 0 {
				p.Entity = int(number())
			}
		}
		p.Body = slices.Clone(take(int(take(1)[0])))
		parts[at] = p
		at++
	}
	if len(b) > 0 {
		refuse("%d bytes after the reliable section", len(b))
	}
	return parts
}

// take adds parts and appends the messages that are whole now.
func (l *reliableReader) take(parts map[uint16]lanePart, whole *[]Message) {
	if l.parts == nil {
		l.parts = map[uint16]lanePart{}
	}
	for n, p := range parts {
		if int16(n-l.next) >= 0 {
			l.parts[n] = p
		}
	}
	for { // a message is whole when all of its parts are there
		n, m := l.next, Message{}
		for {
			p, ok := l.parts[n]
			if !ok {
				return
			}
			if n == l.next {
				m = p.Message
			} else {
				m.Body = append(m.Body, p.Body...)
			}
			if n++; p.flags&2 == 0 {
				break
			}
		}
		for ; l.next != n; l.next++ {
			delete(l.parts, l.next)
		}
		*whole = append(*whole, m)
	}
}

// What a message of the game says.
type Said struct {
	Name    string
	Call    int // number of a request or of the request that is answered
	Refusal string
	Refused bool
	Vals    []int64
	Texts   []string
}

// firstMessage is the kind of the game's first message.
const firstMessage = 64

// Say reads a message of the game; up: a client's.
func (r *Reader) Say(m Message, up bool) (s Said, err error) {
	defer r.caught(&err)
	if m.Kind < firstMessage || m.Kind-firstMessage >= len(r.Schema.Messages) {
		refuse("message %d", m.Kind)
	}
	k, body := r.Schema.Messages[m.Kind-firstMessage], m.Body
	s.Name = k.Name
	if up && !k.Heard {
		refuse("message %s of a client", k.Name)
	}
	if k.Answer != nil {
		s.Call, body = int(body[0]), body[1:]
		if !up {
			k = k.Answer
			if s.Refused = body[0] == 1; s.Refused {
				if int(body[1]) != len(body)-2 {
					refuse("a refusal of %d bytes", len(body)-2)
				}
				s.Refusal = string(body[2:])
				return s, nil
			}
			body = body[1:]
		}
	}
	r.bits = bitReader{data: body}
	for i := range k.Props {
		p := &k.Props[i]
		if p.Class == "text" {
			text := make([]byte, r.bits.n(8))
			for j := range text {
				text[j] = byte(r.bits.n(8))
			}
			s.Texts = append(s.Texts, string(text))
			continue
		}
		for range p.Comps {
			s.Vals = append(s.Vals, r.alone(p, false, m.Tick))
		}
	}
	if len(body)*8-r.bits.at > 7 {
		refuse("something follows message %s", k.Name)
	}
	return s, nil
}
