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
	Pos geom.Vec2 `net:"pos,others=1mm,levels=none"`
}

type sledder struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec2 `net:"pos,others=1mm,levels=none"`
}

// An extrapolated entity is drawn at the present, without steps where it turns, not sliding where it
// teleports, and exactly where it comes to rest. What can be hit is drawn at the playout time that
// commands state.
//
// seeds: B8 B12 R4 R7 R44
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
	plain, extrapolated := d.join(40*ms, Config{NoExtrapolation: true}), d.join(40*ms, Config{})
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
	var path stride
	var lastTick game.Tick
	var ahead, nearer, frames float64
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
		if off := float64(g-now.Frac()) / 256 / 60; math.Abs(off) > 0.03 {
			t.Fatalf("drawn %.0f ms from the present", 1000*off)
		}
		frames++
		ahead += float64(g-extrapolated.c.Playout()) / 256 / 60
		nearer += truth[now].Sub(where(one[s])).Len() - truth[now].Sub(v).Len()
		if newest.Cut > lastTick {
			path = stride{worst: path.worst, bend: path.bend}
		}
		path.add(v, g, newest.Rest)
		if n := newest.Tick % 600; n > 545 && n < 585 && v.Sub(truth[newest.Tick]).Len() > 0.003 {
			t.Fatalf("at rest it is drawn at %v, and is at %v", v, truth[newest.Tick])
		}
		if n := newest.Tick % 600; n < 480 && n > 20 || n > 595 || n < 10 {
			// a slide over 30 m would be seen
			if off := v.Sub(truth[now]).Len(); off > 2 {
				t.Fatalf("tick %d: drawn at %v, is at %v", n, v, truth[now])
			}
		}
		lastTick = newest.Tick
	}
	if ahead/frames < 0.09 {
		t.Errorf("%.1f ms nearer the present, want 100", 1000*ahead/frames)
	}
	if nearer/frames < 0.4 {
		t.Errorf("nearer to where it is by %.2f m", nearer/frames)
	}
	if path.worst > 0.25 { // a tick at 6 m/s is 0.10; 100 ms straight on at a corner are 0.85 off
		t.Errorf("a step of %.2f m", path.worst)
	}
	if path.bend > 0.06 {
		t.Errorf("a step that differs from the one before by %.2f m", path.bend)
	}
	vals := make([]float64, 0, 100)
	if n := testing.AllocsPerRun(20, func() { vals = extrapolated.c.Draw(vals, func(*Entity) {}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A stride is how a thing is drawn from frame to frame.
type stride struct {
	worst, bend float64 // longest step in a tick, and largest change of it, in metres
	frames      int
	last, step  geom.Vec2
	at          clock.TickFrac
}

// add notes where it is drawn at a tick. Its step may change at will where it stopped.
func (r *stride) add(v geom.Vec2, at clock.TickFrac, stopped bool) {
	if r.frames++; r.frames > 1 && at > r.at {
		step := v.Sub(r.last).Mul(clock.FracPerTick / float64(at-r.at))
		r.worst = max(r.worst, step.Len())
		if r.frames > 2 && !stopped {
			r.bend = max(r.bend, step.Sub(r.step).Len())
		}
		r.step = step
	}
	r.last, r.at = v, at
}

type (
	hunterCmd struct {
		Go    geom.Vec2 `net:"stick"`
		Shoot bool      `net:"press"`
	}
	hunter struct {
		Pos geom.Vec2 `net:"pos"`
	}
)

// What is further from the avatar than it can be hit is drawn at the present, and closer it is drawn
// between records, exactly as the server judges, without a step on the way. Seen leaves out what is
// further, on both sides alike.
//
// seeds: R4
func TestExtrapolatedBeyond(t *testing.T) {
	const beyond, speed = 20.0, 6.0
	deer, hunters := game.NewKind[sled]("deer", game.ExtrapolatedBeyond(beyond)), game.NewKind[hunter]("hunter")
	type sight map[game.ID]geom.Vec2
	client, server := map[game.Tick]sight{}, map[game.Tick]sight{}
	var host *game.World
	var herd []game.ID
	def := game.Definition[hunterCmd]{
		Name: "hunt", Rate: 60, Kinds: game.Kinds(deer, hunters),
		Join: func(w *game.World, name string) game.ID {
			for i := range 6 { // at 10, 25, ... 85 m
				herd = append(herd, deer.Spawn(w, sled{Pos: geom.Vec2{X: 10 + 15*float64(i)}}))
			}
			return hunters.Spawn(w, hunter{})
		},
		Act: func(w *game.World, me game.ID, c hunterCmd) {
			h := hunters.Get(w, me)
			h.Pos = h.Pos.Add(c.Go.Mul(speed * w.Dt()))
			if !c.Shoot || w.Receipt().Stated == 0 { // before the first frame nothing is on the screen
				return
			}
			seen, eye := sight{}, hunters.Eye(w, me)
			for id, d := range deer.Seen(w, me) {
				if seen[id] = d.Pos; d.Pos.Sub(eye.Pos).Len() > beyond {
					t.Errorf("Seen has one at %.1f m", d.Pos.Sub(eye.Pos).Len())
				}
			}
			if w == host {
				server[w.Tick()] = seen
			} else {
				client[w.Tick()] = seen
			}
		},
		Referee: func(w *game.World) {
			host = w
			for i, id := range herd {
				turn := geom.Angle(float64(w.Tick()+game.Tick(i*37)) / 400 * float64(geom.Turn))
				deer.Get(w, id).Pos = deer.Get(w, id).Pos.Add(turn.Dir().Mul(5 * w.Dt()))
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	p := d.join(40*ms, Config{})
	frame := 0
	p.play = func() []int64 { // there and back, so that all come into reach and leave it
		frame++
		x := int64(rules.Command.Props[0].Sim)
		if frame/900%2 == 1 {
			x = -x
		}
		return []int64{x, 0, int64(frame % 5 / 4)}
	}
	d.run(3 * time.Second)
	paths := map[game.ID]*stride{}
	var exact, far int
	for range 60 * 40 {
		d.run(17 * time.Millisecond)
		me, at := geom.Vec2{}, p.c.time.nowTick
		p.c.Draw(nil, func(e *Entity) {
			if e.Mine {
				me = geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
			}
		})
		p.c.Draw(nil, func(e *Entity) {
			if e.Mine {
				return
			}
			v := geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
			pure, _ := p.c.play.drawAt(e.Replica, p.c.Playout())
			q := rules.Kinds[0].AppendDrawn(nil, pure)
			between := geom.Vec2{X: q[0], Y: q[1]}
			switch off := between.Sub(me).Len(); {
			case off <= beyond+1.5:
				if exact++; v != between {
					t.Fatalf("at %.1f m it is drawn at %v, and judged at %v", off, v, between)
				}
			case off > beyond+25:
				far++
				if e.Late() > 0 || v == between {
					t.Fatalf("at %.1f m it is drawn late", off)
				}
			}
			if paths[e.ID] == nil {
				paths[e.ID] = &stride{}
			}
			paths[e.ID].add(v, at, false)
		})
	}
	if exact < 1000 || far < 1000 {
		t.Errorf("%d exact drawings and %d of far ones", exact, far)
	}
	for id, path := range paths {
		if path.bend > 0.05 { // 0.08 a tick is how fast they move
			t.Errorf("%d: a step that differs from the one before by %.3f m", id, path.bend)
		}
	}
	shots, hits := 0, 0
	for tick, seen := range server {
		mine, ok := client[tick]
		if !ok {
			continue
		}
		shots++
		hits += len(seen)
		if len(mine) != len(seen) {
			t.Errorf("tick %d: %d seen by the player, %d by the server", tick, len(mine), len(seen))
		}
		for id, at := range seen {
			if mine[id] != at {
				t.Errorf("tick %d: seen at %v, judged at %v", tick, mine[id], at)
			}
		}
	}
	if shots < 100 || hits < 100 {
		t.Errorf("%d shots, %d deer seen", shots, hits)
	}
}
