package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/examples/invasion"
	"meanwhile/examples/kick"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
)

var games = []struct {
	name  string
	rules func() (*game.Rules, error)
}{{"arena", arena.Game.Rules}, {"kick", kick.Game.Rules}, {"zap", zap.Game.Rules}, {"invasion", invasion.Game.Rules}}

// gametestOf returns a short match without a test.
func gametestOf(rules *game.Rules, put func(journal.Chunk) bool) (*gametest.Sim, error) {
	sim, err := gametest.NewSim(rules, 1, server.Config{})
	if err == nil {
		err = sim.Record(put)
	}
	if err == nil {
		_, err = sim.Join("ann", netsim.LAN, client.BotFunc(rules.Bot()))
	}
	return sim, err
}

// match returns a match of bots on several networks, one of which joins in the middle.
func match(t *testing.T, rules *game.Rules, seed uint64, put func(journal.Chunk) bool) *gametest.Sim {
	t.Helper()
	sim, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if put != nil {
		if err := sim.Record(put); err != nil {
			t.Fatal(err)
		}
	}
	profiles := []netsim.Profile{netsim.LAN, netsim.HotelWiFi, netsim.TrainLTE, netsim.Ocean}
	join := func(i int) {
		if _, err := sim.Join(fmt.Sprintf("p%d", i), profiles[i%len(profiles)], client.BotFunc(rules.Bot())); err != nil {
			t.Error(err)
		}
	}
	for i := range 5 {
		join(i)
	}
	sim.Loop.After(3*time.Second, func() { join(5) })
	return sim
}

// A world that is put into a fresh server every half second sends the same bytes as one that is
// not, and frozen again it is the same.
func TestAWorldGoesOnInAFreshServer(t *testing.T) {
	for _, g := range games {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(g.name, seed), func(t *testing.T) {
				t.Parallel()
				rules, err := g.rules()
				if err != nil {
					t.Fatal(err)
				}
				straight, moved := match(t, rules, seed, nil), match(t, rules, seed, nil)
				for i := range 16 {
					straight.Run(500 * time.Millisecond)
					moved.Run(500 * time.Millisecond)
					if straight.Hash() != moved.Hash() {
						t.Fatalf("other bytes between move %d and the next", i)
					}
					fresh, err := server.New(rules, server.Config{Seed: 99})
					if err != nil {
						t.Fatal(err)
					}
					form, err := journal.FormOf(fresh)
					if err != nil {
						t.Fatal(err)
					}
					frozen, err := form.Freeze(nil, moved.Server)
					if err != nil {
						t.Fatal(err)
					}
					if err := form.Thaw(frozen, fresh); err != nil {
						t.Fatal(err)
					}
					if again, err := form.Freeze(nil, fresh); err != nil || !bytes.Equal(again, frozen) {
						t.Fatalf("frozen again it has %d bytes instead of %d, or others: %v", len(again), len(frozen), err)
					}
					moved.GoOn(fresh)
				}
			})
		}
	}
}

// record returns the journal of a match and the datagrams that it sent, by tick.
func record(t *testing.T, rules *game.Rules, seed uint64, d time.Duration) (*journal.File, *gametest.Sim) {
	t.Helper()
	var b []byte
	sim := match(t, rules, seed, func(c journal.Chunk) bool {
		var err error
		if b, err = c.Append(b); err != nil {
			t.Error(err)
		}
		return true
	})
	sim.Run(d)
	f, err := journal.Parse(b)
	if err != nil || f.Torn != nil {
		t.Fatal(err, f.Torn)
	}
	return f, sim
}

// A replay sends what was sent, to its end, from the start as from each checkpoint, and has the
// world in the end that the match had.
func TestReplay(t *testing.T) {
	for _, g := range games {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			rules, err := g.rules()
			if err != nil {
				t.Fatal(err)
			}
			span := 8
			if g.name == "arena" {
				span = 33 // with a checkpoint
			}
			f, sim := record(t, rules, 5, time.Duration(span)*time.Second)
			for _, from := range []clock.Tick{0, clock.Tick((span - 2) * rules.Rate), clock.Tick(5 * rules.Rate)} {
				r, err := journal.NewReplay(rules, f)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Seek(from); err != nil {
					t.Fatal(err)
				}
				var last journal.Tick
				for ; err == nil; last, err = r.Step() {
				}
				_, end, _ := f.Ends()
				if !errors.Is(err, io.EOF) || r.Differs != nil || r.Server.Tick() != end ||
					end+clock.Tick(rules.Rate) < sim.Server.Tick() {
					t.Errorf("from %d: ended at tick %d of %d after %v, %v: %v", from, r.Server.Tick(), end, last, err, r.Differs)
				}
			}
		})
	}
}
