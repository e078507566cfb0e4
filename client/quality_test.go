package client

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
)

// A server knows about once a second how a player sees the game, across a lossy path, a cut and
// another connection; nobody looks while the player is away.
func TestQualityIsReported(t *testing.T) {
	d := newDuo(t, (&sky{rate: 60}).rules(t))
	p := d.join(30*ms, Config{})
	d.join(10*ms, Config{}) // somebody to look at
	p.path = lossy(5, 0.1)
	ok := p.path
	d.run(5 * time.Second)
	p.path = func(up bool) []clock.Time {
		if up {
			return ok(up)
		}
		return nil // nothing comes down, so the picture stands still
	}
	d.run(600 * time.Millisecond)
	p.path = ok
	d.run(5 * time.Second)
	check := func(when string) (reports uint64) {
		t.Helper()
		stats, _ := d.s.Stats(p.id)
		got, is := stats.Reported, p.c.Stats()
		if off := got.Delay - is.Delay; off.Abs() > 40*time.Millisecond || got.Hitches != is.Hitches || got.Hitches == 0 ||
			got.Stalls != is.SingleHitches || got.Corrections != is.Prediction.Corrections {
			t.Errorf("%s: reported %+v; the client has %+v", when, got, is)
		}
		return got.Reports
	}
	if n := check("after a cut"); n < 8 || n > 11 {
		t.Errorf("%d reports in 10.6 s", n)
	}
	p.c.SetAway(true)
	d.run(time.Second)
	before, _ := d.s.Stats(p.id)
	d.run(5 * time.Second)
	if after, _ := d.s.Stats(p.id); after.Reported != before.Reported {
		t.Errorf("%+v was reported while away, before %+v", after.Reported, before.Reported)
	}
	p.c.SetAway(false)
	d.run(3 * time.Second)

	d.s.Suspend(p.id, d.now)
	w, ok2 := d.s.Resume(p.id, d.now, true)
	if !ok2 || p.c.Resume(w) != nil {
		t.Fatal("the way back is closed")
	}
	d.run(5 * time.Second)
	check("after another connection")

	p.c.up.lastQuality = 1 << 40 // a clock that was set back sends no flood
	for i := range 100 {
		now := clock.Time(i) * ms
		if b := p.c.up.reportQuality(nil, now); (len(b) == packet.QualitySize) != (i == 0) {
			t.Fatalf("%d ms after it was set: %x", i, b)
		}
	}
}
