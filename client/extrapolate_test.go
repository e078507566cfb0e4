package client

import (
	"math"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

type sled struct {
	Pos geom.Vec2 `net:"pos,others=1mm"`
}

type sledder struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec2 `net:"pos,others=1mm"`
}

// An extrapolated entity is drawn closer to the present by Config.Extrapolate, never further beyond
// a record, without steps where it turns, not sliding where it teleports, and exactly where it
// comes to rest. What can be hit is drawn at the playout time that commands state.
//
// seeds: B8 B12
func TestExtrapolated(t *testing.T) {
	sleds, walkers, riders := game.NewKind[sled]("sled", game.Extrapolated), game.NewKind[sled]("walker"),
		game.NewKind[sledder]("rider")
	var s, wk, rd game.ID
	const speed = 6.0
	truth := map[game.Tick]geom.Vec2{}
	def := game.Definition[riderCmd]{
		Name: "sleds", Rate: 60, Kinds: game.Kinds(sleds, walkers, riders),
		Join: func(w *game.World, name string) game.ID {
			if s == 0 {
				s, wk = sleds.Spawn(w, sled{}), walkers.Spawn(w, sled{})
				rd = riders.Spawn(w, sledder{On: s, Pos: geom.Vec2{X: 1}})
			}
			return walkers.Spawn(w, sled{Pos: geom.Vec2{X: 50}})
		},
		Act: func(w *game.World, me game.ID, c riderCmd) {},
		Referee: func(w *game.World) {
			p := sleds.Get(w, s)
			switch n := w.Tick() % 600; {
			case n < 480: // a turn of a quarter each second
				p.Pos = p.Pos.Add(geom.Vec2{X: speed * w.Dt()}.Rotate(geom.Angle(float64(n/60) * float64(geom.Turn) / 4)))
			case n == 590:
				p.Pos = p.Pos.Add(geom.Vec2{X: 30})
				w.Cut(s)
			}
			walkers.Get(w, wk).Pos = p.Pos
			truth[w.Tick()] = p.Pos
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	plain, extrapolated := d.join(40*ms, Config{}), d.join(40*ms, Config{Extrapolate: 100 * time.Millisecond})
	for _, p := range d.sides {
		p.play = func() []int64 { return []int64{0} }
		rng := geom.NewRand(7, 7) // the same for both
		p.path = func(up bool) []clock.Time {
			if up {
				return []clock.Time{0}
			}
			return []clock.Time{clock.Time(rng.IntN(60)) * ms}
		}
	}
	d.run(5 * time.Second)
	at := func(p *side) map[game.ID][]float64 {
		m := map[game.ID][]float64{}
		p.c.Draw(nil, func(e *Entity) { m[e.ID] = append([]float64(nil), e.Vals...) })
		return m
	}
	where := func(v []float64) geom.Vec2 { return geom.Vec2{X: v[0], Y: v[1]} }
	var last geom.Vec2
	var lastTick game.Tick
	var ahead, nearer, frames, worst float64
	for range 60 * 30 {
		d.run(17 * time.Millisecond)
		one, two := at(plain), at(extrapolated)
		pure, ok := extrapolated.c.play.drawAt(extrapolated.c.store.Find(uint32(wk)), extrapolated.c.Playout())
		if k := rules.Kinds[1]; !ok || where(k.AppendDrawn(nil, pure)) != where(two[wk]) {
			t.Fatalf("what can be hit is drawn at %v, and seen at %v", two[wk], pure)
		}
		h := extrapolated.c.store.Find(uint32(s))
		g, _ := extrapolated.c.play.timeOf(h)
		newest := h.Groups[0].Newest()
		v := where(two[s])
		if r := two[rd]; math.Hypot(r[1]-v.X-1, r[2]-v.Y) > 0.002 {
			t.Fatalf("the rider is drawn at %v, what it rides on at %v", r, v)
		}
		now := d.s.Tick()
		if g > now.Frac() {
			t.Fatalf("drawn at tick %.2f, the server is at %d", float64(g)/256, now)
		}
		frames++
		ahead += float64(g-extrapolated.c.Playout()) / 256 / 60
		nearer += truth[now].Sub(where(one[s])).Len() - truth[now].Sub(v).Len()
		if reach := v.Sub(truth[newest.Tick]).Len(); g > newest.Tick.Frac() && reach > speed*0.1+0.6 {
			t.Fatalf("drawn %.2f m beyond the newest record", reach)
		}
		if cut := newest.Cut != 0 && newest.Cut > lastTick; lastTick > 0 && !cut && newest.Tick%600 < 580 {
			worst = max(worst, v.Sub(last).Len())
		}
		if n := newest.Tick % 600; n > 540 && n < 585 && v.Sub(truth[newest.Tick]).Len() > 0.003 {
			t.Fatalf("at rest it is drawn at %v, and is at %v", v, truth[newest.Tick])
		}
		if n := g.Tick() % 600; n < 480 && n > 20 || n > 560 {
			// a slide over 30 m would be seen
			if off := min(v.Sub(truth[g.Tick()]).Len(), v.Sub(truth[newest.Tick]).Len()); off > 1.2 {
				t.Fatalf("tick %d: drawn at %v, was at %v", n, v, truth[g.Tick()])
			}
		}
		last, lastTick = v, newest.Tick
	}
	t.Logf("ahead %.1f ms, nearer by %.2f m, worst step %.3f m", 1000*ahead/frames, nearer/frames, worst)
	if ahead/frames < 0.09 {
		t.Errorf("%.1f ms nearer the present, want 100", 1000*ahead/frames)
	}
	if nearer/frames < 0.2 {
		t.Errorf("nearer to where it is by %.2f m", nearer/frames)
	}
	if worst > 0.35 { // 17 ms at 6 m/s are 0.10; 100 ms straight on at a corner are 0.85 off
		t.Errorf("a step of %.2f m", worst)
	}
	vals := make([]float64, 0, 100)
	if n := testing.AllocsPerRun(20, func() { vals = extrapolated.c.Draw(vals, func(*Entity) {}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
