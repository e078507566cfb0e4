package server

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// Each command runs once, at its tick, in order, unchanged, whatever is lost, repeated or
// reordered, as long as no gap in arrivals is longer than the lead of the commands.
//
// seeds: P1 P6
func TestEachCommandRunsOnceInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNest(t, Config{})
		n.keep = true
		p := n.connect("ann")
		for range 3 {
			n.tick(nil)
		}
		lead := clock.Tick(rapid.IntRange(2, 30).Draw(rt, "lead"))
		first := n.s.Tick() + lead + 1
		var made []packet.Command
		var kept [][]byte
		gap := clock.Tick(0)
		for range 60 {
			tick := n.s.Tick() + lead + 1
			made = append(made, command(tick, antCmd{Tool: int(tick), Bite: rapid.Bool().Draw(rt, "bite")}))
			from := 0
			for from < len(made) && made[from].Tick <= p.acked {
				from++
			}
			b := p.packet(made[max(from, len(made)-40):]...)
			lost := gap+1 < lead && rapid.IntRange(0, 2).Draw(rt, "lost") == 0
			if gap++; !lost {
				gap = 0
				n.s.Receive(p.id, n.now, b)
			}
			if rapid.IntRange(0, 4).Draw(rt, "hold") == 0 {
				kept = append(kept, b)
			}
			if len(kept) > 0 && rapid.Bool().Draw(rt, "late") { // again, or out of order
				i := rapid.IntRange(0, len(kept)-1).Draw(rt, "which")
				n.s.Receive(p.id, n.now, kept[i])
			}
			n.ran = n.ran[:0]
			n.tick(func(_ PlayerID, b []byte) {
				if rapid.Bool().Draw(rt, "hears") {
					p.take(b)
				}
			})
			if len(n.ran) != 1 || n.ran[0].tick != n.s.Tick() {
				rt.Fatalf("tick %d ran %+v", n.s.Tick(), n.ran)
			}
			if i := n.s.Tick() - first; n.s.Tick() >= first {
				if got, want := n.ran[0].c, made[i]; got.Tool != int(want.Tick) || got.Bite != (want.Vals[biteAt] == 1) {
					rt.Fatalf("tick %d ran %+v, sent was %+v", n.s.Tick(), got, want)
				}
			}
		}
		if st, _ := n.s.Stats(p.id); st.Late != 0 || st.TooEarly != 0 || st.Moved != 0 {
			rt.Fatalf("%+v", st)
		}
	})
}

// A press that is too late for its tick runs at the next one, once, with its aim, its target and
// the view that it was made with. The movement is that of now.
func TestLatePressKeepsItsAim(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("ann")
	for range 30 {
		n.tick(nil)
	}
	late := command(n.s.Tick()-2, antCmd{Bite: true, Tool: 7, Move: geom.Vec2{X: 1}, Push: true})
	late.Vals[aimAt], late.Seen, late.Newest, late.Moment = 99, late.Tick.Frac()-100, 0, 64
	own := command(n.s.Tick()+1, antCmd{Tool: 1, Move: geom.Vec2{Y: 1}})
	own.Vals[aimAt] = 12
	p.send(late)
	p.send(late, command(late.Tick+1, antCmd{}), command(late.Tick+2, antCmd{}), own) // repeated, as packets do
	n.ran = nil
	n.tick(nil)
	if len(n.ran) != 1 {
		t.Fatalf("ran %+v", n.ran)
	}
	want := antCmd{Bite: true, Tool: 7, Move: geom.Vec2{Y: 1}, Aim: n.ran[0].c.Aim}
	if got := n.ran[0].c; got != want || int(float64(got.Aim)/6.283185307*256+256.5)%256 != 99 {
		t.Errorf("ran %+v, want %+v with the late aim", got, want)
	}
	if got := n.ran[0].moment; got != 0.25 {
		t.Errorf("pressed at %v of the tick, want 0.25", got)
	}
	_, c := n.s.find(p.id)
	if c.s.run.Seen != late.Seen {
		t.Errorf("judged by the view of %d, want that of the late press, %d", c.s.run.Seen, late.Seen)
	}
	st, _ := n.s.Stats(p.id)
	if st.Moved != 1 || st.Late != 3 || st.LastStarved != n.s.Tick() {
		t.Errorf("%+v", st)
	}
	n.ran = nil
	n.tick(nil)
	if n.ran[0].c.Bite || n.ran[0].moment != 1 {
		t.Error("the press or its moment was run twice")
	}

	for range 5 {
		n.tick(nil)
	}
	// Two late presses: the first counts. One that is older than packet.LatePress does not.
	a, b := command(n.s.Tick()-1, antCmd{Bite: true, Tool: 3}), command(n.s.Tick(), antCmd{Bite: true, Tool: 4})
	old := command(n.s.Tick()-6, antCmd{Bite: true, Tool: 5}) // 6 ticks of 50 ms
	p.send(old)
	p.send(a, b)
	n.ran = nil
	n.tick(nil)
	if got := n.ran[0].c; !got.Bite || got.Tool != 3 {
		t.Errorf("ran %+v, want tool 3", got)
	}
}

