package arena

import (
	"math"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

const dt = 1.0 / Rate

// open is a place without walls within five metres.
var open = geom.Vec2{X: 30, Y: 20}

func at(x, y, z float64) *Player {
	return &Player{Pos: geom.Vec3{X: x, Y: y, Z: z}, Alive: true, Health: MaxHealth, Gun: gunStanding}
}

// run walks n ticks of the same command and returns the highest point.
func run(p *Player, c Cmd, from game.Tick, n int) (top float64) {
	for i := range n {
		walk(&flat, p, c, from+game.Tick(i), dt)
		top = max(top, p.Pos.Z)
	}
	return top
}

func near(a, b, by float64) bool { return math.Abs(a-b) <= by }

func TestRun(t *testing.T) {
	p := at(open.X, open.Y, 0)
	right := Cmd{Move: geom.Vec2{X: 1}}
	if run(p, right, 1, 7); p.Vel.X != RunSpeed { // 60 m/s² x 7/60 s
		t.Errorf("after 7 ticks the speed is %v, want %v", p.Vel.X, RunSpeed)
	}
	x := p.Pos.X
	if run(p, right, 8, 30); !near(p.Pos.X-x, RunSpeed/2, 1e-9) {
		t.Errorf("half a second of running took it %v m far, want %v", p.Pos.X-x, RunSpeed/2)
	}
	if run(p, Cmd{}, 38, 8); p.Vel.X != 0 {
		t.Errorf("8 ticks after the stick was let go the speed is %v", p.Vel.X)
	}
	p = at(open.X, open.Y, 0)
	if run(p, Cmd{Move: geom.Vec2{X: 1}, Crouch: true}, 1, 60); p.Vel.X != CrouchSpeed || !p.Crouch {
		t.Errorf("crouching it runs at %v, want %v", p.Vel.X, CrouchSpeed)
	}
}

func TestCrouch(t *testing.T) {
	p := at(open.X, open.Y, 0)
	walk(&flat, p, Cmd{Crouch: true}, 1, dt)
	if tall(p.Crouch) != Crouching || p.Gun >= gunStanding || p.Gun <= gunCrouching {
		t.Errorf("one tick after crouching: hull %v, muzzle %v", tall(p.Crouch), p.Gun)
	}
	if run(p, Cmd{Crouch: true}, 2, 6); p.Gun != gunCrouching { // 0.44 m at 5 m/s: 5.3 ticks
		t.Errorf("the muzzle came down to %v, want %v", p.Gun, gunCrouching)
	}
	if run(p, Cmd{}, 8, 6); p.Gun != gunStanding || p.Crouch {
		t.Errorf("the muzzle came up to %v, want %v", p.Gun, gunStanding)
	}
}

func TestJump(t *testing.T) {
	// v²/2g = 6.6²/32 = 1.36 m; 2v/g = 0.825 s = 49.5 ticks.
	p := at(open.X, open.Y, 0)
	walk(&flat, p, Cmd{Jump: true}, 1, dt)
	ticks, top := 1, p.Pos.Z
	for ; !flat.carries(p); ticks++ {
		walk(&flat, p, Cmd{}, game.Tick(ticks+1), dt)
		top = max(top, p.Pos.Z)
	}
	if want := JumpSpeed * JumpSpeed / (2 * Gravity); !near(top, want, 0.002) || ticks != 50 || p.Pos.Z != 0 ||
		p.Vel.Z != 0 {
		t.Errorf("a jump led %v m high, want %v, and took %d ticks, want 50; then at %v", top, want, ticks, p.Pos.Z)
	}

	for _, c := range []struct {
		name  string
		press int // ticks before landing
		again bool
	}{{"just before landing", HopTicks - 1, true}, {"early in the air", HopTicks + 4, false}} {
		p := at(open.X, open.Y, 0)
		tops := [2]float64{}
		for i := range 90 {
			walk(&flat, p, Cmd{Jump: i == 0 || i == 50-c.press}, game.Tick(1+i), dt)
			if i >= 50 {
				tops[1] = max(tops[1], p.Pos.Z)
			}
		}
		if again := tops[1] > 1; again != c.again {
			t.Errorf("pressed again %s: jumps again: %v, want %v", c.name, again, c.again)
		}
	}
}

func TestJumpOnto(t *testing.T) {
	// The western tower (x 4 to 7, 2.2 m high) has a step (x 7 to 8.5, 1 m high) on its eastern
	// side.
	west := geom.Vec2{X: -1}
	p := at(11, 19.5, 0)
	if top := run(p, Cmd{Move: west}, 1, 120); top != 0 || !near(p.Pos.X, 8.5+Radius, 0.001) {
		t.Errorf("without a jump it stands at %v", p.Pos)
	}
	if run(p, Cmd{Move: west, Jump: true}, 121, 60); p.Pos.Z < low {
		t.Errorf("it did not get onto the step: %v", p.Pos)
	}
	if run(p, Cmd{Move: west.Mul(0.4), Jump: true}, 181, 45); p.Pos.Z < middle {
		t.Errorf("it did not get from the step onto the tower: %v", p.Pos)
	}
	run(p, Cmd{}, 226, 90)
	if p.Pos.Z != middle || !flat.carries(p) {
		t.Errorf("it does not stand on the tower: %v", p.Pos)
	}
	if run(p, Cmd{Move: west}, 301, 60); p.Pos.Z != 0 || !flat.carries(p) {
		t.Errorf("it did not fall off the other side: %v", p.Pos)
	}
	p = at(5.5, 24, 0)
	if top := run(p, Cmd{Move: geom.Vec2{Y: -1}, Jump: true}, 1, 120); top > 1.4 {
		t.Errorf("from the ground it got %v m up the tower", top)
	}
	p = at(25, 3, 0)
	p.Vel.Z = -50
	if run(p, Cmd{}, 1, 2); p.Pos.Z != 0 {
		t.Errorf("it fell through the ground: %v", p.Pos)
	}
	p = at(26, 15.5, 6)
	p.Vel.Z = -300
	if run(p, Cmd{}, 1, 3); p.Pos.Z != low {
		t.Errorf("it fell into a wall: %v", p.Pos)
	}
}

func TestWallSlide(t *testing.T) {
	// The corner in the north-west: its wall's southern face is y = 8, from x = 10 to 17.
	p := at(12, 9, 0)
	c := Cmd{Move: geom.Vec2{X: 0.6, Y: -0.8}}
	run(p, c, 1, 40)
	if !near(p.Pos.Y, 8+Radius, 0.001) {
		t.Errorf("it is at y %v, want beside the wall at %v", p.Pos.Y, 8+Radius)
	}
	if !near(p.Vel.X, 0.6*RunSpeed, 0.01) || math.Abs(p.Vel.Y) > 0.01 {
		t.Errorf("along the wall it moves at %v, want (%v, 0)", p.Vel, 0.6*RunSpeed)
	}
	x := p.Pos.X
	if run(p, c, 41, 10); !near(p.Pos.X-x, 0.6*RunSpeed/6, 0.01) {
		t.Errorf("along the wall it came %v m far in 10 ticks, want %v", p.Pos.X-x, 0.6*RunSpeed/6)
	}
}

// Nobody gets through a wall at any speed.
func TestNoTunnelling(t *testing.T) {
	for _, speed := range []float64{RunSpeed, 60, 1e3, 1e6} {
		for _, c := range []struct {
			name     string
			from     geom.Vec2
			way      geom.Vec2
			x, y, by float64 // where it must stop: on this line
		}{
			{"west wall", geom.Vec2{X: 3, Y: 30}, geom.Vec2{X: -1}, rim + Radius, 0, 0},
			{"corner", geom.Vec2{X: 13, Y: 10}, geom.Vec2{X: -1}, 10 + Radius, 0, 0},
			{"screen", geom.Vec2{X: 13, Y: 20}, geom.Vec2{X: 1}, 15 - Radius, 0, 0},
			{"cover", geom.Vec2{X: 26, Y: 13}, geom.Vec2{Y: 1}, 0, 15 - Radius, 0},
		} {
			p := at(c.from.X, c.from.Y, 0)
			for i := range 60 {
				p.Vel = c.way.Mul(speed).At(0)
				walk(&flat, p, Cmd{Move: c.way}, game.Tick(i), dt)
			}
			if c.x != 0 && !near(p.Pos.X, c.x, 0.001) || c.y != 0 && !near(p.Pos.Y, c.y, 0.001) {
				t.Errorf("%s at %v m/s: ended at %v", c.name, speed, p.Pos)
			}
		}
	}
}

// Whatever players do, on the grid of the simulation nobody is ever inside a wall, below the floor
// or out of the arena.
//
// seeds: B3
func TestWalkAnywhere(t *testing.T) {
	rules, err := Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	e := engine.NewServer(rules, 1, 2)
	ids := make([]game.ID, 20)
	for i := range ids {
		if ids[i], err = e.Join("walker", nil); err != nil {
			t.Fatal(err)
		}
	}
	cmd := make([]int64, rules.Command.Sims)
	sum := uint64(14695981039346656037)
	mix := func(v int64) { sum = (sum ^ uint64(v)) * 1099511628211 }
	n := 3000
	for tick := range game.Tick(n) {
		e.SetTick(tick + 1)
		for i, id := range ids {
			r := geom.NewRand(uint64(i), uint64(tick)/uint64(5+7*i))
			c := Cmd{Move: r.Disc(1), Aim: r.Angle(), Jump: r.Chance(0.4), Crouch: r.Chance(0.2), Fire: r.Chance(0.3),
				Reload: r.Chance(0.05), Weapon: r.IntN(endOfWeapons)}
			put(rules, c, cmd)
			if err := e.Act(id, cmd, nil, false); err != nil {
				t.Fatal(err)
			}
			p := Players.Get((*game.World)(e.World()), id)
			if flat.blocked(p.Pos.XY(), p.Pos.Z+hair) || p.Pos.Z < flat.floorAt(p.Pos.XY(), p.Pos.Z, Radius)-hair ||
				!field.Expand(hair).Contains(p.Pos.XY()) {
				t.Fatalf("tick %d: walker %d is at %v, moving %v", tick, i, p.Pos, p.Vel)
			}
			if v := p.Vel.XY().Len(); v > RunSpeed+0.001 || math.Abs(p.Vel.Z) > 12 {
				t.Fatalf("tick %d: walker %d moves at %v", tick, i, p.Vel)
			}
			if _, sims := e.Sims(id); tick%10 == 0 {
				for _, v := range sims {
					mix(v)
				}
			}
		}
		e.Drain()
	}
	// The hash is pinned, so that a run on another machine shows whether it computes the same.
	const want = 0x71b355797ea53ee4
	if sum != want {
		t.Errorf("the walks hash to %#x, want %#x", sum, uint64(want))
	}
}

func TestAllocations(t *testing.T) {
	p, tick := at(12, 9, 0), game.Tick(0)
	g := &first.chart().goals[0]
	if n := testing.AllocsPerRun(1000, func() {
		tick++
		walk(&flat, p, Cmd{Move: g.way(p.Pos.XY(), p.Pos.Z), Jump: true}, tick, dt)
		flat.free(muzzle(p), g.at)
	}); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

func BenchmarkWalk(b *testing.B) {
	p, tick := at(12, 9, 0), game.Tick(0)
	c := Cmd{Move: geom.Vec2{X: 0.6, Y: -0.8}, Jump: true}
	for b.Loop() {
		tick++
		walk(&flat, p, c, tick, dt)
	}
}
