package game_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

type crab struct {
	Pos   geom.Vec2  `net:"pos"`
	Aim   geom.Angle `net:"angle,8bit"`
	Score int        `net:"int,0..999"`
	Level int        `net:"int,1..9"` // a range that zero lies outside of
	Name  string     `net:"text,12"`
	Shell int        `net:"int,0..9,to=owner"`
	Mood  int        `net:"int,0..9,server"`
	Crawl int        `net:"int,0..9,kept"`
}

type rock struct {
	Pos geom.Vec2 `net:"pos,1cm"`
	Hot bool      `net:"bool"`
}

type ping struct {
	N int `net:"int,0..255"`
}

type pinch struct {
	Move geom.Vec2  `net:"stick,5bit"`
	Aim  geom.Angle `net:"angle,8bit"`
	Snap bool       `net:"press"`
}

var (
	crabs  = game.NewKind[crab]("crab")
	rocks  = game.NewKind[rock]("rock")
	ghosts = game.NewKind[rock]("ghost") // not listed
	pings  = game.NewEvent[ping]("ping")
	pongs  = game.NewEvent[ping]("pong") // not listed
)

// beach is a game whose callbacks a test fills in.
type beach struct {
	join    func(w *game.World, name string) game.ID
	leave   func(w *game.World, me game.ID)
	act     func(w *game.World, me game.ID, c pinch)
	step    func(w *game.World)
	referee func(w *game.World)
	bot     func(w *game.World, me game.ID) pinch
}

