package wire

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
)

// naiveLog remembers every packet for good, numbered without wrapping.
type naiveLog struct {
	packets []naivePacket // from number first on
	first   int64
	highest int64 // newest acknowledged, -1: none
}

type naivePacket struct {
	sent  clock.Time
	size  int
	state packetState
}

func (n *naiveLog) next() int64 { return n.first + int64(len(n.packets)) }

// get returns a packet, if a Log would still remember it.
func (n *naiveLog) get(s int64) *naivePacket {
	if i := s - n.first; i >= 0 && i < int64(len(n.packets)) && i >= int64(len(n.packets))-LogSize {
		return &n.packets[i]
	}
	return nil
}

func (n *naiveLog) inFlight() (bytes int) {
	for _, p := range n.packets {
		if p.state == inFlight {
			bytes += p.size
		}
	}
	return bytes
}

// told collects what a Log reports, in order.
type told []string

func (x *told) f(what string) func(*Packet) {
	return func(p *Packet) { *x = append(*x, fmt.Sprintf("%s %d of %d bytes", what, p.Seq, p.Size)) }
}

// carries is what packet s carries, of many sizes.
func carries(s int64) []byte {
	b := make([]byte, s*s%97)
	for i := range b {
		b[i] = byte(s + int64(i))
	}
	return b
}

// logPair is a Log beside a naive one, and what both reported.
type logPair struct {
	l    Log
	n    naiveLog
	now  clock.Time
	got  told
	want told
}

// newLogPair returns a pair as if many packets had been sent before, and all of them settled.
func newLogPair(t *rapid.T) *logPair {
	edges := []int64{0, 100, 1<<15 - 200, 1<<15 - 70, 1<<16 - 300, 1<<16 - 60, 1 << 16}
	first := rapid.SampledFrom(edges).Draw(t, "first") + int64(FirstSeq)
	next := Seq(first) - FirstSeq
	p := &logPair{l: Log{next: next, checked: next, highest: next - 1, long: first > 1<<15},
		n: naiveLog{first: first, highest: -1}}
	if p.l.any = p.l.long; p.l.any {
		p.n.highest = first - 1
	}
	return p
}

func (p *logPair) expect(what string, s int64, of *naivePacket) {
	p.want = append(p.want, fmt.Sprintf("%s %d of %d bytes", what, Seq(s), of.size))
}

// lose makes a packet of the naive log lost, if it is in flight.
func (p *logPair) lose(s int64) {
	if of := p.n.get(s); of != nil && of.state == inFlight {
		of.state = lost
		p.expect("lost", s, of)
	}
}

func (p *logPair) send(t *rapid.T) {
	p.now += clock.Time(rapid.IntRange(0, 3).Draw(t, "wait"))
	s := p.n.next()
	p.lose(s - LogSize)
	if p.l.NextSeq() != Seq(s) {
		t.Fatalf("NextSeq %d, want %d", p.l.NextSeq(), Seq(s))
	}
	sent := p.l.Sent(p.now, clock.Tick(s), p.got.f("lost"))
	if len(sent.Refs) != 0 || sent.Note != 0 || sent.Seq != Seq(s) || sent.Applied() {
		t.Fatalf("packet %d begins as %+v", s, sent)
	}
	sent.Refs, sent.Note = carries(s), int16(s)
	size := rapid.IntRange(0, MaxDatagram).Draw(t, "size")
	if p.l.Charge(sent, size); sent.Size != size {
		t.Fatalf("a packet of %d bytes has %d", size, sent.Size)
	}
	p.n.packets = append(p.n.packets, naivePacket{sent: p.now, size: size, state: inFlight})
}

