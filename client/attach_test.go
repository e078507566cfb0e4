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

// An entity that is relative to a parent is drawn on it, at every moment of its way and turned with
// it; so are the player's own avatar and an entity on that. An entity on a parent that is out of
// sight is not drawn.
func TestParents(t *testing.T) {
	ferries, riders, crates := game.NewKind[ferry]("ferry"), game.NewKind[cargo]("rider"), game.NewKind[cargo]("crate")
	var boat, crate, bird, lost game.ID
	// where the crate was seen, by each run of a command: predictions and the server's
	seen := map[game.Tick][]geom.Vec3{}
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
				if id == crate && c.Hop && w.Receipt().Stated > 0 {
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
			// a rider has no direction to turn it by
			{"the bird", bird, place.Add(geom.Vec2{X: 2, Y: 1}.Rotate(head)).Add(geom.Vec2{Y: 0.5})},
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
		t.Errorf("only %d frames had all of them", checks)
	}
	vals := make([]float64, 0, 100)
	if n := testing.AllocsPerRun(20, func() { vals = p.c.Draw(vals, func(*Entity) {}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type hopCmd struct {
	Move geom.Vec2 `net:"stick"`
	Hop  bool      `net:"press"`
}

// A player who boards a moving ferry and leaves it is drawn on a way without jumps, although the
// ferry is drawn in the past, and although the client, which knows only the newest record of the
// ferry, boards elsewhere on it than the server. What a page asks for is where that is, too.
func TestBoarding(t *testing.T) {
	ferries, riders := game.NewKind[ferry]("ferry"), game.NewKind[cargo]("rider")
	def := game.Definition[hopCmd]{
		Name: "boarding", Kinds: game.Kinds(ferries, riders),
		Join: func(w *game.World, name string) game.ID {
			ferries.Spawn(w, ferry{Pos: geom.Vec2{X: 100, Y: 50}})
			return riders.Spawn(w, cargo{Pos: geom.Vec2{X: 99, Y: 50}})
		},
		Act: func(w *game.World, me game.ID, c hopCmd) {
			r := riders.Get(w, me)
			at, ok := w.On(r.On, r.Pos.At(0))
			r.Pos = r.Pos.Add(c.Move.Mul(4 * w.Dt()))
			switch {
			case !c.Hop || !ok:
			case r.On != 0:
				r.On, r.Pos = 0, at.XY()
			default:
				for id, f := range ferries.All(w) {
					r.On, r.Pos = id, at.XY().Sub(f.Pos).Rotate(-f.Head)
				}
			}
		},
		Step: func(w *game.World) {
			for _, f := range ferries.All(w) {
				f.Head = (f.Head + geom.Angle(0.5*w.Dt())).Norm()
				f.Pos = f.Pos.Add(f.Head.Dir().Mul(3 * w.Dt()))
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	p := d.join(40*ms, Config{})
	tick, steer, hops := 0, 0, 0
	p.play = func() []int64 {
		cmd := make([]int64, rules.Command.Sims)
		if tick++; tick%25 == 0 {
			cmd[2] = 1
			hops++
		}
		if steer = tick / 40 % 3; steer > 0 {
			cmd[0] = int64(2*steer - 3)
		}
		return cmd
	}
	d.run(2000 * time.Millisecond)
	var last geom.Vec2
	boarded, far := 0, 0.0
	on := game.ID(0)
	for i := range 1500 {
		d.run(17 * time.Millisecond)
		p.c.Draw(nil, func(e *Entity) {
			if !e.Mine {
				return
			}
			at := geom.Vec2{X: e.Vals[1], Y: e.Vals[2]}
			if i > 0 {
				far = max(far, at.Dist(last))
			}
			if id := game.ID(e.Vals[0]); id != on {
				on = id
				boarded++
			}
			last = at
			if me, _, ok := p.c.AppendMe(nil); !ok || at.Dist(geom.Vec2{X: me[1], Y: me[2]}) > 1.5 {
				t.Fatalf("drawn at %v, and at %v for the page", at, me)
			}
		})
	}
	if far > 0.25 || boarded < 20 || p.lastOff > 2 {
		t.Errorf("%d changes of what it is on, drawn up to %.2f m from one frame to the next, corrected by %.2f m",
			boarded, far, p.lastOff)
	}
	t.Logf("%d changes, %.3f m at most from frame to frame; %d hops, %+v", boarded, far, hops,
		p.c.Stats().Prediction.Corrections)
}