func (b *beach) rules(t testing.TB) *game.Rules {
	t.Helper()
	d := game.Definition[pinch]{
		Name: "beach", Rate: 30, Kinds: game.Kinds(crabs, rocks), Events: game.Events(pings),
		Join:    func(w *game.World, name string) game.ID { return b.join(w, name) },
		Act:     func(w *game.World, me game.ID, c pinch) { b.act(w, me, c) },
		Step:    func(w *game.World) { b.step(w) },
		Referee: func(w *game.World) { b.referee(w) },
		Bot:     func(w *game.World, me game.ID) pinch { return b.bot(w, me) },
	}
	if b.leave != nil {
		d.Leave = b.leave
	}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// server returns a world at tick 1 with two crabs, 1 and 2.
func (b *beach) server(t testing.TB) *engine.Engine {
	t.Helper()
	b.join = func(w *game.World, name string) game.ID {
		return crabs.Spawn(w, crab{Name: name, Level: 1, Pos: geom.Vec2{X: float64(crabs.Len(w))}})
	}
	e := engine.NewServer(b.rules(t), 11, 22)
	e.SetTick(1)
	for _, name := range []string{"ann", "bob"} {
		if _, err := e.Join(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	e.Drain()
	return e
}

// client returns a client's world that predicts crab 1, its avatar, and knows crab 2 and rock 3.
func (b *beach) client(t testing.TB) *engine.Engine {
	t.Helper()
	r := b.rules(t)
	e := engine.NewClient(r, 11)
	e.SetTick(1)
	sims := make([]int64, r.Kinds[0].Sims)
	sims[r.Kinds[0].Props[3].At] = 1
	e.SetAvatar(1)
	e.LoadSet(&engine.Set{Members: []engine.Member{{ID: 1}}, Vals: sims})
	drawn := make([]int64, r.Kinds[0].Obs)
	e.PutKnown(2, 0, drawn)
	e.PutKnown(3, 1, make([]int64, r.Kinds[1].Obs))
	return e
}

// run calls f as the command of crab 1.
func (b *beach) run(t testing.TB, e *engine.Engine, f func(w *game.World)) error {
	t.Helper()
	b.act = func(w *game.World, me game.ID, c pinch) { f(w) }
	return e.Act(1, make([]int64, e.Rules().Command.Sims), nil, false)
}

// must is run for callbacks that succeed.
func (b *beach) must(t testing.TB, e *engine.Engine, f func(w *game.World)) {
	t.Helper()
	if err := b.run(t, e, f); err != nil {
		t.Fatal(err)
	}
}

func panicText(f func()) (s string) {
	defer func() { s = fmt.Sprint(recover()) }()
	f()
	return
}

func TestSpawnGetDespawn(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	var id game.ID
	b.must(t, e, func(w *game.World) {
		id = rocks.Spawn(w, rock{Pos: geom.Vec2{X: 1.2345, Y: 2}})
		if r := rocks.Get(w, id); r.Pos.X != 1.23 { // simulated in centimetres
			t.Errorf("a spawned rock lies at %v, off the grid", r.Pos)
		}
		rocks.Get(w, id).Pos.X = 3.456
		if r := rocks.Get(w, id); r.Pos.X != 3.456 {
			t.Errorf("what a callback wrote reads %v within it", r.Pos.X)
		}
	})
	if id != 3 || rocks.Get(worldOf(e), id).Pos.X != 3.46 {
		t.Errorf("rock %d lies at %v after the callback, want 3.46", id, rocks.Get(worldOf(e), id).Pos.X)
	}
	if got := e.Spawned(); !slices.Equal(got, []game.ID{3}) {
		t.Errorf("spawned %v", got)
	}
	b.must(t, e, func(w *game.World) {
		r := rocks.Get(w, id)
		w.Despawn(id)
		w.Despawn(id) // twice is once
		w.Despawn(99) // nothing
		if !rocks.Has(w, id) || rocks.Len(w) != 1 || rocks.Get(w, id) != r {
			t.Error("a rock that is despawned is gone before the callback returns")
		}
	})
	if rocks.Has(worldOf(e), id) || rocks.Len(worldOf(e)) != 0 || !slices.Equal(e.Removed(), []game.ID{3}) {
		t.Errorf("after the callback: %d rocks, removed %v", rocks.Len(worldOf(e)), e.Removed())
	}
	e.Drain()
	b.must(t, e, func(w *game.World) {
		if next := rocks.Spawn(w, rock{}); next != 4 {
			t.Errorf("ID %d was given out again", next)
		}
		w.Despawn(4)
	})
	if !slices.Equal(e.Spawned(), []game.ID{4}) || !slices.Equal(e.Removed(), []game.ID{4}) || rocks.Len(worldOf(e)) != 0 {
		t.Errorf("spawned and despawned in one callback: %v, %v, %d left", e.Spawned(), e.Removed(), rocks.Len(worldOf(e)))
	}
	if crabs.Has(worldOf(e), 4) || rocks.Has(worldOf(e), 1) || rocks.Has(worldOf(e), 0) {
		t.Error("Has mixes up kinds")
	}
}

// Get never returns nil. Writes to an entity that does not exist are discarded.
func TestGetOfNothing(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	b.must(t, e, func(w *game.World) {
		c := crabs.Get(w, 99)
		if *c != (crab{}) {
			t.Errorf("nothing is %+v", *c)
		}
		crabs.Get(w, 0).Score = 5
		if got := crabs.Get(w, 99); got.Score != 0 {
			t.Errorf("what was written to one nothing shows in another: %+v", *got)
		}
		crabs.Get(w, 99).Name = "late"
	})
	b.must(t, e, func(w *game.World) { // reading costs nothing
		if crabs.Get(w, 99).Name != "" {
			t.Error("nothing kept a name")
		}
	})
}

// Pointers stay valid while a range spawns. The range skips what it spawns, and visits what it
// despawns.
func TestSpawningAndDespawningDuringARange(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	b.must(t, e, func(w *game.World) {
		for i := range 10 {
			rocks.Spawn(w, rock{Pos: geom.Vec2{X: float64(i)}})
		}
	})
	var visited []game.ID
	b.must(t, e, func(w *game.World) {
		first := rocks.Get(w, 3)
		for id, r := range rocks.All(w) {
			visited = append(visited, id)
			for range 50 {
				rocks.Spawn(w, rock{Pos: geom.Vec2{X: 100}})
			}
			w.Despawn(id + 1)
			r.Hot = true
		}
		first.Pos.Y = 7 // still the rock's state
	})
	if want := []game.ID{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(visited, want) {
		t.Errorf("visited %v, want %v", visited, want)
	}
	if r := rocks.Get(worldOf(e), 3); r.Pos.Y != 7 || !r.Hot {
		t.Errorf("a pointer taken before 500 spawns wrote elsewhere: %+v", *r)
	}
	if n := rocks.Len(worldOf(e)); n != 500 { // 10 + 500 - 9 others and the first that was spawned
		t.Errorf("%d rocks are left", n)
	}
}

func TestRangeOrderAndBreak(t *testing.T) {
	b := &beach{}
	e := b.client(t)
	for _, id := range []game.ID{70, 5, 33, 4, 90} { // as news come in
		e.PutKnown(id, 1, make([]int64, e.Rules().Kinds[1].Obs))
	}
	var got []game.ID
	b.must(t, e, func(w *game.World) {
		for id := range rocks.All(w) {
			if got = append(got, id); id == 70 {
				break
			}
		}
	})
	if want := []game.ID{3, 4, 5, 33, 70}; !slices.Equal(got, want) {
		t.Errorf("visited %v, want %v: a range goes by rising ID", got, want)
	}
}

// Extrapolated entities cannot be hit: rules that try to panic, on both sides. The choice is part
// of the schema.
func TestExtrapolatedKinds(t *testing.T) {
	type child struct {
		On  game.ID   `net:"handle,parent"`
		Pos geom.Vec2 `net:"pos"`
	}
	rules := func(d game.Definition[pinch]) (*game.Rules, error) {
		d.Name, d.Join = "sky", func(w *game.World, name string) game.ID { return 0 }
		d.Act = func(w *game.World, me game.ID, c pinch) {}
		return d.Rules()
	}
	clouds := game.NewKind[rock]("cloud", game.Extrapolated)
	r, err := rules(game.Definition[pinch]{Kinds: game.Kinds(clouds)})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := rules(game.Definition[pinch]{Kinds: game.Kinds(game.NewKind[rock]("cloud"))})
	if err != nil {
		t.Fatal(err)
	}
	if r.Hash == plain.Hash || !r.Kinds[0].Extrapolated || plain.Kinds[0].Extrapolated {
		t.Errorf("the schema does not say so: %s", r.Text)
	}
	const want = "game: Seen of kind cloud, which is Extrapolated: what is extrapolated cannot be hit"
	for _, e := range []*engine.Engine{engine.NewServer(r, 1, 2), engine.NewClient(r, 1)} {
		if got := panicText(func() {
			for range clouds.Seen(worldOf(e), 1) {
			}
		}); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
	if _, err := rules(game.Definition[pinch]{
		Kinds: game.Kinds(game.NewKind[child]("child", game.Extrapolated))}); err == nil ||
		!strings.Contains(err.Error(), "has a parent") {
		t.Errorf("an extrapolated kind with a parent: %v", err)
	}
}

func TestUnlistedHandles(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	var zero game.Kind[rock]
	for name, c := range map[string]struct {
		f    func(w *game.World)
		want string
	}{
		"Spawn": {func(w *game.World) { ghosts.Spawn(w, rock{}) },
			`game: kind "ghost" is not listed in the Kinds of game "beach"`},
		"Get": {func(w *game.World) { ghosts.Get(w, 1) }, `game: kind "ghost" is not listed in the Kinds of game "beach"`},
		"Has": {func(w *game.World) { ghosts.Has(w, 1) }, `game: kind "ghost" is not listed in the Kinds of game "beach"`},
		"Len": {func(w *game.World) { ghosts.Len(w) }, `game: kind "ghost" is not listed in the Kinds of game "beach"`},
		"All": {func(w *game.World) {
			for range ghosts.All(w) {
			}
		}, `game: kind "ghost" is not listed in the Kinds of game "beach"`},
		"Seen": {func(w *game.World) {
			for range ghosts.Seen(w, 1) {
			}
		}, `game: kind "ghost" is not listed in the Kinds of game "beach"`},
		"Emit": {func(w *game.World) { pongs.Emit(w, 1, geom.Vec2{}, ping{}) },
			`game: event "pong" is not listed in the Events of game "beach"`},
		"no kind": {func(w *game.World) { zero.Get(w, 1) },
			`game: kind "the zero value" is not listed in the Kinds of game "beach"`},
	} {
		if got := panicText(func() { c.f(worldOf(e)) }); got != c.want {
			t.Errorf("%s: panic %q, want %q", name, got, c.want)
		}
		if err := b.run(t, e, c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in a callback: %v", name, err)
		}
	}
}

// A panic undoes its callback and is reported. The world goes on.
func TestPanicUndoesItsCallback(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	b.must(t, e, func(w *game.World) { rocks.Spawn(w, rock{}) })
	e.Drain()
	err := b.run(t, e, func(w *game.World) {
		crabs.Get(w, 1).Score = 100
		for _, c := range crabs.All(w) {
			c.Pos.X = 50
		}
		w.Cut(2)
		w.Despawn(3)
		id := rocks.Spawn(w, rock{})
		rocks.Get(w, id).Hot = true
		crabs.Get(w, 99).Score = 1
		pings.Emit(w, 1, geom.Vec2{}, ping{1})
		var none []int
		_ = none[w.Tick()]
	})
	var p *engine.PanicError
	if !errors.As(err, &p) || p.Phase != "Act" || p.Tick != 1 || p.Actor != 1 || len(p.Stack) == 0 ||
		!strings.Contains(err.Error(),
			`game: Act of game "beach" panicked at tick 1: runtime error: index out of range [1] with length 0`) {
		t.Fatalf("got %v", err)
	}
	w := worldOf(e)
	if c := crabs.Get(w, 1); c.Score != 0 || c.Pos.X != 0 || crabs.Get(w, 2).Pos.X != 1 {
		t.Errorf("half a command happened: %+v", *c)
	}
	if rocks.Len(w) != 1 || len(e.Spawned())+len(e.Removed())+len(e.Events()) != 0 || e.LastExternalChange(2) != 0 {
		t.Errorf("%d rocks, spawned %v, removed %v, events %v, external change %d", rocks.Len(w), e.Spawned(), e.Removed(),
			e.Events(), e.LastExternalChange(2))
	}
	e.Changed(func(c engine.Change) int32 {
		if c.Cut {
			t.Errorf("entity %d is cut", c.ID)
		}
		return 0
	})
	b.must(t, e, func(w *game.World) { // and on it goes
		crabs.Get(w, 1).Score++
		if id := rocks.Spawn(w, rock{}); id != 5 {
			t.Errorf("ID %d", id)
		}
	})
	if crabs.Get(w, 1).Score != 1 || rocks.Len(w) != 2 {
		t.Error("the world did not go on")
	}
}

func TestJoinAndLeave(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	b.join = func(w *game.World, name string) game.ID { crabs.Spawn(w, crab{}); panic(name) }
	if id, err := e.Join("eve", nil); id != 0 || err == nil || crabs.Len(worldOf(e)) != 2 {
		t.Errorf("a Join that panics: %d, %v, %d crabs", id, err, crabs.Len(worldOf(e)))
	}
	b.join = func(w *game.World, name string) game.ID { return 2 }
	if id, err := e.Join("eve", nil); id != 0 || err == nil ||
		err.Error() != `game: Join of game "beach" returned 2, which is no entity that it spawned` {
		t.Errorf("a Join that returns another's avatar: %d, %v", id, err)
	}
	b.join = func(w *game.World, name string) game.ID { return 0 }
	if id, err := e.Join("eve", nil); id != 0 || err != nil {
		t.Errorf("one who only watches: %d, %v", id, err)
	}
	if err := e.Leave(1); err != nil || crabs.Has(worldOf(e), 1) {
		t.Errorf("without a Leave the avatar stays: %v", err)
	}

	b = &beach{leave: func(w *game.World, me game.ID) {}}
	e = b.server(t)
	if err := e.Leave(1); err != nil || !crabs.Has(worldOf(e), 1) {
		t.Errorf("the rules' Leave kept the avatar: %v", err)
	}
	b = &beach{leave: func(w *game.World, me game.ID) { panic("no") }}
	e = b.server(t)
	if err := e.Leave(1); err == nil || crabs.Has(worldOf(e), 1) {
		t.Errorf("a Leave that panics: %v, avatar there: %v", err, crabs.Has(worldOf(e), 1))
	}
}

// A client cannot change what it does not predict, but may read it.
func TestClientDiscardsWritesToOthers(t *testing.T) {
	b := &beach{}
	e := b.client(t)
	b.must(t, e, func(w *game.World) {
		crabs.Get(w, 1).Score = 7
		for id, c := range crabs.All(w) {
			if id == 2 && c.Score != 0 {
				t.Error("not as known")
			}
		}
		if rocks.Spawn(w, rock{}) != 0 {
			t.Error("a prediction spawned")
		}
	})
	if e.LastSideEffect(1) != 0 {
		t.Errorf("side effect %d", e.LastSideEffect(1))
	}
	b.must(t, e, func(w *game.World) {
		crabs.Get(w, 2).Score = 7
		w.Cut(2)
	})
	w := worldOf(e)
	if crabs.Get(w, 1).Score != 7 || crabs.Get(w, 2).Score != 0 {
		t.Errorf("own %+v, other %+v", *crabs.Get(w, 1), *crabs.Get(w, 2))
	}
	if e.LastSideEffect(1) != 1 {
		t.Errorf("side effect %d", e.LastSideEffect(1))
	}
	b.must(t, e, func(w *game.World) { w.Despawn(1) })
	if !crabs.Has(w, 1) {
		t.Error("a prediction despawned its own avatar")
	}
}

// A predicted despawn hides an entity from later commands. Earlier commands, when they run again,
// still find it.
func TestPredictedDespawn(t *testing.T) {
	b := &beach{}
	e := b.client(t)
	take := func(tick game.Tick) (found bool) {
		e.SetTick(tick)
		b.must(t, e, func(w *game.World) {
			if found = rocks.Has(w, 3); found {
				w.Despawn(3)
			}
		})
		return found
	}
	if !take(10) || rocks.Has(worldOf(e), 3) || take(11) || !e.Hidden(3) {
		t.Fatal("a rock was taken twice, or not at all")
	}
	if e.LastPredictedDespawn(1) != 10 || e.LastPredictedDespawn(2) != 0 {
		t.Errorf("taken at tick %d, want 10", e.LastPredictedDespawn(1))
	}
	for _, r := range rocks.All(worldOf(e)) {
		t.Errorf("a taken rock is listed: %v", *r)
	}
	if rocks.Len(worldOf(e)) != 0 {
		t.Error("a taken rock counts")
	}
	e.Unhide(10, 10) // command 8 is run again, and now reaches it
	if !take(8) || take(9) || take(10) || !e.Hidden(3) {
		t.Error("replay from tick 8")
	}
	e.SetTick(7)
	if !rocks.Has(worldOf(e), 3) {
		t.Error("before the command that took it, it was there")
	}
	e.SetTick(11)
	e.Unhide(8, 8)
	if !rocks.Has(worldOf(e), 3) || e.Hidden(3) {
		t.Error("not taken back")
	}
}

// Step runs on both sides, so what it despawns is hidden in a client at once.
func TestPredictedDespawnByStep(t *testing.T) {
	b := &beach{step: func(w *game.World) { w.Despawn(3) }}
	e := b.client(t)
	if err := e.Step(false); err != nil || !e.Hidden(3) || e.LastPredictedDespawn(1) != 0 {
		t.Errorf("Step's despawn: %v, hidden %v", err, e.Hidden(3))
	}
}

// What a client predicts, and what it knows of others, is as the newest LoadSet and PutKnown say.
func TestLoadSetAndPutKnown(t *testing.T) {
	b := &beach{}
	e := b.client(t)
	b.must(t, e, func(w *game.World) { w.Cut(1) })
	var set engine.Set
	if e.SaveSet(&set); len(set.Members) != 1 || set.Members[0] != (engine.Member{ID: 1, Cut: 1}) {
		t.Errorf("a predicted teleport of the avatar alone is not noted: %+v", set.Members)
	}
	set.Members[0].Cut = 0
	e.LoadSet(&set)
	if e.SaveSet(&set); set.Members[0].Cut != 0 {
		t.Error("a teleport lasts beyond LoadSet")
	}
	b.must(t, e, func(w *game.World) { w.Despawn(1) })
	e.PutKnown(1, 0, make([]int64, e.Rules().Kinds[0].Obs))
	b.must(t, e, func(w *game.World) { crabs.Get(w, 1).Score = 5 })
	if got := crabs.Get(worldOf(e), 1).Score; got != 0 || e.Hidden(1) {
		t.Errorf("an entity that is predicted no more: score %d, hidden %v", got, e.Hidden(1))
	}
}

// A command that writes to an entity which does not exist reached for something that its client
// does not know, unlike one on the server, which knows everything.
func TestWritesToNothingAreSideEffects(t *testing.T) {
	b := &beach{}
	for _, c := range []struct {
		e    *engine.Engine
		want game.Tick
	}{{b.client(t), 1}, {b.server(t), 0}} {
		b.must(t, c.e, func(w *game.World) { crabs.Get(w, 99).Score = 5 })
		if got := c.e.LastSideEffect(1); got != c.want {
			t.Errorf("side effect at tick %d, want %d", got, c.want)
		}
	}
}

// Players who join in the same tick draw different numbers.
func TestJoinsDrawTheirOwnNumbers(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	var drawn []uint64
	b.join = func(w *game.World, name string) game.ID {
		drawn = append(drawn, w.Rand().Uint64())
		return crabs.Spawn(w, crab{})
	}
	for range 2 {
		if _, err := e.Join("x", nil); err != nil {
			t.Fatal(err)
		}
	}
	if drawn[0] == drawn[1] {
		t.Errorf("both drew %x", drawn[0])
	}
}

// A bot changes nothing, on either side.
func TestThinkLeavesNoTrace(t *testing.T) {
	for name, e := range map[string]func(b *beach) *engine.Engine{
		"server": func(b *beach) *engine.Engine { return b.server(t) },
		"client": func(b *beach) *engine.Engine { return b.client(t) },
	} {
		b := &beach{}
		e := e(b)
		b.bot = func(w *game.World, me game.ID) pinch {
			c := crabs.Get(w, me)
			c.Score, c.Name = 9, "mallory"
			crabs.Get(w, 2).Score = 9
			crabs.Get(w, 77).Score = 9
			w.Despawn(2)
			w.Cut(2)
			pings.Emit(w, me, geom.Vec2{}, ping{})
			if rocks.Spawn(w, rock{}) != 0 {
				t.Errorf("%s: a bot spawned", name)
			}
			return pinch{Move: geom.Vec2{X: 3, Y: 4}, Snap: true}
		}
		cmd := make([]int64, e.Rules().Command.Sims)
		if err := e.Think(e.Rules().Bot(), 1, cmd, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(cmd, []int64{9, 12, 0, 1}) { // (3, 4) on the unit disc in 15 steps
			t.Errorf("%s: command %v", name, cmd)
		}
		w := worldOf(e)
		if c := crabs.Get(w, 1); c.Score != 0 || c.Name == "mallory" || crabs.Get(w, 2).Score != 0 || !crabs.Has(w, 2) {
			t.Errorf("%s: a bot wrote: %+v", name, *c)
		}
		e.Changed(func(c engine.Change) int32 {
			if c.Cut {
				t.Errorf("%s: entity %d is cut", name, c.ID)
			}
			return 0
		})
		if len(e.Events())+len(e.Spawned())+len(e.Removed()) != 0 {
			t.Errorf("%s: events %v, spawned %v, removed %v", name, e.Events(), e.Spawned(), e.Removed())
		}
	}
}

// Random numbers depend on the world, the tick, the acting player and the callback alone. A
// client's Act draws what the server's does; Join and Referee draw from the secret.
func TestRand(t *testing.T) {
	type key struct {
		seed, secret uint64
		tick         game.Tick
		actor        game.ID
		phase        string
	}
	draws := map[uint64]key{}
	draw := func(k key, e *engine.Engine, b *beach) uint64 {
		var v uint64
		note := func(w *game.World) {
			v = w.Rand().Uint64()
			w.Rand().Uint64() // draws of one callback do not move another's
		}
		b.act = func(w *game.World, me game.ID, c pinch) { note(w) }
		b.step, b.referee = note, note
		b.join = func(w *game.World, name string) game.ID { note(w); return 0 }
		e.SetTick(k.tick)
		cmd := make([]int64, e.Rules().Command.Sims)
		switch k.phase {
		case "act":
			e.Act(k.actor, cmd, nil, false)
		case "step":
			e.Step(false)
		case "referee":
			e.Referee()
		case "join":
			e.Join("x", nil)
		}
		return v
	}
	for _, seed := range []uint64{1, 2} {
		for _, secret := range []uint64{1, 3} {
			b := &beach{}
			server := engine.NewServer(b.rules(t), seed, secret)
			client := engine.NewClient(b.rules(t), seed)
			for _, tick := range []game.Tick{1, 2} {
				for _, k := range []key{{seed, secret, tick, 1, "act"}, {seed, secret, tick, 2, "act"},
					{seed, secret, tick, 0, "step"},
					{seed, secret, tick, 0, "referee"}, {seed, secret, tick, 0, "join"}} {
					v := draw(k, server, b)
					if again := draw(k, server, b); again != v {
						t.Errorf("%+v: %x, then %x", k, v, again)
					}
					known := k.phase == "act" || k.phase == "step"
					if known && draw(k, client, b) != v {
						t.Errorf("%+v: the client draws something else", k)
					}
					before, ok := draws[v]
					same := before.phase == k.phase && before.tick == k.tick && before.actor == k.actor &&
						before.seed == k.seed
					if ok && !(known && same) {
						t.Errorf("%+v draws what %+v draws", k, before)
					}
					draws[v] = k
				}
			}
		}
	}
}

// A client shows the events of its own player's commands. All others come from the server.
//
// seeds: B5
func TestWhoShowsAnEvent(t *testing.T) {
	emitAll := func(w *game.World) {
		pings.Emit(w, 1, geom.Vec2{X: 1}, ping{1}) // its own
		pings.Emit(w, 2, geom.Vec2{X: 2}, ping{2}) // about another
		pings.Emit(w, 0, geom.Vec2{}, ping{})      // about nobody
	}
	for name, c := range map[string]struct {
		client  bool
		replay  bool
		inStep  bool
		want    []int64
		byActor []bool
	}{
		"server's Act":    {want: []int64{1, 2, 0}, byActor: []bool{true, false, false}},
		"server's Step":   {inStep: true, want: []int64{1, 2, 0}, byActor: []bool{false, false, false}},
		"client's Act":    {client: true, want: []int64{1}, byActor: []bool{true}},
		"client's replay": {client: true, replay: true, want: []int64{1}, byActor: []bool{true}},
		"client's Step":   {client: true, inStep: true, want: []int64{1}, byActor: []bool{false}},
	} {
		b := &beach{step: emitAll, act: func(w *game.World, me game.ID, c pinch) { emitAll(w) }}
		e := b.server(t)
		if c.client {
			e = b.client(t)
		}
		if c.inStep {
			e.Step(c.replay)
		} else {
			e.Act(1, make([]int64, e.Rules().Command.Sims), nil, c.replay)
		}
		var got []int64
		var byActor []bool
		for _, ev := range e.Events() {
			got, byActor = append(got, ev.Vals[0]), append(byActor, ev.ByActor)
			if ev.At.X != float64(ev.Vals[0]) || ev.Tick != 1 || ev.Actor != game.ID(ev.Vals[0]) || ev.Replay != c.replay {
				t.Errorf("%s: %+v", name, ev)
			}
		}
		if !slices.Equal(got, c.want) || !slices.Equal(byActor, c.byActor) {
			t.Errorf("%s: events %v by actor %v, want %v %v", name, got, byActor, c.want, c.byActor)
		}
	}
}

// The engine notes when others changed an avatar and when its commands changed others, to judge
// predictions.
func TestExternalChangesAndSideEffects(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	e.SetTick(5)
	b.must(t, e, func(w *game.World) { crabs.Get(w, 1).Score = 1 })
	if e.LastExternalChange(1) != 0 || e.LastSideEffect(1) != 0 {
		t.Error("its own command counts as an external change")
	}
	e.SetTick(6)
	b.must(t, e, func(w *game.World) { crabs.Get(w, 2).Score = 1 })
	if e.LastExternalChange(2) != 6 || e.LastSideEffect(1) != 6 || e.LastExternalChange(1) != 0 {
		t.Errorf("external change %d, side effect %d", e.LastExternalChange(2), e.LastSideEffect(1))
	}
	e.SetTick(7)
	b.referee = func(w *game.World) { crabs.Get(w, 1).Score = 9 }
	e.Referee()
	if e.LastExternalChange(1) != 7 {
		t.Errorf("the referee: %d", e.LastExternalChange(1))
	}
	e.SetTick(10)
	e.SetCommandTick(8) // a queued command, of a tick before
	b.must(t, e, func(w *game.World) {
		if crabs.Get(w, 2).Score = 3; w.Tick() != 8 {
			t.Errorf("a command of tick 8 runs at %d", w.Tick())
		}
	})
	e.SetTick(10)
	if e.LastExternalChange(2) != 10 || e.LastSideEffect(1) != 10 {
		t.Errorf("queued: external change %d, side effect %d, not the tick that it ran in",
			e.LastExternalChange(2), e.LastSideEffect(1))
	}
	e.SetTick(11)
	b.step = func(w *game.World) {
		for _, c := range crabs.All(w) {
			c.Score++
		}
	}
	e.Step(false)
	if e.LastExternalChange(1) != 7 || e.LastExternalChange(2) != 10 {
		t.Error("Step runs on both sides")
	}
}

func TestCutLastsOneTick(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	b.must(t, e, func(w *game.World) { w.Cut(2); w.Cut(99) })
	cuts := func() (got []game.ID) {
		e.Changed(func(c engine.Change) int32 {
			if c.Cut {
				got = append(got, c.ID)
			}
			return 0
		})
		return got
	}
	if got := cuts(); !slices.Equal(got, []game.ID{2}) {
		t.Errorf("cut %v", got)
	}
	if got := cuts(); len(got) != 0 {
		t.Errorf("still cut %v", got)
	}
}

// States are rounded to the grid whatever numbers rules write.
func TestWildNumbers(t *testing.T) {
	b := &beach{}
	e := b.server(t)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, math.MaxFloat64} {
		b.must(t, e, func(w *game.World) {
			c := crabs.Get(w, 1)
			c.Pos = geom.Vec2{X: v, Y: -v}
			c.Aim, c.Score, c.Level = geom.Angle(v), math.MaxInt, math.MinInt
			c.Name = "\xff\xfe a name that is far too long"
		})
		c := *crabs.Get(worldOf(e), 1)
		if c.Pos.X != c.Pos.X || math.IsInf(c.Pos.X, 0) || c.Aim != c.Aim || c.Score != 999 || c.Level != 1 ||
			len(c.Name) > 12 {
			t.Errorf("%v: %+v", v, c)
		}
		b.must(t, e, func(w *game.World) {}) // stable: nothing moves without being touched
		if again := *crabs.Get(worldOf(e), 1); again != c {
			t.Errorf("%v: %+v became %+v", v, c, again)
		}
	}
}

// worldOf is the world that an engine drives, as rules see it.
func worldOf(e *engine.Engine) *game.World { return (*game.World)(e.World()) }

// What a client's command spawns of a kind that clients run ahead exists at once, under an ID that
// replays give it again, and under the server's once that is known.
func TestClientSpawnsAhead(t *testing.T) {
	sparks := game.NewKind[rock]("spark", game.Predicted)
	var ids []game.ID
	def := game.Definition[pinch]{Name: "forge", Kinds: game.Kinds(crabs, sparks),
		Join: func(w *game.World, name string) game.ID { return crabs.Spawn(w, crab{}) },
		Act: func(w *game.World, me game.ID, c pinch) {
			ids = append(ids, sparks.Spawn(w, rock{}), sparks.Spawn(w, rock{}), crabs.Spawn(w, crab{}))
		},
		Step: func(w *game.World) { ids = append(ids, sparks.Spawn(w, rock{})) },
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	e := engine.NewClient(r, 11)
	e.SetAvatar(1)
	set := engine.Set{Members: []engine.Member{{ID: 1}}, Vals: make([]int64, r.Kinds[0].Sims)}
	run := func() []game.ID {
		ids = nil
		e.SetTick(20)
		e.LoadSet(&set)
		if err := e.Act(1, make([]int64, r.Command.Sims), nil, false); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(ids)
	}
	first, second := engine.SpawnKey{Tick: 20}, engine.SpawnKey{Tick: 20, N: 1}
	if got := run(); !slices.Equal(got, []game.ID{first.ID(), second.ID(), 0}) || !got[0].Foreseen() {
		t.Errorf("spawned %x", got)
	}
	if !sparks.Has(worldOf(e), first.ID()) || sparks.Len(worldOf(e)) != 2 {
		t.Errorf("%d sparks", sparks.Len(worldOf(e)))
	}
	e.Adopt(second, 77)
	if got := run(); !slices.Equal(got, []game.ID{first.ID(), 77, 0}) {
		t.Errorf("spawned again: %x", got)
	}
	if !first.ID().SpawnedBy(20) || first.ID().SpawnedBy(19) {
		t.Error("the tick of a spawn is not in its ID")
	}
	if err := e.Step(false); err != nil || ids[len(ids)-1] != 0 {
		t.Errorf("Step spawned %x, %v", ids[len(ids)-1], err)
	}

	s := engine.NewServer(r, 1, 2)
	s.SetTick(20)
	if _, err := s.Join("ann", nil); err != nil {
		t.Fatal(err)
	}
	ids = nil
	if err := s.Act(1, make([]int64, r.Command.Sims), nil, false); err != nil {
		t.Fatal(err)
	}
	for i, want := range []engine.SpawnKey{first, second} {
		if by, key := s.Spawner(ids[i]); by != 1 || key != want {
			t.Errorf("spawn %d on the server: by %d, %+v", i, by, key)
		}
	}
}
