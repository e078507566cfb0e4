package server

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// ant is what players are, crumb what lies around, hive what everyone knows wherever it is.
type ant struct {
	Pos    geom.Vec2 `net:"pos"`
	Score  int       `net:"int,0..9999"`
	Name   string    `net:"text,16,ref"`
	Secret int       `net:"int,0..99,to=owner"`
}

type crumb struct {
	Pos  geom.Vec2 `net:"pos,1cm,wire=near"`
	Size int       `net:"int,0..99"`
}

type hive struct {
	Food int `net:"int,0..9999"`
}

type bite struct {
	Size int    `net:"int,0..99"`
	Text string `net:"text,12"`
}

type antCmd struct {
	Move geom.Vec2  `net:"stick,5bit"`
	Aim  geom.Angle `net:"angle,8bit"`
	Bite bool       `net:"press"`
	Push bool       `net:"bool"`
	Tool int        `net:"int,0..999"`
}

// Places of the command's integers.
const (
	moveAt, aimAt, biteAt, pushAt, toolAt = 0, 2, 3, 4, 5
	antCmdInts                            = 6
)

var (
	ants   = game.NewKind[ant]("ant")
	crumbs = game.NewKind[crumb]("crumb")
	hives  = game.NewKind[hive]("hive")
	bites  = game.NewEvent[bite]("bite")
	alarms = game.NewUrgentEvent[bite]("alarm")
)

// ran is one command as the rules saw it.
type ran struct {
	player game.ID
	tick   game.Tick
	c      antCmd
	moment float64
}

// nest is a world whose callbacks a test may fill in.
type nest struct {
	t       testing.TB
	s       *Server
	now     clock.Time
	out     Outbox
	ran     []ran // only if keep
	keep    bool
	queued  bool
	act     func(w *game.World, me game.ID, c antCmd)
	step    func(w *game.World)
	referee func(w *game.World)
	join    func(w *game.World, name string) game.ID
	heard   []string // squeaks and digs, with who sent them
}

func (n *nest) def() *game.Definition[antCmd] {
	return &game.Definition[antCmd]{
		Name: "nest", Rate: 20, Kinds: game.Kinds(ants, crumbs, hives), Events: game.Events(bites, alarms),
		Messages: game.Messages(squeaks.On(n.squeak), orders, digs.On(n.dig)),
		Join: func(w *game.World, name string) game.ID {
			if n.join != nil {
				return n.join(w, name)
			}
			return ants.Spawn(w, ant{Name: name, Pos: geom.Vec2{X: float64(ants.Len(w))}})
		},
		Act: func(w *game.World, me game.ID, c antCmd) {
			if n.keep {
				n.ran = append(n.ran, ran{me, w.Tick(), c, w.Moment()})
			}
			if n.act != nil {
				n.act(w, me, c)
				return
			}
			p := ants.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(w.Dt()))
		},
		Step: func(w *game.World) {
			if n.step != nil {
				n.step(w)
			}
		},
		Referee: func(w *game.World) {
			if n.referee != nil {
				n.referee(w)
			}
		},
	}
}

func newNest(t testing.TB, cfg Config) *nest { return newNestOf(t, cfg, game.Timed) }

func newNestOf(t testing.TB, cfg Config, mode game.CommandMode) *nest {
	t.Helper()
	n := &nest{t: t, queued: mode == game.Queued}
	d := n.def()
	d.Commands = mode
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, cfg); err != nil {
		t.Fatal(err)
	}
	return n
}

// tick computes one tick and hands each datagram to deliver, if that is not nil.
func (n *nest) tick(deliver func(p PlayerID, b []byte)) {
	n.now = n.now.Add(n.s.Period())
	n.s.Begin(n.now)
	n.out.Reset()
	n.s.Encode(0, n.s.Clients(), &n.out)
	for i := range n.out.Len() {
		if p, b := n.out.At(i); deliver != nil {
			deliver(p, b)
		}
	}
	n.s.End()
	if f := n.s.Faults(); len(f) > 0 {
		n.t.Fatal(f)
	}
}

