// Package lab runs experiments: the real cores of this project on simulated networks, in virtual
// time, beside what others do. Every figure in the documents is a row that an experiment prints,
// and a command prints it again.
//
// [Main] is the program `meanwhile lab`. One seed gives one result on every machine, whatever the
// number of cores.
package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"meanwhile/lab/movement"
	"meanwhile/netsim"
)

// An experiment measures something on all profiles, policies and rates of a run.
type experiment struct {
	name  string
	about string // one line
	notes string // how its metrics are defined, for readers of the report
	takes flags  // the flags that narrow or feed it
	// profiles are those of a run without --profile, policies those of a run without --policy,
	// rates those of a run without --rate.
	profiles []netsim.Profile
	policies []string
	asked    []string // more policies, which run only where --policy names them
	rates    []int
	first    firstLook
	run      func(r *run) error
}

// A firstLook is the part of an experiment's table that people look at first. --json and the report
// have all of it.
type firstLook struct {
	profile string // "": all
	params  Values // that rows have
	metrics string // their names, in the order of the table; "": all
}

// firstRows returns the part of rows to be looked at first: all of them where no row is of it.
func (e *experiment) firstRows(rows []Row) (first []Row) {
	for _, r := range rows {
		if (e.first.profile == "" || e.first.profile == r.Profile) && r.has(e.first.params) {
			first = append(first, r)
		}
	}
	if len(first) == 0 {
		first = slices.Clone(rows)
	}
	if e.first.metrics == "" {
		return first
	}
	names := strings.Fields(e.first.metrics)
	for i, r := range first {
		first[i].Metrics = nil
		for _, name := range names {
			if at := slices.IndexFunc(r.Metrics, func(v Value) bool { return v.Name == name }); at >= 0 {
				first[i].Metrics = append(first[i].Metrics, r.Metrics[at])
			}
		}
	}
	return first
}

// flags are those that not every experiment can use; all can use --seed, --quick and --json.
type flags uint

const (
	byProfile flags = 1 << iota
	byPolicy
	byRate
	byTrace
	byMotion
	byChange // of profiles
	bySeeds
	bySpan
	byPlayers
)

// experiments are all of them, in the order of reports.
var experiments = []*experiment{clockExperiment, playoutExperiment, tradeoffExperiment, bufferExperiment,
	extrapolateExperiment, bounceExperiment,
	outageExperiment, hangExperiment, pathExperiment, inputExperiment, sendrateExperiment, changeExperiment,
	ticksExperiment,
	entitiesExperiment,
	codecExperiment,
	budgetExperiment, smoothingExperiment, predictExperiment, hitsExperiment, fairnessExperiment, arenaExperiment,
	hundredExperiment, soakExperiment, handsExperiment, invasionExperiment, plazaExperiment,
	deadreckonExperiment,
	articleExperiment, floorsExperiment,
	groupsExperiment, liesExperiment, cheatsExperiment, wallsExperiment, weatherExperiment}

// run is one run of an experiment.
type run struct {
	*experiment
	profiles []netsim.Profile
	chosen   []string // policies
	rates    []int
	trace    string // names of the recorded capacities in place of the profile's own
	seed     uint64
	oneSeed  bool          // --seed was given
	count    int           // --seeds; 0: not given
	plan     string        // --plan
	span     time.Duration // --for; 0: not given
	players  int           // --players; 0: not given
	quick    bool
	drawing  bool // figures are wanted
	emit     func(Row)
	figures  []figure

	motion     []*movement.Recording // recorded movement in place of generated
	training   []*movement.Recording // what records' tables are made from in place of the shipped ones
	tablesFile string
}

// wants reports whether the command asks for rows of a policy.
func (r *run) wants(policy string) bool { return slices.Contains(r.chosen, policy) }

// seeds returns the seeds of a run that pools n, or the one seed of the command.
func (r *run) seeds(n int) []uint64 {
	if r.oneSeed {
		n = 1
	}
	s := make([]uint64, n)
	for i := range s {
		s[i] = r.seed + uint64(i)
	}
	return s
}

// Exit statuses of Main.
const (
	exitOK    = 0
	exitShort = 1 // something fell short, or writing failed
	exitUsage = 2 // unknown names or flags, unreadable or malformed files
)

