package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	quote   = regexp.MustCompile("(?m)^(?:<!-- from (\\S+) -->\n)?```(go|js)\n((?s:.*?))^```$")
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	inline  = regexp.MustCompile("`[^`\n]*`")
)

// pages lists the Markdown files of the tree.
func pages(t *testing.T) []string {
	var all []string
	err := filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLinks holds that every link from one page of the tree to another file, or to a heading of one, leads there.
func TestLinks(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := inline.ReplaceAllString(fence.ReplaceAllString(string(text), ""), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			found++
			file := page
			if to != "" {
				file = filepath.Join(filepath.Dir(page), to)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, file), anchor) {
				t.Errorf("%s links to %s: no such heading", page, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d links found; the check would hold of nothing", found)
	}
}

// anchors lists the headings of a page as GitHub spells them in addresses.
func anchors(t *testing.T, page string) (all []string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				return r
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.ToLower(linked.ReplaceAllString(m[1], "$1")))
		all = append(all, slug)
	}
	return all
}

// TestGuidesQuote holds that code in the guides is code that runs: each block stands, line by line and but for its
// indentation, in the file that the comment before it names.
func TestGuidesQuote(t *testing.T) {
	found := 0
	guides, err := filepath.Glob("../../../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range guides {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quote.FindAllStringSubmatch(string(text), -1) {
			found++
			if m[1] == "" {
				t.Errorf("%s: no <!-- from FILE --> before:\n%s", page, m[3])
				continue
			}
			src, err := os.ReadFile("../../../" + m[1])
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if !strings.Contains("\n"+flat(string(src)), "\n"+flat(m[3])) {
				t.Errorf("%s: %s does not have:\n%s", page, m[1], m[3])
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d blocks of code found in %d guides; the check would hold of nothing", found, len(guides))
	}
}

// flat drops indentation and runs of blanks, which gofmt chooses.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return b.String()
}
