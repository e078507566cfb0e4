package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
)

// spies is a game of two teams: a spy is known to its own team, and to the other one while it is
// caught. Everybody knows of crumbs, nobody of hives.
type spies struct {
	*nest
	caught map[game.ID]bool
	panics bool
}

func newSpies(t *testing.T) *spies {
	t.Helper()
	n := &spies{nest: &nest{t: t}, caught: map[game.ID]bool{}}
	n.join = func(w *game.World, name string) game.ID {
		if name == "watcher" {
			return 0
		}
		i := float64(ants.Len(w))
		return ants.Spawn(w, ant{Name: name, Pos: geom.Vec2{X: i + i*i/100}})
	}
	team := func(w *game.World, id game.ID) uint64 {
		if ants.Get(w, id).Name[:1] == "r" {
			return 1
		}
		return 2
	}
	d := n.def()
	d.See = 3
	d.ShownTo = func(w *game.World, id game.ID) uint64 {
		switch {
		case n.panics:
			panic("shown to whom?")
		case hives.Has(w, id):
			return 0
		case crumbs.Has(w, id) || n.caught[id]:
			return ^uint64(0)
		}
		return team(w, id)
	}
	d.Groups = func(w *game.World, me game.ID) uint64 {
		if me == 0 {
			return 4
		}
		ants.Get(w, me).Score = 9999 // undone
		return team(w, me)
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

// A client gets neither the state nor the events of what the rules hide from its player, from the
// tick on in which it becomes hidden. The nearest N are those among what the player may know.
func TestRulesHideEntities(t *testing.T) {
	n := newSpies(t)
	names := []string{"red1", "blue1", "red2", "blue2", "red3", "blue3", "red4", "blue4", "red5", "blue5", "watcher"}
	var peers []*peer
	for _, name := range names {
		peers = append(peers, n.connect(name))
	}
	n.act = func(w *game.World, me game.ID, c antCmd) {
		if c.Bite {
			bites.Emit(w, me, geom.Vec2{}, bite{Size: 9})
		}
	}
	n.referee = func(w *game.World) {
		if crumbs.Len(w) == 0 {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: 3.5}})
			hives.Spawn(w, hive{})
		}
	}
	turns := func(turns int) {
		for range turns {
			n.tick(func(id PlayerID, b []byte) { peers[id-1].take(b) })
			for _, p := range peers {
				p.send()
			}
		}
	}
	known := func(p *peer) (all []int) {
		for _, e := range p.store.Entities() {
			all = append(all, int(e.ID))
		}
		slices.Sort(all)
		return all
	}
	check := func(when string, want ...string) {
		t.Helper()
		for i, list := range want {
			if got := strings.Trim(fmt.Sprint(known(peers[i])), "[]"); list != "" && got != list {
				t.Errorf("%s: %s knows %s, want %s", when, names[i], got, list)
			}
		}
	}
	turns(20)
	// Reds have the IDs 1, 3, 5, 7, 9, blues the others, a good metre apart; the crumb, 11, is
	// between 4 and 5. Each knows the three nearest, itself included.
	check("two teams", "1 3 11", "2 4 11", "1 3 11", "2 4 11", "3 5 11", "", "", "", "", "", "11")

	n.caught[4] = true
	turns(20) // whom it displaces lingers in fourth place
	check("one is caught", "1 3 4 11", "2 4 11", "1 3 4 11", "2 4 11", "3 4 5 11", "", "", "", "", "", "4 11")
	peers[3].send(command(n.s.Tick()+1, antCmd{Bite: true}))
	turns(20)
	n.caught[4] = false
	peers[3].send(command(n.s.Tick()+1, antCmd{Bite: true})) // in the tick in which it is hidden again
	turns(20)
	check("and free again", "1 3 11", "2 4 11", "1 3 11", "2 4 11", "3 5 11", "", "", "", "", "", "11")
	var heard []string
	for i, p := range peers {
		for _, e := range p.events {
			heard = append(heard, fmt.Sprint(names[i], " of ", e.Entity))
		}
	}
	want := []string{"red1 of 4", "blue1 of 4", "blue1 of 4", "red2 of 4", "red3 of 4", "blue3 of 4", "blue3 of 4",
		"watcher of 4"}
	slices.Sort(want)
	if slices.Sort(heard); !slices.Equal(heard, want) {
		t.Errorf("of the two events\n%v heard, want\n%v", heard, want)
	}
	if a := ants.Get(n.s.World(), 1).Score; a != 0 {
		t.Errorf("a callback that only answers wrote a score of %d", a)
	}
}

