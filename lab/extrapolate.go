package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netsim"
)

var extrapolateExperiment = &experiment{
	name:  "extrapolate",
	about: "what extrapolating beyond the newest record wins and costs on a runner who turns at any time",
	notes: `A runner of 6 m/s turns by up to 135 degrees about twice a second and stops now and then. Snapshots give
its place 20 times a second. <b>interpolate</b> stays at the newest place when nothing newer is there.
<b>extrapolate</b> goes on from the last two places for 100 ms at most. <b>blend</b> does the same, but works off
the error that the next snapshot shows within 100 ms. All three use our playout clock, the last two with a delay
that counts on the extrapolation. <b>client</b> is a real client of a real server, whose runner is of an
extrapolated kind and drawn at the present; <b>client-hold</b> is the same client without extrapolation.
<b>view_error</b> is the distance from where the runner was at the drawn time,
<b>error_now</b> from where it was at the newest time that a packet could tell of, sent at once and delayed by
nothing but the floor. A <b>jolt</b> is a frame whose drawn step differs by more than 5 cm from the true one over
the same time, a <b>kink</b> one whose step differs by more than 5 cm from the step before. <b>beyond_share</b> is
the share of frames that lie not between two received places while the runner moves. Movement as simple as a
straight line would hide what extrapolation costs. Kinds that can be hit are never extrapolated.`,
	takes:    byProfile | byTrace,
	profiles: []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, netsim.BurstLoss, netsim.CityLTE},
	first:    firstLook{metrics: "mean_delay_ms error_now_p95_cm view_error_p95_cm jolts_per_min"},
	run:      runExtrapolate,
}

// runner is where somebody is, by time.
type runner struct {
	at []geom.Vec2 // every runnerStep
}

const runnerStep = 5 * time.Millisecond

func newRunner(seed uint64, span time.Duration) *runner {
	r, rng := &runner{}, geom.NewRand(seed, 94)
	var pos geom.Vec2
	dir, speed := 0.0, 6.0
	for t := time.Duration(0); t <= span+time.Second; t += runnerStep {
		if rng.Chance(2 * runnerStep.Seconds()) {
			dir += (rng.Float64()*2 - 1) * 0.75 * math.Pi
			speed = 6
			if rng.Chance(0.15) {
				speed = 0
			}
		}
		r.at = append(r.at, pos)
		pos.X += math.Cos(dir) * speed * runnerStep.Seconds()
		pos.Y += math.Sin(dir) * speed * runnerStep.Seconds()
	}
	return r
}

func (r *runner) where(t clock.Time) geom.Vec2 {
	u := float64(max(t, 0)) / float64(runnerStep)
	i := min(int(u), len(r.at)-2)
	return lerp(r.at[i], r.at[i+1], u-float64(i))
}

func lerp(a, b geom.Vec2, u float64) geom.Vec2 {
	return geom.Vec2{X: a.X + (b.X-a.X)*u, Y: a.Y + (b.Y-a.Y)*u}
}

// drawnRun is what one way to draw did.
type drawnRun struct {
	view, now []float64 // cm by frame
	jolts     int
	kinks     int
	beyond    int
	delay     float64
	last      geom.Vec2 // step
	frames    int
	trail     []xy
}

// steps notes the step from the last frame to this one, the true step over the same time, and
// whether the frame lies beyond what was received.
func (d *drawnRun) steps(drawn, truth geom.Vec2, beyond bool) {
	if 100*drawn.Sub(truth).Len() > 5 {
		d.jolts++
	}
	if d.frames > 0 && 100*drawn.Sub(d.last).Len() > 5 {
		d.kinks++
	}
	if beyond {
		d.beyond++
	}
	d.last = drawn
	d.frames++
}

const blendTime = 100 * time.Millisecond