const usage = `usage: meanwhile lab NAME [flags]       run an experiment, print its table
       meanwhile lab NAME --help        say what it measures, and which flags it can use
       meanwhile lab NAME --out DIR     write an HTML report with its table and its figures
       meanwhile lab all --out DIR     run all, write one HTML report with every table and figure
       meanwhile lab train --motion FILE,... --out FILE   make tables for records from recorded movement
       meanwhile lab gate [--quick]    check what must hold, exit 1 naming what fell short
       meanwhile lab list              name the experiments

flags: --json               one JSON object per row and nothing else
       --quick              seconds instead of minutes, fewer seeds
       --seed N             one seed
       --profile NAME,...   network paths
       --policy NAME,...    policies
       --rate HZ            packets a second; invasion: kbit/s to each player
       --trace-down FILE    recorded capacity in place of the profile's, server to client
       --trace-up FILE      the same, client to server
       --motion FILE,...    recorded movement in place of generated
       --train FILE,...     codec: make the tables of records from these, not the shipped ones
       --tables FILE        codec: read the tables of records from a file
       --seeds N            weather: so many plans
       --plan TEXT          weather: this plan, as a failure prints it
       --for TIME           soak, hundred: so much virtual time, such as 2h
       --players N          soak: so many players
`

// command is what the arguments ask for.
type command struct {
	name                       string
	json, quick, help          bool
	profile, policy            []string
	seed                       uint64
	hasSeed                    bool
	rate, seeds, players       int
	span                       time.Duration
	motion, traceUp, traceDown string
	train, tables, plan        string
	out                        string
}

// usageError is a mistake in the arguments or in a file that they name.
type usageError struct{ error }

func badUsage(format string, args ...any) error {
	return usageError{fmt.Errorf("lab: "+format, args...)}
}

// Main runs the laboratory with the arguments after its name, writes rows to stdout and trouble to
// stderr, and returns the exit status: 0; 1 when something fell short; 2 with one sentence when the
// arguments or a file are unusable.
func Main(args []string, stdout, stderr io.Writer) int {
	err := main(args, stdout)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, err)
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	return exitShort
}

func main(args []string, stdout io.Writer) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	switch {
	case c.help:
		text := usage
		if e := byName(c.name); e != nil {
			text = e.help()
		}
		_, err := io.WriteString(stdout, text)
		return err
	case c.name == "list":
		return list(stdout)
	case c.name == "":
		return badUsage("name an experiment; \"meanwhile lab list\" names all")
	case c.name == "train":
		return trainTables(c, stdout)
	case c.name == "all" && c.out == "":
		return badUsage("all needs --out DIR for its report")
	case c.name == "all":
		return reported(c, regular(), stdout)
	case c.name == "gate":
		return gate(c, stdout)
	}
	e := byName(c.name)
	if e == nil {
		return badUsage("no experiment %q; there are: %s", c.name, strings.Join(names(), " "))
	}
	if c.out != "" {
		return reported(c, []*experiment{e}, stdout)
	}
	r, err := e.prepare(c)
	if err != nil {
		return err
	}
	var rows []Row
	var failed error
	r.emit = func(row Row) {
		rows = append(rows, row)
		if c.json && failed == nil {
			_, failed = stdout.Write(append(row.JSON(), '\n'))
		}
	}
	err = e.run(r)
	if c.json {
		return errors.Join(err, failed)
	}
	if len(rows) > 0 { // also when something fell short
		failed = e.print(stdout, rows, c.quick)
	}
	return errors.Join(err, failed)
}

