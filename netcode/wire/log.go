package wire

import (
	"math"

	"meanwhile/netcode/clock"
)

// LogSize is how many sent packets a Log remembers at most: at 60 packets a second the two seconds
// that a rewind may ask about, and twice the acknowledgement window.
const LogSize = 128

// LogTicks is for how many ticks a Log remembers at least what a packet carried, up to LogSize
// packets: those that a rewind may ask about, and some more. Time without a connection, or without
// any acknowledgement, does not count, see Resume and silence, until what came after it is
// forgotten. If fewer packets and fewer bytes suffice for that, it keeps fewer. Packets in flight,
// and those that no acknowledgement has spoken of yet, are always kept.
const LogTicks = 144

// silence is after how many ticks without an acknowledgement the time until it comes does not count
// for LogTicks.
const silence = LogTicks / 4

// leastRefs is for how many bytes of Refs there is room at least: what a slow connection has in
// flight, so that the room rarely grows.
const leastRefs = 896

// lossDistance is how many later packets must be acknowledged before one is taken for lost, so that
// mere reordering does not cause resends (RFC 9002 §6.1.1).
const lossDistance = 3

type packetState uint8

const (
	unused packetState = iota
	inFlight
	applied
	lost
)

// Packet is what a Log remembers of one sent packet.
type Packet struct {
	Seq   Seq
	Sent  clock.Time // right if it is less than 39 hours before that of the newest packet
	Tick  clock.Tick
	Size  int
	Note  int16  // for the owner
	Refs  []byte // what it carried; the meaning is the owner's. Charge takes a copy; see Acked
	state packetState
}

// Applied reports whether the peer acknowledged that it applied the packet.
func (p *Packet) Applied() bool { return p.state == applied }

// noted is a Packet in 20 bytes.
type noted struct {
	at   uint32 // where its Refs begin
	tick clock.Tick
	sent [3]uint16 // the lowest 48 bits
	n    uint16    // bytes of its Refs
	note int16
	size uint16 // and the state in the highest bits
}

const (
	sizeB   = 14
	maxSize = 1<<sizeB - 1
)

func (e *noted) state() packetState { return packetState(e.size >> sizeB) }

// A Log remembers the packets sent on one connection and what became of them: in flight, applied or
// lost. The zero Log is ready; the first packet is FirstSeq. A Packet that it returns is valid
// until the next call. Not safe for concurrent use.
type Log struct {
	ring    []noted // of a power of two; as many as were ever needed at once
	count   int     // packets remembered
	next    Seq     // sequence number of the next packet, minus FirstSeq
	checked Seq     // all before it, counted like next, are settled or forgotten; at most count behind next
	flying  int     // bytes in flight
	highest Seq     // newest acknowledged, counted like next
	before  uint64  // bit i: packet highest-1-i is acknowledged, too
	unsaid  Seq     // newest that no acknowledgement spoke of, counted like next, if missed is set
	missed  bool    // unsaid is set and recent
	any     bool    // highest is set and recent enough to be compared with
	long    bool    // half the range of sequence numbers has been sent: any number may lie in the past

	resumed clock.Tick // see Resume
	away    clock.Tick // ticks that do not count for packets from before it

	refs []byte // of all packets, the oldest first; between them are those that are not needed any more

	now        clock.Time // of the newest packet
	open, seen Packet
	opened     bool // the newest packet is open, and its Refs are there
}

// NextSeq returns the sequence number that Sent will give out.
func (l *Log) NextSeq() Seq { return l.next + FirstSeq }

// entry returns the entry of a packet that is remembered. n counts like next.
func (l *Log) entry(n Seq) *noted { return &l.ring[int(n)&(len(l.ring)-1)] }

// packet returns the Packet of a remembered entry.
func (l *Log) packet(n Seq) *Packet {
	e := l.entry(n)
	sent := clock.Time(e.sent[0]) | clock.Time(e.sent[1])<<16 | clock.Time(e.sent[2])<<32
	back := (l.now - sent) << 16 >> 16
	l.seen = Packet{Seq: n + FirstSeq, Sent: l.now - back, Tick: e.tick, Size: int(e.size & maxSize),
		Note: e.note, state: e.state()}
	if l.opened && n == l.next-1 {
		l.seen.Refs, l.seen.Note = l.open.Refs, l.open.Note
	} else if e.n > 0 {
		at := int(e.at)
		l.seen.Refs = l.refs[at : at+int(e.n) : at+int(e.n)]
	}
	return &l.seen
}

