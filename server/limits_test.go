package server

import (
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// What a player is sent follows its own limits from the next tick on: bytes in any one second, by a
// counter of the test, and packets a second. Others keep theirs.
//
// seeds: B14
func TestLimits(t *testing.T) {
	n := newNest(t, Config{Budget: 4000})
	n.referee = func(w *game.World) {
		for crumbs.Len(w) < 150 {
			crumbs.Spawn(w, crumb{})
		}
		for id, c := range crumbs.All(w) {
			c.Pos = geom.Vec2{X: float64(id), Y: float64(w.Tick()) * 0.1 * float64(id%5)}
		}
	}
	ann, bob := n.connect("ann"), n.connect("bob")
	type datagram struct {
		at   clock.Time
		cost int
	}
	sent := map[PlayerID][]datagram{}
	play := func(ticks int) {
		for range ticks {
			n.tick(func(id PlayerID, b []byte) {
				sent[id] = append(sent[id], datagram{n.now, len(b) + wire.Overhead})
				for _, p := range []*peer{ann, bob} {
					if p.id == id {
						p.take(b)
					}
				}
			})
			for _, p := range []*peer{ann, bob} {
				p.send(command(n.s.Tick()+2, antCmd{Move: geom.Vec2{X: 1}}))
			}
		}
	}
	measure := func(id PlayerID) (window, perSecond, packets int) {
		list := sent[id]
		for i := range list {
			sum := 0
			for j := i; j < len(list) && list[j].at-list[i].at < 1e9; j++ {
				sum += list[j].cost
			}
			window, perSecond = max(window, sum), perSecond+list[i].cost
		}
		return window, perSecond / 10, len(list) / 10
	}
	for _, c := range []struct {
		limits, want Limits
		packets      int
	}{
		{Limits{}, Limits{Budget: 4000, Send: 16}, 17},
		{Limits{Budget: 8000}, Limits{Budget: 8000, Send: 20}, 20},
		{Limits{Budget: 2000, Send: 5}, Limits{Budget: 2000, Send: 5}, 5},
		{Limits{Budget: 1, Send: -1}, Limits{Budget: MinBudget, Send: 4}, 4},
		{Limits{Budget: MaxBudget + 1, Send: 3}, Limits{Budget: MaxBudget, Send: 3}, 3},
	} {
		c.want.Rewind, c.want.RewindTotal = DefaultRewind, MaxRewind
		got, ok := n.s.SetLimits(ann.id, c.limits)
		if !ok || got != c.want {
			t.Errorf("limits %+v: %+v, want %+v", c.limits, got, c.want)
		}
		play(100) // five seconds to come to it
		clear(sent)
		play(200)
		window, perSecond, packets := measure(ann.id)
		if window > c.want.Budget || packets > c.packets || packets < c.packets-1 ||
			perSecond < min(c.want.Budget*6/10, c.want.Send*120) {
			t.Errorf("limits %+v: %d bytes in one second, %d bytes and %d packets a second", c.want, window, perSecond,
				packets)
		}
		if window, perSecond, _ := measure(bob.id); window > 4000 || perSecond < 2200 {
			t.Errorf("beside limits %+v another has %d bytes in one second, %d a second", c.want, window, perSecond)
		}
	}
	if _, ok := n.s.SetLimits(99, Limits{}); ok {
		t.Error("nobody has limits")
	}
}
