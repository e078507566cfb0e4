package client

import (
	"encoding/binary"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/wire"
)

// A server that is hostile, or a path that is, can spoil the game of its own client, and no more
// than that: it never panics, never hangs and never grows, and what it is asked to draw are
// numbers.
//
// seeds: B20
func FuzzReceive(f *testing.F) {
	rules := (&sky{referee: func(w *game.World) {
		for gems.Len(w) < 3 {
			gems.Spawn(w, gem{Pos: geom.Vec2{X: w.Rand().Range(-9, 9)}})
		}
	}}).rules(f)
	// A short honest match, whose datagrams are the seeds. A client that gets them at the same
	// times knows the server's clock from them, and predicts.
	d := newDuo(f, rules)
	p := d.join(20*ms, Config{})
	_, w, err := d.s.Connect(d.now, "y")
	if err != nil {
		f.Fatal(err)
	}
	d.join(20*ms, Config{})
	var honest [][]byte
	seen := wire.Seq(0)
	p.frame = func() { // each datagram on its way down once, in order
		for _, x := range p.down {
			if n := wire.SeqOf(x.data); n.Newer(seen) && len(honest) < 24 {
				seen = n
				honest = append(honest, append([]byte(nil), x.data...))
			}
		}
	}
	start := d.now + p.offset // by the clock that the echoes in them are of
	d.run(2 * time.Second)
	if len(honest) < 24 {
		f.Fatalf("only %d datagrams to begin with", len(honest))
	}
	welcome := p.c.welcome
	_ = w
	join := func(parts ...[]byte) (b []byte) {
		for _, x := range parts {
			b = append(binary.LittleEndian.AppendUint16(b, uint16(len(x))), x...)
		}
		return b
	}
	for i := range honest {
		f.Add(join(honest[:i+1]...))
	}
	huge := wire.Header{Server: true, Seq: 5, Tick: 1<<32 - 1, HasTime: true, Time: 7, NextDue: 3,
		Period: 50 * time.Millisecond, HasEcho: true}
	var bits wire.BitWriter
	bits.Reset(nil)
	huge.Append(&bits, wire.Known{})
	f.Add(join(bits.Bytes(), honest[3], bits.Bytes()))
	f.Fuzz(func(t *testing.T, b []byte) {
		now := start
		c, err := New(rules, welcome, now, Config{})
		if err != nil {
			t.Fatal(err)
		}
		var vals []float64
		frame := func() {
			now += 16 * ms
			due := c.Frame(now)
			if due < 0 || due > MaxTicks {
				t.Fatalf("%d commands are due", due)
			}
			for range due {
				if err := c.Think(rules.Bot()); err != nil {
					t.Fatal(err)
				}
			}
			vals = c.Draw(vals, func(e *Entity) {
				for i, v := range e.Vals {
					if v != v || v > 1e300 || v < -1e300 {
						t.Fatalf("entity %d: value %d is %v", e.ID, i, v)
					}
				}
			})
			c.Events()
			c.Stats()
			if out := c.Encode(now); len(out) > wire.MaxDatagram {
				t.Fatalf("a datagram of %d bytes", len(out))
			}
		}
		for n := 0; len(b) >= 2 && n < 24; n++ {
			k := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
			data := append([]byte(nil), b[2:2+k]...)
			b = b[2+k:]
			c.Receive(now, data)
			for range [...]int{4, 1, 8, 3}[n%4] { // 16 frames for four datagrams, which came 50 ms apart
				frame()
			}
		}
		for range 40 {
			frame()
		}
		if len(c.store.Entities()) > 24*200 || c.events.hold.Len() > 256 || len(c.up.cmds) > maxRepeat {
			t.Fatalf("%d entities, %d events wait", len(c.store.Entities()), c.events.hold.Len())
		}
	})
}
