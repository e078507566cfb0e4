package wire

import (
	"testing"

	"meanwhile/clock"
)

// Both sides know the same of what was applied, over losses, packets that overtake each other on both ways, and numbers that wrap.
func TestAgreement(t *testing.T) {
	r := uint64(7)
	n := func(n int) int { r = r*6364136223846793005 + 1442695040888963407; return int(r >> 33 % uint64(n)) }
	type packet struct {
		at     int
		tick   clock.Tick
		seq    Seq // the client's own, up; the newest of those that the server had, down
		knows  map[clock.Tick]bool
		agreed uint64
	}
	var agreement Agreement
	var down, up []packet
	applied, known := map[clock.Tick]bool{}, map[clock.Tick]bool{}
	sent, got := Seq(65_000), Seq(65_000)
	read, late, said := 0, 0, 0
	for tick := clock.Tick(1); tick < 6000; tick++ {
		if n(3) > 0 {
			p := packet{at: int(tick) + 1 + n(8), tick: tick, seq: got}
			if n(100) == 0 {
				p.at += n(400)
			}
			for i := clock.Tick(1); i < min(AgreedTicks, tick); i++ {
				if known[tick-i] {
					p.agreed |= 1 << i
				}
			}
			if n(8) > 0 {
				down = append(down, p)
			}
		}
		keep := down[:0]
		for _, p := range down {
			if p.at > int(tick) {
				keep = append(keep, p)
				continue
			}
			agreed, ok := agreement.Agreed(p.tick, p.seq)
			if !ok {
				if late++; tick-p.tick <= rememberedTicks-AgreedTicks {
					t.Fatalf("tick %d: the packet of tick %d is not understood any more", tick, p.tick)
				}
				continue
			}
			if agreed != p.agreed {
				t.Fatalf("tick %d, packet of tick %d: the client takes %b for agreed, the server %b", tick, p.tick, agreed, p.agreed)
			}
			if read++; agreed != 0 {
				said++
			}
			applied[p.tick] = true
			agreement.Applied(p.tick, sent+1)
		}
		down = keep
		if sent++; n(8) > 0 {
			p := packet{at: int(tick) + 1 + n(8), seq: sent, knows: map[clock.Tick]bool{}}
			for t := range applied {
				p.knows[t] = true
				if tick-t > 500 {
					delete(applied, t)
				}
			}
			up = append(up, p)
		}
		keep = up[:0]
		for _, p := range up {
			if p.at > int(tick) {
				keep = append(keep, p)
				continue
			}
			if p.seq.Newer(got) {
				got = p.seq
			}
			for t := range p.knows {
				known[t] = true
			}
		}
		up = keep
	}
	if said < 3000 || late == 0 {
		t.Errorf("%d of %d packets agree on something, %d came too late", said, read, late)
	}
}
