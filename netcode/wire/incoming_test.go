package wire

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// end is one end of a session with both halves of its headers, and beside them the truth in full
// width.
type end struct {
	seq     int64 // newest packet sent
	tick    int64 // server: its tick
	applied map[int64]bool
	newest  int64          // applied
	knows   map[int64]bool // of own packets: applied by the peer

	line      Line // server
	stmt      Statement
	tickKnown clock.Tick // server: of the newest packet known to be applied
	flying    []flight
}

// A flight is a datagram on its way, with what its header says in full.
type flight struct {
	data    []byte
	seq     int64
	h       Header
	applied map[int64]bool // what its sender had applied
}

// exchange is a server and a client that send each other headers.
type exchange struct {
	t              *testing.T
	rng            *rand.Rand
	calm           bool // little is lost for long
	server, client end
	up             Received // of the server
	down           *Incoming
	ticks          map[int64]int64 // of the server's packets
	now            clock.Time
}

const exchangePeriod = 50 * time.Millisecond

func newExchange(t *testing.T, seed uint64) *exchange {
	rng := rand.New(rand.NewPCG(seed, 51))
	first, at := clock.Tick(rng.Uint32N(1<<31)), clock.Time(rng.Int64N(1<<45))
	x := &exchange{t: t, rng: rng, calm: seed%2 == 0, down: NewIncoming(first, at, exchangePeriod),
		ticks: map[int64]int64{}, now: at}
	for _, e := range []*end{&x.server, &x.client} {
		e.applied, e.knows = map[int64]bool{}, map[int64]bool{}
	}
	x.server.tick, x.server.tickKnown = int64(first), first
	x.server.line = Line{first, at, exchangePeriod}
	x.server.stmt.Learned()
	return x
}

// recent copies what of a set an acknowledgement can still name.
func recent(m map[int64]bool, newest int64) map[int64]bool {
	c := make(map[int64]bool, 2*Window)
	for n := newest; n >= newest-Window && n > 0; n-- {
		if m[n] {
			c[n] = true
		}
	}
	return c
}

// upTo returns a number from 0 to n, most often a small one; n only now and then.
func (x *exchange) upTo(n int) int { return x.rng.IntN(1 + x.rng.IntN(1+x.rng.IntN(n+1))) }

// skip gives up some numbers of e, of which the peer applied newest: those packets reach nobody.
func (x *exchange) skip(e *end, newest int64) {
	most := 70
	if !x.calm && x.rng.IntN(20) == 0 {
		most = 8000
	}
	if lost := int64(x.upTo(most)); x.rng.IntN(4) == 0 && e.seq+lost-newest < 1<<15-1 {
		e.seq += lost
	}
	e.seq++
}

func (x *exchange) sendDown() {
	s := &x.server
	x.skip(s, x.client.newest)
	ticks := int64(1 + x.upTo(12))
	if x.rng.IntN(20) == 0 {
		ticks = int64(1 + x.upTo(20000))
	}
	s.tick += ticks
	x.now = x.now.Add(time.Duration(ticks) * s.line.Period)
	if x.rng.IntN(12) == 0 {
		x.now = x.now.Add(time.Duration(x.upTo(1000)) * time.Millisecond)
		period := time.Duration([]int{50000, 60000, 61234}[x.rng.IntN(3)]) * time.Microsecond
		s.line, s.stmt = Line{clock.Tick(s.tick), x.now, period}, Statement{}
	}
	h := Header{Server: true, Seq: Seq(s.seq), Tick: clock.Tick(s.tick), HasTime: !s.stmt.Known(),
		Elicits: x.rng.IntN(2) == 0, NextDue: 5}
	h.Stamp = x.now.Add(time.Duration(x.upTo(15000)) * time.Millisecond).Stamp()
	h.Ack, h.HasAck = x.up.Ack()
	x.up.Stated(h.Seq)
	s.stmt.Stated(h.Seq)
	h.Time = s.line.Time(h.Tick).Stamp()
	if s.line.Period != exchangePeriod {
		h.Period = s.line.Period
	}
	x.ticks[s.seq] = s.tick
	s.flying = append(
		s.flying,
		flight{bytesOf(&h, Known{Tick: s.tickKnown, Ack: x.up.Known()}), s.seq, h, recent(s.applied, s.newest)},
	)
}

