package rewind

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

const period = 50 * time.Millisecond

// seeds: B17
func TestJudge(t *testing.T) {
	const now = clock.Tick(100)
	at := func(tick float64) clock.TickFrac { return clock.TickFrac(tick * clock.FracPerTick) }
	for _, c := range []struct {
		name   string
		stated clock.TickFrac
		now    clock.Tick
		bound  time.Duration
		used   clock.TickFrac
		reason Reason
	}{
		{"in bounds", at(95.5), now, 500 * time.Millisecond, at(95.5), Exact},
		{"at the bound: 500 ms are 10 ticks of 50 ms", at(90), now, 500 * time.Millisecond, at(90), Exact},
		{"just beyond", at(90) - 1, now, 500 * time.Millisecond, at(90), TooOld},
		{"long ago", 1, now, 500 * time.Millisecond, at(90), TooOld},
		{"a part of a tick: 120 ms are 2.4", at(97), now, 120 * time.Millisecond, clock.TickFrac(100*256 - 614), TooOld},
		{"the present", at(100), now, 500 * time.Millisecond, at(100), Exact},
		{"the future", at(100) + 1, now, 500 * time.Millisecond, at(100), Future},
		{"none", 0, now, 500 * time.Millisecond, at(100), None},
		{"negative", -5, now, 500 * time.Millisecond, at(90), TooOld},
		{"switched off", at(95), now, -1, at(100), Off},
		{"none and switched off", 0, now, -1, at(100), Off},
		{"no bound left", at(99), now, 0, at(100), TooOld},
		{"the match is younger than the bound", 1, 3, time.Minute, 1, Exact},
		{"before the match", -1, 3, time.Minute, 0, TooOld},
	} {
		r := Judge(c.stated, wire.Basis{Newest: 7}, c.now, c.bound, period)
		if r.Used != c.used || r.Reason != c.reason || r.Stated != c.stated || r.By.Newest != 7 {
			t.Errorf("%s: %+v (%v), want used %d, %v", c.name, r, r.Reason, c.used, c.reason)
		}
	}
	for reason, want := range map[Reason]string{Exact: "exact", None: "none stated", TooOld: "too old",
		Future: "in the future", Off: "switched off"} {
		if reason.String() != want {
			t.Errorf("%d is %q, want %q", reason, reason, want)
		}
	}
}

type duck struct {
	Pos    struct{ X, Y float64 } `net:"pos,1cm"`
	Crouch bool                   `net:"bool"`
	Hull   int                    `net:"int,0..9,group=2"`
	Ammo   int                    `net:"int,0..9,to=owner"`
}

// range of a shooting gallery: ducks that move 1 m a tick and crouch in every other ten ticks.
type gallery struct {
	t    testing.TB
	kind *schema.Kind
	h    *snapshot.History
	v    *snapshot.View
	log  wire.Log
	tick clock.Tick
	d    [3]int32
	sims []int64
}

func newGallery(t testing.TB) *gallery {
	k, err := schema.New("duck", reflect.TypeFor[duck](), 20)
	if err != nil {
		t.Fatal(err)
	}
	g := &gallery{t: t, kind: k, h: snapshot.NewHistory(codec.All(k)), sims: make([]int64, k.Sims)}
	g.v = snapshot.NewView(g.h)
	return g
}

// step computes one tick; send says whether a packet goes out, and arrive whether it is
// acknowledged at once.
func (g *gallery) step(send, arrive bool) wire.Seq {
	g.tick++
	g.h.Begin(g.tick)
	for i := range g.d {
		if g.tick == 1 {
			g.d[i] = g.h.Add(uint32(10-i), 0, false) // IDs 10, 9, 8
			g.v.Enter(g.d[i], snapshot.Observed)
		}
		g.sims[0], g.sims[1] = int64(g.tick)*100, int64(i)*1000
		g.sims[2], g.sims[3] = int64(g.tick/10%2), int64(g.tick/10)
		cut := g.tick == 35
		if g.tick >= 35 {
			g.sims[0] += 50000
		}
		g.h.Record(g.d[i], g.sims, cut)
	}
	if !send {
		return 0
	}
	p := g.log.Sent(0, g.tick, g.v.Missing)
	var w wire.BitWriter
	w.Reset(nil)
	new(snapshot.Writer).All(&w, g.v, g.v.Pending(clock.Time(g.tick)*clock.Time(time.Second), time.Millisecond, nil), p, 0)
	if arrive {
		if !g.log.Acked(wire.Ack{Latest: p.Seq}, g.v.Delivered, g.v.Missing) {
			g.t.Fatal("ack refused")
		}
	}
	return p.Seq
}

