package client

import (
	"math"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
)

type ferry struct {
	Pos  geom.Vec2  `net:"pos,others=1mm"`
	Head geom.Angle `net:"angle,16bit"`
}

// cargo stands on something: a rider is the avatar, crates and birds are on a ferry or on a rider.
type cargo struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec2 `net:"pos,others=1mm"`
}

type riderCmd struct {
	Hop bool `net:"press"`
}

// What is relative to a parent is drawn on it, at every moment of its way and turned with it; and so is the own avatar, and what is on
// that. What stands on something out of sight is not drawn.
func TestParents(t *testing.T) {
	ferries, riders, crates := game.NewKind[ferry]("ferry"), game.NewKind[cargo]("rider"), game.NewKind[cargo]("crate")
	var boat, crate, bird, lost game.ID
	seen := map[game.Tick][]geom.Vec3{} // where the crate was seen, by each run of a command: predictions and the server's
	def := game.Definition[riderCmd]{
		Name: "ferries", Kinds: game.Kinds(ferries, riders, crates),
		Join: func(w *game.World, name string) game.ID {
			boat = ferries.Spawn(w, ferry{Pos: geom.Vec2{X: 100}})
			me := riders.Spawn(w, cargo{On: boat, Pos: geom.Vec2{X: 2, Y: 1}})
			crate = crates.Spawn(w, cargo{On: boat, Pos: geom.Vec2{X: -3}})
			bird = crates.Spawn(w, cargo{On: me, Pos: geom.Vec2{Y: 0.5}})
			lost = crates.Spawn(w, cargo{On: 77777, Pos: geom.Vec2{Y: 0.5}})
			return me
		},
		Act: func(w *game.World, me game.ID, c riderCmd) {
			for id, o := range crates.Seen(w, me) {
				at, ok := w.SeenOn(me, o.On, o.Pos.At(0))
				if own, there := w.On(o.On, o.Pos.At(0)); ok && id != bird && (!there || at.Dist(own) > 20) {
					t.Errorf("crate %d was seen at %v and is at %v, %v", id, at, own, there)
				}
				if id == lost && ok || id != lost && !ok {
					t.Errorf("crate %d is seen in the world: %v", id, ok)
				}
				if id == crate && c.Hop {
					seen[w.Tick()] = append(seen[w.Tick()], at)
				}
			}
		},
		Step: func(w *game.World) {
			for _, f := range ferries.All(w) {
				f.Head = (f.Head + geom.Angle(0.5*w.Dt())).Norm()
				f.Pos = f.Pos.Add(f.Head.Dir().Mul(6 * w.Dt()))
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	p := d.join(40*ms, Config{})
	p.play = func() []int64 { return []int64{1} }
	checks := 0
	for range 200 {
		d.run(17 * time.Millisecond)
		at := map[game.ID][]float64{}
		p.c.Draw(nil, func(e *Entity) { at[e.ID] = append([]float64(nil), e.Vals...) })
		f, on := at[boat]
		if !on || at[crate] == nil || at[p.c.Me()] == nil {
			continue
		}
		checks++
		place, head := geom.Vec2{X: f[0], Y: f[1]}, geom.Angle(f[2])
		for _, c := range []struct {
			name string
			id   game.ID
			want geom.Vec2
		}{
			{"the crate", crate, place.Add(geom.Vec2{X: -3}.Rotate(head))},
			{"the avatar", p.c.Me(), place.Add(geom.Vec2{X: 2, Y: 1}.Rotate(head))},
			{"the bird", bird, place.Add(geom.Vec2{X: 2, Y: 1}.Rotate(head)).Add(geom.Vec2{Y: 0.5})}, // a rider has no direction to turn it by
		} {
			if v := at[c.id]; v == nil || math.Hypot(v[1]-c.want.X, v[2]-c.want.Y) > 0.002 {
				t.Fatalf("%s is drawn at %v, want %v; the ferry at %v", c.name, v, c.want, f)
			}
		}
		if at[lost] != nil {
			t.Fatal("what stands on nothing known is drawn")
		}
	}
	runs := 0
	for tick, all := range seen {
		for _, at := range all[1:] {
			if runs++; at != all[0] {
				t.Fatalf("tick %d: the crate was seen at %v by one run and at %v by another", tick, all[0], at)
			}
		}
	}
	if runs < 80 {
		t.Errorf("only %d places seen twice", runs)
	}
	if checks < 100 {
		t.Errorf("only %d pictures had all of them", checks)
	}
	vals := make([]float64, 0, 100)
	if n := testing.AllocsPerRun(20, func() { vals = p.c.Draw(vals, func(*Entity) {}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
