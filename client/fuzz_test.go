package client

import (
	"encoding/binary"
	"testing"
	"time"

	"meanwhile/clock"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/wire"
)

// A server that is hostile, or a path that is, can spoil the game of its own client, and no more than that: it never panics, never
// hangs and never grows, and what it is asked to draw are numbers.
//
// seeds: B20
func FuzzReceive(f *testing.F) {
	rules := (&sky{referee: func(w *game.World) {
		for gems.Len(w) < 3 {
			gems.Spawn(w, gem{Pos: geom.Vec2{X: w.Rand().Range(-9, 9)}})
		}
	}}).rules(f)
	// A short honest match, whose datagrams are the seeds.
	d := newDuo(f, rules)
	p := d.join(20*ms, Config{})
	_, w, err := d.s.Connect(d.now, "y")
	if err != nil {
		f.Fatal(err)
	}
	d.join(20*ms, Config{})
	var honest [][]byte
	p.path = func(up bool) []clock.Time {
		if !up && len(honest) < 12 {
			honest = append(honest, nil)
		}
		return []clock.Time{0}
	}
	p.frame = func() {
		for i := range min(len(honest), len(p.down)) {
			if honest[i] == nil {
				honest[i] = append([]byte(nil), p.down[len(p.down)-1].data...)
			}
		}
	}
	d.run(time.Second)
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
	huge := wire.Header{Server: true, Session: welcome.Session, Seq: 5, Tick: 1<<32 - 1, Time: 7, NextDue: 3, Period: 50 * time.Millisecond, HasEcho: true}
	f.Add(join(huge.Append(nil), honest[3], huge.Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		now := 5000 * ms
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
		for n := 0; len(b) >= 2 && n < 20; n++ {
			k := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
			data := append([]byte(nil), b[2:2+k]...)
			b = b[2+k:]
			if len(data) >= 3 { // the session is not what is to be guessed
				binary.LittleEndian.PutUint16(data[1:], welcome.Session)
			}
			c.Receive(now, data)
			if n%3 != 1 {
				frame()
			}
		}
		for range 40 {
			frame()
		}
		if len(c.store.Entities()) > 20*200 || c.hold.Len() > 256 || len(c.cmds) > maxRepeat {
			t.Fatalf("%d entities, %d events held", len(c.store.Entities()), c.hold.Len())
		}
	})
}
