package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func needGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT CHECKED: no go command")
	}
}

func TestSources(t *testing.T) {
	needGo(t)
	src, err := os.ReadFile(filepath.Join("testdata", "rules", "rules.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for i, line := range strings.Split(string(src), "\n") {
		if _, text, ok := strings.Cut(line, `// want "`); ok {
			want[i+1] = strings.TrimSuffix(text, `"`)
		}
	}
	found, err := Sources(".", "./testdata/rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		text, ok := want[f.Pos.Line]
		if !ok || !strings.HasPrefix(f.Text, text) {
			t.Errorf("%s: want %q", f, text)
		}
		delete(want, f.Pos.Line)
	}
	for line, text := range want {
		t.Errorf("line %d: not reported: %s", line, text)
	}
}

func TestUnused(t *testing.T) {
	needGo(t)
	unused, used, err := Unused(".", "./testdata/rules", "meanwhile/geom")
	if err != nil {
		t.Fatal(err)
	}
	if used != 1 || !slices.Contains(unused, "(meanwhile/geom.Vec2).Add") ||
		slices.Contains(unused, "(meanwhile/geom.Vec2).Mul") {
		t.Errorf("%d used, %v unused", used, unused)
	}
}

func TestErrorsSayWhatFailed(t *testing.T) {
	needGo(t)
	if _, err := Sources(".", "./testdata/nothing"); err == nil || !strings.Contains(err.Error(), "testdata/nothing") {
		t.Errorf("Sources of a package that is not there: %v", err)
	}
	if _, _, err := Fused(".", "./testdata/nothing", Fusing[0]); err == nil ||
		!strings.Contains(err.Error(), "testdata/nothing") {
		t.Errorf("Fused of a package that is not there: %v", err)
	}
	if _, _, err := Fused(".", "./testdata/rules", Target{Arch: "abacus"}); err == nil {
		t.Error("built for an abacus")
	}
}
