package gametest_test

import (
	"math"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

type tram struct {
	Pos geom.Vec2 `net:"pos,1mm,others=1cm,draw=dr:20cm"`
	Vel geom.Vec2 `net:"vel,1cm/s"`
}

type walker struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

var (
	trams   = game.NewKind[tram]("tram")
	walkers = game.NewKind[walker]("walker")
	traffic = game.Definition[struct{}]{
		Name: "traffic", Rate: 30, Kinds: game.Kinds(trams, walkers),
		Join: func(w *game.World, name string) game.ID {
			if trams.Len(w) == 0 {
				for i := range 100 {
					r := geom.NewRand(7, uint64(i))
					trams.Spawn(w, tram{Pos: r.Dir().Mul(10 + float64(i))})
					walkers.Spawn(w, walker{Pos: r.Dir().Mul(10 + float64(i))})
				}
			}
			return walkers.Spawn(w, walker{})
		},
		Act: func(w *game.World, me game.ID, c struct{}) {},
		Step: func(w *game.World) {
			for id, c := range trams.All(w) {
				a := geom.Angle(0.5 * geom.Sin(float64(w.Tick())/60+float64(id)))
				c.Vel = a.Dir().Mul(8)
				c.Pos = c.Pos.Add(c.Vel.Mul(w.Dt()))
			}
			for id, c := range walkers.All(w) {
				r := geom.NewRand(uint64(id), uint64(w.Tick())/30)
				c.Pos = c.Pos.Add(r.Dir().Mul(1.4 * w.Dt()))
			}
		},
	}
)

// When the budget is too small for everything that moves, walkers are drawn later the further away
// they are. Dead-reckoned things are not: they go on at their speed, and corrections move them by
// little more than their bound.
func TestReckonedInACrowd(t *testing.T) {
	rules, err := traffic.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sim, err := gametest.NewSim(rules, 5, server.Config{Budget: 2500})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Join("ann", netsim.LAN, nil)
	if err != nil {
		t.Fatal(err)
	}
	sim.Run(15 * time.Second)
	const frame = 1.0 / 60 // s
	last, pictures, late, worst := map[game.ID]geom.Vec2{}, 0, 0, 0.0
	p.OnFrame = func() {
		now := map[game.ID]geom.Vec2{}
		p.Client.Draw(nil, func(e *client.Entity) {
			at, ok := p.Client.TimeOf(e.Replica)
			if e.Kind != 0 {
				if ok && at < p.Client.Playout() {
					late++
				}
				return
			}
			if at != p.Client.Playout() {
				t.Fatalf("tram %d is drawn at %d, all at %d", e.ID, at, p.Client.Playout())
			}
			now[e.ID] = geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
			if was, known := last[e.ID]; known {
				pictures++
				worst = max(worst, math.Abs(now[e.ID].Dist(was)/frame-8))
			}
		})
		last = now
	}
	sim.Run(10 * time.Second)
	t.Logf("%d pictures of trams, at most %.1f m/s too fast or too slow; walkers drawn late in %d", pictures, worst, late)
	if pictures < 20000 || late < 20000 || worst > 8 {
		t.Error("trams are not drawn evenly, or nothing is short")
	}
}
