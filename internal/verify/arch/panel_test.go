package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shown  = regexp.MustCompile(`(?:^|[^*\w])\*([A-Za-z][^*\n]*)\*(?:[^*]|$)`)
	likely = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")
	quoted = regexp.MustCompile("`([^`]*)`")
)

// TestTroubleshootingSpeaksOfThePanel holds that the guide about what the panel shows uses the words that the panel,
// wrong predictions and receipts use.
func TestTroubleshootingSpeaksOfThePanel(t *testing.T) {
	var words strings.Builder
	for _, glob := range []string{"web/meanwhile/panel/*.js", "web/meanwhile/*.js", "netsim/preset.go", "client/desync.go",
		"netcode/rewind/rewind.go"} {
		files, err := filepath.Glob("../../../" + glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", glob, files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			words.Write(b)
		}
	}
	guide, err := os.ReadFile("../../../docs/guide/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var spoken []string
	for _, m := range shown.FindAllSubmatch(guide, -1) {
		spoken = append(spoken, string(m[1]))
	}
	for _, row := range likely.FindAllSubmatch(guide, -1) {
		for _, m := range quoted.FindAllSubmatch(row[1], -1) {
			spoken = append(spoken, string(m[1]))
		}
	}
	if len(spoken) < 40 {
		t.Errorf("the guide speaks of %q alone", spoken)
	}
	for _, s := range spoken {
		if !strings.Contains(words.String(), s) {
			t.Errorf("the guide speaks of %q, which nothing shows", s)
		}
	}
}
