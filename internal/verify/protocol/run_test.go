package protocol_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/verify/protocol"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// A game in which every class and every word of the schema text is on the wire: ships of two sides
// tumble through space among buoys, ferries are dead reckoned, and crates stand on them. Clients
// run rafts ahead, and flares that are near or their own.
type ship struct {
	Side  uint8      `net:"enum,none|red|blue,team"`
	Pos   geom.Vec3  `net:"pos,others=1cm,4cm@30m,16cm@100m,draw=hermite,warp=20m"`
	Vel   geom.Vec3  `net:"vel,others=1cm/s,4cm/s@100m"`
	Turn  geom.Quat  `net:"quat,others=10bit,8bit@100m"`
	Spin  geom.Vec3  `net:"spin,others=2deg/s"`
	Look  geom.View  `net:"view,14bit,others=8bit"`
	Heat  float64    `net:"float,0.25,0..100,others=0.5,to=team"`
	Key   [6]byte    `net:"bytes,far=60m"`
	Next  game.Tick  `net:"tick,to=owner"`
	Stray geom.Angle `net:"spin,kept"`
	Dice  int        `net:"int,0..9,server"`
	Fuel  int        `net:"int,-5..900,to=owner"`
}

type ferry struct {
	Pos   geom.Vec2  `net:"pos,1mm,others=1cm,draw=dr:10cm"`
	Vel   geom.Vec2  `net:"vel,1cm/s"`
	Head  geom.Angle `net:"angle,1deg,others=1deg,draw=dr:3deg"`
	Rate  geom.Angle `net:"spin,1deg/s"`
	Open  bool       `net:"bool"`
	Crew  int        `net:"int,-3..9"`
	Steam float64    `net:"float,0.1,0..50,others=0.2,0.8@40m"`
	Since game.Tick  `net:"tick"`
}

type crate struct {
	On   game.ID   `net:"handle,parent"`
	Pos  geom.Vec2 `net:"pos,1cm"`
	Name string    `net:"text,9,ref"`
	Sign string    `net:"text,7"`
}

type buoy struct {
	Pos   geom.Vec3  `net:"pos,16mm,others=16mm,64mm@60m,wire=near"`
	Light geom.Angle `net:"angle,others=8bit,6bit@60m"`
	Bell  float64    `net:"float,0.5"`
	Mark  geom.Angle `net:"angle,1deg,group=1"`
}

type raft struct {
	Pos  geom.Vec3 `net:"pos,1mm,others=1cm"`
	Name string    `net:"text,9,ref"`
}

type splash struct {
	At   geom.Vec2 `net:"pos,1cm"`
	Who  game.ID   `net:"handle"`
	Loud float64   `net:"float,0.25,0..8"`
}

type helm struct {
	Look  geom.View `net:"view,12bit"`
	Push  geom.Vec2 `net:"stick"`
	Speed uint8     `net:"enum,slow|fast"`
}

// A hail is said to all, a fare is asked for.
type hail struct {
	Text string    `net:"text,250"`
	At   geom.Vec2 `net:"pos,1cm"`
	When game.Tick `net:"tick"`
}

type fare struct {
	To int `net:"enum,near|far|nowhere"`
}

var (
	hails = game.NewMessage[hail]("hail", 4, 8)
	fares = game.NewRequest[fare, hail]("fare", 4, 8)
)

