package game_test

import (
	"fmt"
	"strings"
	"testing"

	"meanwhile/game"
	"meanwhile/internal/engine"
)

func TestDefinitionErrors(t *testing.T) {
	join := func(w *game.World, name string) game.ID { return 0 }
	act := func(w *game.World, me game.ID, c pinch) {}
	good := func() game.Definition[pinch] {
		return game.Definition[pinch]{Name: "beach", Kinds: game.Kinds(crabs), Join: join, Act: act}
	}
	if _, err := (&game.Definition[pinch]{Name: "beach", Kinds: game.Kinds(crabs), Join: join,
		Act: act}).Rules(); err != nil {
		t.Fatalf("the least definition: %v", err)
	}
	many := func(n int) (d game.Definition[pinch]) {
		for i := range n {
			d.Kinds = append(d.Kinds, game.NewKind[rock](fmt.Sprint("rock-", i)))
		}
		return d
	}
	for name, c := range map[string]struct {
		change func(d *game.Definition[pinch])
		want   string
	}{
		"no name": {func(d *game.Definition[pinch]) { d.Name = "" },
			`Name "" is not 1 to 32 lower-case letters, digits and dashes`},
		"upper case":      {func(d *game.Definition[pinch]) { d.Name = "Beach" }, `Name "Beach" is not`},
		"long name":       {func(d *game.Definition[pinch]) { d.Name = strings.Repeat("x", 33) }, `is not 1 to 32`},
		"negative rate":   {func(d *game.Definition[pinch]) { d.Rate = -1 }, "Rate -1 is outside [1, 240] ticks a second"},
		"high rate":       {func(d *game.Definition[pinch]) { d.Rate = 241 }, "Rate 241 is outside [1, 240]"},
		"send above rate": {func(d *game.Definition[pinch]) { d.Rate, d.Send = 10, 11 }, "Send 11 is outside [1, Rate 10]"},
		"negative send":   {func(d *game.Definition[pinch]) { d.Send = -1 }, "Send -1 is outside [1, Rate 30]"},
		"see":             {func(d *game.Definition[pinch]) { d.See = 256 }, "See 256 is outside [1, 255]"},
		"no join":         {func(d *game.Definition[pinch]) { d.Join = nil }, "Join and Act must be set"},
		"no act":          {func(d *game.Definition[pinch]) { d.Act = nil }, "Join and Act must be set"},
		"half hidden": {func(d *game.Definition[pinch]) { d.Groups = func(*game.World, game.ID) uint64 { return 1 } },
			"ShownTo and Groups must be set together: an entity is hidden from players who share no group"},
		"no kinds":   {func(d *game.Definition[pinch]) { d.Kinds = nil }, "0 kinds and 0 events; 1 to 64 kinds"},
		"65 kinds":   {func(d *game.Definition[pinch]) { d.Kinds = many(65).Kinds }, "65 kinds and 0 events"},
		"kind twice": {func(d *game.Definition[pinch]) { d.Kinds = game.Kinds(crabs, crabs) }, `kind "crab": names are`},
		"kind's name": {func(d *game.Definition[pinch]) { d.Kinds = game.Kinds(game.NewKind[rock]("a b")) },
			`kind "a b": names are`},
		"zero kind": {func(d *game.Definition[pinch]) { d.Kinds = game.Kinds(crabs, game.Kind[rock]{}) },
			"Kinds[1] was not made by NewKind"},
		"nil kind": {func(d *game.Definition[pinch]) { d.Kinds = game.Kinds(crabs, nil) },
			"Kinds[1] was not made by NewKind"},
		"zero event": {func(d *game.Definition[pinch]) { d.Events = game.Events(game.Event[ping]{}) },
			"Events[0] was not made by NewEvent"},
		"untagged field": {func(d *game.Definition[pinch]) { d.Kinds = game.Kinds(game.NewKind[struct{ X int }]("box")) },
			".X has no net tag"},
		"not a struct": {func(d *game.Definition[pinch]) { d.Kinds = game.Kinds(game.NewKind[int]("number")) },
			"schema: number is a int, want a struct"},
	} {
		d := good()
		c.change(&d)
		r, err := d.Rules()
		if err == nil || !strings.HasPrefix(err.Error(), "game: "+d.Name+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, c.want)
		}
		if r != nil {
			t.Errorf("%s: rules in spite of an error", name)
		}
	}

	// All mistakes are in one error.
	type bag struct {
		Y float64 `net:"pos"`
	}
	d := game.Definition[struct{ Fire bool }]{Name: "?", Rate: 999,
		Kinds: game.Kinds(game.NewKind[struct{ X int }]("box"), game.NewKind[bag]("bag"))}
	_, err := d.Rules()
	for _, want := range []string{`Name "?"`, "Rate 999", "Join and Act", ".X has no net tag", `.Y `,
		".Fire has no net tag"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("one error for all: got %v, want it to say %q", err, want)
		}
	}
}

// Rules do not change with the Definition that they were made of.
func TestRulesAreACopy(t *testing.T) {
	ran := ""
	d := game.Definition[pinch]{Name: "beach", Kinds: game.Kinds(crabs),
		Join: func(w *game.World, name string) game.ID { return crabs.Spawn(w, crab{}) },
		Act:  func(w *game.World, me game.ID, c pinch) { ran = "old" }}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d.Act = func(w *game.World, me game.ID, c pinch) { ran = "new" }
	e := engine.NewServer(r, 1, 2)
	id, _ := e.Join("ann", nil)
	if err := e.Act(id, make([]int64, r.Command.Sims), nil, false); err != nil || ran != "old" {
		t.Errorf("ran the %s Act, %v", ran, err)
	}
}

func TestDefaults(t *testing.T) {
	r := new(beach).rules(t)
	if r.Rate != 30 || r.Send != 20 || r.See != engine.DefaultSee {
		t.Errorf("rate %d send %d see %d", r.Rate, r.Send, r.See)
	}
	d := game.Definition[pinch]{Name: "slow", Rate: 5, Kinds: game.Kinds(rocks),
		Join: func(w *game.World, name string) game.ID { return 0 }, Act: func(w *game.World, me game.ID, c pinch) {}}
	if r, err := d.Rules(); err != nil || r.Send != 5 {
		t.Errorf("5 ticks a second: %+v, %v", r, err)
	}
	if d.Rate = 7; d.Name != "slow" {
		t.Fatal()
	}
	a, _ := d.Rules()
	d.Static = 9
	if b, _ := d.Rules(); a.Hash == b.Hash || !strings.Contains(b.Text, "static=9") {
		t.Error("the static world is not part of the hash")
	}
}
