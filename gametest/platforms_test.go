package gametest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

// pontoon is a platform that turns and sways.
type pontoon struct {
	Pos  geom.Vec2  `net:"pos,others=1cm"`
	Head geom.Angle `net:"angle,12bit"`
	Lamp int        `net:"int,0..9999"` // how often its button was pressed
}

// marine walks on a pontoon.
type marine struct {
	On  game.ID   `net:"handle,parent"`
	Pos geom.Vec3 `net:"pos,others=1cm"`
}

type march struct {
	Move geom.Vec2 `net:"stick,5bit"`
	Fire bool      `net:"press"`
}

var (
	floats  = game.NewKind[pontoon]("pontoon")
	marines = game.NewKind[marine]("marine")
)

// button is where the button of each pontoon is, relative to it.
var button = geom.Vec3{X: 3, Y: 1}

// sighted is what a command of a marine was judged by: its eye and, by ID, the other marines and
// the buttons of all pontoons, in the world.
type sighted struct {
	eye     geom.Vec3
	others  map[game.ID]geom.Vec3
	buttons map[game.ID]geom.Vec3
}

func (s *sighted) String() string { return fmt.Sprintf("%b %b %b", s.eye, s.others, s.buttons) }

// A shooter stands on a moving and turning pontoon, its targets on others. The eye, the targets and
// the buttons of the pontoons are the same to the bit when the server judges a press as when the client
// predicted it, and they are what the screen showed: with World.SeenOn for the eye as for targets.
// With World.On, the eye would be on the pontoon as it is, and centimetres to metres off.
//
// seeds: B16 B17
func TestPlatformsUnderShooterAndTarget(t *testing.T) {
	judged, foreseen := map[gaze]*sighted{}, map[gaze]*sighted{}
	late := map[gaze]bool{} // no command arrived in time: another one ran in its place
	var servers *game.World
	var sim *gametest.Sim
	off := map[game.ID]float64{} // how far the present pontoon would put the eye, on the server
	def := game.Definition[march]{
		Name: "pontoons", Rate: 30, Kinds: game.Kinds(floats, marines),
		Join: func(w *game.World, name string) game.ID {
			on := floats.Spawn(w, pontoon{Pos: geom.Vec2{X: 8 * float64(floats.Len(w))}})
			return marines.Spawn(w, marine{On: on, Pos: geom.Vec3{Z: 1.5}})
		},
		Act: func(w *game.World, me game.ID, c march) {
			if c.Fire {
				s := &sighted{others: map[game.ID]geom.Vec3{}, buttons: map[game.ID]geom.Vec3{}}
				eye := marines.Eye(w, me)
				s.eye, _ = w.SeenOn(me, eye.On, eye.Pos)
				for id, o := range marines.Seen(w, me) {
					s.others[id], _ = w.SeenOn(me, o.On, o.Pos)
				}
				for id := range floats.Seen(w, me) {
					if s.buttons[id], _ = w.SeenOn(me, id, button); s.buttons[id].Dist(s.eye) < 4 {
						d := floats.Get(w, id) // whoever pressed the button that it saw has pressed it, wherever it is by now
						d.Lamp = (d.Lamp + 1) % 10000
					}
				}
				runs, k := foreseen, gaze{me, w.Tick()}
				if w == servers {
					runs = judged
					if at, ok := w.On(eye.On, eye.Pos); ok {
						off[me] = max(off[me], at.Dist(s.eye))
					}
				}
				if runs[k] == nil {
					runs[k] = s
				}
			}
			g := marines.Get(w, me)
			g.Pos = g.Pos.Add(c.Move.Mul(4 * w.Dt()).At(0))
			g.Pos.X, g.Pos.Y = geom.Clamp(g.Pos.X, -3, 3), geom.Clamp(g.Pos.Y, -3, 3)
		},
		Step: func(w *game.World) {
			for id, d := range floats.All(w) {
				turn := geom.Angle(0.7)
				if (w.Tick()/90+game.Tick(id))%2 == 0 {
					turn = -0.4
				}
				d.Head = (d.Head + turn*geom.Angle(w.Dt())).Norm()
				d.Pos = d.Pos.Add(d.Head.Dir().Mul(6 * w.Dt()))
			}
		},
		Referee: func(w *game.World) {
			servers = w
			for _, p := range sim.Players() {
				if st, ok := sim.Server.Stats(p.ID); ok && st.LastStarved == w.Tick() {
					late[gaze{p.Me(), w.Tick()}] = true
				}
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if sim, err = gametest.NewSim(rules, 3, server.Config{}); err != nil {
		t.Fatal(err)
	}
	drawn := map[gaze]*sighted{} // what the screen showed when the command was made
	profiles := []netsim.Profile{netsim.LAN, netsim.HotelWiFi, netsim.Ocean}
	for i, profile := range profiles {
		bot := client.BotOf(func(w *game.World, me game.ID) (c march) {
			drawn[gaze{me, w.Tick()}] = onScreen(sim.Players()[i].Client)
			r := geom.NewRand(uint64(me), uint64(w.Tick()/20))
			return march{Move: r.Disc(1), Fire: w.Tick()%3 == 0}
		})
		if _, err := sim.Join("marine", profile, bot); err != nil {
			t.Fatal(err)
		}
	}
	sim.Run(5 * time.Second)
	clear(judged)
	clear(foreseen)
	sim.Run(60 * time.Second)
	for i, p := range sim.Players() {
		for k := range foreseen {
			if k.me == p.Me() && late[k] {
				delete(foreseen, k)
			}
		}
		all, same, compared, eyes, targets := compareSights(p.Me(), judged, foreseen, drawn)
		t.Logf(
			"%s: %d of %d presses judged as predicted; drawn eye %.4f mm off, %d targets %.4f mm; the present pontoon %.2f m",
			profiles[i].Name,
			same,
			all,
			1000*eyes,
			compared,
			1000*targets,
			off[p.Me()],
		)
		if least := [...]float64{1, 1, 0.998}[i]; all < 500 || float64(same) < least*float64(all) || compared < 1000 {
			t.Errorf("%s: %d of %d presses judged as predicted, want %v", profiles[i].Name, same, all, least)
		}
		const grid = 0.0001 // of what is drawn: 1 cm in 1/256, in each axis and on each level
		if eyes > grid || targets > grid || math.IsNaN(eyes+targets) {
			t.Errorf("%s: eyes are drawn %v m beside where shots start, targets %v m", profiles[i].Name, eyes, targets)
		}
		if off[p.Me()] < 0.05 {
			t.Errorf("%s: the pontoon moves by %v m at most: the test tests little", profiles[i].Name, off[p.Me()])
		}
	}
	for id, d := range floats.All(sim.Server.World()) {
		if d.Lamp == 0 {
			t.Errorf("nobody ever pressed the button of pontoon %d", id)
		}
	}
}

// onScreen returns where a client draws the marines in this frame.
func onScreen(c *client.Client) *sighted {
	s := &sighted{others: map[game.ID]geom.Vec3{}}
	c.Draw(nil, func(e *client.Entity) {
		if e.Kind != 1 {
			return
		}
		at := geom.Vec3{X: e.Vals[1], Y: e.Vals[2], Z: e.Vals[3]}
		if e.Mine {
			s.eye = at.Sub(c.OwnOffset())
		} else {
			s.others[e.ID] = at
		}
	})
	return s
}

// compareSights returns how many presses of a player both sides saw, and how many alike, and how
// far its screen showed eyes and targets elsewhere, in metres.
func compareSights(
	me game.ID,
	judged, foreseen, drawn map[gaze]*sighted,
) (all, same, compared int, eyes, targets float64) {
	for k, f := range foreseen {
		j, d := judged[k], drawn[k]
		if k.me != me || j == nil || d == nil {
			continue
		}
		if all++; j.String() == f.String() {
			same++
		}
		eyes = max(eyes, f.eye.Dist(d.eye))
		for id, at := range f.others {
			targets = max(targets, at.Dist(d.others[id]))
			compared++
		}
	}
	return all, same, compared, eyes, targets
}
