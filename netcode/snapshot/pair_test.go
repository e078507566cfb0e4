package snapshot

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

const (
	tickTime = clock.Time(33 * time.Millisecond)
	rto      = 300 * time.Millisecond
	plenty   = 8 * 1100 // bits
)

// pair is a history, a view and a store whose packets go where the test says.
type pair struct {
	t    failer
	h    *History
	v    *View
	s    *Store
	log  wire.Log
	recv wire.Received
	tick clock.Tick

	agreement wire.Agreement
	up, got   wire.Seq // newest packet that the client sent, and that the server has
	now       clock.Time
	sims      map[int32][]int64
	ents      []int32
	id        uint32
	due       []Candidate
	slots     []uint16
	x         Writer
	w         wire.BitWriter
	r         wire.BitReader
}

// packet is one that was sent; it arrives or not, and maybe later.
type packet struct {
	seq     wire.Seq
	tick    clock.Tick
	latest  wire.Seq // the client's newest packet when it was sent
	entries int
	body    []byte
}

// failer is what a testing.TB and a rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newPair(t failer) *pair { return pairOf(t, kinds(t)) }

func pairOf(t failer, ks []*schema.Kind) *pair {
	h := NewHistory(codec.All(ks...))
	return &pair{t: t, h: h, v: NewView(h), s: NewStore(codec.All(ks...)), sims: map[int32][]int64{}}
}

// The indices of a walker's and a gem's integers, see kinds.
const (
	walkerKind, gemKind = 0, 1
	x, y                = 0, 1
	walkerVelX          = 2
	walkerHealth        = 5
	walkerAmmo          = 9
	walkerSecret        = 11
	gemOn               = 2
)

// begin starts the next tick; changes are made between it and record.
func (p *pair) begin() {
	p.tick++
	p.now += tickTime
	p.h.Begin(p.tick)
}

func (p *pair) spawn(kind int, owned bool) int32 {
	p.id++
	i := p.h.Add(p.id, kind, owned)
	p.sims[i] = make([]int64, p.h.kinds[kind].Sims)
	p.ents = append(p.ents, i)
	return i
}

func (p *pair) remove(i int32) {
	p.h.Remove(i)
	delete(p.sims, i)
	p.ents = slices.DeleteFunc(p.ents, func(j int32) bool { return j == i })
}

// record notes all entities; cut names those that were teleported.
func (p *pair) record(cut ...int32) {
	for _, i := range p.ents {
		p.h.Record(i, p.sims[i], slices.Contains(cut, i))
	}
}

// rest lets n ticks pass in which nothing happens and nothing is sent.
func (p *pair) rest(n int) {
	for range n {
		p.begin()
		p.record()
	}
}

// send makes a packet of what is due and fits into so many bits, or none if nothing is due.
func (p *pair) send(bits int) *packet {
	p.due = p.v.Pending(p.now, rto, p.due[:0])
	if len(p.due) == 0 {
		return nil
	}
	return p.write(bits)
}

func (p *pair) write(bits int) *packet {
	entry := p.log.Sent(p.now, p.tick, p.v.Missing)
	out := &packet{seq: entry.Seq, tick: p.tick, latest: p.got}
	p.w.Reset(nil)
	p.x.Begin(p.v, p.due, bits)
	for i := range p.due {
		if p.x.Try(&p.due[i]) > bits {
			break
		}
		p.x.Keep()
		out.entries++
	}
	promised := p.x.Size()
	if p.x.End(&p.w, entry, p.now); p.w.Len() > promised {
		p.t.Fatalf("%d entries take %d bits, promised were %d", out.entries, p.w.Len(), promised)
	}
	out.body = p.w.Bytes()
	p.log.Charge(entry, len(out.body))
	return out
}

// arrive hands a packet to the client, which applies it or says why not.
func (p *pair) arrive(k *packet) error {
	if !p.recv.Accepts(k.seq) {
		return errOld
	}
	agreed, known := p.agreement.Agreed(k.tick, k.latest)
	if !known {
		return errOld
	}
	p.r.Reset(k.body)
	if err := p.s.Read(&p.r, k.tick, agreed); err != nil {
		return err
	}
	p.recv.Applied(k.seq)
	p.agreement.Applied(k.tick, p.up+1)
	return nil
}

