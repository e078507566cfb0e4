package metrics

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"meanwhile/examples/zap"
	"meanwhile/host"
	"meanwhile/internal/verify/golden"
	"meanwhile/transport"
)

// page has an entry for each metric.
const page = "../../docs/watch/metrics.md"

const head = `# Metrics

Every metric of Meanwhile at /metrics and over OTLP, its sort and unit, its labels with their values, and what it
means. A counter grows for as long as the program runs: ask for its rate. Beside these are those of the Go runtime
(go_...) and of the process (process_...).

- path is the class of a player's round trip: near up to 50 ms, middle up to 150 ms, far beyond, unmeasured at first.
- What is called reported is the claim of a client, which anybody can forge; all else is what the server counts.
- Strangers choose the names of rooms, so no metric has them; /rooms at the same address lists the rooms that cost most.

`

// unitOf returns the unit of a metric.
func unitOf(name string) string {
	name = strings.TrimSuffix(name, "_total")
	for _, unit := range []string{"seconds", "bytes", "bits"} {
		if strings.HasSuffix(name, "_"+unit) {
			return ", in " + unit
		}
	}
	return ""
}

// entryOf describes a metric.
func entryOf(f *dto.MetricFamily) string {
	labels, values := []string{}, map[string][]string{}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			name := l.GetName()
			if values[name] == nil {
				labels = append(labels, name)
			}
			if !slices.Contains(values[name], l.GetValue()) {
				values[name] = append(values[name], l.GetValue())
			}
		}
	}
	text := fmt.Sprintf("%s (%s%s)", f.GetName(), strings.ToLower(f.GetType().String()), unitOf(f.GetName()))
	for _, name := range labels {
		slices.Sort(values[name])
		text += fmt.Sprintf("; %s: %s", name, strings.Join(values[name], ", "))
	}
	return "- " + text + "\n  " + f.GetHelp() + "\n"
}

// The page has every metric with its labels, and no page, alert or dashboard names another one.
func TestPage(t *testing.T) {
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	families, err := Registry(Sources{h, transport.NewGate(0, 0), func() uint64 { return 0 },
		func() (uint64, uint64, uint64) { return 0, 0, 0 }, func() uint64 { return 0 }}).Gather()
	if err != nil {
		t.Fatal(err)
	}
	text := head
	known := map[string]bool{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "meanwhile_") {
			continue
		}
		known[f.GetName()] = true
		text += entryOf(f)
	}
	golden.Check(t, page, text)
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		for _, f := range families {
			if f.GetType() == dto.MetricType_HISTOGRAM {
				known[f.GetName()+suffix] = true
			}
		}
	}
	names := regexp.MustCompile(`\bmeanwhile_[a-z0-9_]+`)
	err = filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".md" && ext != ".yml" && ext != ".json" {
			return err
		}
		b, err := os.ReadFile(path)
		for _, name := range names.FindAllString(string(b), -1) {
			if !known[name] {
				t.Errorf("%s names %s, which no server has", path, name)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
