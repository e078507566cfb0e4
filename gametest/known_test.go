package gametest_test

import (
	"testing"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/gametest"
	"meanwhile/netsim"
	"meanwhile/server"
)

// A server knows the hitches of its players without a report of theirs, by what their commands
// state of their pictures, and how old these are. Losses on the way down it knows from
// acknowledgements.
func TestServerKnowsHitches(t *testing.T) {
	play := func(profile netsim.Profile, seed uint64) (shown, known, lost uint64, age time.Duration) {
		rules, err := arena.Game.Rules()
		if err != nil {
			t.Fatal(err)
		}
		sim, err := gametest.NewSim(rules, seed, server.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ann", "bob", "cy", "dee"} {
			if _, err := sim.Join(name, profile, rules.Bot()); err != nil {
				t.Fatal(err)
			}
		}
		sim.Run(gametest.Warmup)
		count := func(sign uint64) {
			for _, p := range sim.Players() {
				st, _ := sim.Server.Stats(p.ID)
				shown += sign * p.Client.Stats().Hitches
				known += sign * st.Hitches
				lost += sign * st.Lost
				age = max(age, st.ViewAge)
			}
		}
		count(^uint64(0))
		sim.Run(time.Minute)
		count(1)
		return shown, known, lost, age
	}
	if shown, known, lost, age := play(netsim.LAN, 1); shown+known+lost > 0 || age < 20*time.Millisecond ||
		age > 200*time.Millisecond {
		t.Errorf("lan: %d hitches, the server knows %d, %d losses, pictures up to %v old", shown, known, lost, age)
	}
	// On a train the server knows a third: where it sends
	// nothing as the path is full, nothing is missing for it.
	if shown, known, lost, age := play(netsim.Ocean, 1); shown < 8 || known > shown*5/4 || known < shown*3/4 ||
		lost < 100 ||
		age < 200*time.Millisecond {
		t.Errorf("ocean: %d hitches, the server knows %d, %d losses, pictures up to %v old", shown, known, lost, age)
	}
}
