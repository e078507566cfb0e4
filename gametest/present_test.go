package gametest_test

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// What is drawn at the present is compared with where the truth goes between two ticks: it neither
// jolts in each frame nor stands still.
//
// seeds: R7
func TestQualityOfWhatIsDrawnAtThePresent(t *testing.T) {
	type deer struct {
		Pos geom.Vec2 `net:"pos"`
		Vel geom.Vec2 `net:"vel"`
	}
	type hunter struct {
		Pos geom.Vec2 `net:"pos"`
	}
	type still struct{}
	herd, hunters := game.NewKind[deer]("deer", game.Extrapolated), game.NewKind[hunter]("hunter")
	def := game.Definition[still]{
		Name: "meadow", Rate: 20, Kinds: game.Kinds(herd, hunters),
		Join: func(w *game.World, name string) game.ID { return hunters.Spawn(w, hunter{}) },
		Act:  func(w *game.World, me game.ID, c still) {},
		Referee: func(w *game.World) {
			if herd.Len(w) == 0 {
				herd.Spawn(w, deer{Vel: geom.Vec2{X: 8}})
			}
			for _, d := range herd.All(w) {
				d.Pos = d.Pos.Add(d.Vel.Mul(w.Dt()))
			}
		},
	}
	m := gametest.New(t, &def, 3)
	m.Join("ann", netsim.HotelWiFi, nil)
	m.Run(20 * time.Second)
	if q := m.Quality(); q.JoltsPerMin > 1 || q.HitchesPerMin > 1 || q.ViewErrorP95 > 0.08 {
		t.Errorf("%.1f jolts and %.1f hitches a minute, %.2f m off", q.JoltsPerMin, q.HitchesPerMin, q.ViewErrorP95)
	}
}
