package arena

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// play begins a round on the n-th level, and waits until players move.
func (h *hall) play(n int) *level {
	for _, r := range Rounds.All(h.world()) {
		r.Map, r.Phase, r.Ends = (n+len(levels)-1)%len(levels), Result, h.tick+1
	}
	h.pass(1 + StandTicks)
	return levelAt(h.world())
}

// Rounds play one map after the other, with its own doors, platforms and packs.
func TestMapsRotate(t *testing.T) {
	h := newHall(t)
	me := h.join(30, 20, 0)
	for n := range 2 * len(levels) {
		l := levels[n%len(levels)]
		if n > 0 {
			h.pass(RoundTicks + ResultTicks)
		} else {
			h.pass(WarmUpTicks)
		}
		if got := levelAt(h.world()); got != l {
			t.Fatalf("round %d is on %s, want %s", n+1, got.name, l.name)
		}
		if d, p, k := Doors.Len(h.world()), Platforms.Len(h.world()), Packs.Len(h.world()); d != len(l.gates) ||
			p != len(l.tracks) || k != len(l.pads) {
			t.Errorf("%s has %d doors, %d platforms and %d packs", l.name, d, p, k)
		}
		g := l.flat()
		if at := h.get(me).Pos; g.blocked(at.XY(), at.Z) {
			t.Errorf("%s: somebody begins at %v, in a wall", l.name, at)
		}
	}
}

// Whoever stands on a platform goes with it, jumps on it, and walks off it with its speed.
func TestRide(t *testing.T) {
	h := newHall(t)
	l := h.play(1)
	k := &l.tracks[0]
	start := k.at(h.tick)
	me := h.join(start.X+1, start.Y, middle)
	where := func() geom.Vec3 { return place(h.world(), h.get(me)) }
	off := func() geom.Vec3 { return where().Sub(k.at(h.tick)) }
	h.step(me, Cmd{})
	if p := h.get(me); p.On == 0 || off().Sub(geom.Vec3{X: 1}).Len() > 0.001 {
		t.Fatalf("it stands on %d at %v, the platform is at %v", p.On, where(), k.at(h.tick))
	}
	moved := 0
	for range 2*(k.travels()+PlatformWaits) + 10 {
		if h.step(me, Cmd{Jump: h.tick%200 == 50}); k.moves(h.tick) {
			moved++
		}
		at := off()
		if at.XY().Dist(geom.Vec2{X: 1}) > 0.001 || at.Z < 0 || h.get(me).On == 0 {
			t.Fatalf("tick %d: it is %v beside the middle of the platform", h.tick, at)
		}
	}
	if moved < int(k.travels()) {
		t.Errorf("the platform moved in %d ticks only", moved)
	}
	for !k.moves(h.tick) || !k.moves(h.tick+30) {
		h.step(me, Cmd{})
	}
	for i := 0; h.get(me).On != 0; i++ {
		if h.step(me, Cmd{Move: geom.Vec2{Y: 1}}); i > 60 {
			t.Fatal("it does not get off")
		}
	}
	if v := h.get(me).Vel.XY(); v.Len() < RunSpeed+0.5 || v.X < PlatformSpeed-1 && v.X > 1-PlatformSpeed {
		t.Errorf("it leaves the platform at %v", v)
	}
	for range 60 {
		h.step(me, Cmd{})
	}
	if p := h.get(me); p.Pos.Z > low || p.On != 0 {
		t.Errorf("it did not fall: %v", p.Pos)
	}
}

// toSecond ends the round on the first map, and reports whether the second one is played.
func toSecond(w *game.World) bool {
	for _, r := range Rounds.All(w) {
		if r.Phase == Play && r.Map == 0 {
			again(w, r, 1)
		}
		return r.Map == 1
	}
	return false
}

