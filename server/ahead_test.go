package server

import (
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/snapshot"
)

// A yard has what clients run ahead: players of a kind that is near, balls that all run ahead,
// crates and sparks that those nearby do, and purses, which nobody may, as they have a secret.
type (
	child struct {
		Pos geom.Vec2 `net:"pos,others=1cm"`
	}
	ball struct {
		Pos geom.Vec2 `net:"pos,others=1cm"`
		Hit int       `net:"int,0..99,group=1"`
	}
	purse struct {
		Pos  geom.Vec2 `net:"pos,others=1cm"`
		Gold int       `net:"int,0..99,to=owner"`
	}
)

var (
	children = game.NewKind[child]("child", game.Near(4))
	balls    = game.NewKind[ball]("ball", game.Predicted)
	crates   = game.NewKind[ball]("crate", game.Near(4))
	sparks   = game.NewKind[ball]("spark", game.Near(2))
	purses   = game.NewKind[purse]("purse", game.Predicted)
)

// newYard returns a world with a ball, a purse and a crate, in which a command that bites spawns
// sparks far away, as many as its tool says.
func newYard(t testing.TB, mode game.CommandMode, see int) *nest {
	t.Helper()
	n := &nest{t: t, queued: mode == game.Queued}
	d := n.def()
	d.Commands, d.See = mode, see
	d.Kinds = game.Kinds(children, balls, crates, sparks, purses)
	d.Join = func(w *game.World, name string) game.ID {
		if balls.Len(w) == 0 {
			balls.Spawn(w, ball{Pos: geom.Vec2{X: 70.0021}})
			crates.Spawn(w, ball{Pos: geom.Vec2{X: 30, Y: 0.001}})
			purses.Spawn(w, purse{Gold: 7})
		}
		return children.Spawn(w, child{Pos: geom.Vec2{X: float64(children.Len(w))}})
	}
	d.Act = func(w *game.World, me game.ID, c antCmd) {
		if n.act != nil {
			n.act(w, me, c)
		}
		p := children.Get(w, me)
		p.Pos = p.Pos.Add(c.Move.Mul(6 * w.Dt()))
		if !c.Bite {
			return
		}
		bites.Emit(w, me, p.Pos, bite{Size: c.Tool})
		for i := range c.Tool {
			sparks.Spawn(w, ball{Pos: geom.Vec2{X: 400 + float64(me), Y: float64(i)}})
		}
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, Config{}); err != nil {
		t.Fatal(err)
	}
	return n
}

// everyone applies all datagrams of a tick but those that lost names, and answers.
func (n *nest) everyone(peers []*peer, lost func(p *peer) bool) {
	n.tick(func(id PlayerID, b []byte) {
		for _, p := range peers {
			if p.id == id && (lost == nil || !lost(p)) {
				p.take(b)
			}
		}
	})
}

// walk is a command for the next tick.
func (p *peer) walk(x float64, spawn int) packet.Command {
	c := packet.Command{Tick: p.n.s.Tick() + 1, Vals: make([]int64, antCmdInts)}
	p.n.s.rules.Command.Clamp(c.Vals)
	c.Vals[moveAt] = int64(x * 15)
	if spawn > 0 {
		c.Vals[biteAt], c.Vals[toolAt] = 1, int64(spawn)
	}
	return c
}

// Players receive at simulation precision what the kind's option says, and nobody else's avatar,
// and nothing of a kind with properties that not everyone may have.
func TestExactRecordsGoToWhoMayRunThemAhead(t *testing.T) {
	n := newYard(t, game.Timed, 0)
	a, b := n.connect("a"), n.connect("b")
	peers := []*peer{a, b}
	for range 40 {
		n.everyone(peers, nil)
		for _, p := range peers {
			p.send(p.walk(0, 0))
		}
	}
	for _, p := range peers {
		if len(p.store.Entities()) != 5 {
			t.Fatalf("%d entities", len(p.store.Entities()))
		}
		for _, e := range p.store.Entities() {
			mine := e.ID == uint32(n.s.Avatar(p.id))
			exact := mine || n.s.rules.Kinds[e.Kind].Name == "ball"
			if e.Mine != mine || e.Exact != exact || e.Spawn != (snapshot.Spawn{}) {
				t.Errorf("a %s: mine %v, exact %v, spawned by %v", n.s.rules.Kinds[e.Kind].Name, e.Mine, e.Exact, e.Spawn)
			}
			for g := range e.Groups {
				if (e.Groups[g].Newest() != nil) != (exact == (g == snapshot.OwnerGroup)) &&
					g < len(n.s.rules.Kinds[e.Kind].Groups) {
					t.Errorf("a %s, exact %v: group %d is there: %v", n.s.rules.Kinds[e.Kind].Name, exact, g, !exact)
				}
			}
			if _, sims := n.s.eng.Sims(game.ID(e.ID)); exact &&
				!slices.Equal(e.Groups[snapshot.OwnerGroup].Newest().Vals, sims) {
				t.Errorf("a %s: %v, want %v", n.s.rules.Kinds[e.Kind].Name, e.Groups[snapshot.OwnerGroup].Newest().Vals, sims)
			}
		}
	}
}

