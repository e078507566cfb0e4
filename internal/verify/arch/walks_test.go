package arch

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	step = regexp.MustCompile("`([a-z][a-z/]*\\.(?:go|js))`((?: `[A-Za-z]+`)*)")
	name = regexp.MustCompile("`([A-Za-z]+)`")
)

// TestWalks holds that every file and function that the walks of docs/architecture.md name exists.
func TestWalks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walks, ok := strings.Cut(string(page), "## Three walks")
	if !ok {
		t.Fatal("docs/architecture.md has no section \"Three walks\"")
	}
	found := 0
	for line := range strings.Lines(walks) {
		for _, s := range step.FindAllStringSubmatch(line, -1) {
			src, err := os.ReadFile("../../../" + s[1])
			if err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
				continue
			}
			for _, n := range name.FindAllStringSubmatch(s[2], -1) {
				found++
				decl := `(?m)^func (\([^)]*\) )?` + n[1] + `[\[(]`
				if strings.HasSuffix(s[1], ".js") {
					decl = `(?m)^\s*(export |async )*(function |const |let )?` + n[1] + `( = |\()`
				}
				if !regexp.MustCompile(decl).Match(src) {
					t.Errorf("%s declares no %s, but docs/architecture.md names it: %s", s[1], n[1], strings.TrimSpace(line))
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d functions found in the walks; the check would hold of nothing", found)
	}
}
