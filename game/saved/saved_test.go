package saved_test

import (
	"strings"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/game/saved"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netsim"
)

type (
	hero struct {
		Pos  geom.Vec2 `net:"pos,1m"`
		Gold int       `net:"int,0..1000"`
	}
	walk struct {
		On bool `net:"bool"`
	}
	profile struct{ Gold, Seen int }
	table   struct{ Best [3]profile }
)

func definition(s ...*engine.Saved) *game.Definition[walk] {
	heroes := game.NewKind[hero]("hero")
	return &game.Definition[walk]{Name: "quest", Kinds: game.Kinds(heroes), Saved: s,
		Join: func(w *game.World, name string) game.ID { return heroes.Spawn(w, hero{}) },
		Act:  func(w *game.World, me game.ID, c walk) {}}
}

// A definition names each record that could not be stored and read again as it was.
func TestMistakes(t *testing.T) {
	type hidden struct {
		Gold int
		last int
	}
	type shared struct {
		Bag [2]struct{ Of *profile }
		Any any
	}
	for _, c := range []struct {
		s    []*engine.Saved
		want string
	}{
		{saved.List(saved.ForPlayers[hidden]()), "the record of players: hidden.last is not exported"},
		{saved.List(saved.ForRooms[shared]()), "the record of rooms: shared.Bag[].Of is a *saved_test.profile"},
		{saved.List(saved.ForRooms[shared]()), "shared.Any is a interface {}"},
		{saved.List(saved.ForPlayers[int]()), "the record of players is a int, not a struct"},
		{saved.List(saved.ForRooms[table](), saved.ForPlayers[profile](), saved.ForPlayers[table]()),
			"Saved lists two records of players"},
		{saved.List(saved.Rooms[table]{}), "Saved[0] was not made by package saved"},
		{saved.List(saved.ForRooms[table](), saved.ForPlayers[profile]()), ""},
	} {
		_, err := definition(c.s...).Rules()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if last := (hidden{}).last; last != 0 {
		t.Error(last)
	}
}

// In clients records are zero and writes to them are discarded; without a store the server's last
// as long as the stay. Reading one allocates nothing on the server.
func TestWhereThereIsNone(t *testing.T) {
	profiles, tables := saved.ForPlayers[profile](), saved.ForRooms[table]()
	d := definition(saved.List(profiles, tables)...)
	heroes := game.NewKind[hero]("hero")
	d.Kinds = game.Kinds(heroes)
	d.Join = func(w *game.World, name string) game.ID {
		profiles.Of(w, 0).Gold = 100
		return heroes.Spawn(w, hero{})
	}
	inClient, allocated := 0, 0.0
	d.Act = func(w *game.World, me game.ID, c walk) {
		p := profiles.Of(w, me)
		if p.Gold == 0 && p.Seen == 0 {
			inClient++
			p.Seen, tables.Of(w).Best[0].Seen = 7, 7
		}
	}
	d.Referee = func(w *game.World) {
		for id, h := range heroes.All(w) {
			h.Gold = profiles.Of(w, id).Gold
			if profiles.Lasts(w, id) || profiles.Of(w, 999).Gold != 0 || tables.Of(w).Best[0].Seen == 7 {
				t.Error("a record lasts, belongs to nobody, or was written in a client")
			}
			if w.Tick() == 30 {
				allocated = testing.AllocsPerRun(10, func() { profiles.Of(w, id).Seen++ })
			}
		}
	}
	m := gametest.New(t, d, 1)
	m.Join("ann", netsim.LAN, func(w *game.World, me game.ID) walk { return walk{true} })
	m.Run(3 * time.Second)
	if inClient == 0 || allocated != 0 {
		t.Errorf("Act ran %d times with a zero record, and reading one allocates %v times", inClient, allocated)
	}
}
