package server

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// In a world in which nothing has a place everyone knows everything, events too.
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

// An event reaches, once and whatever is lost, those who see its place or its actor. An event that
// the actor predicted is not sent to it. An actor out of sight is not named.
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
	do(4, 0)   // farthest bites at near's place: near and next learn of it, not by whom; farther knows the actor
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

// An event whose actor is not known reaches those who see its place: up to the farthest of the
// nearest N, to the millimetre, and without its actor's name.
//
// seeds: B5 B20
func TestEventsReachAsFarAsSight(t *testing.T) {
	for _, c := range []struct {
		name  string
		place geom.Vec2
		heard bool
	}{
		{"here", geom.Vec2{}, true}, {"within", geom.Vec2{X: 7}, true}, {"at the edge", geom.Vec2{Y: -10}, true},
		{"beyond", geom.Vec2{X: 10.01}, false}, {"diagonal", geom.Vec2{X: 7.1, Y: 7.1}, false},
		{"twice as far", geom.Vec2{X: -14}, false},
	} {
		n := newNest(t, Config{})
		n.s.rules.See = 3
		at := map[string]geom.Vec2{"ann": {}, "bob": {X: 5}, "cid": {X: -10}, "dan": {X: 60}, "eve": {X: 60.5}}
		n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{Name: name, Pos: at[name]}) }
		n.act = func(w *game.World, me game.ID, cmd antCmd) {
			if cmd.Bite {
				bites.Emit(w, me, c.place, bite{Size: 9})
			}
		}
		peers := []*peer{n.connect("ann"), n.connect("bob"), n.connect("cid"), n.connect("dan"), n.connect("eve")}
		turn := func(cmds ...packet.Command) {
			n.tick(func(id PlayerID, b []byte) { peers[id-1].take(b) })
			for i, p := range peers {
				if i == 4 && len(cmds) > 0 {
					p.send(cmds...)
				} else {
					p.send()
				}
			}
		}
		for range 20 {
			turn()
		}
		turn(command(n.s.Tick()+2, antCmd{Bite: true}))
		for range 20 {
			turn()
		}
		if got := peers[0].events; len(got) > 1 || len(got) == 1 != c.heard {
			t.Errorf("%s: heard %+v, want %v", c.name, got, c.heard)
		} else if c.heard && got[0].Entity != 0 {
			t.Errorf("%s: an actor out of sight is named: %d", c.name, got[0].Entity)
		}
	}
}

// An entity that walks to and fro across the edge of sight does not come and go: the nearest N are
// known, and what was known stays until a few more are nearer.
//
// seeds: R17
func TestTheEdgeOfSightDoesNotFlicker(t *testing.T) {
	n := newNest(t, Config{})
	n.s.rules.See = 32 // and two more
	n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{}) }
	edge := 0.0
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 40; i++ {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: float64(i + 1)}})
		}
		for id, c := range crumbs.All(w) {
			if id == 2 { // at first the nearest, number 1
				c.Pos.X = edge
			}
		}
	}
	p := n.connect("ann")
	entered := 0
	known := func() bool { return p.store.Find(2) != nil }
	walk := func(x float64) {
		was := known()
		edge = x
		for range 10 {
			n.tick(func(_ PlayerID, b []byte) { p.take(b) })
			p.send(command(n.s.Tick()+2, antCmd{}))
		}
		if known() && !was {
			entered++
		}
	}
	walk(1)
	for range 10 {
		walk(33.5) // the avatar and 32 others are nearer: rank 34 of 32
		if !known() {
			t.Fatal("who is just beyond the edge is let go")
		}
		walk(31.5)
	}
	if entered != 1 {
		t.Errorf("it came into sight %d times", entered)
	}
	if walk(34.5); known() {
		t.Error("who is three ranks beyond the edge is still known")
	}
	if walk(33.5); known() {
		t.Error("who comes back to just beyond the edge is known already")
	}
}

// A player whose avatar the rules removed watches from where it was.
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

// A client learns that an entity left its sight, and then nothing more of it, also if it is the
// only one.
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
	if i, _ := n.s.hist.Find(2); c.down.view.Has(i) {
		t.Error("and still sent")
	}
}

// A client gets its own secrets and nobody else's.
func TestOwnersAloneGetTheirOwn(t *testing.T) {
	n := newNest(t, Config{})
	n.act = func(w *game.World, me game.ID, c antCmd) { ants.Get(w, me).Secret = 40 + int(me) }
	a, b := n.connect("a"), n.connect("b")
	k := n.s.rules.Kinds[0]
	a.store.Applied = func(e *snapshot.Replica, g int, s *motion.State) {
		if e.Mine != (e.ID == uint32(n.s.Avatar(a.id))) {
			t.Errorf("entity %d is marked as mine: %v", e.ID, e.Mine)
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

// Lag compensation can be switched off for a whole server: everyone is then judged by the present.
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
			cmd.Seen = (n.s.Tick() - min(n.s.Tick(), 3)).Frac() // draws 3 ticks ago
			cmd.Newest, _ = func() (wire.Seq, bool) { a, ok := p.recv.Ack(); return a.Latest, ok }()
			p.send(cmd)
			q.send(command(n.s.Tick()+1, antCmd{}))
			n.tick(func(id PlayerID, b []byte) {
				if id == p.id {
					p.take(b)
				}
			})
		}
		want := float64(n.s.Tick()) - 4 // the command was made a tick before
		if rewind < 0 {
			want = float64(n.s.Tick()) - 1 // others have not moved yet in this tick
		}
		if seen != want && seen != want+1 {
			t.Errorf("Rewind %v: at tick %d the other is seen at %v, want %v", rewind, n.s.Tick(), seen, want)
		}
	}
}

