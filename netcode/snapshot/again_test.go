package snapshot

import (
	"errors"
	"slices"
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// reuse is a world in which things of three kinds take turns at the few slots that are free, on a
// path that loses packets, brings them twice, and some of them long after others.
type reuse struct {
	*pair
	rng    rng
	turns  []int32 // the things that come and go
	flying []underway
	used   int // how often a slot was used again while packets of its former use were under way
	later  int // packets that came too late for that
	states int // that the client added
}

// underway is a packet that arrives at a tick.
type underway struct {
	*packet
	at clock.Tick
}

func newReuse(t *testing.T, seed uint64, free int) *reuse {
	c := &reuse{pair: pairOf(t, append(kinds(t), mustKind[cart](t))), rng: rng(seed)}
	c.begin()
	for range Slots - free {
		c.v.Enter(c.spawn(gemKind, false), Observed)
	}
	fillers := c.ents
	c.record()
	for range 3 * free {
		c.rest(1)
		if k := c.send(8 * plenty); k != nil {
			c.mustArrive(k)
			c.ack()
		}
	}
	if n := len(c.s.Entities()); n != len(fillers) {
		t.Fatalf("%d of %d", n, len(fillers))
	}
	c.ents = nil // no need to record them again
	c.begin()
	for n := range 3 * free {
		c.turns = append(c.turns, c.spawn([]int{gemKind, walkerKind, cartKind}[n%3], false))
	}
	c.record()
	c.s.Applied = c.compare
	return c
}

// compare compares a state that the client adds with what the history says.
func (c *reuse) compare(e *Replica, g int, st *motion.State) {
	c.states++
	i, ok := c.h.Find(e.ID)
	if !ok || c.h.At(i).Kind != e.Kind {
		c.t.Fatalf("tick %d: the client holds entity %d of kind %d", c.tick, e.ID, e.Kind)
	}
	want, ok := c.h.Values(i, g, st.Tick, nil)
	schema.Coarsen(c.h.Kind(c.h.At(i)), g, int(st.Level), want)
	if !ok || !slices.Equal(want, st.Vals) {
		c.t.Fatalf("tick %d: entity %d group %d of tick %d is held as %v, was %v", c.tick, e.ID, g, st.Tick, st.Vals, want)
	}
}

// play is one tick.
func (c *reuse) play(restless bool) {
	c.begin()
	for _, i := range c.turns {
		c.sims[i][x] += int64(c.rng.n(5000))
		if c.h.At(i).Kind == cartKind { // of its groups, some come and go
			c.sims[i][cartFuel], c.sims[i][cartPlan] = int64(c.rng.n(100)), int64(c.rng.n(100))
			c.sims[i][cartSide] = 1
			c.v.far(i, int64(c.rng.n(10_000))*1_000_000)
		}
		if restless && c.rng.chance(0.1) {
			c.v.Leave(i)
		}
	}
	c.record()
	if c.rng.chance(0.1) {
		c.v.Team(int64(c.rng.n(2)))
	}
	for range len(c.turns) {
		i := c.turns[c.rng.n(len(c.turns))]
		if restless && !c.v.Has(i) {
			c.enter(i)
		}
	}
	if k := c.send(plenty); k != nil {
		for range []int{0, 1, 1, 1, 1, 1, 1, 2}[c.rng.n(8)] {
			late := 1 + c.rng.n(3)
			if c.rng.chance(0.15) {
				late += c.rng.n(50)
			}
			c.flying = append(c.flying, underway{k, c.tick + clock.Tick(late)})
		}
	}
	c.flying = slices.DeleteFunc(c.flying, c.lands)
	if c.rng.chance(0.8) {
		c.ack()
	}
	for n := range c.v.slots.used {
		if s := &c.v.slots.list[n]; s.phase() == live {
			if e := c.s.slots[n]; e == nil || !e.alive || e.ID != c.h.At(s.ent).ID {
				c.t.Fatalf("tick %d: the server takes slot %d to hold entity %d", c.tick, n, c.h.At(s.ent).ID)
			}
		}
	}
}

// enter brings a thing into sight, if there is a slot.
func (c *reuse) enter(i int32) {
	before, _ := c.v.slots.endedFirst()
	if !c.v.Enter(i, Observed) {
		return
	}
	if n, _ := c.v.slots.find(i); n == before {
		c.used++
	}
}

// lands lets a packet arrive if it is time.
func (c *reuse) lands(k underway) bool {
	if k.at > c.tick {
		return false
	}
	switch err := c.arrive(k.packet); {
	case errors.Is(err, ErrOvertaken):
		c.later++
	case err != nil && !errors.Is(err, errOld) && !errors.Is(err, ErrBaseline):
		c.t.Fatalf("tick %d: packet %d of tick %d: %v", c.tick, k.seq, k.tick, err)
	}
	return true
}

// Slots are used again as soon as the client is known to have learned of the end of what they held.
// Whatever arrives late, no record is ever read as one of another entity.
//
// seeds: R46
func TestSlotsUsedAgainAtOnce(t *testing.T) {
	for _, seed := range []uint64{46, 47} {
		c := newReuse(t, seed, 4)
		for range 4000 {
			c.play(true)
		}
		t.Logf(
			"slots were used again at once %d times; %d packets came too late for that; %d states",
			c.used,
			c.later,
			c.states,
		)
		if c.used < 500 || c.later < 100 || c.states < 5000 {
			t.Error("that is too little to show anything")
		}
		for n := 0; n < 200 && (c.v.Unacked() || len(c.flying) > 0); n++ {
			c.play(false)
		}
		known := c.v.AppendKnown(nil)
		for _, i := range known {
			if c.s.Find(c.h.At(i).ID) == nil {
				t.Errorf("the client lacks entity %d", c.h.At(i).ID)
			}
		}
		if held := len(c.s.Entities()); held != len(known) {
			t.Errorf("the client holds %d entities, %d are in sight", held, len(known))
		}
	}
}

// The copy of a first sight that was on its way all along does not bring back an entity that came
// in another slot and went since.
func TestFirstSightLongOvertaken(t *testing.T) {
	p := newPair(t)
	p.begin()
	i := p.spawn(gemKind, false)
	other := p.spawn(walkerKind, false)
	p.record()
	p.v.Enter(other, Observed)
	p.step(nil)
	p.begin()
	p.record()
	p.v.Enter(i, Observed)
	late := p.send(plenty)
	p.begin()
	p.record()
	p.v.Leave(i)
	p.v.Enter(i, Observed)
	for n := 0; n < 60 && (n < 5 || p.v.Unacked()); n++ {
		p.step(func() { p.sims[i][x] += 10 })
	}
	p.v.Leave(i)
	for n := 0; n < 60 && (n < 5 || p.v.Unacked()); n++ {
		p.step(func() { p.sims[other][x] += 1000 })
	}
	if err := p.arrive(late); err != nil {
		t.Fatal(err)
	}
	p.ack()
	for range 5 {
		p.step(func() { p.sims[other][x] += 1000 })
	}
	if e := p.s.Find(p.h.At(i).ID); e != nil {
		t.Errorf("entity %d is held although it is gone", e.ID)
	}
}
