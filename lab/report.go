package lab

import (
	"bytes"
	"errors"
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
	html    []byte
}

// reported runs experiments, each with the flags that it can use, and writes one page, which grows
// with each of them: a run that is broken off leaves what was done. Figures that pages of
// docs/results show are also files.
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
	name := filepath.Join(c.out, "report.html")
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
		if err := errors.Join(s.render(c.quick), s.writeFigures(c.out)); err != nil {
			return err
		}
		sections = append(sections, s)
		if err := os.WriteFile(name, report(sections, c.quick), 0o666); err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		if !c.json {
			fmt.Fprintf(stdout, "%s: %d rows\n", r.name, len(s.rows))
		}
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

const style = `:root{color-scheme:light}
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1c1c1c;background:#fff;
overflow-wrap:break-word}
h1,h2,h3{line-height:1.2}h2{margin-top:3.5rem;border-top:2px solid #ddd;padding-top:1.2rem}
h3{margin:1.4rem 0 .2rem;font-size:1rem}
p,ul{max-width:48rem}h3+p{margin-top:.2rem}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
td,th{padding:.2rem .6rem;border-bottom:1px solid #e4e4e4;text-align:left;white-space:nowrap}
th{position:sticky;top:0;background:#f4f4f4}td.n,th.n{text-align:right}tr.ours td{background:#e8f2fa}
.wide{overflow:auto;max-height:36rem;margin:.8rem 0}code{background:#f1f1f1;padding:.1rem .3rem}
figure{margin:1.4rem 0;overflow-x:auto}figure svg{display:block;width:100%;max-width:1000px;min-width:40rem;height:auto}
figcaption{max-width:48rem;color:#333;position:sticky;left:0}
summary{cursor:pointer;color:#0a58a8}
.bad{color:#a00;font-weight:600}nav{columns:8rem;max-width:48rem}nav a{display:block}a{color:#0a58a8}
.about{font-size:1.1rem}.shared{font-size:13px;color:#444}`

// report returns one page with everything in it: no scripts, nothing loaded from elsewhere.
func report(sections []section, quick bool) []byte {
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" " +
		"content=\"width=device-width,initial-scale=1\"><title>Meanwhile: laboratory</title>\n<style>" + style +
		"</style>\n<h1>Meanwhile: laboratory</h1>\n<p>Everything runs in virtual time: one seed gives the same numbers " +
		"on every machine, but for times of its CPU. Each experiment has its command below its table; with " +
		"<code>--json</code> it prints each row as one object. Rows of <b>meanwhile</b>, ours, have a blue ground, and its " +
		"lines are blue and thick.</p>\n")
	verdicts(&b, sections, quick)
	figuresOfArticles(&b, sections)
	b.WriteString("<h2>Experiments</h2>\n<nav>")
	for _, s := range sections {
		fmt.Fprintf(&b, `<a href="#%s">%s</a>`, s.name, s.name)
	}
	b.WriteString("</nav>\n")
	for i := range sections {
		b.Write(sections[i].html)
	}
	fmt.Fprintf(&b, "<h2>Sources</h2>\n<p>%s</p>\n</html>\n", rivalSources)
	return b.Bytes()
}

// render writes the experiment's picture, table, definitions, command and rivals.
func (s *section) render(quick bool) error {
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "<section>\n<h2 id=\"%s\">%s</h2>\n<p class=\"about\">%s.</p>\n", s.name, s.name,
		html.EscapeString(upperFirst(s.about)))
	if s.failed != nil {
		fmt.Fprintf(b, "<p class=\"bad\">%s</p>\n", html.EscapeString(s.failed.Error()))
	}
	fmt.Fprintf(b, "<p>%s</p>\n", html.EscapeString(s.verdict(s.rows, quick)))
	for i, f := range s.figures {
		svg, err := f.svg()
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "<figure id=\"%s-%d\">\n%s<figcaption>%s", s.name, i+1, svg, html.EscapeString(f.caption))
		if f.answers.article != "" {
			fmt.Fprintf(b, " Answers <i>%s</i>: %s.", html.EscapeString(f.answers.article), html.EscapeString(f.answers.figure))
		}
		b.WriteString("</figcaption></figure>\n")
	}
	first := s.firstRows(s.rows)
	for _, t := range tables(first) {
		t.html(b)
	}
	if len(first) < len(s.rows) || s.first.metrics != "" {
		fmt.Fprintf(b, "<details><summary>All %d rows, with all columns</summary>\n", len(s.rows))
		for _, t := range tables(s.rows) {
			t.html(b)
		}
		b.WriteString("</details>\n")
	}
	fmt.Fprintf(b, "<h3>What the columns mean</h3>\n<p>%s</p>\n<h3>Print it again</h3>\n<p><code>%s</code></p>\n"+
		"<h3>What others do</h3>\n<p>%s</p>\n</section>\n", s.notes, html.EscapeString(s.command), rivals[s.name])
	s.html = b.Bytes()
	return nil
}

// figuresOfArticles lists, article by article, the figures that answer one of its own.
func figuresOfArticles(b *bytes.Buffer, sections []section) {
	var list strings.Builder
	for _, article := range articles {
		var items []string
		seen := map[string]bool{}
		for _, s := range sections {
			for i, f := range s.figures {
				if key := f.answers.figure + f.title; f.answers.article == article && !seen[key] {
					seen[key] = true
					items = append(items, fmt.Sprintf("<li>%s: <a href=\"#%s-%d\">%s</a></li>\n",
						html.EscapeString(f.answers.figure), s.name, i+1, html.EscapeString(f.title)))
				}
			}
		}
		if items != nil {
			slices.Sort(items)
			fmt.Fprintf(&list, "<h3>%s</h3>\n<ul>\n%s</ul>\n", html.EscapeString(article), strings.Join(items, ""))
		}
	}
	if list.Len() > 0 {
		b.WriteString("<h2>The articles' figures</h2>\n<p>Meanwhile began with five articles. These figures are theirs, " +
			"drawn from runs of this code.</p>\n" + list.String())
	}
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
			"worst row that it is about. What fell short comes first.</p>\n",
		len(lines),
		len(lines)-short,
	)
	slices.SortStableFunc(lines, func(x, y line) int { return int(number(x.held) - number(y.held)) })
	b.WriteString("<div class=\"wide\"><table>\n<tr><th></th><th>experiment</th><th>what</th>" +
		"<th class=\"n\">is</th><th class=\"n\">bound</th><th>path</th><th>of</th></tr>\n")
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
		fmt.Fprintf(b, "<tr%s><td>%s</td><td><a href=\"#%s\">%[3]s</a></td><td>%s</td><td class=\"n\">%s</td>"+
			"<td class=\"n\">%s</td><td>%s</td><td>%s</td></tr>\n", class, word, l.of.experiment, l.of.metric,
			l.row.Metrics[0].short(), bound, html.EscapeString(l.row.Profile),
			html.EscapeString(strings.Join(about, ", ")))
	}
	b.WriteString("</table></div>\n")
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (t *table) html(b *bytes.Buffer) {
	shared := t.share()
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
	if shared != "" {
		fmt.Fprintf(b, "<p class=\"shared\">%s</p>\n", html.EscapeString(shared))
	}
}