// print writes what a person reads: the table, what its columns are, and a verdict.
func (e *experiment) print(w io.Writer, rows []Row, quick bool) error {
	first := e.firstRows(rows)
	for _, t := range tables(first) {
		shared := t.share()
		if err := t.write(w); err != nil {
			return err
		}
		if shared != "" {
			if _, err := fmt.Fprintf(w, "\n%s\n", wrapped(shared)); err != nil {
				return err
			}
		}
	}
	left := ""
	switch {
	case len(first) < len(rows):
		left = fmt.Sprintf("\n%d of %d rows; --json prints all of them, with all columns.\n", len(first), len(rows))
	case e.first.metrics != "":
		left = "\n--json prints all columns.\n"
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n\n%s\n", left, wrapped(tags.Replace(e.notes)), wrapped(e.verdict(rows, quick)))
	return err
}

// wrapped breaks a text into lines that fit a table's width.
func wrapped(text string) string {
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at > 0 && at+1+n > tableWidth:
			b.WriteString("\n")
			at = 0
		case at > 0:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

func byName(name string) *experiment {
	for _, e := range experiments {
		if e.name == name {
			return e
		}
	}
	return nil
}

func names() []string {
	var n []string
	for _, e := range experiments {
		n = append(n, e.name)
	}
	return n
}

// tags are those of notes.
var tags = strings.NewReplacer(
	"<b>",
	"",
	"</b>",
	"",
	"<code>",
	"",
	"</code>",
	"",
	"&lt;",
	"<",
	"&gt;",
	">",
	"&amp;",
	"&",
)

// help says what the experiment measures and which flags it can use.
func (e *experiment) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: meanwhile lab %s [flags]\n\n%s.\n\n%s\n\nflags: --json, --quick, --seed N, --out DIR", e.name,
		upperFirst(e.about), wrapped(tags.Replace(e.notes)))
	for _, f := range []struct {
		need flags
		text string
	}{{byRate, "--rate N"}, {byTrace, "--trace-down FILE, --trace-up FILE"}, {byMotion, "--motion FILE,..."},
		{bySeeds, "--seeds N, --plan TEXT"}, {bySpan, "--for TIME"}, {byPlayers, "--players N"}} {
		if e.takes&f.need != 0 {
			b.WriteString(", " + f.text)
		}
	}
	if e.takes&byProfile != 0 {
		var all []string
		for _, p := range e.profiles {
			all = append(all, p.Name)
		}
		fmt.Fprintf(&b, "\n       --profile NAME,...   by default %s", strings.Join(all, ","))
	}
	if e.takes&byPolicy != 0 {
		fmt.Fprintf(&b, "\n       --policy NAME,...    by default %s", strings.Join(e.policies, ","))
		if len(e.asked) > 0 {
			fmt.Fprintf(&b, "; also %s", strings.Join(e.asked, ","))
		}
	}
	return b.String() + "\n\n\"meanwhile lab --help\" explains the flags.\n"
}

func list(w io.Writer) error {
	wide := 0
	for _, e := range experiments {
		wide = max(wide, len(e.name))
	}
	for _, e := range experiments {
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", wide, e.name, e.about); err != nil {
			return err
		}
	}
	return nil
}

