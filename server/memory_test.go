package server

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// The crowd whose memory is measured walks in three dimensions. In the second world each walker
// also has a property that changes by itself.
type (
	stroller struct {
		Pos  geom.Vec3  `net:"pos,others=1cm"`
		Yaw  geom.Angle `net:"angle,8bit"`
		Ammo int        `net:"int,0..99,to=owner"`
	}
	citizen struct {
		Pos    geom.Vec3  `net:"pos,others=1cm"`
		Yaw    geom.Angle `net:"angle,8bit"`
		Health int        `net:"int,0..100,group=1"`
		Ammo   int        `net:"int,0..99,to=owner"`
	}
	stroll struct {
		Move geom.Vec2  `net:"stick,8bit"`
		Aim  geom.Angle `net:"angle,12bit"`
		Fire bool       `net:"press"`
	}
	shot struct {
		Aim geom.Angle `net:"angle,8bit"`
	}
)

const (
	memoryClients = 200
	memoryOthers  = 100
	memorySeen    = 250
)

// crowdRules is the game of that crowd; groups is 1 or 2.
func crowdRules(t testing.TB, groups int) *game.Rules {
	t.Helper()
	if groups == 1 {
		return crowdOf(t, game.NewKind[stroller]("stroller"),
			func(p *stroller) (*geom.Vec3, *geom.Angle) { return &p.Pos, &p.Yaw }, func(*game.World, game.ID, *stroller) {})
	}
	body := func(p *citizen) (*geom.Vec3, *geom.Angle) { return &p.Pos, &p.Yaw }
	return crowdOf(t, game.NewKind[citizen]("citizen"), body,
		func(w *game.World, id game.ID, p *citizen) {
			if (uint64(w.Tick())+uint64(id)*7)%97 == 0 {
				p.Health = (p.Health + 13) % 101
			}
		})
}