func (x *exchange) sendUp() {
	c := &x.client
	x.skip(c, x.server.newest)
	h := Header{Seq: Seq(c.seq)}
	h.Ack, h.HasAck = x.down.Ack()
	x.down.Stated(h.Seq)
	c.flying = append(c.flying, flight{bytesOf(&h, Known{Ack: x.down.Known()}), c.seq, h, recent(c.applied, c.newest)})
}

// pick returns a packet that arrives: as a rule the oldest, sometimes any, which is lost, goes on
// or arrives once more.
func (x *exchange) pick(e *end) (f flight, ok bool) {
	if len(e.flying) == 0 {
		return f, false
	}
	i := 0
	if x.rng.IntN(3) == 0 {
		i = x.upTo(len(e.flying) - 1)
	}
	f = e.flying[i]
	fate := x.rng.IntN(10)
	if fate != 0 { // else it comes again
		e.flying = slices.Delete(e.flying, i, i+1)
	}
	return f, fate != 1
}

func newestOf(applied map[int64]bool) (newest int64) {
	for s := range applied {
		newest = max(newest, s)
	}
	return newest
}

// news reports whether a packet may be applied, by full numbers.
func (e *end) news(seq int64) bool { return !e.applied[seq] && seq > e.newest-Window-1 }

// told applies what a packet says of e's own packets, checks that e now knows of each in the window
// whether it was applied, and returns those of which it is news.
func (x *exchange) told(e *end, f *flight, got *Header) (news []int64) {
	if !got.HasAck {
		if len(f.applied) > 0 {
			x.t.Fatalf("packet %d acknowledges nothing of %v", f.seq, f.applied)
		}
		return nil
	}
	latest := newestOf(f.applied)
	if got.Ack.Latest != Seq(latest) {
		x.t.Fatalf("packet %d acknowledges %d, want %d", f.seq, got.Ack.Latest, latest)
	}
	for d := int64(0); d <= Window; d++ {
		if yes, _ := got.Ack.Has(Seq(latest - d)); yes && latest-d > 0 {
			if !f.applied[latest-d] {
				x.t.Fatalf("packet %d acknowledges %d, which was not applied: %+v", f.seq, latest-d, got.Ack)
			}
			if !e.knows[latest-d] {
				news = append(news, latest-d)
			}
			e.knows[latest-d] = true
		}
		if f.applied[latest-d] && !e.knows[latest-d] {
			x.t.Fatalf("packet %d, acknowledging %+v, leaves out %d", f.seq, got.Ack, latest-d)
		}
	}
	return news
}

func (x *exchange) arriveDown() {
	f, ok := x.pick(&x.server)
	if !ok {
		return
	}
	c := &x.client
	before := *x.down
	var r BitReader
	h, err := x.down.Decode(&r, f.data)
	if *x.down != before {
		x.t.Fatal("reading a header changes what is known")
	}
	if !c.news(f.seq) {
		if !errors.Is(err, ErrDuplicate) {
			x.t.Fatalf("packet %d, newest %d: %v", f.seq, c.newest, err)
		}
		return
	}
	if errors.Is(err, ErrLine) { // only what later lines overtook
		if x.down.known < keptLines || f.h.Tick >= x.down.lines[keptLines-1].tick {
			x.t.Fatalf("tick %d: %v, known %+v", f.h.Tick, err, x.down.lines)
		}
		return
	}
	if err != nil {
		x.t.Fatalf("packet %d of tick %d: %v", f.seq, f.h.Tick, err)
	}
	want := f.h
	if off := int32(h.Time - want.Time); off < -1 || off > 1 {
		x.t.Fatalf("tick %d began at %d, want %d", h.Tick, h.Time, want.Time)
	}
	h.Time, want.Ack.History = want.Time, 0
	x.down.Applied(&h)
	c.applied[f.seq] = true
	c.newest = max(c.newest, f.seq)
	for _, n := range x.told(c, &f, &h) {
		x.down.Delivered(Seq(n))
	}
	if h.Ack.History = 0; h != want {
		x.t.Fatalf("%v arrives as %v", &want, &h)
	}
}

