package gametest_test

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/netcode/rewind"
	"meanwhile/netsim"
	"meanwhile/server"
)

// gaze is one run of a command: its player and its tick.
type gaze struct {
	me   game.ID
	tick game.Tick
}

// watched returns the rules of the harbour, and what each run of a command sees, of the last most
// milliseconds if it is given: judged on the server, foreseen in predictions.
func watched(t *testing.T, most ...float64) (rules *game.Rules, judged, foreseen map[gaze][]string) {
	judged, foreseen = map[gaze][]string{}, map[gaze][]string{}
	def := harbour
	var servers *game.World
	def.Referee = func(w *game.World) { servers = w }
	act := def.Act
	def.Act = func(w *game.World, me game.ID, c helm) {
		act(w, me, c)
		for _, ms := range most {
			w.RewindAtMost(ms)
		}
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
		runs := foreseen
		if w == servers {
			runs = judged
		}
		k := gaze{me, w.Tick()}
		runs[k] = append(runs[k], all)
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules, judged, foreseen
}

// What players see of everything, whatever the words of its tags, is the same when the server
// judges their commands as when their clients predicted them, to the bit: places, rotations, names
// of states, what is dead reckoned, and crates where their ferries were drawn. The exceptions are
// commands that came too late, as the server runs another one in their place, and packets that were
// overtaken on their way, as a command does not say whether they had arrived.
//
// seeds: B15
func TestSeenByBothSides(t *testing.T) {
	rules, judged, foreseen := watched(t)
	sim, err := gametest.NewSim(rules, 3, server.Config{})
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
	clear(judged)
	clear(foreseen)
	sim.Run(25 * time.Second)
	for i, p := range sim.Players() {
		all, same := 0, 0
		for k, runs := range foreseen {
			server := judged[k]
			if k.me != p.Me() || len(server)+len(runs) < 2 {
				continue
			}
			all++
			differs := 0
			for _, run := range append(runs, server...) {
				if run != runs[0] {
					differs = 1
				}
			}
			same += 1 - differs
		}
		share := float64(same) / float64(max(all, 1))
		t.Logf("%s: %d of %d pictures are the same on both sides", cases[i].profile.Name, same, all)
		if all < 500 || share < cases[i].least {
			t.Errorf("%s: %.3f of %d, want %v", cases[i].profile.Name, share, all, cases[i].least)
		}
	}
}

// After an outage what is drawn lies further behind and catches up. What players see meanwhile is
// what the server judges by, to the bit, as far as it rewinds. The exceptions are ticks for which
// no command arrived in time, as the server runs another one.
func TestSeenWhileCatchingUp(t *testing.T) {
	rules, judged, foreseen := watched(t)
	sim, err := gametest.NewSim(rules, 3,
		server.Config{Rewind: server.MaxRewind, Unchecked: rewind.CheckPath | rewind.CheckJumps}) // a path of a kind
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := sim.Join("bot", netsim.LAN, rules.Bot()); err != nil {
			t.Fatal(err)
		}
	}
	sim.Run(8 * time.Second)
	p := sim.Players()[0]
	all, behind := 0, 0
	for range 5 {
		const gap = 600 * time.Millisecond
		usual := p.Client.Stats().Delay
		p.Cut(gap)
		sim.Run(gap)
		clear(judged)
		clear(foreseen)
		for range rules.Rate {
			sim.Run(time.Second / time.Duration(rules.Rate))
			st, _ := sim.Server.Stats(p.ID)
			k := gaze{p.Me(), sim.Server.Tick()}
			server, own := judged[k], foreseen[k]
			if st.LastStarved == k.tick || len(server) == 0 || len(own) == 0 {
				continue
			}
			all++
			if p.Client.Stats().Delay > usual+50*time.Millisecond {
				behind++
			}
			if server[0] != own[0] {
				t.Errorf("tick %d, the delay is %v: predicted\n%s\nand judged by\n%s",
					k.tick, p.Client.Stats().Delay, own[0], server[0])
			}
		}
		sim.Run(8 * time.Second)
	}
	t.Logf("%d ticks, in %d of them the picture was behind", all, behind)
	if all < 100 || behind < 15 {
		t.Errorf("%d ticks, in %d of them the picture was behind: the test tests little", all, behind)
	}
}

