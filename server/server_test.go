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
	"unsafe"

	"pgregory.net/rapid"

	"meanwhile/clock"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/lane"
	"meanwhile/motion"
	"meanwhile/schema"
	"meanwhile/session"
	"meanwhile/snapshot"
	"meanwhile/wire"
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
}

func (n *nest) def() *game.Definition[antCmd] {
	return &game.Definition[antCmd]{
		Name: "nest", Rate: 20, Kinds: game.Kinds(ants, crumbs, hives), Events: game.Events(bites, alarms),
		Join: func(w *game.World, name string) game.ID {
			if n.join != nil {
				return n.join(w, name)
			}
			return ants.Spawn(w, ant{Name: name, Pos: geom.Vec2{X: float64(ants.Len(w))}})
		},
		Act: func(w *game.World, me game.ID, c antCmd) {
			if n.keep {
				n.ran = append(n.ran, ran{me, w.Tick(), c})
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
	recv      wire.Received
	agreement wire.Agreement
	seq       wire.Seq
	store     *snapshot.Store
	lane      lane.Receiver
	events    []lane.Message
	texts     snapshot.Texts
	told      int // names that it was told
	acked     clock.Tick
	ran       clock.Tick // newest queued command that ran
	slacks    []int64    // what each datagram said of the least slack, in 1/16 ticks
	dropped   int
	w         wire.BitWriter
}

func (n *nest) connect(name string) *peer {
	n.t.Helper()
	id, w, err := n.s.Connect(n.now, name)
	if err != nil {
		n.t.Fatal(err)
	}
	return &peer{n: n, id: id, welcome: w, seq: wire.FirstSeq - 1, store: snapshot.NewStore(n.s.rules.Kinds)}
}

// take applies one datagram.
func (p *peer) take(b []byte) wire.Header {
	h, at, err := wire.DecodeHeader(b)
	if err != nil || !h.Server || h.Session != p.welcome.Session {
		p.n.t.Fatalf("datagram %x: %+v, %v", b, h, err)
	}
	if !p.recv.Accepts(h.Seq) {
		return h
	}
	var r wire.BitReader
	r.Reset(b[at:])
	if r.Bool() {
		p.acked = max(p.acked, clock.Tick(int64(h.Tick)-r.Varint(4)))
	}
	if r.Bool() {
		p.slacks = append(p.slacks, r.Varint(5))
	}
	r.Bits(4)
	if p.n.queued && r.Bool() {
		p.ran = h.Tick - clock.Tick(r.Varint(3))
	}
	agreed := uint64(0)
	if h.HasAck {
		agreed, _ = p.agreement.Agreed(h.Tick, h.Ack.Latest)
	}
	if err := p.store.Read(&r, h.Tick, agreed); err != nil {
		p.dropped++
		return h
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
			p.told++
			continue
		}
		m.Body = bytes.Clone(m.Body)
		p.events = append(p.events, m)
	}
	p.recv.Applied(h.Seq)
	p.agreement.Applied(h.Tick, p.seq+1)
	return h
}

// packet encodes the next datagram.
func (p *peer) packet(cmds ...game.Command) []byte {
	return p.packetWith(func(*wire.Header) {}, cmds...)
}

func (p *peer) packetWith(change func(h *wire.Header), cmds ...game.Command) []byte {
	p.seq++
	h := wire.Header{Session: p.welcome.Session, Seq: p.seq, Stamp: p.n.now.Stamp(), Elicits: true}
	h.Ack, h.HasAck = p.recv.Ack()
	change(&h)
	p.w.Reset(h.Append(nil))
	game.Uplink{}.Append(&p.w)
	game.AppendCommands(&p.w, p.n.s.rules.Command, cmds, h.Ack.Latest)
	return p.w.Bytes()
}

func (p *peer) send(cmds ...game.Command) { p.n.s.Receive(p.id, p.n.now, p.packet(cmds...)) }

func command(tick clock.Tick, c antCmd) game.Command {
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
	return game.Command{Tick: tick, Vals: vals}
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
		{Config{Clients: -1}, "server: Clients -1 is outside [1, 4096]"},
		{Config{Clients: MaxClients + 1}, "server: Clients 4097 is outside [1, 4096]"},
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
	if _, _, err := s.Connect(0, "bob"); !errors.Is(err, ErrFull) || err.Error() != "server: the world is full: 1 players of 1" {
		t.Errorf("a full world: %v", err)
	}
}

func TestSetPeriodIsBounded(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for _, c := range []struct{ set, want time.Duration }{
		{time.Nanosecond, clock.MinPeriod}, {time.Hour, clock.MaxPeriod}, {80*time.Millisecond + 7, 80 * time.Millisecond}, {50 * time.Millisecond, 0},
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

// Whatever is lost, repeated or reordered, as long as no gap is longer than what commands precede their tick by: each command
// is run once, at its tick, in order, unchanged.
//
// seeds: P1 P6
func TestEachCommandRunsOnceInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := newNest(t, Config{})
		n.keep = true
		p := n.connect("ann")
		for range 3 {
			n.tick(nil)
		}
		lead := clock.Tick(rapid.IntRange(2, 30).Draw(rt, "lead"))
		first := n.s.Tick() + lead + 1
		var made []game.Command
		var held [][]byte
		gap := clock.Tick(0)
		for range 60 {
			tick := n.s.Tick() + lead + 1
			made = append(made, command(tick, antCmd{Tool: int(tick), Bite: rapid.Bool().Draw(rt, "bite")}))
			from := 0
			for from < len(made) && made[from].Tick <= p.acked {
				from++
			}
			b := p.packet(made[max(from, len(made)-40):]...)
			lost := gap+1 < lead && rapid.IntRange(0, 2).Draw(rt, "lost") == 0
			if gap++; !lost {
				gap = 0
				n.s.Receive(p.id, n.now, b)
			}
			if rapid.IntRange(0, 4).Draw(rt, "hold") == 0 {
				held = append(held, b)
			}
			if len(held) > 0 && rapid.Bool().Draw(rt, "late") { // again, or out of order
				i := rapid.IntRange(0, len(held)-1).Draw(rt, "which")
				n.s.Receive(p.id, n.now, held[i])
			}
			n.ran = n.ran[:0]
			n.tick(func(_ PlayerID, b []byte) {
				if rapid.Bool().Draw(rt, "hears") {
					p.take(b)
				}
			})
			if len(n.ran) != 1 || n.ran[0].tick != n.s.Tick() {
				rt.Fatalf("tick %d ran %+v", n.s.Tick(), n.ran)
			}
			if i := n.s.Tick() - first; n.s.Tick() >= first {
				if got, want := n.ran[0].c, made[i]; got.Tool != int(want.Tick) || got.Bite != (want.Vals[biteAt] == 1) {
					rt.Fatalf("tick %d ran %+v, sent was %+v", n.s.Tick(), got, want)
				}
			}
		}
		if st, _ := n.s.Stats(p.id); st.Late != 0 || st.TooEarly != 0 || st.Moved != 0 {
			rt.Fatalf("%+v", st)
		}
	})
}

// A press that comes too late for its tick is run at the next, once, with what it was aimed at and with and with the view it
// was made in; the movement is that of now.
func TestLatePressKeepsItsAim(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("ann")
	for range 30 {
		n.tick(nil)
	}
	late := command(n.s.Tick()-2, antCmd{Bite: true, Tool: 7, Move: geom.Vec2{X: 1}, Push: true})
	late.Vals[aimAt], late.Seen, late.Newest = 99, late.Tick.Frac()-100, 0
	own := command(n.s.Tick()+1, antCmd{Tool: 1, Move: geom.Vec2{Y: 1}})
	own.Vals[aimAt] = 12
	p.send(late)
	p.send(late, command(late.Tick+1, antCmd{}), command(late.Tick+2, antCmd{}), own) // repeated, as packets do
	n.ran = nil
	n.tick(nil)
	if len(n.ran) != 1 {
		t.Fatalf("ran %+v", n.ran)
	}
	want := antCmd{Bite: true, Tool: 7, Move: geom.Vec2{Y: 1}, Aim: n.ran[0].c.Aim}
	if got := n.ran[0].c; got != want || int(float64(got.Aim)/6.283185307*256+256.5)%256 != 99 {
		t.Errorf("ran %+v, want %+v with the late aim", got, want)
	}
	_, c := n.s.find(p.id)
	if c.s.seer.receipt.Stated != late.Seen || c.s.seer.receipt.Reason != 0 {
		t.Errorf("judged by %+v, want the view of the late press, %d", c.s.seer.receipt, late.Seen)
	}
	st, _ := n.s.Stats(p.id)
	if st.Moved != 1 || st.Late != 3 || st.LastStarved != n.s.Tick() {
		t.Errorf("%+v", st)
	}
	n.ran = nil
	n.tick(nil)
	if n.ran[0].c.Bite {
		t.Error("the press was run twice")
	}

	for range 5 {
		n.tick(nil)
	}
	// Two late presses: the first counts. One that is older than game.LatePress does not.
	a, b := command(n.s.Tick()-1, antCmd{Bite: true, Tool: 3}), command(n.s.Tick(), antCmd{Bite: true, Tool: 4})
	old := command(n.s.Tick()-6, antCmd{Bite: true, Tool: 5}) // 6 ticks of 50 ms
	p.send(old)
	p.send(a, b)
	n.ran = nil
	n.tick(nil)
	if got := n.ran[0].c; !got.Bite || got.Tool != 3 {
		t.Errorf("ran %+v, want tool 3", got)
	}
}

// A press that waits for an avatar is not run long after it was made.
func TestLatePressDoesNotOutliveItsTime(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for range 10 {
		n.tick(nil)
	}
	p.send(command(n.s.Tick(), antCmd{Bite: true}))
	_, c := n.s.find(p.id)
	avatar := c.avatar
	c.avatar = 0 // as where the rules have taken it away
	for range 7 {
		n.tick(nil)
	}
	c.avatar, n.keep = avatar, true
	n.tick(nil)
	if len(n.ran) != 1 || n.ran[0].c.Bite {
		t.Errorf("ran %+v", n.ran)
	}
}

// Without commands the last movement goes on for RepeatFor, without presses, and then everything is let go.
func TestStarvation(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("ann")
	for range 5 {
		n.tick(nil)
	}
	p.send(command(n.s.Tick()+1, antCmd{Move: geom.Vec2{X: 1}, Bite: true, Push: true, Tool: 5}))
	n.ran = nil
	for range 12 {
		n.tick(nil)
	}
	for i, r := range n.ran {
		want := antCmd{Move: geom.Vec2{X: 1}, Push: true, Tool: 5, Bite: i == 0}
		if i > 5 { // 250 ms are 5 ticks
			want = antCmd{Tool: 5}
		}
		if r.c != want {
			t.Errorf("%d ticks after the last command: %+v, want %+v", i, r.c, want)
		}
	}
	if st, _ := n.s.Stats(p.id); st.Starved != 4+11 || st.LastStarved != n.s.Tick() { // Join's tick runs no command
		t.Errorf("%+v", st)
	}

	// One who says that nothing changes is not starved.
	p.n.s.Receive(p.id, n.now, p.packetWith(func(h *wire.Header) { h.Idle = true }, command(n.s.Tick()+1, antCmd{Tool: 6})))
	before, _ := n.s.Stats(p.id)
	n.ran = nil
	for range 40 {
		n.tick(nil)
	}
	if st, _ := n.s.Stats(p.id); st.Starved != before.Starved || n.ran[39].c.Tool != 6 {
		t.Errorf("idle: %d ticks starved, ran %+v", st.Starved-before.Starved, n.ran[39].c)
	}
	// What breaks the silence may be late: it counts all the same, and what it does not say was as promised.
	press := command(n.s.Tick()-1, antCmd{Bite: true, Tool: 8})
	p.send(press)
	n.ran = nil
	n.tick(nil)
	if got := n.ran[0].c; !got.Bite || got.Tool != 8 {
		t.Errorf("the first press after idleness: %+v", got)
	}
	if p.send(press); p.acked > press.Tick {
		t.Errorf("acknowledged up to %d, sent was %d", p.acked, press.Tick)
	}
}

// A tick that was run on someone's word that nothing changes is not acknowledged before something later arrived: a command of that
// tick may be on its way, and lost.
func TestIdleTicksAreNotAcknowledged(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for range 5 {
		n.tick(nil)
	}
	last := n.s.Tick() + 1
	n.s.Receive(p.id, n.now, p.packetWith(func(h *wire.Header) { h.Idle = true }, command(last, antCmd{})))
	for range 20 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
		_, c := n.s.find(p.id)
		c.idle = true
	}
	if p.acked > last {
		t.Errorf("tick %d is acknowledged, the newest command was of tick %d", p.acked, last)
	}
	to := n.s.Tick() + 1
	p.send(command(to, antCmd{}))
	for range 3 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send()
	}
	if p.acked < to {
		t.Errorf("acknowledged up to %d, want %d: idle ticks in between are no gap", p.acked, to)
	}
}

