package plaza

import (
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// walker says that its avatar is where place puts it, as a page would that computes so: place gets
// the newest place and the number of the command.
func walker(place func(from geom.Vec2, n int) geom.Vec2) func(w *game.World, me game.ID) Cmd {
	at, fix, n := geom.Vec2{}, -1, 0
	return func(w *game.World, me game.ID) Cmd {
		a := Avatars.Get(w, me)
		if a.Fix != fix { // as the page does: it goes on from where it was put
			at, fix = a.Pos, a.Fix
		}
		n++
		at = place(at, n)
		return Cmd{At: at, Fix: fix}
	}
}

// The owner decides where its avatar is, at any speed up to that of people, and the server relays
// exactly that. It refuses who is faster on average, who jumps, who leaves the square and who stands
// in the fountain; the owner goes on from where it was.
//
// seeds: S10
func TestOwnerDecides(t *testing.T) {
	t.Parallel()
	step := func(metres float64) func(geom.Vec2, int) geom.Vec2 {
		return func(from geom.Vec2, n int) geom.Vec2 { // to and fro, so that it stays on the square
			if n/40%2 == 1 {
				metres := -metres
				return from.Add(geom.Vec2{X: metres})
			}
			return from.Add(geom.Vec2{X: metres})
		}
	}
	once := func(way geom.Vec2) func(geom.Vec2, int) geom.Vec2 {
		return func(from geom.Vec2, n int) geom.Vec2 {
			if n == 60 {
				return from.Add(way)
			}
			return from
		}
	}
	for _, c := range []struct {
		name    string
		place   func(geom.Vec2, int) geom.Vec2
		refused bool
		most    float64 // metres a second on average
	}{
		{"walks", step(0.3), false, 3.1},
		{"runs as fast as it may", step(MaxSpeed / Rate), false, MaxSpeed + 0.1},
		{"runs twice as fast", step(2 * MaxSpeed / Rate), true, MaxSpeed + Credit/10},
		{"makes up for two seconds", once(geom.Vec2{X: 9}), false, 1},
		{"jumps", once(geom.Vec2{X: 10}), true, 0},
		{"leaves the square", once(geom.Vec2{Y: -8}), true, 0},
		{"stands in the fountain", once(geom.Vec2{X: 5, Y: 9}), true, 0},
	} {
		def := Game
		def.Join = func(w *game.World, name string) game.ID {
			return Avatars.Spawn(w, Avatar{Pos: geom.Vec2{X: -6, Y: -10}, Name: name, Fix: 1, Left: Credit})
		}
		m := gametest.New(t, &def, 3)
		m.Join("ann", netsim.LAN, walker(c.place))
		way, seconds := 0.0, 10
		m.Run(time.Second / Rate)
		id := only(m.Server())
		before := Avatars.Get(m.Server(), id).Pos
		for range seconds * Rate {
			m.Run(time.Second / Rate)
			at := Avatars.Get(m.Server(), id).Pos
			way, before = way+at.Dist(before), at
		}
		fix := Avatars.Get(m.Server(), id).Fix
		if speed := way / float64(seconds); c.refused != (fix != 1) || speed > c.most {
			t.Errorf("%s: put back %d times, %.2f m/s", c.name, fix-1, speed)
		}
	}
}

// What a person says reaches all, without line breaks, and so does an emote; a spectator says
// nothing, and nobody shows emotes faster than they can be seen.
func TestChatAndEmotes(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, &Game, 11)
	ann := m.Join("ann", netsim.LAN, func(w *game.World, me game.ID) Cmd {
		a := Avatars.Get(w, me)
		return Cmd{At: a.Pos, Fix: a.Fix, Emote: Heart, Show: w.Tick() >= 50 && w.Tick() < 50+3*emoteAfter}
	})
	bob, viewer := m.Join("bob", netsim.Ocean, nil), m.Join(Viewer, netsim.LAN, nil)
	var lines []string
	var from game.ID
	hearts := 0
	bob.OnWord = func(w *client.Word) {
		if l, ok := client.Heard(bob.Client, w, Chat); ok {
			lines, from = append(lines, l.Text), w.From
		}
	}
	bob.OnEvent = func(*client.Event) { hearts++ }
	m.Run(time.Second)
	for _, p := range []*gametest.Player{viewer, ann} {
		for _, text := range []string{" hello\n all ", " "} {
			if err := client.Say(p.Client, Chat, Line{text}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.Run(2 * time.Second)
	if len(lines) != 1 || lines[0] != "hello all" || from != ann.Me() || viewer.Me() != 0 {
		t.Errorf("bob read %q from %d, ann is %d, the viewer %d", lines, from, ann.Me(), viewer.Me())
	}
	if hearts != 3 {
		t.Errorf("bob saw %d hearts, want 3", hearts)
	}
}

// only returns the avatar of a square with one.
func only(w *game.World) (id game.ID) {
	for i := range Avatars.All(w) {
		id = i
	}
	return id
}
