package bridge

import (
	"math"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
)

// spy has values that only its team or only players near it know. It warps unannounced, and its
// kite is dead reckoned.
type spy struct {
	Pos  geom.Vec2 `net:"pos,warp=10m"`
	Side uint8     `net:"enum,none|red|blue,team"`
	Plan string    `net:"text,12,to=team"`
	Mood int       `net:"int,0..9,far=60m"`
}

type kite struct {
	Pos geom.Vec2 `net:"pos,1mm,others=1cm,draw=dr:10cm"`
	Vel geom.Vec2 `net:"vel,1cm/s"`
}

type spyOrders struct {
	Warp   bool `net:"press"`
	Desert bool `net:"press"`
}

var (
	spies = game.NewKind[spy]("spy")
	kites = game.NewKind[kite]("kite")
	plot  = game.Definition[spyOrders]{
		Name: "plot", Rate: 30, Kinds: game.Kinds(spies, kites),
		Join: func(w *game.World, name string) game.ID {
			if kites.Len(w) == 0 {
				kites.Spawn(w, kite{Vel: geom.Vec2{X: 2}})
			}
			return spies.Spawn(w, spy{Pos: geom.Vec2{X: 10}, Side: 1, Plan: "at dawn", Mood: 7})
		},
		Act: func(w *game.World, me game.ID, c spyOrders) {
			s := spies.Get(w, me)
			if c.Warp {
				s.Pos.X += 40
			}
			if c.Desert {
				s.Side = 2
			}
		},
		Step: func(w *game.World) {
			for _, k := range kites.All(w) {
				k.Pos = k.Pos.Add(k.Vel.Mul(w.Dt()))
			}
		},
	}
)

// A page gets values for its team or for players nearby, and NaN once it may no longer know them. A
// warp is flagged as a teleport, and a dead reckoned entity never counts as stalled.
func TestWordsInAPage(t *testing.T) {
	for _, interpolate := range []float64{1, 0} {
		w := newWorld(t, &plot)
		ann, bob := w.page("Ann", nil), w.page("Bob", map[string]float64{"interpolate": interpolate})
		w.run(3 * time.Second)
		seen := func() *entity {
			for i := range bob.world["spy"] {
				if e := &bob.world["spy"][i]; int(e.flags)&1 == 0 {
					return e
				}
			}
			t.Fatal("ann is out of sight")
			return nil
		}
		plan := func() string {
			if v := seen().props["plan"]; !math.IsNaN(v[0]) {
				return bob.text(v)
			}
			return "unknown"
		}
		if got := plan(); got != "at dawn" || seen().props["mood"][0] != 7 {
			t.Errorf("a friend nearby: %q, mood %v", got, seen().props["mood"])
		}
		x, cuts, jumps, held := seen().props["pos"][0], 0, 0, 0
		bob.each = func() {
			now := seen().props["pos"][0]
			if cut := int(seen().flags)&int(flagCut) != 0; cut || math.Abs(now-x) > 1 {
				cuts++
				if cut && math.Abs(now-x) > 1 {
					jumps++
				}
			}
			for _, e := range bob.world["kite"] {
				if int(e.flags)&int(flagStalled) != 0 {
					held++
				}
			}
			x = now
		}
		press := func(i int) {
			ann.input = func([]float64) []float64 {
				ann.input = nil
				return append(make([]float64, i), 1, 0)[:2]
			}
		}
		for range 2 {
			press(0)
			w.run(time.Second)
		}
		if cuts != 2 || jumps != 2 {
			t.Errorf("interpolate %v: %d jumps or flags, %d both; want 2", interpolate, cuts, jumps)
		}
		if held != 0 {
			t.Errorf("interpolate %v: the kite was held in %d pictures", interpolate, held)
		}
		if got := plan(); got != "at dawn" || !math.IsNaN(seen().props["mood"][0]) {
			t.Errorf("a friend far away: %q, mood %v", got, seen().props["mood"])
		}
		press(1)
		w.run(time.Second)
		if got := plan(); got != "unknown" {
			t.Errorf("no friend any more: %q", got)
		}
	}
}