func (p *logPair) ack(t *rapid.T) {
	backs := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 10), rapid.IntRange(0, 200))
	newest := p.n.next() - 1 - int64(backs.Draw(t, "back"))
	if newest < int64(FirstSeq)-1 {
		return // refused, see TestAckOfNothing
	}
	a := Ack{Latest: Seq(newest), History: rapid.Uint64().Draw(t, "history")}
	for s := newest - Window; s <= newest; s++ {
		yes := s == newest || a.History>>(newest-s-1)&1 != 0
		if of := p.n.get(s); yes && of != nil && of.state != applied {
			of.state = applied
			p.expect("delivered", s, of)
		}
	}
	p.n.highest = max(p.n.highest, newest)
	for s := p.n.first; s <= p.n.highest-lossDistance; s++ {
		p.lose(s)
	}
	if !p.l.Acked(a, p.got.f("delivered"), p.got.f("lost")) {
		t.Fatalf("ack %+v is refused after %d packets from %d on", a, len(p.n.packets), p.n.first)
	}
}

func (p *logPair) drop(t *rapid.T) {
	s := p.n.next() - 1 - int64(rapid.IntRange(-2, 200).Draw(t, "back"))
	p.lose(s)
	p.l.Drop(Seq(s), p.got.f("lost"))
}

func (p *logPair) expire(t *rapid.T) {
	before := p.now - clock.Time(rapid.IntRange(-1, 200).Draw(t, "age"))
	for i := range p.n.packets {
		if p.n.packets[i].sent < before {
			p.lose(p.n.first + int64(i))
		}
	}
	p.l.Expire(before, p.got.f("lost"))
}

// ackOfTheFuture acknowledges a packet that was not sent.
func (p *logPair) ackOfTheFuture(t *rapid.T) {
	before := p.l.flying
	ahead := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 1<<15-1)).Draw(t, "ahead")
	a := Ack{Latest: p.l.NextSeq() + Seq(ahead), History: ^uint64(0)}
	if p.l.Acked(a, p.got.f("delivered"), p.got.f("lost")) || p.l.flying != before {
		t.Fatalf("an ack of packet %d is accepted, the next one is %d", a.Latest, p.l.NextSeq())
	}
}

func (p *logPair) check(t *rapid.T) {
	if !slices.Equal(p.got, p.want) {
		t.Fatalf("reported %v\nwant %v", p.got, p.want)
	}
	p.got, p.want = p.got[:0], p.want[:0]
	if p.l.InFlight() != p.n.inFlight() {
		t.Fatalf("%d bytes in flight, want %d", p.l.InFlight(), p.n.inFlight())
	}
	for s := p.n.next() - LogSize - 2; s < p.n.next()+2; s++ {
		got, naive := p.l.Get(Seq(s)), p.n.get(s)
		if (got != nil) != (naive != nil) {
			t.Fatalf("packet %d is remembered: %v, want %v", s, got != nil, naive != nil)
		}
		if got != nil && (got.state != naive.state || got.Sent != naive.sent || got.Tick != clock.Tick(s) ||
			got.Note != int16(s) || !bytes.Equal(got.Refs, carries(s))) {
			t.Fatalf("packet %d is remembered as %+v, want %+v", s, got, naive)
		}
	}
	for _, s := range []int64{p.n.next(), p.n.next() - 1, p.n.next() - 40, p.n.next() - 100} {
		before := p.l.AckedBefore(Seq(s))
		for i := range int64(Window) {
			at := s - 1 - i
			naive := p.n.get(at)
			if naive == nil {
				continue
			}
			want := naive.state == applied || p.n.highest >= 0 && p.n.highest-at > Window
			if before>>i&1 != 0 != want {
				t.Fatalf("packet %d is acknowledged: %v, want %v; the newest is %d", at, !want, want, p.n.highest)
			}
		}
	}
	back := p.n.next()
	p.l.Newest(p.l.NextSeq()-1, func(got *Packet) bool {
		if back--; got.Seq != Seq(back) {
			t.Fatalf("Newest gives %d where %d follows", got.Seq, back)
		}
		return true
	})
	if want := max(p.n.next()-LogSize, p.n.first); back != want {
		t.Fatalf("Newest ends at %d, want %d", back, want)
	}
}

