package gametest_test

import (
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

type stroller struct {
	Pos geom.Vec2  `net:"pos,others=1cm"`
	Yaw geom.Angle `net:"angle,8bit"`
}

// Among 250 walkers, at 13 kbit/s with all overhead, the nearest are known and drawn with the
// smallest error against where they are now. Within 10 m the mean error is less than a metre, on a
// path of 40 ms.
//
// seeds: R13
func TestNearestAreShownBest(t *testing.T) {
	strollers := game.NewKind[stroller]("stroller")
	def := game.Definition[struct{}]{
		Name: "square", Rate: 20, Send: 10, See: 250, Kinds: game.Kinds(strollers),
		Join: func(w *game.World, name string) game.ID {
			for i := range 250 {
				r := geom.NewRand(3, uint64(i))
				strollers.Spawn(w, stroller{Pos: r.Dir().Mul(2 + 98*float64(i)/250)})
			}
			return strollers.Spawn(w, stroller{})
		},
		Act: func(w *game.World, me game.ID, c struct{}) {},
		Referee: func(w *game.World) {
			for id, s := range strollers.All(w) {
				if s.Pos == (geom.Vec2{}) {
					continue // who looks
				}
				r := geom.NewRand(uint64(id), uint64(w.Tick())/200) // another way every ten seconds, about the same distance
				way := s.Pos.Unit().Perp()
				if r.Chance(0.5) {
					way = way.Neg()
				}
				way = way.Rotate(geom.Angle(r.Range(-0.5, 0.5)))
				s.Yaw, s.Pos = way.Angle(), s.Pos.Add(way.Mul(1.4*w.Dt()))
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sim, err := gametest.NewSim(rules, 8, server.Config{Budget: 13000 / 8})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Join("ann", netsim.Fiber, nil)
	if err != nil {
		t.Fatal(err)
	}
	sim.Run(30 * time.Second) // until all are known and the pace has settled
	edges := []float64{0, 10, 20, 40, 70, 200}
	var held, drawn [5]float64
	var n [5]int
	for range 300 {
		sim.Run(100 * time.Millisecond)
		truth := sim.Server.World()
		p.Client.Draw(nil, func(e *client.Entity) {
			if e.Mine || !strollers.Has(truth, e.ID) {
				return
			}
			now := strollers.Get(truth, e.ID).Pos
			band := 0
			for now.Len() >= edges[band+1] {
				band++
			}
			v := e.Replica.Groups[0].Newest().Vals
			n[band]++
			held[band] += now.Dist(geom.Vec2{X: float64(v[0]) / 100, Y: float64(v[1]) / 100})
			drawn[band] += now.Dist(geom.Vec2{X: e.Vals[0], Y: e.Vals[1]})
		})
	}
	for i := range n {
		held[i], drawn[i] = held[i]/float64(n[i]), drawn[i]/float64(n[i])
		t.Logf("%3.0f to %3.0f m: held %.2f m off, drawn %.2f m off (%d samples)", edges[i], edges[i+1], held[i], drawn[i],
			n[i])
		if n[i] < 1000 || i > 0 && (held[i] <= held[i-1] || drawn[i] < 0.98*drawn[i-1]) {
			t.Errorf("from %v m on the error is %.2f held and %.2f drawn in %d samples, nearer by it was %.2f and %.2f",
				edges[i], held[i], drawn[i], n[i], held[max(i, 1)-1], drawn[max(i, 1)-1])
		}
	}
	if held[0] > 1 || drawn[0] > 1 {
		t.Errorf("within 10 m %.2f m held and %.2f m drawn, want less than 1", held[0], drawn[0])
	}
	if st, _ := sim.Server.Stats(p.ID); st.MaxWindow*8 > 13000 {
		t.Errorf("%d bits in a second", st.MaxWindow*8)
	}
	if err := sim.Diverged(); err != nil {
		t.Error(err)
	}
}
