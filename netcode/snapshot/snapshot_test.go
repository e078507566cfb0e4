package snapshot

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

type vec2 struct{ X, Y float64 }

type walker struct {
	Pos    vec2    `net:"pos,others=1cm,draw=hermite"`
	Vel    vec2    `net:"vel,others=1cm/s"`
	Aim    float64 `net:"angle,1deg"`
	Health int     `net:"int,0..100"`
	Name   string  `net:"text,12"`
	Ammo   int     `net:"int,0..50,to=owner"`
	Ready  uint32  `net:"tick,to=owner"`
	Secret int     `net:"int,0..9,server"`
}

type gem struct {
	Pos vec2 `net:"pos,1cm"`
	On  bool `net:"bool"`
}

func kinds(t failer) []*schema.Kind {
	var out []*schema.Kind
	for _, v := range []any{walker{}, gem{}} {
		k, err := schema.New(reflect.TypeOf(v).Name(), reflect.TypeOf(v), 30)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
	}
	return out
}

// fact names what was true of one group of one entity at one tick.
type fact struct {
	id   uint32
	g    int
	tick clock.Tick
}

type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
func (r *rng) n(n int) int           { return int(r.next() % uint64(n)) }
func (r *rng) chance(p float64) bool { return float64(r.next()>>11)/(1<<53) < p }

type flight struct {
	at   int // step of arrival
	data []byte
	pic  *picture // up only: what was on the client's screen
}

// picture is which records of each entity and group were drawn from at a playout time.
type picture struct {
	newest wire.Seq
	t      clock.TickFrac
	pairs  map[[2]uint32][2]Mark
}

// duel is one server history, one client, and a path that loses, reorders, repeats and stops.
type duel struct {
	t         testing.TB
	rng       rng
	h         *History
	v         *View
	s         *Store
	x         Writer
	log       wire.Log
	recv      wire.Received
	agreement wire.Agreement
	sentUp    wire.Seq          // the client's newest packet
	gotUp     wire.Seq          // the newest of them that the server has
	sims      map[int32][]int64 // naive truth: newest values
	truth     map[fact][]int64
	down      []flight
	up        []flight // a header with an ack
	delay     int      // steps; 0: anything, in any order
	dense     bool     // bounds change rarely, and records come often all the same
	fixed     bool     // nothing comes or goes once there are enough
	judged    int      // pairs of records that server and client agree on
	step      int
	nextID    uint32
	wanted    map[int32]bool // visible
	checks    int
	drops     map[error]int
	loss      float64
	outage    int
}

func newDuel(t testing.TB, seed uint64) *duel {
	ks := append(kinds(t), mustKind[cart](t))
	h := NewHistory(codec.All(ks...))
	d := &duel{t: t, rng: rng(seed), h: h, v: NewView(h), s: NewStore(codec.All(ks...)), sims: map[int32][]int64{},
		truth:  map[fact][]int64{},
		wanted: map[int32]bool{}, drops: map[error]int{}, loss: 0.1}
	d.s.Applied = func(e *Replica, g int, st *motion.State) {
		want, ok := d.truth[fact{e.ID, g, st.Tick}]
		if !ok {
			t.Fatalf("client holds entity %d group %d at tick %d, which never was", e.ID, g, st.Tick)
		}
		if st.Level != 0 {
			want = slices.Clone(want)
			schema.Coarsen(ks[e.Kind], g, int(st.Level), want)
		}
		if !slices.Equal(want, st.Vals) {
			t.Fatalf("step %d: entity %d group %d tick %d: client holds %v, truth is %v", d.step, e.ID, g,
				st.Tick, st.Vals, want)
		}
		d.checks++
	}
	return d
}

// note notes the truth of an entity at the present tick.
func (d *duel) note(i int32, tick clock.Tick) {
	e := d.h.At(i)
	k := d.h.kinds[e.Kind]
	for g := range OwnerGroup + 1 {
		if g >= len(k.Groups) && (g != OwnerGroup || !e.Owned) {
			continue
		}
		vals, ok := d.h.Values(i, g, tick, nil)
		if !ok {
			d.t.Fatalf("no value of entity %d group %d at the present tick", e.ID, g)
		}
		for p := range k.Props { // what the owner does not receive reads as zero
			if a := k.Props[p].Audience; g == OwnerGroup && (a == schema.Server || a == schema.Kept) {
				vals[k.Props[p].At] = 0
			}
		}
		d.truth[fact{e.ID, g, tick}] = vals
	}
}

