package steps

import (
	"testing"
	"time"

	"meanwhile/examples/steps/step1"
	"meanwhile/examples/steps/step2"
	"meanwhile/examples/steps/step3"
	"meanwhile/examples/steps/step4"
	"meanwhile/examples/steps/step5"
	"meanwhile/examples/steps/step6"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// round walks in circles, as a hand at the keys would.
func round(w *game.World) geom.Vec2 { return geom.Angle(float64(w.Tick()%90) * 0.07).Dir() }

// play runs a match of a step on bad networks: nobody is corrected without another player's doing.
func play[C any](t *testing.T, def *game.Definition[C], bot func(w *game.World, me game.ID) C) {
	t.Run(def.Name, func(t *testing.T) {
		m := gametest.New(t, def, 7)
		m.Join("ann", netsim.HotelWiFi, bot)
		m.Join("ben", netsim.TrainLTE, bot)
		m.Join("cy", netsim.Ocean, bot)
		m.Run(20 * time.Second)
		if q := m.Quality(); q.CleanMispredictions > 0 || q.HitchesPerMin > 6 {
			t.Errorf("not playable:\n%s", q)
		}
	})
}

func TestSteps(t *testing.T) {
	play(t, &step1.Game, func(w *game.World, me game.ID) step1.Cmd { return step1.Cmd{Move: round(w)} })
	play(t, &step2.Game, func(w *game.World, me game.ID) step2.Cmd { return step2.Cmd{Move: round(w)} })
	play(t, &step3.Game, func(w *game.World, me game.ID) step3.Cmd { return step3.Cmd{Move: round(w)} })
	play(t, &step4.Game, func(w *game.World, me game.ID) step4.Cmd {
		return step4.Cmd{Move: round(w), Fire: w.Tick()%20 == 0}
	})
	play(t, &step5.Game, step5.Bot)
	play(t, &step6.Game, step6.Bot)
}
