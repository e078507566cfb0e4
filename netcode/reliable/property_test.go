package reliable

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
)

// A network between one sender and one receiver, with acks that name packets one by one. Each step
// sends, delivers, duplicates, loses, acknowledges or lets time pass in any order; at the end the
// network behaves. Every message must come out once, in order, within the bounds of memory.
//
// seeds: R32, R46
func TestExactlyOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNetwork(t)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				size := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, 3*PartSize),
					rapid.IntRange(0, MaxMessage)).Draw(t, "size")
				n.send(Message{
					Tick:   clock.Tick(rapid.Uint32().Draw(t, "tick")),
					Entity: rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32()).Draw(t, "entity"),
					Kind:   rapid.Uint8().Draw(t, "kind"),
					AtOnce: rapid.Bool().Draw(t, "at once"),
				}, size)
			},
			"packets": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "packets") {
					n.packet(rapid.IntRange(0, 1100).Draw(t, "room"))
				}
			},
			"arrive": func(t *rapid.T) {
				if len(n.flying) > 0 {
					i := rapid.IntRange(0, len(n.flying)-1).Draw(t, "which")
					n.arrive(i, rapid.Bool().Draw(t, "duplicate"))
				}
			},
			"drop": func(t *rapid.T) {
				if len(n.flying) > 0 {
					n.drop(rapid.IntRange(0, len(n.flying)-1).Draw(t, "which"))
				}
			},
			"ack": func(t *rapid.T) {
				if len(n.applied) > 0 {
					n.ack(rapid.IntRange(0, len(n.applied)-1).Draw(t, "which"))
				}
			},
			"false alarm": func(t *rapid.T) { // a packet counts as lost, and arrives or has arrived all the same
				n.sender.Lost(n.seq - uint16(rapid.IntRange(0, 70).Draw(t, "back")))
			},
			"time":    func(t *rapid.T) { n.now = n.now.Add(rto * 2) },
			"resumed": func(t *rapid.T) { n.resume() },
			"":        func(t *rapid.T) { n.check() },
		})
		n.finish()
	})
}

type network struct {
	t        *rapid.T
	sender   *Sender
	receiver Receiver
	now      clock.Time
	seq      uint16
	flying   []packet
	applied  []packet // whose acks are on their way
	sent     []Message
	got      int
	session  int
}

type packet struct {
	session int
	seq     uint16
	b       []byte
}

func newNetwork(t *rapid.T) *network {
	s, err := NewSender(Config{MaxParts: 400, MaxBytes: 40000})
	if err != nil {
		t.Fatal(err)
	}
	n := &network{t: t, sender: s, seq: rapid.Uint16().Draw(t, "first seq")}
	s.base = rapid.Uint16().Draw(t, "first number")
	n.receiver.next = s.base
	return n
}

func (n *network) send(m Message, size int) {
	m.Body = body(size)
	if size > 0 {
		m.Body[0] = byte(len(n.sent))
	}
	if n.sender.Send(m) == nil {
		n.sent = append(n.sent, m)
	}
}

func (n *network) packet(room int) {
	n.now = n.now.Add(time.Millisecond)
	n.seq++
	before := n.sender.NeedsSend(n.now, rto)
	b := n.sender.Append(nil, n.seq, room, n.now, rto)
	if len(b) > room {
		n.t.Fatalf("%d bytes in room %d", len(b), room)
	}
	if room >= MinRoom && (len(b) > 0) != before {
		n.t.Fatalf("Due = %v, but Append wrote %d bytes in room %d", before, len(b), room)
	}
	if len(b) > 0 {
		n.flying = append(n.flying, packet{n.session, n.seq, b})
	}
}

func (n *network) arrive(i int, duplicate bool) {
	p := n.flying[i]
	if !duplicate {
		n.flying = append(n.flying[:i], n.flying[i+1:]...)
	}
	if used, err := n.receiver.Read(p.b); err != nil || used != len(p.b) {
		n.t.Fatalf("Read(%x) = %d, %v", p.b, used, err)
	}
	for m, ok := n.receiver.Next(); ok; m, ok = n.receiver.Next() {
		if n.got == len(n.sent) || !same(m, n.sent[n.got]) {
			n.t.Fatalf("message %d of %d is not the one sent: %+v", n.got, len(n.sent), m)
		}
		n.got++
	}
	n.applied = append(n.applied, p)
}

func (n *network) drop(i int) {
	n.sender.Lost(n.flying[i].seq)
	n.flying = append(n.flying[:i], n.flying[i+1:]...)
}

