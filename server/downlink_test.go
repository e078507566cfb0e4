package server

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"
	"unsafe"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// At rest, once its client has acknowledged everything, a server sends one packet in ten seconds
// and no more.
func TestAtRestOnlyKeepAlivesAreSent(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	n.connect("bob")
	idle := func(h *wire.Header) { h.Idle = true }
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+3, antCmd{})))
	var at []clock.Time
	for range 20 * 75 { // 75 s
		n.tick(func(id PlayerID, b []byte) {
			if id != p.id {
				return
			}
			if n.now > clock.Time(5*time.Second) {
				at = append(at, n.now)
			}
			if h := p.take(b); h.Elicits {
				n.s.Receive(p.id, n.now, p.packetWith(idle))
			}
		})
	}
	if len(at) < 6 || len(at) > 7 {
		t.Fatalf("%d packets in 70 s", len(at))
	}
	for i := range at[1:] {
		if gap := at[i+1].Sub(at[i]); gap != 10*time.Second {
			t.Errorf("%v between two packets, want 10 s", gap)
		}
	}
}

// Encode changes nothing that clients share, or ranges of them could not be encoded at the same
// time. What an Outbox holds from others before does not matter either: each range begins with one
// that another used.
func TestEncodeSharesNothing(t *testing.T) {
	run := func(parallel bool) (all [][]byte) {
		n := newNest(t, Config{Budget: 3000})
		n.join = func(w *game.World, name string) game.ID {
			return ants.Spawn(w, ant{Name: name, Pos: geom.Vec2{X: w.Rand().Range(-50, 50), Y: w.Rand().Range(-50, 50)}})
		}
		n.s.rules.See = 8
		var peers []*peer
		for i := range 48 {
			peers = append(peers, n.connect(fmt.Sprint(i)))
		}
		outs := make([]Outbox, 4)
		for tick := range 80 {
			for i, p := range peers {
				move := geom.Vec2{X: float64((tick/9+i)%3 - 1), Y: float64((tick/7+i)%3 - 1)}
				p.send(command(n.s.Tick()+2, antCmd{Move: move.Unit(), Bite: i%7 == tick%7}))
			}
			n.now = n.now.Add(n.s.Period())
			n.s.Begin(n.now)
			shared := bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(n.s)), unsafe.Sizeof(*n.s)))
			var wait sync.WaitGroup
			for i := range outs {
				out := &outs[(i+tick)%len(outs)]
				out.Reset()
				encode := func() { n.s.Encode(12*i, 12*i+12, out) }
				if parallel {
					wait.Go(encode)
				} else {
					encode()
				}
			}
			wait.Wait()
			if now := unsafe.Slice((*byte)(unsafe.Pointer(n.s)), unsafe.Sizeof(*n.s)); !bytes.Equal(now, shared) {
				t.Fatal("Encode changed the Server")
			}
			for i := range outs {
				out := &outs[(i+tick)%len(outs)]
				for j := range out.Len() {
					id, b := out.At(j)
					all = append(all, append([]byte{byte(id)}, b...))
					peers[id-1].take(b)
				}
			}
			n.s.End()
		}
		return all
	}
	want := run(false)
	got := run(true)
	for i := range want {
		if i >= len(got) || !bytes.Equal(got[i], want[i]) {
			t.Fatalf("datagram %d differs where ranges are encoded at the same time", i)
		}
	}
}
