package arena

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

// Every goal can be reached from wherever a player can stand, and its field holds the distance.
func TestFields(t *testing.T) {
	for i := range goals {
		g := &goals[i]
		if h := heights[cellAt(g.at.XY())]; h != g.at.Z {
			t.Errorf("goal %d at %v is in a cell of height %v", i, g.at, h)
		}
		for c := range heights {
			if heights[c] != farAway && g.far[c] >= farAway {
				t.Fatalf("nobody gets from %v to goal %d at %v", center(c), i, g.at)
			}
		}
		if g.far[cellAt(g.at.XY())] != 0 {
			t.Errorf("goal %d is %d away from itself", i, g.far[cellAt(g.at.XY())])
		}
	}
}

// A bot that follows a field gets to its goal from anywhere, with jumps where they are needed, at a
// good speed.
func TestWays(t *testing.T) {
	starts := 4
	if testing.Short() {
		starts = 1
	}
	for i := range goals {
		g, rng := &goals[i], geom.NewRand(uint64(i))
		for range starts {
			c := rng.IntN(cells)
			for heights[c] != 0 {
				c = rng.IntN(cells)
			}
			p := &Player{Pos: center(c).At(0), Alive: true}
			most := int((g.from(p.Pos.XY())/RunSpeed*1.5 + 1.5) * Rate)
			n := 0
			for ; p.Pos.Dist(g.at) > Grasp && n <= most; n++ {
				move := g.way(p.Pos.XY(), p.Pos.Z)
				walk(&flat, p, Cmd{Move: move, Jump: move != (geom.Vec2{}) && jumps(&flat, p, move)}, game.Tick(n+1), dt)
			}
			if n > most {
				t.Errorf("from %v to goal %d at %v: after %d ticks at %v", center(c), i, g.at, n, p.Pos)
			}
		}
	}
}

// crowd is a match of n bots, all on the same network.
func crowd(t testing.TB, seed uint64, n int, p netsim.Profile) *gametest.Sim {
	t.Helper()
	rules, err := Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := s.Join(fmt.Sprint("bot", i), p, rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A hurt bot goes for a health pack, a bot without rounds for ammunition, on the ground and on a
// tower.
func TestBotsReachPacks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		s := crowd(t, seed+1, 1, netsim.LAN)
		s.Run(time.Second)
		p := func() *Player { return Players.Get(s.Server.World(), s.Players()[0].Me()) }
		if p().Alive == false {
			t.Fatal("it is not there")
		}
		p().Health = 20
		for range 20 {
			if s.Run(time.Second); p().Health > 20 {
				break
			}
		}
		if p().Health != 20+HealthInPack {
			t.Errorf("seed %d: its health is %d, at %v", seed, p().Health, p().Pos)
		}
		p().Ammo, p().Spare, p().Rockets, p().Crate = 3, 0, 0, 0
		for range 20 {
			if s.Run(time.Second); p().Ammo+p().Spare > 3 {
				break
			}
		}
		if p().Ammo+p().Spare < 3+armoury[Rifle].pack {
			t.Errorf("seed %d: it has %d and %d rounds, at %v", seed, p().Ammo, p().Spare, p().Pos)
		}
	}
}

// Bots are worth fighting: they find each other, hit and miss, die and come back, and are rarely
// stuck.
func TestBotsFight(t *testing.T) {
	t.Parallel()
	s := crowd(t, 9, 10, netsim.Fiber)
	s.Run(5 * time.Second)
	hits, still, air, crouched, all := 0, 0, 0, 0, 0
	var fired [endOfWeapons]int
	health := map[game.ID]int{}
	for range 40 * Rate {
		s.Run(time.Second / Rate)
		for id, p := range Players.All(s.Server.World()) {
			if p.Health < health[id] {
				hits += (health[id] - p.Health + Damage - 1) / Damage // a rocket counts as several
			}
			health[id] = p.Health
			if !p.Alive {
				continue
			}
			all++
			if p.Doing == Idle && p.Ready == s.Server.Tick()+armoury[p.Weapon].cooldown {
				fired[p.Weapon]++
			}
			if p.Vel.Len() < 0.2 {
				still++
			}
			if !flat.carries(p) {
				air++
			}
			if p.Crouch {
				crouched++
			}
		}
	}
	score, deaths := 0, 0
	for id, p := range Players.All(s.Server.World()) {
		score, deaths = score+p.Score, deaths+p.Deaths
		if p.Deaths > 15 {
			t.Errorf("player %d died %d times", id, p.Deaths)
		}
	}
	rate := float64(hits) / float64(fired[Rifle]+fired[Launcher])
	t.Logf(
		"%d shots and %d rockets, %d hits, %d deaths; standing %d, in the air %d, crouched %d of %d",
		fired[Rifle],
		fired[Launcher],
		hits,
		deaths,
		still,
		air,
		crouched,
		all,
	)
	// A few die of their own rockets, which is nobody's score.
	if score > deaths || score < deaths*9/10 || deaths < 8 || rate < 0.1 || rate > 0.6 || still > all/20 ||
		air < all/50 || air > all/3 || crouched == 0 || fired[Launcher] < 20 || fired[Rifle] < 300 {
		t.Errorf("score %d, deaths %d, %.2f of the shots hit", score, deaths, rate)
	}
}
