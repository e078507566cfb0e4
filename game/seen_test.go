package game_test

import (
	"fmt"
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// sight is a Seer that saw the same things all the time.
type sight struct{ ids []game.ID }

func (*sight) Receipt() (r engine.Receipt) { return r }

func (*sight) Past(game.ID, game.Tick) ([]int64, game.Tick) { return nil, 0 }

func (s *sight) Seen(q engine.Query, dst *engine.Sight) {
	drawn := make([]int64, 8)
	for _, id := range s.ids {
		if id != q.Me {
			drawn[0] = int64(id) * 100 * 256 // centimetres, in 1/256
			dst.Add(id, drawn[:3])
		}
	}
}

func TestSeen(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	var got []string
	b.act = func(w *game.World, me game.ID, c pinch) {
		for id, r := range rocks.Seen(w, me) {
			for other, o := range rocks.Seen(w, me) { // ranges may be nested
				if other == 9 {
					break
				}
				got = append(got, fmt.Sprint(id, other, r.Pos.X, o.Pos.X))
			}
			r.Pos.X = 77 // a copy
		}
	}
	cmd := make([]int64, e.Rules().Command.Sims)
	if err := e.Act(1, cmd, &sight{[]game.ID{1, 5, 7, 9}}, false); err != nil {
		t.Fatal(err)
	}
	want := []string{"5 5 5 5", "5 7 5 7", "7 5 7 5", "7 7 7 7", "9 5 9 5", "9 7 9 7"}
	if !slices.Equal(got, want) {
		t.Errorf("seen %q, want %q", got, want)
	}
	got = nil
	b.step = func(w *game.World) {
		for id := range rocks.Seen(w, 1) {
			t.Errorf("Step saw %d: nobody looks", id)
		}
	}
	if err := e.Step(false); err != nil {
		t.Fatal(err)
	}
	panics := true
	b.act = func(w *game.World, me game.ID, c pinch) {
		for id := range rocks.Seen(w, me) {
			got = append(got, fmt.Sprint(id))
			if panics {
				panic("within a range")
			}
		}
	}
	for range 3 {
		e.Act(1, cmd, &sight{[]game.ID{5, 7}}, false)
		panics = false
	}
	if !slices.Equal(got, []string{"5", "5", "7", "5", "7"}) {
		t.Errorf("after a panic within a range: %q", got)
	}
}

// A steady tick of rules allocates nothing.
func TestActAllocatesNothing(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	b.must(t, e, func(w *game.World) {
		for i := range 100 {
			rocks.Spawn(w, rock{Pos: geom.Vec2{X: float64(i)}})
		}
	})
	b.act = func(w *game.World, me game.ID, c pinch) {
		p := crabs.Get(w, me)
		p.Pos = p.Pos.Add(c.Move.Mul(w.Dt()))
		for id, r := range rocks.All(w) {
			if r.Pos.Sub(p.Pos).Len() < 0.1 {
				w.Despawn(id)
				rocks.Spawn(w, rock{Pos: geom.Vec2{X: w.Rand().Float64()}})
			}
		}
		for _, other := range crabs.Seen(w, me) {
			p.Aim = other.Pos.Angle()
		}
		crabs.Get(w, 999)
		pings.Emit(w, me, p.Pos, ping{w.Rand().IntN(255)})
	}
	b.step = func(w *game.World) {
		for _, r := range rocks.All(w) {
			r.Hot = !r.Hot
		}
	}
	b.referee = func(w *game.World) {}
	cmd := make([]int64, e.Rules().Command.Sims)
	seen := &quietSight{}
	tick := game.Tick(1)
	run := func() {
		tick++
		e.SetTick(tick)
		cmd[0] = int64(tick % 15)
		e.Act(1, cmd, seen, false)
		e.Step(false)
		e.Referee()
		e.Changed(func(engine.Change) int32 { return 0 })
		e.Drain()
	}
	for range 100 {
		run()
	}
	if n := testing.AllocsPerRun(200, run); n != 0 {
		t.Errorf("%v allocations per tick, want 0", n)
	}
}

type quietSight struct{ drawn [16]int64 }

func (*quietSight) Receipt() (r engine.Receipt) { return r }

func (*quietSight) Past(game.ID, game.Tick) ([]int64, game.Tick) { return nil, 0 }

func (s *quietSight) Seen(q engine.Query, dst *engine.Sight) {
	dst.Add(2, s.drawn[:7])
	dst.Add(3, s.drawn[:7])
}
