package bridge

import (
	"math"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
)

// pushed returns zap, in which the server pushes everybody by half a metre once.
func pushed() *game.Definition[zap.Cmd] {
	def := zap.Game
	referee := def.Referee
	def.Referee = func(w *game.World) {
		referee(w)
		for _, p := range zap.Pilots.All(w) {
			if w.Tick() == 150 {
				p.Pos.X += math.Copysign(0.5, 20-p.Pos.X)
			}
		}
	}
	return &def
}

// A correction moves the picture, and not the eye: what draw writes is me and the offset, which
// fades as the settings say.
func TestOffsetFades(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings map[string]float64
		tau      float64 // seconds; 0: nothing is hidden
	}{
		{"default", nil, 0.1},
		{"slow", map[string]float64{"smoothMs": 400}, 0.4},
		{"classic", map[string]float64{"smoothMs": 400, "classic": 1}, 0.158187},
		{"at once", map[string]float64{"snapCm": 20}, 0},
		{"not predicted", map[string]float64{"predict": 0}, 0},
	} {
		w := newWorld(t, pushed())
		p := w.page("ann", nil)
		p.input = func([]float64) []float64 { return []float64{0, 0, 0, 0} }
		w.run(time.Second)
		for name, v := range c.settings {
			if refused := p.Set(name, v); refused != "" {
				t.Fatal(refused)
			}
		}
		largest, before, was := 0.0, 0.0, 0.0
		for p.stats["tick"] < 180 {
			w.run(time.Second / 60)
			drawn, eye, off := p.mine().props["pos"], p.Me(0)[3:5], p.stats["offsetX"]
			if d := drawn[0] - eye[0] - off; math.Abs(d) > 1e-6 || drawn[1] != eye[1] || p.stats["offsetY"] != 0 ||
				p.stats["offsetZ"] != 0 {
				t.Fatalf("%s: drawn at %v, the eye is at %v, %v off", c.name, drawn, eye, off)
			}
			if cm := p.stats["correctionCm"]; math.Abs(cm-100*math.Abs(off)) > 1e-6 {
				t.Errorf("%s: %v m off, and the correction is %v cm", c.name, off, cm)
			}
			if largest = max(largest, math.Abs(off)); was != 0 && off != 0 {
				if keep := math.Exp(-(p.now() - before) / 1000 / c.tau); math.Abs(off/was-keep) > 0.01 {
					t.Errorf("%s: a frame keeps %v of the offset, want %v", c.name, off/was, keep)
				}
			}
			before, was = p.now(), off
		}
		if hidden := largest > 0.3; hidden != (c.tau > 0) || p.stats["corrections"] == 0 {
			t.Errorf("%s: %v corrections, up to %v m are hidden", c.name, p.stats["corrections"], largest)
		}
	}
}

// With less prediction a key takes effect that much later; with none it takes the round trip, and
// the avatar says that it is not predicted.
//
// seeds: B19
func TestPredictMs(t *testing.T) {
	for _, c := range []struct{ most, least, longest float64 }{
		{5000, 0, 60}, {200, 250, 450}, {0, 400, 700},
	} {
		w := newWorld(t, &zap.Game)
		p := w.page("ann", map[string]float64{"delayMs": 200})
		p.input = func([]float64) []float64 { return []float64{0, 0, 0, 0} }
		w.run(4 * time.Second)
		if refused := p.Set("predictMs", c.most); refused != "" {
			t.Fatal(refused)
		}
		w.run(2 * time.Second)
		was, pressed := p.mine().props["pos"][1], p.now()
		p.input = func([]float64) []float64 { return []float64{0, math.Copysign(1, 12-was), 0, 0} }
		for p.mine().props["pos"][1] == was && p.now() < pressed+2000 {
			w.run(time.Second / 120)
		}
		if after := p.now() - pressed; after < c.least || after > c.longest {
			t.Errorf("predictMs %v: the avatar moves %v ms after the key, want %v to %v", c.most, after, c.least, c.longest)
		}
		if predicted := int(p.mine().flags)&int(flagPredicted) != 0; predicted != (c.most > 0) {
			t.Errorf("predictMs %v: predicted is %v", c.most, predicted)
		}
	}
}
