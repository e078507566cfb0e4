package lab

import (
	"math"
	"sort"
	"strings"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

var changeExperiment = &experiment{
	name:  "change",
	about: "the path becomes another, as from a train to Wi-Fi: how soon delay and lead are right, and the hitches",
	notes: `The paths of a row follow each other, the first for two minutes, each later one for one. Everything is measured
at the last change, as the mean of all seeds, with 20 snapshots and 60 packets of commands a second, as in the
experiments playout and input. <b>delay_steady</b> and <b>lead_steady</b> are the means from the sixtieth second on of
runs that have the last path alone. <b>delay_after</b> and <b>lead_after</b> are the seconds after which the mean is
within 1.2 times of that for five seconds: below it where it was too long at the change, above a 1.2th of it where
it was too short.
<b>delay_2s, delay_5s</b>, <b>delay_30s</b> and the same of the lead are the means of half a second at these times.
<b>hitches</b> and <b>starved</b> (seconds of ticks without their command) are those of the first ten seconds of a run;
<b>hitches_steady</b> and <b>starved_steady</b> are what ten seconds have without a change. <b>clock_error</b> is the
largest error of the clock in any run in the minute after the change, and <b>clock_error_steady</b> the largest in
the minute before. <b>warp</b> is the mean change of speed in the first ten seconds. Delay and lead are above the
least time that any packet takes on the path of that moment. --profile A:B, or A:B:C, names other paths.`,
	takes: byProfile | byRate | byChange,
	profiles: changes("ocean:lan", "lan:ocean", "lte-c:wifi", "wifi:lte-c", "wifi:ocean", "lan:ocean:lan",
		"evdo:fiber"),
	policies: []string{ours},
	rates:    []int{20},
	first:    firstLook{metrics: "delay_steady_ms delay_after_s hitches lead_steady_ms lead_after_s starved_s"},
	run:      runChange,
}

const (
	firstLeg    = 2 * time.Minute
	nextLeg     = time.Minute
	changeNear  = 1.2                    // of the steady value
	changeBin   = 500 * time.Millisecond // of a mean over time
	changeStays = 5 * time.Second
	changeWay   = 10 * time.Second // in which hitches are counted
)

// changes are profiles whose names say which paths follow each other.
func changes(names ...string) (all []netsim.Profile) {
	for _, name := range names {
		all = append(all, netsim.Profile{Name: name})
	}
	return all
}

// A leg is a path and from when on it is the path.
type leg struct {
	from clock.Time
	path netsim.Profile
}

// legs returns the paths that a name lists, and when they end.
func legs(name string) (all []leg, end clock.Time, err error) {
	for i, one := range strings.Split(name, ":") {
		p, err := netsim.ByName(one)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, leg{end, p})
		if end = end.Add(nextLeg); i == 0 {
			end = clock.Time(firstLeg)
		}
	}
	return all, end, nil
}

// changed is what happened after a change: means over time since, and sums.
type changed struct {
	warp             float64 // in the first changeWay
	delays, leads    []float64
	hitches, starved float64
	clockError       float64
	clockErrorBefore float64
}

// changeStream follows the playout delay over a change at the begin of the last leg.
func changeStream(seed uint64, rate int, all []leg, end clock.Time) (c changed, err error) {
	s, err := newStream(seed, all[0].path, rate, time.Duration(end), all[1:]...)
	if err != nil {
		return c, err
	}
	from := all[len(all)-1].from
	if len(all) == 1 {
		from = clock.Time(nextLeg)
	}
	floor := time.Duration(math.MaxInt64)
	for _, a := range s.arrivals {
		if a.stamp >= from {
			floor = min(floor, a.at.Sub(a.stamp))
		}
	}
	frameAt := func(t clock.Time) int {
		return sort.Search(len(s.frames), func(i int) bool { return s.frames[i] >= t })
	}
	s.begin = frameAt(from)
	whole := *s
	s.frames = s.frames[:frameAt(from.Add(changeWay))]
	for i, some := range []*stream{s, &whole} {
		player, err := ourVariant(rate, 0).new()
		if err != nil {
			return c, err
		}
		got := some.play(player, 0)
		if i == 0 {
			c.hitches, c.warp = float64(got.hitches), got.meanWarp()
			continue
		}
		c.delays = bins(got.trail, from, end, ms(s.floor-floor))
	}
	return c, nil
}

// bins returns the means of a trail, with more added, in each changeBin after from.
func bins(trail []xy, from, end clock.Time, more float64) []float64 {
	sum, n := make([]float64, end.Sub(from)/changeBin), make([]float64, end.Sub(from)/changeBin)
	for _, p := range trail {
		if i := int((p.x - from.Sub(0).Seconds()) / changeBin.Seconds()); p.x >= from.Sub(0).Seconds() && i < len(sum) {
			sum[i] += p.y + more
			n[i]++
		}
	}
	for i := range sum {
		if n[i] > 0 {
			sum[i] /= n[i]
		}
	}
	return sum
}

