package gametest_test

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

// harbour is a game with every class and every word of a tag: ships tumble through space, ferries
// are dead reckoned, and crates stand on ferries.
type ship struct {
	Side  uint8      `net:"enum,none|red|blue,team"`
	Pos   geom.Vec3  `net:"pos,others=1cm,4cm@30m,16cm@100m,draw=hermite,warp=20m,slow=1cm/s"`
	Vel   geom.Vec3  `net:"vel,others=1cm/s,4cm/s@100m"`
	Turn  geom.Quat  `net:"quat,others=10bit,8bit@100m"`
	Spin  geom.Vec3  `net:"spin,others=2deg/s"`
	Look  geom.View  `net:"view,14bit,others=8bit"`
	Heat  float64    `net:"float,0.25,0..100,to=team"`
	Key   [6]byte    `net:"bytes,far=60m"`
	Next  game.Tick  `net:"tick,to=owner"`
	Stray geom.Angle `net:"spin,kept"`
}

type ferry struct {
	Pos  geom.Vec2  `net:"pos,1mm,others=1cm,draw=dr:10cm"`
	Vel  geom.Vec2  `net:"vel,1cm/s"`
	Head geom.Angle `net:"angle,1deg,others=1deg,draw=dr:3deg"`
	Rate geom.Angle `net:"spin,1deg/s"`
}

type crate struct {
	On   game.ID   `net:"handle,parent"`
	Pos  geom.Vec2 `net:"pos,1cm"`
	Name string    `net:"text,9,ref"`
}

type helm struct {
	Look  geom.View `net:"view,12bit"`
	Push  geom.Vec2 `net:"stick"`
	Speed uint8     `net:"enum,slow|fast"`
}

var (
	ships   = game.NewKind[ship]("ship")
	ferries = game.NewKind[ferry]("ferry")
	crates  = game.NewKind[crate]("crate")
	harbour = game.Definition[helm]{
		Name: "harbour", Kinds: game.Kinds(ships, ferries, crates),
		Join: func(w *game.World, name string) game.ID {
			if ferries.Len(w) == 0 {
				for i := range 6 {
					f := ferries.Spawn(w, ferry{Pos: geom.Vec2{X: 20 * float64(i)}, Vel: geom.Vec2{X: 3, Y: float64(i)}})
					crates.Spawn(w, crate{On: f, Pos: geom.Vec2{X: 1}, Name: "crate"})
				}
			}
			n := ships.Len(w)
			return ships.Spawn(w, ship{Side: uint8(1 + n%2), Pos: geom.Vec3{X: 15 * float64(n)}, Key: [6]byte{1, byte(n)}})
		},
		Act: func(w *game.World, me game.ID, c helm) {
			s := ships.Get(w, me)
			s.Look = c.Look
			s.Spin = s.Spin.Add(geom.Vec3{X: c.Push.X, Y: c.Push.Y, Z: 0.3}.Mul(w.Dt())).Limit(3)
			s.Turn = s.Turn.Spun(s.Spin, w.Dt())
			s.Stray = (s.Stray + geom.Angle(w.Dt())).Norm()
			thrust := 4.0
			if c.Speed == 1 {
				thrust = 12
			}
			s.Vel = s.Vel.Add(s.Turn.Rotate(geom.Vec3{X: thrust}).Mul(w.Dt())).Limit(20)
			s.Pos = s.Pos.Add(s.Vel.Mul(w.Dt()))
			s.Heat = geom.Clamp(s.Heat+s.Vel.Len()*w.Dt()-0.2, 0, 100)
			if w.Tick() >= s.Next {
				s.Next, s.Key[5] = w.Tick()+40, s.Key[5]+1
			}
			if s.Pos.Len() > 150 {
				s.Pos, s.Vel = geom.Vec3{}, geom.Vec3{} // further than warp= says, without a word
			}
		},
		Step: func(w *game.World) {
			for id, f := range ferries.All(w) {
				f.Rate = geom.Angle(geom.Sin(float64(w.Tick())/90+float64(id))) / 4
				f.Head = (f.Head + f.Rate*geom.Angle(w.Dt())).Norm()
				if w.Tick()%450 > 300 {
					f.Vel = geom.Vec2{}
				} else {
					f.Vel = f.Head.Dir().Mul(4)
				}
				f.Pos = f.Pos.Add(f.Vel.Mul(w.Dt()))
			}
		},
		Bot: func(w *game.World, me game.ID) helm {
			r := geom.NewRand(uint64(me), uint64(w.Tick())/20)
			return helm{Look: geom.View{Yaw: r.Angle(), Pitch: r.Angle() / 4}, Push: r.Dir(), Speed: uint8(r.IntN(2))}
		},
	}
)

// Every class and word on bad networks: each state that a client applies is the server's, to the
// bit, and no prediction is wrong.
func TestEveryClass(t *testing.T) {
	rules, err := harbour.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for range 2 {
		sim, err := gametest.NewSim(rules, 3, server.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []netsim.Profile{netsim.HotelWiFi, netsim.Ocean, netsim.LAN, netsim.HotelWiFi} {
			if _, err := sim.Join("bot", p, rules.Bot()); err != nil {
				t.Fatal(err)
			}
		}
		sim.Run(5 * time.Second)
		sim.Measure()
		sim.Run(15 * time.Second)
		if err := sim.Diverged(); err != nil {
			t.Fatal(err)
		}
		q := sim.Quality()
		if n, _ := sim.Checked(); n < 5000 || q.CleanMispredictions != 0 {
			t.Errorf("%d states compared, %v clean mispredictions", n, q.CleanMispredictions)
		}
		if sum != 0 && sum != sim.Hash() {
			t.Error("the same seed gives other bytes")
		}
		sum = sim.Hash()
	}
}