func (d *duel) tick(moving bool, budgetBits int, send bool) {
	d.step++
	tick := clock.Tick(d.step)
	d.h.Begin(tick)
	if moving {
		if len(d.sims) < 40 && d.rng.chance(0.5) || len(d.sims) == 0 {
			d.nextID++
			kind, owned := d.rng.n(3), d.nextID == 1
			if owned {
				kind = 0
			}
			i := d.h.Add(d.nextID, kind, owned)
			sim := make([]int64, d.h.kinds[kind].Sims)
			d.mutate(kind, sim, 1)
			d.sims[i] = sim
			d.wanted[i] = true
		}
		for i := int32(0); int(i) < d.h.Len(); i++ { // by index: the same order in every run
			if d.sims[i] == nil {
				continue
			}
			if d.fixed {
				continue
			}
			if d.h.At(i).ID != 1 && d.rng.chance(0.01) {
				d.h.Remove(i)
				d.v.Leave(i)
				delete(d.sims, i)
				delete(d.wanted, i)
			} else if d.h.At(i).ID != 1 && d.rng.chance(0.02) {
				d.wanted[i] = !d.wanted[i]
			}
		}
	}
	for i := int32(0); int(i) < d.h.Len(); i++ {
		sim := d.sims[i]
		if sim == nil {
			continue
		}
		e := d.h.At(i)
		cut := false
		if moving && e.ID%3 != 2 {
			d.mutate(e.Kind, sim, 0.4)
			if cut = d.rng.chance(0.02); cut {
				sim[0] += 1 << 24
			}
		}
		d.h.Record(i, sim, cut)
		d.note(i, tick)
		if d.wanted[i] {
			d.v.Enter(i, detailOf(e.Owned))
			if moving && d.rng.chance(0.02) {
				far := int64(d.rng.n(150_000))
				d.v.far(i, far*far)
			}
		} else {
			d.v.Leave(i)
		}
	}
	now := clock.Time(d.step) * clock.Time(33*time.Millisecond)
	d.receive(now)
	if send {
		d.send(now, tick, budgetBits)
	}
}

func (d *duel) mutate(kind int, sim []int64, p float64) {
	k := d.h.kinds[kind]
	for i := range k.Props {
		q := &k.Props[i]
		if !d.rng.chance(p) || q.Class == schema.Text && p < 1 {
			continue
		}
		for c := q.At; c < q.At+q.Comps; c++ {
			switch q.Class {
			case schema.Pos:
				sim[c] += int64(d.rng.n(80000)) - 40000
				if p == 1 {
					sim[c] = int64(d.rng.next()%(1<<34)) - 1<<33
				}
			case schema.Vel:
				sim[c] = int64(d.rng.n(80000)) - 40000
			case schema.Angle:
				sim[c] = int64(d.rng.n(int(q.SimTurn)))
			case schema.Int:
				sim[c] = q.Min + int64(d.rng.n(int(q.Max-q.Min+1)))
			case schema.Tick:
				sim[c] = int64(d.h.Tick()) + int64(d.rng.n(30))
			default:
				sim[c] = int64(d.rng.n(2))
			}
		}
	}
}

func (d *duel) send(now clock.Time, tick clock.Tick, budgetBits int) {
	d.v.Team(1)
	due := d.v.Pending(now, 300*time.Millisecond, nil)
	if len(due) == 0 {
		return
	}
	seq := d.log.NextSeq()
	p := d.log.Sent(now, tick, d.v.Missing)
	var w wire.BitWriter
	w.Reset([]byte{byte(seq), byte(seq >> 8), byte(tick), byte(tick >> 8), byte(tick >> 16), byte(d.gotUp),
		byte(d.gotUp >> 8)})
	d.rngShuffle(due)
	d.x.Begin(d.v, due, budgetBits)
	for i := range due {
		if d.rng.chance(0.2) && (!d.dense || d.rng.chance(0.02)) {
			due[i].Bound = uint8(d.rng.n(motion.Bounds))
		}
		if d.x.Try(&due[i]) > budgetBits {
			break
		}
		d.x.Keep()
	}
	promised, before := d.x.Size(), w.Len()
	if d.x.End(&w, p, now); w.Len()-before > promised {
		d.t.Fatalf("step %d: a packet of %d bits, promised were %d", d.step, w.Len()-before, promised)
	}
	data := w.Bytes()
	d.log.Charge(p, len(data))
	if d.outage > 0 || d.rng.chance(d.loss) {
		return
	}
	d.down = append(d.down, flight{at: d.transit(), data: data})
	if d.delay == 0 && d.rng.chance(0.05) {
		d.down = append(d.down, flight{at: d.step + 1 + d.rng.n(70), data: data})
	}
}

