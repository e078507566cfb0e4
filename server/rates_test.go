package server

import (
	"math"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/snapshot"
)

// actor is one of the entities of TestRates, and what its viewer received of it.
type actor struct {
	name     string
	distance float64                         // of its home, in metres
	move     func(tick clock.Tick) geom.Vec2 // from home; nil: it rests
	from     clock.Tick                      // it appears then

	id      game.ID
	records int
	last    motion.State
	longest clock.Tick // between two records
	late    int        // records that came later than the one before announced
}

// circle walks at 4 m/s and returns after period ticks of 50 ms.
func circle(period int) func(tick clock.Tick) geom.Vec2 {
	radius := 0.2 * float64(period) / (2 * math.Pi)
	return func(tick clock.Tick) geom.Vec2 {
		return geom.Angle(2 * math.Pi * float64(int(tick)%period) / float64(period)).Dir().Mul(radius)
	}
}

// takes counts a record, if it is one of the time that is measured. firstDue is the server's.
func (a *actor) takes(s *motion.State, firstDue int64) {
	gap := s.Tick - a.last.Tick
	if a.last.Tick > 600 && s.Tick <= 2000 {
		a.records++
		a.longest = max(a.longest, gap)
		if !a.last.Rest && s.Start <= a.last.Tick && int64(gap) > firstDue+int64(motion.Wait(a.last.Bound)) {
			a.late++
		}
	}
	a.last = *s
}

// play puts the actors in place in each tick.
func play(w *game.World, actors []*actor, byID map[uint32]*actor) {
	for i, a := range actors {
		r := geom.NewRand(9, uint64(i))
		at := r.Dir().Mul(a.distance)
		if a.move != nil {
			at = at.Add(a.move(w.Tick()))
		}
		switch {
		case w.Tick() < a.from:
		case a.id == 0:
			a.id = crumbs.Spawn(w, crumb{Pos: at})
			byID[uint32(a.id)] = a
		default:
			crumbs.Get(w, a.id).Pos = at
		}
	}
}

// One viewer stands in a crowd of 250 that its budget of 10 kbit/s does not reach for. Nearer
// entities get more records, in proportion, and those that change less get fewer. One that returns
// to where the viewer knows it to be gets as many as others. Nobody waits for ever, announcements
// are kept, and an entity that pops up close by comes first.
//
// seeds: R20 R21 R23 R24 R41 R47
func TestRates(t *testing.T) {
	n := newNest(t, Config{Budget: 10000 / 8})
	walk := circle(97)
	near5 := &actor{name: "5 m", distance: 5, move: walk}
	near20 := &actor{name: "20 m", distance: 20, move: walk}
	near80 := &actor{name: "80 m", distance: 80, move: walk}
	seldom := &actor{name: "seldom", distance: 20, move: func(tick clock.Tick) geom.Vec2 { return walk(tick - tick%100) }}
	loop := &actor{name: "loop", distance: 20, move: circle(4)}
	once := &actor{name: "once", distance: 80,
		move: func(tick clock.Tick) geom.Vec2 { return geom.Vec2{Y: float64(tick / 1000 % 2)} }}
	pops := &actor{name: "pops up", distance: 4, from: 1100}
	actors := []*actor{near5, near20, near80, seldom, loop, once, pops}
	for i := range 240 {
		actors = append(actors, &actor{name: "crowd", distance: 10 + float64(i)/2, move: walk})
	}
	byID := map[uint32]*actor{}
	n.referee = func(w *game.World) { play(w, actors, byID) }
	p := n.connect("ann")
	packets, poppedAfter, changedAfter := 0, 0, clock.Tick(0)
	p.store.Applied = func(e *snapshot.Replica, g int, s *motion.State) {
		a := byID[e.ID]
		if a == nil || s.Tick <= a.last.Tick {
			return
		}
		if a == pops && poppedAfter == 0 {
			poppedAfter = packets
		}
		if a == once && s.Tick >= 1000 && changedAfter == 0 {
			changedAfter = n.s.Tick() - 1000
		}
		_, c := n.s.find(p.id)
		a.takes(s, int64((n.s.rules.Rate+c.down.send-1)/c.down.send))
	}
	for range 2000 {
		n.tick(func(_ PlayerID, b []byte) {
			if n.s.Tick() > 1100 {
				packets++
			}
			p.take(b)
		})
		p.send(command(n.s.Tick()+2, antCmd{}))
	}
	records, late := 0, 0
	for _, a := range actors {
		records, late = records+a.records, late+a.late
		if a.name != "crowd" {
			t.Logf("%-8s %4d records, longest gap %3d ticks", a.name, a.records, a.longest)
		}
	}
	t.Logf("%d of %d records later than announced; popped up in packet %d; a change waited %d ticks",
		late, records, poppedAfter, changedAfter)
	for _, c := range []struct {
		name        string
		a, b        *actor
		least, most float64
	}{
		{"5 m to 20 m", near5, near20, 1.1, 3},
		{"20 m to 80 m", near20, near80, 2.5, 4},
		{"what changes seldom to what always changes", seldom, near20, 0.05, 0.3},
		{"what returns to what does not", loop, near20, 0.55, 1.3},
	} {
		if r := float64(c.a.records) / float64(c.b.records); r < c.least || r > c.most {
			t.Errorf("%s: %.2f times as many records, want %.2f to %.2f", c.name, r, c.least, c.most)
		}
	}
	if near80.longest > 40 || changedAfter == 0 || changedAfter > 10 {
		t.Errorf("at 80 m a record came after %d ticks, want at most 40; a single change after %d, want at most 10",
			near80.longest, changedAfter)
	}
	if late*1000 > records || records < 10_000 {
		t.Errorf("%d of %d records came later than announced, want at most one in 1000", late, records)
	}
	if poppedAfter < 1 || poppedAfter > 2 {
		t.Errorf("what popped up 4 m away came in packet %d, want the first or second", poppedAfter)
	}
}