// What the edge sends in the server's place is of the same budget.
func TestSpentCounts(t *testing.T) {
	n := newNest(t, Config{Budget: MinBudget})
	p := n.connect("ann")
	n.tick(nil)
	for range 20 {
		n.s.Spent(p.id, n.now, MinBudget/20-wire.Overhead)
	}
	n.s.Spent(99, n.now, 1) // nobody
	first, began := 0, n.s.Tick()
	for range 30 {
		p.send(command(n.s.Tick()+3, antCmd{Move: geom.Vec2{X: 1}}))
		n.tick(func(PlayerID, []byte) {
			if first == 0 {
				first = int(n.s.Tick() - began)
			}
		})
	}
	if st, _ := n.s.Stats(p.id); first < 20 || st.MaxWindow > MinBudget {
		t.Errorf("the next datagram came %d ticks of 20 a second later; %d bytes in one second of %d", first, st.MaxWindow, MinBudget)
	}
}

// What a lost datagram said of how late commands came is said again as soon as it is known to be lost, once.
func TestSlackIsReportedAgain(t *testing.T) {
	n := newNest(t, Config{})
	p := n.connect("ann")
	for i := range 80 {
		tick := n.s.Tick() + 3
		if i != 40 { // that of its tick comes two ticks late, with the next one
			p.send(command(tick, antCmd{}))
		} else {
			p.send()
		}
		if i == 45 {
			p.send(command(tick-5, antCmd{}), command(tick-4, antCmd{}), command(tick-3, antCmd{}), command(tick-2, antCmd{}),
				command(tick-1, antCmd{}), command(tick, antCmd{}))
		}
		n.tick(func(_ PlayerID, b []byte) {
			if i != 45 { // the datagram that reports it is lost
				p.take(b)
			}
		})
	}
	told := 0
	for _, s := range p.slacks {
		if s == -2*16 {
			told++
		} else if s != 3*16 {
			t.Errorf("a slack of %d/16 ticks", s)
		}
	}
	if told != 1 {
		t.Errorf("of the command that was two ticks late the client was told %d times", told)
	}
}

