package server

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// gunman is one of a crowd of which four players shoot at the others.
type gunman struct {
	Pos    geom.Vec3  `net:"pos,1mm,others=1cm"`
	Yaw    geom.Angle `net:"angle,8bit"`
	Crouch bool       `net:"bool"`
	Health int        `net:"int,0..100,group=1"`
	Ammo   int        `net:"int,0..99,to=owner"`
}

const (
	gunmen       = 1000
	shooters     = 4
	gunmenWithin = 70.0 // metres from the middle, in both axes: 250 within 40 m
	gunRange     = 40.0
	gunmanRadius = 0.4
)

// gunfight is that crowd, and how its players find whom they hit.
type gunfight struct {
	*strollers
	men  game.Kind[gunman]
	find func(w *game.World, me game.ID, ray geom.Ray) game.ID
	hits map[game.ID]int
	vals []int64 // of the command that fires
	cmd  packet.Command
}

func newGunfight(t testing.TB) *gunfight {
	t.Helper()
	f := &gunfight{men: game.NewKind[gunman]("gunman"), hits: map[game.ID]int{}}
	shots := game.NewEvent[shot]("shot")
	run := func(p *gunman, a geom.Angle, dt float64) {
		p.Yaw, p.Crouch = a, a > 2.8
		p.Pos = p.Pos.Add(a.Dir().Mul(float64(6 * dt)).At(0))
		p.Pos.X, p.Pos.Y = geom.Clamp(p.Pos.X, -gunmenWithin, gunmenWithin), geom.Clamp(p.Pos.Y, -gunmenWithin, gunmenWithin)
	}
	d := game.Definition[stroll]{
		Name: "gunfight", Rate: 60, Send: 20, See: memorySeen, Kinds: game.Kinds(f.men), Events: game.Events(shots),
		Join: func(w *game.World, name string) game.ID {
			n := float64(f.men.Len(w))
			return f.men.Spawn(w, gunman{Pos: geom.Vec3{X: float64(n*10) - 15, Y: float64(n * 3)}})
		},
		Act: func(w *game.World, me game.ID, c stroll) {
			p := f.men.Get(w, me)
			p.Yaw = c.Aim
			if c.Fire && f.find != nil {
				if hit := f.find(w, me, geom.Ray{From: p.Pos.XY(), Dir: c.Aim, Len: gunRange}); hit != 0 {
					f.hits[hit]++
				}
			}
		},
		Step: func(w *game.World) {
			for id, p := range f.men.All(w) {
				if id > shooters {
					a := uint64(id)*2654435761 + (uint64(w.Tick())+uint64(id)*17)/90*7919
					run(p, geom.Angle(float64(a%629)/100-3.14), w.Dt())
				}
				if (uint64(w.Tick())+uint64(id)*7)%97 == 0 {
					p.Health = (p.Health + 13) % 101
				}
			}
		},
		Referee: func(w *game.World) {
			for range gunmen - f.men.Len(w) {
				r := w.Rand()
				f.men.Spawn(
					w,
					gunman{Pos: geom.Vec3{X: r.Range(-gunmenWithin, gunmenWithin), Y: r.Range(-gunmenWithin, gunmenWithin)}},
				)
			}
		},
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	f.strollers = newStrollersOf(t, rules, shooters, DefaultBudget)
	f.play(8 * time.Second)
	return f
}

// shoot runs a command of a player that fires, as if it had been made turn ticks/256 earlier than
// the newest one that ran.
func (f *gunfight) shoot(p *player, turn int) {
	f.cmd = packet.Command{
		Tick:   f.s.tick,
		Seen:   p.commands.last.Seen - clock.TickFrac(turn),
		Newest: p.commands.last.Newest,
	}
	f.vals = append(f.vals[:0], 0, 0, int64(turn*37)%4096, 1)
	f.s.seer.begin(p, &f.cmd)
	if err := f.s.eng.Act(p.avatar, f.vals, &f.s.seer, false); err != nil {
		f.t.Fatal(err)
	}
	f.s.eng.Drain()
}

// among finds by all that is seen.
func (f *gunfight) among(w *game.World, me game.ID, ray geom.Ray) (hit game.ID) {
	for id, o := range f.men.Seen(w, me) {
		if d, ok := ray.Circle(o.Pos.XY(), gunmanRadius); ok {
			ray.Len, hit = d, id
		}
	}
	return hit
}

// along finds by what is seen along the ray.
func (f *gunfight) along(w *game.World, me game.ID, ray geom.Ray) (hit game.ID) {
	for id, o := range f.men.SeenAlong(w, me, ray.From, ray.End(), gunmanRadius+0.001) {
		if d, ok := ray.Circle(o.Pos.XY(), gunmanRadius); ok {
			ray.Len, hit = d, id
		}
	}
	return hit
}

// A shot allocates nothing, however it finds whom it hits, and both ways it hits the same ones.
//
// seeds: B15
func TestShotsAllocateNothing(t *testing.T) {
	f := newGunfight(t)
	var hits [2]map[game.ID]int
	for i, find := range []func(w *game.World, me game.ID, ray geom.Ray) game.ID{f.among, f.along} {
		n := 0
		shots := func() {
			for range 100 {
				n++
				f.shoot(f.s.clients[n%shooters], n%512)
			}
		}
		f.find = find
		f.hits = map[game.ID]int{}
		shots()
		f.hits, n = map[game.ID]int{}, 0
		for id := range game.ID(2 * gunmen) {
			f.hits[id] = 0
		}
		if allocs := testing.AllocsPerRun(5, shots); allocs != 0 {
			t.Errorf("way %d: %v allocations in 100 shots", i, allocs)
		}
		hits[i] = f.hits
	}
	hit := 0
	for id, n := range hits[0] {
		if hit += n; hits[1][id] != n {
			t.Errorf("%d was hit %d times of all that were seen, and %d times of those near the ray", id, n, hits[1][id])
		}
	}
	if hit < 100 {
		t.Errorf("%d of 600 shots hit", hit)
	}
}

// BenchmarkJudge is one shot of 40 m of a player that sees 250 others, at a crowd of a thousand
// that runs; and four such shots of four players, which are a thousand candidates. Records,
// acknowledgements and packet logs are those of 8 seconds at 64 kbit/s, of which each way loses
// 2 %. No two shots that follow each other are of the same moment.
func BenchmarkJudge(b *testing.B) {
	f := newGunfight(b)
	for _, way := range []struct {
		name string
		find func(w *game.World, me game.ID, ray geom.Ray) game.ID
	}{{"none", nil}, {"seen", f.among}, {"along", f.along}} {
		for _, players := range []int{1, shooters} {
			f.find = way.find
			b.Run(fmt.Sprintf("%s/candidates=%d", way.name, players*memorySeen), func(b *testing.B) {
				clear(f.hits)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					for _, p := range f.s.clients[:players] {
						n++
						f.shoot(p, n%512)
					}
				}
			})
		}
	}
}
