package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"meanwhile/geom"
	"meanwhile/lab/baseline"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

var clockExperiment = &experiment{
	name:  "clock",
	about: "how well a client knows the server's time, beside five other ways to estimate it",
	notes: `A client asks ten times at 50 ms, then at rate_hz, and reads its clock sixty times a second. Every
reading from the first answer on counts. <b>p50, p95, p99</b> are of the absolute error against the server's true
time. <b>late_stamp_ms</b> is how late the client's stamps are at most: a request leaves up to that long after its
stamp, and an arrival is noticed up to that long after it happened, each drawn evenly. <b>drift_ppm</b> is how much
faster the client's crystal runs. <b>wander_ppm</b> is how much the rate of that crystal changes, evenly, up and
down in two minutes. <b>backward_steps</b> counts readings that were less than the one before. <b>converge_ms</b> is
the time from the first request until the error stays within 5 ms (with late stamps 5 ms more) for ten seconds, or
the whole run if it never does. <b>bound_width</b> is the width of the interval that the clock publishes for the
true time, <b>bound_violations</b> counts readings outside of it. Rivals publish no bound; they are taken to claim
half of the round trip that they go by. <b>likely</b> is the narrower interval for paths whose least delays are
equal both ways, which is no promise. <b>estimated</b> is the error while both clocks run at a steady rate, as a
width, from the fifth second on: half the corridor, the distance of the reading from the estimate, and 50 ppm of the
time since the corridor was found. <b>skew_p99</b> is the error of the estimated difference in rate after the first
minute.`,
	takes:    byProfile | byPolicy | byRate | byTrace,
	profiles: seven,
	policies: clockPolicies(),
	rates:    []int{10},
	first:    firstLook{params: drift50, metrics: "p50_ms p95_ms p99_ms backward_steps converge_ms bound_width_p99_ms"},
	run:      runClock,
}

// drift50 names the rows with the usual crystal and without late stamps.
var drift50 = Values{{"drift_ppm", 50}, {"late_stamp_ms", 0}, {"wander_ppm", 0}}

func clockPolicies() []string {
	p := []string{ours}
	for _, c := range baseline.Clocks() {
		p = append(p, c.Name)
	}
	return p
}

// seven are the paths on which the targets for time stand.
var seven = []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, netsim.BurstLoss, netsim.CityLTE, netsim.UrbanLTE,
	netsim.TrainLTE, netsim.EVDO}

const (
	hellos      = 10 // exchanges at the start
	helloGap    = 50 * time.Millisecond
	stampBytes  = 250 // of a packet that carries stamps
	clockFrame  = time.Second / 60
	withinClock = 5 * time.Millisecond // counts as converged
	staysFor    = 10 * time.Second

	estimatedFrom = 5 * time.Second
	wanderHalf    = time.Minute // the rate wanders from one end to the other
)

// ourClock is our own: the clock that a client reads.
type ourClock struct {
	est  clock.Estimator
	out  *clock.Output
	seed bool
}

func newOurClock() *ourClock {
	c := &ourClock{}
	c.out = clock.NewOutput(&c.est)
	return c
}

// Exchange records a round trip as packets carry it: stamps of 32 bits in microseconds.
func (c *ourClock) Exchange(x baseline.Exchange) {
	if !c.seed {
		c.seed = true
		c.est.Seed(x.T3, x.T2) // the welcome carries the time in full
	}
	c.est.Receive(x.T3, x.T2.Stamp(), x.T0.Stamp(), x.T2.Sub(x.T1).Truncate(time.Microsecond))
}

func (c *ourClock) Now(local clock.Time) (clock.Time, time.Duration, bool) {
	_, bound, ok := c.est.At(local)
	if !ok {
		return 0, 0, false
	}
	now := c.out.Now(local)
	return now, bound + c.out.Error().Abs(), true
}

// paths are packets there and back, as two clocks date them.
type trip struct {
	baseline.Exchange
	at clock.Time // true time at which the client notices the answer
}