// A client of which nothing is heard for some seconds gets what it would get otherwise: that the way up is interrupted says nothing of the way down.
// One that is heard and acknowledges nothing is sent no more than may stand in queues; and silence is no licence for ever.
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
		var flying [][]byte
		tick := func() (sent int) {
			n.tick(func(_ PlayerID, b []byte) {
				flying = append(flying, slices.Clone(b))
				sent++
			})
			return sent
		}
		for i := range 200 {
			for trip := 3 + 6*(i/20%2); len(flying) > trip; flying = flying[1:] { // 150 or 450 ms
				p.take(flying[0])
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
		t.Logf("heard %v: %d datagrams in 4.5 s, %d in as many later, %d held back before", heard, sent[0], sent[1], usual.Choked)
		if heard == (sent[0] == 90) || sent[0] < 20 || sent[1] < 10 || sent[1] > 45 || usual.Choked > 0 {
			t.Errorf("heard %v: %d datagrams in 4.5 s, %d in as many later, %d held back before", heard, sent[0], sent[1], usual.Choked)
		}
	}
}

func TestTooEarlyIsRefused(t *testing.T) {
	n := newNest(t, Config{})
	n.keep = true
	p := n.connect("ann")
	for range 5 {
		n.tick(nil)
	}
	p.send(command(n.s.Tick()+MaxAhead, antCmd{Tool: 1}), command(n.s.Tick()+MaxAhead+1, antCmd{Tool: 2}))
	p.send(command(1<<32-1, antCmd{Tool: 3}))
	if st, _ := n.s.Stats(p.id); st.TooEarly != 2 {
		t.Errorf("%d too early, want 2", st.TooEarly)
	}
	tools := 0
	for range 3 * MaxAhead {
		n.tick(nil)
		tools = max(tools, n.ran[len(n.ran)-1].c.Tool)
	}
	if tools != 1 {
		t.Errorf("tool %d was run", tools)
	}
}