func (s *stream) draw(way string, r *runner) (res drawnRun, err error) {
	cfg := playout.Config{Interval: s.interval}
	if way != "interpolate" {
		cfg.Extrapolate = maxBeyond
	}
	c, err := playout.New(cfg)
	if err != nil {
		return res, err
	}
	var held []clock.Time // stamps, rising
	next := 0
	var lastT clock.Time
	var last, off geom.Vec2
	place := func(t clock.Time) geom.Vec2 {
		i, _ := slices.BinarySearch(held, t)
		switch {
		case i < len(held) && (i == 0 || held[i] == t):
			return r.where(held[i])
		case i < len(held):
			a, b := held[i-1], held[i]
			return lerp(r.where(a), r.where(b), float64(t-a)/float64(b-a))
		case way == "interpolate" || len(held) < 2:
			return r.where(held[len(held)-1])
		}
		a, b := held[len(held)-2], held[len(held)-1]
		return lerp(r.where(a), r.where(b), 1+float64(min(t-b, clock.Time(maxBeyond)))/float64(b-a))
	}
	for i, f := range s.frames {
		var before geom.Vec2
		if len(held) > 0 {
			before = place(lastT)
		}
		for ; next < len(s.arrivals) && s.arrivals[next].at <= f; next++ {
			a := s.arrivals[next]
			c.Arrive(s.local(a.at), a.stamp, false)
			if at, found := slices.BinarySearch(held, a.stamp); !found {
				held = slices.Insert(held, at, a.stamp)
			}
		}
		if len(held) > 64 {
			held = slices.Delete(held, 0, len(held)-64)
		}
		t := c.Advance(s.local(f))
		if t == 0 || len(held) == 0 {
			continue
		}
		p := place(t)
		if way == "blend" && lastT > 0 {
			step := place(lastT) // the last frame was wrong by newer states: work that off
			off.X, off.Y = off.X+before.X-step.X, off.Y+before.Y-step.Y
			fade := math.Exp(-3 * playoutFrame.Seconds() / blendTime.Seconds())
			off = geom.Vec2{X: off.X * fade, Y: off.Y * fade}
			p.X, p.Y = p.X+off.X, p.Y+off.Y
		}
		if i >= s.begin && !s.outage[i] && lastT > 0 {
			truth, was := r.where(t), r.where(lastT)
			res.view = append(res.view, 100*math.Hypot(p.X-truth.X, p.Y-truth.Y))
			now := r.where(f.Add(-s.floor))
			res.now = append(res.now, 100*math.Hypot(p.X-now.X, p.Y-now.Y))
			res.steps(p.Sub(last), truth.Sub(was), t > held[len(held)-1] && truth != was)
			res.delay += ms(f.Sub(t) - s.floor)
			if f < clock.Time(playoutSkip+10*time.Second) {
				res.trail = append(res.trail, xy{float64(f) / 1e9, res.now[len(res.now)-1]})
			}
		}
		last, lastT = p, t
	}
	return res, nil
}