// transit draws when something that leaves now arrives.
func (d *duel) transit() int {
	if d.delay > 0 {
		return d.step + d.delay
	}
	return d.step + 1 + d.rng.n(6)
}

// picture notes what the client draws at some moment of the last second.
func (d *duel) picture(newest wire.Seq) *picture {
	p := &picture{newest: newest, t: clock.TickFrac(max(int(clock.Tick(d.step).Frac())-d.rng.n(30*clock.FracPerTick),
		1)), pairs: map[[2]uint32][2]Mark{}}
	for _, e := range d.s.Entities() {
		for g := range e.Groups {
			if a, b := e.Groups[g].Around(p.t); a != nil {
				pair := [2]Mark{{a.Tick, a.Bound, a.Level}}
				if b != nil {
					pair[1] = Mark{b.Tick, b.Bound, b.Level}
				}
				p.pairs[[2]uint32{e.ID, uint32(g)}] = pair
			}
		}
	}
	return p
}

// judge compares a picture with what the server takes it for.
func (d *duel) judge(p *picture) {
	for i := range int32(d.h.Len()) {
		e := d.h.At(i)
		if !d.v.Has(i) {
			continue
		}
		for g := range OwnerGroup {
			if g < len(d.h.Kind(e).Groups) && d.h.Kind(e).Limited(g) {
				continue // what the client had to forget meanwhile is drawn no more
			}
			a, b := recordsOf(d.v, &d.log, i, g, p.newest, p.t)
			if a.Tick == 0 {
				a, b = b, Mark{}
			}
			drawn := p.pairs[[2]uint32{e.ID, uint32(g)}]
			if got := [2]Mark{a, b}; got != drawn {
				d.t.Fatalf("step %d: at %d, packet %d, entity %d group %d was drawn from records %v, "+
					"the server takes it for %v", d.step, p.t, p.newest, e.ID, g, drawn, got)
			}
			d.judged++
		}
	}
}

func (d *duel) rngShuffle(due []Candidate) {
	for i := len(due) - 1; i > 0; i-- {
		j := d.rng.n(i + 1)
		due[i], due[j] = due[j], due[i]
	}
}

func (d *duel) receive(now clock.Time) {
	if d.outage > 0 {
		d.outage--
	}
	keep := d.down[:0]
	for _, f := range d.down {
		if f.at > d.step {
			keep = append(keep, f)
			continue
		}
		seq := wire.Seq(uint16(f.data[0]) | uint16(f.data[1])<<8)
		if !d.recv.Accepts(seq) {
			continue
		}
		tick := clock.Tick(f.data[2]) | clock.Tick(f.data[3])<<8 | clock.Tick(f.data[4])<<16
		var r wire.BitReader
		r.Reset(f.data[7:])
		agreed, known := d.agreement.Agreed(tick, wire.Seq(uint16(f.data[5])|uint16(f.data[6])<<8))
		if !known {
			continue
		}
		if err := d.s.Read(&r, tick, agreed); err != nil {
			switch {
			case errors.Is(err, ErrBaseline):
				d.drops[ErrBaseline]++
			case errors.Is(err, ErrOvertaken):
				d.drops[ErrOvertaken]++
			default:
				d.t.Fatalf("step %d: a packet of our own: %v", d.step, err)
			}
			continue
		}
		d.recv.Applied(seq)
		d.agreement.Applied(tick, d.sentUp+1)
	}
	d.down = keep
	if a, ok := d.recv.Ack(); ok && d.outage == 0 && !d.rng.chance(d.loss) {
		d.sentUp++
		h := wire.Header{HasAck: true, Ack: a, Seq: d.sentUp}
		var w wire.BitWriter
		w.Reset(nil)
		h.Append(&w, wire.Known{})
		f := flight{at: d.transit(), data: w.Bytes()}
		if d.delay > 0 && d.rng.chance(0.03) {
			f.pic = d.picture(a.Latest)
		}
		d.up = append(d.up, f)
	}
	keepUp := d.up[:0]
	for _, f := range d.up {
		if f.at > d.step {
			keepUp = append(keepUp, f)
			continue
		}
		var r wire.BitReader
		h, err := wire.DecodeUp(&r, f.data, d.log.NextSeq())
		if err != nil {
			d.t.Fatal(err)
		}
		if !d.log.Acked(h.Ack, d.v.Delivered, d.v.Missing) {
			d.t.Fatal("an honest ack was refused")
		}
		if h.Seq.Newer(d.gotUp) {
			d.gotUp = h.Seq
		}
		if f.pic != nil {
			d.judge(f.pic)
		}
	}
	d.up = keepUp
}