// In a crowd players look around only a few times a second. Still the state of what becomes hidden, and
// its events, stop in that tick, and what is shown appears with the next look.
//
// seeds: R2
func TestHidingActsAtOnceInACrowd(t *testing.T) {
	n := newSpies(t)
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 700; i++ {
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: 1000 + float64(i)}})
		}
		for _, a := range ants.All(w) {
			a.Pos.X += 0.25
			if n.caught[2] {
				bites.Emit(w, 2, a.Pos, bite{Size: 1})
			}
		}
	}
	n.act = func(w *game.World, me game.ID, c antCmd) {}
	red, blue := n.connect("red"), n.connect("blue")
	turn := func() {
		n.tick(func(id PlayerID, b []byte) {
			if id == red.id {
				red.take(b)
			}
		})
		red.send()
		blue.send()
	}
	for range 20 {
		turn()
	}
	every := n.s.lookEvery()
	if every < 5 {
		t.Fatalf("players look every %d ticks; this needs a crowd", every)
	}
	for round := range 30 {
		n.caught[2] = true
		for range every {
			turn()
		}
		if e := red.store.Find(2); e == nil {
			t.Fatalf("round %d: it is shown for %d ticks and not known", round, every)
		}
		heard := len(red.events)
		if heard == 0 {
			t.Fatal("none of its events arrived")
		}
		n.caught[2] = false
		for i := range 1 + round%7 {
			if turn(); red.store.Find(2) != nil {
				t.Fatalf("round %d: hidden for %d ticks and still known", round, i+1)
			}
		}
		if late := len(red.events) - heard; late > 0 {
			t.Fatalf("round %d: %d events of something hidden", round, late)
		}
	}
}

// Whatever moves, hides and is lost, a client receives nothing of what is not in sight at that tick,
// and when the world rests, and a lossy path does not, it knows exactly what is in sight.
//
// seeds: R2 R17
func TestClientsKnowWhatIsInSight(t *testing.T) {
	n := newSpies(t)
	n.s.rules.See = 20
	moving := true
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 400; i++ {
			crumbs.Spawn(w, crumb{Pos: w.Rand().Disc(100)})
		}
		if !moving {
			return
		}
		for _, c := range crumbs.All(w) {
			if c.Pos = c.Pos.Add(w.Rand().Dir()); w.Rand().Chance(0.01) {
				c.Pos = w.Rand().Disc(100)
			}
		}
		for id, a := range ants.All(w) {
			if a.Pos = a.Pos.Add(w.Rand().Dir()); w.Rand().Chance(0.01) {
				a.Pos = w.Rand().Disc(100)
			}
			if w.Rand().Chance(0.1) {
				n.caught[id] = !n.caught[id]
			}
		}
	}
	n.act = func(w *game.World, me game.ID, c antCmd) {}
	var peers []*peer
	for i := range 40 {
		peers = append(peers, n.connect([]string{"red", "blue"}[i%2]))
	}
	lost := geom.NewRand(5)
	received := 0
	for tick := range 700 {
		moving = tick < 500
		n.tick(func(id PlayerID, b []byte) {
			if lost.Chance(0.3) {
				return
			}
			p, view := peers[id-1], n.s.clients[id-1].down.view
			p.take(b)
			for _, e := range p.store.Entities() {
				i, alive := n.s.hist.Find(e.ID)
				if e.Fresh && (!alive || !view.Has(i) || !n.s.clients[id-1].allows(i)) {
					t.Fatalf("tick %d: player %d received entity %d, which is not in its sight", tick, id, e.ID)
				}
				if e.Fresh {
					received++
				}
				e.Fresh = false
			}
		})
		for _, p := range peers {
			if !lost.Chance(0.3) {
				p.send()
			}
		}
	}
	if received < 10_000 {
		t.Errorf("only %d records received", received)
	}
	var want []uint32
	for i, p := range peers {
		want = want[:0]
		for _, ent := range n.s.clients[i].down.view.AppendKnown(nil) {
			want = append(want, n.s.hist.At(ent).ID)
		}
		slices.Sort(want)
		var got []uint32
		for _, e := range p.store.Entities() {
			got = append(got, e.ID)
		}
		slices.Sort(got)
		if len(want) < 20 || !slices.Equal(got, want) {
			t.Errorf("player %d knows %v, in sight are %v", i+1, got, want)
		}
	}
}

