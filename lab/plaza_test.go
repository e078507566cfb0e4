package lab

import (
	"testing"
	"time"

	"meanwhile/examples/plaza"
	"meanwhile/netcode/clock"
)

// 255 people all know each other, and cost next to nothing while they rest.
//
// seeds: S9
func TestPlazaAtRest(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a lobby of 255 people; lab plaza prints what it costs")
	}
	def := plaza.Game
	def.Bot = stand
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBattle(rules, 1, plaza.People, plazaBudget, rtt100)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range b.fighters {
		f.viewer = false
	}
	b.loop.Run(clock.Time(15 * time.Second))
	b.measure()
	b.loop.Run(clock.Time(35 * time.Second))
	if b.fault != nil {
		t.Fatal(b.fault)
	}
	m := b.lobbyMetrics(20 * time.Second)
	for name, most := range map[string]float64{"down_bytes_per_s": 20, "up_bytes_per_s": 20, "records_per_s": 0} {
		if got, _ := m.Get(name); got > most {
			t.Errorf("%s is %v, want at most %v", name, got, most)
		}
	}
	if known, _ := m.Get("known_share"); known != 1 {
		t.Errorf("known_share is %v: not all see all", known)
	}
}
