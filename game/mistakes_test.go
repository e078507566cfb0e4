package game_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/schema"
)

// line returns the place in this file that is so many lines below its caller's.
func line(below int) string {
	_, _, n, _ := runtime.Caller(1)
	return fmt.Sprintf("game/mistakes_test.go:%d", n+below)
}

// watch makes a client report mistakes, and returns where they go.
func watch(e *engine.Engine) *[]string {
	var found []string
	e.Report(func(sentence string) { found = append(found, sentence) })
	return &found
}

// ticks runs a command and Step for some ticks, each three times, as replays do.
func (b *beach) ticks(t *testing.T, e *engine.Engine, from, n game.Tick, seer engine.Seer) {
	t.Helper()
	var set engine.Set
	e.SaveSet(&set)
	for tick := from; tick < from+n; tick++ {
		for replay := range 3 {
			e.SetTick(tick)
			e.LoadSet(&set)
			e.Unhide(1, tick)
			if err := e.Act(1, make([]int64, e.Rules().Command.Sims), seer, replay > 0); err != nil {
				t.Fatal(err)
			}
			if err := e.Step(replay > 0); err != nil {
				t.Fatal(err)
			}
		}
		e.Drain()
	}
}

// A write to what no client predicts is reported once for each property and line, even if it
// happens once only.
func TestWritesInVainAreReported(t *testing.T) {
	b := &beach{step: func(w *game.World) {}}
	e := b.client(t)
	found := watch(e)
	at := line(4)
	b.act = func(w *game.World, me game.ID, c pinch) {
		crabs.Get(w, me).Score++
		crabs.Get(w, 2).Score = 9 // another player's avatar: commands do that
		r := rocks.Get(w, 3)
		if w.Tick() == 5 {
			r.Hot = true
		}
		r.Pos.X++
	}
	under := line(2)
	b.step = func(w *game.World) {
		for _, r := range rocks.All(w) {
			r.Pos.X = 7
		}
	}
	b.ticks(t, e, 1, 300, nil)
	const why = ", which has no effect in a client, as it does not predict any rock: declare the kind with " +
		"game.Predicted or game.Near, or with game.Playout if that is meant"
	want := []string{
		"game: Act writes rock.Pos at " + at + why,
		"game: Step writes rock.Pos at " + under + why,
		"game: Act writes rock.Hot at " + at + why,
	}
	if !slices.Equal(*found, want) {
		t.Errorf("reported\n%q, want\n%q", *found, want)
	}
	if got := crabs.Get(worldOf(e), 1).Score; got != 1 {
		t.Errorf("a command that is looked at closely scored %d, want 1", got)
	}
}

// look is a player who sees rock 3.
type look struct{}

func (look) Receipt() (r engine.Receipt) { return r }

func (look) Past(game.ID, game.Tick) ([]int64, game.Tick) { return nil, 0 }

func (look) Seen(q engine.Query, dst *engine.Sight) {
	if q.Kind == 1 {
		dst.Add(3, make([]int64, 3))
	}
}

// Nothing is reported of what is hit as its shooter saw it, of kinds whose author says that they
// are drawn in the past, of bots, and on the server.
func TestWritesThatAreMeant(t *testing.T) {
	b := &beach{step: func(w *game.World) {}}
	b.bot = func(w *game.World, me game.ID) (c pinch) {
		rocks.Get(w, 3).Hot = true
		rocks.Spawn(w, rock{})
		return c
	}
	e := b.client(t)
	found := watch(e)
	b.act = func(w *game.World, me game.ID, c pinch) {
		for id := range rocks.Seen(w, me) {
			rocks.Get(w, id).Hot = true
		}
	}
	b.ticks(t, e, 1, 100, look{})
	if err := e.Think(e.Rules().Bot(), 1, make([]int64, e.Rules().Command.Sims), look{}); err != nil {
		t.Fatal(err)
	}
	server := b.server(t)
	server.Report(func(sentence string) { t.Error(sentence) })
	b.must(t, server, func(w *game.World) { rocks.Spawn(w, rock{}); rocks.Get(w, 3).Hot = true })

	type cat struct {
		Pos  geom.Vec2 `net:"pos,1cm"`
		Hot  bool      `net:"bool"`
		Soul int       `net:"int,0..9,server"`
	}
	for i, option := range []game.KindOption{game.Playout, game.Extrapolated, func(*engine.Kind) {}} {
		cats := game.NewKind[cat]("cat", option)
		d := game.Definition[pinch]{
			Name: "cats", Kinds: game.Kinds(crabs, cats), Join: func(w *game.World, name string) game.ID { return 0 },
			Act: func(w *game.World, me game.ID, c pinch) {
				cats.Get(w, 3).Hot = i < 2
				cats.Get(w, 3).Soul = 9 // which nobody sees
			},
		}
		r, err := d.Rules()
		if err != nil {
			t.Fatal(err)
		}
		e := engine.NewClient(r, 1)
		e.Report(func(sentence string) { *found = append(*found, sentence) })
		e.SetAvatar(1)
		e.LoadSet(&engine.Set{Members: []engine.Member{{ID: 1}}, Vals: make([]int64, r.Kinds[0].Sims)})
		e.PutKnown(3, 1, make([]int64, r.Kinds[1].Obs))
		b.ticks(t, e, 1, 100, nil)
	}
	if len(*found) > 0 {
		t.Errorf("reported %q", *found)
	}
}

