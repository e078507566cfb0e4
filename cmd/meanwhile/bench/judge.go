package bench

import (
	"runtime"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/lab"
	"meanwhile/netsim"
	"meanwhile/server"
)

// The crowd of Judge: a thousand men run at 6 m/s in a square, and four players among them shoot.
const (
	judgeMen      = 1000
	judgeShooters = 4
	judgeSees     = 250
	judgeWithin   = 70.0 // metres from the middle, in both axes: 250 within 40 m
	judgeRange    = 40.0
	judgeRadius   = 0.4
	judgeWarm     = 8 * time.Second
	judgeLoss     = 0.02 // each way
)

type judgeMan struct {
	Pos    geom.Vec3  `net:"pos,1mm,others=1cm"`
	Yaw    geom.Angle `net:"angle,8bit"`
	Crouch bool       `net:"bool"`
	Health int        `net:"int,0..100,group=1"`
	Runs   bool       `net:"bool,server"`
}

type judgeCmd struct {
	Aim  geom.Angle `net:"angle,12bit"`
	Fire bool       `net:"press"`
}

// judging is the game of Judge, and what its shots took.
type judging struct {
	men    game.Kind[judgeMan]
	server *game.World
	along  bool            // by SeenAlong, else by all that Seen gives
	on     bool            // measures
	allocs bool            // counts allocations in place of time
	took   []time.Duration // of each shot
	all    uint64          // allocations
	shots  int             // that were counted
	hits   int
}

// Judge measures what one judgement of a shot costs a server that rewinds what its player saw: a ray
// of 40 m among the 250 men that the player knows, and four of such shots of four players, a
// thousand candidates.
func Judge(quick bool) ([]lab.Row, error) {
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	j := &judging{}
	def := j.game()
	rules, err := def.Rules()
	if err != nil {
		return nil, err
	}
	sim, err := gametest.NewSim(rules, 3, server.Config{})
	if err != nil {
		return nil, err
	}
	link := netsim.LinkConfig{Delay: 50 * time.Millisecond, Loss: netsim.Loss{InGood: judgeLoss}}
	for range judgeShooters {
		if _, err := sim.Join("shooter", netsim.Profile{Name: "judge", Down: link, Up: link}, rules.Bot()); err != nil {
			return nil, err
		}
	}
	sim.Run(judgeWarm)
	seconds := 10 * time.Second
	if quick {
		seconds = time.Second
	}
	var rows []lab.Row
	for _, along := range []bool{false, true} {
		j.along, j.took, j.hits = along, j.took[:0], 0
		j.on, j.allocs = true, false
		sim.Run(seconds)
		j.allocs, j.all, j.shots = true, 0, 0
		sim.Run(time.Second)
		j.on = false
		rows = append(rows, j.row(1), j.row(judgeShooters))
	}
	return rows, nil
}

// row is of shots of so many players.
func (j *judging) row(players int) lab.Row {
	us := make([]float64, 0, len(j.took))
	for i := 0; i+players <= len(j.took); i += players {
		sum := time.Duration(0)
		for _, d := range j.took[i : i+players] {
			sum += d
		}
		us = append(us, float64(sum)/float64(time.Microsecond))
	}
	slices.Sort(us)
	sum := 0.0
	for _, v := range us {
		sum += v
	}
	way := "Seen"
	if j.along {
		way = "SeenAlong"
	}
	n := max(len(us), 1)
	return lab.Row{Experiment: "judge", Policy: "meanwhile",
		Params: lab.Values{{Name: "candidates", V: players * judgeSees}, {Name: "way", V: way}},
		Metrics: lab.Values{{Name: "shots", V: len(us) * players}, {Name: "hits", V: j.hits},
			{Name: "mean_us", V: sum / float64(n)}, {Name: "p50_us", V: Median(us)},
			{Name: "p99_us", V: us[max(n*99/100-1, 0)]},
			{Name: "allocs", V: float64(j.all) / float64(max(j.shots, 1)) * float64(players)}}}
}

func (j *judging) game() game.Definition[judgeCmd] {
	j.men = game.NewKind[judgeMan]("man")
	return game.Definition[judgeCmd]{
		Name: "judge", Rate: 60, Send: 20, See: judgeSees, Kinds: game.Kinds(j.men),
		Join: func(w *game.World, _ string) game.ID {
			n := 0.0
			for _, p := range j.men.All(w) {
				if !p.Runs {
					n++
				}
			}
			return j.men.Spawn(w, judgeMan{Pos: geom.Vec3{X: float64(n*10) - 15, Y: float64(n * 3)}})
		},
		Act: func(w *game.World, me game.ID, c judgeCmd) {
			if p := j.men.Get(w, me); c.Fire && w == j.server && j.on {
				j.judge(w, me, geom.Ray{From: p.Pos.XY(), Dir: c.Aim, Len: judgeRange})
			}
		},
		Step: func(w *game.World) {
			for id, p := range j.men.All(w) {
				if !p.Runs {
					continue
				}
				a := uint64(id)*2654435761 + (uint64(w.Tick())+uint64(id)*17)/90*7919
				p.Yaw = geom.Angle(float64(a%629)/100 - 3.14)
				p.Crouch = p.Yaw > 2.8
				p.Pos = p.Pos.Add(p.Yaw.Dir().Mul(6 * w.Dt()).At(0))
				p.Pos.X = geom.Clamp(p.Pos.X, -judgeWithin, judgeWithin)
				p.Pos.Y = geom.Clamp(p.Pos.Y, -judgeWithin, judgeWithin)
				if (uint64(w.Tick())+uint64(id)*7)%97 == 0 {
					p.Health = (p.Health + 13) % 101
				}
			}
		},
		Referee: func(w *game.World) {
			j.server = w
			for range judgeMen - j.men.Len(w) {
				r := w.Rand()
				at := geom.Vec3{X: r.Range(-judgeWithin, judgeWithin), Y: r.Range(-judgeWithin, judgeWithin)}
				j.men.Spawn(w, judgeMan{Pos: at, Runs: true})
			}
		},
		Bot: func(w *game.World, me game.ID) judgeCmd {
			return judgeCmd{Fire: true, Aim: geom.Angle(float64((uint64(w.Tick())*37+uint64(me)*101)%629)/100 - 3.14)}
		},
	}
}

// judge finds the man that a ray meets first, and measures that.
func (j *judging) judge(w *game.World, me game.ID, ray geom.Ray) {
	var before, after runtime.MemStats
	if j.allocs {
		runtime.ReadMemStats(&before)
	}
	begin := threadTime()
	hit := false
	if j.along {
		for _, o := range j.men.SeenAlong(w, me, ray.From, ray.End(), judgeRadius) {
			if d, ok := ray.Circle(o.Pos.XY(), judgeRadius); ok {
				ray.Len, hit = d, true
			}
		}
	} else {
		for _, o := range j.men.Seen(w, me) {
			if d, ok := ray.Circle(o.Pos.XY(), judgeRadius); ok {
				ray.Len, hit = d, true
			}
		}
	}
	took := threadTime() - begin
	if j.allocs {
		runtime.ReadMemStats(&after)
		j.all += after.Mallocs - before.Mallocs
		j.shots++
		return
	}
	if j.took = append(j.took, took); hit {
		j.hits++
	}
}
