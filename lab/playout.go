package lab

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"meanwhile/lab/baseline"
	"meanwhile/netcode/playout"
	"meanwhile/netsim"
)

var playoutExperiment = &experiment{
	name:  "playout",
	about: "how far behind others are drawn, and how often they stand still, beside ten other rules and an oracle",
	notes: `A server sends snapshots at rate_hz. A client draws sixty times a second, counted from the tenth second
on. <b>mean_delay</b> is the mean playout delay above the least one-way delay of the run. A frame is starved when
nothing newer than what it draws has arrived, or when it draws nothing beyond what was drawn before (a rule that
stands still, or steps back). A <b>hitch</b> is more than 16.7 ms of starved frames in a row, and one more for each
further 250 ms. Peaks of the snapshots' age above floor + 500 ms are <b>outages</b>: no delay bridges them, so they
are counted apart. <b>warp</b> is the mean of |speed - 1| while the display moves. <b>oracle</b> is the least mean
delay with at most one hitch a minute for one who knows everything in advance; <b>ratio</b> is mean_delay / oracle.
With <b>extrapolate_ms</b> a frame is starved only that far beyond the newest snapshot, for the oracle of that row
too; <b>extrapolated_share</b> is the share of frames whose state is extrapolated (never for what can be hit). Rows
of profile "mean" are means over the profiles. Rivals run as published and, as NAME-tuned, with their one number
(<b>setting</b>) set once for all profiles so that the mean over the seven is one hitch a minute; experiment
tradeoff finds that number. None of our numbers is tuned per profile, and held-1 to held-8 were never used for
tuning.`,
	takes:    byProfile | byPolicy | byRate | byTrace,
	profiles: seven,
	policies: playoutPolicies(),
	rates:    []int{20, 60, 10},
	first: firstLook{profile: "mean", metrics: "mean_delay_ms oracle_ms ratio hitches_per_min " +
		"worst_hitches_per_min warp"},
	run: runPlayout,
}

const tunedName = "-tuned"

func playoutPolicies() []string {
	p := []string{ours}
	for _, f := range baseline.Players() {
		if f.Shipped != 0 {
			p = append(p, f.Name)
		}
		if f.Low < f.High {
			p = append(p, f.Name+tunedName)
		}
	}
	return p
}

// variant is a policy with its setting.
type variant struct {
	policy  string
	setting string
	new     func() (baseline.Player, error)
	beyond  time.Duration // how far beyond the newest snapshot it may draw
}

// ourVariant is the project's own rule; budget 0 is its default.
func ourVariant(rate int, budget float64) variant {
	setting := ""
	if budget != 0 {
		setting = "hitches_per_min " + short(budget)
	}
	return variant{ours, setting, func() (baseline.Player, error) {
		c, err := playout.New(playout.Config{Interval: time.Second / time.Duration(rate), Budget: budget})
		return ourPlayer{c}, err
	}, 0}
}

// extrapolating is ours where drawing may run beyond the newest snapshot.
func extrapolating(rate int, beyond time.Duration) variant {
	return variant{ours, "", func() (baseline.Player, error) {
		c, err := playout.New(playout.Config{Interval: time.Second / time.Duration(rate), Extrapolate: beyond})
		return ourPlayer{c}, err
	}, beyond}
}

// maxBeyond is how far the rows with extrapolation go.
const maxBeyond = playout.MaxExtrapolate