// peer is the other side of a connection: just enough of a client.
type peer struct {
	n         *nest
	id        PlayerID
	welcome   session.Welcome
	recv      *wire.Incoming
	agreement wire.Agreement
	seq       wire.Seq
	store     *snapshot.Store
	lane      reliable.Receiver
	events    []reliable.Message
	texts     snapshot.Texts
	names     int // that arrived
	acked     clock.Tick
	ran       clock.Tick // newest queued command that ran
	slacks    []int64    // the least slack that each datagram reported, in 1/16 ticks
	dropped   int
	w         wire.BitWriter
	emitted   uint8      // Feedback.Events of the newest datagram
	spawned   clock.Tick // what its DecodeSpawned returned
	settled   bool
	receipts  []packet.Receipt // of the newest datagram
}

func (n *nest) connect(name string) *peer {
	n.t.Helper()
	id, w, err := n.s.Connect(n.now, name)
	if err != nil {
		n.t.Fatal(err)
	}
	return &peer{n: n, id: id, welcome: w, seq: wire.FirstSeq - 1, store: snapshot.NewStore(n.s.rules.Coders),
		recv: wire.NewIncoming(w.Tick, w.ServerTime, w.Period)}
}

// take applies one datagram.
func (p *peer) take(b []byte) wire.Header {
	var r wire.BitReader
	h, err := p.recv.Decode(&r, b)
	if errors.Is(err, wire.ErrDuplicate) {
		return h
	}
	if err != nil {
		p.n.t.Fatalf("datagram %x: %+v, %v", b, h, err)
	}
	rules := p.n.s.rules
	f := packet.DecodeFeedback(&r, h.Tick, rules.Feedback())
	p.receipts = f.Receipts.List[:f.Receipts.N]
	p.acked, p.ran, p.emitted = max(p.acked, f.Acked), max(p.ran, f.Ran), f.Events
	if f.HasSlack {
		p.slacks = append(p.slacks, int64(f.Slack))
	}
	agreed := uint64(0)
	if h.HasAck {
		agreed, _ = p.agreement.Agreed(h.Tick, h.Ack.Latest)
	}
	if err := p.store.Read(&r, h.Tick, agreed); err != nil {
		p.dropped++
		return h
	}
	if rules.Ahead() {
		newest := h.Tick
		if p.n.queued {
			newest = f.Ran
		}
		p.spawned, p.settled = packet.DecodeSpawned(&r, h.Tick, newest)
	}
	if rest := r.Rest(); len(rest) > 0 {
		if _, err := p.lane.Read(rest); err != nil {
			p.n.t.Fatal(err)
		}
	}
	for m, ok := p.lane.Next(); ok; m, ok = p.lane.Next() {
		if m.Kind == snapshot.TextMessage {
			if err := p.texts.Read(m.Body); err != nil {
				p.n.t.Fatal(err)
			}
			p.names++
			continue
		}
		m.Body = bytes.Clone(m.Body)
		p.events = append(p.events, m)
	}
	p.recv.Applied(&h)
	p.agreement.Applied(h.Tick, p.seq+1)
	return h
}

// packet encodes the next datagram.
func (p *peer) packet(cmds ...packet.Command) []byte {
	return p.packetWith(func(*wire.Header) {}, cmds...)
}

func (p *peer) packetWith(change func(h *wire.Header), cmds ...packet.Command) []byte {
	p.seq++
	h := wire.Header{Seq: p.seq, Stamp: p.n.now.Stamp(), Elicits: true}
	h.Ack, h.HasAck = p.recv.Ack()
	change(&h)
	p.w.Reset(nil)
	h.Append(&p.w, wire.Known{})
	packet.Uplink{}.Append(&p.w)
	packet.AppendCommands(&p.w, p.n.s.rules.Command, cmds, h.Ack)
	return p.w.Bytes()
}

func (p *peer) send(cmds ...packet.Command) { p.n.s.Receive(p.id, p.n.now, p.packet(cmds...)) }

func command(tick clock.Tick, c antCmd) packet.Command {
	vals := make([]int64, antCmdInts)
	vals[moveAt], vals[moveAt+1] = int64(c.Move.X*15), int64(c.Move.Y*15)
	vals[aimAt] = int64(float64(c.Aim) / (2 * 3.14159265358979) * 256)
	if c.Bite {
		vals[biteAt] = 1
	}
	if c.Push {
		vals[pushAt] = 1
	}
	vals[toolAt] = int64(c.Tool)
	return packet.Command{Tick: tick, Vals: vals}
}