func parse(args []string) (command, error) {
	c := command{seed: 1}
	on := map[string]*bool{"json": &c.json, "quick": &c.quick, "help": &c.help, "h": &c.help}
	texts := map[string]*string{"motion": &c.motion, "train": &c.train, "tables": &c.tables, "trace-up": &c.traceUp,
		"trace-down": &c.traceDown, "out": &c.out, "plan": &c.plan}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if c.name != "" {
				return c, badUsage("%q beside %q: one experiment at a time", arg, c.name)
			}
			c.name = arg
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if b := on[name]; b != nil {
			if has {
				return c, badUsage("--%s takes no value", name)
			}
			*b = true
			continue
		}
		if name == "list" {
			return c, badUsage("no flag %s; the command is \"meanwhile lab list\"", arg)
		}
		known := texts[name] != nil ||
			slices.Contains([]string{"profile", "policy", "seed", "seeds", "rate", "for", "players"}, name)
		if !known {
			return c, badUsage("no flag %s; lab --help shows what there is", arg)
		}
		if !has {
			if len(args) == 0 || strings.HasPrefix(args[0], "--") {
				return c, badUsage("--%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if value == "" {
			return c, badUsage("--%s needs a value", name)
		}
		if texts[name] != nil {
			*texts[name] = value
			continue
		}
		if err := c.set(name, value); err != nil {
			return c, err
		}
	}
	return c, nil
}

// set sets a flag that is not any text.
func (c *command) set(name, value string) (err error) {
	whole := func(least, most int) (n int) {
		if n, err = strconv.Atoi(value); err != nil || n < least || n > most {
			err = badUsage("--%s %s is not a whole number in [%d, %d]", name, value, least, most)
		}
		return n
	}
	switch name {
	case "profile":
		c.profile = append(c.profile, strings.Split(value, ",")...)
	case "policy":
		c.policy = append(c.policy, strings.Split(value, ",")...)
	case "seed":
		n, bad := strconv.ParseUint(value, 10, 63)
		if bad != nil {
			return badUsage("--seed %s is not a whole number in [0, %d]", value, int64(1<<63-1))
		}
		c.seed, c.hasSeed = n, true
	case "seeds":
		c.seeds = whole(1, maxSeeds)
	case "players":
		c.players = whole(1, maxPlayers)
	case "for":
		if c.span, err = time.ParseDuration(value); err != nil || c.span < minSpan || c.span > maxSpan {
			return badUsage("--for %s is not a time in [%v, %v], such as 10m", value, minSpan, maxSpan)
		}
	case "rate":
		c.rate = whole(minRate, maxRate)
	}
	return err
}

// Bounds of --rate, --seeds, --players and --for.
const (
	minRate = 1
	maxRate = 240

	maxSeeds = 10_000_000

	maxPlayers = 1000

	minSpan = time.Second
	maxSpan = 24 * time.Hour
)

// Without --profile, recorded capacities replace those of this profile.
const defaultTraced = "lte-a"

// prepare checks a command against what the experiment can use, and reads its files.
func (e *experiment) prepare(c command) (*run, error) {
	for _, f := range []struct {
		flag  string
		given bool
		need  flags
	}{
		{"--profile", len(c.profile) > 0, byProfile},
		{"--policy", len(c.policy) > 0, byPolicy},
		{"--rate", c.rate != 0, byRate},
		{"--trace-up", c.traceUp != "", byTrace},
		{"--trace-down", c.traceDown != "", byTrace},
		{"--motion", c.motion != "", byMotion},
		{"--train", c.train != "", byMotion},
		{"--tables", c.tables != "", byMotion},
		{"--seeds", c.seeds != 0, bySeeds},
		{"--plan", c.plan != "", bySeeds},
		{"--for", c.span != 0, bySpan},
		{"--players", c.players != 0, byPlayers},
	} {
		if f.given && e.takes&f.need == 0 {
			return nil, badUsage("%s has no use for %s", e.name, f.flag)
		}
	}
	r := &run{experiment: e, profiles: e.profiles, chosen: e.policies, rates: e.rates, seed: c.seed,
		oneSeed: c.hasSeed, count: c.seeds, plan: c.plan, span: c.span, players: c.players, quick: c.quick,
		tablesFile: c.tables}
	var err error
	if r.motion, err = openMotion(c.motion); err != nil {
		return nil, err
	}
	if r.training, err = openMotion(c.train); err != nil {
		return nil, err
	}
	if len(c.policy) > 0 {
		r.chosen = nil
		all := slices.Concat(e.policies, e.asked)
		for _, p := range all { // in their own order
			if slices.Contains(c.policy, p) {
				r.chosen = append(r.chosen, p)
			}
		}
		for _, p := range c.policy {
			if !slices.Contains(all, p) {
				return nil, badUsage("%s has no policy %q; there are: %s", e.name, p, strings.Join(all, " "))
			}
		}
	}
	if c.rate != 0 {
		r.rates = []int{c.rate}
	}
	traced := c.traceUp != "" || c.traceDown != ""
	if traced && len(c.profile) == 0 {
		c.profile = []string{defaultTraced}
	}
	if len(c.profile) > 0 {
		r.profiles = nil
		for _, name := range c.profile {
			p, err := e.profile(name)
			if err != nil {
				return nil, usageError{err}
			}
			r.profiles = append(r.profiles, p)
		}
	}
	if traced {
		var used []string
		down, err := readTrace(c.traceDown, &used)
		if err != nil {
			return nil, err
		}
		up, err := readTrace(c.traceUp, &used)
		if err != nil {
			return nil, err
		}
		r.trace = strings.Join(used, "+")
		for i := range r.profiles {
			r.profiles[i] = r.profiles[i].WithTraces(down, up)
			if err := r.profiles[i].Validate(); err != nil {
				return nil, usageError{err}
			}
		}
	}
	return r, nil
}

// profile returns a path by name: one of the experiment's own, or one that all know.
func (e *experiment) profile(name string) (netsim.Profile, error) {
	for _, p := range e.profiles {
		if p.Name == name {
			return p, nil
		}
	}
	if e.takes&byChange != 0 {
		_, _, err := legs(name)
		return netsim.Profile{Name: name}, err
	}
	return netsim.ByName(name)
}

// readTrace reads a recorded capacity; "" is none.
func readTrace(name string, used *[]string) (*netsim.Trace, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError{fmt.Errorf("lab: %w", err)}
	}
	defer f.Close()
	t, err := netsim.ReadTrace(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("lab: %s: %w", name, err)}
	}
	*used = append(*used, filepath.Base(name))
	return t, nil
}

// params returns the parameters of a row, the trace first where there is one.
func (r *run) params(vals ...Value) Values {
	var p Values
	if r.trace != "" {
		p.put("trace", r.trace)
	}
	return append(p, vals...)
}