// onScreen returns where a client draws the others, and the first platform.
func onScreen(s *gametest.Sim, c *client.Client) (players map[game.ID]geom.Vec3, deck geom.Vec3) {
	players = map[game.ID]geom.Vec3{}
	c.Draw(nil, func(e *client.Entity) {
		k := s.Rules.Kinds[e.Kind]
		at, _ := k.PlaceOf(e.Vals)
		switch {
		case k.Name == "platform" && e.Vals[k.Props[2].At] == 0:
			deck = at
		case k.Name == "player" && !e.Mine:
			players[e.ID] = at
		}
	})
	return players, deck
}

// compared counts shots that were judged, those of them that were judged as foreseen, and the others
// in sight of them; worst is how far one of these was from its place on the screen, in metres.
func compared(judged, foreseen map[look]string, used, screen map[look]map[game.ID]geom.Vec3) (
	all, same, targets int, worst float64) {
	for k, want := range judged {
		got, ok := foreseen[k]
		if !ok || want == "" || got == "" {
			continue
		}
		if all++; got == want {
			same++
		}
		for id, at := range used[k] {
			if on, ok := screen[k][id]; ok {
				targets++
				worst = max(worst, on.Dist(at))
			}
		}
	}
	return all, same, targets, worst
}

// Three players ride a platform on bad networks, and one on the ground looks on. No prediction is
// wrong, every screen shows them on the platform, and a shot at one is judged by where the screen
// of its shooter showed it.
//
// seeds: B15 B16
func TestRidersOnBadNetworks(t *testing.T) {
	t.Parallel()
	track := &levels[1].tracks[0]
	for _, profile := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean} {
		var ids []game.ID
		begun := false
		var s *gametest.Sim
		starved := map[look]bool{}               // no command arrived in time: another one ran in its place
		used := map[look]map[game.ID]geom.Vec3{} // where the server judged others
		s, judged, foreseen := staged(t, 5, func(w *game.World) {
			begun = toSecond(w)
			for i, id := range ids {
				st, _ := s.Server.Stats(s.Players()[i].ID)
				starved[look{id, w.Tick()}] = st.LastStarved == w.Tick()
				p := Players.Get(w, id)
				p.Health, p.Ammo = MaxHealth, armoury[Rifle].magazine
				if p.On == 0 && i < 3 && begun {
					p.Pos, p.Vel = track.at(w.Tick()).Add(geom.Vec3{X: float64(i) - 1}), geom.Vec3{}
					w.Cut(id)
				}
			}
		}, func(w *game.World, me game.ID, c Cmd) string {
			if !c.Fire {
				return ""
			}
			g, eye := groundSeen(w, me), eyeOf(w, me)
			to, hit := flight(w, &g, me, muzzle(&eye), c.Aim)
			all := fmt.Sprint(w.Moment(), eye.Pos, to, hit)
			at := map[game.ID]geom.Vec3{}
			for id, o := range Players.Seen(w, me) {
				at[id] = seen(w, me, o).Pos
			}
			if w == s.Server.World() {
				used[look{me, w.Tick()}] = at
			}
			return all + fmt.Sprint(at)
		})
		screen := map[look]map[game.ID]geom.Vec3{} // where others were drawn when a command was made
		frames, beside := 0, 0
		var sims [4]*client.Client
		for i := range 4 {
			bot := client.BotOf(func(w *game.World, me game.ID) Cmd {
				players, deck := onScreen(s, sims[i])
				screen[look{me, w.Tick()}] = players
				for n, id := range ids[:min(3, len(ids))] {
					at, ok := players[id]
					if !ok || n == i || Players.Get(w, id).On == 0 {
						continue
					}
					frames++
					if d := at.Sub(deck); d.XY().Len() > 3.2 || d.Z < -0.05 || d.Z > 2 {
						beside++
					}
				}
				p := Players.Eye(w, me)
				r := geom.NewRand(uint64(me), uint64(w.Tick()/25))
				c := Cmd{Move: r.Disc(0.5), Fire: w.Tick()%11 == 0, Jump: r.Chance(0.1)}
				if d := p.Pos.XY(); i < 3 && d.Len() > 1 {
					c.Move = d.Neg().Limit(1) // they stay near the middle
				}
				if i == 3 {
					c.Move = geom.Vec2{}
				}
				if len(ids) > 0 {
					target := players[ids[(i+1)%3]]
					c.Aim = target.Sub(eyeOf(w, me).Pos).XY().Angle()
				}
				return c
			})
			if _, err := s.Join(fmt.Sprint("p", i), profile, bot); err != nil {
				t.Fatal(err)
			}
		}
		s.Run(time.Second)
		for i, p := range s.Players() {
			sims[i] = p.Client
			ids = append(ids, p.Me())
		}
		s.Run(12 * time.Second) // the warm-up, and until all ride
		clear(judged)
		clear(foreseen)
		clear(screen)
		frames, beside = 0, 0
		s.Measure()
		s.Run(60 * time.Second)
		q := s.Quality()
		if q.CleanMispredictions != 0 {
			t.Errorf("%s: %d predictions were wrong without outside influence", profile.Name, q.CleanMispredictions)
		}
		if frames < 5000 || beside > 0 {
			t.Errorf("%s: of %d drawn riders %d were drawn beside the platform", profile.Name, frames, beside)
		}
		maps.DeleteFunc(judged, func(k look, _ string) bool { return starved[k] })
		all, same, targets, worst := compared(judged, foreseen, used, screen)
		t.Logf("%s: %d of %d shots judged as predicted; %d targets %.3f mm beside the screen; %d riders drawn", profile.Name,
			same, all, targets, 1000*worst, frames)
		if all < 500 || float64(same) < 0.99*float64(all) || targets < 1000 || worst > 0.0001 {
			t.Errorf("%s: %d of %d shots judged as predicted, %d targets up to %v m beside the screen", profile.Name, same,
				all, targets, worst)
		}
	}
}

