package server

import (
	"math"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

type runner struct {
	Pos    geom.Vec2 `net:"pos"`
	Side   int       `net:"int,0..2,server,team"`
	Health int       `net:"int,0..999,far=50m"`
	Plan   int       `net:"int,0..999,to=team,far=80m"`
}

var runners = game.NewKind[runner]("runner")

// What has far= reaches nobody further away, for everyone or for a team, however its entity comes
// and goes; and it does reach who is near.
//
// seeds: B20
func TestFarHolds(t *testing.T) {
	n := &nest{t: t}
	d := n.def()
	d.Kinds, d.Events, d.Bot, d.Leave = game.Kinds(runners), nil, nil, nil
	d.Join = func(w *game.World, name string) game.ID {
		return runners.Spawn(w, runner{Side: 1 + runners.Len(w)%2})
	}
	var ents [4]game.ID // two of each side: one that walks away and back, and one that jumps
	far := map[clock.Tick][4]float64{}
	d.Act = func(w *game.World, me game.ID, c antCmd) {}
	d.Step, d.Referee = nil, func(w *game.World) {
		if ents[0] == 0 {
			for i := range ents {
				ents[i] = runners.Spawn(w, runner{Side: 1 + i%2})
			}
		}
		for i, id := range ents {
			x := runners.Get(w, id)
			if x.Health, x.Plan = (x.Health+7)%1000, (x.Plan+13)%1000; i < 2 {
				x.Pos.X = math.Abs(float64(w.Tick()%300)-150) - 10 // 20 m/s
			} else if w.Tick()%17 == 0 {
				x.Pos = geom.Vec2{X: 330 * w.Rand().Float64()}
			}
			at := far[w.Tick()]
			at[i] = x.Pos.Len()
			far[w.Tick()] = at
		}
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if n.s, err = New(rules, Config{}); err != nil {
		t.Fatal(err)
	}
	a := n.connect("a")
	k, records := rules.Kinds[0], [4]map[schema.Audience]int{{}, {}, {}, {}}
	a.store.Applied = func(e *snapshot.Replica, g int, s *motion.State) {
		if e.Exact || k.Groups[g].Far == 0 {
			return
		}
		for i, id := range ents {
			if uint32(id) != e.ID {
				continue
			}
			of := k.Groups[g]
			records[i][of.Audience]++
			if at := far[s.Tick][i]; at > of.Far {
				t.Errorf("tick %d: a record for who is at most %v m away, at %.1f m", s.Tick, of.Far, at)
			}
			if of.Audience == schema.Team && i%2 != 0 {
				t.Errorf("tick %d: a record for the other side", s.Tick)
			}
		}
	}
	for range 1200 {
		n.everyone([]*peer{a}, nil)
		a.send()
	}
	for i := range records {
		if records[i][schema.Everyone] < 50 || i%2 == 0 && records[i][schema.Team] < 50 {
			t.Errorf("runner %d: %v records that only those near receive", i, records[i])
		}
	}
}