var errOld = errors.New("too old, or applied before")

func (p *pair) mustArrive(k *packet) {
	p.t.Helper()
	if err := p.arrive(k); err != nil {
		p.t.Fatalf("packet %d of tick %d: %v", k.seq, k.tick, err)
	}
}

// ack brings what the client has applied back to the server.
func (p *pair) ack() {
	p.t.Helper()
	if a, ok := p.recv.Ack(); ok {
		p.up++
		p.got = p.up
		if !p.log.Acked(a, p.v.Delivered, p.v.Missing) {
			p.t.Fatal("an honest ack was refused")
		}
	}
}

// step is a whole tick on a path without loss or delay: due entries arrive and are acknowledged.
func (p *pair) step(change func()) *packet {
	p.t.Helper()
	p.begin()
	if change != nil {
		change()
	}
	p.record()
	k := p.send(plenty)
	if k != nil {
		p.mustArrive(k)
		p.ack()
	}
	return k
}

// newest returns the newest state that the client holds of a group of entity i.
func (p *pair) newest(i int32, g int) *motion.State {
	p.t.Helper()
	e := p.s.Find(p.h.At(i).ID)
	if e == nil || e.Groups[g].Newest() == nil {
		p.t.Fatalf("the client does not hold entity %d, group %d", p.h.At(i).ID, g)
	}
	return e.Groups[g].Newest()
}

// The rest flag arrives, after that nothing is sent however long it lasts, and the first movement
// says when it began.
func TestRest(t *testing.T) {
	p := newPair(t)
	var i int32
	p.step(func() { i = p.spawn(walkerKind, false); p.v.Enter(i, Observed) })
	for range 5 {
		p.step(func() { p.sims[i][x] += 25600 })
	}
	moved := p.tick
	if st := p.newest(i, 0); st.Rest || st.Tick != moved {
		t.Fatalf("while moving: %+v", st)
	}
	sent := 0
	for p.tick < moved+restTicks {
		if p.step(nil) != nil {
			sent++
		}
	}
	if st := p.newest(i, 0); !st.Rest || st.Tick != moved+restTicks || sent != 1 {
		t.Fatalf("%d ticks after the last movement %d packets were sent, the client holds %+v", restTicks, sent, st)
	}
	for range 3 * HistoryTicks {
		if k := p.step(nil); k != nil {
			t.Fatalf("%d ticks after the rest a packet of %d entries is sent", p.tick-moved, k.entries)
		}
	}
	if p.v.Unacked() {
		t.Error("something is unacknowledged at rest")
	}
	k := p.step(func() { p.sims[i][x] += 25600 })
	began := p.tick
	st := p.newest(i, 0)
	if st.Rest || st.Start != began || st.Cut != 0 || st.Tick != began {
		t.Fatalf("the first movement: %+v", st)
	}
	if k.entries != 1 || len(k.body) > 12 {
		t.Errorf("the first movement after a rest of %d ticks takes %d bytes", 3*HistoryTicks, len(k.body))
	}
	p.step(func() { p.sims[i][x] += 25600 })
	if st := p.newest(i, 0); st.Start != 0 {
		t.Errorf("the second movement says that it began at %d, which is known", st.Start)
	}
}

// While the first movement is not acknowledged, each record says when it began.
func TestStartIsRepeatedUntilItIsKnown(t *testing.T) {
	p := newPair(t)
	var i int32
	p.step(func() { i = p.spawn(walkerKind, false); p.v.Enter(i, Observed) })
	for range restTicks + 1 {
		p.step(nil)
	}
	var began clock.Tick
	var last *packet
	for n := range 4 {
		p.begin()
		p.sims[i][x] += 25600
		p.record()
		if n == 0 {
			began = p.tick
		}
		last = p.send(plenty) // all but the last one are lost
	}
	p.mustArrive(last)
	if st := p.newest(i, 0); st.Start != began {
		t.Errorf("movement began at tick %d, the client heard %d", began, st.Start)
	}
}