// Whoever rides when a round ends is moved once, to where it begins on the next level, and no
// prediction is wrong. Before, it stays where it is, although a client knows the tick.
//
// seeds: B15 B16
func TestRidersAtAChangeOfMap(t *testing.T) {
	t.Parallel()
	var ends game.Tick
	rides := 0
	s, _, _ := staged(t, 7, func(w *game.World) {
		for _, r := range Rounds.All(w) {
			switch {
			case r.Phase == Play && r.Map == 0:
				again(w, r, 1)
			case r.Phase == Play && r.Map == 1 && w.Tick() == r.Open+5*Rate:
				for _, p := range Players.All(w) {
					p.Pos, p.Vel = levels[1].tracks[0].at(w.Tick()), geom.Vec3{}
				}
			case r.Phase == Play && r.Map == 1 && w.Tick() == r.Open+8*Rate:
				ends = w.Tick() + 2*Rate
				r.Phase, r.Ends = Result, ends
				for _, p := range Players.All(w) {
					if p.On != 0 {
						rides++
					}
				}
			}
		}
	}, func(*game.World, game.ID, Cmd) string { return "" })
	last, moves := map[game.ID]geom.Vec3{}, map[game.ID]int{}
	for i := range 3 {
		bot := client.BotOf(func(w *game.World, me game.ID) (c Cmd) {
			at := eyeOf(w, me).Pos
			if now := w.Tick(); ends != 0 && now > ends-Rate && now < ends+2*Rate && at.Dist(last[me]) > 1 {
				moves[me]++
			}
			last[me] = at
			return c
		})
		if _, err := s.Join(fmt.Sprint("p", i), netsim.Ocean, bot); err != nil {
			t.Fatal(err)
		}
	}
	s.Run(5 * time.Second)
	s.Measure()
	s.Run(15 * time.Second)
	if q := s.Quality(); q.CleanMispredictions != 0 {
		t.Errorf("%d predictions were wrong without outside influence", q.CleanMispredictions)
	}
	if l := levelAt(s.Server.World()); rides != 3 || l != levels[2] {
		t.Fatalf("%d of 3 players rode, and the next level was %s", rides, l.name)
	}
	for id, n := range moves {
		if n != 1 {
			t.Errorf("player %d saw itself moved %d times", id, n)
		}
	}
	if len(moves) != 3 {
		t.Errorf("%d of 3 players were moved", len(moves))
	}
}
