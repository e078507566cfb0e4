package server

import (
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
)

type guard struct {
	Pos  geom.Vec2 `net:"pos"`
	Team int       `net:"int,0..3,team"`
}

type whisper struct {
	Team int `net:"int,0..3,team"`
	Word int `net:"int,0..99"`
}

var (
	guards   = game.NewKind[guard]("guard")
	whispers = game.NewEvent[whisper]("whisper")
)

// An event with a team reaches that team alone, whoever is near: its place and that it happened are
// the team's own. Whoever is of no team, and a spectator, receive none.
func TestEventsOfATeam(t *testing.T) {
	n := &nest{t: t}
	d := n.def()
	d.Kinds, d.Events = game.Kinds(guards), game.Events(whispers)
	d.Join = func(w *game.World, name string) game.ID {
		if name == "watcher" {
			return 0
		}
		return guards.Spawn(w, guard{Pos: geom.Vec2{X: float64(guards.Len(w))}, Team: int(name[0] - '0')})
	}
	d.Act = func(w *game.World, me game.ID, c antCmd) {}
	d.Bot, d.Step, d.Leave = nil, nil, nil
	d.Referee = func(w *game.World) {
		if w.Tick() == 25 {
			for team := range 3 {
				whispers.Emit(w, 0, geom.Vec2{}, whisper{Team: team, Word: 10 + team})
			}
		}
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, Config{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"1 near": 1, "2 near": 1, "1 too": 1, "0 none": 0, "watcher": 0}
	peers := map[string]*peer{}
	for name := range want {
		peers[name] = n.connect(name)
	}
	for range 40 {
		n.tick(func(id PlayerID, b []byte) {
			for _, p := range peers {
				if p.id == id {
					p.take(b)
				}
			}
		})
		for _, p := range peers {
			p.send()
		}
	}
	for name, p := range peers {
		if len(p.events) != want[name] {
			t.Errorf("%s received %d events, want %d", name, len(p.events), want[name])
		}
	}
}
