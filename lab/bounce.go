package lab

import (
	"fmt"
	"math"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

var bounceExperiment = &experiment{
	name:  "bounce",
	about: "a bouncing ball, drawn from the history of its records and from the newest alone: peaks and bounces",
	notes: `A ball bounces up to 80 cm every 0.8 s, and a real client looks at it over the path. <b>meanwhile</b> is
what that client draws: between the two records around the drawn moment. <b>toward-newest</b> is the simplest
interpolation, from the same records: whenever a newer one is there, the ball goes from where it is drawn to there
within 100 ms. <b>peak_cm</b> and <b>floor_cm</b> are the highest and the lowest drawn place in 0.8 s, as means over
all bounces; truly they are 80 and 0. <b>lowest_peak_cm</b> is the worst of the peaks, <b>error_mean_cm</b> the
distance from where the ball was at the drawn moment, which toward-newest does not have.`,
	takes:    byProfile,
	profiles: []netsim.Profile{netsim.Fiber, netsim.HotelWiFi},
	policies: []string{ours},
	rates:    []int{10, 20, 60},
	run:      runBounce,
}

const (
	towardNewest = "toward-newest"
	bounceTime   = 0.8 // seconds
	bounceOver   = 100 * time.Millisecond
	bounceShown  = 2.4 // seconds of the figure
)

type bouncer struct {
	Pos geom.Vec2 `net:"pos,1cm"` // the height is Y
}

// height returns how high the ball is, in metres, at a time in seconds.
func height(t float64) float64 {
	s := math.Mod(t, bounceTime) // 4 m/s upwards against 10 m/s^2
	return float64(4*s) - float64(5*s*s)
}

// drawnBall is the ball as one policy draws it: its highest and lowest place in each bounce.
type drawnBall struct {
	peaks, floors []float64 // cm
	errs          mean      // cm
	bounce        int
	trail         []xy // seconds, cm
}

func (d *drawnBall) add(now, high float64) {
	high *= 100
	if n := int(now / bounceTime); n != d.bounce || d.peaks == nil {
		d.bounce = n
		d.peaks, d.floors = append(d.peaks, high), append(d.floors, high)
	}
	last := len(d.peaks) - 1
	d.peaks[last], d.floors[last] = max(d.peaks[last], high), min(d.floors[last], high)
	d.trail = append(d.trail, xy{now, high})
}

func (d *drawnBall) metrics() Values {
	whole := func(v []float64) []float64 { return v[1 : len(v)-1] } // the first and the last bounce are cut off
	m := Values{{"peak_cm", average(whole(d.peaks))}, {"lowest_peak_cm", quantile(whole(d.peaks), 0)},
		{"floor_cm", average(whole(d.floors))}}
	if d.errs.n > 0 {
		m.put("error_mean_cm", d.errs.get())
	}
	return m
}

// watchBounces returns what a client draws of the ball, and what would be drawn of the same records
// by going toward the newest.
func watchBounces(seed uint64, p netsim.Profile, send int, span time.Duration) (whole, simple drawnBall, err error) {
	balls := game.NewKind[bouncer]("ball")
	s, player, err := watchOver(watchGame("bounce", watchRate, send, balls, 1, func(b *bouncer, _ int, t clock.Tick) {
		b.Pos = geom.Vec2{Y: height(float64(t) / watchRate)}
	}), seed, p)
	if err != nil {
		return whole, simple, err
	}
	var vals []float64
	var from, to, at float64
	var newest clock.Tick
	var since clock.Time
	player.OnFrame = func() {
		now := s.Loop.Now()
		vals = player.Client.Draw(vals, func(e *client.Entity) {
			if e.Kind != 0 {
				return
			}
			n := e.Replica.Groups[0].Newest()
			if n.Tick != newest {
				newest, since, from, to = n.Tick, now, at, float64(n.Vals[1])/100
			}
			at = from + (to-from)*min(1, float64(now.Sub(since))/float64(bounceOver))
			if t := now.Sub(0).Seconds(); now > clock.Time(playoutSkip) {
				shown, _ := player.Client.TimeOf(e.Replica)
				whole.errs.add(100 * math.Abs(e.Vals[1]-height(float64(shown)/clock.FracPerTick/watchRate)))
				whole.add(t, e.Vals[1])
				simple.add(t, at)
			}
		})
	}
	s.Run(span)
	return whole, simple, s.Diverged()
}

func runBounce(r *run) error {
	span := 70 * time.Second
	if r.quick {
		span = 20 * time.Second
	}
	for _, p := range r.profiles {
		for _, rate := range r.rates {
			whole, simple, err := watchBounces(r.seed, p, rate, span)
			if err != nil {
				return err
			}
			params := r.params(Value{"rate_hz", rate}, Value{"run_s", int(span.Seconds())})
			r.emit(Row{r.name, p.Name, ours, r.seed, params, whole.metrics()})
			r.emit(Row{r.name, p.Name, towardNewest, r.seed, params, simple.metrics()})
			if r.drawing && rate == 20 {
				r.figures = append(r.figures, bounceFigure(p, rate, &whole, &simple))
			}
		}
	}
	return nil
}

// bounceFigure draws the height of the ball in the server's world and as the client draws it.
func bounceFigure(p netsim.Profile, rate int, whole, simple *drawnBall) figure {
	f := figure{
		title: fmt.Sprintf("A ball that bounces, as it is drawn, %s, %d records a second", p.Name, rate),
		x:     "seconds", y: "height, cm",
		answers: answers{bernierArticle, "the bounce that simple interpolation flattens"},
		caption: "The client looks for the two records around the moment that it draws, so all that is wrong is the delay. " +
			"Going toward the newest record cuts off each peak and never touches the ground.",
	}
	if p.Name == netsim.HotelWiFi.Name {
		f.file = "bounce"
	}
	begin := whole.trail[0].x
	cut := func(v []xy) (at []xy) {
		for _, q := range v {
			if q.x-begin < bounceShown {
				at = append(at, xy{q.x - begin, q.y})
			}
		}
		return at
	}
	var truth []xy
	for t := 0.0; t < bounceShown; t += 0.01 {
		truth = append(truth, xy{t, 100 * height(begin+t)})
	}
	f.lines = []line{{name: ours, at: cut(whole.trail)}, {name: towardNewest, at: cut(simple.trail)},
		{name: "the server's world", at: truth}}
	return f
}
