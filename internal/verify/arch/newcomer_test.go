package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// newcomers lists what the module of a game imports; see "Your first game" in README.md.
var newcomers = []string{"./app", "./game", "./geom", "./gametest", "./netsim"}

// TestNewcomersDownloadNoInstruments holds what `go mod tidy` fetches for the module of a game. It
// also looks at the tests of every package that the game imports, so tests that need a browser or
// another instrument of this repository belong in internal/verify.
func TestNewcomersDownloadNoInstruments(t *testing.T) {
	list := func(args ...string) []string {
		cmd := exec.Command("go", append([]string{"list"}, args...)...)
		cmd.Dir = "../../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
		lines := strings.Fields(string(out))
		slices.Sort(lines)
		return slices.Compact(lines)
	}
	const modules = "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
	needed := append(list(append([]string{"-deps", "-f", modules}, newcomers...)...), thirdPartyTests...)
	own := list(
		append([]string{"-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}"}, newcomers...)...)
	if len(needed) < 5 || len(own) < 20 {
		t.Fatalf("%d modules and %d packages of ours: go list does not answer as this test expects", len(needed), len(own))
	}
	for _, module := range list(append([]string{"-deps", "-test", "-f", modules}, own...)...) {
		if !slices.Contains(needed, module) {
			t.Errorf("go mod tidy of a game downloads %s, which only a test needs; see go mod why -m %s",
				module, module)
		}
	}
}
