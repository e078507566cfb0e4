package bridge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A page's console says once that Step writes to kites in vain, also after a new connection, and
// wrong predictions are a list of texts.
func TestConsole(t *testing.T) {
	w := newWorld(t, &plot)
	p := w.page("ann", nil)
	if got := p.Desyncs(); got != "[]" {
		t.Errorf("before the first wrong prediction: %s", got)
	}
	w.run(3 * time.Second)
	spies.Get(w.srv.World(), p.client.Me()).Mood = 2
	w.run(2 * time.Second)
	p.Lost()
	p.joined = false
	p.connect()
	w.run(3 * time.Second)
	const want = "game: Step writes kite.Pos at bridge/words_test.go:52, which has no effect in a client, as it does " +
		"not " +
		"predict any kite: declare the kind with game.Predicted or game.Near, or with game.Playout if that is meant"
	if len(p.warnings) != 1 || p.warnings[0] != want {
		t.Errorf("the console says %q", p.warnings)
	}
	var texts []string
	if err := json.Unmarshal([]byte(p.Desyncs()), &texts); err != nil {
		t.Fatal(err)
	}
	for _, s := range texts {
		if !strings.HasPrefix(s, "tick ") || !strings.Contains(s, "likely cause: ") {
			t.Errorf("desync %q", s)
		}
	}
}