// Whose command is first rotates from tick to tick, so that nobody always wins a tie.
func TestOrderOfActRotates(t *testing.T) {
	n := newNest(t, Config{})
	for i := range 5 {
		n.connect(fmt.Sprint(i))
	}
	n.tick(nil)
	n.keep = true
	firsts := map[game.ID]int{}
	for range 50 {
		n.ran = n.ran[:0]
		n.tick(nil)
		if len(n.ran) != 5 {
			t.Fatalf("%d commands", len(n.ran))
		}
		firsts[n.ran[0].player]++
	}
	for id := game.ID(1); id <= 5; id++ {
		if firsts[id] != 10 {
			t.Errorf("player %d was first %d times of 50, want 10", id, firsts[id])
		}
	}
}

// Everything that is wrong with a datagram is counted by reason and changes nothing, neither for its sender nor for others.
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
				other := bytes.Clone(b)
				other[1]++ // another session
				n.s.Receive(eve.id, n.now, other)
				n.s.Receive(ann.id, n.now, b) // of another player
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
				server := eve.packetWith(func(h *wire.Header) { h.Server = true })
				n.s.Receive(eve.id, n.now, server)
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
	if drops.Unknown != 60 || drops.Session < 60 || drops.Duplicate < 60*200 || drops.HostileAck != 60 || drops.Malformed < 60*9 {
		t.Errorf("%+v", drops)
	}
}

