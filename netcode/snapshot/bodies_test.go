package snapshot

import (
	"bytes"
	"testing"

	"meanwhile/netcode/wire"
)

// Packets are the same whether bodies are remembered or not: for clients that lose packets of their
// own, see at levels of their own, in two histories with one Writer.
func TestBodiesAreShared(t *testing.T) {
	type client struct {
		view [2]*View // with remembered bodies, and without
		log  [2]wire.Log
	}
	var shared Writer
	ks := kinds(t)
	for _, k := range ks {
		k.Grade()
	}
	worlds := []*pair{pairOf(t, ks), pairOf(t, ks)}
	clients := make([][]*client, len(worlds))
	for n, p := range worlds {
		p.begin()
		for range 12 {
			p.spawn(walkerKind, false)
		}
		p.record()
		for range 6 {
			c := &client{view: [2]*View{NewView(p.h), NewView(p.h)}}
			clients[n] = append(clients[n], c)
			for _, v := range c.view {
				for _, i := range p.ents {
					v.Enter(i, Observed)
				}
			}
		}
	}
	random, hits, tries := rng(7), 0, 0
	for range 200 {
		for n, p := range worlds {
			p.begin()
			var cuts []int32
			for _, i := range p.ents {
				p.sims[i][x] += int64(random.next() % 90_000)
				p.sims[i][walkerVelX] += int64(random.next()%800) - 400
				p.sims[i][walkerHealth] = int64(p.tick / 9 % 50)
				if random.next()%200 == 0 {
					p.sims[i][y] += 1 << 20
					cuts = append(cuts, i)
				}
			}
			p.record(cuts...)
			for at, c := range clients[n] {
				lost := random.next()%8 == 0
				var out [2][]byte
				for twin, v := range c.view {
					for _, i := range p.ents {
						away := 30_000 * (int64(at) + int64(p.tick)/64) // millimetres
						v.far(i, away*away)
					}
					alone := Writer{}
					w, to := &alone, &wire.BitWriter{}
					if twin == 0 {
						w = &shared
					}
					entry := c.log[twin].Sent(p.now, p.tick, v.Missing)
					to.Reset(nil)
					w.All(to, v, v.Pending(p.now, rto, nil), entry, p.now)
					out[twin] = to.Bytes()
					c.log[twin].Charge(entry, len(out[twin]))
					if !lost {
						c.log[twin].Acked(wire.Ack{Latest: entry.Seq}, v.Delivered, v.Missing)
					}
				}
				if !bytes.Equal(out[0], out[1]) {
					t.Fatalf("tick %d, world %d, client %d: remembered bodies give\n%x\nothers\n%x", p.tick, n, at, out[0], out[1])
				}
			}
			hits, tries = hits+shared.bodies.hits, tries+shared.bodies.tries
		}
	}
	if tries < 10_000 || hits*leastShared < tries {
		t.Errorf("%d of %d bodies were remembered", hits, tries)
	}
}