// changeInput follows the lead and the clock over a change at the begin of the last leg.
func changeInput(seed uint64, all []leg, end clock.Time, c *changed) error {
	l, err := newLead(ours, inputTicks)
	if err != nil {
		return err
	}
	r, err := playInput(seed, all[0].path, l, inputTicks, end.Sub(0)-inputSkip, all[1:]...)
	if err != nil {
		return err
	}
	from := all[len(all)-1].from
	if len(all) == 1 {
		from = clock.Time(nextLeg)
	}
	floor := time.Duration(math.MaxInt64)
	var trail []xy
	for k, in := range r.inputs[:len(r.inputs)-inputTicks] {
		at := inputAt(clock.Tick(k))
		if in.made != 0 && in.made >= from {
			if in.got != 0 {
				floor = min(floor, in.got.Sub(in.made))
			}
			trail = append(trail, xy{in.made.Sub(0).Seconds(), ms(at.Sub(in.made))})
		}
		if (in.got == 0 || in.got > at) && at >= from && at < from.Add(changeWay) {
			c.starved += inputPeriod.Seconds()
		}
	}
	c.leads = bins(trail, from, end.Add(-time.Second), -ms(floor))
	for _, e := range r.errors {
		if t := clock.Time(e.x * 1e9); t >= from {
			c.clockError = max(c.clockError, math.Abs(e.y))
		} else if t >= from.Add(-nextLeg) {
			c.clockErrorBefore = max(c.clockErrorBefore, math.Abs(e.y))
		}
	}
	return nil
}

// changeMean is the mean of runs with several seeds.
func changeMean(seeds []uint64, rate int, all []leg, end clock.Time) (sum changed, err error) {
	got, err := each(len(seeds), func(i int) (changed, error) {
		c, err := changeStream(seeds[i], rate, all, end)
		if err == nil {
			err = changeInput(seeds[i], all, end, &c)
		}
		return c, err
	})
	if err != nil {
		return sum, err
	}
	n := float64(len(got))
	sum.delays, sum.leads = make([]float64, len(got[0].delays)), make([]float64, len(got[0].leads))
	for _, c := range got {
		sum.hitches, sum.starved, sum.warp = sum.hitches+c.hitches/n, sum.starved+c.starved/n, sum.warp+c.warp/n
		sum.clockError = max(sum.clockError, c.clockError)
		sum.clockErrorBefore = max(sum.clockErrorBefore, c.clockErrorBefore)
		for i, x := range c.delays {
			sum.delays[i] += x / n
		}
		for i, x := range c.leads {
			sum.leads[i] += x / n
		}
	}
	return sum, nil
}

// near returns the seconds after which a trail stays within changeNear of a steady value, on the
// side that it came from, for changeStays.
func near(trail []float64, steady float64) float64 {
	since := 0
	for i, x := range trail {
		if long := trail[0] > steady; long && x > float64(steady*changeNear) || !long && x < steady/changeNear {
			since = i + 1
		}
		if i-since >= int(changeStays/changeBin) {
			break
		}
	}
	return float64(since) * changeBin.Seconds()
}

func level(trail []float64) (mean float64) {
	for _, x := range trail {
		mean += x / float64(len(trail))
	}
	return mean
}

func runChange(r *run) error {
	seeds := r.seeds(12)
	if r.quick {
		seeds = seeds[:min(3, len(seeds))]
	}
	for _, rate := range r.rates {
		for _, p := range r.profiles {
			all, end, err := legs(p.Name)
			if err != nil {
				return err
			}
			got, err := changeMean(seeds, rate, all, end)
			if err != nil {
				return err
			}
			// The last path alone, measured from the sixtieth second on.
			alone := []leg{{0, all[len(all)-1].path}}
			steady, err := changeMean(seeds, rate, alone, clock.Time(3*nextLeg))
			if err != nil {
				return err
			}
			delay, lead := level(steady.delays), level(steady.leads)
			r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"seeds", len(seeds)}, Value{"rate_hz", rate}),
				Values{
					{"delay_steady_ms", delay}, {"delay_after_s", near(got.delays, delay)}, {"delay_2s_ms", got.delays[4]},
					{"delay_5s_ms", got.delays[10]}, {"delay_30s_ms", got.delays[60]},
					{"hitches", got.hitches}, {"hitches_steady", steady.hitches}, {"warp", got.warp},
					{"lead_steady_ms", lead}, {"lead_after_s", near(got.leads, lead)}, {"lead_2s_ms", got.leads[4]},
					{"lead_5s_ms", got.leads[10]}, {"lead_30s_ms", got.leads[60]},
					{"starved_s", got.starved}, {"starved_steady_s", steady.starved},
					{"clock_error_ms", got.clockError}, {"clock_error_steady_ms", got.clockErrorBefore},
				}})
		}
	}
	return nil
}
