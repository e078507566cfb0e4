package lab

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updatePages = flag.Bool("update-pages", false, "print the checked tables of docs/results anew")

// Above each table of docs/results stands one of three comments. The first names a table of
// pageTables and the command whose rows it shows; the second names the test that compares its
// figures (golden.Quoted); the third says why none does.
//
//	<!-- table clock/p99, printed again by: meanwhile lab clock -->
//	<!-- table compared by: go test ./netcode/snapshot -run TestLayoutBits -->
//	<!-- table not printed again: takes a minute -->
var (
	tableMark = regexp.MustCompile(`^<!-- table (\S+), printed again by: meanwhile lab (.+) -->$`)
	otherMark = regexp.MustCompile(`^<!-- table (not printed again|compared by): .+ -->$`)
)

// pageTables make a table, its head first, from the rows of the command that its comment names. A
// cell "=" is taken from the page: the command does not print it.
var pageTables = map[string]func(rows []Row) [][]string{
	"bounce":            bounceTable,
	"buffer":            bufferTable,
	"sendrate":          sendrateTable,
	"cheats/lan":        func(rows []Row) [][]string { return cheatsTable(rows, "lan") },
	"cheats/ocean":      func(rows []Row) [][]string { return cheatsTable(rows, "ocean") },
	"clock/p99":         clockErrors,
	"clock/ours":        clockOurs,
	"clock/converged":   clockConverged,
	"clock/rare":        clockRare,
	"codec/generated":   codecGenerated,
	"codec/owner":       codecOwner,
	"deadreckon":        deadreckonTable,
	"extrapolate":       extrapolateTable,
	"floors":            floorsTable,
	"outage":            outageTable,
	"smoothing/steps":   smoothingSteps,
	"smoothing/changes": smoothingChanges,
	"walls":             wallsTable,
	"ticks/60":          func(rows []Row) [][]string { return ticksTable(rows, 60) },
	"ticks/20":          func(rows []Row) [][]string { return ticksTable(rows, 20) },
}