func TestConfig(t *testing.T) {
	rules, err := new(nest).def().Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Clients: -1}, "server: Clients -1 is outside [1, 16384]"},
		{Config{Clients: MaxClients + 1}, "server: Clients 16385 is outside [1, 16384]"},
		{Config{Budget: 999}, "server: Budget 999 is outside [1000, 4194304] bytes a second"},
		{Config{Budget: MaxBudget + 1}, "server: Budget 4194305 is outside [1000, 4194304] bytes a second"},
		{Config{Rewind: MaxRewind + 1}, "server: Rewind 1.000000001s is above 1s"},
	} {
		if _, err := New(rules, c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	s, err := New(rules, Config{Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Connect(0, strings.Repeat("x", session.MaxName+1)); !errors.Is(err, ErrName) {
		t.Errorf("a long name: %v", err)
	}
	if _, _, err := s.Connect(0, "ann"); err != nil {
		t.Error(err)
	}
	full := "server: the world is full: 1 players of 1"
	if _, _, err := s.Connect(0, "bob"); !errors.Is(err, ErrFull) || err.Error() != full {
		t.Errorf("a full world: %v", err)
	}
}

func TestSetPeriodIsBounded(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for _, c := range []struct{ set, want time.Duration }{
		{time.Nanosecond, clock.MinPeriod}, {time.Hour, clock.MaxPeriod},
		{80*time.Millisecond + 7, 80 * time.Millisecond}, {50 * time.Millisecond, 0},
	} {
		n.s.SetPeriod(c.set)
		heard := false
		for range 3 {
			p.send()
			n.tick(func(_ PlayerID, b []byte) {
				heard = true
				if h := p.take(b); h.Period != c.want {
					t.Errorf("SetPeriod(%v): packets announce %v, want %v", c.set, h.Period, c.want)
				}
			})
		}
		if !heard {
			t.Fatal("no packet")
		}
	}
}

// A client that is silent for some seconds gets what it would get otherwise: an interruption of the
// way up shows nothing of the way down. One that speaks and acknowledges nothing is sent no more
// than may stand in queues, and each packet that waits is counted as choked; and silence is no
// licence for ever. (One is, before the first acknowledgement.)
//
// seeds: B14
func TestSilenceIsNoFullQueue(t *testing.T) {
	for _, heard := range []bool{false, true} {
		n := newNest(t, Config{})
		n.step = func(w *game.World) { // more than the budget reaches for
			for _, c := range crumbs.All(w) {
				c.Pos.X += 0.1 * float64(c.Size%7)
				c.Size = (c.Size + 29) % 100
			}
		}
		n.join = func(w *game.World, name string) game.ID {
			for i := range 150 {
				crumbs.Spawn(w, crumb{Pos: geom.Vec2{Y: float64(i)}, Size: i % 100})
			}
			return ants.Spawn(w, ant{Name: name})
		}
		p := n.connect("ann")
		type datagram struct {
			tick clock.Tick
			data []byte
		}
		var flying []datagram
		tick := func() (sent int) {
			n.tick(func(_ PlayerID, b []byte) {
				flying = append(flying, datagram{n.s.Tick(), slices.Clone(b)})
				sent++
			})
			return sent
		}
		for i := range 200 {
			trip := clock.Tick(3 + 6*(i/20%2)) // 150 or 450 ms
			for ; len(flying) > 0 && flying[0].tick+trip <= n.s.Tick()+1; flying = flying[1:] {
				p.take(flying[0].data)
			}
			p.send(command(n.s.Tick()+3, antCmd{Move: geom.Vec2{X: 1}}))
			tick()
		}
		usual, _ := n.s.Stats(p.id)
		sent := [2]int{} // in four and a half seconds, and in as many from the sixth on
		for i := range 2*90 + 30 {
			if heard {
				p.send(command(n.s.Tick()+3, antCmd{Move: geom.Vec2{X: 1}})) // acknowledging what had come
			}
			if got := tick(); i < 90 {
				sent[0] += got
			} else if i >= 120 {
				sent[1] += got
			}
		}
		st, _ := n.s.Stats(p.id)
		turns := st.Sent + st.Choked - usual.Sent - usual.Choked // a packet is due in every tick, and the budget is not spent
		t.Logf("heard %v: %d datagrams in 4.5 s, %d in as many later, choked %d before and %d since; %d turns",
			heard, sent[0], sent[1], usual.Choked, st.Choked, turns)
		if heard == (sent[0] == 90) || sent[0] < 20 || sent[1] < 10 || sent[1] > 45 || usual.Choked > 1 || turns != 210 {
			t.Errorf("heard %v: %d datagrams in 4.5 s, %d in as many later, choked %d before and %d since; %d turns",
				heard, sent[0], sent[1], usual.Choked, st.Choked, turns)
		}
	}
}

// An invalid datagram is counted by reason and changes nothing, neither for its sender nor for
// others.
//
// seeds: B20
func TestHostileDatagrams(t *testing.T) {
	run := func(hostile bool) (state string, drops Drops) {
		n := newNest(t, Config{})
		ann, eve := n.connect("ann"), n.connect("eve")
		var old []byte
		for i := range 60 {
			tick := n.s.Tick() + 3
			ann.send(command(tick, antCmd{Move: geom.Vec2{X: 1}, Tool: int(tick)}))
			b := eve.packet(command(tick, antCmd{Move: geom.Vec2{Y: 1}, Tool: 500}))
			n.s.Receive(eve.id, n.now, b)
			if hostile {
				for range 200 {
					n.s.Receive(eve.id, n.now, b) // a duplicate
				}
				n.s.Receive(99, n.now, b) // nobody
				for cut := range b {
					n.s.Receive(eve.id, n.now, b[:cut])
				}
				if old == nil {
					old = bytes.Clone(b)
				}
				n.s.Receive(eve.id, n.now, old) // from long ago
				claim := eve.packetWith(func(h *wire.Header) {
					h.HasAck, h.Ack = true, wire.Ack{Latest: 30000, History: ^uint64(0)} // never sent
				}, command(tick, antCmd{Tool: 666}))
				n.s.Receive(eve.id, n.now, claim)
				big := append(bytes.Clone(claim), make([]byte, wire.MaxDatagram)...)
				n.s.Receive(eve.id, n.now, big)
				if i%7 == 0 {
					n.s.Receive(eve.id, n.now, nil)
				}
			}
			n.tick(func(p PlayerID, b []byte) {
				if p == ann.id {
					ann.take(b)
				} else {
					eve.take(b)
				}
			})
		}
		for id, a := range ants.All(n.s.World()) {
			state += fmt.Sprintln(id, *a)
		}
		return state, n.s.Drops()
	}
	clean, none := run(false)
	if none != (Drops{}) {
		t.Errorf("honest clients: %+v", none)
	}
	dirty, drops := run(true)
	if dirty != clean {
		t.Errorf("hostile datagrams changed the world from\n%sto\n%s", clean, dirty)
	}
	if drops.Unknown != 60 || drops.Duplicate < 60*200 || drops.HostileAck != 60 ||
		drops.Malformed < 60*9 {
		t.Errorf("%+v", drops)
	}
}

// No second, wherever it begins, carries more than the budget, events and churn included; and
// everything becomes known even with the least budget.
func TestBudgetHoldsInAnySecond(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		budget := rapid.SampledFrom([]int{MinBudget, 1625, 3000, DefaultBudget, 50_000}).Draw(rt, "budget")
		n := newNest(t, Config{Budget: budget})
		things := rapid.IntRange(0, 120).Draw(rt, "things")
		noisy := rapid.Bool().Draw(rt, "noisy")
		n.referee = func(w *game.World) {
			for crumbs.Len(w) < things {
				crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: w.Rand().Range(-50, 50), Y: w.Rand().Range(-50, 50)}})
			}
			if !noisy || w.Tick() > 100 {
				return
			}
			for id, c := range crumbs.All(w) {
				c.Pos.X += 0.5
				if w.Rand().Chance(0.02) {
					w.Despawn(id)
				}
				if w.Rand().Chance(0.05) {
					bites.Emit(w, 0, c.Pos, bite{1, "a long text"})
				}
			}
		}
		peers := map[PlayerID]*peer{}
		for i := range 3 {
			p := n.connect(fmt.Sprint(i))
			peers[p.id] = p
		}
		type sent struct {
			at   clock.Time
			size int
		}
		log := map[PlayerID][]sent{}
		loss := rapid.IntRange(0, 3).Draw(rt, "loss")
		for range 100 + 400 {
			n.tick(func(id PlayerID, b []byte) {
				if len(b) > wire.MaxDatagram {
					rt.Fatalf("a datagram of %d bytes", len(b))
				}
				l := append(log[id], sent{n.now, len(b) + wire.Overhead})
				log[id] = l
				sum := 0
				for i := len(l) - 1; i >= 0 && n.now.Sub(l[i].at) < time.Second; i-- {
					if sum += l[i].size; sum > budget {
						rt.Fatalf("tick %d: %d bytes within a second, the budget is %d", n.s.Tick(), sum, budget)
					}
				}
				if n.s.Tick() > 100 || rapid.IntRange(0, 9).Draw(rt, "lost") >= loss {
					peers[id].take(b)
				}
			})
			for _, p := range peers { // any order: each is on its own
				p.send(command(n.s.Tick()+2, antCmd{}))
			}
		}
		for id, p := range peers {
			if got, want := len(p.store.Entities()), things+3; got != want {
				rt.Fatalf("budget %d: player %d knows %d of %d entities 20 s after all came to rest", budget, id, got, want)
			}
			if _, c := n.s.find(id); c.down.messages.Pending() > 0 {
				rt.Fatalf("budget %d: %d events are still queued", budget, c.down.messages.Pending())
			}
		}
	})
}

