package server

import (
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
)

// watchers is a nest whose rules say what players attend to.
func watchers(t *testing.T, cfg Config, see int,
	watch func(w *game.World, me game.ID, watch func(game.ID, int)) geom.Vec2) *nest {
	t.Helper()
	n := &nest{t: t}
	n.join = func(w *game.World, name string) game.ID { return ants.Spawn(w, ant{}) }
	d := n.def()
	d.See, d.Watch = see, watch
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, cfg); err != nil {
		t.Fatal(err)
	}
	return n
}

// A player knows of what it attends to wherever that is, from the next packet on, but of no more than
// 16 things, of nothing that the rules hide from it, and not for longer than it attends.
//
// seeds: R17
func TestWatchedThingsAreKnown(t *testing.T) {
	var list []game.ID
	n := watchers(t, Config{}, 3, func(w *game.World, me game.ID, watch func(game.ID, int)) (facing geom.Vec2) {
		for _, id := range list {
			watch(id, 1)
		}
		return
	})
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 700; i++ { // crumbs 2 to 701, in a row
			crumbs.Spawn(w, crumb{Pos: geom.Vec2{X: float64(i + 1)}})
		}
	}
	p := n.connect("ann")
	turns := func(turns int) (known []game.ID) {
		for range turns {
			n.tick(func(_ PlayerID, b []byte) { p.take(b) })
			p.send(command(n.s.Tick()+2, antCmd{}))
		}
		for _, e := range p.store.Entities() {
			known = append(known, game.ID(e.ID))
		}
		slices.Sort(known)
		return known
	}
	check := func(what string, got []game.ID, want ...game.ID) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: known %v, want %v", what, got, want)
		}
	}
	if every := n.s.lookEvery(); every != 0 {
		t.Fatal("players look around though the world is empty")
	}
	check("at first", turns(20), 1, 2, 3)
	list = []game.ID{500, 1, 2, 0, 12345, 600, 500}
	check("two are watched", turns(1), 1, 2, 3, 500, 600)
	check("and still are", turns(30), 1, 2, 3, 500, 600)
	list = []game.ID{600}
	check("one is forgotten", turns(10), 1, 2, 3, 600)
	if allocs := testing.AllocsPerRun(20, n.s.attend); allocs != 0 {
		t.Errorf("asking the rules allocates %v times", allocs)
	}
	list = nil
	for i := range game.ID(20) {
		list = append(list, 700-i)
	}
	if known := turns(20); len(known) != 3+16 || known[3] != 700-15 {
		t.Errorf("known %v of a list too long", known)
	}
}

// Who may not know of something does not learn of it by attending to it.
func TestWatchedThingsMayBeHidden(t *testing.T) {
	n := newSpies(t)
	d := n.def()
	d.See = 1
	d.ShownTo = func(w *game.World, id game.ID) uint64 {
		if n.caught[id] {
			return 2
		}
		return 1
	}
	d.Groups = func(w *game.World, me game.ID) uint64 { return 1 }
	d.Watch = func(w *game.World, me game.ID, watch func(game.ID, int)) (facing geom.Vec2) {
		watch(2, 1)
		watch(3, 1)
		return
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, Config{}); err != nil {
		t.Fatal(err)
	}
	p := n.connect("ann")
	n.connect("bob")
	n.connect("cid")
	for i := range 60 {
		n.caught[2] = i >= 20 && i < 40
		n.tick(func(id PlayerID, b []byte) {
			if id == p.id {
				p.take(b)
			}
		})
		p.send(command(n.s.Tick()+2, antCmd{}))
		if known := p.store.Find(2) != nil; i > 1 && known == n.caught[2] {
			t.Fatalf("tick %d: hidden %v, known %v", i, n.caught[2], known)
		}
		if i > 1 && p.store.Find(3) == nil {
			t.Fatalf("tick %d: what is watched and shown is not known", i)
		}
	}
}

// Records of what a player attends to come more often, and those of what lies where it looks.
func TestWatchedThingsComeMoreOften(t *testing.T) {
	n := watchers(t, Config{Budget: 13000 / 8}, 250,
		func(w *game.World, me game.ID, watch func(game.ID, int)) geom.Vec2 {
			watch(2, 4)
			return geom.Vec2{X: 0.1}
		})
	n.referee = func(w *game.World) {
		for i := crumbs.Len(w); i < 240; i++ { // around the avatar
			crumbs.Spawn(w, crumb{Pos: w.Rand().Dir().Mul(100)})
		}
		for id, c := range crumbs.All(w) {
			c.Pos = c.Pos.Add(w.Rand().Dir())
			if id == 2 && w.Tick() == 1 {
				c.Pos = geom.Vec2{X: -100} // behind it
			}
		}
	}
	p := n.connect("ann")
	records, things := [3]int{}, [3]int{} // watched, ahead, elsewhere
	for tick := range 1200 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
		p.send(command(n.s.Tick()+2, antCmd{}))
		for _, e := range p.store.Entities() {
			i, ok := n.s.hist.Find(e.ID)
			fresh := e.Fresh
			if e.Fresh = false; !ok || e.ID == 1 || tick < 400 {
				continue
			}
			at, class := n.s.hist.At(i), 2
			switch x, y := float64(at.X), float64(at.Y); {
			case e.ID == 2:
				class = 0
			case x > 0 && y < 1.7*x && -y < 1.7*x:
				class = 1
			}
			things[class]++
			if fresh {
				records[class]++
			}
		}
	}
	rate := func(class int) float64 { return float64(records[class]) / float64(things[class]) }
	if r := rate(0) / rate(2); r < 2 || r > 6 {
		t.Errorf("what is watched 4 times as much comes %.2f times as often", r)
	}
	if r := rate(1) / rate(2); r < 1.4 || r > 2.6 {
		t.Errorf("what lies ahead comes %.2f times as often", r)
	}
}