func (x *exchange) arriveUp() {
	f, ok := x.pick(&x.client)
	if !ok {
		return
	}
	s := &x.server
	if s.seq-newestOf(f.applied) > upAckMask { // from more than a minute ago
		return
	}
	var r BitReader
	h, err := DecodeUp(&r, f.data, Seq(s.seq+1))
	if err != nil {
		x.t.Fatal(err)
	}
	if got := x.up.Accepts(h.Seq); got != s.news(f.seq) {
		x.t.Fatalf("packet %d, newest %d: accepted %v", f.seq, s.newest, got)
	}
	if !s.news(f.seq) {
		return
	}
	x.up.Applied(h.Seq)
	s.applied[f.seq] = true
	s.newest = max(s.newest, f.seq)
	for _, n := range x.told(s, &f, &h) {
		s.stmt.Delivered(Seq(n))
		x.up.Delivered(Seq(n))
		s.tickKnown = max(s.tickKnown, clock.Tick(x.ticks[n]))
	}
}

// Whatever is lost, overtaken, repeated or silent for long, each header that is applied arrives as
// it was in full width, none is refused that is news, and both ends know of every packet in the
// window whether it was applied.
//
// seeds: S1 S4
func TestHeadersAgainstFullWidth(t *testing.T) {
	for seed := range uint64(60) {
		x := newExchange(t, seed)
		for step := range 3000 {
			switch n := x.rng.IntN(6); {
			case n == 0:
				x.sendDown()
			case n == 1:
				x.sendUp()
			case step/50%3 == 0: // the path stands still for a while
			case n < 4:
				x.arriveDown()
			default:
				x.arriveUp()
			}
		}
	}
}

// A packet that was overtaken by one of a later tick is refused if it claims a tick beyond that.
func TestTickAfterItsSuccessors(t *testing.T) {
	in := NewIncoming(100, 0, exchangePeriod)
	in.Applied(&Header{Seq: 5, Tick: 110})
	for tick, sound := range map[clock.Tick]bool{100: false, 101: true, 109: true, 110: false, 111: false} {
		var r BitReader
		if _, err := in.Decode(&r, bytesOf(&Header{Server: true, Seq: 4, Tick: tick}, Known{})); (err == nil) != sound {
			t.Errorf("packet 4 of tick %d: %v", tick, err)
		}
	}
}

// Packets find the line that had begun at their tick, in whichever order lines became known. One
// that is older than all lines that are remembered is refused.
func TestLinesInAnyOrder(t *testing.T) {
	const ms = 1000
	in := NewIncoming(100, 0, exchangePeriod)
	for seq, tick := range map[Seq]clock.Tick{2: 200, 6: 600, 4: 400, 3: 300, 5: 500} {
		in.learn(
			&Header{Seq: seq, Tick: tick, HasTime: true, Time: clock.Stamp(tick) * 100 * ms, Period: 60 * time.Millisecond},
		)
		// On the same line, so it is nothing new.
		in.learn(&Header{Seq: seq, Tick: tick + 10, HasTime: true, Time: clock.Stamp(tick)*100*ms + 600*ms,
			Period: 60 * time.Millisecond})
	}
	for tick := clock.Tick(250); tick < 700; tick += 7 {
		var r BitReader
		h, err := in.Decode(&r, bytesOf(&Header{Server: true, Seq: 1, Tick: tick}, Known{}))
		if tick < 300 {
			if !errors.Is(err, ErrLine) {
				t.Errorf("tick %d, before all lines: %v", tick, err)
			}
			continue
		}
		begun := tick / 100 * 100
		if want := clock.Stamp(begun)*100*ms + clock.Stamp(tick-begun)*60*ms; h.Time != want || err != nil {
			t.Errorf("tick %d begins at %d, %v; want %d", tick, h.Time, err, want)
		}
	}
}

// However long the peer is not known to know anything, what it must know is stated.
func TestKnownFarBehind(t *testing.T) {
	var r Received
	s := FirstSeq
	for range 3 {
		for range 30000 {
			r.Applied(s)
			s++
		}
		if back := s - 1 - r.Known(); back > 1<<14 || back < Window {
			t.Errorf("after packet %d the peer is taken to know up to %d", s-1, r.Known())
		}
	}
	r.Stated(9)
	if r.Delivered(9); r.Known() != s-1 {
		t.Errorf("the peer is taken to know up to %d, want %d", r.Known(), s-1)
	}
}

// A statement is repeated until a packet that made it is known to have been applied.
func TestStatement(t *testing.T) {
	var s Statement
	s.Delivered(9)
	if s.Begun() || s.Known() {
		t.Error("it was said before any packet said it")
	}
	s.Stated(10)
	s.Stated(11)
	if s.Delivered(9); s.Known() || !s.Begun() {
		t.Error("known by a packet that did not say it")
	}
	if s.Delivered(11); !s.Known() {
		t.Error("not known by a packet that said it")
	}
}
