package snapshot

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// What an update of a moving thing takes beside its values: slot, flags, age, groups and its share
// of what stands before the first entry. In a match of a dozen everything is sent with each packet
// and acknowledged after some ticks; in a crowd a budget chooses the few that waited longest. The
// bounds are a little above what is measured (docs/results/records.md).
func TestLayoutBits(t *testing.T) {
	for _, c := range []struct {
		name            string
		row             string // of the table in docs/results/records.md
		entities, fit   int    // fit: how many of them a packet takes
		every, ackAfter int    // ticks between packets, and from a packet to its acknowledgement
		loss            float64
		bound           float64
	}{
		{"12, all, acknowledged at once", "12, all | at once | 0", 12, 12, 1, 0, 0, 0.1},
		{"12, all, age 3", "12, all | 3 ticks | 0", 12, 12, 1, 3, 0, 0.1},
		{"8, all, age 6", "8, all, every third tick | 6 ticks | 0", 8, 8, 3, 6, 0, 0.2},
		{"12, all, age 3, a tenth lost", "12, all | 3 ticks | 10 %", 12, 12, 1, 3, 0.1, 0.2},
		{"250, 18 of them, age 3", "250, 18 of them | 3 ticks | 0", 250, 18, 1, 3, 0, 6.1},
		{"250, 60 of them, age 3", "250, 60 of them | 3 ticks | 0", 250, 60, 1, 3, 0, 3.8},
		{"250, 18 of them, age 6, a tenth lost", "250, 18 of them, every third tick | 6 ticks | 10 %", 250, 18, 3,
			6, 0.1, 6.5},
	} {
		p := newPair(t)
		r := rng(7)
		var x Writer
		body := 0
		x.coded = func(_ uint32, _ int, _, _ clock.Tick, bits int) { body = bits }
		type flight struct {
			k  *packet
			at clock.Tick
		}
		var flying []flight
		records, total, bodies := 0, 0, 0
		waits := map[int32]int64{}
		for p.tick < 1500 {
			p.begin()
			if p.tick == 1 {
				for range c.entities {
					p.v.Enter(p.spawn(walkerKind, false), Observed)
				}
			}
			for _, i := range p.ents {
				p.sims[i][0] += 25600 + int64(r.n(2000))
				p.sims[i][walkerVelX] += int64(r.n(2000)) - 1000
			}
			p.record()
			for len(flying) > 0 && flying[0].at <= p.tick {
				p.mustArrive(flying[0].k)
				p.ack()
				flying = flying[1:]
			}
			if int(p.tick)%c.every != 0 {
				continue
			}
			p.due = p.v.Pending(p.now, rto, p.due[:0])
			slices.SortFunc(p.due,
				func(a, b Candidate) int {
					last := func(c *Candidate) int { return int(int16(p.v.slots.list[c.slot].last)) }
					return last(&a) - last(&b) + int(waits[b.Ent]-waits[a.Ent])
				})
			entry := p.log.Sent(p.now, p.tick, p.v.Missing)
			k := &packet{seq: entry.Seq, tick: p.tick, latest: p.got}
			fit := c.fit
			if p.tick < 200 {
				fit = c.entities // until all are known
			}
			x.Begin(p.v, p.due, fit*32)
			sum := 0
			for i := range p.due[:min(fit, len(p.due))] {
				x.Try(&p.due[i])
				x.Keep()
				sum += body
				waits[p.due[i].Ent] = int64(r.n(6)) // distances differ, so waits do
			}
			p.w.Reset(nil)
			x.End(&p.w, entry, p.now)
			if p.tick > 500 {
				records += len(x.kept)
				total += p.w.Len()
				bodies += sum
			}
			k.body = p.w.Bytes()
			if !r.chance(c.loss) {
				flying = append(flying, flight{k, p.tick + clock.Tick(c.ackAfter)})
			}
		}
		layout, all := float64(total-bodies)/float64(records), float64(total)/float64(records)
		t.Logf("%-40s %.2f bits a record beside its values (of %.1f)", c.name, layout, all)
		golden.Quoted(t, "../../docs/results/records.md", fmt.Sprintf("| %s | %.2f | %.1f |", c.row, layout, all))
		if layout > c.bound {
			t.Errorf("%s: %.2f bits, want at most %.1f", c.name, layout, c.bound)
		}
	}
}

// What a server keeps of what one client with 250 things in sight holds, everything but the packet
// log and what all share.
func TestViewSize(t *testing.T) {
	c := newCrowd(t, 250)
	v := c.v
	size := int(unsafe.Sizeof(*v)) + cap(v.slots.list)*int(unsafe.Sizeof(slot{})) +
		cap(v.ledger.known)*int(unsafe.Sizeof(known{})) + cap(v.slots.index)*2 +
		cap(v.slots.endings)*int(unsafe.Sizeof(ending{})) + cap(v.sent.ring)*int(unsafe.Sizeof(sentTime{}))
	recordsOf(v, &c.log, 0, 0, c.log.NextSeq()-1, c.tick.Frac())
	shared := cap(c.v.look.pairs) * int(unsafe.Sizeof(lookPair{}))
	log := 0
	for s := c.log.NextSeq() - wire.LogSize; s != c.log.NextSeq(); s++ {
		if p := c.log.Get(s); p != nil {
			log += len(p.Refs)
		}
	}
	t.Logf("%d bytes, of which %d a slot and %d a group; its log refers to records in %d bytes; %d bytes for a "+
		"rewind are shared", size, unsafe.Sizeof(slot{}), unsafe.Sizeof(known{}), log, shared)
	if size > 14<<10+128 { // with what the allocator rounds up
		t.Errorf("a view takes %d bytes", size)
	}
}