// A teleport before a thing came into sight is not sent. One between two copies of its first sight
// is, or a client that received the first copy would draw the teleport as a slide.
//
// seeds: B13
func TestCutsAndFirstSight(t *testing.T) {
	p := newPair(t)
	var i int32
	p.step(func() { i = p.spawn(walkerKind, false) })
	for range 10 {
		p.begin()
		p.sims[i][x] += 1 << 24
		p.record(i)
	}
	p.begin()
	p.v.Enter(i, Observed)
	p.record()
	first := p.send(plenty)
	p.mustArrive(first) // its ack is lost
	if st := p.newest(i, 0); st.Cut != 0 || st.Start != 0 {
		t.Fatalf("the first sight tells of the past: %+v", st)
	}
	p.begin()
	p.sims[i][x] -= 1 << 24
	p.record(i)
	cut := p.tick
	p.rest(20)
	again := p.send(plenty)
	if again == nil || !p.due[0].First {
		t.Fatalf("the first sight is not repeated: %+v", p.due)
	}
	p.mustArrive(again)
	st := p.newest(i, 0)
	if st.Cut != cut || st.Tick != again.tick {
		t.Fatalf("the repeated first sight: %+v, the teleport was at %d", st, cut)
	}
	a, b := p.s.Find(p.h.At(i).ID).Groups[0].Around((cut - 1).Frac() + 100)
	k := p.h.Kind(p.h.At(i))
	drawn := make([]int64, k.Groups[0].N)
	motion.Draw(k, &k.Groups[0], a, b, (cut-1).Frac()+100, drawn)
	for c := range drawn {
		if drawn[c] != a.Vals[c]*schema.SubSteps {
			t.Errorf("just before the teleport component %d is drawn at %d/256, not at %d", c, drawn[c], a.Vals[c])
		}
	}
	p.ack()
	if a, b := recordsOf(p.v, &p.log, i, 0, again.seq, (cut-1).Frac()+100); a.Tick != first.tick || b.Tick != again.tick {
		t.Errorf("the server takes it to be drawn from %d and %d, not %d and %d", a, b, first.tick, again.tick)
	}
	cutAt, _ := p.h.At(i).TimesAt(0, again.tick)
	if cutAt != cut || p.h.At(i).Cut() != cut {
		t.Errorf("the server remembers the teleport at %d and %d, it was at %d", cutAt, p.h.At(i).Cut(), cut)
	}
}

// A teleport of a thing at rest to the place where it is changes no value, and is sent all the
// same.
func TestCutInPlace(t *testing.T) {
	p := newPair(t)
	var i int32
	p.step(func() { i = p.spawn(gemKind, false); p.v.Enter(i, Observed) })
	for range restTicks + 1 {
		p.step(nil)
	}
	p.begin()
	p.record(i)
	k := p.send(plenty)
	if k == nil {
		t.Fatal("nothing is sent")
	}
	p.mustArrive(k)
	if st := p.newest(i, 0); st.Cut != p.tick || st.Start != 0 || !st.Rest {
		t.Errorf("%+v", st)
	}
}

// Where not one record fits, nothing is taken for sent, and all arrives when there is room.
func TestNoRoomAtAll(t *testing.T) {
	p := newPair(t)
	p.begin()
	for range 20 {
		p.v.Enter(p.spawn(gemKind, false), Observed)
	}
	p.record()
	for range 50 {
		k := p.send(0)
		if k.entries != 0 {
			t.Fatalf("%d entries fit into no bits", k.entries)
		}
		p.mustArrive(k)
		p.ack()
		if len(p.due) != 20 || !p.v.Unacked() {
			t.Fatalf("%d of 20 are due", len(p.due))
		}
		p.rest(1)
	}
	if len(p.s.Entities()) != 0 {
		t.Fatal("the client holds something")
	}
	k := p.send(plenty)
	p.mustArrive(k)
	p.ack()
	if len(p.s.Entities()) != 20 || p.v.Unacked() {
		t.Errorf("%d of 20 are held, unacknowledged: %v", len(p.s.Entities()), p.v.Unacked())
	}
	for _, i := range p.ents {
		if st := p.newest(i, 0); st.Tick != p.tick {
			t.Errorf("entity %d is held as of tick %d", p.h.At(i).ID, st.Tick)
		}
	}
}