func runExtrapolate(r *run) error {
	span, seeds := 300*time.Second, r.seeds(4)
	if r.quick {
		span, seeds = 60*time.Second, seeds[:1]
	}
	ways := []string{"interpolate", "extrapolate", "blend", "client-hold", "client"}
	for _, p := range r.profiles {
		var lines []line
		for _, way := range ways {
			got, err := each(len(seeds), func(i int) (drawnRun, error) {
				if strings.HasPrefix(way, "client") {
					return watchRunner(seeds[i], p, way == "client", span)
				}
				s, err := newStream(seeds[i], p, 20, span)
				if err != nil {
					return drawnRun{}, err
				}
				return s.draw(way, newRunner(seeds[i], span))
			})
			if err != nil {
				return err
			}
			var sum drawnRun
			for _, g := range got {
				sum.view, sum.now = append(sum.view, g.view...), append(sum.now, g.now...)
				sum.jolts, sum.delay, sum.frames = sum.jolts+g.jolts, sum.delay+g.delay, sum.frames+g.frames
				sum.kinks, sum.beyond = sum.kinks+g.kinks, sum.beyond+g.beyond
			}
			slices.Sort(sum.view)
			slices.Sort(sum.now)
			at := func(v []float64, q float64) float64 { return v[int(q*float64(len(v)-1))] }
			beyond := any(ms(maxBeyond))
			switch way {
			case "interpolate", "client-hold":
				beyond = 0.0
			case "client":
				beyond = "learned"
			}
			perMinute := 1 / (time.Duration(max(sum.frames, 1)) * playoutFrame).Minutes()
			r.emit(Row{r.name, p.Name, way, r.seed, r.params(Value{"seeds", len(seeds)}, Value{"rate_hz", 20},
				Value{"run_s", int(span.Seconds())}, Value{"extrapolate_ms", beyond}), Values{
				{"mean_delay_ms", sum.delay / float64(max(sum.frames, 1))},
				{"view_error_p50_cm", at(sum.view, 0.5)}, {"view_error_p95_cm", at(sum.view, 0.95)},
				{"view_error_p99_cm", at(sum.view, 0.99)},
				{"error_now_p50_cm", at(sum.now, 0.5)}, {"error_now_p95_cm", at(sum.now, 0.95)},
				{"jolts_per_min", float64(sum.jolts) * perMinute}, {"kinks_per_min", float64(sum.kinks) * perMinute},
				{"beyond_share", float64(sum.beyond) / float64(max(sum.frames, 1))},
			}})
			if !strings.HasPrefix(way, "client") {
				lines = append(lines, line{name: way, at: got[0].trail})
			}
		}
		r.figures = append(r.figures, figure{
			title: fmt.Sprintf("How far a runner is drawn from where it is, %s, 20 Hz", p.Name),
			x:     "seconds", y: "cm (300 clipped)", lines: lines, clip: 300, file: extrapolateFile(p),
			answers: answers{bernierArticle, "extrapolation beside interpolation"},
			caption: "How far from where the runner is now. Extrapolating is nearer while he runs on; at each turn it goes on " +
				"where he no longer goes, and comes back.",
		})
	}
	return nil
}

// extrapolateFile names the figure that a page shows.
func extrapolateFile(p netsim.Profile) string {
	if p.Name == netsim.HotelWiFi.Name {
		return "extrapolate"
	}
	return ""
}

// watchRunner lets a real client watch the runner.
func watchRunner(seed uint64, p netsim.Profile, extrapolates bool, span time.Duration) (res drawnRun, err error) {
	run := newRunner(seed, span)
	s, player, err := newWatch("run", seed, p, func(t clock.Tick) geom.Vec2 {
		return run.where(clock.Time(t) * clock.Time(time.Second) / watchRate)
	}, game.Extrapolated)
	if err != nil {
		return res, err
	}
	s.Client.NoExtrapolation = !extrapolates
	period := s.Server.Period()
	at := func(t clock.TickFrac) geom.Vec2 {
		return run.where(clock.Time(int64(t) * int64(time.Second) / (watchRate * clock.FracPerTick)))
	}
	var last geom.Vec2
	var lastT clock.TickFrac
	var vals []float64
	player.OnFrame = func() {
		c := player.Client
		vals = c.Draw(vals, func(e *client.Entity) {
			if e.Kind != 0 {
				return
			}
			t, _ := c.TimeOf(e.Replica)
			drawn := geom.Vec2{X: e.Vals[0], Y: e.Vals[1]}
			now := s.Server.Tick().Frac() +
				clock.TickFrac(int64(s.Loop.Now().Sub(s.Server.Now())-p.Down.Delay)*clock.FracPerTick/int64(period))
			if s.Loop.Now() > clock.Time(playoutSkip) && c.Stats().Age < outagePeak && lastT > 0 {
				res.view = append(res.view, 100*drawn.Sub(at(t)).Len())
				res.now = append(res.now, 100*drawn.Sub(at(now)).Len())
				newest := e.Replica.Groups[0].Newest()
				res.steps(drawn.Sub(last), at(t).Sub(at(lastT)), t > newest.Tick.Frac() && at(t) != at(lastT))
				res.delay += float64(now-t) * 1000 / (watchRate * clock.FracPerTick)
			}
			last, lastT = drawn, t
		})
	}
	s.Run(span)
	return res, s.Diverged()
}
