package gametest_test

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

type lamp struct {
	Glow int `net:"int,0..1000"`
}

type watcher struct {
	Pos geom.Vec2 `net:"pos"`
}

type blink struct {
	Eyes bool `net:"press"`
}

// The last packet before a silence, which no later one shows to be lost, is sent again after little
// more than a round trip, also to a client that has said nothing for seconds.
func TestLoneLossIsRepaired(t *testing.T) {
	const ms = time.Millisecond
	for _, way := range []time.Duration{1 * ms, 25 * ms, 50 * ms, 150 * ms} {
		lamps, watchers := game.NewKind[lamp]("lamp", game.Playout), game.NewKind[watcher]("watcher", game.Playout)
		glow := 0
		def := game.Definition[blink]{Name: "lamps", Rate: 60, Kinds: game.Kinds(lamps, watchers),
			Join: func(w *game.World, _ string) game.ID {
				lamps.Spawn(w, lamp{})
				return watchers.Spawn(w, watcher{})
			},
			Act: func(*game.World, game.ID, blink) {},
			Referee: func(w *game.World) {
				for _, l := range lamps.All(w) {
					l.Glow = glow
				}
			},
		}
		rules, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		sim, err := gametest.NewSim(rules, 3, server.Config{})
		if err != nil {
			t.Fatal(err)
		}
		link := netsim.LinkConfig{Delay: way}
		p, err := sim.Join("ann", netsim.Profile{Name: way.String(), Down: link, Up: link}, nil)
		if err != nil {
			t.Fatal(err)
		}
		shown := func() (n int) {
			for _, h := range p.Client.Store().Entities() {
				for g := range h.Groups {
					if s := h.Groups[g].Newest(); h.Kind == 0 && s != nil && len(s.Vals) > 0 {
						n = int(s.Vals[0])
					}
				}
			}
			return n
		}
		sim.Run(20 * time.Second)
		longest := time.Duration(0)
		for n := range 20 {
			sim.Run(3*time.Second + time.Duration(7*n)*ms)
			glow++
			begin := sim.Loop.Now()
			p.Cut(60 * ms) // of a packet in 50 ms
			for shown() != glow && sim.Loop.Now().Sub(begin) < 2*time.Second {
				sim.Run(5 * ms)
			}
			longest = max(longest, sim.Loop.Now().Sub(begin))
		}
		if most := 3*way + 180*ms; longest > most { // the way down, a round trip, and the turns of packets
			t.Errorf("with a round trip of %v a lost change arrives after up to %v, want %v", 2*way, longest, most)
		}
	}
}
