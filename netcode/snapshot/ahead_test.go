package snapshot

import (
	"slices"
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// aheadPair is a pair whose client knows its own barrel, and one that it observes.
func aheadPair(t testing.TB) (p *pair, i int32) {
	p = pairOf(t, []*schema.Kind{barrels(t), mustKind[walker](t)})
	p.step(func() {
		p.v.Enter(p.spawn(0, true), Mine)
		i = p.spawn(0, false)
		p.h.At(i).Spawn.Tick = p.tick
		p.v.Enter(i, Observed)
	})
	for range 10 {
		p.step(func() { p.sims[i][x] += 3000 })
	}
	return p, i
}

// An entity becomes exact, and observed again, by its first sight in another slot alone. Until that
// arrives the client has it as before, and afterwards what it had of it, too; what was sent before
// and arrives later is refused or has no effect.
func TestSwitch(t *testing.T) {
	for _, lost := range []int{0, 1, 3} {
		p, i := aheadPair(t)
		for n, d := range []Detail{Exact, Observed, Spawned, Observed, Exact} {
			was := p.s.Find(p.h.At(i).ID)
			old, held := was.Exact, newestTick(was)
			p.begin()
			p.sims[i][x] += 3000
			p.record()
			overtaken := p.send(plenty)
			p.begin()
			p.sims[i][x] += 3000
			p.record()
			for range 2 { // the second time there is nothing to do
				if !p.v.Switch(i, d) {
					t.Fatal("no slot is vacant")
				}
			}
			for miss := 0; ; miss++ {
				k := p.send(plenty)
				if k == nil || k.entries == 0 || slices.ContainsFunc(p.due, func(c Candidate) bool { return c.Gone }) {
					t.Fatalf("switch %d: %+v is due", n, p.due)
				}
				if miss == lost {
					p.mustArrive(k)
					break
				}
				if e := p.s.Find(p.h.At(i).ID); e != was || e.Exact != old {
					t.Fatalf("switch %d: the client has another one before the first sight arrived", n)
				}
				p.v.Missing(p.log.Get(k.seq))
				p.begin()
				p.sims[i][x] += 3000
				p.record()
			}
			e := p.s.Find(p.h.At(i).ID)
			if e == nil || e.Exact == old || e.Mine || len(p.s.Entities()) != 2 || newestTick(e) != p.tick {
				t.Fatalf("switch %d: the client has %+v", n, e)
			}
			for g := range e.Groups {
				if (g == OwnerGroup) != old || g > 1 && g != OwnerGroup {
					continue
				}
				if s := e.Groups[g].Newest(); s == nil || g != 1 && s.Tick != held {
					t.Errorf("switch %d: of group %d the client has %+v, had that of tick %d", n, g, s, held)
				}
			}
			if _ = p.arrive(overtaken); p.s.Find(p.h.At(i).ID) != e || newestTick(e) != p.tick {
				t.Fatalf("switch %d: what was overtaken has an effect", n)
			}
			p.ack()
			if p.v.slots.leaving != 0 {
				t.Fatalf("switch %d: %d slots are leaving", n, p.v.slots.leaving)
			}
			p.step(func() { p.sims[i][x] += 3000 })
			if got := newestTick(e); got != p.tick {
				t.Fatalf("switch %d: the newest record is of tick %d, not %d", n, got, p.tick)
			}
		}
	}
}

// newestTick returns the tick of the newest record of an entity's place.
func newestTick(e *Replica) clock.Tick {
	if e.Exact {
		return e.Groups[OwnerGroup].Newest().Tick
	}
	return e.Groups[0].Newest().Tick
}

// An entity that goes while a switch is under way is gone from both slots.
func TestGoneWhileItSwitches(t *testing.T) {
	p, i := aheadPair(t)
	p.begin()
	p.record()
	p.v.Switch(i, Exact)
	if p.send(plenty) == nil { // and is lost
		t.Fatal("nothing is due")
	}
	p.begin()
	p.v.Leave(i)
	p.remove(i)
	p.record()
	p.mustArrive(p.send(plenty))
	p.ack()
	if len(p.s.Entities()) != 1 || p.v.slots.leaving != 0 {
		t.Errorf("the client has %d entities, %d slots are leaving", len(p.s.Entities()), p.v.slots.leaving)
	}
}

// Nobody receives at simulation precision what may have properties of somebody else alone: another
// player's avatar, or a kind with such properties.
func TestExactRecordsHaveNothingPrivate(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  *schema.Kind
		owned bool
		want  bool
	}{
		{"a barrel", barrels(t), false, true},
		{"a player's barrel", barrels(t), true, false},
		{"what has an owner's property", aheadKind[walker](t), false, false},
		{"what has a team's property, and one for those nearby", aheadKind[cart](t), false, false},
		{"what nobody runs ahead", mustKind[gem](t), false, false},
	} {
		for _, d := range []Detail{Exact, Spawned} {
			p := pairOf(t, []*schema.Kind{c.kind})
			var i int32
			p.step(func() { i = p.spawn(0, c.owned); p.h.At(i).Spawn.Tick = 1; p.v.Enter(i, d) })
			e := p.s.Find(p.h.At(i).ID)
			if e.Exact != c.want || (e.Groups[OwnerGroup].Newest() != nil) != c.want || p.h.At(i).Exact != c.want {
				t.Errorf("%s: exact %v, want %v", c.name, e.Exact, c.want)
			}
			p.step(func() { p.v.Switch(i, Exact) })
			if e := p.s.Find(p.h.At(i).ID); e.Exact != c.want {
				t.Errorf("%s, switched: exact %v, want %v", c.name, e.Exact, c.want)
			}
		}
	}
}

func aheadKind[T any](t testing.TB) *schema.Kind {
	k := mustKind[T](t)
	k.Ahead = schema.Predicted
	return k
}

// The client has the newest state of all that it receives exactly if nothing of it is lost or under
// way, be it a record, the end of an entity, or the first sight of one that switches.
func TestSettled(t *testing.T) {
	p, i := aheadPair(t)
	p.step(func() { p.v.Switch(i, Exact) })
	p.step(nil)
	if !p.v.Settled() {
		t.Fatal("nothing is under way, and not all is settled")
	}
	for _, c := range []struct {
		name   string
		change func()
	}{
		{"a record", func() { p.sims[i][x] += 1000 }},
		{"it is observed from now on", func() { p.v.Switch(i, Observed) }},
		{"it is exact again", func() { p.v.Switch(i, Exact) }},
		{"its end", func() { p.v.Leave(i) }},
	} {
		p.begin()
		c.change()
		if p.record(); p.v.Settled() {
			t.Errorf("%s: it is settled before the packet", c.name)
		}
		lost := p.send(plenty)
		if !p.v.Settled() {
			t.Errorf("%s: it is not settled with the packet", c.name)
		}
		if p.rest(1); p.v.Settled() {
			t.Errorf("%s: it is settled without the packet", c.name)
		}
		p.v.Missing(p.log.Get(lost.seq))
		p.mustArrive(p.send(plenty))
		p.ack()
		if p.rest(1); !p.v.Settled() {
			t.Errorf("%s: it is not settled in the end", c.name)
		}
	}
}
