package lab

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// section is the report of one experiment.
type section struct {
	*experiment
	command string
	rows    []Row
	figures []figure
	failed  error
}

// reported runs experiments, each with the flags that it can use, and writes one page. Figures
// that pages of docs/results show are also files.
func reported(c command, list []*experiment, stdout io.Writer) error {
	if err := os.MkdirAll(c.out, 0o777); err != nil {
		return usageError{fmt.Errorf("lab: --out: %w", err)}
	}
	var runs []*run
	for _, e := range list {
		r, err := e.prepare(c.only(e.takes))
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	var sections []section
	var failed []string
	for _, r := range runs {
		r.drawing = true
		s := section{experiment: r.experiment, command: "meanwhile lab " + r.name + c.only(r.takes).flags()}
		var broken error
		r.emit = func(row Row) {
			s.rows = append(s.rows, row)
			if c.json && broken == nil {
				_, broken = stdout.Write(append(row.JSON(), '\n'))
			}
		}
		s.failed = r.run(r)
		if broken != nil {
			return broken
		}
		if s.failed != nil {
			failed = append(failed, s.failed.Error())
		}
		s.figures = r.figures
		sections = append(sections, s)
		if !c.json {
			fmt.Fprintf(stdout, "%s: %d rows\n", r.name, len(s.rows))
		}
	}
	page, err := report(sections, c.quick)
	if err != nil {
		return err
	}
	for _, s := range sections {
		if err := s.writeFigures(c.out); err != nil {
			return err
		}
	}
	name := filepath.Join(c.out, "report.html")
	if err := os.WriteFile(name, page, 0o666); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if !c.json {
		fmt.Fprintln(stdout, name)
	}
	if failed != nil {
		return fmt.Errorf("%s", strings.Join(failed, "\n"))
	}
	return nil
}

// writeFigures writes the figures that pages show.
func (s *section) writeFigures(dir string) error {
	for _, f := range s.figures {
		if f.file == "" {
			continue
		}
		svg, err := f.svg()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.file+".svg"), svg, 0o666); err != nil {
			return fmt.Errorf("lab: %w", err)
		}
	}
	return nil
}

// regular are the experiments of all: the others take long.
func regular() []*experiment {
	return slices.DeleteFunc(slices.Clone(experiments), func(e *experiment) bool {
		return e == soakExperiment || e == handsExperiment
	})
}

// only returns the command without the flags that an experiment has no use for.
func (c command) only(takes flags) command {
	if takes&byProfile == 0 {
		c.profile = nil
	}
	if takes&byPolicy == 0 {
		c.policy = nil
	}
	if takes&byRate == 0 {
		c.rate = 0
	}
	if takes&bySeeds == 0 {
		c.seeds, c.plan = 0, ""
	}
	if takes&bySpan == 0 {
		c.span = 0
	}
	if takes&byPlayers == 0 {
		c.players = 0
	}
	if takes&byTrace == 0 {
		c.traceDown, c.traceUp = "", ""
	}
	return c
}

// flags returns the flags of the command as they are typed.
func (c command) flags() (s string) {
	if c.quick {
		s += " --quick"
	}
	for _, f := range []struct{ name, value string }{
		{"profile", strings.Join(c.profile, ",")}, {"policy", strings.Join(c.policy, ",")},
		{"trace-down", c.traceDown}, {"trace-up", c.traceUp}, {"motion", c.motion},
	} {
		if f.value != "" {
			s += " --" + f.name + " " + f.value
		}
	}
	if c.hasSeed {
		s += fmt.Sprintf(" --seed %d", c.seed)
	}
	if c.rate != 0 {
		s += fmt.Sprintf(" --rate %d", c.rate)
	}
	if c.seeds != 0 {
		s += fmt.Sprintf(" --seeds %d", c.seeds)
	}
	return s
}

