package server

import (
	"slices"
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// Bits by kind and property are those of one client in every seventh tick. The lists
// of slots, which are no kind's, are some of what else there is.
func TestBitsByProperty(t *testing.T) {
	c := newStrollers(t, 1, 10, DefaultBudget)
	c.play(60 * time.Second)
	all := uint64(0)
	for _, p := range c.s.clients {
		s := &p.down.stats
		all += s.MovingBits + s.FirstBits + s.OtherBits
	}
	sampled, values := uint64(0), uint64(0)
	for kind, bits := range c.out.Bits() {
		for i, n := range bits {
			if sampled += n; i < len(bits)-1 {
				values += n
			}
		}
		if n := len(c.rules.Kinds[kind].Props); len(bits) != n+1 {
			t.Fatalf("kind %d has %d numbers for %d properties", kind, len(bits), n)
		}
	}
	if part := float64(all) / float64(sampled); part < 10*sampleEvery || part > 13*sampleEvery {
		t.Errorf("one bit of %.1f is counted", part)
	}
	if share := float64(values) / float64(sampled); share < 0.5 || share > 1 {
		t.Errorf("%.0f %% are values of properties", share*100)
	}
}

// Each client has its turn in ticks with packets, however many there are, and however rarely
// packets are sent.
func TestAllAreSampled(t *testing.T) {
	for n := 1; n <= 64; n++ {
		for every := clock.Tick(1); every <= 6; every++ {
			met := make([]bool, n)
			for tick := clock.Tick(0); tick < clock.Tick(20*n)*sampleEvery*every; tick += every {
				if i := sampledAt(tick, n); i >= 0 {
					met[i] = true
				}
			}
			if i := slices.Index(met, false); i >= 0 {
				t.Fatalf("of %d clients that get a packet in each %d. tick, %d is never sampled", n, every, i)
			}
		}
	}
	if sampledAt(7, 0) != -1 || sampledAt(8, 3) != -1 {
		t.Error("somebody is sampled where nobody is there, or in a tick between")
	}
}

// BenchmarkEncode is a tick of 40 clients, sampled datagrams included.
func BenchmarkEncode(b *testing.B) {
	c := newStrollers(b, 2, 40, DefaultBudget)
	c.play(12 * time.Second)
	for b.Loop() {
		b.StopTimer()
		c.arrive()
		for i := range c.arrived {
			c.s.Receive(c.arrived[i].from, c.now, c.arrived[i].b)
		}
		c.s.Begin(c.now)
		c.out.Reset()
		b.StartTimer()
		c.s.Encode(0, c.s.Clients(), &c.out)
		b.StopTimer()
		c.s.End()
		c.send()
		c.deliver()
		b.StartTimer()
	}
}
