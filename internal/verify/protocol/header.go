package protocol

import "slices"

// A Header is what precedes the rest of a datagram, completed with what its reader knows.
type Header struct {
	Seq       uint16
	Stamp     uint32 // of a client's only the low 24 bits
	HasAck    bool
	Latest    uint16
	Tick      int64
	Time      uint32
	Heartbeat bool
}

// A packet is what a client remembers of a datagram that it applied.
type packet struct {
	seq, acked uint16
	tick       int64
}

// A line is when ticks begin, from one on.
type line struct {
	tick   int64
	at     uint32 // us
	period int64  // ns
}

// Applied notes that a datagram of a tick was applied, which acknowledged a packet as the newest.
func (r *Reader) Applied(seq uint16, tick int64, acked uint16) {
	r.packets = append(r.packets, packet{seq, acked, tick})
	if len(r.packets) == 1 || int16(seq-r.newestSeq) > 0 {
		r.newestSeq = seq
	}
}

// before returns the newest datagram before seq that was applied.
func (r *Reader) packetBefore(seq uint16) (p packet) {
	for _, q := range r.packets {
		if int16(seq-q.seq) > 0 && (p.seq == 0 || int16(q.seq-p.seq) > 0) {
			p = q
		}
	}
	return p
}

// lead reads what both directions begin with.
func (r *Reader) lead(data []byte) {
	r.begin(data)
	b, h := &r.bits, &r.Head
	*h = Header{}
	h.Stamp = uint32(b.n(24))
	r.note("sent at %d us, modulo 2^24", h.Stamp)
	h.Seq = uint16(b.n(16))
	r.note("sequence number %d", h.Seq)
	r.note("elicits: %v", b.is())
}

// history reads which datagrams before the newest were applied.
func (r *Reader) history() {
	b, h := &r.bits, &r.Head
	n := b.unsigned(2)
	if n > 64 {
		refuse("%d acknowledgements", n)
	}
	missing := []uint16{}
	if n > 0 && b.is() {
		for i := range n {
			if !b.is() {
				missing = append(missing, h.Latest-1-uint16(i))
			}
		}
		if len(missing) == 0 {
			refuse("nothing is missing, bit by bit")
		}
	}
	r.note("newest applied: %d; of the %d before not applied: %d", h.Latest, n, missing)
}

// StartUp begins a datagram of a client with its header.
func (r *Reader) StartUp(data []byte) (err error) {
	defer r.caught(&err)
	r.lead(data)
	b, h := &r.bits, &r.Head
	r.note("idle: %v", b.is())
	r.note("resync: %v", b.is())
	if h.HasAck = b.is(); h.HasAck {
		low := uint16(b.n(13))
		h.Latest = r.newestSeq - (r.newestSeq-low)&(1<<13-1)
		r.history()
	} else {
		r.note("nothing has arrived")
	}
	if b.is() {
		r.note("an echo")
		r.note("of the stamp %d us, modulo 2^20", 16*b.n(16))
		r.note("which arrived at %d us, modulo 2^20", 16*b.n(16))
	} else {
		r.note("no echo")
	}
	return nil
}

// StartDown begins a datagram of a server with its header.
func (r *Reader) StartDown(data []byte) (err error) {
	defer r.caught(&err)
	r.lead(data)
	b, h := &r.bits, &r.Head
	before := r.packetBefore(h.Seq)
	full := b.is()
	r.note("in full: %v", full)
	if full {
		h.Tick = int64(b.n(32))
	} else {
		low := int64(b.n(7))
		h.Tick = before.tick + 1 + (low-before.tick-1)&127
	}
	r.note("tick %d", h.Tick)
	if h.HasAck = b.is(); h.HasAck {
		if full {
			h.Latest = uint16(b.n(16))
		} else {
			h.Latest = before.acked + (uint16(b.n(7))-before.acked)&127
		}
		r.history()
	} else {
		r.note("nothing has arrived")
	}
	if b.is() {
		r.note("an echo")
		r.note("of the stamp %d us, modulo 2^24", b.n(24))
		r.note("which arrived at %d us, modulo 2^24", b.n(24))
	} else {
		r.note("no echo")
	}
	r.readTime()
	due := b.n(4)
	us := int64(10000)
	for range int(due) - 1 {
		us = us * 3 / 2
	}
	switch due {
	case 15:
		r.note("silent until something changes")
	case 0:
		r.note("promises nothing")
	default:
		r.note("next packet within %g ms", float64(us)/1000)
	}
	h.Stamp = h.Time - 1e6 + (h.Stamp-(h.Time-1e6))&(1<<24-1)
	return nil
}

// readTime reads when the tick began, or computes it.
func (r *Reader) readTime() {
	b, h := &r.bits, &r.Head
	if len(r.lines) == 0 { // as the welcome said
		r.lines = append(r.lines, line{0, 0, r.Period})
	}
	if b.is() {
		h.Heartbeat = b.is()
		l := line{h.Tick, uint32(b.n(32)), r.Period}
		h.Time = l.at
		r.note("heartbeat: %v; the tick began at %d us", h.Heartbeat, l.at)
		if b.is() {
			l.period = int64(b.n(24)) * 1000
		}
		r.note("ticks take %d us", l.period/1000)
		if !h.Heartbeat {
			r.stated = &l
		}
		return
	}
	r.stated = nil
	var known *line
	for i := range r.lines {
		if l := &r.lines[i]; l.tick <= h.Tick && (known == nil || l.tick > known.tick) {
			known = l
		}
	}
	if known == nil {
		refuse("no line at tick %d is known", h.Tick)
	}
	h.Time = known.at + uint32((h.Tick-known.tick)*known.period/1000)
	r.note("the tick began at %d us, as foreseen", h.Time)
}

// appliedDown notes that the datagram at hand was applied.
func (r *Reader) appliedDown() {
	r.Applied(r.Head.Seq, r.Head.Tick, r.Head.Latest)
	if r.stated != nil {
		r.lines = append(r.lines, *r.stated)
	}
	if len(r.packets) > 200 {
		r.packets = slices.Delete(r.packets, 0, 100)
	}
}

// period is the nominal one of a game, in nanoseconds.
func (s *Schema) period() int64 {
	for _, k := range s.Kinds {
		return 1e9 / int64(max(k.Rate, 1))
	}
	return 0
}
