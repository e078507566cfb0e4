package snapshot

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Who leaves, comes back before the end of it was heard and leaves again is shown for as long as
// the client showed it, and by one slot: the first sight in the new one ended the old one.
func TestWhoCameBackIsShownOnce(t *testing.T) {
	k, err := schema.New("thing", reflect.TypeFor[struct {
		X int `net:"int,0..99"`
	}](), 20)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistory(codec.All(k))
	v, s := NewView(h), NewStore(codec.All(k))
	var log wire.Log
	var received wire.Received
	var i int32
	sims := make([]int64, k.Sims)
	shown := func(newest wire.Seq) []uint16 {
		return v.Shown(wire.Basis{Newest: newest}, nil, nil)
	}
	for tick, c := range []struct {
		name   string
		do     func()
		arrive bool
		held   bool
		shown  []uint16 // for this packet as the newest
	}{
		{"comes", func() { i = h.Add(7, 0, false); v.Enter(i, Observed) }, true, true, []uint16{0}},
		{"leaves, which is lost", func() { v.Leave(i) }, false, true, []uint16{0}},
		{"comes back", func() { v.Enter(i, Observed) }, true, true, []uint16{1}},
		{"leaves again", func() { v.Leave(i) }, true, false, nil},
		{"nothing is due any more", func() {}, true, false, nil},
	} {
		h.Begin(clock.Tick(tick + 1))
		c.do()
		h.Record(i, sims, false)
		p := log.Sent(0, h.Tick(), v.Missing)
		var w wire.BitWriter
		w.Reset(nil)
		due := v.Pending(clock.Time(tick)*clock.Time(time.Millisecond), time.Minute, nil)
		if (len(due) > 0) != (tick < 4) {
			t.Fatalf("%s: %d records are due", c.name, len(due))
		}
		new(Writer).All(&w, v, due, p, 0)
		if c.arrive {
			var r wire.BitReader
			r.Reset(w.Bytes())
			if err := s.Read(&r, h.Tick(), ^uint64(0)); err != nil {
				t.Fatal(err)
			}
			received.Applied(p.Seq)
			ack, _ := received.Ack()
			log.Acked(ack, v.Delivered, v.Missing)
		}
		if got := s.Find(7) != nil; got != c.held {
			t.Fatalf("%s: the client has it %v", c.name, got)
		}
		if got := shown(p.Seq); !slices.Equal(got, c.shown) {
			t.Errorf("%s: shown by slots %v, want %v", c.name, got, c.shown)
		}
	}
	if got := shown(2); !slices.Equal(got, []uint16{0, 1}) && !slices.Equal(got, []uint16{1, 0}) {
		t.Errorf("before it came back it was shown by slots %v, want the old one", got)
	}
}

