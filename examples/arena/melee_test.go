package arena

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netsim"
)

// events returns how often an event was emitted.
func (h *hall) count(events []engine.Emitted, name string) (n int) {
	for _, e := range events {
		if h.rules.Events[e.Event].Name == name {
			n++
		}
	}
	return n
}

// cuts swings once and returns whom the blade met in each tick of the swing and in the next two.
// before is called before each tick.
func (h *hall) cuts(me game.ID, aim geom.Angle, before func(tick int)) (all [SwingTicks + 2][]game.ID) {
	h.t.Helper()
	for i := range all {
		if before != nil {
			before(i)
		}
		for _, e := range h.step(me, Cmd{Swing: true, Fire: i == 1, Aim: aim}) {
			var c Cut
			switch name := h.rules.Events[e.Event].Name; {
			case name == "cut":
				h.rules.Events[e.Event].Store(unsafe.Pointer(&c), e.Vals)
				all[i] = append(all[i], c.Hit)
			case name == "shot" || name == "swing" && i > 0:
				h.t.Errorf("tick %d of a swing: a %s", i, name)
			}
		}
	}
	h.pass(SwingRest)
	return all
}

// A swing sweeps from right to left. In each of its ticks the blade meets whom its owner sees in that
// tick, each one once.
//
// seeds: B15
func TestSwing(t *testing.T) {
	const east = geom.Angle(0)
	h := newHall(t)
	me, it := h.join(30, 20, 0), h.join(50, 10, 0)
	at := func(angle geom.Angle, d float64) geom.Vec3 {
		return geom.Vec3{X: 30, Y: 20}.Add(angle.Dir().Mul(d).At(0))
	}
	for _, c := range []struct {
		name   string
		place  geom.Vec3
		crouch bool
		tick   int // in which it is hit, -1: never
	}{
		{"right", at(45*geom.Degree, 1.5), false, 0},
		{"ahead", at(0, 1.5), false, 1},
		{"left", at(-45*geom.Degree, 1.5), false, 2},
		{"behind", at(geom.Pi, 1), false, -1},
		{"at the tip", at(0, SwingReach+Radius-0.1), false, 1},
		{"too far", at(0, SwingReach+Radius+0.02), false, -1},
		{"crouching", at(0, 1.5), true, 1},
		{"above", at(0, 1.5).Add(geom.Vec3{Z: 1}), false, -1},
		{"below", at(0, 1.5).Add(geom.Vec3{Z: -1}), false, -1},
	} {
		seen := *h.get(it)
		seen.Pos, seen.Crouch = c.place, c.crouch
		h.seen[it] = seen // in truth it is far away
		h.get(it).Health = MaxHealth
		got := h.cuts(me, east, nil)
		for tick, hit := range got {
			if want := tick == c.tick; want != (len(hit) == 1) || len(hit) > 1 {
				t.Errorf("%s: in tick %d of the swing the blade meets %v", c.name, tick, hit)
			}
		}
		if hurt := MaxHealth - h.get(it).Health; hurt != SwingDamage && c.tick >= 0 || hurt != 0 && c.tick < 0 {
			t.Errorf("%s: %d damage", c.name, hurt)
		}
	}

	// Whom the player sees cross the blade's way is hit in that tick, and whoever goes with the
	// blade is hit once.
	for _, c := range []struct {
		name  string
		angle [SwingTicks]geom.Angle // where it is seen in each tick
		tick  int
	}{
		{"against the blade", [...]geom.Angle{-60 * geom.Degree, 0, 60 * geom.Degree}, 1},
		{"with the blade", [...]geom.Angle{50 * geom.Degree, 0, -50 * geom.Degree}, 0},
		{"behind the blade", [...]geom.Angle{-50 * geom.Degree, 60 * geom.Degree, 30 * geom.Degree}, -1},
		{"jumps in front of it", [...]geom.Angle{geom.Pi, geom.Pi, -40 * geom.Degree}, 2},
	} {
		got := h.cuts(me, east, func(tick int) {
			seen := *h.get(it)
			seen.Pos = at(c.angle[min(tick, SwingTicks-1)], 1.6)
			h.seen[it] = seen
		})
		for tick, hit := range got {
			if (tick == c.tick) != (len(hit) == 1) {
				t.Errorf("%s: in tick %d the blade meets %v", c.name, tick, hit)
			}
		}
	}
	clear(h.seen)

	// At most three are hit, nobody behind a wall, nobody while a result is shown.
	for i := range 4 {
		h.get(h.join(30, 20, 0)).Pos = at(geom.Angle(i-1)*20*geom.Degree, 1.4)
	}
	hits := 0
	for _, hit := range h.cuts(me, east, nil) {
		hits += len(hit)
	}
	if hits != 3 {
		t.Errorf("the blade meets %d of four", hits)
	}
	h.get(me).Pos, h.get(it).Pos = geom.Vec3{X: 30, Y: 14.4}, geom.Vec3{X: 30, Y: 16.2}
	h.step(me, Cmd{Press: true, Aim: geom.Pi / 2})
	h.get(me).Pos = geom.Vec3{X: 30, Y: 17.2}
	h.step(me, Cmd{Press: true})
	h.pass(DoorWarns + DoorTicks)
	h.get(me).Pos = geom.Vec3{X: 30, Y: 14.4}
	if got := h.cuts(me, geom.Pi/2, nil); fmt.Sprint(got) != "[[] [] [] [] []]" {
		t.Errorf("through the door the blade meets %v", got)
	}
	for _, r := range Rounds.All(h.world()) {
		r.Shut = h.tick
	}
	if e := h.step(me, Cmd{Swing: true}); h.count(e, "swing") != 0 {
		t.Error("a blade is swung while a result is shown")
	}
}

