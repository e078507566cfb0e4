package wire

import (
	"testing"

	"meanwhile/netcode/clock"
)

// Both sides know the same of what was applied, over losses, packets that overtake each other on
// both ways, and numbers that wrap.
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
				t.Fatalf("tick %d, packet of tick %d: the client takes %b for agreed, the server %b", tick, p.tick,
					agreed, p.agreed)
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

// Of two packets of one tick the second to come is refused, whichever it is, and so is what came
// before the first acknowledgement and is so late that it would take the place of what is newer.
func TestAgreementRefuses(t *testing.T) {
	var a Agreement
	for _, c := range []struct {
		tick   clock.Tick
		latest Seq
		agreed uint64
		ok     bool
	}{
		{5, 0, 0, true},
		{5, 0, 0, false},
		{5, 9, 0, false},
		{6, 0, 0, true},
		{6, 1, 0, false},
		{7, 1, 1<<2 | 1<<1, true},
		{7 + rememberedTicks, 3, 0, true},
		{7, 0, 0, false},              // it has the place of the one before
		{7 + AgreedTicks, 3, 0, true}, // the oldest that is understood
		{6 + AgreedTicks, 3, 0, false},
		{8 + rememberedTicks, 0, 0, true}, // the server has heard of nothing yet
		{9 + rememberedTicks, 3, 1<<2 | 1<<1, true},
	} {
		agreed, ok := a.Agreed(c.tick, c.latest)
		if ok != c.ok || agreed != c.agreed {
			t.Errorf("tick %d, acknowledging %d: %b, %v, want %b, %v", c.tick, c.latest, agreed, ok, c.agreed, c.ok)
		}
		if ok {
			a.Applied(c.tick, 1)
		}
	}
}

// FuzzAgreement lets bytes decide when each side sends, and which packet arrives when: many may
// share a tick, come twice or never. What a client takes for agreed is what the server knew, packet
// by packet.
func FuzzAgreement(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2})
	f.Add([]byte{0, 1, 1, 6, 3, 4, 2, 3, 0, 1, 10, 4, 0, 1, 2})
	f.Add([]byte{1, 0, 0x85, 2, 3, 4, 0xff, 0, 1, 2, 10, 3, 4, 1, 18})
	f.Fuzz(func(t *testing.T, script []byte) {
		type packet struct {
			tick   clock.Tick
			latest Seq // the client's own newest, up; the newest of those that the server had, down
			agreed uint64
			knows  []int // up: the packets that it acknowledges
		}
		var a Agreement
		var down, up []packet
		tick, sent, got := clock.Tick(1), Seq(65_500), Seq(65_500)
		var applied []int
		known := map[int]bool{}
		taken := map[int]bool{}
		for _, b := range script {
			if b >= 0x80 {
				tick += clock.Tick(b - 0x7f)
				continue
			}
			switch n := int(b / 5); b % 5 {
			case 0:
				tick++
			case 1:
				p := packet{tick: tick, latest: got}
				for i := range known {
					if age := tick - down[i].tick; age > 0 && age < AgreedTicks {
						p.agreed |= 1 << age
					}
				}
				down = append(down, p)
			case 2: // a packet of the server arrives, the newest or one of those before it
				i := len(down) - 1 - n
				if i < 0 || taken[i] {
					continue
				}
				p := &down[i]
				agreed, ok := a.Agreed(p.tick, p.latest)
				if !ok {
					continue
				}
				if agreed != p.agreed {
					t.Fatalf("packet of tick %d, at tick %d: the client takes %b for agreed, the server %b", p.tick,
						tick, agreed, p.agreed)
				}
				a.Applied(p.tick, sent+1)
				taken[i] = true
				applied = append(applied, i)
			case 3:
				sent++
				up = append(up, packet{latest: sent, knows: append([]int(nil), applied...)})
			case 4:
				if i := len(up) - 1 - n; i >= 0 {
					for _, i := range up[i].knows {
						known[i] = true
					}
					if up[i].latest.Newer(got) {
						got = up[i].latest
					}
				}
			}
		}
	})
}
