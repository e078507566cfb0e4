package reliable

import (
	"encoding/binary"
	"math/bits"

	"meanwhile/netcode/clock"
)

// Flags of a part.
const (
	flagStart  = 1 << iota // first part of a message: kind, tick and entity follow
	flagMore               // the message goes on in the next number
	flagAtOnce             // only with start
	flagEntity             // an entity follows; only with start
	flagGap                // the number is not the previous one + 1
	flagsKnown = 1<<iota - 1
)

// A part is a message or a piece of one: the unit that is numbered, sent and acknowledged.
type part struct {
	number uint16
	flags  uint8 // without flagGap, which belongs to the section
	kind   uint8
	tick   clock.Tick
	entity uint32
	body   []byte
}

func (p *part) start() bool { return p.flags&flagStart != 0 }
func (p *part) more() bool  { return p.flags&flagMore != 0 }

// cursor is what the coding of a part needs of the parts before it in the section.
type cursor struct {
	number uint16 // the number of a part without a gap
	tick   clock.Tick
}

func (c *cursor) pass(p *part) {
	c.number = p.number + 1
	if p.start() {
		c.tick = p.tick
	}
}

// size returns how many bytes a part takes that has the header of p and a body of bodyLen bytes.
func (c *cursor) size(p *part, bodyLen int) int {
	n := 2 + bodyLen
	if p.number != c.number {
		n++
	}
	if p.start() {
		n += 1 + varintSize(zigzag(p.tick, c.tick))
		if p.entity != 0 {
			n += varintSize(uint64(p.entity))
		}
	}
	return n
}

// append writes the header of p and moves on. The caller appends the body.
func (c *cursor) append(b []byte, p *part, bodyLen int) []byte {
	gap := p.number - c.number
	flags := p.flags
	if gap != 0 {
		b = append(b, flags|flagGap, uint8(gap))
	} else {
		b = append(b, flags)
	}
	if p.start() {
		b = append(b, p.kind)
		b = binary.AppendUvarint(b, zigzag(p.tick, c.tick))
		if flags&flagEntity != 0 {
			b = binary.AppendUvarint(b, uint64(p.entity))
		}
	}
	c.pass(p)
	return append(b, uint8(bodyLen))
}

// section is a decoded section. Bodies point into the bytes that it was read from.
type section struct {
	n     int
	parts [Window]part
}

// read decodes a section from the front of b and reports the bytes it used. Failures are
// ErrTruncated and ErrFormat.
func (s *section) read(b []byte) (int, error) {
	s.n = 0
	if len(b) == 0 {
		return 0, ErrTruncated
	}
	count := int(b[0])
	if count == 0 {
		return 1, nil
	}
	if count > Window {
		return 0, exceeds(ErrFormat, "parts", int64(count), Window)
	}
	if len(b) < sectionHeader {
		return 0, ErrTruncated
	}
	c := cursor{number: binary.LittleEndian.Uint16(b[1:])}
	first := c.number
	n := sectionHeader
	for i := range count {
		used, err := c.read(&s.parts[i], b[n:], first, i == 0)
		if err != nil {
			return 0, err
		}
		n += used
	}
	s.n = count
	return n, nil
}

// read decodes a part from the front of b, moves on and reports the bytes it used. first is the
// number with which the section begins; initial says that this is its first part.
func (c *cursor) read(p *part, b []byte, first uint16, initial bool) (int, error) {
	if len(b) < 2 { // flags and length
		return 0, ErrTruncated
	}
	flags, n := b[0], 1
	if flags&^flagsKnown != 0 || flags&flagStart == 0 && flags&(flagAtOnce|flagEntity) != 0 {
		return 0, exceeds(ErrFormat, "flags", int64(flags), flagsKnown)
	}
	*p = part{number: c.number, flags: flags &^ flagGap}
	if flags&flagGap != 0 {
		gap := int(b[n])
		n++
		if initial || gap == 0 || gap > Window-2 {
			return 0, exceeds(ErrFormat, "gap", int64(gap), Window-2)
		}
		p.number += uint16(gap)
	}
	if p.number-first >= Window {
		return 0, exceeds(ErrFormat, "parts apart", int64(p.number-first), Window-1)
	}
	if p.start() {
		used, err := c.readStart(p, b[n:])
		if err != nil {
			return 0, err
		}
		n += used
	}
	if n >= len(b) {
		return 0, ErrTruncated
	}
	length := int(b[n])
	n++
	if length > PartSize || p.more() && length != PartSize || !p.start() && length == 0 {
		return 0, exceeds(ErrFormat, "part length", int64(length), PartSize)
	}
	if len(b)-n < length {
		return 0, ErrTruncated
	}
	p.body = b[n : n+length : n+length]
	c.pass(p)
	return n + length, nil
}

// readStart decodes what only the first part of a message has: kind, tick and entity.
func (c *cursor) readStart(p *part, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, ErrTruncated
	}
	p.kind = b[0]
	n := 1
	z, used, err := readVarint(b[n:])
	if err != nil {
		return 0, err
	}
	n += used
	if z > maxZigzag {
		return 0, exceeds(ErrFormat, "coded tick difference", int64(z), maxZigzag)
	}
	tick := int64(c.tick) + (int64(z>>1) ^ -int64(z&1))
	if tick < 0 || tick > maxUint32 {
		return 0, exceeds(ErrFormat, "tick", tick, maxUint32)
	}
	p.tick = clock.Tick(tick)
	if p.flags&flagEntity == 0 {
		return n, nil
	}
	e, used, err := readVarint(b[n:])
	if err != nil {
		return 0, err
	}
	if e == 0 || e > maxUint32 {
		return 0, exceeds(ErrFormat, "entity", int64(e), maxUint32)
	}
	p.entity = uint32(e)
	return n + used, nil
}

const (
	maxUint32 = 1<<32 - 1
	maxZigzag = 2 * maxUint32 // the largest difference of two ticks, coded
)

func zigzag(t, previous clock.Tick) uint64 {
	d := int64(t) - int64(previous)
	return uint64(d<<1) ^ uint64(d>>63)
}

func varintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// readVarint reads a varint in its shortest form.
func readVarint(b []byte) (v uint64, n int, err error) {
	v, n = binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, 0, ErrTruncated
	case n < 0 || n != varintSize(v):
		return 0, 0, ErrFormat
	}
	return v, n, nil
}
