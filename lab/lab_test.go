package lab

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/lab/baseline"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
)

// lab runs the program.
func lab(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = Main(args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestList(t *testing.T) {
	status, out, errs := lab("list")
	if status != 0 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	golden.Check(t, "testdata/list.golden", out)
	if status, out, _ := lab("--help"); status != 0 || out != usage {
		t.Errorf("--help: status %d, %s", status, out)
	}
	for _, e := range experiments {
		status, out, errs := lab(e.name, "--help")
		if status != 0 || errs != "" || !strings.HasPrefix(out, "usage: meanwhile lab "+e.name+" ") ||
			!strings.Contains(out, e.about[1:]) || strings.Contains(out, "--policy") != (e.takes&byPolicy != 0) ||
			strings.ContainsAny(strings.ReplaceAll(out, " < ", ""), "<&") {
			t.Errorf("%s --help: status %d, %s%s", e.name, status, out, errs)
		}
	}
}

// Unusable arguments are refused with status 2, one sentence, and nothing on standard output.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return p
	}
	bad, empty, good := file("bad.txt", "1\n2\nx\n"), file("empty.txt", ""), file("good.txt", "1\n2\n3\n")
	cases := [][]string{
		{},
		{"nothing"},
		{"clock", "arena"},
		{"clock", "--frobnicate"},
		{"clock", "-x"},
		{"clock", "--json=1"},
		{"clock", "--seed"},
		{"clock", "--seed", "--json"},
		{"clock", "--seed", "-3"},
		{"clock", "--seed", "one"},
		{"clock", "--rate", "0"},
		{"clock", "--rate", "1000"},
		{"clock", "--rate", "20.5"},
		{"clock", "--profile", "dsl"},
		{"clock", "--profile", "wifi,"},
		{"clock", "--profile", ""},
		{"clock", "--policy", "guess"},
		{"clock", "--motion", good},
		{"clock", "--out", good},
		{"clock", "--trace-up", filepath.Join(dir, "missing.txt")},
		{"clock", "--trace-up", dir},
		{"clock", "--trace-down", bad},
		{"clock", "--trace-down", empty},
		{"hundred", "--trace-down", good},
		{"hundred", "--policy", "mirror"},
		{"arena", "--rate", "20"},
		{"all"},
		{"all", "--out", good},
		{"gate", "--profile", "wifi"},
	}
	var all strings.Builder
	for _, args := range cases {
		status, out, errs := lab(args...)
		if status != 2 || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d, stdout %q, stderr %q", args, status, out, errs)
		}
		all.WriteString(strings.ReplaceAll("lab "+strings.Join(args, " ")+"\n  "+errs, dir, "DIR"))
	}
	golden.Check(t, "testdata/refusals.golden", all.String())
}

// object is a row as readers take it.
type object struct {
	Experiment, Profile, Policy string
	Seed                        uint64
	Params                      map[string]any
	Metrics                     map[string]float64
}