// No second, wherever it begins, carries more than the budget, events and churn included; and with the least of budgets still
// everything becomes known.
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
			if _, c := n.s.find(id); c.lane.Pending() > 0 {
				rt.Fatalf("budget %d: %d events are still queued", budget, c.lane.Pending())
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

// One who leaves and returns is another player: nothing of the old connection reaches the new one.
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
	n.s.Receive(again.id, n.now, flying)
	if d := n.s.Drops(); d.Unknown != 1 || d.Session != 1 {
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
	if ants.Has(n.s.World(), old) || ants.Len(n.s.World()) != 2 || n.s.Players() != 2 {
		t.Errorf("%d ants, %d players", ants.Len(n.s.World()), n.s.Players())
	}
	for _, r := range n.ran {
		if r.c.Tool == 666 || r.player == old {
			t.Errorf("ran %+v", r)
		}
	}
	if bob.store.Find(uint32(old)) != nil || bob.store.Find(uint32(n.s.Avatar(again.id))) == nil {
		t.Error("bob did not notice")
	}
	// One who leaves before the next tick was never there.
	brief := n.connect("brief")
	n.s.Disconnect(brief.id)
	n.tick(nil)
	if ants.Len(n.s.World()) != 2 {
		t.Errorf("%d ants after one who did not stay", ants.Len(n.s.World()))
	}
	for _, f := range []func(){
		func() { n.s.Disconnect(brief.id) }, func() { n.s.Dropped(brief.id, 1) }, func() { n.s.Receive(brief.id, 0, nil) },
	} {
		f()
	}
	if _, ok := n.s.Stats(brief.id); ok || n.s.Avatar(brief.id) != 0 || n.s.Heard(brief.id) != 0 || n.s.Session(brief.id) != 0 || n.s.View(brief.id) != nil {
		t.Error("facts about one who is gone")
	}
}

// Three hundred players come and go all the time, and nothing grows.
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
	for range snapshot.HistoryTicks + 12 { // until memory of the dead is used again
		turn()
	}
	before, ents := heap(), n.s.hist.Len()
	for range 60 {
		turn()
	}
	after := heap()
	if n.s.Players() != 290 || n.s.hist.Len() > ents+ents/10 {
		t.Errorf("%d players, entities from %d to %d", n.s.Players(), ents, n.s.hist.Len())
	}
	if after > before+before/10 {
		t.Errorf("the heap grew from %d kB to %d kB", before>>10, after>>10)
	}
}

// A world in which nothing has a place: everyone knows everything, events too.
func TestWorldWithoutPlaces(t *testing.T) {
	n := newNest(t, Config{})
	n.join = func(w *game.World, name string) game.ID { return hives.Spawn(w, hive{}) }
	n.act = func(w *game.World, me game.ID, c antCmd) {
		hives.Get(w, me).Food++
		if c.Bite {
			bites.Emit(w, me, geom.Vec2{X: 1e12, Y: -1e12}, bite{3, "far"})
		}
	}
	a, b := n.connect("a"), n.connect("b")
	for i := range 40 {
		cmd := antCmd{Bite: i == 20}
		a.send(command(n.s.Tick()+1, cmd))
		b.send()
		n.tick(func(id PlayerID, data []byte) {
			if id == a.id {
				a.take(data)
			} else {
				b.take(data)
			}
		})
	}
	for _, p := range []*peer{a, b} {
		if got := len(p.store.Entities()); got != 2 {
			t.Errorf("%d entities known, want 2", got)
		}
	}
	if len(a.events) != 0 || len(b.events) != 1 || b.events[0].Entity != uint32(n.s.Avatar(a.id)) {
		t.Errorf("events: %+v for the actor, %+v for the other", a.events, b.events)
	}
}

