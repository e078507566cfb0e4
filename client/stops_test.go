package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
)

// A thing that goes and stops, alone in its world on a long path without jitter, teaches the
// playout delay nothing: neither the silence at rest, nor the time before it can be announced, in
// which the last record is not acknowledged yet.
//
// seeds: R44
func TestStopsTeachNothing(t *testing.T) {
	sleds := game.NewKind[sled]("sled")
	var s game.ID
	def := game.Definition[riderCmd]{
		Name: "stops", Rate: 60, Send: 20, Kinds: game.Kinds(sleds),
		Join: func(w *game.World, name string) game.ID {
			s = sleds.Spawn(w, sled{})
			return sleds.Spawn(w, sled{Pos: geom.Vec2{X: 50}})
		},
		Act: func(w *game.World, me game.ID, c riderCmd) {},
		Referee: func(w *game.World) {
			if w.Tick()%240 < 90 {
				sleds.Get(w, s).Pos.X += 4 * w.Dt()
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newDuo(t, rules)
	p := d.join(150*ms, Config{})
	p.play = func() []int64 { return []int64{0} }
	for range 60 {
		d.run(time.Second)
		// two intervals and 30 ms are what a clock starts with
		if st := p.c.Stats(); st.DelayTarget > 140*time.Millisecond {
			t.Fatalf("a delay of %v on a path without jitter", st.DelayTarget)
		}
	}
	st := p.c.Stats()
	if st.DelayTarget > 75*time.Millisecond {
		t.Errorf("a delay of %v, at 20 packets a second without jitter", st.DelayTarget)
	}
	if st.Hitches > 0 || st.EntityHitches > 0 {
		t.Errorf("%d hitches, %d of one thing", st.Hitches, st.EntityHitches)
	}
}
