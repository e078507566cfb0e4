package game_test

import (
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// BenchmarkTick is one tick of a beach with two crabs and 256 rocks: a command that looks at
// everything, and a Step that changes everything.
func BenchmarkTick(b *testing.B) {
	beach := &beach{}
	e := beach.server(b)
	beach.must(b, e, func(w *game.World) {
		for i := range 256 {
			rocks.Spawn(w, rock{Pos: geom.Vec2{X: float64(i)}})
		}
	})
	cmd := make([]int64, e.Rules().Command.Sims)
	act := func(b *testing.B, f func(w *game.World, me game.ID, c pinch), seen engine.Seer) {
		beach.act = f
		b.ReportAllocs()
		for b.Loop() {
			e.Act(1, cmd, seen, false)
			e.Drain()
		}
	}
	b.Run("get", func(b *testing.B) {
		act(b, func(w *game.World, me game.ID, c pinch) {
			for id := game.ID(3); id < 259; id++ {
				if rocks.Get(w, id).Hot {
					w.Cut(id)
				}
			}
		}, nil)
	})
	b.Run("all", func(b *testing.B) {
		act(b, func(w *game.World, me game.ID, c pinch) {
			p := crabs.Get(w, me)
			for id, r := range rocks.All(w) {
				if r.Pos.Sub(p.Pos).Len() < 0 {
					w.Despawn(id)
				}
			}
		}, nil)
	})
	b.Run("seen", func(b *testing.B) {
		act(b, func(w *game.World, me game.ID, c pinch) {
			p := crabs.Get(w, me)
			for _, o := range rocks.Seen(w, me) {
				p.Aim = o.Pos.Angle()
			}
		}, wideSight{})
	})
	b.Run("emit", func(b *testing.B) {
		act(b, func(w *game.World, me game.ID, c pinch) {
			for i := range 16 {
				pings.Emit(w, me, geom.Vec2{}, ping{i})
			}
		}, nil)
	})
	b.Run("step", func(b *testing.B) {
		beach.step = func(w *game.World) {
			for _, r := range rocks.All(w) {
				r.Hot = !r.Hot
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			e.Step(false)
		}
	})
}

// wideSight saw all 256 rocks.
type wideSight struct{}

func (wideSight) Receipt() (r engine.Receipt) { return r }

func (wideSight) Past(game.ID, game.Tick) ([]int64, game.Tick) { return nil, 0 }

func (wideSight) Seen(q engine.Query, dst *engine.Sight) {
	var drawn [8]int64
	for i := range 256 {
		drawn[0] = int64(i)
		dst.Add(game.ID(3+i), drawn[:3])
	}
}