// clockTrips sends requests over a path and returns those that were answered, in order of their
// return.
func clockTrips(
	seed uint64, p netsim.Profile, rate int, span, late time.Duration, local func(clock.Time) clock.Time,
) ([]trip, error) {
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return nil, err
	}
	r := geom.NewRand(seed, 99)
	wait := func() time.Duration { return time.Duration(r.IntN(int(late) + 1)) }
	type request struct{ stamped, arrived clock.Time }
	var asked []request
	leaves, i := clock.Time(0), 0
	for t := clock.Time(0); t < clock.Time(span); i++ {
		leaves = max(t.Add(wait()), leaves) // order is kept
		at, n := path.Up.Send(leaves, stampBytes)
		if n > 0 { // a duplicate has a known sequence number and is dropped
			asked = append(asked, request{t, at[0]})
		}
		if i < hellos {
			t = t.Add(helloGap)
		} else {
			t = t.Add(time.Second / time.Duration(rate))
		}
	}
	slices.SortStableFunc(asked, func(a, b request) int { return cmp.Compare(a.arrived, b.arrived) })
	var trips []trip
	for _, q := range asked {
		// The server takes up to 2 ms to answer and reports that.
		sent := q.arrived.Add(time.Duration(r.IntN(int(2 * time.Millisecond))))
		at, n := path.Down.Send(sent, stampBytes)
		if n == 0 {
			continue
		}
		noticed := at[0].Add(wait())
		trips = append(trips,
			trip{baseline.Exchange{T0: local(q.stamped), T1: q.arrived, T2: sent, T3: local(noticed)}, noticed})
	}
	slices.SortStableFunc(trips, func(a, b trip) int { return cmp.Compare(a.at, b.at) })
	return trips, nil
}

// clockResult is how one clock did in one run.
type clockResult struct {
	errors     []float64 // ms, absolute
	backward   int
	converge   time.Duration
	widths     []float64 // ms
	violations int
	likely     []float64 // ms; ours only
	unlikely   int
	estimated  []float64 // ms, widths from the fifth second on; ours only
	beyond     int       // readings outside of that
	skews      []float64 // ppm, absolute errors after the first minute; ours only
	trail      []xy      // signed error in ms over seconds, thinned out
}

func runOneClock(
	c baseline.Clock, trips []trip, span, within time.Duration, drift int, steady bool, local func(clock.Time) clock.Time,
) (res clockResult) {
	var last clock.Time
	begun := false
	good := clock.Time(-1) // since when the error is within
	res.converge = span
	converged := false
	ours, _ := c.(*ourClock)
	next := 0
	for t := clock.Time(0); t < clock.Time(span); t = t.Add(clockFrame) {
		for next < len(trips) && trips[next].at <= t {
			c.Exchange(trips[next].Exchange)
			next++
		}
		now, bound, ok := c.Now(local(t))
		if !ok {
			continue
		}
		if begun && now < last {
			res.backward++
		}
		begun, last = true, now
		off := now.Sub(t)
		res.errors = append(res.errors, math.Abs(ms(off)))
		res.widths = append(res.widths, 2*ms(bound))
		if off.Abs() > bound {
			res.violations++
		}
		if ours != nil {
			likely := ours.est.LikelyError() + ours.out.Error().Abs()
			res.likely = append(res.likely, 2*ms(likely))
			if off.Abs() > likely {
				res.unlikely++
			}
			if t >= clock.Time(estimatedFrom) {
				estimated := ours.est.SteadyError(local(t)) + ours.out.Error().Abs()
				res.estimated = append(res.estimated, 2*ms(estimated))
				if off.Abs() > estimated {
					res.beyond++
				}
			}
			if steady && t >= clock.Time(time.Minute) { // the server's clock is slow by what the client's is fast
				res.skews = append(res.skews, math.Abs(float64(ours.est.Skew())/1000+float64(drift)))
			}
		}
		if off.Abs() > within {
			good = -1
		} else if good < 0 {
			good = t
		}
		if !converged && good >= 0 && t.Sub(good) >= staysFor {
			converged, res.converge = true, time.Duration(good)
		}
		if len(res.errors)%15 == 0 {
			res.trail = append(res.trail, xy{float64(t) / 1e9, ms(off)})
		}
	}
	return res
}

// clockCase is one setting of the experiment.
type clockCase struct {
	drift  int // ppm
	late   time.Duration
	wander int // ppm
}

// local returns a client's clock that is ahead by begin: of a rate that is off by drift, and
// wanders around that.
func (c clockCase) local(begin clock.Time) func(clock.Time) clock.Time {
	return func(t clock.Time) clock.Time {
		l := begin + t + t/1_000_000*clock.Time(c.drift)
		if c.wander == 0 {
			return l
		}
		// A rate that falls evenly from +wander to -wander is a parabola: wander * x(T-x)/T; then
		// the same below.
		x := t % clock.Time(2*wanderHalf)
		sign := clock.Time(c.wander)
		if x >= clock.Time(wanderHalf) {
			x, sign = x-clock.Time(wanderHalf), -sign
		}
		return l + sign*(x/1000*((clock.Time(wanderHalf)-x)/1000)/clock.Time(wanderHalf))
	}
}

