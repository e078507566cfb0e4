package snapshot

import (
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// farEnd is a client of a server that codes bodies once for all.
type farEnd struct {
	v    *View
	s    *Store
	log  wire.Log
	recv wire.Received
	got  wire.Seq

	agreement wire.Agreement
}

func (f *farEnd) step(t *testing.T, x *Writer, tick clock.Tick) (entries int) {
	t.Helper()
	now := clock.Time(tick) * tickTime
	due := f.v.Pending(now, rto, nil)
	if len(due) == 0 {
		return 0
	}
	entry := f.log.Sent(now, tick, f.v.Missing)
	var w wire.BitWriter
	x.All(&w, f.v, due, entry, now)
	f.log.Charge(entry, len(w.Bytes()))
	var r wire.BitReader
	r.Reset(w.Bytes())
	agreed, _ := f.agreement.Agreed(tick, f.got)
	if err := f.s.Read(&r, tick, agreed); err != nil {
		t.Fatalf("tick %d: %v", tick, err)
	}
	f.recv.Applied(entry.Seq)
	f.got++
	f.agreement.Applied(tick, f.got)
	a, _ := f.recv.Ack()
	if !f.log.Acked(a, f.v.Delivered, f.v.Missing) {
		t.Fatal("an honest ack was refused")
	}
	return len(due)
}

// Of two clients whose records are coded once, one sees what a handle names: the other one reads 0,
// whoever is coded first, and learns nothing of a change of the handle alone. The history is long
// past when it sees it at last.
//
// seeds: B20
func TestHandlesOfTwoClients(t *testing.T) {
	ks := []*schema.Kind{mustKind[note](t)}
	h := NewHistory(codec.All(ks...))
	x := &Writer{}
	var ends [2]*farEnd
	for i := range ends {
		ends[i] = &farEnd{v: NewView(h), s: NewStore(codec.All(ks...))}
	}
	tick := clock.Tick(0)
	var ents []int32
	sims := [3][]int64{}
	sends := true
	step := func(change func()) (entries [2]int) {
		t.Helper()
		tick++
		h.Begin(tick)
		if tick == 1 {
			for n := range sims {
				sims[n] = make([]int64, ks[0].Sims)
				ents = append(ents, h.Add(uint32(n+1), 0, false))
			}
		}
		change()
		for n, i := range ents {
			h.Record(i, sims[n], false)
		}
		for i := 0; sends && i < len(ends); i++ { // each goes first in turns
			n := (i + int(tick)) % 2
			entries[n] = ends[n].step(t, x, tick)
		}
		return entries
	}
	read := func(end int) int64 {
		g := ks[0].Props[namedProp].Group
		return ends[end].s.Find(1).Groups[g].Newest().Vals[ks[0].Offset(g, namedProp)]
	}
	check := func(want0, want1 int64) {
		t.Helper()
		if got0, got1 := read(0), read(1); got0 != want0 || got1 != want1 {
			t.Fatalf("tick %d: read %d and %d, want %d and %d", tick, got0, got1, want0, want1)
		}
	}
	step(func() {
		for n := range ends {
			ends[n].v.Enter(0, Observed)
		}
		ends[0].v.Enter(1, Observed)
		ends[0].v.Enter(2, Observed)
	})
	for range 8 {
		step(func() {})
	}
	sends = false
	step(func() { sims[0][named] = 2 })
	sends = true
	if n := step(func() {}); n != [2]int{1, 0} {
		t.Errorf("%v entries for a handle that was 0, want 1 and none", n)
	}
	for range 20 {
		step(func() { sims[0][namedWord] = int64(tick % 9) })
		check(2, 0)
	}
	for tick%probeEvery != probeEvery-1 {
		step(func() { sims[0][namedWord] = int64(tick % 9) })
	}
	// In a tick in which the Writer remembers bodies, with all else that they depend on the same.
	step(func() { sims[0][named], sims[0][namedWord] = 3, int64(tick%9) })
	if check(3, 0); !x.bodies.on {
		t.Error("bodies were not remembered")
	}
	step(func() { sims[0][named], sims[0][namedWord] = 2, int64(tick%9) })
	check(2, 0)
	for range 8 {
		step(func() {})
	}
	if n := step(func() { sims[0][named] = 3 }); n != [2]int{1, 0} {
		t.Errorf("%v entries for a handle that changed, want 1 and none", n)
	}
	check(3, 0)
	for range 8 {
		step(func() {})
	}
	for _, id := range []int64{0, 2, 0, 3} { // 0 and back again
		if n := step(func() { sims[0][named] = id }); n != [2]int{1, 0} {
			t.Errorf("%v entries for a handle that became %d, want 1 and none", n, id)
		}
		check(id, 0)
	}
	for range HistoryTicks + 10 {
		step(func() {})
	}
	step(func() { ends[1].v.Enter(2, Observed) })
	check(3, 3)
	step(func() { sims[0][namedWord] = 8 })
	check(3, 3)
	step(func() { ends[0].v.Leave(2) })
	check(0, 3)
	n, _ := ends[0].v.slots.find(0)
	g, vals := ks[0].Props[namedProp].Group, []int64{3, 8}
	if ends[0].v.Hide(n, g, tick-1, vals); vals[0] != 3 {
		t.Error("a handle that was shown a tick ago is hidden in a rewind")
	}
	if ends[0].v.Hide(n, g, tick, vals); vals[0] != 0 || vals[1] != 8 {
		t.Errorf("what is hidden now is drawn as %v in a rewind", vals)
	}
	step(func() { sims[0][named] = 9 }) // nobody
	check(0, 0)
}
