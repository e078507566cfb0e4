package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// Each entity says what the page shows of how it is drawn: a teleport in the frame in which it
// shows and no other, that it stands still as nothing arrives, and never that of one that rests or
// is interpolated.
//
// seeds: B13
func TestEntitySaysHowItIsDrawn(t *testing.T) {
	sleds := game.NewKind[sled]("sled")
	var mover game.ID
	def := game.Definition[riderCmd]{
		Name: "cuts", Rate: 60, Kinds: game.Kinds(sleds),
		Join: func(w *game.World, name string) game.ID {
			if mover == 0 {
				mover = sleds.Spawn(w, sled{})
				sleds.Spawn(w, sled{Pos: geom.Vec2{Y: 9}}) // it rests
			}
			return sleds.Spawn(w, sled{Pos: geom.Vec2{X: 50}})
		},
		Act: func(w *game.World, me game.ID, c riderCmd) {},
		Referee: func(w *game.World) {
			p := sleds.Get(w, mover)
			if p.Pos.X += 3 * w.Dt(); w.Tick()%50 == 0 {
				p.Pos.X -= 2.5
				w.Cut(mover)
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, interpolate := range []bool{true, false} {
		mover = 0
		d := newDuo(t, rules)
		p := d.join(40*ms, Config{NoInterpolation: !interpolate})
		p.play = func() []int64 { return []int64{0} }
		d.run(3 * time.Second)
		x, jumps, cuts, stalled := 0.0, 0, 0, 0
		p.frame = func() {
			p.c.Draw(nil, func(e *Entity) {
				switch {
				case e.ID != mover:
					if e.Cut() || e.Stalled() || e.Late() != 0 {
						t.Errorf("entity %d, which rests: teleported %v, stalled %v, late %v", e.ID, e.Cut(),
							e.Stalled(), e.Late())
					}
				case !e.Has(0):
					t.Error("nothing is known of it")
				default:
					jump := e.Vals[0] < x-1
					if jump != e.Cut() {
						t.Errorf("drawn at %.2f after %.2f: teleported %v", e.Vals[0], x, e.Cut())
					}
					if x = e.Vals[0]; jump {
						jumps++
					}
					if e.Cut() {
						cuts++
					}
					if e.Stalled() {
						stalled++
					}
				}
			})
			p.c.Drawn()
		}
		x = -1e9
		d.run(20 * time.Millisecond)
		jumps, cuts, stalled = 0, 0, 0
		d.run(10 * time.Second)
		if jumps < 11 || cuts != jumps || stalled != 0 {
			t.Errorf("interpolation %v: %d jumps, %d flagged; stalled in %d frames", interpolate, jumps, cuts, stalled)
		}
		p.path = func(up bool) []clock.Time { return nil }
		d.run(700 * time.Millisecond)
		if (stalled > 10) != interpolate {
			t.Errorf("interpolation %v: stalled in %d frames while nothing arrives", interpolate, stalled)
		}
	}
}
