package snapshot

import (
	"slices"
	"testing"

	"meanwhile/netcode/clock"
)

// 255 in sight, a quarter of which leaves and comes back in each second, under loss: the slots
// suffice, and the client follows.
func TestComingAndGoing(t *testing.T) {
	p := newPair(t)
	r := rng(5)
	p.begin()
	for range 320 {
		p.spawn(gemKind, false)
	}
	p.record()
	var flying []*packet
	refused := 0
	tick := func(budget int, change bool) {
		p.begin()
		for n, i := range p.ents {
			if change && (n+int(p.tick))%30 == 0 {
				p.sims[i][x] += 2000
			}
		}
		p.record()
		for n, i := range p.ents {
			if in := (n+int(p.tick)/30*80)%320 < 255; in || !change && p.v.Has(i) {
				if !p.v.Enter(i, Observed) {
					refused++
				}
			} else {
				p.v.Leave(i)
			}
		}
		p.v.AppendKnown(nil)
		p.log.Expire(p.now-clock.Time(2*rto), p.v.Missing)
		if k := p.send(budget); k != nil && !r.chance(0.1) {
			flying = append(flying, k)
		}
		if len(flying) > 4 {
			k := flying[0]
			flying = flying[1:]
			p.mustArrive(k)
			if !r.chance(0.1) {
				p.ack()
			}
		}
	}
	for range 900 {
		tick(plenty, true)
	}
	if _, slots := p.v.Count(); refused > 0 || slots > Slots-40 {
		t.Errorf("%d times there was no slot, %d are taken", refused, slots)
	}
	for range 200 {
		tick(plenty, false)
	}
	inSight(p.v, func(i int32) bool {
		if e := p.s.Find(p.h.At(i).ID); e == nil {
			t.Fatalf("entity %d is in sight but not held", p.h.At(i).ID)
		} else if want, _ := p.h.Values(i, 0, p.tick, nil); !slices.Equal(e.Groups[0].Newest().Vals, want) {
			t.Fatalf("entity %d is held as %v, want %v", e.ID, e.Groups[0].Newest().Vals, want)
		}
		return true
	})
}

// The first sight of an earlier stay in another slot, overtaken by that of the present stay,
// changes nothing.
func TestOvertakenFirstSight(t *testing.T) {
	p := newPair(t)
	var i int32
	p.begin()
	i = p.spawn(gemKind, false)
	p.v.Enter(i, Observed)
	p.record()
	old := p.send(plenty) // is slow
	p.v.Leave(i)
	p.rest(1)
	gone := p.send(plenty) // is slow as well
	p.v.Enter(i, Observed)
	p.rest(1)
	present := p.send(plenty)
	p.mustArrive(present)
	turns := p.s.Turns()
	p.mustArrive(old)
	p.mustArrive(gone)
	p.ack()
	if e := p.s.Find(p.h.At(i).ID); e == nil || e.since != present.tick || p.s.Turns() != turns {
		t.Fatalf("the client holds %+v", p.s.Entities())
	}
	if k := p.step(func() { p.sims[i][gemOn] = 1 }); k == nil || p.newest(i, 0).Tick != k.tick &&
		p.newest(i, 1).Tick != k.tick {
		t.Error("the next update has no effect")
	}
}

// In the usual order of things, an entity that comes back before its end was heard takes the new
// slot, and the end of the old one changes nothing.
func TestBackBeforeTheEndWasHeard(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}, {1}} {
		p := newPair(t)
		var i int32
		p.step(func() { i = p.spawn(gemKind, false); p.v.Enter(i, Observed) })
		p.v.Leave(i)
		p.rest(1)
		packets := []*packet{p.send(plenty)} // gone
		p.v.Enter(i, Observed)
		p.rest(1)
		packets = append(packets, p.send(plenty)) // first sight again
		for _, n := range order {
			p.mustArrive(packets[n])
		}
		p.ack()
		for range 30 {
			p.step(func() { p.sims[i][x] += 2000 })
		}
		if len(p.s.Entities()) != 1 || p.newest(i, 0).Tick != p.tick {
			t.Errorf("order %v: the client holds %d entities, as of tick %d of %d", order, len(p.s.Entities()),
				p.newest(i, 0).Tick, p.tick)
		}
		if ents, _ := p.v.Count(); ents != 1 {
			t.Errorf("order %v: %d entities in sight", order, ents)
		}
	}
}

// One that leaves before anything was said of it leaves no trace.
func TestLeavesUnsaid(t *testing.T) {
	p := newPair(t)
	p.begin()
	i := p.spawn(gemKind, false)
	p.v.Enter(i, Observed)
	p.record()
	p.v.Leave(i)
	p.v.Leave(i)
	if ents, slots := p.v.Count(); ents != 0 || slots != 0 || p.send(plenty) != nil || p.v.Unacked() {
		t.Errorf("%d entities, %d slots", ents, slots)
	}
}

// An entity that was removed without word to the view is not spoken of with values that it never
// had.
func TestRemovedUnderTheView(t *testing.T) {
	p := newPair(t)
	var i int32
	p.step(func() { i = p.spawn(gemKind, false); p.v.Enter(i, Observed) })
	p.begin()
	p.remove(i)
	p.record()
	if k := p.send(plenty); k != nil {
		t.Fatal("something is said of what is gone")
	}
	p.rest(2 * HistoryTicks)
	p.begin()
	if j := p.spawn(gemKind, false); j != i {
		t.Fatalf("index %d, not %d, is given out again", j, i)
	}
	p.record()
	if k := p.send(plenty); k != nil {
		t.Fatal("the next entity of that index is taken for the one that is gone")
	}
}