func runClock(r *run) error {
	span, seeds := 300*time.Second, r.seeds(3)
	cases := []clockCase{{drift: 0}, {drift: 50}, {drift: -200}, {drift: 50, late: 8 * time.Millisecond},
		{drift: 50, wander: 20}}
	if r.quick {
		span, seeds = 60*time.Second, seeds[:1]
		cases = []clockCase{{drift: 50}, {drift: 50, late: 8 * time.Millisecond}, {drift: 50, wander: 20}}
	}
	makers := map[string]func() baseline.Clock{ours: func() baseline.Clock { return newOurClock() }}
	for _, c := range baseline.Clocks() {
		makers[c.Name] = c.New
	}
	for _, p := range r.profiles {
		for _, rate := range r.rates {
			for _, c := range cases {
				// One list of results per policy for each seed.
				got, err := each(len(seeds), func(i int) ([]clockResult, error) {
					rng := geom.NewRand(seeds[i], 98)
					begin := clock.Time(rng.IntN(int(time.Hour)))
					local := c.local(begin)
					trips, err := clockTrips(seeds[i], p, rate, span, c.late, local)
					if err != nil {
						return nil, err
					}
					var all []clockResult
					for _, policy := range r.chosen {
						all = append(all, runOneClock(makers[policy](), trips, span, withinClock+c.late*5/8,
							c.drift, c.wander == 0, local))
					}
					return all, nil
				})
				if err != nil {
					return err
				}
				for k, policy := range r.chosen {
					var sum clockResult
					for _, g := range got {
						x := g[k]
						sum.errors = append(sum.errors, x.errors...)
						sum.widths = append(sum.widths, x.widths...)
						sum.likely = append(sum.likely, x.likely...)
						sum.skews = append(sum.skews, x.skews...)
						sum.estimated = append(sum.estimated, x.estimated...)
						sum.beyond += x.beyond
						sum.backward += x.backward
						sum.violations += x.violations
						sum.unlikely += x.unlikely
						sum.converge += x.converge / time.Duration(len(seeds))
					}
					m := Values{
						{"p50_ms", quantile(sum.errors, 0.5)}, {"p95_ms", quantile(sum.errors, 0.95)},
						{"p99_ms", quantile(sum.errors, 0.99)},
						{"max_ms", quantile(sum.errors, 1)},
						{"backward_steps", sum.backward}, {"converge_ms", ms(sum.converge)},
						{"bound_width_p50_ms", quantile(sum.widths, 0.5)},
						{"bound_width_p99_ms", quantile(sum.widths, 0.99)},
						{"bound_violations", sum.violations},
					}
					if policy == ours {
						m = append(m, Value{"likely_width_p99_ms", quantile(sum.likely, 0.99)},
							Value{"likely_violations_share",
								float64(sum.unlikely) / float64(max(len(sum.likely), 1))},
							Value{"estimated_width_p50_ms", quantile(sum.estimated, 0.5)},
							Value{"estimated_width_p99_ms", quantile(sum.estimated, 0.99)},
							Value{"estimated_violations", sum.beyond})
						if len(sum.skews) > 0 {
							m.put("skew_p99_ppm", quantile(sum.skews, 0.99))
						}
					}
					r.emit(Row{r.name, p.Name, policy, r.seed,
						r.params(Value{"seeds", len(seeds)}, Value{"rate_hz", rate}, Value{"drift_ppm", c.drift},
							Value{"late_stamp_ms", ms(c.late)}, Value{"wander_ppm", c.wander},
							Value{"run_s", int(span.Seconds())}), m})
				}
				if r.drawing && rate == r.rates[0] && c == (clockCase{drift: 50}) {
					r.clockFigure(p.Name, c, got[0])
				}
			}
		}
	}
	return nil
}

// quantile returns the q-quantile of v, which it sorts; 0 for an empty v.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// clockFigure draws the error of each clock over time.
func (r *run) clockFigure(profile string, c clockCase, got []clockResult) {
	var lines []line
	for k, policy := range r.chosen {
		lines = append(lines, line{name: policy, at: got[k].trail})
	}
	r.figures = append(r.figures, figure{
		title: fmt.Sprintf("Clock error over time, %s, drift %d ppm", profile, c.drift),
		x:     "seconds", y: "error in ms (20 ms clipped)", lines: lines, clip: 20, file: "clock-" + profile,
		answers: answers{clockArticle, "error of the network clock"},
		caption: "The article's clock asks once (one-shot); the engine's own one, which it replaces, is unreal.",
	})
}
