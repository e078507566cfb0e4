package game_test

import (
	"fmt"
	"math"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/server"
)

type Ferry struct {
	Pos  geom.Vec2  `net:"pos"`
	Head geom.Angle `net:"angle"`
}

type Whale struct {
	Pos  geom.Vec3 `net:"pos"`
	Turn geom.Quat `net:"quat"`
}

type Rider struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec3 `net:"pos"`
}

var (
	Ferries = game.NewKind[Ferry]("ferry")
	Whales  = game.NewKind[Whale]("whale")
	Riders  = game.NewKind[Rider]("rider")
)

func aboard(board func(w *game.World, me game.ID)) *game.Definition[Walk] {
	return &game.Definition[Walk]{
		Name: "aboard", Kinds: game.Kinds(Ferries, Whales, Riders),
		Join: func(w *game.World, name string) game.ID { return Riders.Spawn(w, Rider{}) },
		Act:  func(w *game.World, me game.ID, c Walk) { board(w, me) },
	}
}

// A rider stands two metres before the middle of a ferry that heads along Y.
func ExampleWorld_On() {
	def := aboard(nil)
	def.Join = func(w *game.World, name string) game.ID {
		ferry := Ferries.Spawn(w, Ferry{Pos: geom.Vec2{X: 100, Y: 50}, Head: math.Pi / 2})
		return Riders.Spawn(w, Rider{On: ferry, Pos: geom.Vec3{X: 2}})
	}
	rules, err := def.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	srv, err := server.New(rules, server.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, _, err := srv.Connect(0, "ann"); err != nil {
		fmt.Println(err)
		return
	}
	srv.Begin(0) // the first tick, in which ann joins
	w := srv.World()
	for _, r := range Riders.All(w) {
		at, ok := w.On(r.On, r.Pos)
		fmt.Printf("%.2f %.2f, %v\n", at.X, at.Y, ok)
	}
	// Output: 100.00 52.00, true
}

func TestOn(t *testing.T) {
	rules, err := aboard(func(w *game.World, me game.ID) {
		half := math.Sqrt(0.5)
		at := geom.Vec3{X: 1, Y: 2, Z: 3}
		car := Ferries.Spawn(w, Ferry{Pos: geom.Vec2{X: 10, Y: 20}, Head: math.Pi / 2})
		side := Whales.Spawn(w, Whale{geom.Vec3{X: 10, Y: 20, Z: 30}, geom.Quat{W: half, X: half}})
		on := func(parent game.ID) game.ID { return Riders.Spawn(w, Rider{parent, geom.Vec3{X: 1}}) }
		ring := on(0)
		Riders.Get(w, ring).On = ring
		for _, c := range []struct {
			name   string
			parent game.ID
			want   geom.Vec3
			ok     bool
		}{
			{"the world", 0, at, true},
			{"a car that looks along Y", car, geom.Vec3{X: 8, Y: 21, Z: 3}, true},
			{"a whale on its side", side, geom.Vec3{X: 11, Y: 17, Z: 32}, true}, // about X: Y to Z, Z to -Y
			{"a rider on the car", on(car), geom.Vec3{X: 8, Y: 22, Z: 3}, true}, // X 2, Y 2, turned with the car
			{"four of them", on(on(on(0))), geom.Vec3{X: 4, Y: 2, Z: 3}, true},
			{"five of them", on(on(on(on(on(0))))), geom.Vec3{}, false},
			{"itself", ring, geom.Vec3{}, false},
			{"nothing", 99, geom.Vec3{}, false},
		} {
			got, ok := w.On(c.parent, at)
			if ok != c.ok || ok && got.Dist(c.want) > 0.0005 {
				t.Errorf("on %s: %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
			}
			if _, ok := w.SeenOn(me, c.parent, at); ok != (c.parent == 0) {
				t.Errorf("on %s: seen by who sees nothing: %v", c.name, ok)
			}
		}
		if n := testing.AllocsPerRun(20, func() { w.On(side, at) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}).Rules()
	if err != nil {
		t.Fatal(err)
	}
	e := engine.NewServer(rules, 1, 2)
	me, err := e.Join("ann", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Act(me, make([]int64, rules.Command.Sims), nil, false); err != nil {
		t.Fatal(err)
	}
}