// A client that is silent for longer than the history lasts, and holds states older than that, is
// served on: absolute records against what it holds. Bits are lost, not the truth.
func TestClientSilentBeyondTheHistory(t *testing.T) {
	for _, silent := range []int{HistoryTicks - 2, HistoryTicks - 1, HistoryTicks, HistoryTicks + 1, 10 * HistoryTicks} {
		p := newPair(t)
		var i int32
		p.step(func() {
			i = p.spawn(walkerKind, false)
			p.sims[i][y], p.sims[i][walkerHealth] = 256000*50, 70
			p.v.Enter(i, Observed)
		})
		base := p.tick
		for range silent {
			p.begin()
			p.sims[i][x] += 25600
			p.record()
			p.send(plenty) // lost
		}
		p.begin()
		p.record()
		k := p.send(plenty)
		if k == nil { // in flight: due again after the timeout
			p.rest(20)
			k = p.send(plenty)
		}
		p.mustArrive(k)
		st := p.newest(i, 0)
		want, _ := p.h.Values(i, 0, p.tick, nil)
		if !slices.Equal(st.Vals, want) || st.Tick != p.tick {
			t.Errorf("silent for %d ticks after tick %d: %+v, want %v", silent, base, st, want)
		}
		if _, ok := p.h.Values(i, 0, base, nil); ok != (p.tick-base < HistoryTicks) {
			t.Errorf("silent for %d ticks: the history holds the baseline: %v", silent, ok)
		}
		if health := p.newest(i, 1); health.Vals[0] != 70 {
			t.Errorf("health is %d", health.Vals[0])
		}
	}
}

// An outage of 30 s in both directions, while things come, go and move: afterwards the client holds
// the truth and no slot is lost.
//
// seeds: R46
func TestLongOutage(t *testing.T) {
	d := newDuel(t, 77)
	for range 200 {
		d.tick(true, plenty, true)
	}
	d.outage = 900 // at 30 ticks a second
	for range 900 {
		d.tick(true, plenty, true)
	}
	for n := 0; n < 2000 && (n < 100 || d.v.Unacked()); n++ {
		d.tick(false, plenty, true)
	}
	if err := d.settled(); err != nil {
		t.Error(err)
	}
	for range 20 { // acks free the slots
		d.tick(true, plenty, true)
	}
	if ents, slots := d.v.Count(); slots > ents+60 {
		t.Errorf("%d slots are taken for %d entities", slots, ents)
	}
}

// More entities than slots: as many as there are slots come into sight, the others when slots are
// free again, and none is given to two.
func TestSlotsRunOut(t *testing.T) {
	p := newPair(t)
	p.begin()
	for range Slots + 88 {
		p.spawn(gemKind, false)
	}
	p.record()
	entered := 0
	for _, i := range p.ents {
		if p.v.Enter(i, Observed) {
			entered++
		}
	}
	if ents, slots := p.v.Count(); entered != Slots || ents != Slots || slots != Slots {
		t.Fatalf("%d of %d entered, %d entities in %d slots", entered, len(p.ents), ents, slots)
	}
	if !p.v.Enter(p.ents[0], Observed) {
		t.Error("one that is in sight may not stay")
	}
	settle := func() {
		for range 400 {
			p.rest(1)
			if k := p.send(plenty); k != nil {
				p.mustArrive(k)
				p.ack()
			} else if !p.v.Unacked() {
				break
			}
		}
	}
	settle()
	if len(p.s.Entities()) != Slots {
		t.Fatalf("the client holds %d", len(p.s.Entities()))
	}
	// Half of them leave. Until that is known their slots are taken.
	for _, i := range p.ents[:Slots/2] {
		p.v.Leave(i)
	}
	if p.v.Enter(p.ents[Slots], Observed) {
		t.Fatal("a slot was reused before its end was acknowledged")
	}
	settle()
	if ents, slots := p.v.Count(); ents != Slots/2 || slots != Slots/2 {
		t.Fatalf("%d entities in %d slots", ents, slots)
	}
	for _, i := range p.ents[Slots:] {
		if !p.v.Enter(i, Observed) {
			t.Fatal("no slot for one that waited")
		}
	}
	settle()
	var want []uint32
	for _, i := range p.ents[Slots/2:] {
		want = append(want, p.h.At(i).ID)
	}
	var got []uint32
	for _, e := range p.s.Entities() {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the client holds %d entities, want the %d that are in sight", len(got), len(want))
	}
	n := 0
	inSight(p.v, func(i int32) bool {
		if p.h.At(i).ID != want[n] {
			t.Fatalf("Each gives %d where %d follows", p.h.At(i).ID, want[n])
		}
		n++
		return n < 100
	})
}