// crowdOf is the game of a crowd of one kind: body returns where a walker is, and change runs for
// each walker in every tick.
func crowdOf[T any](
	t testing.TB, kind game.Kind[T], body func(*T) (*geom.Vec3, *geom.Angle), change func(*game.World, game.ID, *T),
) *game.Rules {
	t.Helper()
	shots := game.NewEvent[shot]("shot")
	spawn := func(w *game.World) game.ID {
		var p T
		pos, _ := body(&p)
		r := w.Rand()
		*pos = geom.Vec3{X: r.Range(-80, 80), Y: r.Range(-80, 80)}
		return kind.Spawn(w, p)
	}
	walk := func(p *T, c stroll, dt float64) (at geom.Vec3) {
		pos, yaw := body(p)
		*yaw = c.Aim
		pos.X += float64(c.Move.X*3) * dt
		pos.Y += float64(c.Move.Y*3) * dt
		return *pos
	}
	seen := 0
	d := game.Definition[stroll]{
		Name: "crowd", Rate: 30, Send: 20, See: memorySeen, Kinds: game.Kinds(kind), Events: game.Events(shots),
		Join: func(w *game.World, name string) game.ID { return spawn(w) },
		Act: func(w *game.World, me game.ID, c stroll) {
			at := walk(kind.Get(w, me), c, w.Dt())
			if !c.Fire {
				return
			}
			shots.Emit(w, me, geom.Vec2{X: at.X, Y: at.Y}, shot{Aim: c.Aim})
			for range kind.Seen(w, me) {
				seen++
			}
		},
		Step: func(w *game.World) {
			for id, p := range kind.All(w) {
				if id > memoryClients {
					a := float64((uint64(id)*2654435761 + uint64(w.Tick())/64) % 7)
					walk(p, stroll{Move: geom.Vec2{X: geom.Cos(a), Y: geom.Sin(a)}, Aim: geom.Angle(a)}, w.Dt())
				}
				change(w, id, p)
			}
		},
		Referee: func(w *game.World) {
			if kind.Len(w) == memoryClients {
				for range memoryOthers {
					spawn(w)
				}
			}
		},
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// walker is the far end of one connection: packets take three ticks each way, and one in fifty is
// lost.
type walker struct {
	id      PlayerID
	session uint16
	recv    wire.Received
	seq     wire.Seq
	rng     geom.Rand
	flying  []flyingPacket
	spare   []flyingPacket
}

type flyingPacket struct {
	at  clock.Tick
	seq wire.Seq // of a packet down, if up is nil
	up  []byte
}

// memoryOf plays for a span and returns how much heap a server keeps for each client: what becomes
// free when all of them are taken out. Their avatars stay: those belong to the world.
func memoryOf(t testing.TB, groups, budget int, span time.Duration) (perClient float64) {
	t.Helper()
	rules := crowdRules(t, groups)
	s, err := New(rules, Config{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	var walkers []*walker
	for i := range memoryClients {
		id, w, err := s.Connect(0, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		p := &walker{id: id, session: w.Session, seq: wire.FirstSeq - 1, rng: geom.NewRand(46, uint64(i), 1)}
		walkers = append(walkers, p)
	}
	var out Outbox
	var w wire.BitWriter
	now := clock.Time(0)
	cmds := make([]packet.Command, 8)
	for i := range cmds {
		cmds[i].Vals = make([]int64, rules.Command.Sims)
	}
	for tick := clock.Tick(1); tick <= clock.Tick(span/s.Period()); tick++ {
		now = now.Add(s.Period())
		for _, p := range walkers {
			keep := p.flying[:0]
			for _, f := range p.flying {
				switch {
				case f.at > tick:
					keep = append(keep, f)
					continue
				case f.up != nil:
					s.Receive(p.id, now, f.up)
				case p.recv.Accepts(f.seq):
					p.recv.Applied(f.seq)
				}
				p.spare = append(p.spare, f)
			}
			p.flying = keep
			if tick%3 != 0 { // twenty packets with what they repeat, a second
				p.seq++
				h := wire.Header{Session: p.session, Seq: p.seq, Stamp: now.Stamp(), Elicits: true}
				h.Ack, h.HasAck = p.recv.Ack()
				for i := range cmds {
					c := &cmds[i]
					c.Tick = tick + clock.Tick(i)
					c.Seen, c.Newest = (c.Tick - min(c.Tick-1, 9)).Frac(), h.Ack.Latest
					turn := (int64(c.Tick)/20 + int64(p.id)*5) % 16
					c.Vals[0], c.Vals[1], c.Vals[2], c.Vals[3] = turn*8-64, 64-turn*4, turn*256, 0
					if (int(c.Tick)+int(p.id)*3)%600 == 0 {
						c.Vals[3] = 1
					}
				}
				var up []byte
				if n := len(p.spare); n > 0 {
					up = p.spare[n-1].up[:0]
					p.spare = p.spare[:n-1]
				}
				w.Reset(h.Append(up))
				packet.Uplink{}.Append(&w)
				packet.AppendCommands(&w, rules.Command, cmds, h.Ack.Latest)
				if !p.rng.Chance(0.02) {
					p.flying = append(p.flying, flyingPacket{at: tick + 2, up: w.Bytes()})
				}
			}
		}
		s.Begin(now)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		for i := range out.Len() {
			id, b := out.At(i)
			p := walkers[id-1]
			h, _, err := wire.DecodeHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			if !p.rng.Chance(0.02) {
				p.flying = append(p.flying, flyingPacket{at: tick + 2, seq: h.Seq})
			}
		}
		s.End()
		if f := s.Faults(); len(f) > 0 {
			t.Fatal(f)
		}
	}
	seen := 0
	for _, c := range s.clients {
		n, _ := c.down.view.Count()
		seen += n
	}
	if seen/memoryClients < memorySeen {
		t.Fatalf("%d in sight, want %d", seen/memoryClients, memorySeen)
	}
	before := heap()
	for len(s.clients) > 0 {
		s.Disconnect(s.clients[len(s.clients)-1].id)
	}
	s.clients, s.joins, s.quit = nil, nil, nil
	after := heap()
	runtime.KeepAlive(walkers)
	runtime.KeepAlive(&out)
	return float64(before-after) / memoryClients
}

// heap returns the bytes of what can be reached.
func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkClientMemory is what a server keeps for each of 200 clients with 250 entities in sight
// each, after a minute of play: everything but the transport and the world that all share.
func BenchmarkClientMemory(b *testing.B) {
	for _, budget := range []int{13, 64} {
		for groups := 1; groups <= 2; groups++ {
			b.Run(fmt.Sprintf("kbit=%d/groups=%d", budget, groups), func(b *testing.B) {
				sum := 0.0
				for range b.N {
					sum += memoryOf(b, groups, budget*1000/8, time.Minute)
				}
				b.ReportMetric(sum/float64(b.N), "B/client")
			})
		}
	}
}
