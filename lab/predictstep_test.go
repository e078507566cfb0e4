package lab

import (
	"testing"

	"meanwhile/internal/verify/golden"
)

// What experiment smoothing says of package predict: nothing depends on the frame rate, and a change
// of timelines never makes the picture step back.
//
// seeds: P8
func TestSmoothing(t *testing.T) {
	for _, r := range rowsOf(t, []string{"smoothing", "--policy", "meanwhile,classic"}) {
		if off, ok := r.Metrics.Get("deviation_pct"); ok && !(off <= 1) {
			t.Errorf("%s", r.JSON())
		}
		slowest, ok := r.Metrics.Get("slowest_share")
		fastest, _ := r.Metrics.Get("fastest_share")
		if ok && r.Policy == ours && !(slowest >= 0.3 && fastest <= 1.8) {
			t.Errorf("%s", r.JSON())
		}
	}
}

// The figures on the page are what the experiment draws.
func TestSmoothingFigures(t *testing.T) {
	for file, f := range map[string]figure{"predict-step": stepFigure(), "predict-join": switchFigure()} {
		svg, err := f.svg()
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "../docs/results/"+file+".svg", string(svg))
	}
}