// rows runs an experiment and holds its output to the contract: one object per line, every key,
// numbers for metrics.
func rows(t *testing.T, args ...string) []object {
	t.Helper()
	status, out, errs := lab(append(args, "--json")...)
	if status != 0 || errs != "" {
		t.Fatalf("%v: status %d: %s", args, status, errs)
	}
	var all []object
	for l := range strings.Lines(out) {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal([]byte(l), &keys); err != nil {
			t.Fatalf("%v: %v in %q", args, err, l)
		}
		for _, k := range []string{"experiment", "profile", "policy", "seed", "params", "metrics"} {
			if keys[k] == nil {
				t.Fatalf("%v: no %s in %q", args, k, l)
			}
		}
		if len(keys) != 6 {
			t.Fatalf("%v: more keys than agreed in %q", args, l)
		}
		var o object
		if err := json.Unmarshal([]byte(l), &o); err != nil {
			t.Fatalf("%v: %v in %q", args, err, l)
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		t.Fatalf("%v: no rows", args)
	}
	return all
}

func TestJSON(t *testing.T) {
	r := Row{"clock", "wifi", "meanwhile", 1, Values{{"drift_ppm", 50}, {"trace", `a"b.txt`}},
		Values{{"p50_ms", 0.1}, {"p99_ms", 1.0 / 3}, {"tiny_ms", 1e-12}, {"large_ms", 123456789.0},
			{"backward_steps", 0}}}
	want := `{"experiment":"clock","profile":"wifi","policy":"meanwhile","seed":1,` +
		`"params":{"drift_ppm":50,"trace":"a\"b.txt"},` +
		`"metrics":{"p50_ms":0.1,"p99_ms":0.333333,"tiny_ms":0,"large_ms":123457000,"backward_steps":0}}`
	if got := string(r.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// All promised metrics of each experiment are there, and the same run gives the same bytes on any
// number of cores.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		args    string
		metrics string
		params  string
	}{
		{"clock --quick --profile wifi", "p50_ms p95_ms p99_ms backward_steps converge_ms bound_width_p99_ms " +
			"bound_violations", "rate_hz drift_ppm late_stamp_ms"},
		{"playout --quick --profile fiber,wifi --seed 3", "mean_delay_ms oracle_ms ratio hitches_per_min " +
			"outages_per_min outage_share warp", "rate_hz"},
		{"tradeoff --quick --profile fiber --policy meanwhile,mirror", "mean_delay_ms hitches_per_min warp",
			"rate_hz setting tuned"},
		{"input --quick --profile wifi", "mean_lead_ms starved_per_min speed_deviation", "rate_hz"},
		{"ticks --quick", "delay_growth_ms hitches_per_min ticks_lost", "load rate_hz"},
		{"predict --quick --profile loopback --policy none,avatar-only", "clean_mispredictions starved_share " +
			"touched_share corrections_p99_cm own_latency_ms ball_error_p95_cm inside_share spawn_latency_ms " +
			"ball_step_max_cm spawn_refused_share down_kbps up_kbps", "players"},
		{"arena --quick --profile fiber --seed 4", "view_error_p95_cm error_now_p95_cm view_age_ms " +
			"hitches_per_min jolts_per_min agreement down_kbps up_kbps " +
			"divergences clean_mispredictions max_window_bits state_bytes_at_rest converged", "players"},
	} {
		args := strings.Fields(c.args)
		all := rows(t, args...)
		for _, o := range all {
			if o.Experiment != args[0] || o.Policy == "" {
				t.Errorf("%s: %+v", c.args, o)
			}
			for _, m := range strings.Fields(c.metrics) {
				if _, ok := o.Metrics[m]; !ok {
					t.Errorf("%s: %s %s has no %s", c.args, o.Profile, o.Policy, m)
				}
			}
			for _, p := range strings.Fields(c.params) {
				if _, ok := o.Params[p]; !ok {
					t.Errorf("%s: %s %s has no parameter %s", c.args, o.Profile, o.Policy, p)
				}
			}
		}
		_, first, _ := lab(append(args, "--json")...)
		if _, again, _ := lab(append(args, "--json")...); first != again {
			t.Errorf("%s: two runs differ", c.args)
		}
	}
}

func TestTraces(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "slow.txt")
	if err := os.WriteFile(name, []byte("20\n60\n100\n"), 0o666); err != nil { // 0.36 Mbit/s
		t.Fatal(err)
	}
	all := rows(t, "clock", "--quick", "--policy", "meanwhile", "--trace-down", name, "--trace-up", name)
	for _, o := range all {
		if o.Profile != "lte-a" || o.Params["trace"] != "slow.txt+slow.txt" {
			t.Errorf("%+v", o)
		}
	}
}

// Each rival finds the offset of an ideal path, as well as it can by its own rules. seeds: U1 U3
func TestRivalClocks(t *testing.T) {
	local := func(x clock.Time) clock.Time { return x + 5e9 }
	trips, err := clockTrips(1, netsim.Profile{Name: "ideal", Down: netsim.LinkConfig{Delay: 20 * time.Millisecond},
		Up: netsim.LinkConfig{Delay: 20 * time.Millisecond}},
		10, time.Minute, 0, local)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range baseline.Clocks() {
		one := c.New()
		if _, _, ok := one.Now(0); ok {
			t.Errorf("%s knows the time before it asked", c.Name)
		}
		for _, x := range trips {
			one.Exchange(x.Exchange)
		}
		now, bound, ok := one.Now(local(60e9))
		want := time.Duration(0)
		if c.Name == "unreal" {
			want = -20 * time.Millisecond // it does not count the way down
		}
		if off := now.Sub(60e9) - want; !ok || off.Abs() > time.Microsecond {
			t.Errorf("%s is off by %v, want %v", c.Name, now.Sub(60e9), want)
		}
		if (bound - 20*time.Millisecond).Abs() > 20*time.Microsecond {
			t.Errorf("%s claims to be within %v", c.Name, bound)
		}
	}
}

