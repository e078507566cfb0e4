package snapshot

import (
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/wire"
)

// A client that acknowledges what it never got, and asks for everything anew whenever it likes,
// harms nobody but itself: what is known of it stays within its bounds, each packet within its
// promise, and once it is honest and has asked for everything it holds the truth.
func TestLiar(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testLiar(t, newSoak(t, 5)) })
	t.Run("with barrels", func(t *testing.T) { testLiar(t, newSoakOf(t, 5, true)) })
}

func testLiar(t *testing.T, c *soak) {
	ticks := 12_000
	if testing.Short() {
		ticks = 3000
	}
	for range 4 {
		for range ticks / 4 {
			c.world(true)
			c.send(8 * 700)
			c.spare, c.down = append(c.spare, c.down...), c.down[:0] // it never looks at them
			for range c.rng.n(3) {
				last := c.log.NextSeq() - 1
				latest := last - wire.Seq(c.rng.n(int(min(last, 2*wire.LogSize))))
				history := c.rng.next()
				history &= c.rng.next() // a quarter of the bits are set
				a := wire.Ack{Latest: latest, History: history}
				if !c.log.Acked(a, c.v.Delivered, c.v.Missing) {
					t.Fatalf("tick %d: an ack of what was sent was refused", c.tick)
				}
			}
			if c.rng.chance(0.01) {
				c.v.Resync()
			}
			if n := len(c.v.ledger.known); len(c.v.slots.list) > Slots || n > 8*Slots || len(c.v.ledger.far) > n {
				t.Fatalf("tick %d: %d slots, %d groups, %d far ones", c.tick, len(c.v.slots.list), n, len(c.v.ledger.far))
			}
		}
		// From here on it is honest, with empty hands.
		c.s, c.agreement, c.recv = NewStore(codec.All(c.kinds...)), wire.Agreement{}, wire.Received{}
		c.s.Applied, c.s.coded = c.compare, func(id uint32, g int, age, gap clock.Tick) { c.sum += soakMix(id, g, age, gap) }
		c.up = c.up[:0]
		for n := 0; n < wire.LogSize; n++ { // what it lied about last is over before it asks
			c.world(false)
			c.send(8 * 700)
			c.spare, c.down = append(c.spare, c.down...), c.down[:0]
		}
		c.v.Resync()
		for n := 0; n < 2000 && (n < 100 || c.v.Unacked()); n++ {
			c.world(false)
			c.receive()
			c.send(8 * 1000)
		}
		entities, _ := c.v.Count()
		if held := len(c.s.Entities()); c.v.Unacked() || held != entities || held == 0 {
			t.Fatalf("tick %d: %d of %d entities are held, unacknowledged: %v", c.tick, held, entities, c.v.Unacked())
		}
	}
	if c.count.refused[ErrSlot] > 0 || c.count.states == 0 {
		t.Errorf("%d packets spoke of slots that held nothing, %d states compared", c.count.refused[ErrSlot], c.count.states)
	}
}