// Sent starts the entry of the next packet. The caller appends to Refs and calls Charge, before it
// sends anything else. LogSize and LogTicks say for how long the packet is remembered; one that is
// overwritten while in flight counts as lost.
func (l *Log) Sent(now clock.Time, tick clock.Tick, lostPacket func(*Packet)) *Packet {
	l.seal()
	l.now = now
	if l.count == len(l.ring) {
		oldest := l.next - Seq(l.count)
		switch e := l.at(oldest); {
		case e == nil || len(l.ring) < LogSize && !l.old(oldest, tick):
			old := l.ring
			l.ring = make([]noted, max(2*len(old), 16))
			for n := oldest; n != l.next; n++ {
				*l.entry(n) = old[int(n)&(len(old)-1)]
			}
		default:
			if e.state() == inFlight {
				l.settle(e, lost)
				lostPacket(l.packet(oldest))
			}
			l.count--
		}
	}
	*l.entry(l.next) = noted{tick: tick, sent: [3]uint16{uint16(now), uint16(now >> 16), uint16(now >> 32)},
		size: uint16(inFlight) << sizeB}
	l.count++
	l.open, l.opened = Packet{Seq: l.NextSeq(), Sent: now, Tick: tick, state: inFlight}, true
	if l.next++; l.next == 1<<15 {
		l.long = true
	}
	if int(l.next-l.checked) > l.count {
		l.checked = l.next - Seq(l.count) // the entry above was the oldest
	}
	if l.next-l.unsaid > LogSize {
		l.missed = false
	}
	if l.next-l.highest > 1<<14 {
		l.any = false // before the distance to it turns round: an ack after so long starts anew
	}
	return &l.open
}

// Resume says that nothing was sent between the newest packet and a tick, as there was no
// connection. This time does not count for LogTicks: what was sent last before it is what the peer
// shows until the next packets arrive, and the acknowledgement of it may only come now.
func (l *Log) Resume(tick clock.Tick) {
	newest := l.at(l.next - 1)
	if newest == nil {
		return
	}
	l.pause(newest.tick, tick)
}

// pause says that the ticks from one to another do not count for packets from before the latter.
func (l *Log) pause(from, to clock.Tick) {
	if int32(from-l.resumed) > LogTicks {
		l.away = 0 // the log has nothing from before the last time
	}
	l.away += to - max(from, l.resumed)
	l.resumed = to
}

// silent notes that an acknowledgement came after a silence, if so: what was sent meanwhile is new
// to a peer that hung, and shown by it for as long as if it had left just now.
func (l *Log) silent() {
	first := l.at(l.highest + 1)
	if first == nil && l.count > 0 {
		first = l.entry(l.next - Seq(l.count))
	}
	if first == nil {
		return
	}
	from, to := max(first.tick, l.resumed), l.entry(l.next-1).tick
	if to-min(from, to) > silence {
		l.pause(from, to)
	}
}

// old reports whether a remembered packet may be forgotten when one of a tick is sent. n counts
// like next. The acknowledgement of one that expired may still come: a peer that hangs applies what
// waits for it seconds later.
func (l *Log) old(n Seq, tick clock.Tick) bool {
	e := l.entry(n)
	if e.state() == inFlight || e.state() == lost && (!l.any || n.Newer(l.highest)) {
		return false
	}
	if e.tick >= l.resumed {
		return int32(tick-e.tick) > LogTicks
	}
	// Never longer than what came after the pause, or it would pass for newer than that.
	return int32(tick-l.away-e.tick) > LogTicks || int32(tick-l.resumed) > LogTicks
}

// at returns the entry of a packet, nil if it is not remembered. n counts like next.
func (l *Log) at(n Seq) *noted {
	if back := l.next - n; back == 0 || int(back) > l.count {
		return nil
	}
	return l.entry(n)
}

// Charge sets the size in bytes of the packet that was just sent, and keeps a copy of its Refs.
func (l *Log) Charge(p *Packet, size int) {
	e := l.entry(p.Seq - FirstSeq)
	size = min(max(size, 0), maxSize)
	e.size = e.size&^maxSize | uint16(size)
	p.Size = size
	l.flying += size
	l.seal()
}

// seal keeps the Refs of the newest packet.
func (l *Log) seal() {
	if !l.opened {
		return
	}
	refs, e := l.open.Refs, l.entry(l.next-1)
	l.opened, l.open.Refs = false, nil
	e.note = l.open.Note
	if len(refs) == 0 || len(refs) > 1<<16-1 {
		return
	}
	if len(l.refs)+len(refs) > cap(l.refs) {
		l.pack(len(refs), e.tick)
	}
	e.at, e.n = uint32(len(l.refs)), uint16(len(refs))
	l.refs = append(l.refs, refs...)
}

// pack makes room for the n bytes of the newest packet, of a tick: all Refs that are still needed
// move up.
func (l *Log) pack(n int, tick clock.Tick) {
	need := n
	for i := l.next - Seq(l.count); i != l.next; i++ {
		e := l.entry(i)
		if l.old(i, tick) {
			e.n = 0
		}
		need += int(e.n)
	}
	old := l.refs
	if l.refs = old[:0]; need+need/8 > cap(old) { // so that it does not move with each packet
		l.refs = make([]byte, 0, max((need+need/4+63)/64*64, leastRefs))
	}
	for i := l.next - Seq(l.count); i != l.next; i++ {
		e := l.entry(i)
		from := old[e.at : int(e.at)+int(e.n)]
		e.at = uint32(len(l.refs))
		l.refs = append(l.refs, from...)
	}
}

