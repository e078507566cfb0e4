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

// section reads a reliable section.
func (r *Reader) section(b []byte) {
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
		return
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
	r.ops = append(r.ops, func() {
		l := &r.reliable
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
			r.Messages = append(r.Messages, m)
		}
	})
}
