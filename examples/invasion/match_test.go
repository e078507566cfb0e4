package invasion

import (
	"testing"
	"time"

	"meanwhile/gametest"
	"meanwhile/netsim"
)

// A battle on a bad network: clients hold the server's states, and what Act predicts is right.
//
// seeds: R45 P10
func TestBattle(t *testing.T) {
	t.Parallel()
	m := gametest.New(t, &Game, 5)
	for range 4 {
		m.Join("bot", netsim.Ocean, Bot)
	}
	span := 20 * time.Second
	if testing.Short() {
		span = 5 * time.Second
	}
	m.Run(gametest.Warmup + span)
	kills, known := 0, 0
	for _, p := range Players.All(m.Server()) {
		kills += p.Kills
	}
	for _, p := range m.Sim.Players() {
		known = max(known, len(p.Client.Store().Entities()))
	}
	q := m.Quality()
	t.Logf("%d kills, at most %d known; %+v", kills, known, q)
	if kills < 10 || known < 200 {
		t.Errorf("%d kills, at most %d known", kills, known)
	}
}
