package arena

import (
	"testing"
	"time"
	"unsafe"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// fire puts a player with a launcher somewhere and lets it fire once.
func (h *hall) fire(id game.ID, from geom.Vec3, aim geom.Angle) {
	h.t.Helper()
	p := h.get(id)
	p.Pos, p.Vel, p.Gun, p.Weapon = from, geom.Vec3{}, gunStanding, Launcher
	arm(p)
	if !h.fires(id, Cmd{Aim: aim, Fire: true}) {
		h.t.Fatalf("the launcher does not fire: %+v", p.hands())
	}
}

// ends lets time pass until all rockets have burst, and returns where and after how many ticks the
// last one did.
func (h *hall) ends() (at geom.Vec3, ticks int) {
	h.t.Helper()
	for ticks = 1; ticks < 200; ticks++ {
		for _, e := range h.step(0, Cmd{}) {
			if e.Event == 3 { // Blasts
				var b Blast
				h.rules.Events[3].Store(unsafe.Pointer(&b), e.Vals)
				at = b.At
			}
		}
		if Rockets.Len(h.world()) == 0 {
			return at, ticks
		}
	}
	h.t.Fatal("a rocket never bursts")
	return at, ticks
}

// A rocket flies straight to the ground ahead of the launcher, or to the wall before that.
func TestRocketFlies(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  geom.Vec3
		aim   geom.Angle
		at    geom.Vec3
		ticks int
	}{
		{"over the open floor", geom.Vec3{X: 3, Y: 37}, 0, geom.Vec3{X: 22, Y: 37}, 40},
		{"from a low wall, over another", geom.Vec3{X: 26, Y: 15.5, Z: low}, geom.Pi / 2, geom.Vec3{X: 26, Y: 34.4}, 40},
		{"over a low wall", geom.Vec3{X: 26, Y: 18}, -geom.Pi / 2, geom.Vec3{X: 26, Y: rim + RocketRadius, Z: 0.11}, 37},
		{"against a screen", geom.Vec3{X: 30, Y: 20}, 0, geom.Vec3{X: 37.3 - RocketRadius, Y: 20, Z: 0.76}, 15},
	} {
		h := newHall(t)
		me := h.join(30, 20, 0)
		h.fire(me, c.from, c.aim)
		at, ticks := h.ends()
		t.Logf("%s: %v after %d ticks", c.name, at, ticks)
		if at.Dist(c.at) > 0.2 || ticks < c.ticks-2 || ticks > c.ticks+2 {
			t.Errorf("%s: bursts at %v after %d ticks, want %v after %d", c.name, at, ticks, c.at, c.ticks)
		}
	}
}

// A shooter sees a runner where it was a tenth of a second ago, and leads it by the flight of a rocket
// alone. The rocket makes up for the tenth on its way: it meets the runner from RocketSpeed times
// 0.3 s on, and by less than a body nearer than that. Without that it would pass 0.7 m behind.
//
// seeds: B17
func TestRocketMakesUp(t *testing.T) {
	const run = RunSpeed
	for _, c := range []struct{ far, age, most float64 }{
		{2, 0.1, 0.56}, {4, 0.1, 0.42}, {8, 0.1, 0.14}, {12, 0.1, 0.14}, {16, 0.1, 0.14},
		{12, 0.05, 0.14}, {12, 0, 0.14}, {12, 0.2, 0.84}, // no more than RocketMakesUp
	} {
		h := newHall(t)
		me := h.join(3, 37, 0)
		h.pass(Rate)
		h.age = c.age * Rate
		seen := geom.Vec2{X: 3 + c.far, Y: 37} // at the shot; it runs north
		lead := geom.Vec2{Y: -run}.Mul(c.far / RocketSpeed)
		h.fire(me, geom.Vec3{X: 3, Y: 37}, seen.Add(lead).Sub(geom.Vec2{X: 3, Y: 37}).Angle())
		fired, miss := h.tick-1, 1e9 // the tick before: of the commands' places
		var before geom.Vec3
		for ticks := 0; ticks < 60; ticks++ {
			for _, r := range Rockets.All(h.world()) {
				if at := r.Pos; ticks > 0 && before.X <= seen.X && at.X > seen.X {
					u := (seen.X - before.X) / (at.X - before.X)
					now := float64(h.tick-1-fired) + u // ticks since the shot
					runner := seen.Y - run*(c.age+now/Rate)
					miss = runner - geom.Lerp(before.Y, at.Y, u)
				}
				before = r.Pos
			}
			h.pass(1)
		}
		t.Logf("%2.0f m, seen %3.0f ms late: passes %.2f m behind", c.far, 1000*c.age, -miss)
		if miss = max(miss, -miss); miss > c.most {
			t.Errorf("%v m, seen %v s late: the rocket passes the runner by %.2f m", c.far, c.age, miss)
		}
	}
}

