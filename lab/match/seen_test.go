package match_test

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/lab/match"
	"meanwhile/netsim"
	"meanwhile/server"
)

// What players see of everything, whatever the words of its tags, is the same when the server judges their commands as when they were predicted, to the
// bit: places, rotations, names of states, what is dead reckoned, and crates where their ferries were drawn. The exceptions are commands that came too late, for
// which another one is run, and packets that were overtaken on their way, of which a command does not say whether they were there yet.
func TestSeenByBothSides(t *testing.T) {
	type key struct {
		me   game.ID
		tick game.Tick
	}
	pictures := map[key][]string{} // by each run of a command: predictions, and the server's
	def := harbour
	act := def.Act
	def.Act = func(w *game.World, me game.ID, c helm) {
		act(w, me, c)
		all := ""
		for id, s := range ships.Seen(w, me) {
			all += fmt.Sprintln("ship", id, s.Side, s.Pos, s.Vel, s.Turn, s.Spin, s.Look)
		}
		for id, f := range ferries.Seen(w, me) {
			all += fmt.Sprintln("ferry", id, f.Pos, f.Vel, f.Head, f.Rate)
		}
		for id, c := range crates.Seen(w, me) {
			at, ok := w.SeenOn(me, c.On, c.Pos.At(0))
			all += fmt.Sprintln("crate", id, at, ok)
		}
		k := key{me, w.Tick()}
		pictures[k] = append(pictures[k], all)
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	sim, err := match.NewSim(rules, 3, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		profile netsim.Profile
		least   float64
	}{{netsim.LAN, 1}, {netsim.HotelWiFi, 0.98}, {netsim.Ocean, 0.95}}
	for _, c := range cases {
		if _, err := sim.Join("bot", c.profile, rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	sim.Run(5 * time.Second)
	clear(pictures)
	sim.Run(25 * time.Second)
	for i, p := range sim.Players() {
		judged, same := 0, 0
		for k, runs := range pictures {
			if k.me != p.Me() || len(runs) < 2 {
				continue
			}
			judged++
			differs := 0
			for _, run := range runs {
				if run != runs[0] {
					differs = 1
				}
			}
			same += 1 - differs
		}
		share := float64(same) / float64(max(judged, 1))
		t.Logf("%s: %d of %d pictures are the same on both sides", cases[i].profile.Name, same, judged)
		if judged < 500 || share < cases[i].least {
			t.Errorf("%s: %.3f of %d, want %v", cases[i].profile.Name, share, judged, cases[i].least)
		}
	}
}