// The bytes do not depend on how clients are divided among workers, nor on their Outboxes.
func TestEncodeIsIndependentOfDivision(t *testing.T) {
	run := func(parts int) (all []string) {
		n := newNest(t, Config{})
		var peers []*peer
		for i := range 9 {
			peers = append(peers, n.connect(fmt.Sprint(i)))
		}
		outs := make([]Outbox, parts)
		for range 60 {
			for i, p := range peers {
				p.send(command(n.s.Tick()+2, antCmd{Move: geom.Vec2{X: float64(i % 2), Y: float64(i % 3)}.Unit()}))
			}
			n.now = n.now.Add(n.s.Period())
			n.s.Begin(n.now)
			total := n.s.Clients()
			for i := range outs {
				outs[i].Reset()
				n.s.Encode(total*i/parts, total*(i+1)/parts, &outs[i])
			}
			for i := range outs {
				for j := range outs[i].Len() {
					id, b := outs[i].At(j)
					all = append(all, fmt.Sprintf("%d %x", id, b))
					peers[id-1].take(b)
				}
			}
			n.s.End()
		}
		return all
	}
	want := run(1)
	for _, parts := range []int{2, 4, 9} {
		if got := run(parts); !slices.Equal(got, want) {
			t.Errorf("%d parts give other bytes than one", parts)
		}
	}
}