// A shove throws away whom its player saw near, from where it saw them, and not through walls. The
// next shove or swing is three seconds later. It reaches less far back than other weapons.
//
// seeds: B15 B17
func TestShove(t *testing.T) {
	h := newHall(t)
	me, it := h.join(30, 20, 0), h.join(50, 10, 0)
	for _, c := range []struct {
		name  string
		place geom.Vec3
		hits  int
	}{
		{"near", geom.Vec3{X: 31, Y: 20}, 1},
		{"at the edge", geom.Vec3{X: 30, Y: 20 + ShoveRadius - 0.05}, 1},
		{"beyond", geom.Vec3{X: 30, Y: 20 + ShoveRadius + 0.05}, 0},
	} {
		seen := *h.get(it)
		seen.Pos = c.place
		h.seen[it] = seen
		h.get(it).Vel = geom.Vec3{}
		n := 0
		for range ShoveRest {
			h.most = 0
			events := h.step(me, Cmd{Shove: true, Swing: n > 0})
			if shoves := h.count(events, "shove"); shoves > 0 && h.most != ShoveBack*time.Millisecond {
				t.Errorf("%s: a shove reaches %v back", c.name, h.most)
			}
			if n += h.count(events, "shove"); h.count(events, "swing") > 0 {
				t.Errorf("%s: a swing comes at once", c.name)
			}
			for _, e := range events {
				var s Shove
				if h.rules.Events[e.Event].Name == "shove" {
					if h.rules.Events[e.Event].Store(unsafe.Pointer(&s), e.Vals); s.Hits != c.hits {
						t.Errorf("%s: %d hits, want %d", c.name, s.Hits, c.hits)
					}
				}
			}
		}
		if n != 1 {
			t.Errorf("%s: %d shoves", c.name, n)
		}
		if v := h.get(it).Vel; (v.Len() > 3) != (c.hits == 1) || c.hits == 1 && v.Dot(c.place.Sub(h.get(me).Pos)) <= 0 {
			t.Errorf("%s: thrown by %v", c.name, v)
		}
	}
}

// brawler runs at the nearest enemy and around it, and swings all the time.
var brawler = client.BotOf(func(w *game.World, me game.ID) (c Cmd) {
	p := Players.Get(w, me)
	best := 1e9
	for _, o := range Players.Seen(w, me) {
		if way := o.Pos.XY().Sub(p.Pos.XY()); o.Alive && way.Len() < best {
			best, c.Aim = way.Len(), way.Angle()
			c.Move = way.Unit()
			if best < 1.8 {
				c.Move = c.Move.Perp()
			}
		}
	}
	m := mood(me, tagBlade, w.Tick(), 50)
	c.Swing, c.Shove = m.Chance(0.8), m.Chance(0.1)
	return c
})

// Cuts are marked in the tick in which a client predicts them. The server decides nearly all of them
// alike, on bad networks too; the others are taken back. Nobody's swing meets a player twice.
//
// seeds: B7 B15
func TestCutsAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile netsim.Profile
		least   float64
	}{{netsim.LAN, 1}, {netsim.HotelWiFi, 0.995}, {netsim.Ocean, 0.99}} {
		type key struct {
			by, hit game.ID
			swing   game.Tick
		}
		decided := map[key]int{}
		shown, back := 0, 0
		var s *gametest.Sim
		s, _, _ = staged(t, 8, func(w *game.World) {
			for _, p := range Players.All(w) {
				p.Health = MaxHealth
			}
			for _, e := range s.Server.Engine().Events() {
				if k := s.Rules.Events[e.Event]; k.Name == "cut" {
					var hit Cut
					k.Store(unsafe.Pointer(&hit), e.Vals)
					decided[key{e.Actor, hit.Hit, Players.Get(w, e.Actor).Strike}]++
				}
			}
		}, func(*game.World, game.ID, Cmd) string { return "" })
		for range 4 {
			p, err := s.Join("brawler", c.profile, brawler)
			if err != nil {
				t.Fatal(err)
			}
			p.OnEvent = func(e *client.Event) {
				switch {
				case s.Rules.Events[e.Event].Name != "cut" || !e.Own:
				case e.Cancelled:
					back++
				default:
					shown++
				}
			}
		}
		s.Run(8 * time.Second)
		s.Measure()
		s.Run(60 * time.Second)
		q := s.Quality()
		for k, n := range decided {
			if n != 1 {
				t.Errorf("%s: swing %v meets its target %d times", c.profile.Name, k, n)
			}
		}
		t.Logf("%s: %d cuts decided, %d shown by their clients, %d taken back; agreement %.4f of %d", c.profile.Name,
			len(decided), shown, back, q.Agreement, q.Shots)
		if d := shown - back - len(decided); len(decided) < 60 || max(d, -d) > 3 {
			t.Errorf("%s: %d cuts decided, %d shown, %d taken back", c.profile.Name, len(decided), shown, back)
		}
		if q.Shots < 300 || q.Agreement < c.least || q.CleanMispredictions > 0 {
			t.Errorf("%s: agreement %v, want %v; %d clean mispredictions", c.profile.Name, q.Agreement, c.least,
				q.CleanMispredictions)
		}
	}
}