// A hitch is two frames of 16.67 ms in a row, or more; then one more for each further 250 ms. After
// 33.3 ms that is at 300 ms (18 frames): 17 are 283.3 ms, exactly 250 more.
func TestHitches(t *testing.T) {
	for _, c := range []struct{ frames, want int }{{0, 0}, {1, 0}, {2, 1}, {17, 1}, {18, 2}, {33, 2}, {34, 3}} {
		if got := hitches(c.frames); got != c.want {
			t.Errorf("%d frames: %d hitches, want %d", c.frames, got, c.want)
		}
	}
}

// gaps is a stream without jitter, with frames on whole 1/60 s from 5 ms on, in which snapshots are
// missing in the given spans.
func gaps(rate int, span time.Duration, missing ...[2]time.Duration) *stream {
	s := &stream{interval: time.Second / time.Duration(rate), span: span, floor: 20 * time.Millisecond}
	for t := clock.Time(s.interval); t < clock.Time(span); t = t.Add(s.interval) {
		lost := false
		for _, m := range missing {
			lost = lost || t >= clock.Time(m[0]) && t < clock.Time(m[1])
		}
		if !lost {
			s.arrivals = append(s.arrivals, arrival{t.Add(s.floor), t})
		}
	}
	for t := clock.Time(5e6); t < clock.Time(span); t = t.Add(playoutFrame) {
		s.frames = append(s.frames, t)
	}
	s.index()
	return s
}

// On a path without jitter, with snapshots 50 ms apart, the frames here see ages of 1.7, 18.3 and
// 35 ms: a delay of 20 ms leaves one starved frame at a time, which is no hitch.
func TestOracle(t *testing.T) {
	calm := gaps(20, 70*time.Second)
	free := calm.oracle(1, 0)
	if free < 18 || free > 20.1 { // one hitch a minute may save a little
		t.Errorf("without gaps: %v ms", free)
	}
	if got := calm.oracle(0, 0); got != 20 {
		t.Errorf("without gaps and hitches: %v ms", got)
	}
	// One gap of 250 ms in a minute is the one hitch that is allowed. A second costs delay, but
	// only around it: to be 250 ms later takes 1 s at 25 % and 5 s back at 5 %, on average 125 ms
	// in 6 of 60 s, 12.5 ms.
	one := gaps(20, 70*time.Second, [2]time.Duration{30 * time.Second, 30250 * time.Millisecond})
	if got := one.oracle(1, 0); got > free+0.01 {
		t.Errorf("one gap costs %v ms", got-free)
	}
	two := gaps(20, 70*time.Second, [2]time.Duration{30 * time.Second, 30250 * time.Millisecond},
		[2]time.Duration{50 * time.Second, 50250 * time.Millisecond})
	if got := two.oracle(1, 0) - free; got < 11 || got > 13 {
		t.Errorf("the second gap costs %v ms", got)
	}
	if got := two.oracle(0, 0) - calm.oracle(0, 0); got < 23 || got > 26 {
		t.Errorf("both gaps cost %v ms", got)
	}
	// A gap beyond 500 ms is an outage: it costs nothing and is counted apart.
	out := gaps(20, 70*time.Second, [2]time.Duration{30 * time.Second, 31 * time.Second})
	if got := out.oracle(0, 0); got > calm.oracle(0, 0)+0.01 || out.outages != 1 ||
		out.beyond < 500*time.Millisecond || out.beyond > 560*time.Millisecond {
		t.Errorf("an outage: %v ms, %d counted, %v", got, out.outages, out.beyond)
	}
}