// A player who leaves and returns is another player: nothing of the old connection reaches the new
// one.
func TestDisconnectAndReturn(t *testing.T) {
	n := newNest(t, Config{})
	ann, bob := n.connect("ann"), n.connect("bob")
	for range 10 {
		ann.send(command(n.s.Tick()+2, antCmd{Tool: 1}))
		n.tick(nil)
	}
	flying := ann.packet(command(n.s.Tick()+2, antCmd{Tool: 666}))
	old := n.s.Avatar(ann.id)
	n.s.Disconnect(ann.id)
	n.s.Disconnect(ann.id) // twice is once
	again := n.connect("ann")
	if again.id == ann.id || again.welcome.Session == ann.welcome.Session {
		t.Errorf("player %d session %d, before %d and %d", again.id, again.welcome.Session, ann.id, ann.welcome.Session)
	}
	n.s.Receive(ann.id, n.now, flying)
	if d := n.s.Drops(); d.Unknown != 1 {
		t.Errorf("%+v", d)
	}
	n.keep = true
	for range 5 {
		n.tick(func(p PlayerID, b []byte) {
			if p == bob.id {
				bob.take(b)
			}
		})
		bob.send()
	}
	if ants.Has(n.s.World(), old) || ants.Len(n.s.World()) != 2 || n.s.Clients() != 2 {
		t.Errorf("%d ants, %d players", ants.Len(n.s.World()), n.s.Clients())
	}
	for _, r := range n.ran {
		if r.c.Tool == 666 || r.player == old {
			t.Errorf("ran %+v", r)
		}
	}
	if bob.store.Find(uint32(old)) != nil || bob.store.Find(uint32(n.s.Avatar(again.id))) == nil {
		t.Error("bob did not notice")
	}
	// A player who leaves before the next tick was never there.
	brief := n.connect("brief")
	n.s.Disconnect(brief.id)
	n.tick(nil)
	if ants.Len(n.s.World()) != 2 {
		t.Errorf("%d ants after a player who did not stay", ants.Len(n.s.World()))
	}
	for _, f := range []func(){
		func() { n.s.Disconnect(brief.id) }, func() { n.s.Dropped(brief.id, 1) }, func() { n.s.Receive(brief.id, 0, nil) },
	} {
		f()
	}
	if _, ok := n.s.Stats(brief.id); ok || n.s.Avatar(brief.id) != 0 || n.s.Heard(brief.id) != 0 ||
		n.s.View(brief.id) != nil {
		t.Error("there are facts about a player who is gone")
	}
}