// A client that never acknowledges anything costs bounded memory: events that do not fit its queue
// are dropped and counted.
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
	_, c := n.s.find(p.id)
	if c.down.messages.Pending() > reliable.DefaultMaxParts || st.Events+st.EventsLost != 200*20 || st.EventsLost < 3000 {
		t.Errorf("%d events wait, %d were queued, %d dropped", c.down.messages.Pending(), st.Events, st.EventsLost)
	}
}

// Where more happens than the budget carries, all urgent events arrive, in order, and others are
// dropped and counted.
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
	st, _ := n.s.Stats(p.id)
	queued, lost := st.Events, st.EventsLost
	if len(heard) != 30 || lost < 1000 || queued+lost != 300*20+30 || int(queued) != len(p.events) {
		t.Errorf("%d alarms of 30 arrived, %d events queued, %d arrived, %d lost",
			len(heard), queued, len(p.events), lost)
	}
}

// Names go by reference: a client gets the names of those in its sight and nobody else's, each
// once, however often its bearer comes into sight.
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
	others := func(p *peer) (list []*snapshot.Replica) {
		for _, e := range p.store.Entities() {
			if !e.Mine {
				list = append(list, e)
			}
		}
		return list
	}
	run(2)
	for i, p := range peers {
		if seen := len(others(p)); seen == 0 || seen > 2 || p.names != seen {
			t.Errorf("player %d sees %d others and got %d names", i, seen, p.names)
		}
	}
	for _, see := range []int{60, 2, 60} {
		run(see)
	}
	first := peers[0].store.Entities()[0].ID
	for i, p := range peers {
		if len(others(p)) != players-1 || p.names != players-1 {
			t.Errorf("player %d sees %d others and got %d names", i, len(others(p)), p.names)
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

// Players who joined in the same tick look around in different ticks, also after something made all
// of them look at once, and each of them does so within the period.
//
// seeds: R29
func TestLooksAreSpreadOverTicks(t *testing.T) {
	const players = 40
	n := newNest(t, Config{})
	n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{Name: name}) }
	popups := 700
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < popups; i++ {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: float64(i % 70)}})
		}
	}
	var peers []*peer
	for i := range players {
		peers = append(peers, n.connect(fmt.Sprint("ant", i)))
	}
	for tick := range 120 {
		if tick == 60 {
			popups++ // where the players are
		}
		n.tick(nil)
		for _, p := range peers {
			p.send(command(n.s.Tick()+2, antCmd{}))
		}
		every, looks := n.s.lookEvery(), 0
		for _, c := range n.s.clients {
			if c.sight.looked == n.s.tick {
				looks++
			}
			if age := n.s.tick - c.sight.looked; tick > 20 && age >= every {
				t.Fatalf("tick %d: player %d has not looked for %d ticks, the period is %d", tick, c.id, age, every)
			}
		}
		switch {
		case tick == 60 && looks != players:
			t.Errorf("%d of %d looked at what popped up", looks, players)
		case tick > 20 && tick != 60 && looks != players/int(every):
			t.Errorf("tick %d: %d of %d looked, though the period is %d ticks", tick, looks, players, every)
		}
	}
}

// Where slots are short, because a player was teleported twice within a round trip, the nearest get
// them. The far follow as the client acknowledges that others are gone.
func TestNearestGetSlotsWhereTheyAreShort(t *testing.T) {
	const group, apart = 250, 10_000
	n := newNest(t, Config{})
	n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{Name: name}) }
	place := 0
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 3*group; i++ {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: float64(i/group*apart + i%group)}})
		}
		for _, a := range ants.All(w) {
			a.Pos.X = float64(place * apart)
		}
	}
	p := n.connect("ann")
	here := func() (known []int) { // how far away things are that have slots, of those around the player
		for _, i := range n.s.View(p.id).AppendKnown(nil) {
			if e := n.s.hist.At(i); e.Placed && int(e.X)/apart/1000 == place && e.ID != uint32(n.s.Avatar(p.id)) {
				known = append(known, int(e.X)/1000%apart)
			}
		}
		slices.Sort(known)
		return known
	}
	step := func(acknowledges bool) {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		if acknowledges {
			p.send(command(n.s.Tick()+2, antCmd{}))
		}
	}
	for range 40 {
		step(true)
	}
	place = 1
	for range n.s.lookEvery() {
		step(false)
	}
	place = 2
	for range n.s.lookEvery() {
		step(false)
	}
	known := here()
	if len(known) == 0 || len(known) > group/2 {
		t.Fatalf("with slots short the player knows %d things around it", len(known))
	}
	if known[len(known)-1] != len(known)-1 {
		t.Errorf("with slots short the player knows %d things around it, the farthest is %d m away", len(known),
			known[len(known)-1])
	}
	for range 40 {
		step(true)
	}
	if known = here(); len(known) < group-1 {
		t.Errorf("the player knows %d of %d things around it", len(known), group)
	}
}