// Who is in sight twice within a round trip, so that nobody knew that the client had it when it
// left, is shown by the slot that the client shows: with the first sight by the older one, with the
// second by the newer one alone, whichever number the slots have, and whatever was acknowledged
// first.
//
// seeds: B15
func TestWhoFlapsIsShownByTheRightSlot(t *testing.T) {
	for _, c := range []struct {
		name    string
		applied []int // packets in the order in which the client applies them
		acked   []int // packets of which the server learns, each on its own
		want    []uint16
	}{
		{"the first sight", []int{1}, []int{1}, []uint16{0}},
		{"both", []int{1, 3}, []int{1, 3}, []uint16{1}},
		{"both, the newer known first", []int{1, 3}, []int{3, 1}, []uint16{1}},
		{"both, the newer applied first", []int{3, 1}, []int{3, 1}, []uint16{1}},
		{"the newer one alone", []int{3}, []int{3}, []uint16{1}},
		{"its end, too", []int{1, 3, 4}, []int{1, 3, 4}, nil},
		{"the older one late, after the newer one's end", []int{3, 4, 1}, []int{3, 4, 1}, nil},
		{"the older one, and the newer one's end", []int{1, 4}, []int{1, 4}, []uint16{0}},
		{"all", []int{1, 2, 3, 4}, []int{4, 3, 2, 1}, nil},
	} {
		h := NewHistory(codec.All(mustKind[cart](t)))
		v, s := NewView(h), NewStore(codec.All(mustKind[cart](t)))
		var log wire.Log
		var w wire.BitWriter
		var i int32
		sims := make([]int64, h.kinds[0].Sims)
		bodies := map[int][]byte{}
		for n, do := range []func(){
			func() { i = h.Add(7, 0, false); v.Enter(i, Observed) },
			func() { v.Leave(i) },
			func() { v.Enter(i, Observed) },
			func() { v.Leave(i) },
		} {
			h.Begin(clock.Tick(n + 1))
			do()
			h.Record(i, sims, false)
			p := log.Sent(0, h.Tick(), v.Missing)
			w.Reset(nil)
			due := v.Pending(clock.Time(n)*clock.Time(time.Millisecond), time.Minute, nil)
			new(Writer).All(&w, v, due, p, 0)
			log.Charge(p, 100)
			bodies[n+1] = slices.Clone(w.Bytes())
		}
		for _, n := range c.applied {
			var r wire.BitReader
			r.Reset(bodies[n])
			if err := s.Read(&r, clock.Tick(n), 0); err != nil {
				t.Fatal(err)
			}
		}
		for k := range c.acked {
			a := wire.Ack{Latest: wire.Seq(slices.Max(c.acked[:k+1]))}
			for _, n := range c.acked[:k+1] {
				a.History |= 1 << (a.Latest - wire.Seq(n)) >> 1
			}
			if !log.Acked(a, v.Delivered, v.Missing) {
				t.Fatal("an honest ack was refused")
			}
		}
		var got []uint16
		by := wire.Basis{Newest: wire.Seq(slices.Max(c.applied))}
		for _, n := range v.Shown(by, nil, nil) {
			if a, b := v.RecordsAround(&log, n, 0, by, 9*256); a.Tick != 0 || b.Tick != 0 {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, c.want) || (s.Find(7) != nil) != (len(c.want) > 0) {
			t.Errorf("%s: shown by slots %v, want %v; the client has it: %v", c.name, got, c.want, s.Find(7) != nil)
		}
	}
}

// A first sight that is repeated without a group makes the client drop it: a frame drawn from the
// first copy has the group, one drawn from both has not.
//
// seeds: B16
func TestRepeatedSightDropsAGroup(t *testing.T) {
	h := NewHistory(codec.All(mustKind[cart](t)))
	v := NewView(h)
	var log wire.Log
	var w wire.BitWriter
	var i int32
	sims := make([]int64, h.kinds[0].Sims)
	fuel := h.kinds[0].Props[5].Group
	for n, away := range []int64{10_000, 90_000} {
		h.Begin(clock.Tick(n + 1))
		if n == 0 {
			i = h.Add(7, 0, false)
			v.Enter(i, Observed)
		}
		h.Record(i, sims, false)
		v.far(i, away*away)
		p := log.Sent(clock.Time(n)*clock.Time(time.Second), h.Tick(), v.Missing)
		w.Reset(nil)
		now := clock.Time(n) * clock.Time(time.Second)
		new(Writer).All(&w, v, v.Pending(now, time.Millisecond, nil), p, now)
		log.Charge(p, 100)
	}
	log.Acked(wire.Ack{Latest: 2, History: 1}, v.Delivered, v.Missing)
	for newest, want := range map[wire.Seq]clock.Tick{1: 1, 2: 0} {
		a, b := recordsOf(v, &log, i, fuel, newest, 9*256)
		if a.Tick != want || b.Tick != 0 {
			t.Errorf("by packet %d the group is drawn from %+v and %+v, want tick %d", newest, a, b, want)
		}
	}
}

// A slot that ended is kept until the commands have run that may have been made before the client
// learned of the end, however early they came.
//
// seeds: B15
func TestAnEndIsKeptForCommandsThatWait(t *testing.T) {
	const end, ahead = 3, shownTicks + 20
	h := NewHistory(codec.All(mustKind[cart](t)))
	v := NewView(h)
	var log wire.Log
	var w wire.BitWriter
	var i int32
	sims := make([]int64, h.kinds[0].Sims)
	before := wire.Basis{Newest: 1}
	for tick := clock.Tick(1); tick <= end+ahead+1; tick++ {
		h.Begin(tick)
		switch tick {
		case 1:
			i = h.Add(7, 0, false)
			v.Enter(i, Observed)
		case 2:
			v.Leave(i)
		case end: // learned of with a datagram that brings a command for long after
			v.Awaits(end + ahead)
			log.Acked(wire.Ack{Latest: 2, History: 1}, v.Delivered, v.Missing)
		}
		h.Record(i, sims, false)
		if tick < end {
			p := log.Sent(0, tick, v.Missing)
			w.Reset(nil)
			new(Writer).All(&w, v, v.Pending(clock.Time(tick)*clock.Time(time.Millisecond), time.Minute, nil), p, 0)
			log.Charge(p, 100)
			continue
		}
		v.vacant() // as when another one comes
		if got, want := len(v.Shown(before, nil, nil)), tick <= end+ahead; (got == 1) != want {
			t.Fatalf("tick %d: shown by %d slots; kept %v", tick, got, want)
		}
	}
}
