package recipes

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// Two teams walk towards each other: a client knows nobody of the other team before they are in sight of each other,
// and both once they are.
func TestFogHides(t *testing.T) {
	east := func(w *game.World, me game.ID) Cmd { return Cmd{Move: geom.Vec2{X: 1}} }
	stay := func(w *game.World, me game.ID) Cmd { return Cmd{} }
	m := gametest.New(t, &Fog, 3)
	ann, ben := m.Join("ann", netsim.LAN, east), m.Join("ben", netsim.LAN, stay)
	between := func() float64 {
		w := m.Server()
		return Scouts.Get(w, ann.Me()).Pos.Dist(Scouts.Get(w, ben.Me()).Pos)
	}
	apart, met := 0, 0
	ann.OnFrame = func() {
		if ann.Me() == 0 || ben.Me() == 0 {
			return
		}
		switch known, d := Scouts.Has(ann.Client.World(), ben.Me()), between(); {
		case d > Sight+1 && known:
			t.Fatalf("known at %.1f m", d)
		case d > Sight+1:
			apart++
		case d < Sight-3 && known:
			met++
		case d < Sight-3:
			t.Fatalf("not known at %.1f m", d)
		}
	}
	m.Run(12 * time.Second)
	if apart == 0 || met == 0 {
		t.Errorf("%d frames apart, %d in sight of each other", apart, met)
	}
}
