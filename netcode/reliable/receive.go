package reliable

import "math/bits"

// A Receiver puts the parts of one Sender together again. The zero Receiver is ready to use.
//
// Its memory is bounded by Window parts of PartSize bytes and one message of MaxMessage bytes, 29
// kB in all, and grows only as far as the peer makes use of it.
//
// Invariants: bit i of has is set if part next+i is stored; a stored part that starts a message
// follows one that ends a message, where both are known.
type Receiver struct {
	// MaxBytes bounds the body of a message, where that is less than MaxMessage. Zero means
	// MaxMessage.
	MaxBytes int

	next   uint16 // the part to hand out next
	has    uint64
	at     [Window]uint8 // number modulo Window -> index in stored
	stored []part
	free   []uint8 // indexes in stored that are not in use

	joining bool    // the part before next was not the end of its message
	whole   Message // the message that is being joined from parts
}

// Read decodes a section from the front of b, which is not retained, and returns how many bytes it
// used. It checks the whole section first; on an error nothing has changed. Errors are
// ErrTruncated, ErrFormat, ErrAhead and ErrTooLong. Parts that are known already are ignored.
//
// Read only packets that were not seen before, none more than 32768 parts old, and call Next until
// it reports false after each Read.
func (r *Receiver) Read(b []byte) (int, error) {
	var s section
	n, err := s.read(b)
	if err != nil || s.n == 0 {
		return n, err
	}
	fresh, err := r.check(&s)
	if err != nil {
		return 0, err
	}
	for i := range s.parts[:s.n] {
		p := &s.parts[i]
		if off := p.number - r.next; off < Window && fresh>>off&1 != 0 {
			r.store(p)
		}
	}
	r.has |= fresh
	return n, nil
}

// check decides which parts of s are new, and whether they fit those that are stored.
func (r *Receiver) check(s *section) (fresh uint64, err error) {
	var index [Window]uint8 // offset from next -> index in s.parts, for fresh parts
	for i := range s.parts[:s.n] {
		off := s.parts[i].number - r.next
		switch {
		case off >= 1<<15: // handed out before
		case off >= Window:
			return 0, exceeds(ErrAhead, "parts ahead", int64(off), Window-1)
		case r.has>>off&1 == 0:
			fresh |= 1 << off
			index[off] = uint8(i)
		}
	}
	get := func(off int) *part { // nil if unknown
		switch {
		case off >= Window:
		case r.has>>off&1 != 0:
			return r.part(off)
		case fresh>>off&1 != 0:
			return &s.parts[index[off]]
		}
		return nil
	}
	for open := fresh; open != 0; open &= open - 1 {
		off := bits.TrailingZeros64(open)
		p := get(off)
		continues := r.joining // that the part at off goes on with a message
		known := off == 0
		if off > 0 {
			if before := get(off - 1); before != nil {
				continues, known = before.more(), true
			}
		}
		if known && p.start() == continues {
			return 0, exceeds(ErrFormat, "part does not follow the one before it, number", int64(p.number), maxUint16)
		}
		if after := get(off + 1); after != nil && after.start() == p.more() {
			return 0, exceeds(ErrFormat, "part does not lead to the one after it, number", int64(p.number), maxUint16)
		}
	}
	if fresh&1 != 0 { // the run of parts that Next can take grows
		size := len(r.whole.Body)
		for off := 0; ; off++ {
			p := get(off)
			if p == nil {
				break
			}
			if p.start() {
				size = 0
			}
			if size += len(p.body); size > r.maxBytes() {
				return 0, exceeds(ErrTooLong, "bytes", int64(size), int64(r.maxBytes()))
			}
		}
	}
	return fresh, nil
}

func (r *Receiver) maxBytes() int {
	if r.MaxBytes <= 0 {
		return MaxMessage
	}
	return min(r.MaxBytes, MaxMessage)
}

const maxUint16 = 1<<16 - 1

// part returns the stored part next+off.
func (r *Receiver) part(off int) *part {
	return &r.stored[r.at[(int(r.next)+off)%Window]]
}

// store keeps a copy of p, which is within the window, body included.
func (r *Receiver) store(p *part) {
	if len(r.free) == 0 {
		r.free = append(r.free, uint8(len(r.stored)))
		r.stored = append(r.stored, part{})
	}
	i := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	h := &r.stored[i]
	body := append(h.body[:0], p.body...)
	*h = *p
	h.body = body
	r.at[p.number%Window] = i
}

// Next returns the next message in the order of Send, and false if it has not arrived yet. Body is
// valid until the next call of Read or Next.
func (r *Receiver) Next() (Message, bool) {
	for r.has&1 != 0 {
		i := r.at[r.next%Window]
		p := &r.stored[i]
		r.free = append(r.free, i)
		r.has >>= 1
		r.next++
		if p.start() {
			body := r.whole.Body[:0]
			r.whole = Message{
				ID: p.number, Tick: p.tick, Entity: p.entity, Kind: p.kind,
				AtOnce: p.flags&flagAtOnce != 0, Body: body,
			}
			if !p.more() { // the common case: no copy
				m := r.whole
				m.Body = p.body
				return m, true
			}
		}
		r.whole.Body = append(r.whole.Body, p.body...)
		if r.joining = p.more(); !r.joining {
			return r.whole, true
		}
	}
	return Message{}, false
}
