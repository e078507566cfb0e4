package lab

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A limit is a bound on a metric, in every row that it applies to.
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
	return r.has(l.params)
}

// limitsOf returns the limits of full or of quick runs.
func limitsOf(quick bool) []limit {
	if quick {
		return quickLimits
	}
	return gateLimits
}

// gate runs the experiments that have limits, prints a verdict for each limit, and fails with what
// fell short.
func gate(c command, stdout io.Writer) error {
	if c.out != "" || len(c.profile) > 0 || len(c.policy) > 0 || c.rate != 0 || c.motion != "" || c.traceDown != "" ||
		c.traceUp != "" {
		return badUsage("gate takes no flags but --quick, --seed and --json")
	}
	limits := limitsOf(c.quick)
	rows, short, err := runLimited(c, limits)
	if err != nil {
		return err
	}
	var verdicts []Row
	for _, l := range limits {
		v, failures := l.judge(rows)
		short = append(short, failures...)
		if v != nil {
			verdicts = append(verdicts, *v)
		}
	}
	if err := printVerdicts(stdout, verdicts, c.json); err != nil {
		return err
	}
	if short != nil {
		return fmt.Errorf("%s", strings.Join(short, "\n"))
	}
	return nil
}

// runLimited runs our own policy in each experiment that has a limit. failed names the experiments
// that broke off.
func runLimited(c command, limits []limit) (rows []Row, failed []string, err error) {
	for _, e := range experiments {
		if !slices.ContainsFunc(limits, func(l limit) bool { return l.experiment == e.name }) {
			continue
		}
		r, err := e.prepare(c)
		if err != nil {
			return nil, nil, err
		}
		r.chosen = []string{ours}
		r.emit = func(row Row) { rows = append(rows, row) }
		if err := r.run(r); err != nil {
			failed = append(failed, err.Error())
		}
	}
	return rows, failed, nil
}

// judge compares the rows that a limit applies to with it. The verdict is the worst of them. If
// there is none the verdict is nil, which is a failure too: a limit that no row is compared with
// checks nothing.
func (l limit) judge(rows []Row) (verdict *Row, short []string) {
	checked := 0
	var worst Row
	var least float64
	for _, row := range rows {
		got, ok := row.Metrics.Get(l.metric)
		if !l.applies(row) || !ok {
			continue
		}
		if !l.holds(got) {
			short = append(short, fmt.Sprintf("lab: gate: %s on %s, seed %d%s: %s is %s, must be %s",
				l.experiment, onPath(row.Profile), row.Seed, row.settings(), l.metric, Value{"", got}.text(),
				strings.TrimPrefix(l.String(), l.metric+" ")))
		}
		if checked++; checked == 1 || l.atLeast == (got < least) && got != least {
			worst, least = row, got
		}
	}
	if checked == 0 {
		return nil, []string{fmt.Sprintf("lab: gate: nothing to check %s of %s on %s against",
			l, l.experiment, onPath(l.profile))}
	}
	side := "at_most"
	if l.atLeast {
		side = "at_least"
	}
	params := append(Values{{"of", l.experiment}, {"metric", l.metric}, {"rows", checked}}, worst.Params...)
	metrics := Values{{"worst", least}, {side, l.bound}, {"held", number(l.holds(least))}}
	return &Row{"gate", worst.Profile, ours, worst.Seed, params, metrics}, short
}

// verdict says in a line how rows of the experiment stand to the bounds of the gate.
func (e *experiment) verdict(rows []Row, quick bool) string {
	bounds := 0
	var short []string
	for _, l := range limitsOf(quick) {
		if l.experiment != e.name {
			continue
		}
		if v, failures := l.judge(rows); v != nil {
			bounds++
			if len(failures) > 0 {
				short = append(short, strings.TrimPrefix(failures[0], "lab: gate: "+e.name+" "))
			}
		}
	}
	switch {
	case bounds == 0:
		return "Verdict: no bound of \"meanwhile lab gate\" is about these rows; they are to be compared with each other."
	case len(short) > 0:
		return fmt.Sprintf("Verdict: %d of %d bounds of \"meanwhile lab gate\" fell short: %s.", len(short), bounds,
			strings.Join(short, "; "))
	}
	return fmt.Sprintf("Verdict: all %d bounds of \"meanwhile lab gate\" that are about these rows hold.", bounds)
}

// printVerdicts writes one line for each verdict, as JSON or for reading.
func printVerdicts(w io.Writer, verdicts []Row, asJSON bool) error {
	for _, v := range verdicts {
		if asJSON {
			if _, err := w.Write(append(v.JSON(), '\n')); err != nil {
				return err
			}
			continue
		}
		word := "ok   "
		if held, _ := v.Metrics.Get("held"); held == 0 {
			word = "SHORT"
		}
		got, side := v.Metrics[0], v.Metrics[1]
		_, err := fmt.Fprintf(w, "%s %-8s %-8s %-24s %9s  %-8s %-7s worst of %s%s\n", word,
			v.Params[0].text(), v.Profile, v.Params[1].text(), got.short(), strings.ReplaceAll(side.Name, "_", " "),
			side.text(), v.Params[2].text(), v.settings())
		if err != nil {
			return err
		}
	}
	return nil
}

func onPath(profile string) string {
	if profile == "" {
		return "all paths"
	}
	return profile
}

// settings returns the parameters that distinguish rows of one profile.
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