// The log agrees with a naive one that remembers everything that was ever sent, whatever is
// acknowledged, lost, dropped, expired or forgotten, in any order and at every place of the range
// of numbers.
func TestLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newLogPair(t)
		t.Repeat(map[string]func(*rapid.T){
			"send": p.send,
			"burst": func(t *rapid.T) {
				for range rapid.IntRange(2, 150).Draw(t, "packets") {
					p.send(t)
				}
			},
			"ack":     p.ack,
			"drop":    p.drop,
			"expire":  p.expire,
			"hostile": p.ackOfTheFuture,
			"":        p.check,
		})
	})
}

// An acknowledgement may name the number before the first packet, which means "nothing yet", and no
// number before that.
func TestAckOfNothing(t *testing.T) {
	fail := func(p *Packet) { t.Errorf("told of packet %d", p.Seq) }
	var l Log
	nothing := FirstSeq
	nothing--
	for sent := range 5 {
		for _, c := range []struct {
			latest Seq
			want   bool
		}{{nothing, true}, {nothing - 1, false}, {nothing - 100, false}, {1 << 15, false}, {40000, false},
			{l.NextSeq(), false}} {
			if got := l.Acked(Ack{Latest: c.latest, History: ^uint64(0)}, fail, fail); got != c.want {
				t.Errorf("after %d packets an ack of %d is taken: %v", sent, c.latest, got)
			}
		}
		l.Sent(0, 1, fail)
	}
}

// A peer that says nothing for more than half the range of numbers, and then speaks again, is
// understood.
func TestLogAfterLongSilence(t *testing.T) {
	for _, silence := range []int{1 << 14, 1<<15 - 1, 1 << 15, 1<<15 + 1, 50000, 1 << 16, 3 << 16} {
		var l Log
		var x told
		heard := l.Sent(0, 1, x.f("lost")).Seq
		l.Acked(Ack{Latest: heard, History: ^uint64(0)}, x.f("delivered"), x.f("lost"))
		x = nil
		for i := range silence {
			l.Charge(l.Sent(clock.Time(i), 2, x.f("lost")), 10)
		}
		if len(x) != silence-LogSize || l.InFlight() != LogSize*10 {
			t.Fatalf("%d packets: %d lost when they were forgotten, %d bytes in flight", silence, len(x), l.InFlight())
		}
		x = nil
		l.Expire(clock.Time(silence-LogSize/2), x.f("lost"))
		if len(x) != LogSize/2 {
			t.Errorf("%d packets: %d of the %d that are left expired, want half", silence, len(x), LogSize)
		}
		x = nil
		last := l.NextSeq() - 1
		if !l.Acked(Ack{Latest: last}, x.f("delivered"), x.f("lost")) || len(x) != 1+LogSize/2-lossDistance ||
			l.InFlight() != 2*10 {
			t.Errorf("%d packets: after an ack of the last one %v, %d bytes in flight", silence, x, l.InFlight())
		}
	}
}

// Once half the range of numbers has been sent any of them may lie in the past: an honest ack that
// reaches back across the wrap is taken, one of a packet that was never sent is not.
func TestLogAcrossTheWrap(t *testing.T) {
	var l Log
	var x told
	for i := range 1<<16 + 2 {
		l.Sent(clock.Time(i), 1, x.f("lost"))
		a := Ack{Latest: l.NextSeq() - 1, History: ^uint64(0)}
		if i >= Window {
			a.Latest -= Window / 2 // half a window late, as on a long path
		}
		if !l.Acked(a, x.f("delivered"), x.f("lost")) {
			t.Fatalf("after %d packets an ack of %d is refused", i+1, a.Latest)
		}
		if p := l.Get(a.Latest); !p.Applied() || l.Get(l.NextSeq()-1).Applied() != (i < Window) {
			t.Fatalf("after %d packets an ack of %d: applied %v, the last one %v", i+1, a.Latest, p.Applied(),
				l.Get(l.NextSeq()-1).Applied())
		}
		if l.Acked(Ack{Latest: l.NextSeq()}, x.f("delivered"), x.f("lost")) {
			t.Fatalf("after %d packets an ack of the next is taken", i+1)
		}
		if x = x[:0]; i == 1<<15 && !l.long {
			t.Fatal("half the range is not noticed")
		}
	}
}