// Three hundred players come and go all the time, and memory does not grow.
func TestChurnDoesNotGrow(t *testing.T) {
	n := newNest(t, Config{Clients: 300})
	n.s.rules.See = 60
	r := geom.NewRand(5)
	peers := map[PlayerID]*peer{}
	var order []PlayerID
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	turn := func() {
		for len(order) < 300 {
			p := n.connect("x")
			peers[p.id] = p
			order = append(order, p.id)
		}
		for range 10 {
			i := r.IntN(len(order))
			n.s.Disconnect(order[i])
			delete(peers, order[i])
			order = slices.Delete(order, i, i+1)
		}
		n.tick(func(id PlayerID, b []byte) {
			if p := peers[id]; p != nil && id%10 == 0 { // the others only take, or say nothing
				p.take(b)
				p.send(command(n.s.Tick()+2, antCmd{Move: geom.Vec2{X: 1}}))
			}
		})
	}
	for range snapshot.RewindTicks + 12 { // until memory of the dead is used again
		turn()
	}
	before, ents := heap(), n.s.hist.Len()
	for range 60 {
		turn()
	}
	after := heap()
	if n.s.Clients() != 290 || n.s.hist.Len() > ents+ents/10 {
		t.Errorf("%d players, entities from %d to %d", n.s.Clients(), ents, n.s.hist.Len())
	}
	if after > before+before/10 {
		t.Errorf("the heap grew from %d kB to %d kB", before>>10, after>>10)
	}
}

// The client repeats that it lost a baseline until the answer arrives: everything is sent anew once
// a round trip, not for each of its packets.
func TestResyncOncePerRoundTrip(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for range 20 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
	}
	v := n.s.View(p.id)
	for range 40 {
		n.s.Receive(p.id, n.now, p.packetWith(func(h *wire.Header) { h.Resync = true }))
	}
	if v.Resyncs != 1 {
		t.Errorf("%d times, want once", v.Resyncs)
	}
	for range 60 { // 3 s
		n.tick(nil)
		n.s.Receive(p.id, n.now, p.packetWith(func(h *wire.Header) { h.Resync = true }))
	}
	if v.Resyncs < 2 || v.Resyncs > 40 {
		t.Errorf("%d times in 3 s", v.Resyncs)
	}
}

func TestSilent(t *testing.T) {
	n := newNest(t, Config{})
	a, b := n.connect("a"), n.connect("b")
	n.tick(nil)
	a.send()
	if got := n.s.Silent(n.now.Add(Timeout), nil); len(got) != 1 || got[0] != b.id {
		t.Errorf("silent: %v, want only %d, which never spoke", got, b.id)
	}
	if n.s.Heard(a.id) != n.now || n.s.Heard(b.id) != 0 {
		t.Errorf("heard %v and %v", n.s.Heard(a.id), n.s.Heard(b.id))
	}
	if got := n.s.Silent(n.now.Add(Timeout+1), []PlayerID{7}); !slices.Equal(got, []PlayerID{7, a.id, b.id}) {
		t.Errorf("silent: %v", got)
	}
}

