package bridge

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"meanwhile/examples/zap"
)

// docs/BRIDGE.md lists the measurements in their order, and settings that exist.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../../docs/BRIDGE.md")
	if err != nil {
		t.Fatal(err)
	}
	section := func(title string) string {
		_, rest, ok := strings.Cut(string(b), "\n## "+title+"\n")
		if !ok {
			t.Fatalf("there is no section %s", title)
		}
		text, _, _ := strings.Cut(rest, "\n## ")
		return text
	}
	rows := func(text string) (names []string) {
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return names
	}
	if got := rows(section("Measurements")); !slices.Equal(got, statNames[:]) {
		t.Errorf("measurements %v, want %v", got, statNames)
	}
	p := newWorld(t, &zap.Game).page("ann", nil)
	settings := rows(section("Settings"))
	if len(settings) != 21 {
		t.Errorf("settings %v", settings)
	}
	for _, name := range settings {
		if refused := p.Set(name, 0); refused != "" {
			t.Errorf("setting %s: %s", name, refused)
		}
	}
	if !strings.Contains(string(b), "`{bridge: 2, ") || Version != 2 {
		t.Errorf("the version is %d", Version)
	}
}
