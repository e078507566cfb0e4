// Package gametest plays whole matches of a game in virtual time: the real server, real clients and bots on
// simulated networks, for a game's own tests. Two minutes of eight players take about a second.
package gametest

import (
	"errors"
	"flag"
	"time"

	"meanwhile/game"
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

// Match is a match of a game with command type C.
type Match[C any] struct {
	*Sim
	t TB
}

// New returns a match. A failure of t prints the command that replays it; -match.seed overrides the seed.
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
	m := &Match[C]{sim, t}
	t.Cleanup(func() {
		if err := sim.Diverged(); err != nil {
			t.Errorf("%v", err)
			if rules := (*game.PanicError)(nil); errors.As(err, &rules) {
				t.Logf("%s", rules.Stack)
			}
		}
		if t.Failed() {
			t.Logf("replay: go test -run '^%s$' -match.seed=%d", t.Name(), seed)
		}
	})
	return m
}

// Join adds a player on a network, played by bot.
func (m *Match[C]) Join(name string, profile netsim.Profile, bot func(w *game.World, me game.ID) C) *Player {
	m.t.Helper()
	p, err := m.Sim.Join(name, profile, game.BotOf(bot))
	if err != nil {
		m.t.Fatalf("%v", err)
	}
	return p
}

// Warmup is how long after the first Run a match is played before it is measured: clocks and delays settle.
const Warmup = 10 * time.Second

// Run lets virtual time pass, with Warmup before the first.
func (m *Match[C]) Run(d time.Duration) {
	if !m.measuring() {
		m.Sim.Run(Warmup)
		m.Measure()
	}
	m.Sim.Run(d)
}

// Server returns the world as the server's rules see it.
func (m *Match[C]) Server() *game.World { return m.Sim.Server.World() }

// Me returns the player's avatar.
func (p *Player) Me() game.ID {
	if p.Client == nil {
		return 0
	}
	return p.Client.Me()
}
