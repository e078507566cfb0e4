// Package gametest plays whole matches of a game in virtual time, for the game's own tests: the
// real server and real clients, played by bots over simulated networks. Two minutes of eight
// players take about a second.
//
//	func TestOnHotelWiFi(t *testing.T) {
//		m := gametest.New(t, &Game, 7) // a seed: the same match each time
//		ann := m.Join("ann", netsim.HotelWiFi, Bot)
//		m.Join("bob", netsim.TrainLTE, Bot)
//		m.Run(2 * time.Minute)
//		m.MustBePlayable(t)
//		if ammo := Pilots.Get(m.Server(), ann.Me()).Ammo; ammo < 0 {
//			t.Errorf("ammo %d", ammo)
//		}
//	}
//
// A Match fails its test by itself if clients receive wrong state, if rules panic or write in a
// client to what it does not predict, and if Act and Step are not deterministic, see Sim.Mistaken
// and Sim.Mispredicted. A Sim is what a Match runs: experiments use it
// directly, without a test.
package gametest

import (
	"errors"
	"flag"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netsim"
	"meanwhile/server"
)

// TB is the part of testing.TB that a Match needs.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Failed() bool
}

var seedFlag = flag.Uint64("match.seed", 0, "seed of all matches, to replay a failure")

// Match is a match of a game with commands of type C, in a test.
type Match[C any] struct {
	Sim *Sim // the simulation of the match, for what the methods do not offer

	t       TB
	allowed bool // AllowMispredictions was called
}

// New returns a match without players. One seed gives the same match each time; -match.seed
// overrides it. When the test ends, the match reports wrong state in a client, panics of rules,
// what rules do without effect, and clean mispredictions, and after any failure the command that
// replays it.
func New[C any](t TB, def *game.Definition[C], seed uint64) *Match[C] {
	t.Helper()
	if *seedFlag != 0 {
		seed = *seedFlag
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatalf("%v", err)
	}
	sim, err := NewSim(rules, seed, server.Config{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	m := &Match[C]{Sim: sim, t: t}
	t.Cleanup(func() {
		if err := sim.Diverged(); err != nil {
			t.Errorf("%v", err)
			if rules := (*engine.PanicError)(nil); errors.As(err, &rules) {
				t.Logf("%s", rules.Stack)
			}
		}
		if err := sim.Mistaken(); err != nil {
			t.Errorf("%v", err)
		}
		if err := sim.Mispredicted(); err != nil && !m.allowed {
			t.Errorf("%v", err)
		}
		if t.Failed() {
			t.Logf("replay: go test -run '^%s$' -match.seed=%d", t.Name(), seed)
		}
	})
	return m
}

// AllowMispredictions keeps clean mispredictions from failing the test. Rules that go by where
// other entities are now need it, as a client knows only the newest record of those. Where Step
// alone has players push each other it is not needed, see Sim.Mispredicted, nor for a game.Predicted
// ball that others kick. Keep a match of one
// player without it, which still finds most mistakes. Quality counts the mispredictions all the
// same.
func (m *Match[C]) AllowMispredictions() { m.allowed = true }

// Join adds a player on a network, played by bot; nil lets the avatar stand still. A player who
// joins during the match connects at that moment.
func (m *Match[C]) Join(name string, profile netsim.Profile, bot func(w *game.World, me game.ID) C) *Player {
	m.t.Helper()
	var play client.BotFunc
	if bot != nil {
		play = client.BotOf(bot)
	}
	p, err := m.Sim.Join(name, profile, play)
	if err != nil {
		m.t.Fatalf("%v", err)
	}
	return p
}

// Warmup is how long a match is played before it is measured: clocks and delays settle.
const Warmup = 10 * time.Second

// Run lets virtual time pass. The first Run plays for Warmup before.
func (m *Match[C]) Run(d time.Duration) {
	if !m.Sim.measuring() {
		m.Sim.Run(Warmup)
		m.Sim.Measure()
	}
	m.Sim.Run(d)
}

// Quality returns how well the match could be played since the Warmup, over all players.
func (m *Match[C]) Quality() Quality { return m.Sim.Quality() }

// Server returns the world as the server's rules see it.
func (m *Match[C]) Server() *game.World { return m.Sim.Server.World() }