// Newest begins at the given packet and ends when the callback returns false.
func TestNewestStops(t *testing.T) {
	var l Log
	for range 20 {
		l.Sent(0, 1, nil)
	}
	var seen []Seq
	l.Newest(15, func(p *Packet) bool { seen = append(seen, p.Seq); return p.Seq > 13 })
	if !slices.Equal(seen, []Seq{15, 14, 13}) {
		t.Errorf("seen %v, want 15, 14, 13", seen)
	}
}

// Late acknowledgements count: what was taken for lost and had arrived is reported as delivered,
// once.
func TestLateAck(t *testing.T) {
	var l Log
	var x told
	for range 10 {
		l.Charge(l.Sent(0, 1, x.f("lost")), 1)
	}
	step := func(name string, a Ack, want ...string) {
		t.Helper()
		x = nil
		if !l.Acked(a, x.f("delivered"), x.f("lost")) || !slices.Equal(x, want) {
			t.Errorf("%s: %v, want %v", name, x, want)
		}
	}
	step("reordered by two", Ack{Latest: 3}, "delivered 3 of 1 bytes")
	step("reordered by three", Ack{Latest: 4, History: 1}, "delivered 4 of 1 bytes", "lost 1 of 1 bytes")
	step("late", Ack{Latest: 4, History: 0b111}, "delivered 1 of 1 bytes", "delivered 2 of 1 bytes")
	step("again", Ack{Latest: 4, History: 0b111})
	step("an older ack", Ack{Latest: 3, History: 0b11})
	x = nil
	if l.Drop(7, x.f("lost")); len(x) != 1 {
		t.Errorf("dropped: %v", x)
	}
	step("dropped, but arrived", Ack{Latest: 7}, "delivered 7 of 1 bytes") // 5 and 6 may still come
	if l.InFlight() != 5 {
		t.Errorf("%d bytes in flight, want 5: of 5, 6, 8, 9 and 10", l.InFlight())
	}
}