func harbour(mode game.CommandMode) game.Definition[helm] {
	ships, ferries := game.NewKind[ship]("ship"), game.NewKind[ferry]("ferry")
	crates, buoys := game.NewKind[crate]("crate"), game.NewKind[buoy]("buoy")
	rafts, flares := game.NewKind[raft]("raft", game.Predicted), game.NewKind[raft]("flare", game.Near(20))
	splashes := game.NewEvent[splash]("splash")
	return game.Definition[helm]{
		Name: "harbour", Commands: mode, Kinds: game.Kinds(ships, ferries, crates, buoys, rafts, flares),
		Events: game.Events(splashes),
		Messages: game.Messages(hails.On(func(w *game.World, from game.ID, h hail) {
			hails.SendAll(w, nil, h)
		}), fares.On(func(w *game.World, from game.ID, f fare) (hail, error) {
			if f.To == 2 {
				return hail{}, errors.New("żaden statek")
			}
			return hail{Text: strings.Repeat("aye ", 20*f.To), When: w.Tick() - 3}, nil
		})),
		Join: func(w *game.World, name string) game.ID {
			if ferries.Len(w) == 0 {
				for i := range 12 {
					f := ferries.Spawn(w, ferry{Pos: geom.Vec2{X: 10 * float64(i)}, Vel: geom.Vec2{X: 3, Y: float64(i)}, Crew: i - 3})
					crates.Spawn(w, crate{On: f, Pos: geom.Vec2{X: 1}, Name: fmt.Sprint("crate ", i%3), Sign: "to sea"})
				}
				for i := range 3 {
					rafts.Spawn(w, raft{Pos: geom.Vec3{X: float64(i), Z: 1e4}, Name: "raft"})
				}
				for i := range 40 {
					buoys.Spawn(w, buoy{Pos: geom.Vec3{X: float64(i%8) * 20, Y: float64(i/8) * 25, Z: 1e4}})
				}
			}
			n := ships.Len(w)
			return ships.Spawn(
				w,
				ship{Side: uint8(1 + n%2), Pos: geom.Vec3{X: 15 * float64(n), Z: 1e4}, Key: [6]byte{1, byte(n)}, Fuel: 900},
			)
		},
		Act: func(w *game.World, me game.ID, c helm) {
			s := ships.Get(w, me)
			s.Look = c.Look
			s.Spin = s.Spin.Add(geom.Vec3{X: c.Push.X, Y: c.Push.Y, Z: 0.3}.Mul(w.Dt())).Limit(3)
			s.Turn = s.Turn.Spun(s.Spin, w.Dt())
			s.Stray = (s.Stray + geom.Angle(w.Dt())).Norm()
			s.Vel = s.Vel.Add(s.Turn.Rotate(geom.Vec3{X: 4 + 8*float64(c.Speed)}).Mul(w.Dt())).Limit(20)
			s.Pos = s.Pos.Add(s.Vel.Mul(w.Dt()))
			s.Heat = geom.Clamp(s.Heat+s.Vel.Len()*w.Dt()-0.2, 0, 100)
			if w.Tick() >= s.Next {
				s.Next, s.Key[5] = w.Tick()+40, s.Key[5]+1
				for i := range 2 {
					flares.Spawn(w, raft{Pos: s.Pos.Add(geom.Vec3{X: float64(i)}), Name: "flare"})
				}
				splashes.Emit(w, me, s.Pos.XY(), splash{At: s.Pos.XY(), Who: me, Loud: 3})
			}
			if s.Fuel--; s.Pos.Sub(geom.Vec3{Z: 1e4}).Len() > 150 || s.Fuel < 0 {
				s.Pos, s.Vel, s.Fuel = geom.Vec3{Z: 1e4}, geom.Vec3{}, 900
				w.Cut(me)
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
				if w.Rand().IntN(100) == 0 {
					f.Open, f.Crew, f.Since = !f.Open, w.Rand().IntN(12)-3, w.Tick()
				}
				f.Steam = geom.Clamp(f.Steam+w.Rand().Float64()-0.5, 0, 50)
			}
			for id, f := range rafts.All(w) {
				f.Pos.X += geom.Sin(float64(w.Tick())/50+float64(id)) * w.Dt()
			}
			for id, f := range flares.All(w) {
				if f.Pos.Y += 8 * w.Dt(); f.Pos.Y > 90 {
					w.Despawn(id)
				}
			}
			for id, b := range buoys.All(w) {
				switch w.Rand().IntN(400) {
				case 0:
					at := b.Pos
					w.Despawn(id)
					buoys.Spawn(w, buoy{Pos: geom.Vec3{X: at.Y + 3000*float64(id%2), Y: at.X, Z: at.Z}})
					continue
				case 1:
					b.Mark = (b.Mark + 1).Norm()
				case 2, 3, 4, 5, 6, 7, 8, 9:
					if id%4 == 1 {
						b.Pos.Z += 0.4
					}
				}
				if id%4 == 1 { // it is towed, on the level as a rule
					b.Pos.X += 6 * w.Dt()
				}
				if id%2 == 0 {
					b.Pos.Z += 0.03 * geom.Sin(float64(w.Tick())/9+float64(id))
					b.Light = (b.Light + 0.1).Norm()
					b.Bell += float64(w.Rand().IntN(3) - 1)
				}
			}
		},
		Bot: func(w *game.World, me game.ID) helm {
			r := geom.NewRand(uint64(me), uint64(w.Tick())/20)
			return helm{Look: geom.View{Yaw: r.Angle(), Pitch: r.Angle() / 4}, Push: r.Dir(), Speed: uint8(r.IntN(2))}
		},
	}
}