// A rocket bursts at a body, hurts the less the further one stands, hurts nobody behind a wall, and
// its owner by half.
func TestBlastHurts(t *testing.T) {
	for _, c := range []struct {
		name  string
		there geom.Vec3 // the other player's place; the rocket flies along y = 37 to x = 22
		hurt  [2]int    // between
	}{
		{"in its way", geom.Vec3{X: 10, Y: 37}, [2]int{BlastDamage, BlastDamage}},
		{"grazed", geom.Vec3{X: 10, Y: 37 + Radius + 0.1}, [2]int{BlastDamage - 5, BlastDamage}},
		{"2 m beside the end", geom.Vec3{X: 22, Y: 35}, [2]int{40, 52}},
		{"beyond the blast", geom.Vec3{X: 22, Y: 33.1}, [2]int{0, 0}},
		{"jumping over it", geom.Vec3{X: 10, Y: 37, Z: 1.3}, [2]int{0, 0}},
	} {
		h := newHall(t)
		me, it := h.join(3, 37, 0), h.join(30, 10, 0)
		h.get(it).Pos = c.there
		h.fire(me, geom.Vec3{X: 3, Y: 37}, 0)
		h.ends()
		if hurt := MaxHealth - h.get(it).Health; hurt < c.hurt[0] || hurt > c.hurt[1] {
			t.Errorf("%s: %d damage, want %v", c.name, hurt, c.hurt)
		}
		if p := h.get(it); (p.Vel != geom.Vec3{}) != (c.hurt[1] > 0) || c.hurt[1] > 0 && (p.Vel.Z <= 0 || p.By != me) {
			t.Errorf("%s: thrown by %v, hurt by %d", c.name, p.Vel, p.By)
		}
	}

	h := newHall(t)
	me, it := h.join(30, 20, 0), h.join(30, 20, 0)
	h.get(it).Pos = geom.Vec3{X: 39, Y: 20} // right behind the screen, which is 1.2 m thick
	h.fire(me, geom.Vec3{X: 30, Y: 20}, 0)
	if h.ends(); h.get(it).Health != MaxHealth {
		t.Error("a blast hurts through a wall")
	}
	h.fire(me, geom.Vec3{X: 36, Y: 20}, 0)
	h.ends()
	if p := h.get(me); p.Health > 75 || p.Health < 60 || p.Vel.X > -2 || p.Vel.Z < 1.5 {
		t.Errorf("the own blast leaves health %d and throws by %v", p.Health, p.Vel)
	}
	h.get(me).Health = 5
	h.fire(me, geom.Vec3{X: 36, Y: 20}, 0)
	h.ends()
	if p := h.get(me); p.Alive || p.Score != 0 || p.Deaths != 1 {
		t.Errorf("the own rocket kills: alive %v, score %d, deaths %d", p.Alive, p.Score, p.Deaths)
	}
	for _, r := range Rounds.All(h.world()) {
		r.Shut = h.tick + 10
	}
	h.get(it).Health = MaxHealth
	h.get(me).Alive = true
	h.fire(me, geom.Vec3{X: 30, Y: 20}, 0)
	h.get(it).Pos = geom.Vec3{X: 36, Y: 20}
	if h.ends(); h.get(it).Health != MaxHealth {
		t.Error("a rocket hurts after the round")
	}
}

// The shooter sees its rocket in the frame of the press, on any network. Everybody runs rockets
// ahead: they are drawn on the very path that they fly on the server. Each blast is shown to
// everybody; what is shown of one that does not happen is taken back.
//
// seeds: B5
func TestRocketsAtOnce(t *testing.T) {
	t.Parallel()
	for _, profile := range []netsim.Profile{netsim.LAN, netsim.Ocean} {
		s := crowd(t, 31, 8, profile)
		s.Run(time.Second)
		path := map[game.ID][]geom.Vec3{}
		type seen struct {
			id game.ID
			at geom.Vec3
		}
		var drawn []seen
		blasts, gone := map[game.ID]int{}, 0
		launches, late, back := 0, 0, 0
		var vals []float64
		for _, p := range s.Players() {
			fired := false
			p.OnEvent = func(e *client.Event) {
				switch {
				case e.Event == 2 && e.Own && !e.Cancelled:
					fired = true
				case e.Event == 3 && e.Cancelled:
					blasts[p.Me()]--
					back++
				case e.Event == 3:
					blasts[p.Me()]++
				}
			}
			p.OnFrame = func() {
				found := false
				me := Players.Get(p.Client.World(), p.Me())
				vals = p.Client.Draw(vals, func(e *client.Entity) {
					if e.Kind != 3 {
						return
					}
					at := geom.Vec3{X: e.Vals[0], Y: e.Vals[1], Z: e.Vals[2]}
					found = found || at.Dist(muzzle(me)) < 2.5 // of a frame with three commands
					if !e.ID.Foreseen() {
						drawn = append(drawn, seen{e.ID, at})
					}
				})
				if fired {
					if launches++; !found {
						late++
					}
				}
				fired = false
			}
		}
		for range 40 * Rate {
			s.Run(time.Second / Rate)
			for id, r := range Rockets.All(s.Server.World()) {
				path[id] = append(path[id], r.Pos)
			}
		}
		s.Still()
		s.Run(5 * time.Second)
		far, checked := 0.0, 0
		for _, d := range drawn {
			way := path[d.id]
			if len(way) < 2 {
				continue
			}
			line := geom.Ray3To(way[0], way[len(way)-1])
			if checked++; d.at.Dist(line.From) <= line.Len {
				far = max(far, line.Closest(d.at).Dist(d.at))
			}
		}
		gone = len(path)
		t.Logf(
			"%s: %d rockets, drawn %d times, at most %.3f m beside the path; %d launches, %d of them drawn later; %d blasts "+
				"back",
			profile.Name,
			gone,
			checked,
			far,
			launches,
			late,
			back,
		)
		if gone < 15 || checked < 1000 || far > 0.05 || launches < 15 ||
			late > max(launches-gone, 0) { // some burst in the tick in which they were fired
			t.Errorf(
				"%s: %d rockets, drawn %d times, %.3f m off; %d launches, %d of them drawn later",
				profile.Name,
				gone,
				checked,
				far,
				launches,
				late,
			)
		}
		for _, p := range s.Players() { // some rockets burst in the tick in which they were fired
			if n := blasts[p.Me()]; n < gone || n > gone+4 {
				t.Errorf("%s: %s was shown %d blasts of %d rockets", profile.Name, p.Name, n, gone)
			}
		}
	}
}