// A press that waits for an avatar does not run long after it was made.
func TestLatePressDoesNotOutliveItsTime(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for range 10 {
		n.tick(nil)
	}
	p.send(command(n.s.Tick(), antCmd{Bite: true}))
	_, c := n.s.find(p.id)
	avatar := c.avatar
	c.avatar = 0 // as where the rules have taken it away
	for range 7 {
		n.tick(nil)
	}
	c.avatar, n.keep = avatar, true
	n.tick(nil)
	if len(n.ran) != 1 || n.ran[0].c.Bite {
		t.Errorf("ran %+v", n.ran)
	}
}

// Without commands the last movement goes on for RepeatFor, without presses; then the player stands
// still.
func TestStarvation(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("ann")
	for range 5 {
		n.tick(nil)
	}
	p.send(command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}, Bite: true, Push: true, Tool: 5}))
	n.ran = nil
	for range 12 {
		n.tick(nil)
	}
	for i, r := range n.ran {
		want := antCmd{Move: geom.Vec2{X: 1}, Push: true, Tool: 5, Bite: i == 0}
		if i > 5 { // 250 ms are 5 ticks
			want = antCmd{Tool: 5}
		}
		if r.c != want {
			t.Errorf("%d ticks after the last command: %+v, want %+v", i, r.c, want)
		}
	}
	if st, _ := n.s.Stats(p.id); st.Starved != 4+11 || st.LastStarved != n.s.Tick() { // Join's tick runs no command
		t.Errorf("%+v", st)
	}

	// A player that announced to be idle is not starved.
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+1, antCmd{Tool: 6})))
	before, _ := n.s.Stats(p.id)
	n.ran = nil
	for range 40 {
		n.tick(nil)
	}
	if st, _ := n.s.Stats(p.id); st.Starved != before.Starved || n.ran[39].c.Tool != 6 {
		t.Errorf("idle: %d ticks starved, ran %+v", st.Starved-before.Starved, n.ran[39].c)
	}
	// Nor is one whose first command after idleness is for a later tick: until then it says that it
	// idled.
	p.send(command(n.s.Tick()+3, antCmd{Tool: 7}))
	n.ran = nil
	for range 3 {
		n.tick(nil)
	}
	if st, _ := n.s.Stats(p.id); st.Starved != before.Starved || n.ran[1].c.Tool != 6 || n.ran[2].c.Tool != 7 {
		t.Errorf("after idleness: %d ticks starved, ran %+v", st.Starved-before.Starved, n.ran)
	}
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+1, antCmd{Tool: 6})))
	for range 5 {
		n.tick(nil)
	}
	// The first command after idleness may be late: its press runs all the same.
	press := command(n.s.Tick()-1, antCmd{Bite: true, Tool: 8})
	p.send(press)
	n.ran = nil
	n.tick(nil)
	if got := n.ran[0].c; !got.Bite || got.Tool != 8 {
		t.Errorf("the first press after idleness: %+v", got)
	}
	if p.send(press); p.acked > press.Tick {
		t.Errorf("acknowledged up to %d, sent was %d", p.acked, press.Tick)
	}
}

// A player that announced to be idle while it runs stops like one whose commands do not arrive.
func TestIdleDoesNotRun(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("eve")
	for range 5 {
		n.tick(nil)
	}
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}, Push: true})))
	n.ran = nil
	for range 12 {
		n.tick(nil)
	}
	for i, r := range n.ran {
		want := antCmd{Move: geom.Vec2{X: 1}, Push: true}
		if i > 5 { // 250 ms are 5 ticks
			want.Move = geom.Vec2{}
		}
		if r.c != want {
			t.Errorf("%d ticks after it went idle: %+v, want %+v", i, r.c, want)
		}
	}
}

