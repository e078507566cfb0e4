package lab

import (
	"fmt"
	"io"
	"strings"
)

// A limit is what a metric must keep to, in every row that it applies to.
type limit struct {
	experiment string
	profile    string // "" for all
	params     Values // that the row must have
	metric     string
	atLeast    bool // else at most
	bound      float64
}

func (l limit) String() string {
	word := "at most"
	if l.atLeast {
		word = "at least"
	}
	return fmt.Sprintf("%s %s %s", l.metric, word, Value{"", l.bound}.text())
}

func (l limit) holds(got float64) bool {
	if l.atLeast {
		return got >= l.bound
	}
	return got <= l.bound
}

func most(experiment, profile, metric string, bound float64) limit {
	return limit{experiment, profile, nil, metric, false, bound}
}

func least(experiment, profile, metric string, bound float64) limit {
	return limit{experiment, profile, nil, metric, true, bound}
}

func (l limit) with(params Values) limit {
	l.params = params
	return l
}

func (l limit) applies(r Row) bool {
	if l.experiment != r.Experiment || l.profile != "" && l.profile != r.Profile || r.Policy != ours {
		return false
	}
	for _, want := range l.params {
		ok := false
		for _, have := range r.Params {
			ok = ok || have.Name == want.Name && have.text() == want.text()
		}
		if !ok {
			return false
		}
	}
	return true
}

// gate runs what has a limit and reports what does not keep to it.
func gate(c command, stdout io.Writer) error {
	if c.out != "" || len(c.profile) > 0 || len(c.policy) > 0 || c.rate != 0 || c.motion != "" || c.traceDown != "" || c.traceUp != "" {
		return badUsage("gate takes no flags but --quick, --seed and --json")
	}
	limits := gateLimits
	if c.quick {
		limits = quickLimits
	}
	var rows []Row
	var short []string
	for _, e := range experiments {
		used := false
		for _, l := range limits {
			used = used || l.experiment == e.name
		}
		if !used {
			continue
		}
		r, err := e.prepare(c)
		if err != nil {
			return err
		}
		r.chosen = []string{ours}
		r.emit = func(row Row) { rows = append(rows, row) }
		if err := r.run(r); err != nil {
			short = append(short, err.Error())
		}
	}
	var verdicts []Row // the worst row of each limit
	for _, l := range limits {
		checked := 0
		var worst Row
		var least float64
		for _, row := range rows {
			got, ok := row.Metrics.Get(l.metric)
			if !l.applies(row) || !ok {
				continue
			}
			if !l.holds(got) {
				short = append(short, fmt.Sprintf("lab: gate: %s on %s, seed %d%s: %s is %s, must be %s", l.experiment, onPath(row.Profile), row.Seed,
					row.settings(), l.metric, Value{"", got}.text(), strings.TrimPrefix(l.String(), l.metric+" ")))
			}
			if checked++; checked == 1 || l.atLeast == (got < least) && got != least {
				worst, least = row, got
			}
		}
		if checked == 0 {
			short = append(short, fmt.Sprintf("lab: gate: nothing to check %s of %s on %s against", l, l.experiment, onPath(l.profile)))
			continue
		}
		side := "at_most"
		if l.atLeast {
			side = "at_least"
		}
		params := append(Values{{"of", l.experiment}, {"metric", l.metric}, {"rows", checked}}, worst.Params...)
		verdicts = append(verdicts, Row{"gate", worst.Profile, ours, worst.Seed, params, Values{{"worst", least}, {side, l.bound}, {"held", number(l.holds(least))}}})
	}
	if c.json {
		for _, v := range verdicts {
			if _, err := stdout.Write(append(v.JSON(), '\n')); err != nil {
				return err
			}
		}
	} else {
		for _, v := range verdicts {
			word := "ok   "
			if held, _ := v.Metrics.Get("held"); held == 0 {
				word = "SHORT"
			}
			got, side := v.Metrics[0], v.Metrics[1]
			if _, err := fmt.Fprintf(stdout, "%s %-8s %-8s %-24s %9s  %-8s %-7s worst of %s%s\n", word, v.Params[0].text(), v.Profile, v.Params[1].text(), got.short(),
				strings.ReplaceAll(side.Name, "_", " "), side.text(), v.Params[2].text(), v.settings()); err != nil {
				return err
			}
		}
	}
	if short != nil {
		return fmt.Errorf("%s", strings.Join(short, "\n"))
	}
	return nil
}

func onPath(profile string) string {
	if profile == "" {
		return "all paths"
	}
	return profile
}

// settings returns the parameters that tell rows of one profile apart.
func (r Row) settings() string {
	text := ""
	for _, p := range r.Params {
		switch p.Name {
		case "rate_hz", "drift_ppm", "late_stamp_ms", "wander_ppm", "game", "movement", "precision", "ack_age_ticks":
			text += ", " + p.Name + " " + p.text()
		}
	}
	return text
}
