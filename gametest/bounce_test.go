package gametest_test

import (
	"math"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A ball bounces up to 80 cm in 0.8 s. Clients draw it between the two records around each moment,
// so they draw the whole path at 20 records a second, with its peaks and its bounces, on a path
// that loses and delays records. Two newest records alone, or the wrong pair, would cut them off.
//
// seeds: B10
func TestBouncesAreDrawnWhole(t *testing.T) {
	type ball struct {
		Pos geom.Vec2 `net:"pos,1cm"` // the height is Y
	}
	type eye struct {
		Pos geom.Vec2 `net:"pos,1cm"`
	}
	height := func(tick float64) float64 {
		s := math.Mod(tick/60, 0.8) // 4 m/s upwards against 10 m/s^2
		return float64(4*s) - float64(5*s*s)
	}
	balls, eyes := game.NewKind[ball]("ball"), game.NewKind[eye]("eye")
	def := game.Definition[struct{}]{
		Name: "bounce", Rate: 60, Send: 20, Kinds: game.Kinds(balls, eyes),
		Join: func(w *game.World, name string) game.ID {
			balls.Spawn(w, ball{})
			return eyes.Spawn(w, eye{})
		},
		Act: func(w *game.World, me game.ID, c struct{}) {},
		Referee: func(w *game.World) {
			for _, b := range balls.All(w) {
				b.Pos = geom.Vec2{X: float64(w.Tick()) / 60, Y: height(float64(w.Tick()))}
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sim, err := gametest.NewSim(rules, 4, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Join("ann", netsim.HotelWiFi, nil)
	if err != nil {
		t.Fatal(err)
	}
	frames, far, worst := 0, 0, 0.0
	peaks := map[int]float64{} // highest drawn place of each bounce
	var vals []float64
	p.OnFrame = func() {
		if sim.Loop.Now() < clock.Time(10*time.Second) {
			return
		}
		vals = p.Client.Draw(vals, func(e *client.Entity) {
			drawn, _ := p.Client.TimeOf(e.Replica)
			if e.Mine || e.Kind != 0 || e.Replica.Groups[0].Newest().Tick.Frac() < drawn {
				return // nothing newer has arrived
			}
			tick := float64(drawn) / clock.FracPerTick
			frames++
			off := math.Abs(e.Vals[1] - height(tick))
			if worst = max(worst, off); off > 0.02 { // near a bounce, where the path has an edge between two records
				far++
			}
			bounce := int(tick / 48)
			peaks[bounce] = max(peaks[bounce], e.Vals[1])
		})
	}
	sim.Run(40 * time.Second)
	low := 1.0 // the lowest peak
	for _, high := range peaks {
		low = min(low, high)
	}
	t.Logf("%d frames, %d further than 2 cm off, %.1f cm at most; the lowest of %d peaks %.1f cm",
		frames, far, 100*worst, len(peaks), 100*low)
	if frames < 1500 || far > frames/15 || worst > 0.12 || low < 0.79 {
		t.Error("want 1500 frames, one in 15 further than 2 cm off, 12 cm at most, and peaks above 79 cm")
	}
}
