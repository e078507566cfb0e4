package reliable

import (
	"encoding/binary"
	"math/bits"
	"time"

	"meanwhile/netcode/clock"
)

// Defaults and bounds of Config.
const (
	DefaultMaxParts = 512
	DefaultMaxBytes = 64 << 10
	mostParts       = 1 << 14 // a quarter of the numbers, so that none is ambiguous
	mostBytes       = 1 << 24
	maxNotes        = 64  // packets whose fate may be open; also the ack window of a packet header
	keptItems       = 16  // parts for which an empty queue keeps its memory
	leastItems      = 8   // parts for which there is room at least
	leastBytes      = 256 // bytes of bodies for which there is room at least
)

// Config bounds the queue of a Sender. The zero Config is a sound default.
type Config struct {
	// MaxParts is how many parts may be queued or in flight, in [1, 16384]. A message takes one for
	// each PartSize bytes begun, at least one. Zero means DefaultMaxParts.
	MaxParts int
	// MaxBytes is how many body bytes may be queued or in flight, in [MaxMessage, 16 MiB]. Zero
	// means DefaultMaxBytes.
	MaxBytes int
}

// A Sender queues messages until they are known to have arrived.
//
// Invariants: the queue holds parts base, base+1, ..., base+count-1; bit i of the masks stands for
// part base+i; done and due are subsets of sent; bit 0 of done is clear.
type Sender struct {
	cfg Config

	items  []item // ring of a power of two, grown on demand to cfg.MaxParts
	head   int    // index of part base
	count  int
	base   uint16 // the oldest part not known to have arrived
	starts int    // messages with some part in the queue

	body      []byte // ring of a power of two, grown on demand to cfg.MaxBytes
	bodyBegin uint64 // running offset of the first byte of part base
	bodyEnd   uint64

	sent uint64 // went out at least once
	done uint64 // arrived
	due  uint64 // reported lost since it went out last

	notes    []note // ring of maxNotes, grown on demand
	noteHead int
	noted    int

	dropped uint64 // messages that gave way
}

// An item is a part in the sender's queue.
type item struct {
	_ [0]func() // no == for it, which pages would have to load

	at     clock.Time // when it went out last
	offset uint64     // running offset of its body
	tick   clock.Tick
	entity uint32
	seq    uint16 // packet in which it went out last
	flags  uint8
	kind   uint8
	length uint8
	prio   uint8
}

// A note lists the parts that one packet carried.
type note struct {
	seq   uint16
	first uint16 // part number of bit 0
	parts uint64
}