func (l *Log) settle(e *noted, s packetState) {
	if e.state() == inFlight {
		l.flying -= int(e.size & maxSize)
	}
	e.size = e.size&maxSize | uint16(s)<<sizeB
}

// InFlight returns the bytes of packets that are neither acknowledged nor taken for lost.
func (l *Log) InFlight() int { return l.flying }

// Get returns the entry of packet s, or nil if it is forgotten or was never sent.
func (l *Log) Get(s Seq) *Packet {
	if l.at(s-FirstSeq) == nil {
		return nil
	}
	return l.packet(s - FirstSeq)
}

// Credible reports whether Acked would apply an acknowledgement.
func (l *Log) Credible(a Ack) bool {
	back := l.NextSeq() - 1 - a.Latest
	return back < 1<<15 && (l.long || back <= l.next)
}

// Acked applies an acknowledgement of the peer. It calls delivered, oldest packet first, for each
// packet newly known to be applied, also one that was taken for lost before: late acknowledgements
// count. Then it calls missing for each packet newly taken for lost. delivered may shorten a
// packet's Refs: the rest is not kept.
//
// It returns false, and changes nothing, if the newest packet that a names was not sent: no honest
// peer says that. An honest peer may name the number before FirstSeq, which is no packet.
func (l *Log) Acked(a Ack, delivered, missing func(*Packet)) bool {
	if !l.Credible(a) {
		return false
	}
	for d := Window; d >= 0; d-- {
		s := a.Latest - Seq(d)
		if yes, _ := a.Has(s); !yes {
			continue
		}
		if e := l.at(s - FirstSeq); e != nil && e.state() != applied {
			l.settle(e, applied)
			p := l.packet(s - FirstSeq)
			delivered(p)
			e.n = min(e.n, uint16(len(p.Refs)))
		}
	}
	switch d := a.Latest - FirstSeq - l.highest; {
	case !l.any:
		l.silent()
		if n := a.Latest - FirstSeq; l.long || n > Window && n < 1<<15 {
			l.leave(a.Latest)
		}
		l.highest, l.before, l.any = a.Latest-FirstSeq, a.History, true
	case d == 0:
		l.before |= a.History
	case d < 1<<15:
		if d > Window+1 {
			l.leave(a.Latest)
		}
		l.silent()
		l.highest, l.before = l.highest+d, l.before<<d|1<<(d-1)|a.History
	default: // this acknowledgement was overtaken
		l.before |= a.History<<-d | 1<<(-d-1)
	}
	for int16(l.highest-l.checked) >= lossDistance {
		if e := l.at(l.checked); e != nil && e.state() == inFlight {
			l.settle(e, lost)
			missing(l.packet(l.checked))
		}
		l.checked++
	}
	return true
}

// Acknowledged returns the newest packet that is acknowledged, and which before it are; ok is false
// if there is none.
func (l *Log) Acknowledged() (a Ack, ok bool) { return Ack{l.highest + FirstSeq, l.before}, l.any }

// leave notes that packets before those that an acknowledgement speaks of remain unknown.
func (l *Log) leave(latest Seq) { l.unsaid, l.missed = latest-FirstSeq-Window-1, true }

// Unsaid returns the tick of the newest of the last LogSize packets that no acknowledgement spoke
// of, as too many came after it: whether the peer applied it, and those before it, is never known.
// It is 0 if there is none.
func (l *Log) Unsaid() clock.Tick {
	if !l.missed {
		return 0
	}
	e := l.at(l.unsaid)
	if e == nil {
		return 0
	}
	return e.tick
}

// AckedBefore returns which packets before s are acknowledged: bit i is packet s-1-i. It is also
// set for what is more than Window older than the newest that is acknowledged.
func (l *Log) AckedBefore(s Seq) uint64 {
	switch d := s - FirstSeq - l.highest; {
	case !l.any:
		return 0
	case d == 0:
		return l.before
	case d < 1<<15:
		return l.before<<d | 1<<(d-1)
	default:
		return l.before>>-d | ^(math.MaxUint64 >> -d)
	}
}

// Drop takes packet s for lost at once: it was discarded before it reached the path.
func (l *Log) Drop(s Seq, missing func(*Packet)) {
	if e := l.at(s - FirstSeq); e != nil && e.state() == inFlight {
		l.settle(e, lost)
		missing(l.packet(s - FirstSeq))
	}
}

// Expire takes for lost each packet that has been in flight since before the given instant.
func (l *Log) Expire(before clock.Time, missing func(*Packet)) {
	for s := l.checked; int16(l.next-s) > 0; s++ {
		e := l.at(s)
		if e == nil || e.state() != inFlight {
			continue
		}
		p := l.packet(s)
		if p.Sent >= before {
			return
		}
		l.settle(e, lost)
		missing(p)
	}
}

// Newest calls f for packets newest first, starting at s, until f returns false or the log ends.
func (l *Log) Newest(s Seq, f func(*Packet) bool) {
	for range LogSize {
		p := l.Get(s)
		if p == nil || !f(p) {
			return
		}
		s--
	}
}