// Events reach who sees their place or their actor, once, whatever is lost; the actor's own predictions are not echoed; who
// is not in sight is not named.
//
// seeds: B5
func TestEventsReachWhoMaySee(t *testing.T) {
	n := newNest(t, Config{})
	n.s.rules.See = 2
	at := map[string]float64{"near": 0, "next": 1, "far": 999, "farther": 1001, "farthest": 1001.5}
	n.join = func(w *game.World, name string) game.ID {
		return ants.Spawn(w, ant{Name: name, Pos: geom.Vec2{X: at[name]}})
	}
	n.act = func(w *game.World, me game.ID, c antCmd) {
		if c.Bite {
			bites.Emit(w, me, geom.Vec2{X: float64(c.Tool)}, bite{Size: 9})
		}
	}
	var peers []*peer
	names := []string{"near", "next", "far", "farther", "farthest"}
	for _, name := range names {
		peers = append(peers, n.connect(name))
	}
	r := geom.NewRand(3)
	turn := func() {
		n.tick(func(id PlayerID, b []byte) {
			if !r.Chance(0.4) {
				peers[id-1].take(b)
			}
		})
		for _, p := range peers {
			p.send()
		}
	}
	for range 40 {
		turn()
	}
	do := func(who int, place int) {
		peers[who].send(command(n.s.Tick()+1, antCmd{Bite: true, Tool: place}))
		for range 60 {
			turn()
		}
	}
	do(0, 0)   // near bites at its own place: next sees it
	do(4, 0)   // farthest bites at near's place: near and next are told, not by whom; farther knows the actor
	do(1, 999) // next bites close to far's place
	got := ""
	for i, p := range peers {
		for _, e := range p.events {
			got += fmt.Sprintf("%s hears of %d at %d\n", names[i], e.Entity, e.Tick)
		}
		p.events = nil
	}
	want := "near hears of 0 at 101\nnear hears of 2 at 161\n" + "next hears of 1 at 41\nnext hears of 0 at 101\n" +
		"far hears of 0 at 161\n" + "farther hears of 5 at 101\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A player whose avatar the rules have taken away watches from where it was.
func TestWatchesFromWhereItWas(t *testing.T) {
	n := newNest(t, Config{})
	n.s.rules.See = 2
	n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{Pos: geom.Vec2{X: 500}}) }
	n.referee = func(w *game.World) {
		if crumbs.Len(w) == 0 {
			for i := range 10 {
				crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: float64(i * 100)}})
			}
		}
	}
	p := n.connect("ann")
	turns := func() {
		for range 30 {
			n.tick(func(_ PlayerID, b []byte) { p.take(b) })
			p.send()
		}
	}
	turns()
	avatar := n.s.Avatar(p.id)
	n.step = func(w *game.World) { w.Despawn(avatar) }
	turns()
	if n.s.Avatar(p.id) != 0 || p.store.Find(uint32(avatar)) != nil {
		t.Fatal("the avatar is still there")
	}
	var x []int64
	for _, e := range p.store.Entities() {
		x = append(x, e.Groups[0].Newest().Vals[0]/100)
	}
	if !slices.Contains(x, 500) || slices.Contains(x, 0) {
		t.Errorf("sees crumbs at %v m, was at 500 m", x)
	}
	n.keep, n.ran = true, nil
	p.send(command(n.s.Tick()+1, antCmd{Bite: true}))
	n.tick(nil)
	n.s.Disconnect(p.id)
	n.tick(nil)
	if len(n.ran) != 0 {
		t.Errorf("one without an avatar ran %+v", n.ran)
	}
}

// What left the sight of a player is told to be gone and never spoken of again, also a single one.
//
// seeds: B20
func TestOutOfSightIsOutOfReach(t *testing.T) {
	n := newNest(t, Config{})
	n.s.rules.See = 2
	n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{}) }
	crawl := 0.0
	n.referee = func(w *game.World) {
		for crumbs.Len(w) < 3 {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: float64(1 + crumbs.Len(w))}})
		}
		for id, c := range crumbs.All(w) {
			c.Size = int(w.Tick()) % 100 // always news
			if id == 2 {
				c.Pos.X += crawl
			}
		}
	}
	p := n.connect("ann")
	turns := func(turns int) {
		for range turns {
			n.tick(func(_ PlayerID, b []byte) { p.take(b) })
			p.send()
		}
	}
	turns(20)
	if p.store.Find(2) == nil {
		t.Fatal("the nearest crumb is not seen")
	}
	crawl = 1
	turns(20)
	if got := len(p.store.Entities()); p.store.Find(2) != nil || got > 3 {
		t.Errorf("a crumb 20 m away is still known, with %d in all", got)
	}
	_, c := n.s.find(p.id)
	if i, _ := n.s.hist.Find(2); c.view.Has(i) {
		t.Error("and still sent")
	}
}

