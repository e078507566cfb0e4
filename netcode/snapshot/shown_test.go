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
	shown := func(newest wire.Seq) (slots []uint16) {
		v.Shown(newest, nil, func(n uint16, _ int32) bool { slots = append(slots, n); return true })
		return slots
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