// NewSender returns a Sender with nothing queued. It fails on a Config outside its bounds.
func NewSender(cfg Config) (*Sender, error) {
	if cfg.MaxParts == 0 {
		cfg.MaxParts = DefaultMaxParts
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.MaxParts < 1 || cfg.MaxParts > mostParts {
		return nil, &configError{"MaxParts", cfg.MaxParts, 1, mostParts}
	}
	if cfg.MaxBytes < MaxMessage || cfg.MaxBytes > mostBytes {
		return nil, &configError{"MaxBytes", cfg.MaxBytes, MaxMessage, mostBytes}
	}
	return &Sender{cfg: cfg}, nil
}

// Send queues m. It copies Body and ignores ID. When the queue is full, messages of lower priority
// that have not begun to go out are dropped, the least urgent ones first and of those the oldest.
// It fails with ErrTooLong or ErrFull and then changes nothing.
func (s *Sender) Send(m Message) error {
	if len(m.Body) > MaxMessage {
		return exceeds(ErrTooLong, "bytes", int64(len(m.Body)), MaxMessage)
	}
	parts := max(1, (len(m.Body)+PartSize-1)/PartSize)
	if over := s.count + parts - s.cfg.MaxParts; over > 0 &&
		!s.giveWay(m.Priority, over, s.bodyBytes()+len(m.Body)-s.cfg.MaxBytes) {
		return exceeds(ErrFull, "parts", int64(s.count+parts), int64(s.cfg.MaxParts))
	}
	if over := s.bodyBytes() + len(m.Body) - s.cfg.MaxBytes; over > 0 && !s.giveWay(m.Priority, 0, over) {
		return exceeds(ErrFull, "bytes", int64(s.bodyBytes()+len(m.Body)), int64(s.cfg.MaxBytes))
	}
	s.grow(parts, len(m.Body))
	offset := s.bodyEnd
	s.write(m.Body)
	for rest, start := len(m.Body), true; ; start = false {
		it := item{offset: offset, length: uint8(min(rest, PartSize)), prio: m.Priority}
		if start {
			it.flags, it.tick, it.entity, it.kind = flagStart, m.Tick, m.Entity, m.Kind
			if m.AtOnce {
				it.flags |= flagAtOnce
			}
			if m.Entity != 0 {
				it.flags |= flagEntity
			}
		}
		offset += uint64(it.length)
		rest -= int(it.length)
		if rest > 0 {
			it.flags |= flagMore
		}
		s.items[(s.head+s.count)&(len(s.items)-1)] = it
		s.count++
		if rest == 0 {
			break
		}
	}
	s.starts++
	return nil
}

// giveWay drops messages of a priority below prio until enough parts and bytes are free, and
// reports whether it could; otherwise nothing changes. Parts that went out keep their numbers, and
// so do all that were queued before them.
func (s *Sender) giveWay(prio uint8, parts, size int) bool {
	fixed := bits.Len64(s.sent) // parts before it
	for fixed < s.count && s.at(fixed).flags&flagStart == 0 {
		fixed++ // the rest of a message that has begun to go out
	}
	havePar, haveSize := 0, 0
	for i := fixed; i < s.count; i++ {
		if it := s.at(i); it.prio < prio {
			havePar++
			haveSize += int(it.length)
		}
	}
	if havePar < parts || haveSize < size {
		return false
	}
	for parts > 0 || size > 0 {
		from := -1 // the oldest of the least urgent
		for i := fixed; i < s.count; i++ {
			if it := s.at(i); it.flags&flagStart != 0 && (from < 0 || it.prio < s.at(from).prio) {
				from = i
			}
		}
		n, bytes := s.cut(from)
		parts -= n
		size -= bytes
	}
	return true
}

// cut removes a message of which nothing went out from the queue. Its first part is base+i.
func (s *Sender) cut(i int) (parts, size int) {
	first := s.at(i).offset
	for more := true; more; parts++ {
		it := s.at(i + parts)
		size += int(it.length)
		more = it.flags&flagMore != 0
	}
	for k := i + parts; k < s.count; k++ {
		it := *s.at(k)
		it.offset -= uint64(size)
		*s.at(k - parts) = it
	}
	mask := len(s.body) - 1
	for to := first; size > 0 && to+uint64(size) < s.bodyEnd; to++ {
		s.body[int(to)&mask] = s.body[int(to+uint64(size))&mask]
	}
	s.count -= parts
	s.bodyEnd -= uint64(size)
	s.starts--
	s.dropped++
	return parts, size
}

// Dropped returns how many messages were dropped for more urgent ones.
func (s *Sender) Dropped() uint64 { return s.dropped }

// grow makes room for more parts and body bytes.
func (s *Sender) grow(parts, size int) {
	if need := s.count + parts; need > len(s.items) {
		items := make([]item, ceilPow2(max(need, leastItems)))
		for i := range s.count {
			items[i] = s.items[(s.head+i)&(len(s.items)-1)]
		}
		s.items, s.head = items, 0
	}
	if need := s.bodyBytes() + size; need > len(s.body) {
		old := s.body
		s.body = make([]byte, ceilPow2(max(need, leastBytes)))
		end := s.bodyEnd
		for s.bodyEnd = s.bodyBegin; s.bodyEnd < end; {
			i := int(s.bodyEnd) & (len(old) - 1)
			s.write(old[i:min(len(old), i+int(end-s.bodyEnd))])
		}
	}
}

// write appends b to the ring of bodies, which has room for it.
func (s *Sender) write(b []byte) {
	if len(b) == 0 {
		return
	}
	i := int(s.bodyEnd) & (len(s.body) - 1)
	copy(s.body, b[copy(s.body[i:], b):])
	s.bodyEnd += uint64(len(b))
}

// appendBody appends the body of it to b.
func (s *Sender) appendBody(b []byte, it *item) []byte {
	if it.length == 0 {
		return b
	}
	i := int(it.offset) & (len(s.body) - 1)
	n := min(int(it.length), len(s.body)-i)
	b = append(b, s.body[i:i+n]...)
	return append(b, s.body[:int(it.length)-n]...)
}

// window returns the mask of parts that may be in flight.
func (s *Sender) window() uint64 {
	if s.count >= Window {
		return ^uint64(0)
	}
	return 1<<s.count - 1
}

// NeedsSend reports whether Append would write something, given MinRoom bytes of room.
func (s *Sender) NeedsSend(now clock.Time, rto time.Duration) bool {
	open := s.window() &^ s.done
	if open&(s.due|^s.sent) != 0 {
		return true
	}
	for ; open != 0; open &= open - 1 {
		if now.Sub(s.at(bits.TrailingZeros64(open)).at) >= rto {
			return true
		}
	}
	return false
}

// Append writes a section with the parts that are due, oldest first, as many as fit in room bytes,
// and remembers that packet seq carries them. A part is due when it was never sent, when the packet
// that carried it last was reported lost, or when that was at least rto ago. If nothing is due or
// fits, b is returned unchanged; a packet that must have a section then takes one zero byte.
//
// Sequence numbers must grow (16 bits, wrapping). Report each packet that carried a section with
// Delivered or Lost. A packet that is never sent counts as lost.
func (s *Sender) Append(b []byte, seq uint16, room int, now clock.Time, rto time.Duration) []byte {
	s.forget(seq)
	open := s.window() &^ s.done
	if open == 0 {
		return b
	}
	at := len(b) // of the section
	end := at + room
	var c cursor
	parts := uint64(0)
	for ; open != 0; open &= open - 1 {
		i := bits.TrailingZeros64(open)
		bit := uint64(1) << i
		it := s.at(i)
		if !s.isDue(it, bit, now, rto) {
			continue
		}
		p := s.part(i)
		if parts == 0 {
			c = cursor{number: p.number}
			if end-at < sectionHeader+c.size(&p, int(it.length)) {
				continue
			}
			b = append(b, 0, 0, 0)
			binary.LittleEndian.PutUint16(b[at+1:], p.number)
		} else if end-len(b) < c.size(&p, int(it.length)) {
			continue
		}
		b = c.append(b, &p, int(it.length))
		b = s.appendBody(b, it)
		b[at]++
		it.at, it.seq = now, seq
		parts |= bit
	}
	if parts != 0 {
		s.sent |= parts
		s.due &^= parts
		s.note(note{seq, s.base, parts})
	}
	return b
}

// Size returns how many bytes Append would write.
func (s *Sender) Size(room int, now clock.Time, rto time.Duration) (size int) {
	var c cursor
	for open := s.window() &^ s.done; open != 0; open &= open - 1 {
		i := bits.TrailingZeros64(open)
		it := s.at(i)
		if !s.isDue(it, open&-open, now, rto) {
			continue
		}
		p := s.part(i)
		if size == 0 {
			c = cursor{number: p.number}
			size = sectionHeader
		}
		with := size + c.size(&p, int(it.length))
		if with > room {
			if size == sectionHeader {
				size = 0
			}
			continue
		}
		size = with
		c.pass(&p)
	}
	return size
}

// isDue reports whether a part goes out now.
func (s *Sender) isDue(it *item, bit uint64, now clock.Time, rto time.Duration) bool {
	return s.sent&bit == 0 || s.due&bit != 0 || now.Sub(it.at) >= rto
}

// part returns what is written of part base+i besides its body.
func (s *Sender) part(i int) part {
	it := s.at(i)
	return part{number: s.base + uint16(i), flags: it.flags, kind: it.kind, tick: it.tick, entity: it.entity}
}

// at returns part base+i.
func (s *Sender) at(i int) *item { return &s.items[(s.head+i)&(len(s.items)-1)] }

// note remembers n. When there is no room it forgets the oldest note. At worst that costs a resend:
// the parts of that note stay unacknowledged until a newer packet with them is acknowledged.
func (s *Sender) note(n note) {
	if s.noted == len(s.notes) {
		if len(s.notes) < maxNotes {
			notes := make([]note, max(4, 2*len(s.notes)))
			for i := range s.noted {
				notes[i] = s.notes[(s.noteHead+i)&(len(s.notes)-1)]
			}
			s.notes, s.noteHead = notes, 0
		} else {
			s.noteHead, s.noted = s.noteHead+1, s.noted-1
		}
	}
	s.notes[(s.noteHead+s.noted)&(len(s.notes)-1)] = n
	s.noted++
}

// forget drops notes so old that their sequence numbers could soon be mistaken for new ones.
func (s *Sender) forget(seq uint16) {
	for s.noted > 0 && seq-s.notes[s.noteHead&(len(s.notes)-1)].seq >= 1<<14 {
		s.noteHead, s.noted = s.noteHead+1, s.noted-1
	}
}

// find returns the note of packet seq, or nil.
func (s *Sender) find(seq uint16) *note {
	for i := s.noted - 1; i >= 0; i-- {
		if n := &s.notes[(s.noteHead+i)&(len(s.notes)-1)]; n.seq == seq {
			return n
		}
	}
	return nil
}

// Delivered reports that the peer applied packet seq. It may follow Lost for the same packet.
// Packets that carried no section may be reported too.
func (s *Sender) Delivered(seq uint16) {
	n := s.find(seq)
	if n == nil {
		return
	}
	s.done |= s.shift(n)
	n.parts = 0
	for k := bits.TrailingZeros64(^s.done); k > 0; k = bits.TrailingZeros64(^s.done) {
		s.pop(k)
	}
	for s.noted > 0 && s.shift(&s.notes[s.noteHead&(len(s.notes)-1)]) == 0 { // all that it carried arrived
		s.noteHead, s.noted = s.noteHead+1, s.noted-1
	}
	if s.count == 0 && len(s.items) > keptItems { // a burst is over
		s.items, s.body, s.head = nil, nil, 0
		s.bodyBegin, s.bodyEnd = 0, 0
	}
}

// Lost reports that packet seq did not arrive. The parts that it carried are due again, except
// those that were sent again since or arrived otherwise.
func (s *Sender) Lost(seq uint16) {
	n := s.find(seq)
	if n == nil {
		return
	}
	for open := s.shift(n) &^ s.done; open != 0; open &= open - 1 {
		if i := bits.TrailingZeros64(open); s.at(i).seq == seq {
			s.due |= 1 << i
		}
	}
}

// LostAll makes everything due that is not known to have arrived, and forgets all packets, so that
// sequence numbers may start anew: call it when a connection was resumed.
func (s *Sender) LostAll() {
	s.due = s.sent &^ s.done
	s.noteHead, s.noted = 0, 0
}

// shift returns the parts of n relative to base. Parts before base have arrived and drop out.
func (s *Sender) shift(n *note) uint64 { return n.parts >> (s.base - n.first) }

// pop drops the first k <= Window parts, which arrived.
func (s *Sender) pop(k int) {
	for range k {
		it := s.at(0)
		if it.flags&flagMore == 0 {
			s.starts--
		}
		s.bodyBegin += uint64(it.length)
		s.head = (s.head + 1) & (len(s.items) - 1)
		s.count--
	}
	s.base += uint16(k)
	s.sent >>= k
	s.done >>= k
	s.due >>= k
}

// Pending returns how many messages are not known to have arrived completely.
func (s *Sender) Pending() int { return s.starts }

// bodyBytes returns the body bytes of parts that are queued or not yet out of the window.
func (s *Sender) bodyBytes() int { return int(s.bodyEnd - s.bodyBegin) }

func ceilPow2(n int) int { return 1 << bits.Len(uint(n-1)) }
