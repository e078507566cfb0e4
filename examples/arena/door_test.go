package arena

import (
	"fmt"
	"math"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A look is one run of a command: whose, and of which tick.
type look struct {
	me   game.ID
	tick game.Tick
}

// staged returns a match of the arena, without players. set arranges the world after each tick.
// note returns what a command was judged by: judged has it from the server, foreseen from the first
// prediction of each command.
func staged(t *testing.T, seed uint64, set func(w *game.World), note func(w *game.World, me game.ID, c Cmd) string) (
	s *gametest.Sim, judged, foreseen map[look]string) {
	t.Helper()
	judged, foreseen = map[look]string{}, map[look]string{}
	def := Game
	var servers *game.World
	def.Referee = func(w *game.World) {
		servers = w //meanwhile:ok the test notes which world is the server's
		referee(w)
		set(w)
	}
	def.Act = func(w *game.World, me game.ID, c Cmd) {
		act(w, me, c)
		runs, k := foreseen, look{me, w.Tick()}
		if w == servers {
			runs = judged
		}
		if _, again := runs[k]; !again {
			runs[k] = note(w, me, c) //meanwhile:ok the test notes what each world saw
		}
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = gametest.NewSim(rules, seed, server.Config{}); err != nil {
		t.Fatal(err)
	}
	return s, judged, foreseen
}

// put keeps a player healthy, with full hands, and within a metre of a place.
func (p *Player) put(at geom.Vec2) {
	if p.Health, p.Ammo = MaxHealth, armoury[Rifle].magazine; p.Pos.XY().Dist(at) > 1 {
		p.Pos, p.Vel = at.At(p.Pos.Z), geom.Vec3{}
	}
}

// A pressed plate raises its door half a second later, for a while. Until it is down again further
// presses change nothing. It blocks shots and ways by its height, and lifts who stands on it.
func TestDoor(t *testing.T) {
	h := newHall(t)
	me, it, rider := h.join(30, 18, 0), h.join(30, 12, 0), h.join(29, 15.5, 0)
	door := func() (d Door) {
		for _, x := range Doors.All(h.world()) {
			if x.Gate == 0 {
				d = *x
			}
		}
		return d
	}
	const north = -geom.Pi / 2
	hits := func() bool {
		h.get(it).Health = MaxHealth
		shots := h.shots(h.step(me, Cmd{Aim: north, Fire: true}))
		return len(shots) == 1 && shots[0].Hit == it
	}
	if h.pass(20); door().Pos.Z != 0 || !hits() {
		t.Fatalf("a door that nobody pressed is %v m high", door().Pos.Z)
	}
	h.step(me, Cmd{Press: true})
	pressed := h.tick
	for ; h.tick < pressed+DoorWarns; h.pass(1) {
		if door().Pos.Z != 0 || door().Rises != pressed+DoorWarns {
			t.Fatalf("%d ticks after the press: %+v", h.tick-pressed, door())
		}
	}
	for by := me; h.tick < pressed+DoorWarns+DoorTicks; by = me + rider - by {
		since := float64(h.tick - pressed - DoorWarns)
		if z := door().Pos.Z; math.Abs(z-DoorTop*since/DoorTicks) > 0.001 {
			t.Fatalf("%v ticks after it began to rise a door is %v m high", since, z)
		}
		h.step(by, Cmd{Press: by == me})
	}
	if z := h.get(rider).Pos.Z; z < DoorTop-0.2 {
		t.Errorf("who stands on the door is at %v", z)
	}
	if hits() {
		t.Error("a shot goes through the door")
	}
	for range 60 {
		h.step(me, Cmd{Move: geom.Vec2{Y: -1}})
	}
	if y := h.get(me).Pos.Y; y < 15.8+Radius-hair {
		t.Errorf("a player runs into the door to %v", y)
	}
	h.get(me).Pos = geom.Vec3{X: 30, Y: 18}
	n := 0
	for ; door().Pos.Z > 0; n++ {
		h.step(me, Cmd{Press: true}) // again and again, by whoever comes later
		if n > 2*DoorStays {
			t.Fatal("the door never sinks")
		}
	}
	if h.pass(10); !hits() {
		t.Error("a shot does not pass the door that is down again")
	}
}

// sentry walks to and fro, looks north and fires all the time.
var sentry = client.BotOf(func(w *game.World, me game.ID) Cmd { return watch(w) })

func watch(w *game.World) Cmd {
	way := 0.2
	if w.Tick()/40%2 == 0 {
		way = -way
	}
	return Cmd{Move: geom.Vec2{X: way}, Aim: -geom.Pi / 2, Fire: true}
}

// porter presses the plate now and then.
var porter = client.BotOf(func(w *game.World, me game.ID) Cmd {
	m := mood(me, tagPress, w.Tick(), 4)
	return Cmd{Press: m.Chance(0.1)}
})

// A door is cover as it is drawn. Its height is the same to the bit when the server judges a shot
// as when the shooter's client predicted it, on its way up and down too, and clients draw it where
// it is at their time. That is so because a press is known half a second before the door moves: it
// would not be if doors answered at once, or were drawn in the past and walked against in the present.
//
// seeds: B15 B16
func TestDoorIsCoverAsItWasDrawn(t *testing.T) {
	t.Parallel()
	for _, profile := range []netsim.Profile{netsim.LAN, netsim.HotelWiFi, netsim.Ocean} {
		var ids []game.ID
		moving := map[game.Tick]bool{}
		top := map[game.Tick]float64{}
		covers, screen := map[look]float64{}, map[look]float64{} // how high the door was for a shot, and on the screen
		var s *gametest.Sim
		starved := map[game.Tick]bool{} // no command of the shooter's arrived in time
		s, judged, foreseen := staged(t, 5, func(w *game.World) {
			places := [...]geom.Vec2{{X: 31, Y: 17.6}, {X: 30, Y: 19}, {X: 30, Y: 12.5}}
			for i, id := range ids {
				Players.Get(w, id).put(places[i])
			}
			for _, d := range Doors.All(w) {
				if d.Gate == 0 {
					if len(ids) > 0 {
						st, _ := s.Server.Stats(s.Players()[1].ID)
						starved[w.Tick()] = st.LastStarved == w.Tick()
					}
					top[w.Tick()], moving[w.Tick()] = d.Pos.Z, d.Pos.Z > 0 && d.Pos.Z < DoorTop
				}
			}
		}, func(w *game.World, me game.ID, c Cmd) string {
			g := groundSeen(w, me)
			at := Players.Eye(w, me)
			_, hit := flight(w, &g, me, muzzle(&at), c.Aim)
			if w == s.Server.World() {
				covers[look{me, w.Tick()}] = g.doors[0].Max.Z
			}
			return fmt.Sprint(w.Moment(), g.doors, hit)
		})
		looking := client.BotOf(func(w *game.World, me game.ID) (c Cmd) {
			s.Players()[1].Client.Draw(nil, func(e *client.Entity) {
				if e.Kind == 4 && e.Vals[1] < Depth/2 {
					screen[look{me, w.Tick()}] = e.Vals[2]
				}
			})
			return watch(w)
		})
		for i, bot := range []client.BotFunc{porter, looking, sentry} {
			if _, err := s.Join(fmt.Sprint("p", i), profile, bot); err != nil {
				t.Fatal(err)
			}
		}
		s.Run(time.Second)
		for _, p := range s.Players() {
			ids = append(ids, p.Me())
		}
		var draws []doorDrawn
		s.Run(5 * time.Second)
		shooter, kind := s.Players()[1], 4
		var vals []float64
		shooter.OnFrame = func() {
			vals = shooter.Client.Draw(vals, func(e *client.Entity) {
				if e.Kind == kind && e.Vals[1] < Depth/2 {
					draws = append(draws, doorDrawn{shooter.Client.PredictedAt(), e.Vals[2]})
				}
			})
		}
		clear(judged)
		clear(foreseen)
		s.Run(120 * time.Second)
		all, same, hits, worst := 0, 0, map[bool]int{}, 0.0
		for k, want := range judged {
			if got, ok := foreseen[k]; ok && k.me == shooter.Me() && moving[k.tick] && !starved[k.tick] {
				all++
				worst = max(worst, math.Abs(covers[k]-screen[k]))
				if got == want {
					same++
				}
				hits[want[len(want)-1] != '0']++
			}
		}
		right, frames := doorsDrawn(draws, top, moving)
		t.Logf(
			"%s: door judged as predicted in %d of %d ticks in which it moved, %.3f mm beside the screen; drawn as it was "+
				"in %d of %d; hits %v",
			profile.Name,
			same,
			all,
			1000*worst,
			right,
			frames,
			hits,
		)
		if worst > 0.0001 {
			t.Errorf("%s: the door was %.3f m higher or lower on the screen than for the shot", profile.Name, worst)
		}
		if all < 200 || frames < 200 || same*1000 < all*999 || right*1000 < frames*999 {
			t.Errorf("%s: judged as predicted %d of %d, drawn as it was %d of %d", profile.Name, same, all, right, frames)
		}
		if hits[true] < 30 || hits[false] < 30 {
			t.Errorf("%s: the door hides the target %d times, and does not %d times", profile.Name, hits[false], hits[true])
		}
	}
}

// doorDrawn is how high a door was drawn, and by which time.
type doorDrawn struct {
	at clock.TickFrac
	z  float64
}

// doorsDrawn returns in how many frames a door moved, and in how many of them it was drawn where it
// was.
func doorsDrawn(draws []doorDrawn, top map[game.Tick]float64, moving map[game.Tick]bool) (right, frames int) {
	for _, d := range draws {
		lo := d.at.Tick()
		next, ok := top[lo+1]
		if !ok || !moving[lo] {
			continue
		}
		frames++
		if z := geom.Lerp(top[lo], next, float64(d.at-lo.Frac())/clock.FracPerTick); math.Abs(z-d.z) < 0.0001 {
			right++
		}
	}
	return right, frames
}