// What a client cannot spawn is reported once for each line.
func TestSpawnsInVainAreReported(t *testing.T) {
	b := &beach{}
	at := line(4)
	b.act = func(w *game.World, me game.ID, c pinch) {
		if w.Tick()%7 == 0 {
			for range 3 {
				rocks.Spawn(w, rock{})
			}
		}
	}
	under := line(3)
	b.step = func(w *game.World) {
		if w.Tick() == 9 {
			rocks.Spawn(w, rock{})
		}
	}
	e := b.client(t)
	found := watch(e)
	b.ticks(t, e, 1, 100, nil)
	want := []string{
		"game: Act spawns a rock at " + at + ", which players see a round trip later: declare the kind with " +
			"game.Predicted or game.Near, or with game.Playout if that is meant",
		"game: Step spawns a rock at " + under + ", which clients do not predict: spawn it in Act, or in Referee, " +
			"which the server runs alone",
	}
	if !slices.Equal(*found, want) {
		t.Errorf("reported\n%q, want\n%q", *found, want)
	}
}

// Two runs of one command that differ are reported with the property, both values and the line that
// reached for the entity. The result is that of the first run.
func TestImpureRulesAreReported(t *testing.T) {
	b := &beach{step: func(w *game.World) {}}
	e := b.client(t)
	found := watch(e)
	hidden := 0
	at := line(2)
	b.act = func(w *game.World, me game.ID, c pinch) {
		p := crabs.Get(w, me)
		p.Mood = 2 // which is known to the server alone
		p.Score = hidden % 5
		hidden++
		pings.Emit(w, me, p.Pos, ping{1})
		w.Despawn(3)
	}
	b.ticks(t, e, 1, 10, nil) // 30 runs
	if len(*found) != 0 {
		t.Fatalf("reported %q", *found)
	}
	var given []int
	act := b.act
	b.act = func(w *game.World, me game.ID, c pinch) {
		act(w, me, c)
		given = append(given, crabs.Get(w, me).Score)
	}
	for tick := game.Tick(11); tick < 111; tick++ {
		given = given[:0]
		e.SetTick(tick)
		e.Unhide(1, tick)
		if err := e.Act(1, make([]int64, e.Rules().Command.Sims), nil, false); err != nil {
			t.Fatal(err)
		}
		if got := crabs.Get(worldOf(e), 1).Score; got != given[0] {
			t.Errorf("tick %d gave %v one after the other, and the result is %d", tick, given, got)
		}
		e.Drain()
	}
	want := "game: Act is impure: two runs of one command on the same state gave crab.Score as [1] and [2] at " + at +
		"; randomness comes from World.Rand, time from World.Tick, and what rules remember belongs into the state of entities"
	if len(*found) == 0 || (*found)[0] != want {
		t.Errorf("reported\n%q, want\n%q", *found, want)
	}
	for name, c := range map[string]struct {
		act, step func(w *game.World)
		want      string
	}{
		"pure": {act: func(w *game.World) {
			p := crabs.Get(w, 1)
			if rocks.Has(w, 3) {
				p.Score++
			}
			p.Shell = w.Rand().IntN(9)
			w.Despawn(3)
			pings.Emit(w, 1, p.Pos, ping{p.Shell})
		}},
		"events": {
			act:  func(w *game.World) { hidden++; pings.Emit(w, 1, crabs.Get(w, 1).Pos, ping{hidden % 256}) },
			want: "game: Act is impure: two runs of one command on the same state did not spawn and emit the same",
		},
		"Step": {
			step: func(w *game.World) { hidden++; crabs.Get(w, 1).Score = hidden % 2 },
			want: "game: Step is impure: two runs of one command on the same state gave crab.Score as ",
		},
	} {
		b := &beach{act: func(w *game.World, me game.ID, c pinch) {}, step: func(w *game.World) {}}
		if c.act != nil {
			b.act = func(w *game.World, me game.ID, _ pinch) { c.act(w) }
		}
		if c.step != nil {
			b.step = c.step
		}
		e := b.client(t)
		found := watch(e)
		b.ticks(t, e, 1, 60, nil)
		switch {
		case c.want == "" && len(*found) > 0:
			t.Errorf("%s: reported %q", name, *found)
		case c.want != "" && (len(*found) == 0 || len((*found)[0]) < len(c.want) || (*found)[0][:len(c.want)] != c.want):
			t.Errorf("%s: reported %q, want %q first", name, *found, c.want)
		}
		if n := len(e.Events()); n != 0 {
			t.Errorf("%s: %d events are left", name, n)
		}
	}
}

// The second run of a command emits nothing that is shown, and spawns no second entity.
func TestSecondRunsLeaveNoTrace(t *testing.T) {
	logs := game.NewKind[rock]("log", game.Predicted)
	d := game.Definition[pinch]{
		Name: "logs", Kinds: game.Kinds(crabs, logs), Events: game.Events(pings),
		Join: func(w *game.World, name string) game.ID { return 0 },
		Act: func(w *game.World, me game.ID, c pinch) {
			logs.Spawn(w, rock{Hot: true})
			pings.Emit(w, me, crabs.Get(w, me).Pos, ping{3})
		},
	}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	e := engine.NewClient(r, 1)
	found := watch(e)
	e.SetAvatar(1)
	start := &engine.Set{Members: []engine.Member{{ID: 1}}, Vals: make([]int64, r.Kinds[0].Sims)}
	for tick := game.Tick(1); tick <= 100; tick++ {
		e.SetTick(tick)
		e.LoadSet(start)
		if err := e.Act(1, make([]int64, r.Command.Sims), nil, false); err != nil {
			t.Fatal(err)
		}
		var set engine.Set
		if e.SaveSet(&set); len(e.Events()) != 1 || len(e.Spawned()) != 1 || len(set.Members) != 2 {
			t.Fatalf("tick %d: %d events, spawned %v, predicted %v", tick, len(e.Events()), e.Spawned(), set.Members)
		}
		e.Drain()
	}
	if len(*found) > 0 || r.Kinds[1].Ahead != schema.Predicted {
		t.Errorf("reported %q", *found)
	}
}