// A tick that ran while the client was idle is not acknowledged before a later command arrives: a
// command of that tick may be on its way, and be lost.
func TestIdleTicksAreNotAcknowledged(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for range 5 {
		n.tick(nil)
	}
	last := n.s.Tick() + 1
	n.s.Receive(p.id, n.now, p.packetWith(idle, command(last, antCmd{})))
	for range 20 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
		_, c := n.s.find(p.id)
		c.commands.idle = true
	}
	if p.acked > last {
		t.Errorf("tick %d is acknowledged, the newest command was of tick %d", p.acked, last)
	}
	to := n.s.Tick() + 1
	p.send(command(to, antCmd{}))
	for range 3 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
	}
	if p.acked < to {
		t.Errorf("acknowledged up to %d, want %d: idle ticks in between are no gap", p.acked, to)
	}
}

// A datagram that the edge sends in the server's place spends the same budget, and is not sent
// where it does not fit.
func TestHeartbeatsCount(t *testing.T) {
	n := newNest(t, Config{Budget: 2 * MinBudget})
	p := n.connect("ann")
	n.tick(nil)
	n.s.SetLimits(p.id, Limits{Budget: MinBudget}) // it holds before the next packet
	for range 20 {
		n.s.Beat(p.id, n.now, MinBudget/20-wire.Overhead)
	}
	if n.s.Beat(99, n.now, 1) || n.s.Beat(p.id, n.now, MinBudget/20-wire.Overhead) {
		t.Error("a datagram for nobody, or beyond the budget, may be sent")
	}
	first, began := 0, n.s.Tick()
	for range 30 {
		p.send(command(n.s.Tick()+3, antCmd{Move: geom.Vec2{X: 1}}))
		n.tick(func(PlayerID, []byte) {
			if first == 0 {
				first = int(n.s.Tick() - began)
			}
		})
	}
	if st, _ := n.s.Stats(p.id); first < 20 || st.MaxWindow > MinBudget {
		t.Errorf("the next datagram came %d ticks of 20 a second later; %d bytes in one second of %d",
			first, st.MaxWindow, MinBudget)
	}
}

// The report of late commands in a lost datagram is repeated once, as soon as the loss is known.
func TestSlackIsReportedAgain(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for i := range 80 {
		tick := n.s.Tick() + 3
		if i != 40 { // that of its tick comes two ticks late, with the next one
			p.send(command(tick, antCmd{}))
		} else {
			p.send()
		}
		if i == 45 {
			p.send(command(tick-5, antCmd{}), command(tick-4, antCmd{}), command(tick-3, antCmd{}), command(tick-2, antCmd{}),
				command(tick-1, antCmd{}), command(tick, antCmd{}))
		}
		n.tick(func(_ PlayerID, b []byte) {
			if i != 45 { // the datagram that reports it is lost
				p.take(b)
			}
		})
	}
	reports := 0
	for _, s := range p.slacks {
		if s == -2*16 {
			reports++
		} else if s != 3*16 {
			t.Errorf("a slack of %d/16 ticks", s)
		}
	}
	if reports != 1 {
		t.Errorf("%d reports of the command that was two ticks late, want 1", reports)
	}
}

func TestTooEarlyIsRefused(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("ann")
	for range 5 {
		n.tick(nil)
	}
	p.send(command(n.s.Tick()+MaxAhead, antCmd{Tool: 1}), command(n.s.Tick()+MaxAhead+1, antCmd{Tool: 2}))
	p.send(command(n.s.Tick()+8000, antCmd{Tool: 3}))
	if st, _ := n.s.Stats(p.id); st.TooEarly != 2 {
		t.Errorf("%d too early, want 2", st.TooEarly)
	}
	tools := 0
	for range 3 * MaxAhead {
		n.tick(nil)
		tools = max(tools, n.ran[len(n.ran)-1].c.Tool)
	}
	if tools != 1 {
		t.Errorf("tool %d was run", tools)
	}
}

// Players take turns at going first, so that nobody always wins a tie.
func TestOrderOfActRotates(t *testing.T) {
	n := newNest(t, Config{})
	for i := range 5 {
		n.connect(fmt.Sprint(i))
	}
	n.tick(nil)
	n.keep = true
	firsts := map[game.ID]int{}
	for range 50 {
		n.ran = n.ran[:0]
		n.tick(nil)
		if len(n.ran) != 5 {
			t.Fatalf("%d commands", len(n.ran))
		}
		firsts[n.ran[0].player]++
	}
	for id := game.ID(1); id <= 5; id++ {
		if firsts[id] != 10 {
			t.Errorf("player %d was first %d times of 50, want 10", id, firsts[id])
		}
	}
}

// idle marks a datagram of a client whose commands stay as they are.
func idle(h *wire.Header) { h.Idle = true }