func TestNoAllocations(t *testing.T) {
	var l Log
	var r Received
	var w BitWriter
	var br BitReader
	buf, refs := make([]byte, 0, MaxDatagram), make([]byte, 0, 30)
	count := 0
	noted := func(*Packet) { count++ }
	step := func() {
		p := l.Sent(0, 1, noted)
		refs = refs[:0]
		for i := range 30 {
			refs = append(refs, byte(i))
		}
		p.Refs = refs
		h := Header{Seq: p.Seq, HasAck: true, Ack: Ack{Latest: p.Seq, History: 5}}
		w.Reset(buf)
		h.Append(&w, Known{Ack: p.Seq - 5})
		for i := range 100 {
			w.Varint(int64(i*1000), 4)
		}
		b := w.Bytes()
		l.Charge(p, len(b))
		got, err := DecodeUp(&br, b, p.Seq+1)
		if err != nil || !r.Accepts(got.Seq) {
			t.Fatal("an honest packet is refused")
		}
		for range 100 {
			br.Varint(4)
		}
		r.Applied(got.Seq)
		a, _ := r.Ack()
		if p.Seq%7 == 0 {
			return // not acknowledged this time
		}
		l.Acked(a, noted, noted)
		l.Expire(0, noted)
	}
	for range 2 * LogSize {
		step() // each entry's Refs grow once
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
	if count == 0 {
		t.Error("nothing was reported")
	}
}

// Refs that nobody needs once their packet arrived take no memory, however long the log is.
func TestLogForgetsWhatArrived(t *testing.T) {
	var l Log
	refs := make([]byte, 100)
	for n := range 1000 {
		p := l.Sent(0, clock.Tick(n), func(*Packet) {})
		p.Refs = refs
		l.Charge(p, 500)
		l.Acked(Ack{Latest: p.Seq - 2, History: ^uint64(0)}, func(p *Packet) { p.Refs = nil }, func(*Packet) {})
	}
	if cap(l.refs) > leastRefs {
		t.Errorf("room for %d bytes of Refs, with 300 in flight", cap(l.refs))
	}
}

func BenchmarkLog(b *testing.B) {
	var l Log
	refs := [...]byte{1, 2, 3}
	nothing := func(*Packet) {}
	for b.Loop() {
		p := l.Sent(0, 1, nothing)
		p.Refs = refs[:]
		l.Charge(p, 100)
		l.Acked(Ack{Latest: p.Seq - 4, History: ^uint64(0) &^ 16}, nothing, nothing)
	}
}

// However rarely packets are sent, and whatever they carry: all of the last LogTicks is there, of
// up to LogSize packets, and so is what is in flight; of what arrived as much as delivered left. Of
// a slow connection not much more is kept.
func TestLogOfFewPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Log
		every := rapid.IntRange(1, 40).Draw(t, "every")
		size := rapid.IntRange(0, 300).Draw(t, "size")
		load := func(n Seq) []byte {
			b := make([]byte, int(n)*7919%(size+1))
			for i := range b {
				b[i] = byte(int(n) + i)
			}
			return b
		}
		kept := func(s Seq) []byte { // of those that arrived a part is cut off
			b := load(s)
			if s%5 != 0 {
				b = b[:len(b)-len(b)/int(s%3+1)]
			}
			return b
		}
		lost := 0
		for n := Seq(1); n < 600; n++ {
			tick := clock.Tick(int(n) * every)
			p := l.Sent(clock.Time(tick)<<24, tick, func(*Packet) { lost++ })
			p.Refs = load(p.Seq)
			l.Charge(p, 100)
			if n%5 != 0 {
				cut := func(p *Packet) { p.Refs = p.Refs[:len(p.Refs)-len(p.Refs)/int(p.Seq%3+1)] }
				l.Acked(Ack{Latest: p.Seq}, cut, func(p *Packet) {
					if string(p.Refs) != string(load(p.Seq)) {
						t.Fatalf("packet %d is lost with %d bytes, want %d", p.Seq, len(p.Refs), len(load(p.Seq)))
					}
				})
			}
			for s := n; s > 0 && n-s < LogSize; s-- {
				age := int(n-s) * every
				p := l.Get(s)
				if age > LogTicks {
					break
				}
				if p == nil || p.Tick != tick-clock.Tick(age) || p.Sent != clock.Time(p.Tick)<<24 ||
					string(p.Refs) != string(kept(s)) {
					t.Fatalf("packet %d of %d, one in %d ticks, is remembered as %+v", s, n, every, p)
				}
			}
		}
		if lost != 0 {
			t.Errorf("%d lost", lost)
		}
		need := min(LogTicks/every+2, LogSize)
		if most := max(2*need, 16); len(l.ring) > most {
			t.Errorf("one packet in %d ticks: room for %d, %d are needed", every, len(l.ring), need)
		}
		if most := max((need+2)*size*5/4+300+64, leastRefs); cap(l.refs) > most {
			t.Errorf("one packet in %d ticks with up to %d bytes: room for %d", every, size, cap(l.refs))
		}
	})
}

