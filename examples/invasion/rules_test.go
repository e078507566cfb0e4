package invasion

import (
	"slices"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// meddled is the game with a server that also does what a test wants, after all commands of a tick
// and before the referee. No herds arrive.
func meddled(meddle func(w *game.World)) *game.Definition[Cmd] {
	def := Game
	def.Referee = func(w *game.World) {
		if w.Tick() == 1 {
			for i := range Sites {
				Beacons.Spawn(w, Beacon{Site: i, Charge: MaxCharge})
			}
		}
		meddle(w)
		fight(w)
	}
	return &def
}

// the returns the only entity of a kind, and its ID.
func the[T any](w *game.World, k game.Kind[T]) (game.ID, *T) {
	for id, v := range k.All(w) {
		return id, v
	}
	return 0, new(T)
}

func idle(*game.World, game.ID) Cmd { return Cmd{} }

// A strike hits what is ahead and within reach, once for each cooldown; a blast hits all around.
// What has no health left is gone, and counts.
func TestStrikeAndBlast(t *testing.T) {
	t.Parallel()
	brute := func(at geom.Vec2) Creature { return Creature{Pos: at, Breed: brute, Health: 7, Site: 8} }
	places := []geom.Vec2{{X: 2}, {X: -2}, {X: 3.2}, {X: 0.5, Y: 2.3}, {Y: 6.5}, {Y: -8}, {X: 1}}
	for _, c := range []struct {
		name   string
		cmd    Cmd
		health []int // of those at places; -1: gone
	}{
		{"nothing", Cmd{}, []int{7, 7, 7, 7, 7, 7, 1}},
		{"strike", Cmd{Strike: true}, []int{5, 7, 7, 7, 7, 7, -1}},
		{"strike up", Cmd{Strike: true, Aim: geom.Vec2{Y: 1}.Angle()}, []int{7, 7, 7, 5, 7, 7, 1}},
		{"blast", Cmd{Blast: true}, []int{4, 4, 4, 4, 4, 7, -1}},
	} {
		const from, ticks = 60, strikeAfter + 2 // a strike at once, and one more
		var ids []game.ID
		var home geom.Vec2
		got, kills := []int{}, 0
		m := gametest.New(t, meddled(func(w *game.World) {
			_, p := the(w, Players)
			switch tick := w.Tick(); {
			case tick == from-10:
				home = p.Pos
				for _, way := range places {
					ids = append(ids, Creatures.Spawn(w, brute(home.Add(way))))
				}
				Creatures.Get(w, ids[len(ids)-1]).Health = 1
			case tick >= from+ticks && len(got) == 0:
				kills = p.Kills
				for _, id := range ids {
					if got = append(got, -1); Creatures.Has(w, id) {
						got[len(got)-1] = Creatures.Get(w, id).Health
					}
				}
			}
			for i, id := range ids { // all stand still
				Creatures.Get(w, id).Pos = home.Add(places[i])
			}
		}), 1)
		m.Join("ann", netsim.LAN, func(w *game.World, _ game.ID) Cmd {
			if w.Tick() >= from && w.Tick() < from+ticks {
				return c.cmd
			}
			return Cmd{}
		})
		m.Run(5 * time.Second)
		gone := slices.Contains(c.health, -1)
		if !slices.Equal(got, c.health) || gone != (kills == 1) {
			t.Errorf("%s: creatures have %v, want %v; %d kills", c.name, got, c.health, kills)
		}
	}
}

// A creature runs to the player that it notices and bites; who has no health left lies there,
// stands up at its beacon later and runs on.
func TestBiteAndRespawn(t *testing.T) {
	t.Parallel()
	var fell, back game.Tick
	var moved float64
	var before geom.Vec2
	m := gametest.New(t, meddled(func(w *game.World) {
		_, p := the(w, Players)
		switch tick := w.Tick(); {
		case tick == 60:
			p.Pos = Sites[0].Add(geom.Vec2{X: 100})
			for i := range 8 {
				Creatures.Spawn(w, Creature{Pos: p.Pos.Add(geom.Vec2{X: 10, Y: float64(i)}), Breed: hound, Health: 3, Site: 8})
			}
		case fell == 0 && tick > 60 && p.Health == 0:
			fell, before = tick, p.Pos
		case fell != 0 && back == 0 && p.Health == 0:
			moved = max(moved, p.Pos.Dist(before))
		case fell != 0 && back == 0:
			back = tick
			if p.Pos.Dist(Sites[p.Home]) > homeRadius+1 {
				t.Errorf("stood up at %v, %v from its beacon", p.Pos, p.Pos.Dist(Sites[p.Home]))
			}
		}
	}), 1)
	m.Join("ann", netsim.LAN, func(*game.World, game.ID) Cmd { return Cmd{Move: geom.Vec2{Y: 0.05}} })
	m.Run(15 * time.Second)
	if fell == 0 || back != fell+respawnAfter || moved > 0 {
		t.Errorf("fell at %d, moved %v m meanwhile, stood up at %d", fell, moved, back)
	}
}

// Creatures that see nobody go to their beacon, keep a little apart, and gnaw until it is dark;
// players near it charge it again.
func TestBeacon(t *testing.T) {
	t.Parallel()
	site, dark, foes := 3, game.Tick(0), 0
	closest := 99.0
	falls := 0
	m := gametest.New(t, meddled(func(w *game.World) {
		var beacon *Beacon
		for _, b := range Beacons.All(w) {
			if b.Site == site {
				beacon = b
			}
		}
		_, p := the(w, Players)
		switch tick := w.Tick(); {
		case tick == 40:
			beacon.Charge = 30
			for i := range 40 {
				at := Sites[site].Add(geom.Vec2{X: 20 + float64(i%5), Y: float64(i / 5)})
				Creatures.Spawn(w, Creature{Pos: at, Breed: hound, Health: 3, Site: site})
			}
		case tick > 400 && dark == 0:
			foes = beacon.Foes
			if beacon.Charge == 0 {
				dark = tick
				for _, c := range Creatures.All(w) {
					for _, o := range Creatures.All(w) {
						if d := c.Pos.Dist(o.Pos); c != o && d < closest {
							closest = d
						}
					}
				}
				for id := range Creatures.All(w) {
					w.Despawn(id)
				}
			}
		case dark != 0:
			p.Pos = Sites[site]
		}
	}), 1)
	m.Join("ann", netsim.LAN, idle).OnEvent = func(*client.Event) { falls++ }
	m.Run(40 * time.Second)
	_, p := the(m.Server(), Players)
	charge := 0
	for _, b := range Beacons.All(m.Server()) {
		if b.Site == site {
			charge = b.Charge
		}
	}
	if dark == 0 || foes != 4 || charge == 0 || closest < 0.3 {
		t.Errorf(
			"dark at %d with %d tens of foes, %.2f m apart; charged to %d by %v; %d falls",
			dark,
			foes,
			closest,
			charge,
			p.Pos,
			falls,
		)
	}
}

// There are ten creatures for each player, within bounds, and they come in herds around all
// beacons.
func TestHerds(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, &Game, 3)
	m.Join("ann", netsim.LAN, idle)
	m.Run(20 * time.Second)
	var sites [len(Sites)]int
	var kinds [len(breeds)]int
	for _, c := range Creatures.All(m.Server()) {
		sites[c.Site]++
		kinds[c.Breed]++
		if d := c.Pos.Dist(Sites[c.Site]); d > herdFar+herdWide {
			t.Errorf("a creature is %v m from its beacon", d)
		}
	}
	if n := Creatures.Len(m.Server()); n != LeastCreatures || slices.Min(sites[:]) < 30 {
		t.Errorf("%d creatures at the beacons: %v", n, sites)
	}
	if kinds[crawler] < kinds[hound] || kinds[hound] < kinds[brute] || kinds[brute] == 0 {
		t.Errorf("breeds: %v", kinds)
	}
}

// near finds exactly what a look at all finds.
func TestCrowdNear(t *testing.T) {
	r := geom.NewRand(1)
	for _, cell := range []float64{2.6, 16} {
		c := crowd{cell: cell}
		for range 3 {
			c.reset()
			for range 2000 {
				c.add(r.Disc(100))
			}
			for range 50 {
				at, reach := r.Disc(110), r.Range(0, 30)
				var got, want []int
				c.near(at, reach, func(i int, _ geom.Vec2) { got = append(got, i) })
				for i, p := range c.at {
					if p.Sub(at).Len2() <= reach*reach {
						want = append(want, i)
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Fatalf("cells of %v m, %v m around %v: %d found, want %d", cell, reach, at, len(got), len(want))
				}
			}
		}
	}
}