func rivalVariant(f baseline.Family, policy string, rate int, knob float64) variant {
	return variant{policy, f.Knob + " " + short(knob), func() (baseline.Player, error) {
		return f.New(knob, time.Second/time.Duration(rate)), nil
	}, 0}
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// variants returns the policies of a run at a rate.
func (r *run) variants(rate int) []variant {
	var all []variant
	if r.wants(ours) {
		all = append(all, ourVariant(rate, 0))
		if rate == 20 {
			all = append(all, extrapolating(rate, maxBeyond))
		}
	}
	for _, f := range baseline.Players() {
		if f.Shipped != 0 && r.wants(f.Name) {
			all = append(all, rivalVariant(f, f.Name, rate, f.Shipped))
		}
		if knob := tuned[f.Name][rate]; knob != 0 && r.wants(f.Name+tunedName) {
			all = append(all, rivalVariant(f, f.Name+tunedName, rate, knob))
		}
	}
	return all
}

// playedOn is what all policies did on one profile.
type playedOn struct {
	results      []played // by variant
	oracle       float64  // for those that only interpolate
	oracleBeyond float64  // the oracle for those that may extrapolate
	outages      float64  // a minute
	share        float64
}

func (r *run) playOn(
	p netsim.Profile, rate int, seeds []uint64, span time.Duration, all []variant,
) (sum playedOn, err error) {
	got, err := each(len(seeds), func(i int) (one playedOn, err error) {
		s, err := newStream(seeds[i], p, rate, span)
		if err != nil {
			return one, err
		}
		one.oracle = s.oracle(1, 0)
		for _, v := range all {
			if v.beyond > 0 {
				one.oracleBeyond = s.oracle(1, v.beyond)
			}
		}
		one.outages = float64(s.outages) / s.measured().Minutes()
		one.share = s.beyond.Seconds() / s.measured().Seconds()
		for _, v := range all {
			player, err := v.new()
			if err != nil {
				return one, err
			}
			one.results = append(one.results, s.play(player, v.beyond))
		}
		return one, nil
	})
	if err != nil {
		return sum, err
	}
	n := float64(len(seeds))
	sum.results = make([]played, len(all))
	for i, one := range got {
		sum.oracle += one.oracle / n
		sum.oracleBeyond += one.oracleBeyond / n
		sum.outages += one.outages / n
		sum.share += one.share / n
		for k := range all {
			sum.results[k].add(one.results[k])
			if i == 0 {
				sum.results[k].trail = one.results[k].trail
			}
		}
	}
	return sum, nil
}

func runPlayout(r *run) error {
	span, seeds := 300*time.Second, r.seeds(6)
	if r.quick {
		span, seeds = 120*time.Second, seeds[:min(2, len(seeds))]
	}
	if r.quick && len(r.rates) > 1 {
		r.rates = r.rates[:1]
	}
	for _, rate := range r.rates {
		all := r.variants(rate)
		if len(all) == 0 {
			return badUsage("rivals are tuned for 10, 20 and 60 packets a second, not for %d", rate)
		}
		params := func(v variant) Values {
			p := r.params(Value{"seeds", len(seeds)}, Value{"rate_hz", rate}, Value{"run_s", int(span.Seconds())},
				Value{"extrapolate_ms", ms(v.beyond)})
			if v.setting != "" {
				p.put("setting", v.setting)
			}
			return p
		}
		mean := playedOn{results: make([]played, len(all))}
		worst := make([]float64, len(all))
		for _, p := range r.profiles {
			on, err := r.playOn(p, rate, seeds, span, all)
			if err != nil {
				return err
			}
			for k, v := range all {
				r.emit(Row{r.name, p.Name, v.policy, r.seed, params(v), on.metrics(k, v)})
				mean.results[k].add(on.results[k])
				worst[k] = max(worst[k], on.results[k].perMinute())
			}
			n := float64(len(r.profiles))
			mean.oracle += on.oracle / n
			mean.oracleBeyond += on.oracleBeyond / n
			mean.outages += on.outages / n
			mean.share += on.share / n
			if r.drawing && rate == 20 {
				r.delayFigure(p.Name, rate, all, on)
			}
		}
		if len(r.profiles) > 1 {
			for k, v := range all {
				r.emit(Row{r.name, "mean", v.policy, r.seed, params(v),
					append(mean.metrics(k, v), Value{"worst_hitches_per_min", worst[k]})})
			}
		}
	}
	return nil
}

func (on playedOn) metrics(k int, v variant) Values {
	p, oracle := on.results[k], on.oracle
	if v.beyond > 0 {
		oracle = on.oracleBeyond
	}
	m := Values{
		{"mean_delay_ms", p.meanDelay()}, {"oracle_ms", oracle}, {"ratio", p.meanDelay() / max(oracle, 1e-3)},
		{"hitches_per_min", p.perMinute()}, {"outages_per_min", on.outages}, {"outage_share", on.share},
		{"warp", p.meanWarp()},
	}
	if v.beyond > 0 {
		m.put("extrapolated_share", float64(p.extrapolated)/float64(max(p.frames, 1)))
	}
	return m
}

// delayFigure draws the delay over time of a few policies.
func (r *run) delayFigure(profile string, rate int, all []variant, on playedOn) {
	var lines []line
	for k, v := range all {
		if v.beyond > 0 {
			continue
		}
		switch v.policy {
		case ours, "mirror", "ramjee-4", "fixed" + tunedName:
			lines = append(lines, line{name: v.policy, at: on.results[k].trail})
		}
	}
	r.figures = append(r.figures, figure{
		title: fmt.Sprintf("Playout delay over time, %s, %d Hz", profile, rate),
		x:     "seconds", y: "ms above the floor", lines: lines, clip: 700,
		caption: "Less is better only where hitches stay rare: the table has both.",
		marks:   []mark{{"oracle's mean", on.oracle}},
	})
}

var tradeoffExperiment = &experiment{
	name:  "tradeoff",
	about: "playout delay against hitches, each rule over the range of its one number, and where it leaves one a minute",
	notes: `Each rule runs on all profiles with one setting, which is then varied over its range. Delays and hitches
are means over the profiles. The row with <b>tuned</b> 1 is the setting with which the rule leaves one hitch a
minute, found by halving; where no setting does, it is the one with the fewest. These are the settings of NAME-tuned
in experiment playout. Ours has no such number to tune for a game: its setting is the budget of hitches a minute
itself.`,
	takes:    byProfile | byPolicy | byRate | byTrace,
	profiles: seven,
	policies: tradeoffPolicies(),
	rates:    []int{20},
	run:      runTradeoff,
}

func tradeoffPolicies() []string {
	p := []string{ours}
	for _, f := range baseline.Players() {
		if f.Low < f.High {
			p = append(p, f.Name)
		}
	}
	return p
}

// leastDrawn stands for no hitches at all on a logarithmic scale.
const leastDrawn = 0.01

// ourBudgets are the budgets of hitches a minute at which our curve is drawn.
var ourBudgets = []float64{0.25, 0.5, 1, 2, 4, 8, 16}

func runTradeoff(r *run) error {
	span, seeds, points := 300*time.Second, r.seeds(3), 9
	if r.quick {
		span, seeds, points = 60*time.Second, seeds[:1], 5
	}
	for _, rate := range r.rates {
		type key struct {
			p netsim.Profile
			s uint64
		}
		var keys []key
		for _, p := range r.profiles {
			for _, s := range seeds {
				keys = append(keys, key{p, s})
			}
		}
		streams, err := each(len(keys), func(i int) (*stream, error) {
			return newStream(keys[i].s, keys[i].p, rate, span)
		})
		if err != nil {
			return err
		}
		try := func(v variant) (sum played, err error) {
			got, err := each(len(streams), func(i int) (played, error) {
				p, err := v.new()
				if err != nil {
					return played{}, err
				}
				return streams[i].play(p, 0), nil
			})
			for _, g := range got {
				sum.add(g)
			}
			return sum, err
		}
		var lines []line
		curve := map[string][]xy{}
		emit := func(v variant, p played, tuned bool) {
			params := r.params(Value{"seeds", len(seeds)}, Value{"rate_hz", rate},
				Value{"run_s", int(span.Seconds())}, Value{"setting", v.setting}, Value{"tuned", number(tuned)})
			r.emit(Row{r.name, "mean", v.policy, r.seed, params,
				Values{{"mean_delay_ms", p.meanDelay()}, {"hitches_per_min", p.perMinute()}, {"warp", p.meanWarp()}}})
			if !tuned {
				curve[v.policy] = append(curve[v.policy], xy{p.meanDelay(), max(p.perMinute(), leastDrawn)})
			}
		}
		if r.wants(ours) {
			for _, b := range ourBudgets {
				v := ourVariant(rate, b)
				p, err := try(v)
				if err != nil {
					return err
				}
				emit(v, p, false)
			}
			lines = append(lines, line{name: ours, at: curve[ours]})
		}
		for _, f := range baseline.Players() {
			if f.Low >= f.High || !r.wants(f.Name) {
				continue
			}
			at := func(u float64) float64 {
				if f.Log {
					return f.Low * math.Pow(f.High/f.Low, u)
				}
				return f.Low + (f.High-f.Low)*u
			}
			for i := range points {
				v := rivalVariant(f, f.Name, rate, at(float64(i)/float64(points-1)))
				p, err := try(v)
				if err != nil {
					return err
				}
				emit(v, p, false)
			}
			low, high := 0.0, 1.0
			for range 14 {
				mid := (low + high) / 2
				p, err := try(rivalVariant(f, f.Name, rate, at(mid)))
				if err != nil {
					return err
				}
				if p.perMinute() > 1 {
					low = mid
				} else {
					high = mid
				}
			}
			v := rivalVariant(f, f.Name, rate, at(high))
			p, err := try(v)
			if err != nil {
				return err
			}
			emit(v, p, true)
			lines = append(lines, line{name: f.Name, at: curve[f.Name]})
		}
		r.figures = append(r.figures, figure{
			title: fmt.Sprintf("Playout delay against hitches, %d Hz, mean over the profiles", rate),
			x:     "mean delay above the floor, ms", y: "hitches a minute (none: 0.01)", lines: lines, dots: true,
			log: true, file: fmt.Sprintf("tradeoff-%dhz", rate),
			marks: []mark{{"one a minute", 1}},
			caption: "Each line is one rule with all settings of its one number. Further to the left and lower is better; " +
				"rules are compared where their lines cross one hitch a minute.",
		})
	}
	return nil
}