// What is near becomes exact before the avatar could reach it, keeps what the client has of it, and
// becomes observed again when it is away for a while: not to and fro while the avatar dances on the
// border.
func TestWhatIsNearBecomesExact(t *testing.T) {
	n := newYard(t, game.Timed, 0)
	a := n.connect("a")
	peers := []*peer{a}
	crate := func() *snapshot.Replica { return a.store.Find(2) }
	where := func() float64 { return children.Get(n.s.World(), n.s.Avatar(a.id)).Pos.X }
	steps := func(ticks int, walk func() float64) (switches int, at float64) {
		t.Helper()
		for range ticks {
			exact := crate() != nil && crate().Exact
			if n.everyone(peers, nil); crate() == nil {
				t.Fatalf("tick %d: no crate", n.s.Tick())
			}
			a.send(a.walk(walk(), 0))
			if e := crate(); e.Exact != exact {
				switches, at = switches+1, where()
				if e.Groups[0].Newest() == nil || e.Groups[1].Newest() == nil {
					t.Errorf("tick %d: exact %v, and nothing of what it was observed as", n.s.Tick(), e.Exact)
				}
				if e.Groups[snapshot.OwnerGroup].Newest() == nil {
					t.Errorf("tick %d: exact %v, and nothing of what it was exactly", n.s.Tick(), e.Exact)
				}
			}
		}
		return switches, at
	}
	if switches, _ := steps(60, func() float64 { return 0 }); switches > 0 || crate().Exact {
		t.Fatal("the crate is exact at a distance of 30 m")
	}
	switches, at := steps(120, func() float64 {
		if where() < 30 {
			return 1
		}
		return 0
	})
	if switches != 1 || !crate().Exact || at < 30-4-6*0.75-0.7 || at > 30-4-6*0.75+0.7 {
		t.Fatalf("%d switches, exact at %.2f m of 30, want at %.2f", switches, at, 30-4-6*0.75)
	}
	if switches, _ := steps(100, func() float64 { return 0 }); switches > 0 || !crate().Exact {
		t.Fatal("the crate is not exact, though the avatar stands beside it")
	}
	way := -1.0
	dance := func() float64 { // to and fro across the place at which the crate became exact
		if where() < 20.5 {
			way = 1
		} else if where() > 22.5 {
			way = -1
		}
		return way
	}
	if switches, at := steps(300, dance); switches > 0 {
		t.Errorf("%d switches while the avatar dances at the border, one at %.2f m", switches, at)
	}
	if switches, at := steps(100, func() float64 { return -1 }); switches != 1 || crate().Exact || at > 30-6-6*0.75+0.7 {
		t.Errorf("%d switches, observed again at %.2f m of 30", switches, at)
	}
}

// What a player's commands spawn is exact for that player alone, wherever it is, and the first
// sight names the command. Others draw it in the past.
func TestOwnSpawnsAreNamed(t *testing.T) {
	for _, mode := range []game.CommandMode{game.Timed, game.Queued} {
		n := newYard(t, mode, 20)
		a, b := n.connect("a"), n.connect("b")
		peers := []*peer{a, b}
		spawned := game.Tick(0)
		for i := range 60 {
			n.everyone(peers, nil)
			for _, p := range peers {
				c := p.walk(0, 0)
				if p == a && i == 30 {
					c = p.walk(0, 3)
					spawned = c.Tick
				}
				p.send(c)
			}
		}
		keys := []snapshot.Spawn{}
		for _, e := range a.store.Entities() {
			if n.s.rules.Kinds[e.Kind].Name != "spark" {
				continue
			}
			if !e.Exact || e.Mine {
				t.Errorf("an own spark: exact %v, mine %v", e.Exact, e.Mine)
			}
			keys = append(keys, e.Spawn)
		}
		want := []snapshot.Spawn{{Tick: spawned}, {Tick: spawned, N: 1}, {Tick: spawned, N: 2}}
		if !slices.Equal(keys, want) {
			t.Errorf("mode %d: sparks spawned by %v, want %v", mode, keys, want)
		}
		for _, e := range b.store.Entities() {
			if e.Exact && n.s.rules.Kinds[e.Kind].Name == "spark" {
				t.Error("another player's spark is exact")
			}
		}
		if a.emitted != 1 || b.emitted != 0 {
			t.Errorf("%d and %d events by commands, want 1 and 0", a.emitted, b.emitted)
		}
	}
}

