package client

import (
	"testing"

	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
)

// Where commands run when they arrive, the server's state is that of the command that it had run by
// then.
func TestCommandOfAState(t *testing.T) {
	c := newClient(t)
	r := &c.own
	if got := r.commandOf(300); got != 300 {
		t.Errorf("timed: %d, want that of the tick", got)
	}
	c.time.queued = true
	r.noteRan(300, 296)
	r.noteRan(301, 0) // none has run yet
	for _, x := range []struct{ tick, want clock.Tick }{{300, 296}, {301, 0}, {299, 0}, {300 + ranTicks, 0},
		{300 - ranTicks, 0}} {
		if got := r.commandOf(x.tick); got != x.want {
			t.Errorf("tick %d: command %d, want %d", x.tick, got, x.want)
		}
	}
	r.noteRan(300+ranTicks, 420)
	if r.commandOf(300) != 0 || r.commandOf(300+ranTicks) != 420 {
		t.Error("a later tick does not take the place of the one before")
	}
}

// A teleport belongs to the command of its tick; where commands are queued, to the one that was
// predicted to do it, or else to the newest one in the state.
func TestTeleportedBy(t *testing.T) {
	c := newClient(t)
	for _, x := range []struct {
		name      string
		queued    bool
		predicted clock.Tick
		want      clock.Tick
	}{
		{"timed", false, 95, 90},
		{"queued, predicted", true, 95, 95},
		{"queued, predicted one of before", true, 80, 97},
		{"queued, none predicted", true, 0, 97},
	} {
		c.time.queued = x.queued
		if got := c.own.teleportedBy(90, 97, x.predicted, 93); got != x.want {
			t.Errorf("%s: by command %d, want %d", x.name, got, x.want)
		}
	}
}

// A teleport of what is drawn is detected once, and nothing fades across it.
func TestDetectTeleport(t *testing.T) {
	c := newClient(t)
	r := &c.own
	r.me, c.up.made = 1, 50
	r.ring.Push(50)
	vals := make([]int64, c.rules.Kinds[0].Sims)
	for i, x := range []struct {
		cut clock.Tick // newest teleport before what is drawn
		is  bool
	}{{0, false}, {50, true}, {50, false}, {51, true}, {0, true}} {
		r.ring.Reset()
		r.ring.Confirm(50, &engine.Set{Members: []engine.Member{{ID: 1, Cut: x.cut}}, Vals: vals})
		r.smooth.Add(geom.Vec3{X: 1})
		cuts := r.cuts
		if got := r.detectTeleport(); got != x.is || (r.cuts != cuts) != x.is ||
			(r.smooth.Error() == geom.Vec3{}) != x.is {
			t.Errorf("step %d: teleport %v, want %v; %d counted, %v fades", i, got, x.is, r.cuts-cuts, r.smooth.Error())
		}
		r.smooth.Clear()
	}
}