// A bound that rules set holds in predictions, too: what players see of the last 160 ms is the same on
// both sides, although their screens are older, as their clients have newer packets than they draw.
// Of the last 60 ms they have none.
//
// seeds: B17
func TestRewindAtMostIsPredicted(t *testing.T) {
	const ms = time.Millisecond
	for _, most := range []float64{160, 60} {
		rules, judged, foreseen := watched(t, most)
		sim, err := gametest.NewSim(rules, 3, server.Config{})
		if err != nil {
			t.Fatal(err)
		}
		path := netsim.Profile{Name: "100 ms", Down: netsim.LinkConfig{Delay: 50 * ms}, Up: netsim.LinkConfig{Delay: 50 * ms}}
		for range 2 {
			if _, err := sim.Join("bot", path, rules.Bot()); err != nil {
				t.Fatal(err)
			}
		}
		sim.Run(5 * time.Second)
		clear(judged)
		clear(foreseen)
		sim.Run(10 * time.Second)
		all, same := 0, 0
		for k, runs := range judged {
			if own := foreseen[k]; len(own) > 0 {
				if all++; own[0] == runs[0] {
					same++
				}
			}
		}
		st, _ := sim.Server.Stats(sim.Players()[0].ID)
		t.Logf("at most %v ms: %d of %d pictures are the same, reasons %v", most, same, all, st.Reasons)
		if few := all / 50; all < 300 || most == 160 && same < all-few || most == 60 && same > all/2 {
			t.Errorf("at most %v ms: %d of %d pictures are the same", most, same, all)
		}
	}
}

// A server rewinds as far as Config.RewindTotal allows and no further: a player whose screen is
// further behind is judged by a newer world than it saw. So is one who chose a longer playout delay
// than the path and Config.Playout ask for.
//
// seeds: B17
func TestConfigBoundsTheRewind(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		cfg     server.Config
		delay   time.Duration
		same    bool // what the player saw and what the server judged
		clamped bool
	}{
		{server.Config{Playout: 500 * ms}, 480 * ms, true, false},
		{server.Config{}, 480 * ms, false, true},
		{server.Config{Playout: 500 * ms, RewindTotal: 300 * ms}, 480 * ms, false, true},
		{server.Config{Playout: 500 * ms, RewindTotal: 300 * ms}, 200 * ms, true, false},
		{server.Config{Playout: 500 * ms, RewindTotal: 100 * ms}, 300 * ms, false, true},
		{server.Config{Rewind: -1}, 300 * ms, false, false}, // switched off
	} {
		rules, judged, foreseen := watched(t)
		sim, err := gametest.NewSim(rules, 3, c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := sim.Join("bot", netsim.LAN, rules.Bot()); err != nil {
				t.Fatal(err)
			}
		}
		sim.Run(20 * time.Second)
		p := sim.Players()[0]
		if err := p.Client.SetPlayout(c.delay); err != nil {
			t.Fatal(err)
		}
		sim.Run(5 * time.Second)
		clear(judged)
		clear(foreseen)
		before, _ := sim.Server.Stats(p.ID)
		sim.Run(5 * time.Second)
		after, _ := sim.Server.Stats(p.ID)
		all, same := 0, 0
		for k, runs := range judged {
			if own := foreseen[k]; k.me == p.Me() && len(own) > 0 {
				if all++; own[0] == runs[0] {
					same++
				}
			}
		}
		few := all / 10
		if all < 100 || c.same && same < all-few || !c.same && same > few || (after.Clamped > before.Clamped) != c.clamped {
			t.Errorf("%+v, the screen %v behind: %d of %d pictures are the same, %d rewinds were clamped",
				c.cfg, c.delay, same, all, after.Clamped-before.Clamped)
		}
	}
}