// The owner receives the simulation's integers exactly, and nothing of what is not for it.
func TestOwnerRecordIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		k := p.h.kinds[walkerKind]
		var i int32
		mutate := func() {
			for c := range p.sims[i] {
				if rapid.Bool().Draw(t, "changes") {
					p.sims[i][c] = rapid.Int64().Draw(t, "value") >> rapid.IntRange(0, 63).Draw(t, "shift")
				}
			}
			k.Clamp(p.sims[i])
			p.sims[i][walkerSecret] = 7
		}
		p.step(func() { i = p.spawn(walkerKind, true); mutate(); p.v.Enter(i, Mine) })
		for range rapid.IntRange(1, 20).Draw(t, "ticks") {
			if rapid.IntRange(0, 9).Draw(t, "pause") == 0 {
				p.rest(rapid.SampledFrom([]int{1, 5, HistoryTicks - 1, HistoryTicks, 200}).Draw(t, "ticks of it"))
			}
			before := slices.Clone(p.sims[i])
			k := p.step(mutate)
			want := slices.Clone(p.sims[i])
			if before[walkerSecret] = 7; k != nil == slices.Equal(before, want) && p.tick > 1 {
				t.Fatalf("something changed: %v, something was sent: %v", !slices.Equal(before, want), k != nil)
			}
			want[walkerSecret] = 0 // not for the owner
			if st := p.newest(i, OwnerGroup); !slices.Equal(st.Vals, want) {
				t.Fatalf("the owner holds %v, want %v", st.Vals, want)
			}
		}
	})
}

// A kind of which the owner receives nothing still comes into its owner's sight.
func TestOwnedKindWithoutProperties(t *testing.T) {
	type ghost struct {
		Secret int `net:"int,0..9,server"`
	}
	k := mustKind[ghost](t)
	h := NewHistory(codec.All(k))
	v, s := NewView(h), NewStore(codec.All(k))
	h.Begin(1)
	i, j := h.Add(5, 0, true), h.Add(6, 0, false)
	h.Record(i, []int64{3}, false)
	h.Record(j, []int64{3}, false)
	v.Enter(i, Mine)
	v.Enter(j, Observed)
	var w wire.BitWriter
	w.Reset(nil)
	due := v.Pending(0, 0, nil)
	var x Writer
	x.All(&w, v, due, new(wire.Log).Sent(0, 1, nil), 0)
	var r wire.BitReader
	r.Reset(w.Bytes())
	if err := s.Read(&r, 1, 0); err != nil || s.Find(5) == nil || !s.Find(5).Mine || s.Find(6) == nil {
		t.Errorf("%v, the client holds %v", err, s.Entities())
	}
}