// The tables of docs/results whose command takes only seconds are what the command prints today,
// and every other one says why it is not compared. It takes about 16 s of one core.
func TestPagesShowWhatTheirCommandsPrint(t *testing.T) {
	pages, err := filepath.Glob("../docs/results/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	printed := map[string][]Row{} // by command
	var seen []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i := 0; i < len(lines); i++ {
			if !strings.HasPrefix(lines[i], "|") {
				continue
			}
			at, mark := i, ""
			for ; i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
			}
			if above := strings.TrimRight(strings.Join(lines[:at], "\n"), "\n"); above != "" {
				mark = above[strings.LastIndex(above, "\n")+1:]
			}
			where := fmt.Sprintf("%s:%d", filepath.Base(page), at+1)
			m := tableMark.FindStringSubmatch(mark)
			if m == nil {
				if !otherMark.MatchString(mark) {
					t.Errorf("%s: no comment above the table says what prints it again, or why nothing does", where)
				}
				continue
			}
			name, command := m[1], m[2]
			table := pageTables[name]
			if table == nil || slices.Contains(seen, name) {
				t.Errorf("%s: there is no table %q, or two", where, name)
				continue
			}
			seen = append(seen, name)
			if _, ok := printed[command]; !ok {
				printed[command] = rowsOf(t, strings.Fields(command))
			}
			compareTable(t, where, command, lines[at:i], table(printed[command]))
		}
		if *updatePages {
			if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range pageTables {
		if !slices.Contains(seen, name) {
			t.Errorf("no page shows the table %q", name)
		}
	}
}

// rowsOf runs an experiment.
func rowsOf(t *testing.T, args []string) (rows []Row) {
	t.Helper()
	c, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	e := byName(c.name)
	if e == nil {
		t.Fatalf("there is no experiment %q", c.name)
	}
	r, err := e.prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	r.emit = func(row Row) { rows = append(rows, row) }
	if err := e.run(r); err != nil {
		t.Error(err)
	}
	return rows
}

// compareTable compares the lines of a table on a page with what it should be, or changes them to
// that.
func compareTable(t *testing.T, where, command string, lines []string, want [][]string) {
	t.Helper()
	if len(lines) != len(want)+1 { // the second line only separates the head
		t.Errorf("%s: %d rows, and %d printed by meanwhile lab %s", where, len(lines)-1, len(want), command)
		return
	}
	for i, cells := range want {
		line := &lines[i]
		if i > 0 {
			line = &lines[i+1]
		}
		have := strings.Split(strings.TrimSuffix(strings.TrimPrefix(*line, "|"), "|"), "|")
		if len(have) != len(cells) {
			t.Errorf("%s: row %d has %d cells, want %d", where, i, len(have), len(cells))
			continue
		}
		for k, cell := range cells {
			have[k] = strings.TrimSpace(have[k])
			if cell != "=" && have[k] != cell && !*updatePages {
				t.Errorf("%s: row %q, column %q: %q on the page, %q printed by meanwhile lab %s (-update-pages mends it)",
					where, have[0], want[0][k], have[k], cell, command)
			}
			if cell != "=" {
				have[k] = cell
			}
		}
		if *updatePages {
			*line = "| " + strings.Join(have, " | ") + " |"
		}
	}
}

// find returns the row of a profile and policy that has all of the params; an empty profile or
// policy is any.
func find(rows []Row, profile, policy string, params ...Value) Row {
	for _, r := range rows {
		if profile != "" && r.Profile != profile || policy != "" && r.Policy != policy {
			continue
		}
		if r.has(params) {
			return r
		}
	}
	return Row{}
}

// cell prints metrics with one format for each, joined by sep; a metric that is missing shows as
// "?".
func (r Row) cell(sep, format string, metrics ...string) string {
	var parts []string
	for _, name := range metrics {
		v, ok := r.Metrics.Get(name)
		if !ok {
			parts = append(parts, "?")
			continue
		}
		if strings.HasSuffix(format, "%%") {
			v *= 100
		}
		text := fmt.Sprintf(format, v)
		if strings.Trim(text, "-0.") == "" {
			text = strings.TrimPrefix(text, "-")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, sep)
}

var sevenPaths = []string{"fiber", "wifi", "burst", "lte-a", "lte-b", "lte-c", "evdo"}

func name(policy string) string {
	if policy == ours {
		return "**" + ours + "**"
	}
	return policy
}

// drift names a row of experiment clock.
func drift(ppm float64, late, wander int) []Value {
	return []Value{{"drift_ppm", ppm}, {"late_stamp_ms", late}, {"wander_ppm", wander}}
}

func clockErrors(rows []Row) [][]string {
	all := [][]string{append([]string{"policy"}, sevenPaths...)}
	for _, policy := range []string{ours, "ntp", "mirror", "lightyear", "unreal", "one-shot"} {
		line := []string{name(policy)}
		for _, p := range sevenPaths {
			line = append(line, find(rows, p, policy, drift(50, 0, 0)...).cell("", "%.2f", "p99_ms"))
		}
		all = append(all, line)
	}
	return all
}

func clockOurs(rows []Row) [][]string {
	all := [][]string{append([]string{"drift, late stamps"}, sevenPaths...)}
	for _, c := range []struct {
		name string
		of   []Value
	}{
		{"0 ppm, 0 ms", drift(0, 0, 0)}, {"50 ppm, 0 ms", drift(50, 0, 0)}, {"-200 ppm, 0 ms", drift(-200, 0, 0)},
		{"50 ppm, 8 ms", drift(50, 8, 0)}, {"50 ppm, wandering by 20 ppm", drift(50, 0, 20)},
	} {
		line := []string{c.name}
		for _, p := range sevenPaths {
			line = append(line, find(rows, p, ours, c.of...).cell("/", "%.2f", "p50_ms", "p95_ms", "p99_ms"))
		}
		all = append(all, line)
	}
	return all
}

func clockConverged(rows []Row) [][]string {
	all := [][]string{append([]string{""}, sevenPaths...)}
	for _, c := range []struct {
		name, format, metric string
		of                   []Value
	}{
		{"converged after, ms", "%.0f", "converge_ms", drift(50, 0, 0)},
		{"bound, width p99, ms", "%.1f", "bound_width_p99_ms", drift(50, 0, 0)},
		{"estimated bound, width p50, ms", "%.1f", "estimated_width_p50_ms", drift(50, 0, 0)},
		{"estimated bound, width p99, ms", "%.1f", "estimated_width_p99_ms", drift(50, 0, 0)},
		{"the same with 20 ppm of wander, ms", "%.1f", "estimated_width_p99_ms", drift(50, 0, 20)},
		{"error of the rate after a minute, p99, ppm", "%.1f", "skew_p99_ppm", drift(50, 0, 0)},
	} {
		line := []string{c.name}
		for _, p := range sevenPaths {
			line = append(line, find(rows, p, ours, c.of...).cell("", c.format, c.metric))
		}
		all = append(all, line)
	}
	return all
}

func clockRare(rows []Row) [][]string {
	all := [][]string{append([]string{"policy, drift"}, sevenPaths...)}
	for _, c := range []struct {
		name, policy string
		of           []Value
	}{
		{"meanwhile, 0 ppm", ours, drift(0, 0, 0)}, {"meanwhile, 50 ppm", ours, drift(50, 0, 0)},
		{"meanwhile, 50 ppm wandering by 20", ours, drift(50, 0, 20)},
		{"meanwhile, -200 ppm", ours, drift(-200, 0, 0)},
		{"mirror, 0 ppm", "mirror", drift(0, 0, 0)}, {"mirror, 50 ppm", "mirror", drift(50, 0, 0)},
		{"mirror, -200 ppm", "mirror", drift(-200, 0, 0)},
	} {
		line := []string{c.name}
		for _, p := range sevenPaths {
			line = append(line, find(rows, p, c.policy, c.of...).cell("", "%.2f", "p99_ms"))
		}
		all = append(all, line)
	}
	return all
}

func codecGenerated(rows []Row) [][]string {
	all := [][]string{{"movement", "precision", "bits at ack age 1, 3, 6", "entropy of the body"}}
	for _, c := range []struct{ movement, name, precision string }{
		{"walkers", "1 cm", "1cm"}, {"walkers", "1 mm", "1mm"}, {"shooters", "1 cm, 8 bit", "1cm 8bit"},
		{"shooters", "1 mm, 12 bit", "1mm 12bit"}, {"shooters", "8 cm, 6 bit", "8cm 6bit"},
		{"cars", "1 cm, 1 cm/s, 3 x 9 bit", "1cm 1cm/s 3x9bit"},
	} {
		var bits, entropy []string
		for _, age := range []int{1, 3, 6} {
			r := find(rows, "", ours, moving("generated-"+c.movement, c.precision, age)...)
			bits = append(bits, r.cell("", "%.1f", "bits_per_record"))
			entropy = append(entropy, r.cell("", "%.1f", "entropy_bits"))
		}
		all = append(all, []string{c.movement, c.name, strings.Join(bits, ", "), strings.Join(entropy, ", ")})
	}
	return all
}

func codecOwner(rows []Row) [][]string {
	all := [][]string{{"ack age, ticks", "ours", "entropy", "before: Exp-Golomb"}}
	for _, age := range []int{3, 6, 12} {
		of := moving("generated-shooters", "owner's", age)
		all = append(all, []string{fmt.Sprint(age), find(rows, "", ours, of...).cell("", "%.1f", "body_bits"),
			find(rows, "", ours, of...).cell("", "%.1f", "entropy_bits"),
			find(rows, "", "plain", of...).cell("", "%.1f", "body_bits")})
	}
	return all
}

func extrapolateTable(rows []Row) [][]string {
	all := [][]string{{"path", "mode", "delay, ms", "error now p50 / p95, cm", "error of what is drawn p95 / p99, cm",
		"jolts/min", "kinks/min", "beyond, %"}}
	for _, r := range rows {
		beyond, _ := r.Metrics.Get("beyond_share")
		all = append(all, []string{r.Profile, r.Policy, r.cell("", "%.0f", "mean_delay_ms"),
			r.cell(" / ", "%.0f", "error_now_p50_cm", "error_now_p95_cm"),
			r.cell(" / ", "%.1f", "view_error_p95_cm", "view_error_p99_cm"), r.cell("", "%.0f", "jolts_per_min"),
			r.cell("", "%.0f", "kinks_per_min"), fmt.Sprintf("%.0f", 100*beyond)})
	}
	return all
}

func bounceTable(rows []Row) [][]string {
	all := [][]string{{"path", "records a second", "policy", "peaks, of 80 cm", "lowest peak", "ground, of 0 cm",
		"mean error, cm"}}
	for _, r := range rows {
		off := "-"
		if _, ok := r.Metrics.Get("error_mean_cm"); ok {
			off = r.cell("", "%.1f", "error_mean_cm")
		}
		rate, _ := r.Params.Get("rate_hz")
		all = append(all, []string{r.Profile, fmt.Sprint(rate), name(r.Policy), r.cell("", "%.1f", "peak_cm"),
			r.cell("", "%.1f", "lowest_peak_cm"), r.cell("", "%.1f", "floor_cm"), off})
	}
	return all
}

func bufferTable(rows []Row) [][]string {
	all := [][]string{{"path", "policy", "begins after, ms", "behind, ms", "hitches/min", "jumps/min",
		"stop off by, cm"}}
	for _, r := range rows {
		all = append(all, []string{r.Profile, name(r.Policy), r.cell("", "%.0f", "starts_ms"),
			r.cell("", "%.0f", "behind_ms"), r.cell("", "%.1f", "hitches_per_min"), r.cell("", "%.1f", "jumps_per_min"),
			r.cell("", "%.1f", "stop_error_cm")})
	}
	return all
}

func sendrateTable(rows []Row) [][]string {
	all := [][]string{{"fewer", "a second", "lead, ms", "behind, ms", "corrections/min", "ticks starved/min, of 3840",
		"up, down, kbit/s"}}
	for _, r := range rows {
		rate, _ := r.Params.Get("send_hz")
		all = append(all, []string{r.Params[0].text(), fmt.Sprint(rate), r.cell("", "%.0f", "lead_ms"),
			r.cell("", "%.0f", "behind_ms"), r.cell("", "%.1f", "corrections_per_min"),
			r.cell("", "%.0f", "starved_per_min"), r.cell(", ", "%.1f", "up_kbps", "down_kbps")})
	}
	return all
}

func deadreckonTable(rows []Row) [][]string {
	all := [][]string{{"movement", "mode", "records/s", "bits/s", "error mean / p95, cm", "behind, ms", "jolts/min",
		"kinks/min"}}
	for _, r := range rows {
		text := map[string]string{}
		for _, v := range r.Params {
			text[v.Name] = v.text()
		}
		all = append(all, []string{text["movement"], text["mode"], r.cell("", "%.1f", "records_per_s"),
			r.cell("", "%.0f", "bits_per_s"), r.cell(" / ", "%.0f", "err_mean_cm", "err_p95_cm"),
			r.cell("", "%.0f", "behind_ms"), r.cell("", "%.0f", "jolts_per_min"), r.cell("", "%.0f", "kinks_per_min")})
	}
	return all
}

func floorsTable(rows []Row) [][]string {
	all := [][]string{{"map", "sent", "bits of an update", "bits of a first sight"}}
	for _, r := range rows {
		where := r.Params[0].text()
		all = append(all, []string{where, r.Policy, r.cell("", "%.1f", "update_bits"), r.cell("", "%.0f", "first_bits")})
	}
	return all
}

func outageTable(rows []Row) [][]string {
	all := [][]string{{"path", "nothing for", "leap, median / largest", "the same without catching up", "stood",
		"delay as usual after"}}
	for _, r := range rows {
		gap, _ := r.Params.Get("gap_ms")
		stood, _ := r.Metrics.Get("stood_ms")
		after, _ := r.Metrics.Get("normal_after_ms")
		leap := r.cell(" / ", "%.0f", "leap_p50_cm", "leap_max_cm") + " cm"
		if gap > 2000 { // what is missed of so long a gap is jumped over, and the page says so
			leap += ", one cut"
		}
		standing := fmt.Sprintf("%.0f ms", stood)
		if stood >= 1000 {
			standing = fmt.Sprintf("%.1f s", stood/1000)
		}
		all = append(all, []string{r.Profile, fmt.Sprintf("%g s", gap/1000), leap, "=", standing,
			fmt.Sprintf("%.1f s", after/1000)})
	}
	return all
}

func ticksTable(rows []Row, rate int) [][]string {
	all := [][]string{{"load", "policy", "delay, ms", "growth, ms", "growth of age, ms", "hitches/min", "injected/min",
		"beyond/min", "rush", "ticks lost"}}
	for _, r := range rows {
		if v, _ := r.Params.Get("rate_hz"); v != float64(rate) {
			continue
		}
		load := ""
		for _, p := range r.Params {
			if p.Name == "load" {
				load = p.text()
			}
		}
		all = append(all, []string{load, name(r.Policy), r.cell("", "%.0f", "mean_delay_ms"),
			r.cell("", "%.0f", "delay_growth_ms"), r.cell("", "%.0f", "age_growth_ms"),
			r.cell("", "%.2f", "hitches_per_min"), r.cell("", "%.2f", "injected_per_min"),
			r.cell("", "%.2f", "beyond_per_min"), r.cell("", "%.1f %%", "rush_share"),
			r.cell("", "%.0f", "ticks_lost")})
	}
	return all
}

func smoothingSteps(rows []Row) [][]string {
	all := [][]string{{"policy", "fps", "left after 100 ms", "after 300 ms", "at most off"}}
	for _, policy := range []string{ours, classicSmoothing, perFrame} {
		for _, fps := range frameRates {
			r := find(rows, "", policy, Value{"change", "correction"}, Value{"frame_hz", fps})
			all = append(all, []string{name(policy), fmt.Sprint(fps),
				r.cell("", "%.1f cm, ", "place_100ms_cm") + r.cell("", "%.1f°", "turn_100ms_deg"),
				r.cell("", "%.1f cm, ", "place_300ms_cm") + r.cell("", "%.1f°", "turn_300ms_deg"),
				r.cell("", "%.1f", "deviation_pct") + " %"})
		}
	}
	return all
}

func smoothingChanges(rows []Row) [][]string {
	all := [][]string{{"policy", "change", "slowest", "fastest", "largest change in a frame", "settled after"}}
	for _, policy := range smoothingExperiment.policies {
		for _, change := range []string{"join", "leave"} {
			r := find(rows, "", policy, Value{"change", change})
			all = append(all, []string{name(policy), change, r.cell("", "%.2f", "slowest_share"),
				r.cell("", "%.2f", "fastest_share"), r.cell("", "%.2f", "jerk_share"),
				r.cell("", "%.0f ms", "settled_ms")})
		}
	}
	return all
}

func cheatsTable(rows []Row, profile string) [][]string {
	all := [][]string{
		{"cheat", "ms", "timed: ticks gained", "jump", "seen jump", "queued: ticks gained", "jump", "seen jump",
			"rewritten"},
	}
	for i := range cheats {
		for _, size := range cheats[i].sizes {
			cells := []string{cheats[i].name, fmt.Sprint(int(size / lieUnit))}
			rewritten := ""
			for _, commands := range []string{"timed", "queued"} {
				r := find(rows, profile, ours, Value{"cheat", cheats[i].name}, Value{"size_ms", int(size / lieUnit)},
					Value{"commands", commands})
				cells = append(cells, r.cell("", "%.0f", "gained_ticks_per_min"), r.cell("", "%.0f cm", "jump_cm"),
					r.cell("", "%.0f cm", "seen_jump_cm"))
				rewritten = strings.TrimPrefix(rewritten+", "+r.cell("", "%.0f", "rewritten_per_min"), ", ")
			}
			all = append(all, append(cells, rewritten))
		}
	}
	return all
}

func wallsTable(rows []Row) [][]string {
	all := [][]string{{"path", "hidden", "states received", "of hidden ones", "handles received", "of hidden ones"}}
	for _, p := range wallsExperiment.profiles {
		r := find(rows, p.Name, ours)
		all = append(all, []string{p.Name, r.cell("", "%.3f", "hidden_share"), r.cell("", "%.0f", "states"),
			r.cell("", "%.0f", "hidden_states"), r.cell("", "%.0f", "names"), r.cell("", "%.0f", "hidden_names")})
	}
	return all
}