// A panic in ShownTo is reported, and hides what it did not get to.
func TestPanicInShownToHides(t *testing.T) {
	n := newSpies(t)
	red, mate := n.connect("red1"), n.connect("red2")
	turn := func() {
		n.now = n.now.Add(n.s.Period())
		n.s.Begin(n.now)
		n.out.Reset()
		n.s.Encode(0, n.s.Clients(), &n.out)
		for i := range n.out.Len() {
			if id, b := n.out.At(i); id == red.id {
				red.take(b)
			}
		}
		n.s.End()
		red.send()
	}
	for range 10 {
		turn()
	}
	if got := len(red.store.Entities()); got != 2 || len(n.s.Faults()) > 0 {
		t.Fatalf("%d entities known, want 2", got)
	}
	n.panics = true
	for range 10 {
		turn()
	}
	own := uint32(n.s.Avatar(red.id))
	if red.store.Find(own) == nil || red.store.Find(uint32(n.s.Avatar(mate.id))) != nil {
		t.Error("the own avatar, and nothing else, should be left")
	}
	f := n.s.Faults()
	first := `game: ShownTo of game "nest" panicked at tick 11: shown to whom?`
	if len(f) != 10 || !strings.HasPrefix(f[0].Error(), first) {
		t.Errorf("faults %v", f)
	}
}

// An actor that the rules hide stays hidden in the tick in which it is removed: events of that tick
// reach its own player and those who could know of it.
func TestEventsOfRemovedActorsStayHidden(t *testing.T) {
	n := newSpies(t)
	names := []string{"red1", "blue1", "red2", "blue2", "watcher"}
	var peers []*peer
	for _, name := range names {
		peers = append(peers, n.connect(name))
	}
	n.act = func(w *game.World, me game.ID, c antCmd) {
		if !c.Bite {
			return
		}
		bites.Emit(w, me, geom.Vec2{}, bite{Size: 1})
		decoy := ants.Spawn(w, ant{Name: "red9"})
		bites.Emit(w, decoy, geom.Vec2{}, bite{Size: 2}) // nobody ever knew of it
		bites.Emit(w, 0, geom.Vec2{}, bite{Size: 3})     // for everybody
		w.Despawn(decoy)
		w.Despawn(me)
	}
	turns := func() {
		for range 20 {
			n.tick(func(id PlayerID, b []byte) { peers[id-1].take(b) })
			for _, p := range peers {
				p.send()
			}
		}
	}
	turns()
	own := uint32(n.s.Avatar(peers[0].id))
	peers[0].send(command(n.s.Tick()+1, antCmd{Bite: true}))
	turns()
	for i, want := range []string{"own, any", "any", "own, any", "any", "any"} {
		var got []string
		for _, e := range peers[i].events {
			switch e.Entity {
			case own:
				got = append(got, "own")
			case 0:
				got = append(got, "any")
			default:
				got = append(got, fmt.Sprint(e.Entity))
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s learned of events of %q, want %q", names[i], text, want)
		}
	}
}

// A panic in Groups names that callback, and leaves its player without groups.
func TestPanicInGroups(t *testing.T) {
	d := (&nest{t: t}).def()
	d.ShownTo = func(*game.World, game.ID) uint64 { return 1 }
	d.Groups = func(*game.World, game.ID) uint64 { panic("in which group?") }
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(rules, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Connect(0, "ann"); err != nil {
		t.Fatal(err)
	}
	s.Begin(0)
	f := s.Faults()
	want := `game: Groups of game "nest" panicked at tick 1: in which group?`
	if len(f) != 1 || !strings.HasPrefix(f[0].Error(), want) {
		t.Errorf("faults %v, want %s", f, want)
	}
}
