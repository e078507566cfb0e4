package lab

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meanwhile/clock"
	"meanwhile/lab/rival"
	"meanwhile/netsim"
)

var update = flag.Bool("update", false, "rewrite testdata")

// lab runs the program.
func lab(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = Main(args, &out, &errs)
	return status, out.String(), errs.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got:\n%s", name, got)
	}
}

func TestList(t *testing.T) {
	status, out, errs := lab("--list")
	if status != 0 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	golden(t, "list.golden", out)
	if status, out, _ := lab("--help"); status != 0 || out != usage {
		t.Errorf("--help: status %d, %s", status, out)
	}
}

// Whatever cannot be used is refused with status 2, one sentence, and nothing on standard output.
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
		{"clock", "--out", dir},
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
	golden(t, "refusals.golden", all.String())
}

// object is a row as readers take it.
type object struct {
	Experiment, Profile, Policy string
	Seed                        uint64
	Params                      map[string]any
	Metrics                     map[string]float64
}

// rows runs an experiment and holds its output to the contract: one object per line, every key, numbers for metrics.
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
		Values{{"p50_ms", 0.1}, {"p99_ms", 1.0 / 3}, {"tiny_ms", 1e-12}, {"large_ms", 123456789.0}, {"backward_steps", 0}}}
	want := `{"experiment":"clock","profile":"wifi","policy":"meanwhile","seed":1,"params":{"drift_ppm":50,"trace":"a\"b.txt"},` +
		`"metrics":{"p50_ms":0.1,"p99_ms":0.333333,"tiny_ms":0,"large_ms":123457000,"backward_steps":0}}`
	if got := string(r.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The metrics that each experiment promises are there, and the same run gives the same bytes, on any number of cores.
func TestContract(t *testing.T) {
	for _, c := range []struct {
		args    string
		metrics string
		params  string
	}{
		{"clock --quick --profile wifi", "p50_ms p95_ms p99_ms backward_steps converge_ms bound_width_p99_ms bound_violations", "rate_hz drift_ppm late_stamp_ms"},
		{"arena --quick --profile fiber --seed 4", "view_error_p95_cm error_now_p95_cm view_age_ms hitches_per_min jolts_per_min agreement down_kbps up_kbps " +
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

// Each rival finds the offset of an ideal path, as well as it can by its own rules. seeds: U1 U2
func TestRivalClocks(t *testing.T) {
	local := func(x clock.Time) clock.Time { return x + 5e9 }
	trips, err := clockTrips(1, netsim.Profile{Name: "ideal", Down: netsim.LinkConfig{Delay: 20 * time.Millisecond}, Up: netsim.LinkConfig{Delay: 20 * time.Millisecond}},
		10, time.Minute, 0, local)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rival.Clocks() {
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
