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
		r.brief, r.gate, r.chosen = true, true, []string{ours}
		r.emit = func(row Row) { rows = append(rows, row) }
		if err := r.run(r); err != nil {
			short = append(short, err.Error())
		}
	}
	var verdicts []Row
	for _, l := range limits {
		checked := false
		for _, row := range rows {
			if !l.applies(row) {
				continue
			}
			got, ok := row.Metrics.Get(l.metric)
			if !ok {
				continue
			}
			checked = true
			held := got <= l.bound
			if l.atLeast {
				held = got >= l.bound
			}
			side := "at_most"
			if l.atLeast {
				side = "at_least"
			}
			params := append(Values{{"experiment", l.experiment}, {"metric", l.metric}}, row.Params...)
			verdicts = append(verdicts, Row{"gate", row.Profile, ours, row.Seed, params, Values{{"got", got}, {side, l.bound}, {"held", number(held)}}})
			if !held {
				short = append(short, fmt.Sprintf("lab: gate: %s on %s, seed %d: %s is %s, must be %s", l.experiment, name(row.Profile), row.Seed, l.metric, Value{"", got}.text(),
					strings.TrimPrefix(l.String(), l.metric+" ")))
			}
		}
		if !checked {
			short = append(short, fmt.Sprintf("lab: gate: nothing to check %s of %s %s against", l, l.experiment, l.profile))
		}
	}
	if c.json {
		for _, v := range verdicts {
			if _, err := stdout.Write(append(v.JSON(), '\n')); err != nil {
				return err
			}
		}
	} else {
		for _, v := range verdicts {
			v.Params = v.Params[:2]
			got, side := v.Metrics[0], v.Metrics[1]
			word := "ok   "
			if held, _ := v.Metrics.Get("held"); held == 0 {
				word = "SHORT"
			}
			if _, err := fmt.Fprintf(stdout, "%s %-8s %-8s %-24s %12s  %s %s\n", word, v.Params[0].text(), v.Profile, v.Params[1].text(), got.short(),
				strings.ReplaceAll(side.Name, "_", " "), side.text()); err != nil {
				return err
			}
		}
	}
	if short != nil {
		return fmt.Errorf("%s", strings.Join(short, "\n"))
	}
	return nil
}

func name(profile string) string {
	if profile == "" {
		return "no path"
	}
	return profile
}
