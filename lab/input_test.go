package lab

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/golden"
	"meanwhile/lab/baseline"
	"meanwhile/netsim"
)

// The shape of the rows of the quick run on two paths: names, order and parameters. Every measured
// value is a digit here, so that it can get better.
func TestInputGolden(t *testing.T) {
	status, out, errs := lab("input", "--quick", "--seed", "3", "--profile", "fiber,lte-c", "--json")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	golden.Check(t, "testdata/input.golden", shape(out))
}

// shape returns rows with every metric replaced by 0.
func shape(out string) string {
	var b strings.Builder
	for l := range strings.Lines(out) {
		head, metrics, _ := strings.Cut(l, `"metrics":`)
		b.WriteString(head + `"metrics":` + measured.ReplaceAllString(metrics, ":0"))
	}
	return b.String()
}

var measured = regexp.MustCompile(`:-?[0-9.]+`)

// Every policy, and the packet rates of the sweep: all promised metrics are there, and the numbers
// are possible.
//
// seeds: P7
func TestInputRows(t *testing.T) {
	for _, args := range []string{"input --quick --profile held-3", "input --quick --profile lan --policy " +
		"meanwhile --rate 2", "input --quick --profile lan --policy meanwhile --rate 128"} {
		for _, o := range rows(t, strings.Fields(args)...) {
			for _, m := range []string{"mean_lead_ms", "starved_per_min", "outages_per_min", "starved_share",
				"speed_deviation"} {
				v, ok := o.Metrics[m]
				if !ok || v < 0 || math.IsNaN(v) {
					t.Errorf("%s: %s %s: %s is %v, %v", args, o.Profile, o.Policy, m, v, ok)
				}
			}
			if o.Params["rate_hz"] == nil || o.Experiment != "input" {
				t.Errorf("%s: %+v", args, o)
			}
			if o.Metrics["starved_share"] > 0.05 && o.Policy == ours {
				t.Errorf("%s: %v of the ticks are starved", args, o.Metrics["starved_share"])
			}
		}
	}
}

// The cost that a lead would have had is the cost that it has where nothing else moves. On a path
// without jitter a lead that is a tick too short starves always, and the constant that repairs it
// is found.
func TestInputWhatIf(t *testing.T) {
	ideal := netsim.Profile{Name: "ideal", Down: netsim.LinkConfig{Delay: 20 * time.Millisecond},
		Up: netsim.LinkConfig{Delay: 20 * time.Millisecond}}
	run, err := playInput(1, ideal, &baseline.FixedLead{Extra: -20 * time.Millisecond}, 60, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	res := run.result()
	if res.starved < res.ticks*9/10 {
		t.Errorf("%d of %d ticks are starved with a lead below the floor", res.starved, res.ticks)
	}
	mean := res.lead / float64(res.commands)
	if extra := extraAt6([]inputResult{res}); extra < -mean-1 || extra > -mean+20 {
		t.Errorf("a mean lead of %.1f ms needs %.0f ms more, want %.1f and a tick at most", mean, extra, -mean)
	}
	if best := run.best(); best.lead > 20 || best.starved > 0 {
		t.Errorf("the best constant is %v ms with %d starved ticks", best.lead, best.starved)
	}
	if i := slices.IndexFunc(baseline.Leads(), func(l struct {
		Name string
		New  func() baseline.Lead
	}) bool {
		return l.Name == bestConstant || l.Name == ours
	}); i >= 0 {
		t.Errorf("rival %d has a name that is taken", i)
	}
}
