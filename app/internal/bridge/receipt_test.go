package bridge

import (
	"math"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/netcode/rewind"
)

// receiptsOf plays zap by bots on a path and returns the receipts that the first page got.
func receiptsOf(t *testing.T, settings map[string]float64) (list []happened) {
	w := newWorld(t, &zap.Game)
	settings["autopilot"] = 1
	ann := w.page("ann", settings)
	w.page("bob", settings)
	w.page("cid", settings)
	w.run(40 * time.Second)
	for _, e := range ann.events {
		if e.name == receiptName {
			list = append(list, e)
		}
	}
	if len(list) < 5 {
		t.Fatalf("%d receipts", len(list))
	}
	return list
}

// A page gets a receipt of each shot that hit: where the target was drawn, and where the server
// judged it, which is the same place with the rewind and another without.
//
// seeds: B15
func TestReceipts(t *testing.T) {
	keys := map[float64]bool{}
	for _, e := range receiptsOf(t, map[string]float64{"delayMs": 60}) {
		if e.flags != flagMine || e.entity == 0 || e.fields["target"][0] == 0 || keys[e.key] {
			t.Errorf("%+v", e)
		}
		keys[e.key] = true
		if seen := e.fields["seen"]; e.fields["hit"][0] != 1 || e.fields["offMm"][0] != 0 || e.fields["reason"][0] != 0 ||
			e.fields["used"][0] != seen[0] || e.fields["used"][1] != seen[1] || seen[2] != 0 {
			t.Errorf("%+v", e.fields)
		}
	}
	off, missed := 0, 0
	for _, e := range receiptsOf(t, map[string]float64{"delayMs": 150, "lagcomp": 0}) {
		if e.fields["reason"][0] != float64(rewind.None) && e.fields["offMm"][0] != 0 {
			t.Errorf("without the rewind: %+v", e.fields)
		}
		seen, used, mm := e.fields["seen"], e.fields["used"], e.fields["offMm"][0]
		if math.IsNaN(mm) { // seen or judged by one side only
			continue
		}
		if want := 1000 * math.Hypot(seen[0]-used[0], seen[1]-used[1]); math.Abs(mm-want) > 1e-6 {
			t.Errorf("%v mm apart, want %v", mm, want)
		}
		if mm > 100 {
			off++
		}
		if e.fields["hit"][0] == 0 {
			missed++
		}
	}
	if off == 0 || missed == 0 {
		t.Errorf("without the rewind %d targets were elsewhere, %d were missed", off, missed)
	}
}

// The page has a word for each reason, and no game has an event of this name.
func TestReceiptLayout(t *testing.T) {
	var words []string
	for r := rewind.Exact; r.String() != ""; r++ {
		words = append(words, r.String())
	}
	if want := `"names":["` + strings.Join(words, `","`) + `"]`; !strings.Contains(receiptLayout, want) {
		t.Errorf("%s lacks %s", receiptLayout, want)
	}
	def := zap.Game
	def.Events = game.Events(game.NewEvent[zap.Zap](receiptName))
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(rules, Config{}); err == nil || !strings.Contains(err.Error(), receiptName) {
		t.Errorf("an event that is called %s: %v", receiptName, err)
	}
}