// No policy within the oracle's limits does better than it.
func TestOracleIsBelowUs(t *testing.T) {
	for _, p := range []netsim.Profile{netsim.Fiber, netsim.HotelWiFi, netsim.CityLTE} {
		s, err := newStream(5, p, 20, 2*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		player, err := ourVariant(20, 0).new()
		if err != nil {
			t.Fatal(err)
		}
		got := s.play(player, 0)
		if least := s.oracle(got.perMinute(), 0); least > got.meanDelay() {
			t.Errorf("%s: the oracle needs %v ms, we %v", p.Name, least, got.meanDelay())
		}
	}
}

// still draws one moment for ever, back steps back each second: neither can hide from the count.
type still struct{ t clock.Time }

func (s *still) Arrive(_, stamp clock.Time) {
	if s.t == 0 {
		s.t = stamp
	}
}
func (s *still) Advance(clock.Time) clock.Time { return s.t }

type back struct{}

func (back) Arrive(_, _ clock.Time) {}
func (back) Advance(local clock.Time) clock.Time {
	return local - 400e6 + local%1e9/10 // a tenth too fast, and once a second 100 ms back
}

func TestFreezingCounts(t *testing.T) {
	s := gaps(20, 70*time.Second)
	minutes := s.measured().Minutes()
	if got := s.play(&still{}, 0); float64(got.hitches) < 200*minutes { // four a second, but one for the first frames
		t.Errorf("standing still for a minute counts as %d hitches", got.hitches)
	}
	if got := s.play(back{}, 0); float64(got.hitches) < 59*minutes {
		t.Errorf("stepping back counts as %d hitches", got.hitches)
	}
}

// On an ideal path each rule reaches the delay of its own formula.
func TestRivalPlayers(t *testing.T) {
	s := gaps(20, 40*time.Second)
	for name, want := range map[string][2]float64{ // ms, at their published numbers
		"fixed":             {50, 50}, // set below
		"gaffer":            {350, 350},
		"intervals":         {150, 150},
		"geckos":            {150, 150},
		"mirror":            {60, 110}, // two intervals behind the newest, which is 0 to 50 ms old
		"lightyear":         {101, 102},
		"ramjee-4":          {45, 56},
		"moon":              {49, 51},
		"neteq":             {60, 60}, // the bucket of 40 to 60 ms
		"ryzom":             {200, 200},
		"kansal-karandikar": {45, 56},
	} {
		for _, f := range baseline.Players() {
			if f.Name != name {
				continue
			}
			knob := f.Shipped
			if knob == 0 {
				knob = 50
			}
			p := s.play(f.New(knob, s.interval), 0)
			if d := p.meanDelay(); d < want[0]-1 || d > want[1]+1 {
				t.Errorf("%s: %v ms, want %v", name, d, want)
			}
		}
	}
	if len(baseline.Players()) != 11 {
		t.Error("a rival without a test")
	}
}

// One command compares predictors on the same arrivals: how late each draws, and how often it
// stalls. None is better than ours in both.
//
// seeds: R43
func TestPredictorsSideBySide(t *testing.T) {
	type cost struct{ delay, stalls float64 }
	table, oracle := map[string]cost{}, 0.0
	for _, o := range rows(t, "playout", "--quick", "--profile", "wifi") {
		if o.Params["extrapolate_ms"] != 0.0 {
			continue
		}
		if oracle == 0 {
			oracle = o.Metrics["oracle_ms"]
		}
		if o.Metrics["oracle_ms"] != oracle || oracle == 0 {
			t.Errorf("%s: the oracle needs %v ms, beside others %v: not the same arrivals", o.Policy,
				o.Metrics["oracle_ms"], oracle)
		}
		table[o.Policy] = cost{o.Metrics["mean_delay_ms"], o.Metrics["hitches_per_min"]}
	}
	us, ok := table[ours]
	for _, name := range []string{"ryzom", "kansal-karandikar", "ramjee-4", "moon", "neteq", "mirror",
		"fixed" + tunedName} {
		c, known := table[name]
		if !ok || !known || c.delay <= 0 {
			t.Fatalf("%s is missing: %v", name, table)
		}
		if c.delay <= us.delay && c.stalls <= us.stalls {
			t.Errorf("%s: %.0f ms and %.2f a minute, ours %.0f ms and %.2f", name, c.delay, c.stalls, us.delay,
				us.stalls)
		}
	}
}

// The gate names every limit that is not kept, and every limit that nothing was compared with.
func TestGate(t *testing.T) {
	before := quickLimits
	defer func() { quickLimits = before }()
	quickLimits = []limit{most("clock", "fiber", "p99_ms", 0.7).with(inTime),
		least("clock", "", "bound_width_p99_ms", 0.1)}
	if status, out, errs := lab("gate", "--quick"); status != 0 || errs != "" || strings.Count(out, "ok ") != 2 {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	quickLimits = []limit{most("clock", "wifi", "p99_ms", 0.001).with(append(Values{{"wander_ppm", 0}}, inTime...)),
		most("clock", "fiber", "backward_steps", 0), most("clock", "dsl", "p99_ms", 1),
		most("clock", "fiber", "p98_ms", 1)}
	status, out, errs := lab("gate", "--quick")
	if status != 1 || strings.Count(errs, "\n") != 3 ||
		!strings.Contains(errs, "lab: gate: clock on wifi, seed 1, rate_hz 10, drift_ppm 50, late_stamp_ms 0, "+
			"wander_ppm 0: p99_ms is 0.") ||
		!strings.Contains(errs, "must be at most 0.001") ||
		!strings.Contains(errs, "nothing to check p99_ms at most 1 of clock on dsl against") {
		t.Errorf("status %d, %s", status, errs)
	}
	if strings.Count(out, "SHORT") != 1 || strings.Count(out, "ok ") != 1 {
		t.Error(out)
	}
	status, out, _ = lab("gate", "--quick", "--json")
	var o object
	if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &o); err != nil || status != 1 ||
		o.Experiment != "gate" || o.Params["metric"] != "p99_ms" || o.Metrics["held"] != 0 {
		t.Errorf("status %d, %v in %s", status, err, out)
	}
}

// One page with every table and figure, which loads nothing.
func TestReport(t *testing.T) {
	before := experiments
	defer func() { experiments = before }()
	experiments = []*experiment{clockExperiment, tradeoffExperiment}
	dir := filepath.Join(t.TempDir(), "deep", "report")
	status, out, errs := lab("all", "--quick", "--out", dir, "--profile", "fiber,wifi")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(out, "report.html") {
		t.Fatal(err, out)
	}
	text := string(page)
	verdicts := strings.Index(text, "<h2>Verdicts</h2>")
	if clock := strings.Index(text, "<h2 id=\"clock\">"); verdicts < 0 || clock < verdicts {
		t.Error("the verdicts are not first")
	}
	for _, want := range []string{"<td>✓</td><td><a href=\"#clock\">clock</a></td>", "<h2 id=\"clock\">",
		"<h2 id=\"tradeoff\">", "meanwhile lab clock --quick --profile fiber,wifi", "<table>", "<tr class=\"ours\">"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if n := strings.Count(text, "<svg"); n != 3 { // a clock figure per profile, and the curve
		t.Errorf("%d figures", n)
	}
	for _, not := range []string{"<script", "<link", "src=", "url(", "<?xml"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %s", not)
		}
	}
}

// A better path is believed within five seconds, and a longer one does not starve the avatar for
// long.
func TestPathsThatChange(t *testing.T) {
	for _, o := range rows(t, "change", "--quick", "--profile", "ocean:lan,lte-c:wifi,lan:ocean") {
		m := o.Metrics
		if o.Profile != "lan:ocean" && (m["delay_after_s"] > 5 || m["lead_after_s"] > 5) {
			t.Errorf("%s: delay after %v s, lead after %v s", o.Profile, m["delay_after_s"], m["lead_after_s"])
		}
		if m["starved_s"] > 5 {
			t.Errorf("%s: starved for %v of the first 10 s", o.Profile, m["starved_s"])
		}
		if m["clock_error_ms"] > 10 {
			t.Errorf("%s: the clock is wrong by %v ms", o.Profile, m["clock_error_ms"])
		}
	}
}
