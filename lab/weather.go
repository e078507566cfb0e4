package lab

import (
	"fmt"
	"os"
	"strings"
	"time"

	"meanwhile/lab/weather"
)

var weatherExperiment = &experiment{
	name:  "weather",
	about: "whole matches under faults that a seed draws: what must hold is checked at every tick, what fails is shrunk",
	notes: `A seed draws a plan: a game (arena, zap, kick, or a storm of creatures, teams that hide, texts, events and
words), one to four players on their networks, and one to six faults: cuts in one direction or both, outages, loss,
delay, reordering, duplicates, old datagrams that come again, damaged ones, a smaller MTU, rates, other networks,
programs and processes that hang, machines that sleep, clocks that are set or drift by 500 ppm, tabs that hide, a server
that stops, sleeps or is slow, worlds that go on elsewhere or begin anew, connections that end and come back or not,
players who leave and come, budgets, bursts of creatures, teleports, teams that change every tick, floods of words, and
rules that panic. At every tick: no client
holds a state that differs from the server's history, nothing panics, budgets hold in any second, commands and playout
time never go back without a reason, words arrive once and in order, events once. Where nothing has been wrong for 3 s:
commands arrive in time, pictures are fresh, and nobody holds what has left. At the end all stand still, and everybody
holds exactly the server's state. Each row is a game: <b>seeds</b> plans, <b>failed</b> of them, <b>faults</b> in all,
<b>virtual_s</b> played, <b>states_compared</b>, <b>pictures</b> of shots compared between client and server (places
must be equal to the bit; of texts and properties with far= <b>details_differ</b> in some;
<b>older_than_allowed</b> are shots at states so old that a newer one was judged), <b>words</b> that arrived,
<b>datagrams</b> to players. Then comes a row for each kind of fault: <b>seeds</b> plans that had it,
<b>failed</b> of them, <b>faults</b> of this kind in all, and <b>virtual_s</b> that they lasted.
--seeds N runs N plans (100; 20 with --quick), from --seed S on; --plan TEXT runs one plan as a failure prints it.`,
	takes: bySeeds,
	first: firstLook{metrics: "failed faults virtual_s states_compared pictures details_differ"},
	run:   runWeather,
}

// Plans of a run without --seeds.
const (
	weatherSeeds = 100
	weatherQuick = 20
)

func runWeather(r *run) error {
	plans, err := r.plans()
	if err != nil {
		return err
	}
	began := time.Now()
	results, err := each(len(plans), func(i int) (weather.Result, error) { return weather.Run(plans[i]), nil })
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "%d plans in %.1f s: %.1f a second\n", len(plans), took, float64(len(plans))/took)
	for _, x := range results {
		if x.Failed != nil { // at once, as shrinking takes a while
			fmt.Fprintf(os.Stderr, "seed %d fails: %v\nagain: meanwhile lab weather --plan '%s'\n", x.Plan.Seed, x.Failed,
				x.Plan)
		}
	}
	var failed []string
	for _, game := range weather.Games() {
		var sum weather.Result
		n, bad := 0, 0
		for _, x := range results {
			if x.Plan.Game != game {
				continue
			}
			n++
			sum.Add(&x)
			if x.Failed != nil {
				bad++
				failed = append(failed, r.failure(&x, len(failed) < 3))
			}
		}
		if n == 0 {
			continue
		}
		params := Values{{"game", game}, {"fault", "all"}, {"seeds", n}}
		if len(plans) == 1 {
			params.put("plan", plans[0].String())
		}
		r.emit(Row{r.name, "", ours, plans[0].Seed, params, Values{{"failed", bad}, {"faults", sum.Faults},
			{"virtual_s", sum.Played.Seconds()}, {"states_compared", sum.Compared}, {"pictures", sum.Sights},
			{"details_differ", sum.Blurred}, {"older_than_allowed", sum.Substituted}, {"words", sum.Words},
			{"datagrams", sum.Sent}}})
	}
	if len(plans) > 1 {
		r.byFault(results)
	}
	if failed != nil {
		return fmt.Errorf("%s", strings.Join(failed, "\n"))
	}
	return nil
}

// byFault says how often each kind of fault was played, and for how long.
func (r *run) byFault(results []weather.Result) {
	for _, kind := range weather.Kinds() {
		n, bad, times, lasted := 0, 0, 0, 0.0
		for _, x := range results {
			before := times
			for _, f := range x.Plan.Faults {
				if f.Kind == kind {
					times, lasted = times+1, lasted+float64(f.For)/1000
				}
			}
			if times == before {
				continue
			}
			if n++; x.Failed != nil {
				bad++
			}
		}
		r.emit(Row{r.name, "", ours, results[0].Plan.Seed, Values{{"game", "all"}, {"fault", kind}, {"seeds", n}},
			Values{{"failed", bad}, {"faults", times}, {"virtual_s", lasted}}})
	}
}

// plans returns what a run plays.
func (r *run) plans() ([]weather.Plan, error) {
	if r.plan != "" {
		p, err := weather.Parse(r.plan)
		if err != nil {
			return nil, usageError{err}
		}
		return []weather.Plan{p}, nil
	}
	n := r.count
	switch {
	case n > 0:
	case r.oneSeed:
		n = 1
	case r.quick:
		n = weatherQuick
	default:
		n = weatherSeeds
	}
	plans := make([]weather.Plan, n)
	for i := range plans {
		plans[i] = weather.Draw(r.seed + uint64(i))
	}
	return plans, nil
}

// failure says what failed and how to see it again; shrunk to the smallest plan found if shrink is
// set, which takes a while.
func (r *run) failure(x *weather.Result, shrink bool) string {
	text := fmt.Sprintf("lab: weather: %v\n%s", x.Failed, x.Plan.Text())
	if r.plan == "" {
		text += fmt.Sprintf("again: meanwhile lab weather --seed %d\n", x.Plan.Seed)
	}
	if shrink {
		small := weather.Shrink(x.Plan, x.Failed)
		text += fmt.Sprintf("smallest: %sagain: meanwhile lab weather --plan '%s'\n", small.Text(), small)
	}
	return text
}