// A datagram says up to which command the client knows all that its commands spawned, and whether
// it has the newest state of all that it receives exactly; and it lies about nothing that was lost.
func TestSettledAndSpawnedAreTrue(t *testing.T) {
	for _, mode := range []game.CommandMode{game.Timed, game.Queued} {
		n := newYard(t, mode, 4)
		a := n.connect("a")
		peers := []*peer{a}
		r, have := geom.NewRand(3), map[snapshot.Spawn]bool{}
		n.step = func(w *game.World) {
			for _, b := range balls.All(w) {
				if w.Tick()%30 < 18 {
					b.Pos.X += 0.001
				}
			}
			switch w.Tick() % 20 {
			case 0:
				crates.Spawn(w, ball{Pos: geom.Vec2{X: 30}})
			case 10:
				for id := range crates.All(w) {
					w.Despawn(id)
				}
			}
		}
		var made []game.Tick // commands that spawned
		behind, upToDate, settled, last := 0, 0, 0, game.Tick(0)
		for i := range 400 {
			dark := i%50 < 12
			a.settled = false
			n.everyone(peers, func(*peer) bool { return dark || r.Chance(0.2) })
			if a.settled {
				settled++
				checkSettled(t, n, a)
			}
			if i%30 < 3 {
				me := children.Get(n.s.World(), n.s.Avatar(a.id))
				me.Pos.X = float64(i / 60 % 2 * 30) // so that the crate comes near, and goes
			}
			for _, e := range a.store.Entities() {
				have[e.Spawn] = true
			}
			for _, at := range made {
				if at <= a.spawned && !have[snapshot.Spawn{Tick: at}] {
					t.Fatalf("mode %d: all that commands up to %d spawned is known, but not that of %d", mode, a.spawned, at)
				}
			}
			c := a.walk(0, 0)
			if i%7 == 3 && i < 300 {
				c = a.walk(0, 1)
				made = append(made, c.Tick)
			}
			if a.send(c); a.spawned < last {
				t.Fatalf("mode %d: known up to %d, then up to %d", mode, last, a.spawned)
			}
			if last = a.spawned; n.s.Tick()-last < 5 {
				upToDate++
			} else {
				behind++
			}
		}
		if len(made) < 40 || upToDate < 200 || behind < 20 || settled < 100 {
			t.Errorf("mode %d: %d spawns, up to date %d times, behind %d times, settled %d times", mode, len(made), upToDate,
				behind, settled)
		}
		if got := n.s.clients[0].spawns; len(got) > 0 {
			t.Errorf("mode %d: %d spawns are still owed", mode, len(got))
		}
	}
}

// checkSettled compares all that a player's client receives exactly with the present state.
func checkSettled(t *testing.T, n *nest, p *peer) {
	t.Helper()
	_, c := n.s.find(p.id)
	for _, i := range c.down.view.AppendKnown(nil) {
		e := n.s.hist.At(i)
		held := p.store.Find(e.ID)
		exact, _ := c.down.view.ExactSince(i)
		if !exact {
			continue
		}
		_, sims := n.s.eng.Sims(game.ID(e.ID))
		if held == nil || !held.Exact || !slices.Equal(held.Groups[snapshot.OwnerGroup].Newest().Vals, sims) {
			t.Fatalf("tick %d is settled, but of entity %d the client has %+v, want %v", n.s.Tick(), e.ID, held, sims)
		}
	}
	for _, held := range p.store.Entities() {
		if _, sims := n.s.eng.Sims(game.ID(held.ID)); held.Exact && sims == nil {
			t.Fatalf("tick %d is settled, but the client has entity %d, which is gone", n.s.Tick(), held.ID)
		}
	}
}