func (n *network) ack(i int) {
	p := n.applied[i]
	n.applied = append(n.applied[:i], n.applied[i+1:]...)
	if p.session == n.session {
		n.sender.Delivered(p.seq)
	}
}

// resume loses every packet and every ack of the path before.
func (n *network) resume() {
	n.session++
	n.flying, n.applied = nil, nil
	n.seq = uint16(n.session) * 1000
	n.sender.LostAll()
}

func (n *network) check() {
	s := n.sender
	if s.bodyBytes() > s.cfg.MaxBytes || s.count > s.cfg.MaxParts || len(s.body) > 2*s.cfg.MaxBytes ||
		len(s.notes) > maxNotes {
		n.t.Fatalf("sender holds %d parts, %d bytes, %d notes", s.count, s.bodyBytes(), len(s.notes))
	}
	if s.done&^s.sent != 0 || s.due&^s.sent != 0 || s.sent&^s.window() != 0 || s.done&1 != 0 {
		n.t.Fatalf("masks: sent %x done %x due %x of %d parts", s.sent, s.done, s.due, s.count)
	}
	if ahead := int16(n.receiver.next - s.base); ahead < 0 || ahead > Window {
		n.t.Fatalf("sender's base is %d, receiver's next %d", s.base, n.receiver.next)
	}
	if got := len(n.sent) - n.got; s.Pending() < got {
		n.t.Fatalf("%d pending, but %d have not come out", s.Pending(), got)
	}
	checkMemory(n.t, &n.receiver)
}

func (n *network) finish() {
	for rounds := 0; n.sender.Pending() > 0; rounds++ {
		if rounds > 2000 {
			n.t.Fatalf("%d of %d messages arrived, then no progress", n.got, len(n.sent))
		}
		n.now = n.now.Add(rto)
		n.packet(1100)
		for len(n.flying) > 0 {
			n.arrive(0, false)
		}
		for len(n.applied) > 0 {
			n.ack(0)
		}
		n.check()
	}
	if n.got != len(n.sent) || n.sender.bodyBytes() != 0 {
		n.t.Fatalf("%d of %d messages, %d bytes left", n.got, len(n.sent), n.sender.bodyBytes())
	}
}

// An hour of a bad path with the acks of a packet header: sequence numbers and message numbers
// wrap, 20 % of the packets and of the acks are lost, all of them are reordered, and for one second
// in each minute nothing arrives.
func TestLongRun(t *testing.T) {
	const (
		hz      = 60
		packets = 3600 * hz // 3.3 wraps
		history = 64        // packets that an ack names
		nacked  = 8         // packets behind the newest one applied: lost
	)
	type ack struct {
		latest uint16
		bits   uint64 // bit i: latest - i was applied
	}
	var (
		s        = newSender(t, Config{})
		r        Receiver
		down     [16][][]byte // arrivals by packet time modulo 16; the first two bytes are the seq
		up       [16][]ack
		got      ack
		reported uint64 // bit i: the fate of seq-i is reported
		noted    int
		sent     uint32
		received uint32
		key      = uint64(1)
	)
	random := func(n uint64) uint64 { // splitmix64
		key += 0x9E3779B97F4A7C15
		z := key
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return (z ^ z>>31) % n
	}
	for i := range packets {
		now := clock.Time(i) * clock.Time(time.Second/hz)
		outage := i%(60*hz) < hz
		seq := uint16(i)
		reported <<= 1
		for range random(3) { // one message a packet on average, so that numbers wrap too
			size := 4 + int(random(20))
			if random(50) == 0 {
				size = 4 + int(random(1000))
			}
			m := Message{Tick: clock.Tick(i), Entity: sent, Kind: uint8(sent), Body: body(size)}
			if s.Send(m) == nil {
				sent++
			}
		}
		b := s.Append([]byte{byte(seq), byte(seq >> 8)}, seq, 300, now, time.Second/2)
		if !outage && random(5) != 0 {
			at := (i + 1 + int(random(8))) % len(down)
			down[at] = append(down[at], b)
		}
		for _, b := range down[i%len(down)] {
			p := uint16(b[0]) | uint16(b[1])<<8
			if ahead := int16(p - got.latest); ahead > 0 {
				got.bits <<= uint(ahead)
				got.latest = p
			}
			back := got.latest - p
			if back >= history || got.bits>>back&1 != 0 {
				t.Fatalf("packet %d: the network duplicates or delays too much", p)
			}
			if len(b) > 2 {
				if _, err := r.Read(b[2:]); err != nil {
					t.Fatal(err)
				}
			}
			got.bits |= 1 << back
			for m, ok := r.Next(); ok; m, ok = r.Next() {
				if m.Entity != received || m.Kind != uint8(received) || !bytes.Equal(m.Body, body(len(m.Body))) {
					t.Fatalf("packet %d: got message %d, want %d", i, m.Entity, received)
				}
				received++
			}
		}
		down[i%len(down)] = nil
		if !outage && random(5) != 0 {
			at := (i + 1 + int(random(8))) % len(up)
			up[at] = append(up[at], got)
		}
		for _, a := range up[i%len(up)] {
			for k := range uint16(history) {
				p := a.latest - k
				back := seq - p
				switch {
				case back >= history || reported>>back&1 != 0:
				case a.bits>>k&1 != 0:
					s.Delivered(p)
					reported |= 1 << back
				case k >= nacked:
					s.Lost(p)
					reported |= 1 << back
				}
			}
		}
		up[i%len(up)] = nil
		noted = max(noted, s.noted)
	}
	if waiting := sent - received; waiting > 1000 || received < 1<<17 {
		t.Errorf("%d messages sent, %d received", sent, received)
	}
	t.Logf("%d messages, the last number is %d, up to %d packets noted", received, r.next, noted)
}

