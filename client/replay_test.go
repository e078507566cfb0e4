package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/geom/body"
	"meanwhile/internal/engine"
)

type crate struct {
	Pos  geom.Vec2  `net:"pos,others=1cm"`
	Vel  geom.Vec2  `net:"vel,others=1cm/s"`
	Turn geom.Angle `net:"angle"`
	Spin geom.Angle `net:"spin"`
}

// yard is a game with crates that touch each other.
func yard(t testing.TB, n int) *game.Rules {
	t.Helper()
	men := game.NewKind[kicker]("man")
	crates := game.NewKind[crate]("crate", game.Predicted)
	scene := &body.Scene{}
	def := game.Definition[kickerCmd]{
		Name: "yard", Rate: 60, Kinds: game.Kinds(men, crates),
		Join: func(w *game.World, name string) game.ID {
			for i := range n {
				crates.Spawn(w, crate{Pos: geom.Vec2{X: 2 + float64(i%5)*1.01, Y: float64(i/5) * 1.01}})
			}
			return men.Spawn(w, kicker{})
		},
		Act: func(w *game.World, me game.ID, c kickerCmd) {
			k := men.Get(w, me)
			k.Pos = k.Pos.Add(c.Move.Mul(float64(5 * w.Dt())))
		},
		Step: func(w *game.World) {
			scene.Reset()
			build := body.Build{Half: geom.Vec2{X: 0.5, Y: 0.5}, Mass: 10, Surface: body.Surface{Friction: 0.4}, Drag: 2}
			for id, c := range crates.All(w) {
				scene.Add(body.Body{Build: build, ID: uint32(id), Pos: c.Pos, Vel: c.Vel, Angle: c.Turn, Spin: c.Spin})
			}
			for id, k := range men.All(w) {
				scene.Add(body.Body{Build: body.Build{Radius: 0.4}, ID: uint32(id), Pos: k.Pos})
			}
			scene.Step(w.Dt())
			for _, b := range scene.Bodies[:len(scene.Bodies)-men.Len(w)] {
				c := crates.Get(w, game.ID(b.ID))
				c.Pos, c.Vel, c.Turn, c.Spin = b.Pos, b.Vel, b.Angle, b.Spin
			}
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// replay returns what corrects a crate 30 ticks ago, by a millimetre, and runs all of it again.
func replay(t testing.TB, bodies int) func() {
	rules := yard(t, bodies)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		v[0] = 15
		return v
	}
	d.run(2500 * time.Millisecond)
	r := &a.c.own
	var truth engine.Set
	n := int64(0)
	return func() {
		at := r.ring.Done() - 30
		s := r.ring.State(at)
		m := s.Find(1)
		truth.Clear()
		k := rules.Kinds[m.Kind]
		to := truth.Add(m.ID, m.Kind, k)
		copy(truth.Of(to, k), s.Of(m, k))
		n = 256 - n
		truth.Vals[0] += n*2 - 256
		r.ring.Begin(0)
		if o := r.ring.Revise(at, &truth); o.Replayed != 30 || len(s.Members) != bodies+1 {
			t.Fatalf("%+v, %d members", o, len(s.Members))
		}
		a.c.events.collect()
	}
}

func BenchmarkReplay(b *testing.B) {
	f := replay(b, 20)
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

// To correct the past takes no memory.
func TestReplayDoesNotAllocate(t *testing.T) {
	f := replay(t, 20)
	if n := testing.AllocsPerRun(20, f); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