// A refused, hidden or removed spawn is owed to nobody.
func TestSpawnsThatAreGoneAreOwedToNobody(t *testing.T) {
	n := newYard(t, game.Timed, 4)
	a := n.connect("a")
	for i := range 10 {
		n.everyone([]*peer{a}, nil)
		a.send(a.walk(0, i/9*2))
	}
	n.everyone([]*peer{a}, func(*peer) bool { return true })
	if got := len(n.s.clients[0].spawns); got != 2 {
		t.Fatalf("%d spawns are owed, want 2", got)
	}
	w := n.s.World()
	for id := range sparks.All(w) {
		n.s.quit = append(n.s.quit, id) // the world loses them with the next tick
	}
	n.everyone([]*peer{a}, nil)
	if got := len(n.s.clients[0].spawns); got != 0 || a.spawned != n.s.Tick() {
		t.Errorf("%d spawns are owed, known up to tick %d of %d", got, a.spawned, n.s.Tick())
	}
}

// Looking for what is near takes no memory.
func TestNearAllocatesNothing(t *testing.T) {
	n := newYard(t, game.Timed, 0)
	n.step = func(w *game.World) {
		for i := range 40 - crates.Len(w) {
			crates.Spawn(w, ball{Pos: geom.Vec2{X: float64(i % 12), Y: 3}})
		}
		for _, b := range crates.All(w) {
			b.Pos.X += 0.05
		}
	}
	a := n.connect("a")
	for range 60 {
		n.everyone([]*peer{a}, nil)
		a.send(a.walk(0, 0))
	}
	p := n.s.clients[0]
	exact := 0
	for _, i := range p.down.view.AppendKnown(nil) {
		if is, _ := p.down.view.ExactSince(i); is {
			exact++
		}
	}
	if allocs := testing.AllocsPerRun(50, func() { p.see(&n.out) }); allocs != 0 || exact < 10 {
		t.Errorf("%v allocations to find what is near, %d entities are exact", allocs, exact)
	}
}

// A command is judged by the present of all that clients run ahead, be it near or not.
func TestWhatRunsAheadIsJudgedAsItIs(t *testing.T) {
	n := newYard(t, game.Timed, 0)
	a := n.connect("a")
	n.step = func(w *game.World) {
		for _, b := range balls.All(w) {
			b.Pos.X++
		}
		for _, b := range crates.All(w) {
			b.Pos.X++
		}
	}
	looked := 0
	n.act = func(w *game.World, me game.ID, _ antCmd) {
		if w.Tick() < 40 {
			return
		}
		for id, b := range balls.Seen(w, me) {
			if now := balls.Get(w, id).Pos.X; b.Pos.X < now-0.01 || b.Pos.X > now+0.01 {
				t.Errorf("tick %d: the ball is judged at %.2f m, is at %.2f", w.Tick(), b.Pos.X, now)
			}
			looked++
		}
		for id, b := range crates.Seen(w, me) {
			if now := crates.Get(w, id).Pos.X; b.Pos.X < now-0.01 || b.Pos.X > now+0.01 {
				t.Errorf("tick %d: the crate is judged at %.2f m, is at %.2f", w.Tick(), b.Pos.X, now)
			}
			looked++
		}
	}
	for range 60 {
		n.everyone([]*peer{a}, nil)
		c := a.walk(0, 0)
		c.Seen = (c.Tick - min(c.Tick-1, 6)).Frac()
		ack, _ := a.recv.Ack()
		c.Newest = ack.Latest
		a.send(c)
	}
	if looked < 30 {
		t.Errorf("%d looks", looked)
	}
}

// What a thing that moves and is run ahead comes near becomes exact, however far away the avatar
// is; a thing at rest makes nothing exact.
func TestWhatAMovingThingNearsBecomesExact(t *testing.T) {
	n := newYard(t, game.Timed, 0)
	a := n.connect("a")
	n.step = func(w *game.World) {
		for _, b := range balls.All(w) {
			if w.Tick() < 20 {
				b.Pos.X = 36 // 6 m from the crate, at rest
			} else if w.Tick() < 60 {
				b.Pos.Y += 0.1
			}
		}
	}
	exact := func() bool {
		i, _ := n.s.hist.Find(2)
		is, _ := n.s.clients[0].down.view.ExactSince(i)
		return is
	}
	for range 120 {
		n.everyone([]*peer{a}, nil)
		a.send(a.walk(0, 0))
		switch tick := n.s.Tick(); {
		case tick == 19 && exact():
			t.Error("a ball at rest makes a crate exact")
		case tick == 19:
			balls.Get(n.s.World(), 1).Pos.X = 33
		case tick == 30 && !exact():
			t.Error("a ball that moves 3 m away from a crate does not make it exact")
		case tick == 119 && exact():
			t.Error("a crate stays exact although nothing moves near it")
		}
	}
}
