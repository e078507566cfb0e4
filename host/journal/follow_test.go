package journal_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// A followed match is one that is recorded into a tail.
type followed struct {
	*gametest.Sim
	tail   *journal.Tail
	header journal.Header
	broken bool // from here on nothing is put
}

func follow(t *testing.T, rules *game.Rules, late time.Duration) *followed {
	t.Helper()
	m := &followed{tail: journal.NewTail(late)}
	m.Sim = match(t, rules, 3, func(c journal.Chunk) bool {
		if c.Kind == journal.KindHeader {
			if err := json.Unmarshal(c.Payload, &m.header); err != nil {
				t.Error(err)
			}
		}
		return !m.broken && m.tail.Put(c)
	})
	return m
}

func (m *followed) follow(t *testing.T, newest bool) *journal.Follower {
	t.Helper()
	f, err := m.tail.FollowAs(m.Server, m.header, newest)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// goOn computes ticks as long as there are some, and returns why it ended and how many they were.
func goOn(f *journal.Follower, each func()) (n int, why error) {
	for {
		if _, err := f.Next(); err != nil {
			return n, err
		}
		if _, err := f.Step(); err != nil {
			return n, err
		}
		if n++; each != nil {
			each()
		}
	}
}

// A world that is followed while it is played is computed again tick by tick, and an audience in
// it, to which much is sent, changes nothing.
func TestFollower(t *testing.T) {
	for _, g := range games {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			rules, err := g.rules()
			if err != nil {
				t.Fatal(err)
			}
			m := follow(t, rules, 0)
			m.Run(200 * time.Millisecond)
			f := m.follow(t, false)
			if _, err := f.Next(); err != nil {
				t.Fatal(err)
			}
			const late = 7 * time.Second
			audience, err := server.NewAudience(f.World(), 3, late)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_, w, err := audience.Connect(f.World().Now().Add(late), "viewer")
				if err != nil || w.Late != late {
					t.Fatal(w, err)
				}
			}
			var out server.Outbox
			sent, avatars := 0, 0
			watch := func() {
				audience.Begin(0)
				out.Reset()
				audience.Encode(0, audience.Clients(), &out)
				sent += out.Len()
				audience.End()
				if w := f.World(); audience.Tick() != w.Tick() || audience.Now().Sub(w.Now()) != late {
					t.Fatalf("tick %d at %v, that of the world %d at %v", audience.Tick(), audience.Now(), w.Tick(), w.Now())
				}
				if view := audience.View(1); view != nil {
					avatars = max(avatars, len(view.AppendKnown(nil)))
				}
			}
			span := 8
			if g.name == "arena" {
				span = 31 // with a checkpoint
			}
			for range 2 * span {
				m.Run(500 * time.Millisecond)
				if _, err := goOn(f, watch); err != io.EOF {
					t.Fatal(err)
				}
			}
			if d := f.Differs(); d != nil {
				t.Errorf("%v", d)
			}
			if f.World().Tick()+20 < m.Server.Tick() || sent < 10 || avatars < 4 {
				t.Errorf("tick %d of %d, sent %d, knew %d", f.World().Tick(), m.Server.Tick(), sent, avatars)
			}
		})
	}
}

// Followers begin with the oldest checkpoint that a late one needs, or with the newest; older
// chunks are dropped.
func TestTail(t *testing.T) {
	m := follow(t, zapRules(t), 20*time.Second)
	m.Run(95 * time.Second)
	late, now := m.follow(t, false), m.follow(t, true)
	for _, f := range []*journal.Follower{late, now} {
		if _, err := f.Next(); err != nil {
			t.Fatal(err)
		}
	}
	rate := clock.Tick(m.Server.Rules().Rate)
	// Checkpoints are made after 30, 60 and 90 s.
	if a, b := late.World().Tick(), now.World().Tick(); a/rate != 60 || b/rate != 90 {
		t.Errorf("at %d and %d ticks, %d a second", a, b, rate)
	}
	for _, f := range []*journal.Follower{late, now} {
		if _, err := goOn(f, nil); err != io.EOF || f.Differs() != nil || f.World().Tick()+20 < m.Server.Tick() {
			t.Errorf("%v, %v at tick %d of %d", err, f.Differs(), f.World().Tick(), m.Server.Tick())
		}
	}
	b, err := late.Save()
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.NewReplay(m.Server.Rules(), parsed(t, b))
	if err == nil {
		err = r.Seek(late.World().Tick())
	}
	if err != nil || r.Server.Engine().Sum() != late.World().Engine().Sum() {
		t.Errorf("what a follower saves is another world: %v", err)
	}
}

// A follower that misses a part says so.
func TestFollowerGap(t *testing.T) {
	m := follow(t, zapRules(t), 0)
	m.Run(time.Second)
	f := m.follow(t, false)
	m.Run(4 * time.Second)
	m.broken = true
	m.Run(time.Second)
	m.broken = false
	m.Run(30 * time.Second)
	if _, err := goOn(f, nil); !errors.Is(err, journal.ErrGap) {
		t.Errorf("%v, want a gap", err)
	}
	if _, err := f.Next(); !errors.Is(err, journal.ErrGap) {
		t.Errorf("asked again: %v", err)
	}
}

type orb struct {
	Pos geom.Vec2 `net:"pos"`
}

type orbCommand struct {
	Push geom.Vec2 `net:"stick,5bit"`
}

// orbRules are rules of a game that are not deterministic from a tick on: they remember something
// beside the world.
func orbRules(t *testing.T, from game.Tick) *game.Rules {
	t.Helper()
	orbs := game.NewKind[orb]("orb")
	calls := 0
	d := game.Definition[orbCommand]{Name: "orbs", Rate: 20, Kinds: game.Kinds(orbs),
		Join: func(w *game.World, name string) game.ID { return orbs.Spawn(w, orb{}) },
		Act:  func(w *game.World, me game.ID, c orbCommand) {},
		Referee: func(w *game.World) {
			calls++
			for id, o := range orbs.All(w) {
				o.Pos.X = float64(int(w.Tick())%7 + int(id))
				if w.Tick() >= from && id%2 == 0 {
					o.Pos.X += float64(calls % 1000)
				}
			}
		},
		Bot: func(w *game.World, me game.ID) orbCommand { return orbCommand{} },
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// Rules that are not deterministic are found in the tick in which that shows, and at the next
// checkpoint what they changed is named.
func TestFollowerFindsDifference(t *testing.T) {
	const from = 100
	rules := orbRules(t, from)
	m := follow(t, rules, 0)
	m.Run(time.Second)
	f := m.follow(t, false)
	m.Run(6 * time.Second)
	if _, err := goOn(f, nil); err != io.EOF {
		t.Fatal(err)
	}
	if d := f.Differs(); d == nil || d.Tick != from {
		t.Fatalf("%v, want a difference at tick %d", d, from)
	}
	m.Run(30 * time.Second)
	_, err := goOn(f, nil)
	var parting *journal.Parting
	if !errors.As(err, &parting) || parting.Tick != 600 || !slices.Contains(parting.What, "Pos of orb 2") ||
		slices.Contains(parting.What, "Pos of orb 1") {
		t.Errorf("%v, want what the rules changed", err)
	}
}
