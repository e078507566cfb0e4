package server

import (
	"testing"
	"time"

	"meanwhile/netcode/rate"
)

// A client that was away for longer than keptFor begins anew, though it has kept all: counted from
// when its connection was lost, not from when that was said again.
func TestKeptForAWhile(t *testing.T) {
	for gone, kept := range map[time.Duration]bool{keptFor - time.Second: true, keptFor + time.Second: false} {
		n := newNest(t, Config{})
		p := n.connect("ann")
		n.tick(nil)
		n.s.Suspend(p.id, n.now)
		n.s.Suspend(p.id, n.now.Add(gone-time.Millisecond))
		if w, ok := n.s.Resume(p.id, n.now.Add(gone), true); !ok || !w.Resumed || w.Kept != kept {
			t.Errorf("after %v: %v, %+v, want kept: %v", gone, ok, w, kept)
		}
	}
	// Who was not away at all changes its path, however long it has been in.
	n := newNest(t, Config{})
	p := n.connect("ann")
	n.s.Suspend(p.id, n.now)
	n.s.Resume(p.id, n.now, true)
	n.now = n.now.Add(2 * keptFor)
	if w, _ := n.s.Resume(p.id, n.now, true); !w.Kept {
		t.Error("a connection that took over from another one does not go on with what the client kept")
	}
}

// What was known of the path that was lost does not count for the next one, but for the rate.
func TestAnotherPathBeginsAnew(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for range 90 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
	}
	_, c := n.s.find(p.id)
	before := c.down.path.capacity.Rate()
	c.up.queue, c.up.queued, c.up.echoDue = rate.OneWay{}, time.Second, true
	c.down.path.shown, c.down.path.newest = 1000, 77
	answered := c.down.path.answered
	n.now = n.now.Add(time.Second)
	if w, ok := n.s.Resume(p.id, n.now, true); !ok || !w.Kept {
		t.Fatalf("%v, %+v", ok, w)
	}
	d := &c.down
	if d.path.capacity.Rate() != before || d.path.answered != answered {
		t.Errorf("rate %v, was %v; answered %d, was %d", d.path.capacity.Rate(), before, d.path.answered, answered)
	}
	if d.path.shown != 0 || d.path.newest != 0 || d.path.rtt != (rate.RTT{}) || c.up.queued != 0 || c.up.echoDue ||
		c.up.heard != n.now || d.lastSent != n.now || !d.mustAck {
		t.Errorf("what was known of the old path is still there: %+v, %+v", d.path, c.up)
	}
}

// A suspended player's late press is not run when it is back, and its avatar does nothing meanwhile.
func TestSuspendedPressIsForgotten(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	n.tick(nil)
	_, c := n.s.find(p.id)
	p.send(command(n.s.Tick()+3, antCmd{Bite: true}))
	c.commands.late.Tick = n.s.Tick()
	n.s.Suspend(p.id, n.now)
	if c.commands.late.Tick != 0 {
		t.Error("a late press waits")
	}
	if _, own := c.commands.waiting.take(n.s.Tick()+3, &n.s.run); own {
		t.Error("a command waits")
	}
}

// What a client spawned is its own until it ends; a client that begins anew knows of none.
func TestSpawnsOfWhoBeginsAnew(t *testing.T) {
	for _, kept := range []bool{true, false} {
		n := newNest(t, Config{})
		p := n.connect("ann")
		n.tick(nil)
		_, c := n.s.find(p.id)
		c.spawns, n.s.owners.spawns = []int32{5}, map[int32]*player{5: c}
		if w, ok := n.s.Resume(p.id, n.now, kept); !ok || w.Kept != kept {
			t.Fatalf("%v, %+v", ok, w)
		}
		want := 0
		if kept {
			want = 1
		}
		if len(c.spawns) != want || len(n.s.owners.spawns) != want {
			t.Errorf("kept %v: %v, %v, want %d of each", kept, c.spawns, n.s.owners.spawns, want)
		}
	}
}
