package gametest_test

import (
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

// A shell flies straight until its end. Nobody can hit it.
type shell struct {
	Pos  geom.Vec3 `net:"pos,others=1cm,draw=dr:4cm"`
	Vel  geom.Vec3 `net:"vel,1cm/s"`
	Over game.Tick `net:"tick,server"`
}

type gunner struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

type trigger struct {
	Fire bool `net:"press"`
}

var muzzleVel = geom.Vec3{X: 21.37, Y: -7.03, Z: 0.5}

// A projectile is sent once, with place and velocity. While it flies, nothing more is sent to
// anybody, for longer than any history. Every client, on any network and whenever it joined, draws
// it on the same line at the same tick time. Its end is sent to all at once.
//
// seeds: U6
func TestProjectileIsSentOnce(t *testing.T) {
	const life = 30 * 30 // ticks
	shells, gunners := game.NewKind[shell]("shell", game.Extrapolated), game.NewKind[gunner]("gunner")
	var born game.Tick
	from := geom.Vec3{X: 1, Y: 2, Z: 3}
	def := game.Definition[trigger]{
		Name: "range", Rate: 30, Send: 15, Kinds: game.Kinds(gunners, shells),
		Join: func(w *game.World, name string) game.ID { return gunners.Spawn(w, gunner{}) },
		Act:  func(w *game.World, me game.ID, c trigger) {},
		Step: func(w *game.World) {
			for _, s := range shells.All(w) {
				s.Pos = s.Pos.Add(s.Vel.Mul(w.Dt()))
			}
		},
		Referee: func(w *game.World) {
			if w.Tick() == 150 {
				shells.Spawn(w, shell{Pos: from, Vel: muzzleVel, Over: w.Tick() + life})
				born = w.Tick()
			}
			for id, s := range shells.All(w) {
				if w.Tick() >= s.Over {
					w.Despawn(id)
				}
			}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sim, err := gametest.NewSim(rules, 6, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	join := func(p netsim.Profile) *gametest.Player {
		player, err := sim.Join(p.Name, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return player
	}
	for _, p := range []netsim.Profile{netsim.LAN, netsim.Fiber, netsim.HotelWiFi, netsim.Ocean} {
		join(p)
	}
	join(netsim.Ocean)
	worst, drawn := 0.0, 0
	watch := func(span time.Duration) {
		for range span / (10 * time.Millisecond) {
			sim.Run(10 * time.Millisecond)
			for _, p := range sim.Players() {
				if p.Client == nil {
					continue
				}
				p.Client.Draw(nil, func(e *client.Entity) {
					if e.Kind != 1 {
						return
					}
					at, _ := p.Client.TimeOf(e.Replica)
					want := from.Add(muzzleVel.Mul(float64(at-born.Frac()) / 256 / 30))
					if a, _ := e.Replica.Groups[0].Around(at); a.Shown() > at {
						return // before its first record it waits where that one puts it
					}
					drawn++
					worst = max(worst, want.Dist(geom.Vec3{X: e.Vals[0], Y: e.Vals[1], Z: e.Vals[2]}))
				})
			}
		}
	}
	sent := func() (records, packets uint64) {
		for _, p := range sim.Players() {
			st, _ := sim.Server.Stats(p.ID)
			records, packets = records+st.Records, packets+st.Sent
		}
		return records, packets
	}
	watch(7 * time.Second) // it flies since the fifth
	if drawn == 0 {
		t.Fatal("nobody draws it")
	}
	before, packets := sent()
	watch(10 * time.Second)
	if after, p := sent(); after != before || p-packets > 5*4 {
		t.Errorf("%d records and %d packets were sent in ten seconds of flight, want 0 and keep-alives", after-before,
			p-packets)
	}
	join(netsim.HotelWiFi) // in the middle of the flight
	watch(3 * time.Second)
	before, packets = sent()
	watch(10 * time.Second)
	if after, p := sent(); after != before || p-packets > 6*4 {
		t.Errorf("%d records and %d packets were sent in ten more seconds of flight, want 0 and keep-alives", after-before,
			p-packets)
	}
	for _, p := range sim.Players() {
		n := 0
		p.Client.Draw(nil, func(e *client.Entity) {
			if e.Kind != 1 {
				return
			}
			n++
			at, _ := p.Client.TimeOf(e.Replica)
			if lag := float64(sim.Server.Tick().Frac()-at) / 256 / 30; math.Abs(lag) > 0.6 {
				t.Errorf("%s draws it as it was %.2f s ago", p.Name, lag)
			}
		})
		if n != 1 {
			t.Errorf("%s draws %d shells", p.Name, n)
		}
	}
	sim.Run(8 * time.Second)
	for _, p := range sim.Players() {
		p.Client.Draw(nil, func(e *client.Entity) {
			if e.Kind == 1 {
				t.Errorf("%s still draws it", p.Name)
			}
		})
	}
	t.Logf("drawn %d times, never further than %.1f mm from where it is at that tick time", drawn, 1000*worst)
	if worst > 0.04 {
		t.Errorf("drawn %.3f m off", worst)
	}
	if err := sim.Diverged(); err != nil {
		t.Error(err)
	}
}