// Notes of packets that were never reported do not survive until their numbers are used again.
func TestForget(t *testing.T) {
	s := newSender(t, Config{})
	mustSend(t, s, text("a"))
	s.Append(nil, 7, 1000, 0, rto)
	for i := range 1<<16 - 1 {
		s.Append(nil, uint16(8+i), 1000, 0, rto) // nothing is due
	}
	s.Append(nil, 7, 1000, 0, rto)
	if s.Delivered(7); s.Pending() != 1 {
		t.Error("an ack of packet 65543 passed for one of packet 7")
	}
}

// steady runs one round between a Sender and a Receiver: two messages, one packet, its ack. h may
// be nil.
func steady(s *Sender, r *Receiver, h *Hold, seq uint16, small, large []byte, b []byte) (int, error) {
	now := clock.Time(seq) * 1e6
	tick := clock.Tick(seq) + 1000
	if err := s.Send(Message{Tick: tick, Entity: 17, Kind: 3, Body: small}); err != nil {
		return 0, err
	}
	if err := s.Send(Message{Tick: tick, Kind: 4, Body: large}); err != nil {
		return 0, err
	}
	b = s.Append(b[:0], seq, 1000, now, rto)
	if _, err := r.Read(b); err != nil {
		return 0, err
	}
	for m, ok := r.Next(); ok; m, ok = r.Next() {
		for h != nil && !h.Put(m) {
			h.Pop()
		}
	}
	s.Delivered(seq)
	if h == nil {
		return len(b), nil
	}
	for _, ok := h.Take(isDue); ok; _, ok = h.Take(isDue) {
	}
	return len(b), nil
}

func isDue(entity uint32, t clock.Tick) bool { return entity == 17 || t%2 == 0 }

func TestAllocations(t *testing.T) {
	s, r, h := newSender(t, Config{}), new(Receiver), new(Hold)
	small, large, b := body(12), body(500), make([]byte, 0, 1200)
	seq := uint16(0)
	round := func() {
		if _, err := steady(s, r, h, seq, small, large, b); err != nil {
			t.Fatal(err)
		}
		seq++
	}
	for range 2 * maxHoldMessages {
		round()
	}
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("%v allocations a round, want 0", n)
	}
	if n := testing.AllocsPerRun(1000, func() { b = s.Append(b[:0], seq, 1000, 0, rto); seq++ }); n != 0 {
		t.Errorf("%v allocations with nothing due, want 0", n)
	}
}

func BenchmarkRound(b *testing.B) {
	for _, size := range []int{0, 500} {
		b.Run(fmt.Sprintf("body=12+%d", size), func(b *testing.B) {
			s, r := newSender(b, Config{}), new(Receiver)
			small, large, buf := body(12), body(size), make([]byte, 0, 1200)
			b.ReportAllocs()
			seq, wire := uint16(0), 0
			for b.Loop() {
				n, err := steady(s, r, nil, seq, small, large, buf)
				if err != nil {
					b.Fatal(err)
				}
				seq++
				wire += n
			}
			b.ReportMetric(float64(wire)/float64(b.N), "wire-B/op")
		})
	}
}

func BenchmarkNothingDue(b *testing.B) {
	s := newSender(b, Config{})
	buf := make([]byte, 0, 100)
	seq := uint16(0)
	for b.Loop() {
		buf = s.Append(buf[:0], seq, 1000, 0, rto)
		s.Delivered(seq)
		seq++
	}
}
