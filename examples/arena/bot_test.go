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

// On every level each goal can be reached from wherever a player can stand, and its field holds the
// distance.
func TestFields(t *testing.T) {
	for _, l := range levels {
		heights := &l.chart().heights
		for i := range l.ways.goals {
			g := &l.ways.goals[i]
			if h := heights[cellAt(g.at.XY())]; h != g.at.Z {
				t.Errorf("%s: goal %d at %v is in a cell of height %v", l.name, i, g.at, h)
			}
			for c := range heights {
				if heights[c] != farAway && g.far()[c] >= farAway {
					t.Fatalf("%s: nobody gets from %v to goal %d at %v", l.name, center(c), i, g.at)
				}
			}
			if g.far()[cellAt(g.at.XY())] != 0 {
				t.Errorf("%s: goal %d is %d away from itself", l.name, i, g.far()[cellAt(g.at.XY())])
			}
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
	for _, l := range levels {
		w, flat := l.chart(), l.flat()
		for i := range w.goals {
			g, rng := &w.goals[i], geom.NewRand(uint64(i))
			for range starts {
				c := rng.IntN(cells)
				for w.heights[c] != 0 {
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
					t.Errorf("%s: from %v to goal %d at %v: after %d ticks at %v", l.name, center(c), i, g.at, n, p.Pos)
				}
			}
		}
	}
}

// A bot that runs straight along an edge of a low wall jumps onto it, or slides off its corner.
func TestBotsPassEdges(t *testing.T) {
	ways := 0
	for _, l := range levels {
		flat := l.flat()
		for i := range l.boxes {
			b := l.boxes[i].Floor()
			for _, c := range [][2]geom.Vec2{
				{{X: b.Min.X, Y: b.Min.Y - 1.5}, {X: b.Min.X, Y: b.Max.Y + 1.5}},
				{{X: b.Max.X, Y: b.Min.Y - 1.5}, {X: b.Max.X, Y: b.Max.Y + 1.5}},
				{{X: b.Min.X - 1.5, Y: b.Min.Y}, {X: b.Max.X + 1.5, Y: b.Min.Y}},
				{{X: b.Min.X - 1.5, Y: b.Max.Y}, {X: b.Max.X + 1.5, Y: b.Max.Y}},
			} {
				for _, off := range [...]float64{-0.1, -hair, -hair / 8, 0, hair / 8, hair, 0.1} {
					for n, from := range c {
						to := c[1-n]
						from, to = from.Add(geom.Vec2{X: off, Y: off}), to.Add(geom.Vec2{X: off, Y: off})
						if l.boxes[i].Max.Z > climbable || !field.Contains(from) || !field.Contains(to) ||
							flat.floorAt(from, high, Radius) > 0 || !l.passable(from, to, 0) {
							continue
						}
						ways++
						p := &Player{Pos: from.At(0), Alive: true}
						for n := range int((from.Dist(to)/RunSpeed*1.5 + 1) * Rate) {
							move := toward(p.Pos.XY(), to)
							walk(&flat, p, Cmd{Move: move, Jump: jumps(&flat, p, move)}, game.Tick(n+1), dt)
						}
						if p.Pos.XY().Dist(to) > 1 {
							t.Errorf("%s: from %v to %v a bot gets to %v", l.name, from, to, p.Pos)
						}
					}
				}
			}
		}
	}
	if ways < 1000 {
		t.Errorf("%d ways were run", ways)
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

// A bout is what a match of bots had, over all players.
type bout struct {
	fired                      [endOfWeapons]int
	hits, deaths, score, rides int
	all, still, air, crouched  int     // ticks of living players
	metres                     float64 // that they ran
	least                      float64 // that one of them ran
	worst                      int     // deaths of one player
}

// playBots lets bots play on a level, and counts.
func playBots(t *testing.T, seed uint64, n, level, skill int, span time.Duration) (b bout) {
	s, _, _ := staged(t, seed, func(w *game.World) {
		for _, r := range Rounds.All(w) {
			if r.Skill = skill; r.Map != level {
				again(w, r, level)
			}
		}
	}, func(*game.World, game.ID, Cmd) string { return "" })
	for i := range n {
		if _, err := s.Join(fmt.Sprint("bot", i), netsim.Fiber, s.Rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	s.Run(5 * time.Second)
	was, health, ran := map[game.ID]geom.Vec3{}, map[game.ID]int{}, map[game.ID]float64{}
	for range int(span * Rate / time.Second) {
		s.Run(time.Second / Rate)
		w := s.Server.World()
		for id, p := range Players.All(w) {
			if p.Health < health[id] {
				b.hits += (health[id] - p.Health + Damage - 1) / Damage // a rocket counts as several
			}
			health[id] = p.Health
			at := place(w, p)
			if step := at.XY().Dist(was[id].XY()); step < 1 {
				ran[id] += step
			}
			was[id] = at
			if !p.Alive {
				continue
			}
			b.all++
			if p.Doing == Idle && p.Ready == s.Server.Tick()+armoury[p.Weapon].cooldown {
				b.fired[p.Weapon]++
			}
			if p.On != 0 {
				b.rides++
			} else if p.Vel.Len() < 0.2 {
				b.still++
			}
			if g := levels[level].flat(); p.On == 0 && !g.carries(p) {
				b.air++
			}
			if p.Crouch {
				b.crouched++
			}
		}
	}
	b.least = float64(Width * Depth)
	for id, p := range Players.All(s.Server.World()) {
		b.score, b.deaths, b.worst = b.score+p.Score, b.deaths+p.Deaths, max(b.worst, p.Deaths)
		b.metres, b.least = b.metres+ran[id], min(b.least, ran[id])
	}
	return b
}

// Bots are worth fighting, on every level: they find each other, hit and miss, die and come back,
// run about and are rarely stuck, and all of them play.
func TestBotsFight(t *testing.T) {
	t.Parallel()
	for n, l := range levels {
		const bots, span = 10, 40
		b := playBots(t, 9, bots, n, Regular, span*time.Second)
		rate, speed := float64(b.hits)/float64(b.fired[Rifle]+b.fired[Launcher]), b.metres/(bots*span)
		t.Logf("%s: %d shots and %d rockets, %d hits, %d deaths, at most %d; %.1f m/s, at least %.1f; "+
			"of %d ticks standing %d, in the air %d, crouched %d, riding %d",
			l.name, b.fired[Rifle], b.fired[Launcher], b.hits, b.deaths, b.worst, speed, b.least/span,
			b.all, b.still, b.air, b.crouched, b.rides)
		// A few die of their own rockets, which is nobody's score.
		if b.score > b.deaths || b.score < b.deaths*9/10 || b.deaths < 8 || b.worst > 15 || rate < 0.1 || rate > 0.6 {
			t.Errorf("%s: score %d, deaths %d, %d of one; %.2f of the shots hit", l.name, b.score, b.deaths, b.worst, rate)
		}
		if b.still > b.all/20 || b.air < b.all/50 || b.air > b.all/3 || b.crouched == 0 || b.fired[Launcher] < 20 ||
			b.fired[Rifle] < 300 || speed < 2.5 || b.least/span < 1.5 {
			t.Errorf("%s: they stand still, do not run or do not shoot", l.name)
		}
	}
}

// Bots of more skill hit more often.
func TestBotsHaveSkill(t *testing.T) {
	t.Parallel()
	var hits [3]int
	for _, skill := range []int{Novice, Regular, Expert} {
		b := playBots(t, 3, 8, 0, skill, 40*time.Second)
		hits[skill] = b.hits
		t.Logf("skill %d: %d shots, %d hits, %d deaths", skill, b.fired[Rifle], b.hits, b.deaths)
	}
	if hits[Regular]*10 < 13*hits[Novice] || hits[Expert]*10 < 13*hits[Regular] {
		t.Errorf("hits by skill: %d", hits)
	}
}

// Bots who have nothing better to do go to a platform and ride it.
func TestBotsRide(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		b := playBots(t, 5, 1, n, Regular, 120*time.Second)
		t.Logf("%s: riding %d of %d ticks, standing %d", levels[n].name, b.rides, b.all, b.still)
		if b.rides < 2*Rate || b.still > b.all/10 {
			t.Errorf("%s: of %d ticks it rides for %d, and stands still for %d", levels[n].name, b.all, b.rides, b.still)
		}
	}
}