// settled reports how the client differs from the truth, once nothing moves any more.
func (d *duel) settled() error {
	for i := int32(0); int(i) < d.h.Len(); i++ {
		e := d.h.At(i)
		if d.sims[i] == nil || !d.wanted[i] {
			if e.Alive() && d.s.Find(e.ID) != nil {
				return fmt.Errorf("entity %d is still held", e.ID)
			}
			continue
		}
		held := d.s.Find(e.ID)
		if held == nil {
			return fmt.Errorf("entity %d is not held", e.ID)
		}
		for g := range OwnerGroup + 1 {
			if e.Owned != (g == OwnerGroup) || !e.Owned && g >= len(d.h.kinds[e.Kind].Groups) {
				continue
			}
			want := d.truth[fact{e.ID, g, d.h.Tick()}]
			if d.h.Kind(e).Limited(g) && held.Groups[g].Newest() == nil {
				continue
			}
			if st := held.Groups[g].Newest(); st != nil && st.Level != 0 {
				schema.Coarsen(d.h.Kind(e), g, int(st.Level), want)
			}
			if st := held.Groups[g].Newest(); st == nil || !slices.Equal(st.Vals, want) {
				return fmt.Errorf("entity %d group %d: held %v, truth %v", e.ID, g, st, want)
			}
		}
	}
	for _, e := range d.s.Entities() {
		if i, ok := d.h.Find(e.ID); !ok || !d.wanted[i] {
			return fmt.Errorf("entity %d is held, but gone", e.ID)
		}
	}
	return nil
}

// Every state that a client adds equals the truth of that tick, whatever the path loses,
// reorders or repeats, whatever slots are reused and however little fits a packet; and when nothing
// moves any more the client holds all of the truth, after which nothing is sent.
//
// seeds: R46 R25 R17 R36
func TestClientHoldsTheTruth(t *testing.T) {
	steps := 3000
	if testing.Short() {
		steps = 800
	}
	for seed := uint64(1); seed <= 6; seed++ {
		d := newDuel(t, seed)
		d.loss = []float64{0, 0.1, 0.3}[seed%3]
		budget := []int{8 * 1000, 8 * 150}[seed%2]
		for range steps {
			if d.loss > 0 && d.rng.chance(0.002) {
				d.outage = d.rng.n(300)
			}
			d.tick(true, budget, d.rng.chance(0.7))
		}
		d.outage = 0
		quiet := 0
		for n := 0; n < 3000 && quiet < 400; n++ {
			before := d.log.NextSeq()
			d.tick(false, budget, true)
			if quiet++; d.log.NextSeq() != before {
				quiet = 0
			}
		}
		if err := d.settled(); err != nil {
			t.Errorf("seed %d: after everything came to rest: %v", seed, err)
		}
		if quiet < 400 {
			t.Errorf("seed %d: still sending at rest", seed)
		}
		if d.checks < steps {
			t.Errorf("seed %d: only %d states compared", seed, d.checks)
		}
		t.Logf("seed %d: %d states compared, %d packets dropped for a lost baseline, %d slots used", seed,
			d.checks, d.drops[ErrBaseline], len(d.v.slots.list))
	}
}

// What the server takes a client's picture to be drawn from is what it was drawn from: for each
// entity and group the records around the playout time, under loss and outages, for things that
// moved on after a long rest, and with little in a packet.
func TestServerKnowsWhatWasSeen(t *testing.T) {
	steps := 2000
	if testing.Short() {
		steps = 800
	}
	for seed := uint64(1); seed <= 6; seed++ {
		d := newDuel(t, seed)
		d.delay = []int{1, 3, 8}[seed%3]
		d.loss = []float64{0, 0.2}[seed%2]
		d.fixed, d.dense = true, seed > 3
		quiet := 0
		for range steps {
			if d.loss > 0 && d.rng.chance(0.002) {
				d.outage = d.rng.n(100)
			}
			if quiet--; d.rng.chance(0.005) {
				quiet = 100 + d.rng.n(200) // longer than the log remembers, in packets
			}
			d.tick(quiet <= 0, []int{8 * 1000, 8 * 60}[seed%2], d.dense || d.rng.chance(0.7))
		}
		if d.judged < steps {
			t.Errorf("seed %d: only %d pairs compared", seed, d.judged)
		}
	}
}
