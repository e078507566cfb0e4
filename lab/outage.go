package lab

import (
	"math"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

var outageExperiment = &experiment{
	name:  "outage",
	about: "nothing arrives for a while: how far the display then jumps, and how long until it is as before",
	notes: `A real client watches somebody who runs straight on at 6 m/s, 10 cm in a frame, at most 110 m away. Every ten
seconds nothing gets through in either direction for <b>gap_ms</b>, and what was sent meanwhile is lost. <b>leap</b> is
the largest step during a gap and the four seconds after it, beyond the 10 cm of the run: the median of all gaps, and
the largest. <b>stood_ms</b> is how long the runner was drawn standing. <b>normal_after_ms</b> is how long after the
end of the gap the playout delay is again within 50 ms of its target. Both are means.`,
	takes:    byProfile,
	profiles: []netsim.Profile{netsim.Fiber, netsim.CityLTE},
	policies: []string{ours},
	run:      runOutages,
}

var outageGaps = []time.Duration{400 * time.Millisecond, time.Second, 3 * time.Second}

const (
	outageEvery = 10 * time.Second
	outageAfter = 4 * time.Second
	dashSpeed   = 6.0 // metres a second
)

// cutOff is what a player was shown in gaps and after them.
type cutOff struct {
	leaps         []float64 // cm, the largest of each
	stood, normal float64   // ms, of all together
}

func playOutages(seed uint64, p netsim.Profile, gap time.Duration, gaps int) (res cutOff, err error) {
	way, begun := -1.0, 0.0 // he turns between gaps: from far away he would be seen on a coarser grid
	turned := clock.Tick(0)
	x := func(t clock.Tick) float64 { return begun + way*dashSpeed*(float64(t)-float64(turned))/watchRate }
	s, player, err := newWatch("dash", seed, p, func(t clock.Tick) geom.Vec2 { return geom.Vec2{X: x(t)} })
	if err != nil {
		return res, err
	}
	var vals []float64
	var from clock.Time // when the newest gap began
	last, leap, normal := math.NaN(), 0.0, time.Duration(0)
	player.OnFrame = func() {
		if from == 0 {
			return
		}
		since := s.Loop.Now().Sub(from)
		vals = player.Client.Draw(vals, func(e *client.Entity) {
			if e.Kind != 0 {
				return
			}
			if step := way * (e.Vals[0] - last); since < gap+outageAfter {
				leap = max(leap, 100*(step-dashSpeed*playoutFrame.Seconds()))
				if step < 0.001 {
					res.stood += ms(playoutFrame)
				}
			}
			last = e.Vals[0]
		})
		if st := player.Client.Stats(); normal == 0 && since > gap && st.Age < st.DelayTarget &&
			st.Delay-p.Down.Delay < st.DelayTarget+50*time.Millisecond {
			normal = since - gap
		}
	}
	s.Run(gametest.Warmup)
	for i := range gaps {
		s.Run(time.Duration(i) * 7 * time.Millisecond) // not always at one moment between two packets
		from, leap, normal = s.Loop.Now(), 0, 0
		player.Cut(gap)
		s.Run(gap + outageAfter)
		now := s.Server.Tick()
		begun, turned, way = x(now), now, -way
		s.Run(outageEvery - outageAfter)
		res.leaps = append(res.leaps, leap)
		res.normal += ms(normal)
	}
	return res, s.Diverged()
}

func runOutages(r *run) error {
	seeds, gaps := r.seeds(3), 20
	if r.quick {
		seeds, gaps = seeds[:1], 5
	}
	for _, p := range r.profiles {
		for _, gap := range outageGaps {
			got, err := each(len(seeds), func(i int) (cutOff, error) { return playOutages(seeds[i], p, gap, gaps) })
			if err != nil {
				return err
			}
			var all cutOff
			for _, g := range got {
				all.leaps = append(all.leaps, g.leaps...)
				all.stood, all.normal = all.stood+g.stood, all.normal+g.normal
			}
			slices.Sort(all.leaps)
			n := float64(len(all.leaps))
			r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"seeds", len(seeds)},
				Value{"gap_ms", int(gap.Milliseconds())}, Value{"gaps", len(all.leaps)}), Values{
				{"leap_p50_cm", all.leaps[len(all.leaps)/2]}, {"leap_max_cm", all.leaps[len(all.leaps)-1]},
				{"stood_ms", all.stood / n}, {"normal_after_ms", all.normal / n},
			}})
		}
	}
	return nil
}