// A panic in a game's rules costs one command, is reported, and nothing else.
func TestFaults(t *testing.T) {
	n := newNest(t, Config{})
	p, q := n.connect("ann"), n.connect("bob")
	n.tick(nil)
	n.act = func(w *game.World, me game.ID, c antCmd) {
		a := ants.Get(w, me)
		a.Score++
		if c.Tool == 13 {
			panic("thirteen")
		}
	}
	p.send(command(2, antCmd{Tool: 13}))
	q.send(command(2, antCmd{Tool: 1}))
	n.now = n.now.Add(n.s.Period())
	n.s.Begin(n.now)
	n.s.End()
	f := n.s.Faults()
	want := `game: Act of game "nest" panicked at tick 2: thirteen (server/server_test.go:` // and a line
	if len(f) != 1 || !strings.HasPrefix(f[0].Error(), want) || len(n.s.Faults()) != 0 {
		t.Errorf("faults %v", f)
	}
	score := func(p *peer) int { return ants.Get(n.s.World(), n.s.Avatar(p.id)).Score }
	if a, b := score(p), score(q); a != 0 || b != 1 {
		t.Errorf("scores %d and %d, want 0 and 1", a, b)
	}
	n.act = func(w *game.World, me game.ID, c antCmd) { panic("always") }
	for range 200 {
		n.now = n.now.Add(n.s.Period())
		n.s.Begin(n.now)
		n.s.End()
	}
	if f := n.s.Faults(); len(f) != 100 {
		t.Errorf("%d faults are kept, want 100", len(f))
	}
}

// A steady tick allocates nothing, from Receive to End.
//
// seeds: R31
func TestSteadyTickAllocatesNothing(t *testing.T) {
	n := newNest(t, Config{Budget: 50_000})
	n.referee = func(w *game.World) {
		for crumbs.Len(w) < 30 {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: w.Rand().Range(-9, 9), Y: w.Rand().Range(-9, 9)}})
		}
	}
	n.act = func(w *game.World, me game.ID, c antCmd) {
		p := ants.Get(w, me)
		p.Pos = geom.Vec2{X: float64(w.Tick()%7) + float64(me), Y: float64(me)}
		for _, other := range ants.Seen(w, me) {
			p.Score = int(other.Pos.X*10) + 100
		}
		for id := range crumbs.All(w) {
			if w.Rand().Chance(0.001) {
				w.Despawn(id)
			}
		}
		if w.Tick()%5 == 0 {
			bites.Emit(w, me, p.Pos, bite{Size: 1})
		}
	}
	var peers []*peer
	for i := range 16 {
		peers = append(peers, n.connect(fmt.Sprint(i)))
	}
	cmds := make([]packet.Command, 16)
	var packets [16][]byte
	run := func(count bool) (allocs float64) {
		for i, p := range peers {
			cmds[i] = command(n.s.Tick()+2, antCmd{Move: geom.Vec2{X: 1}})
			packets[i] = p.packet(cmds[i])
		}
		tick := func() {
			for i, p := range peers {
				n.s.Receive(p.id, n.now, packets[i])
			}
			n.now = n.now.Add(n.s.Period())
			n.s.Begin(n.now)
			n.out.Reset()
			n.s.Encode(0, n.s.Clients(), &n.out)
			n.s.End()
		}
		if count {
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			tick()
			runtime.ReadMemStats(&b)
			allocs = float64(b.Mallocs - a.Mallocs)
		} else {
			tick()
		}
		for i := range n.out.Len() {
			id, b := n.out.At(i)
			peers[id-1].take(b)
			peers[id-1].events = nil
		}
		return allocs
	}
	for range 400 {
		run(false)
	}
	old := runtime.GOMAXPROCS(1) // others' allocations are not ours
	defer runtime.GOMAXPROCS(old)
	sum := 0.0
	for range 200 {
		sum += run(true)
	}
	if sum/200 >= 0.5 {
		t.Errorf("%.2f allocations in a tick of 16 players, want 0", sum/200)
	}
}
