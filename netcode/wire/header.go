package wire

import (
	"encoding/binary"
	"errors"
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

// Seq is a packet sequence number, one more for each packet of a direction of a session. It wraps;
// compare with Newer, never with <.
type Seq uint16

// Newer reports whether s was sent after u, given that they are less than 1<<15 packets apart. Of
// two that are exactly so far apart neither is newer.
func (s Seq) Newer(u Seq) bool { return int16(s-u) > 0 }

// Errors of decoders. Callers count them by reason.
var (
	ErrTruncated = errors.New("wire: datagram is cut short")
	ErrMalformed = errors.New("wire: datagram says what no encoder writes")
)

// Where the two fields lie that the edge needs, in every datagram. The edge patches the stamp when
// the datagram leaves, so that the time spent in queues of the program is not taken for time on the
// path; it reports datagrams that it threw away by their sequence numbers.
const (
	stampOffset = 0
	seqOffset   = stampOffset + stampBits/8

	// LeadSize is the size in bytes of what every datagram begins with: stamp and sequence number.
	LeadSize = seqOffset + 2
)

// PatchStamp writes s into datagram b. Datagrams too short to have a stamp are left alone.
func PatchStamp(b []byte, s clock.Stamp) {
	if len(b) >= seqOffset {
		b[stampOffset], b[stampOffset+1], b[stampOffset+2] = byte(s), byte(s>>8), byte(s>>16)
	}
}

// StampOf returns the low 24 bits of the stamp of datagram b, or 0 if it is too short to have one.
func StampOf(b []byte) clock.Stamp {
	if len(b) < seqOffset {
		return 0
	}
	return clock.Stamp(b[stampOffset]) | clock.Stamp(b[stampOffset+1])<<8 | clock.Stamp(b[stampOffset+2])<<16
}

// SeqOf returns the sequence number of datagram b, or 0 if it is too short to have one.
func SeqOf(b []byte) Seq {
	if len(b) < LeadSize {
		return 0
	}
	return Seq(binary.LittleEndian.Uint16(b[seqOffset:]))
}

// Due is how soon the sender promises its next packet, in 4 bits: 0 promises nothing, 15 is Quiet,
// 1 to 14 are 10 ms x 1.5^(code-1), about 1.9 s at most.
type Due uint8

// Quiet says that the sender is silent until something changes: silence is not starvation.
const Quiet Due = 15

var dueMicros = func() (t [15]int64) {
	for i, v := 1, int64(10000); i < 15; i, v = i+1, v*3/2 {
		t[i] = v
	}
	return t
}()

// DueWithin returns the least code whose span is at least d: 1 to 14. A longer d gives 14.
func DueWithin(d time.Duration) Due {
	for i := 1; i < 15; i++ {
		if time.Duration(dueMicros[i])*time.Microsecond >= d {
			return Due(i)
		}
	}
	return 14
}

// Span returns the promised span; 0 for no promise and for Quiet.
func (d Due) Span() time.Duration {
	if d == 0 || d >= Quiet {
		return 0
	}
	return time.Duration(dueMicros[d]) * time.Microsecond
}

// Bits of the fields of a header.
const (
	stampBits  = 24 // of a stamp that travel: 16.8 s
	seqBits    = 16
	nearBits   = 7  // of a tick or an acknowledged number that is near what the reader knows
	tickBits   = 32 // of one that is not
	upAckBits  = 13 // of the number that a client acknowledges
	echoBits   = 16 // of a client's echo, in steps of 1<<echoShift us
	timeBits   = 32
	dueBits    = 4
	periodBits = 24

	stampMask = 1<<stampBits - 1
	nearRange = 1 << nearBits
	upAckMask = 1<<upAckBits - 1

	countOrder = 2 // of the Exp-Golomb code of how many acknowledgements are stated
)

// Header is the head of every datagram. It says nothing that its reader knows for certain (Known),
// so it is read with what the reader has applied: a client's by DecodeUp, a server's by an
// Incoming.
//
//	both ways   24 bits  Stamp, low bits; patched by the edge
//	            16 bits  Seq
//	            1 bit    Elicits
//	up          1 bit    Idle
//	            1 bit    Resync
//	            1 bit    whether acknowledgements follow; then
//	              13 bits  Ack.Latest, low bits
//	              history, see below
//	            1 bit    whether an echo follows; then
//	              16 bits  Echo, the newest stamp received from the server, its bits 4 to 19
//	              16 bits  EchoAt, when that arrived, the same bits
//	down        1 bit    whether tick and acknowledged number are written in full
//	            7 bits   Tick, low bits; in full 32
//	            1 bit    whether acknowledgements follow; then
//	              7 bits   Ack.Latest, low bits; in full 16
//	              history, see below
//	            1 bit    whether an echo follows; then
//	              24 bits  Echo, the newest stamp received from the client, low bits
//	              24 bits  EchoAt, when that arrived, low bits
//	            1 bit    whether time and period follow; then
//	              1 bit    Heartbeat
//	              32 bits  Time
//	              1 bit    whether the period is not the nominal one; then 24 bits, microseconds
//	            4 bits   NextDue
//	history     Exp-Golomb of order 2: for how many packets before Latest it is stated, at most 64; if any
//	            1 bit    whether one of them was not applied; then a bit for each, the newest first
type Header struct {
	Seq     Seq
	Stamp   clock.Stamp // of DecodeUp only its low 24 bits, see NearStamp
	Elicits bool        // the peer must acknowledge before long
	Idle    bool        // client: the commands stay as they are until further notice
	Resync  bool        // client: a baseline was lost; everything must be sent anew

	HasAck bool
	Ack    Ack // of History only what travelled; bits beyond it are 0

	HasEcho bool
	Echo    clock.Stamp // only its low bits, see Echoed
	EchoAt  clock.Stamp // only its low bits, see Arrival

	Server bool
	Tick   clock.Tick
	// Time and Period are right to 1 us. HasTime says that they travelled; without it they are
	// those of the line that an earlier packet stated, which the client is known to know.
	HasTime bool
	Time    clock.Stamp   // server time of Tick
	Period  time.Duration // 0: the nominal one; Append keeps whole microseconds, MaxPeriod at most
	NextDue Due
	// Heartbeat says that the tick after Tick is overdue. Nothing follows the header, Seq is 0 and
	// no number of its own: a heartbeat is neither acknowledged nor ever sent again.
	Heartbeat bool
}

// MaxPeriod bounds the tick period that a header can carry.
const MaxPeriod = (1<<periodBits - 1) * time.Microsecond

// Known is what the reader of a header is known to know, as its acknowledgements show. The zero
// Known assumes nothing but the welcome's tick 0; headers are longer with it.
type Known struct {
	Tick clock.Tick // of the newest packet of ours that it applied; before that, of the welcome
	Ack  Seq        // it knows which of its packets up to this one we applied: Received.Known
}

// Ack tells the peer which of its packets were applied.
type Ack struct {
	Latest  Seq    // newest sequence number applied
	History uint64 // bit i set: Latest-1-i was applied too
}

// Window is the number of packets before the newest that can still be applied and acknowledged.
const Window = 64

// Has reports whether a says that packet s was applied; known is false beyond the window.
func (a Ack) Has(s Seq) (applied, known bool) {
	d := int16(a.Latest - s)
	switch {
	case d < 0 || d > Window:
		return false, false
	case d == 0:
		return true, true
	}
	return a.History>>(uint(d)-1)&1 != 0, true
}

// append writes the history, as far back as the peer does not know it.
func (a Ack) append(w *BitWriter, known Seq) {
	n := min(max(int(int16(a.Latest-known))-1, 0), Window)
	w.Uvarint(uint64(n), countOrder)
	if n == 0 {
		return
	}
	all := ^uint64(0) >> (Window - n)
	missing := a.History&all != all
	if w.Bool(missing); missing {
		w.Bits(a.History, n)
	}
}

// readHistory reads what append wrote. It leaves r Bad or reports false for what none writes.
func readHistory(r *BitReader) (history uint64, ok bool) {
	n := r.Uvarint(countOrder)
	if n == 0 || n > Window {
		return 0, n == 0
	}
	history = ^uint64(0) >> (Window - n)
	if r.Bool() {
		all := history
		history = r.Bits(int(n))
		return history, history != all || r.Bad()
	}
	return history, true
}

// MaxHeader is the size in bytes of the longest header.
const MaxHeader = (stampBits + seqBits + 2 + tickBits + 1 + seqBits + maxHistoryBits + 1 + 2*stampBits +
	3 + timeBits + periodBits + dueBits + 7) / 8

const maxHistoryBits = 11 + 1 + Window

// Append writes h at the begin of a datagram, as short as known allows. Fields without their flag
// (Ack without HasAck, Time without HasTime) and those of the other direction are left out. Time
// may be left out only if the client knows the line on which it lies, see Line.
func (h *Header) Append(w *BitWriter, known Known) {
	w.Bits(uint64(h.Stamp)&stampMask|uint64(h.Seq)<<stampBits, stampBits+seqBits)
	w.Bool(h.Elicits)
	if !h.Server {
		w.Bool(h.Idle)
		w.Bool(h.Resync)
		if w.Bool(h.HasAck); h.HasAck {
			w.Bits(uint64(h.Ack.Latest), upAckBits)
			h.Ack.append(w, known.Ack)
		}
		if w.Bool(h.HasEcho); h.HasEcho {
			w.Bits(uint64(h.Echo>>echoShift), echoBits)
			w.Bits(uint64(h.EchoAt>>echoShift), echoBits)
		}
		return
	}
	full := h.Heartbeat || h.Tick-known.Tick-1 >= nearRange || h.HasAck && h.Ack.Latest-known.Ack >= nearRange
	tick, number := nearBits, nearBits
	if w.Bool(full); full {
		tick, number = tickBits, seqBits
	}
	w.Bits(uint64(h.Tick), tick)
	if w.Bool(h.HasAck); h.HasAck {
		w.Bits(uint64(h.Ack.Latest), number)
		h.Ack.append(w, known.Ack)
	}
	if w.Bool(h.HasEcho); h.HasEcho {
		w.Bits(uint64(h.Echo), stampBits)
		w.Bits(uint64(h.EchoAt), stampBits)
	}
	if w.Bool(h.HasTime); h.HasTime {
		w.Bool(h.Heartbeat)
		w.Bits(uint64(h.Time), timeBits)
		us := int64(min(max(h.Period, 0), MaxPeriod) / time.Microsecond)
		if w.Bool(us != 0); us != 0 {
			w.Bits(uint64(us), periodBits)
		}
	}
	w.Bits(uint64(h.NextDue), dueBits)
}

// decodeLead begins a datagram: it reads what both directions begin with, and leaves r behind it.
func decodeLead(r *BitReader, data []byte) (h Header, err error) {
	if len(data) < LeadSize {
		return Header{}, fault.Errorf("%w: %d bytes, a datagram has at least %d", ErrTruncated, len(data), LeadSize)
	}
	r.Reset(data)
	h.Stamp, h.Seq = clock.Stamp(r.Bits(stampBits)), Seq(r.Bits(seqBits))
	h.Elicits = r.Bool()
	return h, nil
}

// DecodeUp reads the header of a client's datagram; r then reads what follows it. next is the
// number of the server's next packet: a client acknowledges one of the 8,192 before it. It fails
// with ErrTruncated or ErrMalformed.
func DecodeUp(r *BitReader, data []byte, next Seq) (Header, error) {
	h, err := decodeLead(r, data)
	if err != nil {
		return Header{}, err
	}
	h.Idle, h.Resync = r.Bool(), r.Bool()
	sound := true
	if h.HasAck = r.Bool(); h.HasAck {
		h.Ack.Latest = next - 1 - (next-1-Seq(r.Bits(upAckBits)))&upAckMask
		h.Ack.History, sound = readHistory(r)
	}
	if h.HasEcho = r.Bool(); h.HasEcho {
		h.Echo = clock.Stamp(r.Bits(echoBits)) << echoShift
		h.EchoAt = clock.Stamp(r.Bits(echoBits)) << echoShift
	}
	switch {
	case r.Bad():
		return Header{}, fault.Errorf("%w: %d bytes", ErrTruncated, len(data))
	case !sound:
		return Header{}, fault.Errorf("%w: acknowledgements", ErrMalformed)
	}
	return h, nil
}

// echoShift is how many low bits of microseconds a client's echo leaves out: servers measure round
// trips by it, and no clock.
const echoShift = 4

// MaxEchoHold bounds the time from EchoAt until a client's datagram leaves. Then the echo is left
// out: only so many bits of microseconds travel.
const MaxEchoHold = 1 << (echoBits + echoShift) * time.Microsecond

// Echoed returns the full instant of Echo, on the clock of the reader, from a client in steps of 16
// us: the first such instant that is not before sent, when the echoed packet was encoded. It is
// right if the packet was stamped less than 1.04 s later, if a server echoes it less than 16.7 s.
func (h *Header) Echoed(sent clock.Time) clock.Time {
	us := int64(sent) / 1000
	if h.Server {
		return clock.Time((us + (int64(h.Echo)-us)&stampMask) * 1000)
	}
	steps := (us + 1<<echoShift - 1) >> echoShift
	steps += int64(uint16(int64(h.Echo>>echoShift) - steps))
	return clock.Time(steps << echoShift * 1000)
}

// Arrival returns the full instant of EchoAt, of which a header has only some low bits of
// microseconds: the latest such instant that is not after send, the peer's full send time. It is
// right if the server kept the stamp for less than 16.7 s, the client for less than MaxEchoHold.
func (h *Header) Arrival(send clock.Time) clock.Time {
	us := int64(send) / 1000
	if !h.Server {
		hold := int64(uint16(us>>echoShift-int64(h.EchoAt>>echoShift))) << echoShift
		return clock.Time((us>>echoShift<<echoShift - hold) * 1000)
	}
	return clock.Time((us - (us-int64(h.EchoAt))&stampMask) * 1000)
}

// NearStamp returns the stamp nearest to expect whose low 24 bits are given. It is right if the two
// lie less than 8.3 s apart.
func NearStamp(expect, low clock.Stamp) clock.Stamp {
	return expect + clock.Stamp(int32((low-expect)<<(32-stampBits))>>(32-stampBits))
}
