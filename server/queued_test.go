package server

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// Each queued command runs exactly once, in order, at its own tick, and the client learns which ran
// last, whatever is lost, repeated or reordered, as long as no gap in arrivals is longer than the
// credit.
//
// seeds: P6
func TestQueuedRunEachOnceInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNestOf(t, Config{}, game.Queued)
		n.keep = true
		p := n.connect("ann")
		for range 3 {
			n.tick(nil)
		}
		var made []packet.Command
		var kept [][]byte
		gap := 0
		send := func(lose bool) {
			from := 0
			for from < len(made) && made[from].Tick <= p.acked {
				from++
			}
			b := p.packet(made[max(from, len(made)-packet.MaxCommands):]...)
			if !lose {
				n.s.Receive(p.id, n.now, b)
			}
			if rapid.IntRange(0, 4).Draw(rt, "hold") == 0 {
				kept = append(kept, b)
			}
		}
		hear := func(_ PlayerID, b []byte) {
			if rapid.Bool().Draw(rt, "hears") {
				p.take(b)
			}
		}
		for range 80 {
			tick := n.s.Tick() + 1
			made = append(made, command(tick, antCmd{Tool: int(tick), Bite: rapid.Bool().Draw(rt, "bite")}))
			lose := gap < 8 && rapid.IntRange(0, 2).Draw(rt, "lost") > 0 // the credit is ten ticks
			if gap++; !lose {
				gap = 0
			}
			send(lose)
			if len(kept) > 0 && rapid.Bool().Draw(rt, "late") { // again, or out of order
				n.s.Receive(p.id, n.now, kept[rapid.IntRange(0, len(kept)-1).Draw(rt, "which")])
			}
			before := len(n.ran)
			n.tick(hear)
			if burst := len(n.ran) - before; burst > 13 {
				rt.Fatalf("%d commands in one tick", burst)
			}
		}
		send(false)
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		if len(n.ran) != len(made) {
			rt.Fatalf("%d commands ran of %d", len(n.ran), len(made))
		}
		for i, r := range n.ran {
			if want := made[i]; r.tick != want.Tick || r.c.Tool != int(want.Tick) || r.c.Bite != (want.Vals[biteAt] == 1) {
				rt.Fatalf("command %d was run as %+v, sent was %+v", i, r, want)
			}
		}
		if p.ran != made[len(made)-1].Tick {
			rt.Fatalf("the client learns that %d ran, want %d", p.ran, made[len(made)-1].Tick)
		}
	})
}

// Nobody runs faster than the clock: in no span of time run more commands than it has ticks, and
// the credit, whatever ticks a client claims and however it withholds and floods.
//
// seeds: P1 B20 R1
func TestQueuedIsNoSpeedHack(t *testing.T) {
	for name, play := range map[string]func(i int, now, last clock.Tick) (from, to clock.Tick){
		"floods ahead": func(i int, now, last clock.Tick) (from, to clock.Tick) { return last + 1, last + 40 },
		"jumps ahead":  func(i int, now, last clock.Tick) (from, to clock.Tick) { return now + 60, now + 60 },
		"withholds": func(i int, now, last clock.Tick) (from, to clock.Tick) {
			return now - 9*clock.Tick(i%20/19) + 1, now + 1
		},
		"from the past": func(i int, now, last clock.Tick) (from, to clock.Tick) { return now - 30, now },
		"two each tick": func(i int, now, last clock.Tick) (from, to clock.Tick) { return last + 1, last + 2 },
		"back and forth": func(i int, now, last clock.Tick) (from, to clock.Tick) {
			return now + clock.Tick(i*7%25) - 12, now + clock.Tick(i*7%25)
		},
		"idles now and then": func(i int, now, last clock.Tick) (from, to clock.Tick) {
			if i%30 != 29 {
				return 1, 0
			}
			return now - 12, now + 5
		},
		"the end of time": func(i int, now, last clock.Tick) (from, to clock.Tick) { return 1<<32 - 30, 1<<32 - 1 },
	} {
		n := newNestOf(t, Config{}, game.Queued)
		n.keep = true
		p := n.connect("eve")
		for range 50 {
			n.tick(nil)
		}
		last := n.s.Tick()
		var counts []int
		for i := range 200 {
			from, to := play(i, n.s.Tick(), last)
			var cmds []packet.Command
			for tick := from; tick <= to && tick >= from; tick++ {
				cmds = append(cmds, command(tick, antCmd{Tool: 1}))
			}
			if last = to; last > n.s.Tick()+64 {
				last = n.s.Tick() + 64
			}
			idles := func(h *wire.Header) { h.Idle = name == "idles now and then" && i%10 < 7 }
			n.s.Receive(p.id, n.now, p.packetWith(idles, cmds...))
			n.ran = n.ran[:0]
			n.tick(nil)
			counts = append(counts, len(n.ran))
			if !slices.IsSortedFunc(n.ran, func(a, b ran) int { return int(a.tick) - int(b.tick) }) {
				t.Errorf("%s: out of order: %+v", name, n.ran)
			}
		}
		for from := range counts {
			sum := 0
			for to := from; to < len(counts); to++ {
				if sum += counts[to]; sum > to-from+1+10+3 { // the credit is ten ticks and three
					t.Fatalf("%s: %d commands in %d ticks", name, sum, to-from+1)
				}
			}
		}
	}
}

// A player that announces to be idle while it runs does not go on running.
func TestQueuedIdleDoesNotRun(t *testing.T) {
	n := newNestOf(t, Config{}, game.Queued)
	n.keep = true
	p := n.connect("eve")
	for range 3 {
		n.tick(nil)
	}
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}})))
	for range 50 {
		n.tick(nil)
	}
	for i, r := range n.ran {
		if moves := r.c.Move != (geom.Vec2{}); moves != (i == 0) {
			t.Fatalf("command %d of %d moves by %v", i, len(n.ran), r.c.Move)
		}
	}
	if len(n.ran) < 30 {
		t.Errorf("%d commands ran", len(n.ran))
	}
}

// An idle player sends nothing, and its avatar goes on with the command that it has. When it wakes
// up, its first command runs after all those that it did not send.
func TestQueuedIdle(t *testing.T) {
	n := newNestOf(t, Config{}, game.Queued)
	n.keep = true
	p := n.connect("ann")
	for range 3 {
		n.tick(nil)
	}
	first := n.s.Tick() + 1
	for range 5 {
		p.send(command(n.s.Tick()+1, antCmd{Tool: 7}))
		n.tick(nil)
	}
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+1, antCmd{Tool: 7})))
	for range 300 {
		n.tick(nil)
	}
	before, _ := n.s.Stats(p.id)
	p.send(command(n.s.Tick()+1, antCmd{Tool: 8}))
	n.tick(nil)
	after, _ := n.s.Stats(p.id)
	if before.Starved > 0 || after.Expired > 0 {
		t.Errorf("starved %d ticks while idle, %d commands passed over", before.Starved, after.Expired)
	}
	for i, r := range n.ran {
		want := 7
		if i == len(n.ran)-1 {
			want = 8
		}
		if r.tick != first+clock.Tick(i) || r.c.Tool != want {
			t.Fatalf("command %d was of tick %d with tool %d, want %d and %d", i, r.tick, r.c.Tool, first+clock.Tick(i), want)
		}
	}
	if n.ran[len(n.ran)-1].tick != n.s.Tick() {
		t.Errorf("the newest command that ran is of tick %d, it is tick %d", n.ran[len(n.ran)-1].tick, n.s.Tick())
	}
}
