package bridge

import (
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/geom"
	"meanwhile/netcode/wire"
)

// A datagram that the page drops before the path is no loss on the path: a page that reports them
// keeps its rate, and one that does not sends less and less.
func TestDropped(t *testing.T) {
	// run loses three datagrams of ten for 20 seconds and returns what the path up is then taken to
	// carry, in bytes a second.
	run := func(report bool) float64 {
		w := newWorld(t, &zap.Game)
		p := w.page("ann", nil)
		w.run(5 * time.Second)
		luck, send := geom.NewRand(9), p.cfg.Send
		p.cfg.Send = func(d []byte, releaseMs float64, stamped bool) {
			if luck.Float64() >= 0.3 {
				send(d, releaseMs, stamped)
			} else if report {
				seq := wire.SeqOf(d)
				w.loop.At(w.loop.Now().Add(time.Millisecond), func() { p.Dropped(seq) })
			}
		}
		p.input = func([]float64) []float64 { return []float64{1, 0, p.now(), 0} }
		w.run(20 * time.Second)
		return p.stats["upCarriesBps"]
	}
	if reported, silent := run(true), run(false); reported < 7000 || silent > reported/3 {
		t.Errorf("%v B/s with reports, want at least 7000; %v without, want at most a third of that", reported, silent)
	}
}
