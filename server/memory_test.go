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
	memoryCrowd   = 300 // all walkers, those of clients among them
	memorySeen    = 250
)

// crowdRules is the game of that crowd; groups is 1 or 2.
func crowdRules(t testing.TB, groups, clients int) *game.Rules {
	t.Helper()
	if groups == 1 {
		return crowdOf(t, clients, game.NewKind[stroller]("stroller"),
			func(p *stroller) (*geom.Vec3, *geom.Angle) { return &p.Pos, &p.Yaw }, func(*game.World, game.ID, *stroller) {})
	}
	body := func(p *citizen) (*geom.Vec3, *geom.Angle) { return &p.Pos, &p.Yaw }
	return crowdOf(t, clients, game.NewKind[citizen]("citizen"), body,
		func(w *game.World, id game.ID, p *citizen) {
			if (uint64(w.Tick())+uint64(id)*7)%97 == 0 {
				p.Health = (p.Health + 13) % 101
			}
		})
}

// crowdOf is the game of a crowd of one kind with so many clients: body returns where a walker is,
// and change runs for each walker in every tick.
func crowdOf[T any](
	t testing.TB, clients int, kind game.Kind[T], body func(*T) (*geom.Vec3, *geom.Angle),
	change func(*game.World, game.ID, *T),
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
				if int(id) > clients {
					a := float64((uint64(id)*2654435761 + uint64(w.Tick())/64) % 7)
					walk(p, stroll{Move: geom.Vec2{X: geom.Cos(a), Y: geom.Sin(a)}, Aim: geom.Angle(a)}, w.Dt())
				}
				change(w, id, p)
			}
		},
		Referee: func(w *game.World) {
			for range memoryCrowd - kind.Len(w) {
				spawn(w)
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
	id     PlayerID
	recv   wire.Received
	seq    wire.Seq
	rng    geom.Rand
	flying []flyingPacket
	spare  []flyingPacket
}

type flyingPacket struct {
	at  clock.Tick
	seq wire.Seq // of a packet down, if up is nil
	up  []byte
}

// strollers are the clients of such a crowd, and the server.
type strollers struct {
	t       testing.TB
	s       *Server
	rules   *game.Rules
	walkers []*walker
	out     Outbox
	w       wire.BitWriter
	cmds    []packet.Command
	arrived []arrival
	tick    clock.Tick
	now     clock.Time
	loss    float64 // each way
	late    int     // ticks by which a packet may come later than another one
}

// arrival is a datagram that the server is to read.
type arrival struct {
	from PlayerID
	b    []byte
}

func newStrollers(t testing.TB, groups, clients, budget int) *strollers {
	t.Helper()
	return newStrollersOf(t, crowdRules(t, groups, clients), clients, budget)
}

func newStrollersOf(t testing.TB, rules *game.Rules, clients, budget int) *strollers {
	t.Helper()
	c := &strollers{t: t, rules: rules, cmds: make([]packet.Command, 8), loss: 0.02}
	var err error
	if c.s, err = New(c.rules, Config{Budget: budget}); err != nil {
		t.Fatal(err)
	}
	for i := range clients {
		id, _, err := c.s.Connect(0, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		p := &walker{id: id, seq: wire.FirstSeq - 1, rng: geom.NewRand(46, uint64(i), 1)}
		c.walkers = append(c.walkers, p)
	}
	for i := range c.cmds {
		c.cmds[i].Vals = make([]int64, c.rules.Command.Sims)
	}
	return c
}

// play plays for a span.
func (c *strollers) play(span time.Duration) {
	c.t.Helper()
	for range int(span / c.s.Period()) {
		c.arrive()
		c.serve()
		c.send()
		c.deliver()
	}
	seen := 0
	for _, p := range c.s.clients {
		n, _ := p.down.view.Count()
		seen += n
	}
	if n := len(c.walkers); seen/n < memorySeen {
		c.t.Fatalf("%d in sight, want %d", seen/n, memorySeen)
	}
}

// arrive lets arrive what is due in the next tick.
func (c *strollers) arrive() {
	c.tick++
	c.now = c.now.Add(c.s.Period())
	c.arrived = c.arrived[:0]
	for _, p := range c.walkers {
		keep := p.flying[:0]
		for _, f := range p.flying {
			switch {
			case f.at > c.tick:
				keep = append(keep, f)
				continue
			case f.up != nil:
				c.arrived = append(c.arrived, arrival{p.id, f.up})
			case p.recv.Accepts(f.seq):
				p.recv.Applied(f.seq)
			}
			p.spare = append(p.spare, f)
		}
		p.flying = keep
	}
}

// send sends the commands of all clients: twenty packets with what they repeat, a second.
func (c *strollers) send() {
	if c.tick%3 == 0 {
		return
	}
	for _, p := range c.walkers {
		p.seq++
		h := wire.Header{Seq: p.seq, Stamp: c.now.Stamp(), Elicits: true}
		h.Ack, h.HasAck = p.recv.Ack()
		for i := range c.cmds {
			cmd := &c.cmds[i]
			cmd.Tick = c.tick + clock.Tick(i)
			cmd.Seen, cmd.Newest = (cmd.Tick - min(cmd.Tick-1, 9)).Frac(), h.Ack.Latest
			turn := (int64(cmd.Tick)/20 + int64(p.id)*5) % 16
			cmd.Vals[0], cmd.Vals[1], cmd.Vals[2], cmd.Vals[3] = turn*8-64, 64-turn*4, turn*256, 0
			if (int(cmd.Tick)+int(p.id)*3)%600 == 0 {
				cmd.Vals[3] = 1
			}
		}
		var up []byte
		if n := len(p.spare); n > 0 {
			up = p.spare[n-1].up[:0]
			p.spare = p.spare[:n-1]
		}
		c.w.Reset(up)
		h.Append(&c.w, wire.Known{})
		packet.Uplink{}.Append(&c.w)
		packet.AppendCommands(&c.w, c.rules.Command, c.cmds, h.Ack)
		if !p.rng.Chance(c.loss) {
			p.flying = append(p.flying, flyingPacket{at: c.arrival(p), up: c.w.Bytes()})
		}
	}
}

// serve is what the server does in a tick.
func (c *strollers) serve() {
	for i := range c.arrived {
		c.s.Receive(c.arrived[i].from, c.now, c.arrived[i].b)
	}
	c.s.Begin(c.now)
	c.out.Reset()
	c.s.Encode(0, c.s.Clients(), &c.out)
	c.s.End()
}

// deliver sends what the server wrote on its way.
func (c *strollers) deliver() {
	for i := range c.out.Len() {
		id, b := c.out.At(i)
		p := c.walkers[id-1]
		if !p.rng.Chance(c.loss) {
			p.flying = append(p.flying, flyingPacket{at: c.arrival(p), seq: wire.SeqOf(b)})
		}
	}
	if f := c.s.Faults(); len(f) > 0 {
		c.t.Fatal(f)
	}
}

// arrival returns when a packet arrives that is sent now.
func (c *strollers) arrival(p *walker) clock.Tick {
	if c.late == 0 {
		return c.tick + 2
	}
	return c.tick + 2 + clock.Tick(p.rng.IntN(c.late+1))
}

// memoryOf plays for a span and returns how much heap a server keeps for each client: what becomes
// free when all of them are taken out. Their avatars stay: those belong to the world.
func memoryOf(t testing.TB, groups, budget int, span time.Duration) (perClient float64) {
	t.Helper()
	c := newStrollers(t, groups, memoryClients, budget)
	c.play(span)
	s := c.s
	before := heap()
	for len(s.clients) > 0 {
		s.Disconnect(s.clients[len(s.clients)-1].id)
	}
	s.clients, s.joins, s.quit = nil, nil, nil
	after := heap()
	runtime.KeepAlive(c)
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

// A tick of a crowd allocates nothing once all memory has grown: reading commands and
// acknowledgements, the rules, recording, losses and packets. Now and then something still grows
// for one of the clients.
func TestTicksAllocateNothing(t *testing.T) {
	c := newStrollers(t, 2, 40, DefaultBudget)
	c.play(12 * time.Second)
	const ticks = 60
	allocs := uint64(0)
	for range ticks {
		c.arrive()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.serve()
		runtime.ReadMemStats(&after)
		allocs += after.Mallocs - before.Mallocs
		c.send()
		c.deliver()
	}
	if allocs > ticks { // a packet each would be thirty times as many
		t.Errorf("%d allocations in %d ticks", allocs, ticks)
	}
}
