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
	"meanwhile/netcode/rate"
	"meanwhile/netcode/wire"
)

// At rest, once its client has acknowledged everything, a server sends one packet in ten seconds
// and no more.
func TestAtRestOnlyKeepAlivesAreSent(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	n.connect("bob")
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+3, antCmd{})))
	quiet := false
	var at []clock.Time
	for range 20 * 75 { // 75 s
		n.tick(func(id PlayerID, b []byte) {
			if id != p.id {
				return
			}
			if n.now > clock.Time(5*time.Second) {
				at = append(at, n.now)
			}
			h := p.take(b)
			quiet = h.NextDue == wire.Quiet
			if h.Elicits {
				n.s.Receive(p.id, n.now, p.packetWith(idle))
			}
		})
	}
	if len(at) < 6 || len(at) > 7 || !quiet {
		t.Fatalf("%d packets in 70 s; the last promises silence: %v", len(at), quiet)
	}
	for i := range at[1:] {
		if gap := at[i+1].Sub(at[i]); gap != 10*time.Second {
			t.Errorf("%v between two packets, want 10 s", gap)
		}
	}
}

// restless is a nest in which a hundred crumbs move until a tick.
func restless(t *testing.T, cfg Config, until clock.Tick) *nest {
	n := newNest(t, cfg)
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 100; i++ {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{Y: float64(i)}})
		}
		for _, c := range crumbs.All(w) {
			if w.Tick() < until {
				c.Pos.X += 0.1
			}
		}
	}
	return n
}

// While there is nothing left to say but the client's acknowledgements are still on their way,
// packets go on at the announced rate, so that the client does not take the pause for jitter, until
// one promises silence.
func TestPacketsGoOnUntilSilenceIsPromised(t *testing.T) {
	n := restless(t, Config{Budget: 100_000}, 100)
	p := n.connect("ann")
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(3, antCmd{})))
	var flying [][]byte
	last, quiet := clock.Tick(0), clock.Tick(0)
	for range 160 {
		var sent []byte // in this tick; nil: none
		n.tick(func(_ PlayerID, b []byte) {
			sent = bytes.Clone(b)
			var r wire.BitReader
			h, err := wire.NewIncoming(n.s.Tick()-1, n.now, n.s.Period()).Decode(&r, b)
			if err != nil {
				t.Fatal(err)
			}
			if gap := n.s.Tick() - last; quiet == 0 && last > 100 && gap > 1 {
				t.Errorf("a pause of %d ticks before silence is promised", gap)
			}
			if last = n.s.Tick(); h.NextDue == wire.Quiet && quiet == 0 {
				quiet = last
			}
		})
		if flying = append(flying, sent); len(flying) > 6 { // 300 ms
			if flying[0] != nil {
				p.take(flying[0])
			}
			flying = flying[1:]
			n.s.Receive(p.id, n.now, p.packetWith(func(h *wire.Header) { h.Idle, h.Elicits = true, false }))
		}
	}
	if quiet < 104 || quiet > 112 {
		t.Errorf("silence is promised at tick %d, want a round trip after tick 100", quiet)
	}
}

// Where the budget does not reach for all due entries, fewer packets carry it, so that headers do
// not use it up. A client at which nobody looks gets one packet a second.
func TestFewerPackets(t *testing.T) {
	for _, c := range []struct {
		name        string
		budget      int
		carries     rate.BytesPerSecond // the path; 0: the budget
		away        bool
		least, most int // packets in five seconds
	}{
		{name: "enough", budget: 100_000, least: 100, most: 100},
		{name: "a budget of 13 kbit/s", budget: 13000 / 8, least: 25, most: 35},
		{name: "a path of 13 kbit/s", budget: 100_000, carries: 13000 / 8, least: 25, most: 35},
		{name: "away", budget: 100_000, away: true, least: 5, most: 5},
	} {
		n := restless(t, Config{Budget: c.budget}, 1000)
		p := n.connect("ann")
		_, player := n.s.find(p.id)
		if c.carries > 0 {
			capacity, err := rate.NewCapacity(rate.CapacityConfig{Floor: c.carries, Ceiling: c.carries})
			if err != nil {
				t.Fatal(err)
			}
			player.down.path.capacity = capacity
		}
		packets := 0
		for range 300 {
			n.tick(func(_ PlayerID, b []byte) {
				p.take(b)
				if n.s.Tick() > 200 {
					packets++
				}
			})
			p.send(command(n.s.Tick()+2, antCmd{}))
			player.up.away = c.away
		}
		if packets < c.least || packets > c.most {
			t.Errorf("%s: %d packets in five seconds, want %d to %d", c.name, packets, c.least, c.most)
		}
	}
}

// Encode changes nothing that clients share, or ranges of them could not be encoded at the same
// time. The content that an Outbox keeps from an earlier range does not matter either: each range
// begins with one that another used.
//
// seeds: R30
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