// Time without a connection makes nothing old: what was sent before it is there for LogTicks more
// of other time, though it was acknowledged only afterwards, and then it is forgotten.
func TestLogResumes(t *testing.T) {
	for _, gone := range [][]clock.Tick{{500}, {120, 60}, {100, 0}} {
		var l Log
		tick, before := clock.Tick(0), Seq(0)
		nothing := func(*Packet) {}
		send := func(ticks clock.Tick) {
			for range ticks / 2 {
				tick += 2
				p := l.Sent(0, tick, nothing)
				p.Refs = carries(int64(p.Seq))
				l.Charge(p, 100)
			}
		}
		send(20)
		before = l.NextSeq() - 1
		paused := clock.Tick(0)
		for _, ticks := range gone {
			tick += ticks
			paused += ticks
			l.Resume(tick)
			l.Resume(tick) // without a packet between them
			l.Expire(1<<62, nothing)
			send(20)
			l.Acked(Ack{Latest: l.NextSeq() - 1, History: ^uint64(0)}, nothing, nothing)
		}
		for range 100 {
			send(2)
			l.Acked(Ack{Latest: l.NextSeq() - 1}, nothing, nothing)
			l.pack(0, tick) // forgets what it may
			p := l.Get(before)
			age := tick - paused - 20
			if there := p != nil && string(p.Refs) == string(carries(int64(before))); there != (age <= LogTicks) {
				t.Fatalf("away for %v: at an age of %d ticks packet %d is remembered as %+v", gone, age, before, p)
			}
		}
	}
}

// What a peer that hung applies seconds later is remembered for as long as if it had just been sent:
// it is on the screen until newer packets come.
func TestSilenceDoesNotCount(t *testing.T) {
	for _, first := range []bool{false, true} {
		var l Log
		nothing := func(*Packet) {}
		tick := clock.Tick(1)
		send := func() sentAt {
			p := l.Sent(0, tick, nothing)
			p.Refs = carries(int64(tick))
			l.Charge(p, 100)
			tick += 3
			return sentAt{p.Seq, tick - 3}
		}
		answer := func() { l.Acked(Ack{Latest: l.NextSeq() - 1, History: math.MaxUint64}, nothing, nothing) }
		if send(); !first {
			answer()
		}
		early := send()
		for range Window - 1 { // 3 ticks each: longer than LogTicks
			send()
		}
		for i := range clock.Tick(LogTicks / 3) {
			if answer(); i > 0 && i < LogTicks/3-1 {
				if p := l.Get(early.seq); p == nil || !bytes.Equal(p.Refs, carries(int64(early.tick))) {
					t.Fatalf("first %v: %d ticks after the answer packet %d is %+v", first, 3*i, early.seq, p)
				}
			}
			send()
		}
		for range LogSize {
			send()
			answer()
		}
		if p := l.Get(early.seq); p != nil {
			t.Errorf("first %v: packet %d is remembered for ever: %+v", first, early.seq, p)
		}
	}
}

// sentAt names a packet.
type sentAt struct {
	seq  Seq
	tick clock.Tick
}

// After a long outage of the way back one acknowledgement speaks of the newest packets alone. Of
// those before it nobody learns whether they arrived; a log knows that as long as it has them.
func TestUnsaid(t *testing.T) {
	nothing := func(*Packet) {}
	for _, from := range []int{0, 1<<16 - 100} {
		for _, c := range []struct{ answered, silent, unsaid int }{ // indexes, -1: none
			{10, Window + 1, -1},
			{10, Window + 2, 11},
			{10, 2 * Window, 10 + Window - 1},
			{-1, Window + 1, -1},
			{-1, Window + 2, 0},
		} {
			if c.answered < 0 && from > 0 {
				continue // not the first acknowledgement of all
			}
			var l Log
			send := func() { l.Charge(l.Sent(0, clock.Tick(int(l.next)+1), nothing), 1) }
			answer := func() { l.Acked(Ack{Latest: l.NextSeq() - 1, History: math.MaxUint64}, nothing, nothing) }
			for range from {
				send()
				answer()
			}
			if c.answered >= 0 {
				for range c.answered + 1 {
					send()
				}
				answer()
			}
			for range c.silent {
				send()
			}
			if answer(); c.unsaid < 0 && l.Unsaid() != 0 {
				t.Errorf("%+v: the packet of tick %d is unsaid", c, l.Unsaid())
			}
			if want := clock.Tick(uint16(from+c.unsaid)) + 1; c.unsaid >= 0 && l.Unsaid() != want {
				t.Errorf("%+v: the packet of tick %d is unsaid, want %d", c, l.Unsaid(), want)
			}
			for i := range 1<<16 + LogSize {
				if send(); l.Unsaid() != 0 && i > LogSize {
					t.Fatalf("%+v: the packet of tick %d is unsaid %d packets later", c, l.Unsaid(), i)
				}
				answer()
			}
		}
	}
}

