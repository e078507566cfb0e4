package bridge

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
)

// thrower throws darts, beside a ball that the server moves about as it likes.
type thrower struct {
	Pos   geom.Vec2 `net:"pos,others=1cm"`
	Darts int       `net:"int,0..99"`
}

type dart struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
	Age int       `net:"int,0..99"`
}

type ball struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type throw struct {
	Left int `net:"int,0..99"`
}

type throwCmd struct {
	Throw bool `net:"press"`
}

// darts is such a game. refuse says whether a throw has no effect, shake whether the ball moves.
func darts(refuse func(w *game.World) bool, shake func() bool) *game.Definition[throwCmd] {
	throwers := game.NewKind[thrower]("thrower")
	kind := game.NewKind[dart]("dart", game.Near(2))
	balls := game.NewKind[ball]("ball", game.Predicted)
	throws := game.NewEvent[throw]("throw")
	return &game.Definition[throwCmd]{
		Name: "darts", Rate: 60, Kinds: game.Kinds(throwers, kind, balls), Events: game.Events(throws),
		Join: func(w *game.World, name string) game.ID {
			balls.Spawn(w, ball{})
			return throwers.Spawn(w, thrower{Darts: 99})
		},
		Act: func(w *game.World, me game.ID, c throwCmd) {
			m := throwers.Get(w, me)
			if c.Throw && m.Darts > 0 && !refuse(w) {
				m.Darts--
				kind.Spawn(w, dart{Pos: m.Pos, Vel: geom.Vec2{X: 12}})
				throws.Emit(w, me, m.Pos, throw{m.Darts})
			}
		},
		Step: func(w *game.World) {
			for id, x := range kind.All(w) {
				x.Pos = x.Pos.Add(x.Vel.Mul(w.Dt()))
				if x.Age++; x.Age >= 40 {
					w.Despawn(id)
				}
			}
		},
		Referee: func(w *game.World) {
			for _, b := range balls.All(w) {
				if shake() {
					b.Pos.X = float64(w.Tick() % 7)
				}
			}
		},
	}
}

func never(*game.World) bool { return false }
func still() bool            { return false }

// What a command spawned is there in the frame of the press, and the same thing to its end: one id,
// drawn at command time.
//
// seeds: B5
func TestSpawnKeepsItsID(t *testing.T) {
	w := newWorld(t, darts(never, still))
	p := w.page("ann", nil)
	p.delay = 80 * time.Millisecond
	w.run(3 * time.Second)
	p.press(0)
	frames, id := 0, 0.0
	p.each = func() {
		list := p.world["dart"]
		if frames == 0 && len(list) == 0 {
			return
		}
		if frames++; len(list) > 1 || len(list) == 1 && id != 0 && list[0].id != id {
			t.Fatalf("frame %d of dart %v: %+v", frames, id, list)
		}
		if len(list) == 1 {
			if id = list[0].id; list[0].flags != flagPredicted {
				t.Errorf("frame %d: flags %v", frames, list[0].flags)
			}
		}
	}
	before := p.frames
	w.run(40 * time.Millisecond)
	if id == 0 {
		t.Fatalf("nothing is drawn %d frames after the press", p.frames-before)
	}
	w.run(2 * time.Second)
	if len(p.world["dart"]) != 0 || len(p.events) != 1 {
		t.Errorf("in the end %+v, events %+v", p.world["dart"], p.events)
	}
}

// An event that the server refuses is taken back under the key under which it was shown.
//
// seeds: B5
func TestUndoKey(t *testing.T) {
	refused := false
	var w *world
	w = newWorld(t, darts(func(at *game.World) bool { return refused && at == w.srv.World() }, still))
	p := w.page("ann", nil)
	w.run(2 * time.Second)
	p.press(0)
	w.run(time.Second)
	refused = true
	p.press(0)
	w.run(time.Second)
	if len(p.events) != 3 {
		t.Fatalf("events %+v", p.events)
	}
	kept, shown, undone := p.events[0], p.events[1], p.events[2]
	if kept.flags != flagMine || shown.flags != flagMine || shown.key == kept.key {
		t.Errorf("shown: %+v, %+v", kept, shown)
	}
	if undone.flags != flagMine+flagUndo || undone.key != shown.key || undone.name != shown.name ||
		undone.entity != shown.entity || undone.fields["left"][0] != shown.fields["left"][0] {
		t.Errorf("taken back: %+v, shown as %+v", undone, shown)
	}
}

// The page's budget for replays is kept, and its measurements say what is put off.
func TestReplayMs(t *testing.T) {
	for _, x := range []struct {
		ms      float64
		putsOff bool
	}{{0, false}, {1, true}, {100, false}} {
		shaking := false
		w := newWorld(t, darts(never, func() bool { return shaking }))
		p := w.page("ann", map[string]float64{"replayMs": x.ms})
		p.delay = 60 * time.Millisecond
		var passed time.Duration
		replayed := func() uint64 { return p.client.Stats().Prediction.Replayed }
		before := uint64(0)
		p.cfg.Clock = func() time.Duration { // a tick takes 0.15 ms
			passed += time.Duration(replayed()-before) * 150 * time.Microsecond
			before = replayed()
			return passed
		}
		w.run(2 * time.Second)
		shaking = true
		owed := 0.0
		p.each = func() { owed = max(owed, p.stats["owed"]) }
		w.run(2 * time.Second)
		if n := p.stats["replayed"]; n < 200 || n != float64(replayed()) {
			t.Errorf("%v ms: %v ticks ran again", x.ms, n)
		}
		if deferred := p.stats["deferred"]; deferred > 10 != x.putsOff || owed > 0 != x.putsOff {
			t.Errorf("%v ms: %v frames put ticks off, %v at once", x.ms, deferred, owed)
		}
		shaking = false
		w.run(time.Second)
		if p.stats["owed"] != 0 {
			t.Errorf("%v ms: %v ticks are still owed", x.ms, p.stats["owed"])
		}
	}
}
