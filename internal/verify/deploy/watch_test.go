package deploy_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/process"
)

// watchDir has what an operator gives to Prometheus and Grafana.
const watchDir = "../../../docs/watch"

// get returns what an address answers with 200, and waits until it does.
func get(t *testing.T, address string) string {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(address)
		if err == nil {
			b, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && response.StatusCode == http.StatusOK {
				return string(b)
			}
		}
		if time.Since(begin) > limit {
			t.Fatalf("%s: %v", address, err)
		}
	}
}

// dashboard returns the queries of the dashboard, with what Grafana puts in for its variables.
func dashboard(t *testing.T) (exprs []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(watchDir, "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			exprs = append(exprs, strings.NewReplacer("$instance", ".*", "$__rate_interval", "1m").Replace(target.Expr))
		}
	}
	return exprs
}

// Every metric that dashboard and alerts name is in a scrape of a running server, with the labels
// that they choose. A real Prometheus reads the server, and answers each query of the dashboard.
func TestWatching(t *testing.T) {
	prometheus, promtool := tool(t, "prometheus", "prometheus"), tool(t, "promtool", "prometheus")
	r := built(t)
	operator := "127.0.0.1:" + process.Port(t)
	game := start(t, exec.Command(filepath.Join(r.root(), "play"), "--addr=127.0.0.1:"+process.Port(t),
		"--web="+filepath.Join(r.root(), "web"), "--metrics="+operator))
	game.URL()
	scrape := get(t, "http://"+operator+"/metrics")
	alerts, err := os.ReadFile(filepath.Join(watchDir, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	exprs := dashboard(t)
	all := string(alerts) + strings.Join(exprs, "\n")
	names := regexp.MustCompile(`meanwhile_\w+`).FindAllString(all, -1)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 20 {
		t.Errorf("dashboard and alerts name %d metrics only", len(names))
	}
	for _, name := range names {
		if !strings.Contains(scrape, "\n"+name+" ") && !strings.Contains(scrape, "\n"+name+"{") {
			t.Errorf("no server has the metric %s", name)
		}
	}
	for _, label := range regexp.MustCompile(`[{ ](what|kind|path)="\w+"`).FindAllString(all, -1) {
		if !strings.Contains(scrape, label[1:]) {
			t.Errorf("no server has the label %s", label[1:])
		}
	}

	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(watchDir, "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.1:9090", operator, ": 5s", ": 200ms").Replace(string(config))
	for name, text := range map[string]string{"prometheus.yml": text, "alerts.yml": string(alerts)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := exec.Command(promtool, "check", "config", filepath.Join(dir, "prometheus.yml"))
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	web := "127.0.0.1:" + process.Port(t)
	start(t, exec.Command(prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+web))
	get(t, "http://"+web+"/-/ready")
	query := func(expr string) string { return get(t, "http://"+web+"/api/v1/query?query="+url.QueryEscape(expr)) }
	for begin := time.Now(); !strings.Contains(query(`rate(meanwhile_tick_seconds_count[1m])`), `"value"`); {
		if time.Since(begin) > limit {
			t.Fatalf("Prometheus has no figures of the server: %s", query("up"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, expr := range exprs {
		if answer := query(expr); !strings.Contains(answer, `"value"`) {
			t.Errorf("%s: %s", expr, answer)
		}
	}
	for begin := time.Now(); strings.Contains(get(t, "http://"+web+"/api/v1/rules"), `"health":"unknown"`); {
		if time.Since(begin) > limit {
			t.Fatal("Prometheus does not evaluate the alerts")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if rules := get(t, "http://"+web+"/api/v1/rules"); strings.Contains(rules, `"health":"err"`) ||
		strings.Contains(rules, `"state":"firing"`) ||
		strings.Count(rules, `"health":"ok"`) != strings.Count(string(alerts), "alert:") {
		t.Errorf("rules that fail, or alert of an idle server: %s", rules)
	}
}