// flight is a datagram on its way.
type flight struct {
	at   int
	data []byte
}

// Every datagram of a seeded run over a bad path, read by the document alone, says what a client
// takes from it: every value of every state. Nothing that the document describes is left out of the
// run.
func TestRun(t *testing.T) {
	said := map[string]int{}
	packets, states := 0, 0
	for seed, mode := range []game.CommandMode{game.Timed, game.Queued} {
		def := harbour(mode)
		rules, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		s, err := server.New(rules, server.Config{Seed: uint64(seed), Budget: []int{24000, 6000}[seed]})
		if err != nil {
			t.Fatal(err)
		}
		type player struct {
			p        server.PlayerID
			c        *client.Client
			down, up []flight // by when they were sent
		}
		var players []*player
		ids := map[server.PlayerID]*player{}
		join := func() {
			p, welcome, err := s.Connect(0, fmt.Sprint("bot ", len(players)))
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.New(rules, welcome, 0, client.Config{})
			if err != nil {
				t.Fatal(err)
			}
			ids[p] = &player{p: p, c: c}
			players = append(players, ids[p])
		}
		join()
		join()
		join()
		d := newReader(t, rules.Text)
		watched := players[0]
		now := clock.Time(0)
		words := map[string]int{}  // what the watched one said and heard, by its own account
		spoken := map[string]int{} // the same, read by the document
		speak := func(m protocol.Message, up bool) {
			x, err := d.Say(m, up)
			if err != nil {
				t.Fatal(err)
			}
			spoken[fmt.Sprint(up, x.Name, x.Call, x.Refusal, x.Refused, x.Texts, x.Vals)]++
		}
		frame := func(c *client.Client) {
			for range c.Frame(now) {
				if err := c.Think(rules.Bot()); err != nil {
					t.Fatal(err)
				}
			}
			c.Events()
			for _, w := range c.Words() {
				if c != watched.c {
					continue
				}
				x := protocol.Said{Name: "hail", Call: int(w.Call), Refusal: w.Refusal, Refused: w.Refused}
				if w.Answer {
					x.Name = "fare"
				}
				if !w.Refused {
					var h hail
					k := rules.Messages[0].Payload
					k.Store(unsafe.Pointer(&h), w.Vals)
					x.Texts, x.Vals = []string{h.Text}, w.Vals[k.Props[1].At:]
				}
				words[fmt.Sprint(false, x.Name, x.Call, x.Refusal, x.Refused, x.Texts, x.Vals)]++
			}
		}
		talk := func(step int) {
			h := hail{Text: strings.Repeat("ahoj ", step%50), At: geom.Vec2{X: float64(step), Y: -2}, When: game.Tick(step)}
			if step%40 == 7 && client.Say(watched.c, hails, h) == nil {
				vals := make([]int64, rules.Messages[0].Payload.Sims)
				rules.Messages[0].Payload.Extract(unsafe.Pointer(&h), vals)
				words[fmt.Sprint(true, "hail", 0, "", false, []string{h.Text}, vals[rules.Messages[0].Payload.Props[1].At:])]++
			}
			if step%40 == 27 {
				if call, err := client.Ask(watched.c, fares, fare{To: step / 40 % 3}); err == nil {
					words[fmt.Sprint(true, "fare", call, "", false, []string(nil), []int64{int64(step / 40 % 3)})]++
				}
			}
		}
		var out server.Outbox
		steps := 600
		if testing.Short() {
			steps = 200
		}
		for step := range steps {
			now += clock.Time(s.Period())
			if step == steps/2 {
				s.Disconnect(players[2].p)
				join()
			}
			for _, p := range players {
				for len(p.up) > 0 && p.up[0].at <= step {
					s.Receive(p.p, now, p.up[0].data)
					p.up = p.up[1:]
				}
			}
			s.Begin(now)
			out.Reset()
			s.Encode(0, s.Clients(), &out)
			for i := range out.Len() {
				id, b := out.At(i)
				if r.IntN(12) > 0 {
					ids[id].down = append(ids[id].down, flight{step + 1 + r.IntN(5), append([]byte(nil), b...)})
				}
			}
			s.End()
			for _, p := range players {
				keep := p.down[:0]
				for _, f := range p.down {
					if f.at > step {
						keep = append(keep, f)
						continue
					}
					took := p.c.Stats().Received
					p.c.Receive(now, f.data)
					if frame(p.c); p != watched || p.c.Stats().Received == took {
						continue
					}
					text := told(t, d, f.data, d.Down)
					if err := agrees(d, p.c.Store(), rules.Kinds); err != nil {
						t.Fatalf("seed %d, datagram %d: %v, after\n%s", seed, packets, err, text)
					}
					packets++
					for _, m := range d.Messages {
						if m.Kind >= 64 && m.Kind < 255 {
							speak(m, false)
						}
					}
					for _, phrase := range phrases {
						said[phrase] += strings.Count(text, phrase)
					}
				}
				p.down = keep
				frame(p.c)
				if p == watched && step < steps-60 {
					talk(step)
				}
				if b := p.c.Encode(now); b != nil {
					if p == watched {
						said["report: "] += strings.Count(told(t, d, b, d.Up), "report: ")
						for _, m := range d.Spoken {
							speak(m, true)
						}
					}
					// For longer than anything is agreed on, nothing of the watched one's arrives:
					// then the viewer's record is named.
					silent := p == watched && step >= 400 && step < 500
					if r.IntN(12) > 0 && !silent {
						p.up = append(p.up, flight{step + 2, append([]byte(nil), b...)})
					}
				}
			}
		}
		if len(words) < 8 || !maps.Equal(words, spoken) {
			t.Errorf("seed %d: the document reads %v, said and heard was %v", seed, spoken, words)
		}
		for _, e := range d.Slots {
			if e != nil {
				for g := range e.Groups {
					states += len(e.Groups[g].States)
				}
			}
		}
		if st := watched.c.Stats(); st.Malformed != 0 {
			t.Errorf("seed %d: the client refused %d datagrams as malformed", seed, st.Malformed)
		}
	}
	t.Logf("%d datagrams, %d states in the end; %v", packets, states, said)
	if testing.Short() {
		return
	}
	if packets < 600 {
		t.Errorf("only %d datagrams", packets)
	}
	for _, phrase := range phrases {
		if said[phrase] == 0 {
			t.Errorf("no datagram says %q", phrase)
		}
	}
}

// phrases are what a Reader says of everything that a datagram may contain, but for what only a
// quiet match has: the example "differences".
var phrases = []string{
	"the slots are listed", "the slots of the datagram before, but for some", "not slot", "entry for slot",
	"an ordinary update: ", "an update: ", "a first sight", "gone: ", "must be forgotten", ", as it says",
	"by itself", "special, teleported", "moves since", "rests: true", "bound class 1\n", "bound class 0 still",
	"level 1\n", "level 0\n", "level 1 still", "beside the viewer in slot", "beside the viewer as of",
	"no place is coded beside",
	", near the viewer", ", not near the viewer", "quiet components as expected: true",
	"quiet components as expected: false", "silent components follow", "other properties than usual",
	"one property:", "properties:", "as expected\n", "from what is expected", "its owner's record",
	"exact: true", "exact: false", "the client's own: true", "spawned by no command", "as number 0", "as number 1",
	"events by its commands", "not settled; what commands", "settled\n", "event splash", "text ",
	"commands arrived up to", "the newest command that ran", "reliable section", "report: ",
}
