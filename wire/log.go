package wire

import "meanwhile/clock"

// LogSize is how many sent packets a Log remembers: at 60 packets a second the two seconds that a
// rewind may ask about, and twice the acknowledgement window.
const LogSize = 128

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
	Sent  clock.Time
	Tick  clock.Tick
	Size  int
	Refs  []uint32 // what it carried; the meaning is the owner's
	state packetState
}

// Applied reports whether the peer has said that it applied the packet.
func (p *Packet) Applied() bool { return p.state == applied }

// A Log remembers the packets sent on one connection and what became of them.
// The zero Log is ready; the first packet is FirstSeq. Not safe for concurrent use.
type Log struct {
	ring    [LogSize]Packet
	next    Seq  // sequence number of the next packet, minus FirstSeq
	checked Seq  // all before it, counted like next, are settled or forgotten; at most LogSize behind next
	flying  int  // bytes in flight
	highest Seq  // newest acknowledged, counted like next
	any     bool // highest is set and recent enough to be compared with
	long    bool // half the range of sequence numbers has been sent: any number may lie in the past
}

// NextSeq returns the sequence number that Sent will give out.
func (l *Log) NextSeq() Seq { return l.next + FirstSeq }

// Sent starts the entry of the next packet. The caller appends to Refs and calls Charge; the entry stays
// valid until LogSize packets later. An entry that is overwritten while in flight counts as lost.
func (l *Log) Sent(now clock.Time, tick clock.Tick, lostPacket func(*Packet)) *Packet {
	p := &l.ring[l.next%LogSize]
	if p.state == inFlight {
		l.settle(p, lost)
		lostPacket(p)
	}
	*p = Packet{Seq: l.NextSeq(), Sent: now, Tick: tick, Refs: p.Refs[:0], state: inFlight}
	if l.next++; l.next == 1<<15 {
		l.long = true
	}
	if l.next-l.checked > LogSize {
		l.checked = l.next - LogSize // the entry above was the oldest
	}
	if l.next-l.highest > 1<<14 {
		l.any = false // before the distance to it turns round: an ack after so long starts anew
	}
	return p
}

// Charge notes the size in bytes of a packet just sent.
func (l *Log) Charge(p *Packet, size int) { p.Size = size; l.flying += size }

func (l *Log) settle(p *Packet, s packetState) {
	if p.state == inFlight {
		l.flying -= p.Size
	}
	p.state = s
}

// InFlight returns the bytes sent and neither acknowledged nor taken for lost.
func (l *Log) InFlight() int { return l.flying }

// Get returns the entry of packet s, or nil if it is forgotten or was never sent.
func (l *Log) Get(s Seq) *Packet {
	p := &l.ring[(s-FirstSeq)%LogSize]
	if p.state == unused || p.Seq != s {
		return nil
	}
	return p
}

// Acked takes in what the peer acknowledges. It calls delivered, oldest packet first, for each packet
// newly known to have been applied (also one that was taken for lost before: late acknowledgements count)
// and then missing for each newly taken for lost. It returns false, and changes nothing, if the newest packet
// that a names was not sent: then the peer is not what it claims to be. The number before FirstSeq is no packet
// but an honest thing to say.
func (l *Log) Acked(a Ack, delivered, missing func(*Packet)) bool {
	if back := l.NextSeq() - 1 - a.Latest; back >= 1<<15 || !l.long && back > l.next {
		return false
	}
	for d := Window; d >= 0; d-- {
		s := a.Latest - Seq(d)
		if yes, _ := a.Has(s); !yes {
			continue
		}
		if p := l.Get(s); p != nil && p.state != applied {
			l.settle(p, applied)
			delivered(p)
		}
	}
	latest := a.Latest - FirstSeq
	if !l.any || latest.Newer(l.highest) {
		l.highest, l.any = latest, true
	}
	for int16(l.highest-l.checked) >= lossDistance {
		if p := l.Get(l.checked + FirstSeq); p != nil && p.state == inFlight {
			l.settle(p, lost)
			missing(p)
		}
		l.checked++
	}
	return true
}

// Drop takes packet s for lost at once: it was thrown away before it reached the path.
func (l *Log) Drop(s Seq, missing func(*Packet)) {
	if p := l.Get(s); p != nil && p.state == inFlight {
		l.settle(p, lost)
		missing(p)
	}
}

// Expire takes for lost what has been in flight since before the given instant.
func (l *Log) Expire(before clock.Time, missing func(*Packet)) {
	for s := l.checked; int16(l.next-s) > 0; s++ {
		p := l.Get(s + FirstSeq)
		if p == nil || p.state != inFlight {
			continue
		}
		if p.Sent >= before {
			return
		}
		l.settle(p, lost)
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
