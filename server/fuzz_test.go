package server

import (
	"encoding/binary"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// Nothing panics, nothing grows, and another player's ant walks on as if it were alone, whatever
// two datagrams a player sends.
//
// seeds: B20
func FuzzReceive(f *testing.F) {
	seed := newNest(f, Config{})
	p := seed.connect("eve")
	for range 3 {
		seed.tick(func(_ PlayerID, b []byte) { p.take(b) })
	}
	split := func(a, b []byte) []byte {
		return append(binary.LittleEndian.AppendUint16(nil, uint16(len(a))), append(a, b...)...)
	}
	f.Add(split(p.packet(), p.packet(command(4, antCmd{Move: geom.Vec2{X: 1}, Bite: true, Tool: 9}))))
	late := p.packet(command(2, antCmd{Bite: true}), command(3, antCmd{Bite: true, Tool: 4}))
	f.Add(split(late, p.packetWith(func(h *wire.Header) {
		h.Resync, h.Idle, h.HasEcho, h.Echo, h.EchoAt = true, true, true, 77, 99
	})))
	f.Add(split(p.packetWith(func(h *wire.Header) { h.Ack.History, h.Ack.Latest = 1, 60000 }), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := newNest(t, Config{})
		n.act = func(w *game.World, me game.ID, c antCmd) {
			a := ants.Get(w, me)
			a.Pos = a.Pos.Add(c.Move.Mul(w.Dt()))
			if a.Score++; c.Bite {
				bites.Emit(w, me, a.Pos, bite{Size: c.Tool % 100})
			}
			for range ants.Seen(w, me) {
			}
		}
		ann, eve := n.connect("ann"), n.connect("eve")
		for range 3 {
			n.tick(func(id PlayerID, data []byte) {
				if id == eve.id {
					eve.take(data)
				} else {
					ann.take(data)
				}
			})
			ann.send(command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}}))
		}
		var first, second []byte
		if len(b) >= 2 {
			k := min(int(binary.LittleEndian.Uint16(b)), len(b)-2)
			first, second = b[2:2+k], b[2+k:]
		}
		for _, data := range [][]byte{first, second, first} {
			data = append([]byte(nil), data...)
			n.s.Receive(eve.id, n.now, data)
			n.tick(func(id PlayerID, data []byte) {
				if id == ann.id {
					ann.take(data)
				}
			})
			ann.send(command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}}))
		}
		for range 70 { // also what is buffered for later
			n.tick(nil)
			ann.send(command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}}))
		}
		a := ants.Get(n.s.World(), n.s.Avatar(ann.id))
		if want := 75; a.Score != want || a.Pos != (geom.Vec2{X: 3.75}) {
			t.Fatalf("ann is at %v after %d commands, want %d", a.Pos, a.Score, want)
		}
		st, _ := n.s.Stats(eve.id)
		if _, c := n.s.find(eve.id); c.down.log.InFlight() < 0 || cap(c.s.scratch) > packet.MaxCommands || st.Moved > 3 {
			t.Fatalf("%d bytes in flight, scratch for %d commands, %+v", c.down.log.InFlight(), cap(c.s.scratch), st)
		}
	})
}
