package gametest_test

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netsim"
	"meanwhile/server"
)

type citizen struct {
	Pos    geom.Vec2  `net:"pos,others=1cm"`
	Yaw    geom.Angle `net:"angle,8bit"`
	Health int        `net:"int,0..100"`
	Trade  uint8      `net:"enum,none|smith|baker|guard"`
	Name   string     `net:"text,12,ref"`
}

var (
	citizens = game.NewKind[citizen]("citizen")
	city     = game.Definition[struct{}]{
		Name: "city", Rate: 10, Send: 5, See: 250, Kinds: game.Kinds(citizens),
		Join: func(w *game.World, name string) game.ID {
			for i := range 260 {
				if citizens.Len(w) > 260 {
					break
				}
				r := geom.NewRand(7, uint64(i))
				citizens.Spawn(w, citizen{Pos: r.Dir().Mul(10 + float64(i)/2), Health: 60 + i%40,
					Trade: uint8(i % 4), Name: fmt.Sprint("citizen ", i)})
			}
			return citizens.Spawn(w, citizen{Health: 100, Name: name})
		},
		Act: func(w *game.World, me game.ID, c struct{}) {},
		Step: func(w *game.World) {
			for id, c := range citizens.All(w) {
				if id%2 == 0 && c.Name[0] == 'c' { // half of them walk
					r := geom.NewRand(uint64(id), uint64(w.Tick())/30)
					way := r.Dir()
					c.Yaw, c.Pos = way.Angle(), c.Pos.Add(way.Mul(1.4*w.Dt()))
				}
			}
		},
	}
)

// A player who joins a crowd of 250 at 13 kbit/s, with overhead and with walkers, sees the nearest
// first, 90 % within seconds, and all in the end, each with all of its properties.
//
// seeds: R47
func TestEntryIntoACrowd(t *testing.T) {
	rules, err := city.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sim, err := gametest.NewSim(rules, 5, server.Config{Budget: 13000 / 8})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Join("ann", netsim.HotelWiFi, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, whole, most := 0, 0, 0.0
	var half, ninety time.Duration
	for step := range 600 {
		sim.Run(100 * time.Millisecond)
		if p.Client == nil {
			continue
		}
		now := time.Duration(step) * 100 * time.Millisecond
		n := 0
		whole = 0
		p.Client.Draw(nil, func(e *client.Entity) {
			if n++; e.Vals[3] != 0 { // nobody's health
				whole++
			}
			if !e.Mine && half == 0 {
				most = max(most, geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}.Len())
			}
		})
		all = max(all, n)
		if half == 0 && n >= 125 {
			half = now
		}
		if ninety == 0 && n >= 225 {
			ninety = now
		}
	}
	t.Logf("half of 250 after %v, none of them further than %.0f m; 90 %% after %v; %d in the end", half, most, ninety,
		all)
	if whole < all {
		t.Errorf("of %d of %d the health never came", all-whole, all)
	}
	if all < 250 || half == 0 || half > 3*time.Second || ninety > 8*time.Second || most > 110 {
		t.Error("want half within 3 s, 90 % within 8 s, and all")
	}
	golden.Quoted(t, "../docs/results/records.md",
		fmt.Sprintf("shown after %.1f s, the nearest first, 90 %% after %.1f s", half.Seconds(), ninety.Seconds()))
	if err := sim.Diverged(); err != nil {
		t.Error(err)
	}
}
