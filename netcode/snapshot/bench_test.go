package snapshot

import (
	"fmt"
	"testing"

	"meanwhile/netcode/wire"
)

// crowd is a world of walkers that all move in each tick, seen by one client whose packets arrive
// and are acknowledged at once.
type crowd struct {
	*pair
	packets []*packet
	records int
	bytes   int
}

func newCrowd(t testing.TB, n int) *crowd {
	c := &crowd{pair: newPair(t)}
	c.begin()
	for range n {
		i := c.spawn(walkerKind, false)
		c.sims[i][x], c.sims[i][y] = int64(i)*256000, int64(i)*100
		c.v.Enter(i, Observed)
	}
	c.record()
	for range 2 * HistoryTicks { // every memory that is used again has been used once
		c.tickOnce()
	}
	c.records, c.bytes = 0, 0
	return c
}

func (c *crowd) move() {
	c.begin()
	for n, i := range c.ents {
		c.sims[i][x] += int64(n%7)*3000 - 9000
		c.sims[i][walkerVelX] = int64(n%7)*2000 - 6000
	}
	c.record()
}

// encode writes due entries into a packet.
func (c *crowd) encode() {
	if c.due = c.v.Pending(c.now, rto, c.due[:0]); len(c.due) == 0 {
		return
	}
	entry := c.log.Sent(c.now, c.tick, c.v.Missing)
	k := c.next()
	k.seq, k.tick, k.latest, k.entries = entry.Seq, c.tick, c.got, len(c.due)
	c.w.Reset(k.body[:0])
	c.x.All(&c.w, c.v, c.due, entry, c.now)
	k.body = c.w.Bytes()
	c.log.Charge(entry, len(k.body))
	c.records += k.entries
	c.bytes += len(k.body)
}

// next returns a packet whose memory is used again.
func (c *crowd) next() *packet {
	if n := len(c.packets); n < cap(c.packets) {
		c.packets = c.packets[:n+1]
	} else {
		c.packets = append(c.packets, nil)
	}
	k := &c.packets[len(c.packets)-1]
	if *k == nil {
		*k = &packet{body: make([]byte, 0, wire.MaxDatagram)}
	}
	return *k
}

func (c *crowd) decode() {
	for _, k := range c.packets {
		c.mustArrive(k)
	}
	c.packets = c.packets[:0]
}

func (c *crowd) tickOnce() {
	c.move()
	c.encode()
	c.decode()
	c.ack()
}

// Steady ticks of both sides allocate nothing: recording, choosing, coding, acknowledging, reading.
func TestNoAllocations(t *testing.T) {
	c := newCrowd(t, 100)
	if n := testing.AllocsPerRun(200, c.tickOnce); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	seen := 0
	look := func() {
		newest := c.log.NextSeq() - 1
		c.slots = c.v.Shown(wire.Basis{Newest: newest}, c.slots[:0], nil)
		for _, n := range c.slots {
			if a, _ := c.v.RecordsAround(&c.log, n, 0, wire.Basis{Newest: newest}, (c.tick - 2).Frac()); a.Tick != 0 {
				seen++
			}
		}
	}
	look()
	if n := testing.AllocsPerRun(20, look); n != 0 || seen == 0 {
		t.Errorf("%v allocations to look at %d states", n, seen)
	}
}

func BenchmarkRecords(b *testing.B) {
	for _, n := range []int{32, 256} {
		c := newCrowd(b, n)
		per := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
		}
		b.Run(fmt.Sprintf("record/entities=%d", n), func(b *testing.B) {
			for b.Loop() {
				c.move()
			}
			per(b)
		})
		c.tickOnce()
		b.Run(fmt.Sprintf("encode/entities=%d", n), func(b *testing.B) {
			c.records, c.bytes = 0, 0
			for b.Loop() {
				b.StopTimer()
				c.move()
				b.StartTimer()
				c.encode()
				b.StopTimer()
				c.decode()
				c.ack()
				b.StartTimer()
			}
			per(b)
			b.ReportMetric(float64(c.bytes*8)/float64(c.records), "wire-bits/record")
		})
		b.Run(fmt.Sprintf("decode/entities=%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c.move()
				c.encode()
				b.StartTimer()
				c.decode()
				b.StopTimer()
				c.ack()
				b.StartTimer()
			}
			per(b)
		})
		b.Run(fmt.Sprintf("pending/nothing/entities=%d", n), func(b *testing.B) {
			c.tickOnce()
			for b.Loop() {
				c.due = c.v.Pending(c.now, rto, c.due[:0])
			}
			per(b)
		})
		b.Run(fmt.Sprintf("held/entities=%d", n), func(b *testing.B) {
			t := (c.tick - 2).Frac()
			for b.Loop() {
				t++ // another moment: nothing of the last look can be used
				newest := c.log.NextSeq() - 1
				c.slots = c.v.Shown(wire.Basis{Newest: newest}, c.slots[:0], nil)
				for _, n := range c.slots {
					c.v.RecordsAround(&c.log, n, 0, wire.Basis{Newest: newest}, t)
				}
			}
			per(b)
		})
	}
}