// A client that has lost a baseline refuses the packets that name it and does not acknowledge them;
// after its request all comes anew, once, however often it asks.
func TestResync(t *testing.T) {
	p := newPair(t)
	p.begin()
	for range 30 {
		p.v.Enter(p.spawn(gemKind, false), Observed)
	}
	p.v.Enter(p.spawn(walkerKind, true), Mine)
	p.record()
	k := p.send(plenty)
	p.mustArrive(k)
	p.ack()
	p.s = NewStore(codec.All(p.h.kinds...)) // the client forgets everything
	move := func() *packet {
		p.begin()
		for _, i := range p.ents {
			p.sims[i][x] += 30000
		}
		p.record()
		return p.send(plenty)
	}
	for range 3 {
		if err := p.arrive(move()); !errors.Is(err, ErrBaseline) {
			t.Fatalf("an update of what is not held: %v", err)
		}
	}
	p.v.Resync()
	k = move()
	for n := range 20 { // it asks in every packet until it hears
		p.v.Resync()
		if d := p.v.Pending(p.now, rto, nil); len(d) != 0 {
			t.Fatalf("wish %d makes %d entries due again, though all are on their way", n, len(d))
		}
	}
	p.mustArrive(k)
	p.ack()
	if p.v.Resyncs != 21 || len(p.s.Entities()) != 31 {
		t.Errorf("%d wishes were counted, %d of 31 are held", p.v.Resyncs, len(p.s.Entities()))
	}
	k = move()
	for _, d := range p.due {
		if d.First {
			t.Fatal("a first sight after everything was acknowledged")
		}
	}
	p.mustArrive(k)

	// One baseline alone: the packet is refused as a whole.
	e := p.s.Entities()[3]
	e.Groups[0].states = e.Groups[0].states[:0]
	p.ack()
	before := p.s.Entities()[4].Groups[0].Newest().Tick
	if err := p.arrive(move()); !errors.Is(err, ErrBaseline) || p.s.Entities()[4].Groups[0].Newest().Tick != before {
		t.Errorf("a baseline is gone: %v; another entity went from tick %d to %d", err, before,
			p.s.Entities()[4].Groups[0].Newest().Tick)
	}
}

// A steady round trip of 58 packets: every record finds its baseline.
func TestLongRoundTrip(t *testing.T) {
	p := newPair(t)
	var i int32
	p.step(func() { i = p.spawn(walkerKind, false); p.v.Enter(i, Observed) })
	var down []*packet
	var up []wire.Ack
	const way = 29
	for range 400 {
		p.begin()
		p.sims[i][x] += 9000
		p.record()
		p.due = p.v.Pending(p.now, time.Hour, p.due[:0])
		down = append(down, p.write(plenty))
		if len(down) > way {
			p.mustArrive(down[0])
			down = down[1:]
		}
		a, _ := p.recv.Ack()
		up = append(up, a)
		p.up++
		if len(up) > way {
			p.log.Acked(up[0], p.v.Delivered, p.v.Missing)
			up = up[1:]
			p.got++
		}
	}
	if st := p.newest(i, 0); p.tick-st.Tick != way {
		t.Errorf("the newest state is %d ticks old, the way takes %d", p.tick-st.Tick, way)
	}
	if n := len(p.s.Find(1).Groups[0].states); n != HeldStates {
		t.Errorf("%d states are held, want %d", n, HeldStates)
	}
}

// Unanswered records and removals are due again after the timeout, not before, and lost ones at
// once.
func TestTimeouts(t *testing.T) {
	p := newPair(t)
	var i int32
	p.begin()
	i = p.spawn(gemKind, false)
	p.v.Enter(i, Observed)
	p.record()
	again := func(name string, want bool) *packet {
		t.Helper()
		k := p.send(plenty)
		if (k != nil) != want {
			t.Fatalf("%s: sent %v, want %v", name, k != nil, want)
		}
		return k
	}
	again("first sight", true)
	again("in flight", false)
	p.rest(5)
	again("165 ms later", false) // a change would not repeat a first sight either
	p.rest(5)
	k := again("330 ms later", true)
	p.v.Missing(p.log.Get(k.seq))
	k = again("the newest copy is lost", true)
	p.mustArrive(k)
	p.ack()
	again("known", false)
	p.begin()
	p.sims[i][gemOn] = 1
	p.record()
	again("a change", true)
	p.begin()
	p.sims[i][gemOn] = 0
	p.record()
	again("another change is not held up by the one in flight", true)
	p.v.Leave(i)
	k = again("leaves", true)
	again("said", false)
	p.rest(10)
	again("330 ms later, gone", true)
	p.v.Missing(p.log.Get(k.seq))
	again("an older copy of gone is lost", false)
	if d := p.v.Pending(p.now+clock.Time(time.Second), rto, nil); len(d) != 1 || !d[0].Gone {
		t.Errorf("a second later: %+v", d)
	}
}

func mustKind[T any](t testing.TB) *schema.Kind {
	t.Helper()
	k, err := kindFor[T]()
	if err != nil {
		t.Fatal(err)
	}
	return k
}
