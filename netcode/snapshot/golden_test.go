package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// One record of each kind, pinned: name, tick, bytes, and what a client makes of them. They change
// only together with docs/PROTOCOL.md and the version of the protocol.
func TestRecordVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The records of a walker and a gem from first sight to the end, one packet after the other: " +
		"name, tick, bytes from the number of entries on,\n" +
		"# and what a client that has read all before them makes of them. The kinds, as schema text:\n")
	describe := func(kinds []*schema.Kind) {
		for _, k := range kinds {
			b.WriteString("# kind " + strings.ReplaceAll(strings.TrimSuffix(k.Text(), "\n"), "\n", "\n# ") + "\n")
		}
	}
	p := newPair(t)
	describe(p.v.h.kinds)
	applied := func(e *Replica, g int, s *motion.State) {
		fmt.Fprintf(&b, "  slot %d: entity %d of kind %d, own %v, group %d: %v", e.slot, e.ID, e.Kind, e.Mine, g, s.Vals)
		if s.Cut != 0 {
			fmt.Fprintf(&b, ", teleported at %d", s.Cut)
		}
		if s.Start != 0 {
			fmt.Fprintf(&b, ", moves since %d", s.Start)
		}
		if s.Rest {
			b.WriteString(", rests")
		}
		if s.Bound != 0 {
			fmt.Fprintf(&b, ", bound class %d", s.Bound)
		}
		if s.Level != 0 {
			fmt.Fprintf(&b, ", level %d", s.Level)
		}
		if e.Spawn.Tick != 0 {
			fmt.Fprintf(&b, ", number %d of the command of tick %d", e.Spawn.N, e.Spawn.Tick)
		}
		b.WriteString("\n")
	}
	p.s.Applied = applied
	bound := uint8(0)
	write := func(name string) {
		t.Helper()
		p.due = p.v.Pending(p.now, 10*rto, p.due[:0])
		for i := range p.due {
			p.due[i].Bound = bound
		}
		k := p.write(plenty)
		fmt.Fprintf(&b, "\n%s\n  tick %d: %x\n", name, k.tick, k.body)
		p.mustArrive(k)
		p.ack()
		for n := range p.v.slots.used {
			if s := &p.v.slots.list[n]; s.phase() == ended {
				fmt.Fprintf(&b, "  slot %d: its end is known\n", n)
			}
		}
	}
	p.rest(99)
	p.begin()
	gem, walker := p.spawn(gemKind, false), p.spawn(walkerKind, true)
	p.sims[gem][x], p.sims[gem][y] = 150, -20
	copy(p.sims[walker], []int64{256000, -512000, 0, 4000, 90, 100, 'Z' | 'o'<<8 | 0xc3<<16 | 0xab<<24, 0, 0, 30, 130, 9})
	p.record()
	write("nothing in sight")
	p.v.Enter(gem, Observed)
	p.rest(1)
	write("a gem comes into sight")
	p.v.Enter(walker, Mine)
	p.rest(1)
	write("the client's own walker")
	p.begin()
	p.sims[gem][x] += 3
	p.sims[walker][walkerAmmo]--
	p.record()
	write("one property of each has changed")
	for range restTicks {
		p.begin()
		p.record()
	}
	write("the gem has come to rest")
	p.rest(3 * HistoryTicks)
	p.begin()
	p.sims[gem][x] -= 250
	p.record()
	write("it moves again: absolute, since the history has forgotten the baseline")
	p.begin()
	p.sims[gem][x], p.sims[gem][gemOn] = 90000, 1
	p.record(gem)
	p.rest(1)
	write("both of its groups have changed, and it was teleported a tick ago")
	bound = 7
	p.begin()
	p.sims[gem][x], p.sims[gem][gemOn] = 89998, 0
	p.record()
	write("the next records will take up to eleven ticks longer")
	p.begin()
	p.sims[gem][x]--
	p.record()
	write("and those after them")
	p.v.Leave(gem)
	p.rest(1)
	write("the gem is gone")
	p = pairOf(t, []*schema.Kind{mustKind[cart](t)})
	b.WriteString("\n# Another client, which sees a cart:\n")
	describe(p.v.h.kinds)
	p.s.Applied, bound = applied, 0
	p.rest(9)
	p.begin()
	c := p.spawn(0, false)
	copy(p.sims[c], []int64{30*256000 + 77777, -1234567, 8533 * 5, 0, 300 << 8, 20000, 7, 50, 1, 33})
	p.record()
	p.v.Enter(c, Observed)
	p.v.far(c, 40_000*40_000)
	write("a cart comes into sight 40 m away")
	p.begin()
	p.sims[c][x] += 256000
	p.sims[c][cartTilt] += 300
	p.record()
	write("it moves")
	p.begin()
	p.record()
	p.v.far(c, 20_000*20_000)
	write("now it is 20 m away")
	p.begin()
	p.sims[c][x] += 256000
	p.record()
	p.v.far(c, 200_000*200_000)
	p.v.Team(1)
	write("200 m, too far for one group; the client has joined the cart's team")
	p.begin()
	p.record()
	write("told what only its team is told, at the next tick")
	p.begin()
	p.sims[c][cartPlan] = 34
	p.record()
	p.v.Team(2)
	write("the client has changed sides")
	p = pairOf(t, []*schema.Kind{barrels(t)})
	b.WriteString("\n# A third client, which runs barrels ahead:\n")
	describe(p.v.h.kinds)
	p.s.Applied = applied
	p.rest(99)
	p.begin()
	own, first, second := p.spawn(0, true), p.spawn(0, false), p.spawn(0, false)
	for _, i := range p.ents {
		copy(p.sims[i], []int64{25600 * int64(i), 1000, 77, -77, 50, 'O' | 'K'<<8})
	}
	p.h.At(second).Spawn = Spawn{Tick: p.tick - 2, N: 5}
	p.record()
	p.v.Enter(own, Mine)
	p.v.Enter(first, Exact)
	p.v.Enter(second, Spawned)
	write("its own, one that is near, and one that its command of two ticks ago spawned as the sixth")
	p.begin()
	for _, i := range p.ents {
		p.sims[i][x] += 77
	}
	p.record()
	write("all move")
	p.begin()
	p.record()
	p.v.Switch(first, Observed)
	write("the second one is not near any more: it is observed in another slot, and not gone from its own")
	p.begin()
	p.sims[first][x] += 30000
	p.record()
	write("it moves")
	p.begin()
	p.record()
	p.v.Switch(first, Exact)
	write("it is near again")
	golden.Check(t, "testdata/records.txt", b.String())
}
