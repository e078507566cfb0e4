package gametest

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/netcode/packet"
	"meanwhile/netsim"
	"meanwhile/server"
)

func crowd(t testing.TB, seed uint64, n int, workers int, p netsim.Profile) *Sim {
	t.Helper()
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSim(rules, seed, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = workers
	for i := range n {
		if _, err := s.Join(fmt.Sprint("bot", i), p, rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// One seed gives the same bytes twice, and the same bytes however many workers encode.
func TestSameBytesTwice(t *testing.T) {
	var first uint64
	for i, workers := range []int{1, 1, 4} {
		s := crowd(t, 3, 16, workers, netsim.Ocean)
		s.Run(6 * time.Second)
		if i == 0 {
			first = s.Hash()
		} else if s.Hash() != first {
			t.Errorf("run %d with %d workers: bytes hash to %x, the first run's to %x", i, workers, s.Hash(), first)
		}
		if err := s.Diverged(); err != nil {
			t.Fatal(err)
		}
	}
}

// When movement stops, every client comes to hold exactly the server's state. Then no state is sent
// any more, only keep-alives.
//
// seeds: S6 R8 R44
func TestConvergesAndFallsSilent(t *testing.T) {
	s := crowd(t, 5, 12, 1, netsim.Ocean)
	s.Run(10 * time.Second)
	s.Still()
	s.Run(10 * time.Second)
	if err := s.Converged(); err != nil {
		t.Fatal(err)
	}
	before := make([]server.PlayerStats, len(s.players))
	sent := make([]uint64, len(s.players))
	for i, p := range s.players {
		before[i], _ = s.Server.Stats(p.ID)
		sent[i] = p.Client.Stats().Sent
	}
	const quiet = 60 * time.Second
	s.Run(quiet)
	for i, p := range s.players {
		after, _ := s.Server.Stats(p.ID)
		if n := after.Records - before[i].Records; n != 0 {
			t.Errorf("%s: %d records sent at rest", p.Name, n)
		}
		most := uint64(quiet/packet.KeepAlive) * 2 // ours and the answer to theirs
		if n := after.Sent - before[i].Sent; n > most {
			t.Errorf("%s: the server sent %d packets in %v at rest, want at most %d", p.Name, n, quiet, most)
		}
		if n := p.Client.Stats().Sent - sent[i]; n > most {
			t.Errorf("%s: the client sent %d packets in %v at rest, want at most %d", p.Name, n, quiet, most)
		}
		if after.Starved != before[i].Starved {
			t.Errorf("%s: %d ticks counted as starved while idle", p.Name, after.Starved-before[i].Starved)
		}
	}
	if err := s.Diverged(); err != nil {
		t.Fatal(err)
	}
}