const style = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:78rem;padding:0 1rem;color:#222}
h1,h2{line-height:1.2}h2{margin-top:3rem;border-top:1px solid #ccc;padding-top:1rem}
table{border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums}
td,th{padding:.15rem .5rem;border-bottom:1px solid #e4e4e4;text-align:left;white-space:nowrap}
th{position:sticky;top:0;background:#f6f6f6}td.n,th.n{text-align:right}tr.ours{background:#eaf3fa}
.wide{overflow-x:auto;max-height:40rem}code{background:#f3f3f3;padding:.1rem .3rem}figure{margin:1rem 0}
svg{max-width:100%;height:auto}
.bad{color:#a00}nav a{margin-right:1rem}p.notes{max-width:60rem;color:#444}`

// report returns one page with everything in it: no scripts, nothing loaded from elsewhere.
func report(sections []section, quick bool) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Meanwhile: " +
		"laboratory</title>\n<style>" + style + "</style>\n")
	b.WriteString("<h1>Meanwhile: laboratory</h1>\n<p>Every row is printed again, with <code>--json</code> as " +
		"one object per line, by the command above its table. " +
		"Everything runs in virtual time: one seed gives the same numbers on every machine.</p>\n<nav>")
	for _, s := range sections {
		fmt.Fprintf(&b, `<a href="#%s">%s</a>`, s.name, s.name)
	}
	b.WriteString("</nav>\n")
	verdicts(&b, sections, quick)
	for _, s := range sections {
		fmt.Fprintf(&b, "<h2 id=\"%s\">%s</h2>\n<p>%s.</p>\n<p><code>%s</code></p>\n", s.name, s.name,
			html.EscapeString(upperFirst(s.about)), html.EscapeString(s.command))
		if s.failed != nil {
			fmt.Fprintf(&b, "<p class=\"bad\">%s</p>\n", html.EscapeString(s.failed.Error()))
		}
		fmt.Fprintf(&b, "<p class=\"notes\">%s</p>\n", s.notes)
		for _, f := range s.figures {
			svg, err := f.svg()
			if err != nil {
				return nil, err
			}
			b.WriteString("<figure>\n")
			b.Write(svg)
			b.WriteString("</figure>\n")
		}
		for _, t := range tables(s.rows) {
			t.html(&b)
		}
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(s.verdict(s.rows, quick)))
	}
	b.WriteString("</html>\n")
	return b.Bytes(), nil
}

// verdicts writes how the rows of all sections stand to the bounds of the gate: what fell short
// first.
func verdicts(b *bytes.Buffer, sections []section, quick bool) {
	type line struct {
		of   limit
		row  Row
		held bool
	}
	var lines []line
	short := 0
	for _, l := range limitsOf(quick) {
		at := slices.IndexFunc(sections, func(s section) bool { return s.name == l.experiment })
		if at < 0 {
			continue
		}
		if v, failures := l.judge(sections[at].rows); v != nil {
			lines = append(lines, line{l, *v, failures == nil})
			if failures != nil {
				short++
			}
		}
	}
	if lines == nil {
		return
	}
	fmt.Fprintf(
		b,
		"<h2>Verdicts</h2>\n<p>Of %d bounds of <code>meanwhile lab gate</code> %d hold. Each is compared with the "+
			"worst row that it is about.</p>\n",
		len(lines),
		len(lines)-short,
	)
	slices.SortStableFunc(lines, func(x, y line) int { return int(number(x.held) - number(y.held)) })
	b.WriteString("<div class=\"wide\"><table>\n<tr><th></th><th>experiment</th><th>path</th><th>of</th><th>what</th>" +
		"<th class=\"n\">is</th><th class=\"n\">bound</th></tr>\n")
	for _, l := range lines {
		word, class := "✓", ""
		if !l.held {
			word, class = "short", ` class="bad"`
		}
		var about []string
		for _, p := range l.of.params {
			about = append(about, p.Name+" "+p.text())
		}
		bound := strings.TrimPrefix(l.of.String(), l.of.metric+" ")
		fmt.Fprintf(b, "<tr%s><td>%s</td><td><a href=\"#%s\">%[3]s</a></td><td>%s</td><td>%s</td><td>%s</td>"+
			"<td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n", class, word, l.of.experiment,
			html.EscapeString(l.row.Profile), html.EscapeString(strings.Join(about, ", ")), l.of.metric,
			l.row.Metrics[0].short(), bound)
	}
	b.WriteString("</table></div>\n")
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (t *table) html(b *bytes.Buffer) {
	b.WriteString("<div class=\"wide\"><table>\n<tr>")
	class := func(c int) string {
		if t.numeric[c] {
			return ` class="n"`
		}
		return ""
	}
	policy := -1
	for c, name := range t.columns {
		if name == "policy" {
			policy = c
		}
		fmt.Fprintf(b, "<th%s>%s</th>", class(c), html.EscapeString(name))
	}
	b.WriteString("</tr>\n")
	for _, line := range t.rows {
		row := "<tr>"
		if policy >= 0 && line[policy] == ours {
			row = `<tr class="ours">`
		}
		b.WriteString(row)
		for c, cell := range line {
			fmt.Fprintf(b, "<td%s>%s</td>", class(c), html.EscapeString(cell))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table></div>\n")
}
