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

// Flags of byte 0.
const (
	flagServer  = 1 << iota // the tick fields follow: sent by a server
	flagElicits             // the receiver must acknowledge it before long
	flagAck                 // acknowledgements follow
	flagEcho                // an echoed stamp follows
	flagWidth0              // two bits: the acknowledged history takes 0, 2, 4 or 8 bytes
	flagWidth1
	flagIdle   // client: commands stay as they are; server: see NextDue
	flagResync // client: a baseline is gone, send everything anew
)

// StampOffset is where the send stamp lies in every datagram. The edge patches it when the datagram
// leaves, so that the time spent in queues of the program is not taken for time on the path.
const StampOffset = 5

// PatchStamp writes s into datagram b. Datagrams too short to have a stamp are left alone.
func PatchStamp(b []byte, s clock.Stamp) {
	if len(b) >= StampOffset+4 {
		binary.LittleEndian.PutUint32(b[StampOffset:], uint32(s))
	}
}

// SeqOf returns the sequence number of datagram b, or 0 if it is too short to have one.
func SeqOf(b []byte) Seq {
	if len(b) < 5 {
		return 0
	}
	return Seq(binary.LittleEndian.Uint16(b[3:]))
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

// Header is the head of every datagram, both ways.
//
//	offset  size  field
//	0       1     flags
//	1       2     Session, little-endian like all that follows
//	3       2     Seq
//	5       4     Stamp, microseconds of the sender's clock, patched by the edge
//	        2     Ack.Latest, if acknowledgements follow
//	        0..8  Ack.History in 0, 2, 4 or 8 bytes, as few as leave only ones unsaid
//	        4     Echo: the newest stamp received from the peer, if an echo follows
//	        3     EchoAt: when that stamp arrived, low 24 bits of microseconds of the sender's clock
//	              From a client both take 2 bytes: their low 20 bits without the lowest 4
//	        4     Tick, from servers only, like the rest
//	        4     Time: server time of that tick, as a stamp
//	        1     NextDue in the low 4 bits; bit 6: Heartbeat; bit 7: Period follows
//	        3     Period of a tick in microseconds, where it is not the nominal one
type Header struct {
	Session uint16
	Seq     Seq
	Stamp   clock.Stamp
	Elicits bool // the peer must acknowledge before long
	Idle    bool // client: the commands stay as they are until further notice
	Resync  bool // client: a baseline was lost; everything must be sent anew

	HasAck bool
	Ack    Ack

	HasEcho bool
	Echo    clock.Stamp // from a client only bits 4 to 19 travel, see Echoed
	EchoAt  clock.Stamp // only its low 24 bits travel, from a client only bits 4 to 19

	Server  bool
	Tick    clock.Tick
	Time    clock.Stamp
	NextDue Due
	// Heartbeat says that the tick after Tick is overdue. Nothing follows the header, Seq is 0 and
	// no number of its own: a heartbeat is neither acknowledged nor ever sent again.
	Heartbeat bool
	Period    time.Duration // 0: the nominal period; Append keeps whole microseconds, MaxPeriod at most
}

const heartbeatBit = 0x40

// MaxPeriod bounds the tick period that a header can carry.
const MaxPeriod = (1<<24 - 1) * time.Microsecond

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

var ackBytes = [4]int{0, 2, 4, 8}

// ackWidth picks the fewest bytes that still say everything: older packets are implied applied.
func ackWidth(h uint64) uint {
	switch {
	case h == ^uint64(0):
		return 0
	case h|0xffff == ^uint64(0):
		return 1
	case h|0xffffffff == ^uint64(0):
		return 2
	}
	return 3
}

// MaxHeader is the size in bytes of the longest header.
const MaxHeader = 9 + 2 + 8 + 7 + 9 + 3

// Append encodes h. Fields without their flag (Ack without HasAck, Tick without Server) are left
// out.
func (h *Header) Append(b []byte) []byte {
	var flags byte
	set := func(c bool, f byte) {
		if c {
			flags |= f
		}
	}
	set(h.Server, flagServer)
	set(h.Elicits, flagElicits)
	set(h.HasAck, flagAck)
	set(h.HasEcho, flagEcho)
	set(h.Idle, flagIdle)
	set(h.Resync, flagResync)
	width := uint(0)
	if h.HasAck {
		width = ackWidth(h.Ack.History)
		flags |= byte(width) * flagWidth0
	}
	le := binary.LittleEndian
	b = append(b, flags)
	b = le.AppendUint16(b, h.Session)
	b = le.AppendUint16(b, uint16(h.Seq))
	b = le.AppendUint32(b, uint32(h.Stamp))
	if h.HasAck {
		b = le.AppendUint16(b, uint16(h.Ack.Latest))
		for i := range ackBytes[width] {
			b = append(b, byte(h.Ack.History>>(8*uint(i))))
		}
	}
	if h.HasEcho {
		if h.Server {
			b = le.AppendUint32(b, uint32(h.Echo))
			b = append(b, byte(h.EchoAt), byte(h.EchoAt>>8), byte(h.EchoAt>>16))
		} else {
			b = le.AppendUint16(b, uint16(h.Echo>>echoShift))
			b = le.AppendUint16(b, uint16(h.EchoAt>>echoShift))
		}
	}
	if h.Server {
		b = le.AppendUint32(b, uint32(h.Tick))
		b = le.AppendUint32(b, uint32(h.Time))
		us := int64(min(max(h.Period, 0), MaxPeriod) / time.Microsecond)
		due := byte(h.NextDue & 15)
		if h.Heartbeat {
			due |= heartbeatBit
		}
		if us == 0 {
			return append(b, due)
		}
		b = append(b, due|0x80, byte(us), byte(us>>8), byte(us>>16))
	}
	return b
}

// DecodeHeader reads a header from the front of b and reports the bytes it used. It fails with
// ErrTruncated or ErrMalformed; b is not retained.
func DecodeHeader(b []byte) (h Header, n int, err error) {
	if len(b) < 9 {
		return Header{}, 0, fault.Errorf("%w: %d bytes, the header has at least 9", ErrTruncated, len(b))
	}
	le := binary.LittleEndian
	flags := b[0]
	h.Session, h.Seq, h.Stamp = le.Uint16(b[1:]), Seq(le.Uint16(b[3:])), clock.Stamp(le.Uint32(b[5:]))
	h.Server, h.Elicits = flags&flagServer != 0, flags&flagElicits != 0
	h.HasAck, h.HasEcho = flags&flagAck != 0, flags&flagEcho != 0
	h.Idle, h.Resync = flags&flagIdle != 0, flags&flagResync != 0
	width := flags / flagWidth0 & 3
	n = 9
	need := 0
	if h.HasAck {
		need += 2 + ackBytes[width]
	} else if width != 0 {
		return Header{}, 0, fault.Errorf("%w: ack width %d without an ack", ErrMalformed, width)
	}
	if h.HasEcho {
		need += echoBytes(h.Server)
	}
	if h.Server {
		need += 9
	}
	if len(b) < n+need {
		return Header{}, 0, fault.Errorf("%w: %d bytes, flags %#x ask for %d", ErrTruncated, len(b), flags, n+need)
	}
	if h.HasAck {
		h.Ack.Latest = Seq(le.Uint16(b[n:]))
		h.Ack.History = ^uint64(0)
		n += 2
		for i := range ackBytes[width] {
			h.Ack.History &^= uint64(^b[n+i]) << (8 * uint(i))
		}
		n += ackBytes[width]
		if ackWidth(h.Ack.History) != uint(width) {
			return Header{}, 0, fault.Errorf("%w: ack history %#x in %d bytes", ErrMalformed, h.Ack.History, ackBytes[width])
		}
	}
	if h.HasEcho {
		if h.Server {
			h.Echo = clock.Stamp(le.Uint32(b[n:]))
			h.EchoAt = clock.Stamp(uint32(b[n+4]) | uint32(b[n+5])<<8 | uint32(b[n+6])<<16)
		} else {
			h.Echo = clock.Stamp(le.Uint16(b[n:])) << echoShift
			h.EchoAt = clock.Stamp(le.Uint16(b[n+2:])) << echoShift
		}
		n += echoBytes(h.Server)
	}
	if h.Server {
		h.Tick, h.Time = clock.Tick(le.Uint32(b[n:])), clock.Stamp(le.Uint32(b[n+4:]))
		due := b[n+8]
		n += 9
		h.NextDue = Due(due & 15)
		h.Heartbeat = due&heartbeatBit != 0
		if due&0x30 != 0 || h.Heartbeat && (h.Seq != 0 || flags&^(flagServer) != 0 || h.NextDue != 0) {
			return Header{}, 0, fault.Errorf("%w: next-due byte %#x", ErrMalformed, due)
		}
		if due&0x80 != 0 {
			if len(b) < n+3 {
				return Header{}, 0, fault.Errorf("%w: %d bytes, the period needs %d", ErrTruncated, len(b), n+3)
			}
			us := int64(b[n]) | int64(b[n+1])<<8 | int64(b[n+2])<<16
			if us == 0 {
				return Header{}, 0, fault.Errorf("%w: tick period 0", ErrMalformed)
			}
			h.Period = time.Duration(us) * time.Microsecond
			n += 3
		}
	}
	return h, n, nil
}

// echoShift is how many low bits of microseconds a client's echo leaves out: servers measure round
// trips by it, and no clock.
const echoShift = 4

// MaxEchoHold bounds the time from EchoAt until a client's datagram leaves. Then the echo is left
// out: only so many bits of microseconds travel.
const MaxEchoHold = 1 << (16 + echoShift) * time.Microsecond

// echoBytes returns how many bytes an echo takes.
func echoBytes(server bool) int {
	if server {
		return 7
	}
	return 4
}

// Echoed returns the full instant of a client's Echo, in steps of 16 us: the first such instant
// that is not before sent, when the echoed packet was encoded. It is right if the packet was
// stamped less than 1.04 s later.
func (h *Header) Echoed(sent clock.Time) clock.Time {
	steps := (int64(sent)/1000 + 1<<echoShift - 1) >> echoShift
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
	hold := (uint32(us) - uint32(h.EchoAt)) & (1<<24 - 1)
	return clock.Time((us - int64(hold)) * 1000)
}
