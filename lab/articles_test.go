package lab

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"meanwhile/netsim"
)

// A client draws a bouncing ball between the two records around the drawn moment: whole but for the
// corner between two records at the ground. Going toward the newest record cuts the peaks off.
//
// seeds: B10
func TestBouncesBesideTheNewestRecord(t *testing.T) {
	whole, simple, err := watchBounces(1, netsim.HotelWiFi, 20, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	us, other := whole.metrics(), simple.metrics()
	t.Log(us, other)
	for _, c := range []struct {
		of          Values
		metric      string
		least, most float64 // cm
	}{
		{us, "peak_cm", 79, 80}, {us, "lowest_peak_cm", 78, 80}, {us, "floor_cm", 0, 12},
		{us, "error_mean_cm", 0, 1},
		{other, "peak_cm", 60, 76}, {other, "floor_cm", 20, 40},
	} {
		if v, ok := c.of.Get(c.metric); !ok || v < c.least || v > c.most {
			t.Errorf("%s: %.1f, want %.0f to %.0f", c.metric, v, c.least, c.most)
		}
	}
}

// The article's buffer begins 350 ms after the walk and the path's delay, and stays as late; places
// drawn as they arrive jump ten times a second. Whoever stops is drawn where it stopped.
//
// seeds: S4 S6
func TestBufferBeginsToPlay(t *testing.T) {
	for _, p := range []netsim.Profile{netsim.Fiber, netsim.Ocean} {
		var d strolled
		if err := d.watchStroll(2, p, bufferSpan); err != nil {
			t.Fatal(err)
		}
		if err := d.play(2, p, bufferSpan); err != nil {
			t.Fatal(err)
		}
		us, article, raw := &d.client, &d.article, &d.atOnce
		t.Log(p.Name, us.metrics(), article.metrics(), raw.metrics())
		for name, way := range map[string]*drawnStroll{ours: us, "article": article, "at-once": raw} {
			if way.stop > 0.1 || way.starts.n < 5 {
				t.Errorf("%s, %s: rests %.1f cm off, %d walks seen to begin", p.Name, name, way.stop, way.starts.n)
			}
		}
		if p.Name == netsim.Fiber.Name {
			late := ms(350*time.Millisecond + p.Down.Delay)
			if at := article.starts.get(); at < late || at > late+40 {
				t.Errorf("the article's buffer begins after %.0f ms, want %.0f", at, late)
			}
			if at := article.behind.get(); at < late || at > late+10 || article.hitches > 0 {
				t.Errorf("the article's buffer is %.0f ms behind, want %.0f, and has %d hitches", at, late, article.hitches)
			}
		}
		if us.behind.get() > article.behind.get() || us.starts.get() > article.starts.get() || us.jumps > 5 {
			t.Errorf("%s: ours begins after %.0f ms, is %.0f ms behind and jumps %d times", p.Name, us.starts.get(),
				us.behind.get(), us.jumps)
		}
		if raw.jumps < 250 {
			t.Errorf("%s: places drawn as they arrive jump %d times", p.Name, raw.jumps)
		}
	}
}

// Fewer packets make commands earlier and others later, and nothing else: predictions are as right,
// and commands as rarely late.
//
// seeds: P7
func TestSendRates(t *testing.T) {
	const span = 20 * time.Second
	ask := func(up, down int) roaming {
		r, err := roam(3, netsim.Fiber, up, down, span)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	usual, fewUp, fewDown := ask(usualUp, usualDown), ask(5, usualDown), ask(usualUp, 5)
	for name, r := range map[string]roaming{"usual": usual, "5 up": fewUp, "5 down": fewDown} {
		if r.starved > 40 || r.q.Corrections > 8 { // ticks of 3840
			t.Errorf("%s: %.0f ticks a minute starve, %d corrections", name, r.starved, r.q.Corrections)
		}
	}
	if fewUp.lead < usual.lead+120 || fewUp.lead > usual.lead+250 || fewUp.behind > usual.behind+20 {
		t.Errorf("5 packets up: lead %.0f ms, others %.0f ms behind; usual: %.0f and %.0f", fewUp.lead, fewUp.behind,
			usual.lead, usual.behind)
	}
	if fewDown.behind < usual.behind+80 || fewDown.behind > usual.behind+250 || fewDown.lead > usual.lead+40 {
		t.Errorf("5 packets down: lead %.0f ms, others %.0f ms behind; usual: %.0f and %.0f", fewDown.lead, fewDown.behind,
			usual.lead, usual.behind)
	}
}

// The report lists the articles' figures, each with what is seen, and writes those of pages.
func TestFiguresOfArticles(t *testing.T) {
	for name, want := range map[string][]string{
		"buffer":      {lobbyArticle, "when a buffer begins to play"},
		"sendrate":    {predictionArticle, "sending 64 and 2 times a second"},
		"bounce":      {bernierArticle, "the bounce that simple interpolation flattens"},
		"extrapolate": {bernierArticle, "extrapolation beside interpolation"},
	} {
		dir := t.TempDir()
		args := []string{name, "--quick", "--out", dir}
		if name == "sendrate" || name == "extrapolate" {
			args = append(args, "--profile", "wifi")
		}
		if status, _, errs := lab(args...); status != 0 {
			t.Fatalf("%s: status %d, %s", name, status, errs)
		}
		page, err := os.ReadFile(filepath.Join(dir, "report.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append(want, "<figcaption>", "What the columns mean", "Print it again", "What others do") {
			if !strings.Contains(string(page), s) {
				t.Errorf("%s: the page has no %q", name, s)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

// Each experiment has its rivals, or says that none are known.
func TestRivals(t *testing.T) {
	if len(rivals) != len(experiments) {
		t.Errorf("%d rivals, %d experiments", len(rivals), len(experiments))
	}
	for _, e := range experiments {
		if rivals[e.name] == "" {
			t.Errorf("%s has no rivals", e.name)
		}
	}
}

// A table for the terminal is short, fits, and ends with a verdict.
func TestFirstLook(t *testing.T) {
	for _, args := range []string{"clock --quick", "smoothing", "article", "codec --quick", "buffer --quick"} {
		status, out, errs := lab(strings.Fields(args)...)
		if status != 0 || errs != "" {
			t.Fatalf("%s: status %d, %s", args, status, errs)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) > 75 {
			t.Errorf("%s: %d lines", args, len(lines))
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > tableWidth {
				t.Errorf("%s: %q is %d columns wide", args, l, utf8.RuneCountInString(l))
			}
		}
		if !strings.Contains(out, "\n\nVerdict: ") {
			t.Errorf("%s: no verdict at the end: %q", args, lines[len(lines)-1])
		}
	}
}

var (
	shortRow = regexp.MustCompile("^\\|[^|]+\\|[^|]+\\|" +
		"([^|]+)\\|([^|]+)\\| (`[^|]+`) \\| \\[[a-z]+\\]\\(([a-z]+)\\.md\\) \\|$")
	someNumber = regexp.MustCompile(`\d[\d,.]*\d|\d`)
)

// The short version says of each page what the page says, leaves none out, and its commands exist.
func TestShortVersion(t *testing.T) {
	const dir = "../docs/results/"
	short, err := os.ReadFile(dir + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for line := range strings.Lines(string(short)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| result ") {
			continue
		}
		m := shortRow.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not a row of the short version: %s", line)
			continue
		}
		reached, command, page := m[1], m[3], m[4]
		linked[page+".md"] = true
		text, err := os.ReadFile(dir + page + ".md")
		if err != nil {
			t.Error(err)
			continue
		}
		for _, n := range someNumber.FindAllString(reached, -1) {
			if !slices.Contains(someNumber.FindAllString(string(text), -1), n) {
				t.Errorf("%s is not on %s.md: %s", n, page, line)
			}
		}
		if of, ok := strings.CutPrefix(strings.Trim(command, "`"), "lab "); ok {
			if name := strings.Fields(of)[0]; name != "all" && byName(name) == nil {
				t.Errorf("no experiment %q: %s", name, line)
			}
		}
	}
	pages, err := filepath.Glob(dir + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if name := filepath.Base(p); name != "README.md" && !linked[name] {
			t.Errorf("the short version leaves %s out", name)
		}
	}
}
