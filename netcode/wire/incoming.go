package wire

import (
	"errors"
	"math"
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

// Errors of Incoming.Decode beside ErrTruncated and ErrMalformed.
var (
	ErrDuplicate = errors.New("wire: packet was applied already, or is too old")
	ErrLine      = errors.New("wire: packet is too late to know the time of its tick")
)

// A Line relates ticks to server time: tick Tick began at At, and each tick since took Period. A
// server states it with the time and period of any packet on it, until the client is known to have
// applied one of those.
type Line struct {
	Tick   clock.Tick
	At     clock.Time
	Period time.Duration
}

// Time returns when a tick begins, not before that of the line.
func (l *Line) Time(tick clock.Tick) clock.Time {
	return l.At.Add(time.Duration(tick-l.Tick) * l.Period)
}

// keptLines is how many lines a client remembers, for packets that were overtaken.
const keptLines = 4

// knownLine is a Line as a client knows it.
type knownLine struct {
	tick   clock.Tick
	at     clock.Stamp
	period time.Duration // 0: the nominal one
}

// An Incoming completes the headers of a server's datagrams with what the client has applied, and
// knows what to acknowledge. It remembers tick and acknowledged number of each packet in the
// window: those of a packet lie close after those of the packet before it that was applied,
// whatever was lost or overtaken since. Not safe for concurrent use.
type Incoming struct {
	Received

	period time.Duration        // nominal
	lines  [keptLines]knownLine // by falling tick
	known  int                  // how many lines
	base   reference            // of the newest packet applied that left the window; at first of the welcome
	ring   [2 * Window]reference
}

// A reference is what the header of a later packet is relative to.
type reference struct {
	tick  clock.Tick
	acked Seq // newest packet of ours that it acknowledged
}

// NewIncoming returns the Incoming of a session whose welcome states the instant at of a tick and
// the nominal period.
func NewIncoming(tick clock.Tick, at clock.Time, period time.Duration) *Incoming {
	in := &Incoming{period: period, base: reference{tick: tick, acked: FirstSeq - 1}, known: 1}
	in.lines[0] = knownLine{tick: tick, at: at.Stamp()}
	in.begin()
	for i := range in.ring { // packets before FirstSeq count as applied
		in.ring[i] = in.base
	}
	return in
}

// Decode reads the header of a server's datagram; r then reads what follows it. Nothing changes:
// call Applied when the whole datagram was applied. It fails with ErrTruncated, ErrMalformed,
// ErrDuplicate or ErrLine.
func (in *Incoming) Decode(r *BitReader, data []byte) (Header, error) {
	h, err := decodeLead(r, data)
	if err != nil {
		return Header{}, err
	}
	h.Server = true
	full, sound := in.fields(r, &h)
	switch {
	case r.Bad():
		return Header{}, fault.Errorf("%w: %d bytes", ErrTruncated, len(data))
	case !sound:
		return Header{}, fault.Errorf("%w: acknowledgements or period", ErrMalformed)
	case h.Heartbeat:
		if !full || h.Seq != 0 || h.Elicits || h.HasAck || h.HasEcho || h.NextDue != 0 {
			return Header{}, fault.Errorf("%w: a heartbeat has more fields", ErrMalformed)
		}
	default:
		if err := in.complete(&h, full); err != nil {
			return Header{}, err
		}
	}
	h.Stamp = h.Time - stampsBefore + (h.Stamp-h.Time+stampsBefore)&stampMask
	return h, nil
}

// stampsBefore is by how many microseconds a stamp may lie before its tick's instant. After it may
// lie by the rest of the 16.8 s.
const stampsBefore = 1e6

// fields reads what follows the lead as it is written. full says that nothing was left out of tick
// and acknowledged number, sound that a server writes such fields.
func (in *Incoming) fields(r *BitReader, h *Header) (full, sound bool) {
	tick, number := nearBits, nearBits
	if full = r.Bool(); full {
		tick, number = tickBits, seqBits
	}
	h.Tick = clock.Tick(r.Bits(tick))
	sound = true
	if h.HasAck = r.Bool(); h.HasAck {
		h.Ack.Latest = Seq(r.Bits(number))
		h.Ack.History, sound = readHistory(r)
	}
	if h.HasEcho = r.Bool(); h.HasEcho {
		h.Echo = clock.Stamp(r.Bits(stampBits))
		h.EchoAt = clock.Stamp(r.Bits(stampBits))
	}
	if h.HasTime = r.Bool(); h.HasTime {
		h.Heartbeat = r.Bool()
		h.Time = clock.Stamp(r.Bits(timeBits))
		if r.Bool() {
			us := r.Bits(periodBits)
			sound = sound && us > 0
			h.Period = time.Duration(us) * time.Microsecond
		}
	}
	h.NextDue = Due(r.Bits(dueBits))
	return full, sound
}

// complete fills in what the header of a packet leaves out.
func (in *Incoming) complete(h *Header, full bool) error {
	if !in.Accepts(h.Seq) {
		return ErrDuplicate
	}
	before := in.before(h.Seq)
	if !full {
		tick := int64(before.tick) + 1 + int64(h.Tick-before.tick-1)&(nearRange-1)
		if tick > math.MaxUint32 {
			return fault.Errorf("%w: tick %d", ErrMalformed, tick)
		}
		h.Tick = clock.Tick(tick)
		if h.HasAck {
			h.Ack.Latest = before.acked + (h.Ack.Latest-before.acked)&(nearRange-1)
		}
	}
	if h.Tick <= before.tick || in.after(h.Seq) <= int64(h.Tick) || h.HasAck && before.acked.Newer(h.Ack.Latest) {
		return fault.Errorf("%w: tick %d, acknowledged %d", ErrMalformed, h.Tick, h.Ack.Latest)
	}
	if h.HasTime {
		return nil
	}
	l := in.line(h.Tick)
	if l == nil {
		return ErrLine
	}
	h.Time, h.Period = in.time(l, h.Tick), l.period
	return nil
}

// before returns the reference of the newest packet before s that was applied.
func (in *Incoming) before(s Seq) reference {
	latest := in.ack.Latest
	if s.Newer(latest) {
		s = latest + 1
	}
	for s--; latest-s <= Window; s-- {
		if in.has(s) {
			return in.ring[s%(2*Window)]
		}
	}
	return in.base
}

// after returns the tick of the oldest packet after s that was applied; one beyond all ticks if
// there is none.
func (in *Incoming) after(s Seq) int64 {
	for latest := in.ack.Latest; latest.Newer(s); {
		s++
		if in.has(s) {
			return int64(in.ring[s%(2*Window)].tick)
		}
	}
	return math.MaxUint32 + 1
}

// Applied notes that a datagram was applied completely. h is what Decode returned.
func (in *Incoming) Applied(h *Header) {
	if latest := in.ack.Latest; h.Seq.Newer(latest) {
		// The newest of those that leave the window becomes the base.
		for n := min(h.Seq-latest, Window+1); n > 0; n-- {
			if s := latest - Window + n - 1; in.has(s) {
				in.base = in.ring[s%(2*Window)]
				break
			}
		}
	}
	in.Received.Applied(h.Seq)
	in.ring[h.Seq%(2*Window)] = reference{h.Tick, h.Ack.Latest}
	if h.HasTime {
		in.learn(h)
	}
}

// has reports whether a packet in the window was applied.
func (in *Incoming) has(s Seq) bool {
	applied, _ := in.ack.Has(s)
	return applied
}

// line returns the newest known line that had begun at a tick, or nil.
func (in *Incoming) line(tick clock.Tick) *knownLine {
	for i := range in.lines[:in.known] {
		if l := &in.lines[i]; l.tick <= tick {
			return l
		}
	}
	return nil
}

// time returns when a tick of line l begins.
func (in *Incoming) time(l *knownLine, tick clock.Tick) clock.Stamp {
	period := l.period
	if period == 0 {
		period = in.period
	}
	return l.at + clock.Time(time.Duration(tick-l.tick)*period).Stamp()
}

// learn adds the line that a packet states, if it is not on the one before.
func (in *Incoming) learn(h *Header) {
	if l := in.line(h.Tick); l != nil && l.period == h.Period && h.Time-in.time(l, h.Tick)+1 <= 2 {
		return
	}
	i := 0
	for i < in.known && in.lines[i].tick > h.Tick {
		i++
	}
	if i == keptLines {
		return // older than all
	}
	copy(in.lines[i+1:], in.lines[i:])
	in.lines[i] = knownLine{h.Tick, h.Time, h.Period}
	in.known = min(in.known+1, keptLines)
}