// More than places is rewound: who crouched then crouches in the rewind, and every group is that of
// its own newest record.
//
// seeds: B16
func TestEachDrawsThePast(t *testing.T) {
	g := newGallery(t)
	var seqs []wire.Seq
	for tick := 1; tick <= 50; tick++ {
		if seq := g.step(tick%5 == 0, tick != 20); seq != 0 { // records of 5, 10, 15, (20 is lost), 25, ...
			seqs = append(seqs, seq)
		}
	}
	r := Rewinder{History: g.h, View: g.v, Log: &g.log}
	newest := seqs[len(seqs)-1]
	look := func(at Receipt) (ids []uint32, first []int64) {
		r.Each(g.kind, Query{Self: g.d[1]}, at, func(id uint32, drawn []int64) bool {
			if ids = append(ids, id); len(ids) == 1 {
				first = append(first, drawn...)
			}
			return true
		})
		return
	}
	const sub = schema.SubSteps
	for _, c := range []struct {
		name   string
		t      float64 // playout time in ticks
		newest wire.Seq
		x      float64 // in steps of 1 cm
		crouch int64
		hull   int64
	}{
		{"on a record", 15, newest, 1500, 1, 1},
		{"between two", 12.5, newest, 1250, 1, 1},
		{"crouching is that of the older one", 8.75, newest, 875, 0, 0},
		{"and changes with the newer one", 10, newest, 1000, 1, 1},
		{"across one that was lost", 20, newest, 2000, 1, 1},
		{"before the first", 3, newest, 500, 0, 0},
		{"before a teleport", 34.5, newest, 3000, 1, 3},
		{"after it", 35, newest, 53500, 1, 3},
		{"past the newest it is held", 70, newest, 55000, 1, 5},
		{"what had not arrived is not drawn", 14, seqs[1], 1000, 1, 1},
	} {
		ids, got := look(Receipt{Used: clock.TickFrac(c.t * clock.FracPerTick), By: wire.Basis{Newest: c.newest}})
		if !reflect.DeepEqual(ids, []uint32{8, 10}) {
			t.Fatalf("%s: entities %v, want 8 and 10: by rising ID, without 9", c.name, ids)
		}
		if want := []int64{int64(c.x * sub), 2000 * sub, c.crouch * sub, c.hull * sub}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: drawn %v, want %v", c.name, got, want)
		}
	}
	if _, got := look(Receipt{Used: g.tick.Frac(), Reason: Off}); got[0] != 55000*sub {
		t.Errorf("switched off: x %d, want the present, %d", got[0], 55000*sub)
	}
	if r.Substituted != 0 {
		t.Errorf("%d judged by something newer than was drawn", r.Substituted)
	}
	for _, c := range []struct {
		oldest clock.Tick
		x      int64
	}{{29, 1500}, {30, 3000}} { // two were sent in between, and lost; three
		after := Receipt{Used: 33 * clock.FracPerTick, By: wire.Basis{Newest: seqs[2]}, Oldest: c.oldest}
		r.Substituted = 0
		if _, got := look(after); got[0] != c.x*sub || (r.Substituted != 0) != (c.x != 1500) {
			t.Errorf("drawn from tick 15, judged no older than %d: x %d, want %d; counted %d", c.oldest, got[0], c.x*sub,
				r.Substituted)
		}
	}
	n := 0
	r.Each(g.kind, Query{Self: -1}, Receipt{Used: 20 * clock.FracPerTick, By: wire.Basis{Newest: newest}},
		func(uint32, []int64) bool { n++; return false })
	if n != 1 {
		t.Errorf("%d calls after the first said stop", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		r.Each(g.kind, Query{Self: -1}, Receipt{Used: 20 * clock.FracPerTick, By: wire.Basis{Newest: newest}},
			func(uint32, []int64) bool { return true })
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Of an outage of the way back that was longer than an acknowledgement reaches the server never
// learns which packets arrived. What was sent in them may have been drawn: it is counted, until
// newer records are known to have arrived.
func TestUnsaidIsCounted(t *testing.T) {
	for _, silent := range []int{wire.Window, wire.Window + 2} {
		g := newGallery(t)
		for range 10 {
			g.step(true, true)
		}
		for range silent {
			g.step(true, false)
		}
		newest := g.step(true, true)
		for range 5 {
			g.step(false, false)
		}
		r := Rewinder{History: g.h, View: g.v, Log: &g.log}
		look := func(at clock.Tick) bool {
			r.Substituted = 0
			r.Each(g.kind, Query{Self: -1}, Receipt{Used: at.Frac(), By: wire.Basis{Newest: newest}},
				func(uint32, []int64) bool { return true })
			return r.Substituted != 0
		}
		if within := g.tick - 7; look(within) != (silent > wire.Window) {
			t.Errorf("%d packets without an answer: at tick %d, between the records of 10 and %d, counted %d", silent, within,
				g.tick-5, r.Substituted)
		}
		if look(g.tick) {
			t.Errorf("%d packets without an answer: after the newest record counted %d", silent, r.Substituted)
		}
	}
}

// After an outage a client still draws what ended in it. A picture as old as that is not believed:
// the entity is judged as not there, and that is counted.
func TestEndedIsCounted(t *testing.T) {
	g := newGallery(t)
	for range 9 {
		g.step(true, true)
	}
	seq := g.step(true, true)
	for range 5 {
		g.step(true, false)
	}
	g.tick++
	g.h.Begin(g.tick)
	for _, i := range g.d {
		g.h.Remove(i)
	}
	g.v.LeaveRemoved()
	r := Rewinder{History: g.h, View: g.v, Log: &g.log}
	for _, c := range []struct {
		oldest  clock.Tick
		seen    int
		counted bool
	}{{15, 3, true}, {16, 0, true}, {10, 3, false}} {
		n := 0
		r.Substituted = 0
		at := Receipt{Used: g.tick.Frac(), By: wire.Basis{Newest: seq}, Oldest: c.oldest}
		r.Each(g.kind, Query{Self: -1}, at, func(uint32, []int64) bool { n++; return true })
		if n != c.seen || (r.Substituted != 0) != c.counted {
			t.Errorf("judged no older than tick %d: %d entities, counted %d; want %d, %t", c.oldest, n, r.Substituted, c.seen,
				c.counted)
		}
	}
}

// A client that holds nothing yet saw nothing, unless lag compensation is off.
func TestEachLeavesOutWhatIsNotHeld(t *testing.T) {
	g := newGallery(t)
	seq := g.step(true, false)
	for range 5 {
		g.step(false, false)
	}
	r := Rewinder{History: g.h, View: g.v, Log: &g.log}
	count := func(at Receipt) (n int) {
		r.Each(g.kind, Query{Self: -1}, at, func(uint32, []int64) bool { n++; return true })
		return n
	}
	if n := count(Receipt{Used: 6 * clock.FracPerTick, By: wire.Basis{Newest: seq}}); n != 0 {
		t.Errorf("%d entities before any packet was acknowledged", n)
	}
	if n := count(Receipt{Used: 6 * clock.FracPerTick, Reason: Off}); n != 3 {
		t.Errorf("%d entities of the present, want 3", n)
	}
}

func ExampleJudge() {
	const now = 200                       // the server's tick
	seen := clock.TickFrac(194*256 + 128) // the shooter drew tick 194 and a half
	r := Judge(seen, wire.Basis{Newest: 31}, now, 500*time.Millisecond, 50*time.Millisecond)
	fmt.Println(r.Used == seen, r.Reason)
	r = Judge(100*256, wire.Basis{Newest: 31}, now, 500*time.Millisecond, 50*time.Millisecond) // 5 s ago, it claims
	fmt.Println(r.Used.Tick(), r.Reason)
	// Output:
	// true exact
	// 190 too old
}