// The client repeats that a baseline is gone until it hears: everything is sent anew once a round trip, not for each of its packets.
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
	if len(f) != 1 || f[0].Error() != `game: Act of game "nest" panicked at tick 2: thirteen` || len(n.s.Faults()) != 0 {
		t.Errorf("faults %v", f)
	}
	if a, b := ants.Get(n.s.World(), n.s.Avatar(p.id)).Score, ants.Get(n.s.World(), n.s.Avatar(q.id)).Score; a != 0 || b != 1 {
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

// A steady tick allocates nothing, on neither side of the coding.
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
	cmds := make([]game.Command, 16)
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

// What a client is sent is the truth, and what is not for it is not there.
func TestOwnersAloneGetTheirOwn(t *testing.T) {
	n := newNest(t, Config{})
	n.act = func(w *game.World, me game.ID, c antCmd) { ants.Get(w, me).Secret = 40 + int(me) }
	a, b := n.connect("a"), n.connect("b")
	k := n.s.rules.Kinds[0]
	a.store.Applied = func(e *snapshot.Held, g int, s *motion.State) {
		if e.Mine != (e.ID == uint32(n.s.Avatar(a.id))) {
			t.Errorf("entity %d is said to be mine: %v", e.ID, e.Mine)
		}
		for i := range k.Props {
			if p := &k.Props[i]; p.Audience == schema.Owner && e.Kind == 0 && !e.Mine && p.ObsAt >= 0 {
				t.Errorf("observers receive %s", p.Name)
			}
		}
	}
	for range 20 {
		n.tick(func(id PlayerID, data []byte) {
			if id == a.id {
				a.take(data)
			} else {
				b.take(data)
			}
		})
		a.send()
		b.send()
	}
	mine := a.store.Find(uint32(n.s.Avatar(a.id))).Groups[snapshot.OwnerGroup].Newest()
	other := a.store.Find(uint32(n.s.Avatar(b.id)))
	if !slices.Contains(mine.Vals, 41) || other.Groups[snapshot.OwnerGroup].Newest() != nil {
		t.Errorf("own state %v, owner's record of another %v", mine.Vals, other.Groups[snapshot.OwnerGroup].Newest())
	}
}

// Lag compensation can be switched off for a whole server: then everyone is judged by the present.
//
// seeds: B17
func TestRewindSwitchedOff(t *testing.T) {
	for _, rewind := range []time.Duration{0, -1} {
		n := newNest(t, Config{Rewind: rewind})
		seen := 0.0
		n.act = func(w *game.World, me game.ID, c antCmd) {
			p := ants.Get(w, me)
			if p.Name == "runner" {
				p.Pos = geom.Vec2{X: float64(w.Tick())}
				return
			}
			for _, other := range ants.Seen(w, me) {
				seen = other.Pos.X
			}
		}
		p, q := n.connect("shooter"), n.connect("runner")
		for range 40 {
			cmd := command(n.s.Tick()+1, antCmd{})
			cmd.Seen = (n.s.Tick() - min(n.s.Tick(), 5)).Frac() // draws 5 ticks ago
			cmd.Newest, _ = func() (wire.Seq, bool) { a, ok := p.recv.Ack(); return a.Latest, ok }()
			p.send(cmd)
			q.send(command(n.s.Tick()+1, antCmd{}))
			n.tick(func(id PlayerID, b []byte) {
				if id == p.id {
					p.take(b)
				}
			})
		}
		want := float64(n.s.Tick()) - 6 // the command was made a tick before
		if rewind < 0 {
			want = float64(n.s.Tick()) - 1 // others have not moved yet in this tick
		}
		if seen != want && seen != want+1 {
			t.Errorf("Rewind %v: at tick %d the other is seen at %v, want %v", rewind, n.s.Tick(), seen, want)
		}
	}
}

// One who never acknowledges anything costs bounded memory: what does not fit its queue of events is dropped and counted.
func TestEventsOfADeafClientAreBounded(t *testing.T) {
	n := newNest(t, Config{})
	n.referee = func(w *game.World) {
		for range 20 {
			bites.Emit(w, 0, geom.Vec2{}, bite{1, "crunch"})
		}
	}
	p := n.connect("ann")
	for range 200 {
		n.tick(nil)
	}
	st, _ := n.s.Stats(p.id)
	if _, c := n.s.find(p.id); c.lane.Pending() > lane.DefaultMaxParts || st.Events+st.EventsLost != 200*20 || st.EventsLost < 3000 {
		t.Errorf("%d events wait, %d were queued, %d dropped", c.lane.Pending(), st.Events, st.EventsLost)
	}
}

// More happens than the budget carries: what is urgent arrives all the same, all of it, in order, while the rest is dropped and counted.
func TestUrgentEventsSurviveAFlood(t *testing.T) {
	n := newNest(t, Config{Budget: 2000})
	ticks := 0
	n.referee = func(w *game.World) {
		if ticks++; ticks > 300 {
			return
		}
		for range 20 {
			bites.Emit(w, 0, geom.Vec2{}, bite{1, "crunch"})
		}
		if ticks%10 == 0 {
			alarms.Emit(w, 0, geom.Vec2{}, bite{ticks / 10, "fire"})
		}
	}
	p := n.connect("ann")
	for range 300 + 1200 {
		n.tick(func(id PlayerID, b []byte) { p.take(b) })
		p.send(command(n.s.Tick()+2, antCmd{}))
	}
	var heard []int64
	for _, m := range p.events {
		if m.Kind == 1 {
			var r wire.BitReader
			r.Reset(m.Body)
			heard = append(heard, n.s.Engine().Rules().Events[1].Props[0].ReadAbsolute(&r, false, int64(m.Tick)))
		}
	}
	for i, v := range heard {
		if v != int64(i+1) {
			t.Fatalf("alarms arrive as %v", heard)
		}
	}
	if st, _ := n.s.Stats(p.id); len(heard) != 30 || st.EventsLost < 1000 || st.Events+st.EventsLost != 300*20+30 || int(st.Events) != len(p.events) {
		t.Errorf("%d alarms of 30 arrived, %d events queued, %d arrived, %d lost", len(heard), st.Events, len(p.events), st.EventsLost)
	}
}

// Names go by reference: a player is told what those in its sight are called and nobody else's name, each once, however often its bearer
// comes into sight.
func TestNamesGoOnce(t *testing.T) {
	n := newNest(t, Config{})
	const players = 6
	var peers []*peer
	for i := range players {
		peers = append(peers, n.connect(fmt.Sprintf("player number %d", i)))
	}
	kind := n.s.rules.Kinds[0]
	run := func(see int) {
		n.s.rules.See = see
		for range 300 {
			n.tick(func(id PlayerID, b []byte) {
				for _, p := range peers {
					if p.id == id {
						p.take(b)
					}
				}
			})
			for _, p := range peers {
				p.send(command(n.s.Tick()+2, antCmd{}))
			}
		}
	}
	others := func(p *peer) (list []*snapshot.Held) {
		for _, e := range p.store.Entities() {
			if !e.Mine {
				list = append(list, e)
			}
		}
		return list
	}
	run(2)
	for i, p := range peers {
		if seen := len(others(p)); seen == 0 || seen > 2 || p.told != seen {
			t.Errorf("player %d sees %d others and was told %d names", i, seen, p.told)
		}
	}
	for _, see := range []int{60, 2, 60} {
		run(see)
	}
	first := peers[0].store.Entities()[0].ID
	for i, p := range peers {
		if len(others(p)) != players-1 || p.told != players-1 {
			t.Errorf("player %d sees %d others and was told %d names", i, len(others(p)), p.told)
		}
		for _, e := range others(p) {
			drawn := make([]int64, kind.Obs)
			for g := range kind.Groups {
				for c, v := range e.Groups[g].Newest().Vals {
					drawn[kind.Groups[g].At+c] = v * schema.SubSteps
				}
			}
			p.texts.Spell(kind, drawn)
			var a ant
			if kind.StoreDrawn(unsafe.Pointer(&a), drawn); a.Name != fmt.Sprintf("player number %d", e.ID-first) {
				t.Errorf("player %d sees %d as %q", i, e.ID, a.Name)
			}
		}
	}
}
