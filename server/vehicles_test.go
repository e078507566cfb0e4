package server

import (
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
)

type bus struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

type rider struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec2 `net:"pos,others=1cm"`
}

var (
	buses  = game.NewKind[bus]("bus")
	riders = game.NewKind[rider]("rider")
)

// A vehicle and its riders come into sight and leave it in the same tick. Of a ship with many aboard
// some may be out of sight, but nobody on it is in sight without it.
//
// seeds: R17
func TestVehiclesAndRidersComeTogether(t *testing.T) {
	const aboard, ship = 3, 60 // 60 buses with three riders each, then the ship
	type cmd struct {
		Press bool `net:"press"`
	}
	def := game.Definition[cmd]{
		Name: "buses", See: 128, Rate: 20, Send: 20, Kinds: game.Kinds(buses, riders),
		Join: func(w *game.World, name string) game.ID {
			for i := range ship {
				on := buses.Spawn(w, bus{geom.Vec2{X: float64(i) * 3}})
				for k := range aboard {
					riders.Spawn(w, rider{on, geom.Vec2{Y: float64(k) * 5}})
				}
			}
			on := buses.Spawn(w, bus{geom.Vec2{X: 500}})
			for k := range 30 { // near the middle of the world, far from the middle of their ship
				riders.Spawn(w, rider{on, geom.Vec2{X: -400 + 5*float64(k)}})
			}
			return riders.Spawn(w, rider{})
		},
		Act: func(w *game.World, me game.ID, c cmd) {},
		Step: func(w *game.World) {
			for id, b := range buses.All(w) {
				b.Pos.X += w.Rand().Range(-4, 4)
				if w.Tick()%64 == game.Tick(id%64) {
					b.Pos.X = -b.Pos.X
				}
			}
			for id, r := range riders.All(w) {
				if w.Tick()%128 == game.Tick(id%128) {
					r.Pos.Y = -r.Pos.Y
				}
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	n := &nest{t: t}
	if n.s, err = New(rules, Config{}); err != nil {
		t.Fatal(err)
	}
	p := n.connect("ann")
	player := n.s.clients[0]
	var known []int32
	was, changes := map[int32]bool{}, 0
	for range 400 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
		known = player.down.view.AppendKnown(known[:0])
		if see := n.s.rules.See + hysteresis(n.s.rules.See) + 1; len(known) > see {
			t.Fatalf("%d are in sight, more than %d", len(known), see)
		}
		riding := map[int32]int{}
		for _, i := range known {
			on := n.s.hist.At(i).On
			if on >= 0 {
				riding[on]++
				if !slices.Contains(known, on) {
					t.Fatalf("tick %d: a rider is in sight, what it is on is not", n.s.Tick())
				}
			}
			if !was[i] {
				changes++
			}
		}
		clear(was)
		for _, i := range known {
			was[i] = true
			if e := n.s.hist.At(i); n.s.hist.Kind(e).Name == "bus" && riding[i] != aboard && e.X < 350_000 && e.X > -350_000 {
				t.Fatalf("tick %d: a bus is in sight with %d of %d riders", n.s.Tick(), riding[i], aboard)
			}
		}
	}
	if changes < 300 {
		t.Errorf("only %d came into sight", changes)
	}
}