// A peer that hangs applies what waited for it seconds later. Until an acknowledgement speaks of
// them, packets stay with all that they carried, though they expired long ago.
func TestLogKeepsWhatNobodyAnswered(t *testing.T) {
	for _, every := range []clock.Tick{1, 5, 10} {
		var l Log
		nothing := func(*Packet) {}
		send := func(n int) {
			for range n {
				tick := clock.Tick(l.NextSeq()) * every
				l.Expire(clock.Time(tick-min(tick, 20)), nothing)
				p := l.Sent(clock.Time(tick), tick, nothing)
				p.Refs = carries(int64(p.Seq))
				l.Charge(p, 100)
			}
		}
		send(10)
		l.Acked(Ack{Latest: l.NextSeq() - 1, History: math.MaxUint64}, nothing, nothing)
		first := l.NextSeq()
		send(Window + 1)
		l.Acked(Ack{Latest: l.NextSeq() - 1, History: math.MaxUint64}, func(p *Packet) {
			if p.Seq != first || !bytes.Equal(p.Refs, carries(int64(p.Seq))) {
				t.Fatalf("packet %d is delivered with %d bytes, want packet %d", p.Seq, len(p.Refs), first)
			}
			first++
		}, nothing)
		if first != l.NextSeq() {
			t.Errorf("one packet in %d ticks: %d of %d are not delivered", every, l.NextSeq()-first, Window+1)
		}
		if send(2000); len(l.ring) != LogSize {
			t.Errorf("room for %d packets, want %d", len(l.ring), LogSize)
		}
	}
}

// What a Log remembers has no gap: where a packet has lost what it carried, so have all before it,
// also those from before a silence or without a connection. Or the record before the right one
// would be found.
func TestLogForgetsInOrder(t *testing.T) {
	nothing := func(*Packet) {}
	for _, resumes := range []bool{false, true} {
		for _, every := range []clock.Tick{1, 3} {
			var l Log
			answer := func() { l.Acked(Ack{Latest: l.NextSeq() - 1, History: math.MaxUint64}, nothing, nothing) }
			tick := clock.Tick(0)
			send := func() {
				tick += every
				p := l.Sent(clock.Time(tick), tick, nothing)
				p.Refs = append(p.Refs, make([]byte, 10)...)
				l.Charge(p, 100)
			}
			for range 60 {
				send()
				answer()
			}
			if resumes {
				tick += 100
				l.Resume(tick)
			} else {
				for range 100 / every {
					send()
				}
				answer()
			}
			for i := range 300 {
				send()
				answer()
				forgotten, had := Seq(0), false
				l.Newest(l.NextSeq()-1, func(p *Packet) bool {
					if len(p.Refs) == 0 {
						forgotten, had = p.Seq, true
					} else if had {
						t.Fatalf("resumes %v, one in %d ticks, %d later: packet %d has lost what it carried, and %d before it has not",
							resumes, every, i, forgotten, p.Seq)
					}
					return true
				})
			}
		}
	}
}