// An entity that is back at the place that its viewer knows whenever a packet goes out gets records
// all the same: movement counts along the way, not from end to end.
//
// seeds: R22
func TestLoopsAreUpdated(t *testing.T) {
	n := newNest(t, Config{})
	n.s.send = 10 // packets a second, of 20 ticks
	n.referee = func(w *game.World) {
		if crumbs.Len(w) == 0 {
			crumbs.Spawn(w, crumb{})
		}
		for _, c := range crumbs.All(w) {
			c.Pos = geom.Vec2{X: 3 + float64(w.Tick()%2)}
		}
	}
	p := n.connect("ann")
	records, places := 0, map[int64]bool{}
	p.store.Applied = func(e *snapshot.Replica, g int, s *motion.State) {
		if !e.Mine && n.s.Tick() > 100 {
			records++
			places[s.Vals[0]] = true
		}
	}
	for range 200 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send(command(n.s.Tick()+2, antCmd{}))
	}
	if records != 50 || len(places) != 1 {
		t.Errorf("%d records in 5 s, want 50; at %d places, want 1", records, len(places))
	}
}

// Entities that stand still and change all the time take turns and keep what is announced: all
// become known, and none waits for ever.
//
// seeds: R24 R41
func TestChangesTakeTurns(t *testing.T) {
	const things = 200
	n := newNest(t, Config{Budget: 10000 / 8})
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < things; i++ {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: 10 + float64(i)/2}})
		}
		for id, c := range crumbs.All(w) {
			c.Size = int(uint64(w.Tick())*7+uint64(id)) % 100
		}
	}
	p := n.connect("ann")
	last, longest := map[uint32]clock.Tick{}, map[uint32]clock.Tick{}
	p.store.Applied = func(e *snapshot.Replica, g int, s *motion.State) {
		if last[e.ID] > 200 {
			longest[e.ID] = max(longest[e.ID], s.Tick-last[e.ID])
		}
		last[e.ID] = s.Tick
	}
	for range 1000 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send(command(n.s.Tick()+2, antCmd{}))
	}
	near, far := longest[2], longest[things+1] // 1 is the avatar
	t.Logf("the nearest waited %d ticks, the farthest %d, of %d", near, far, len(longest))
	if len(longest) < things || far == 0 || far > 200 || near > 30 {
		t.Errorf("of %d that change the nearest waited %d ticks, the farthest %d", len(longest), near, far)
	}
}

// Events and movement share a budget that does not reach for either. Of a flood of events as many
// arrive as have room in their share, in order, and movement keeps at least a quarter of its
// records meanwhile.
//
// seeds: R32
func TestEventsAndMovementShareTheBudget(t *testing.T) {
	n := newNest(t, Config{Budget: 10000 / 8})
	walk := circle(97)
	sent := 0
	n.referee = func(w *game.World) {
		for crumbs.Len(w) < 200 {
			crumbs.Spawn(w, crumb{})
		}
		i := 0
		for _, c := range crumbs.All(w) {
			r := geom.NewRand(9, uint64(i))
			c.Pos = r.Dir().Mul(10 + float64(i)/2).Add(walk(w.Tick()))
			i++
		}
		for range 3 {
			if w.Tick() > 600 {
				bites.Emit(w, 0, geom.Vec2{}, bite{Size: sent % 100, Text: "crunch"})
				sent++
			}
		}
	}
	p := n.connect("ann")
	var records [3]uint64 // after 500, 600 and 700 ticks
	for range 700 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send(command(n.s.Tick()+2, antCmd{}))
		if st, _ := n.s.Stats(p.id); n.s.Tick() >= 500 && n.s.Tick()%100 == 0 {
			records[n.s.Tick()/100-5] = st.Records
		}
	}
	before, during := records[1]-records[0], records[2]-records[1]
	t.Logf("in 5 s %d records, with events %d and %d events of %d", before, during, len(p.events), sent)
	if share := float64(during) / float64(before); share < 0.25 {
		t.Errorf("with a flood of events %.2f of the records, want a quarter", share)
	}
	if len(p.events) < 75 {
		t.Errorf("%d events arrived in 5 s", len(p.events))
	}
	kind := n.s.rules.Events[0]
	for i, e := range p.events {
		vals := make([]int64, kind.Sims)
		if err := packet.DecodeEvent(e.Body, kind, e.Tick, vals); err != nil || vals[0] != int64(i%100) {
			t.Fatalf("event %d is number %d, %v", i, vals[0], err)
		}
	}
}
