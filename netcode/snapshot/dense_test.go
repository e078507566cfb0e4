package snapshot

import (
	"testing"

	"meanwhile/netcode/clock"
)

// Speeds are those along the path, so that one that runs in circles counts as fast; rests and
// teleports are none. seeds: R22
func TestDense(t *testing.T) {
	p := newPair(t)
	h := p.h
	p.begin()
	i := p.spawn(walkerKind, false)
	p.record()
	d, spawned := &h.dense, h.Tick()
	check := func(when string, moved, started clock.Tick, speed uint16) {
		t.Helper()
		if d.moved[i] != moved || d.started[i] != started || d.speed[i] != speed {
			t.Errorf("%s: moved at %d, started at %d, %d mm a tick; want %d, %d, %d", when, d.moved[i], d.started[i],
				d.speed[i], moved, started, speed)
		}
		if e := h.At(i); d.x[i] != e.X || d.y[i] != e.Y {
			t.Errorf("%s: it is at (%d, %d), want (%d, %d)", when, d.x[i], d.y[i], e.X, e.Y)
		}
	}
	check("a spawn", spawned, spawned, 0)
	const step = 256 * 50 // simulation integers of 5 cm
	for n := range 60 {
		p.begin()
		p.sims[i][[2]int{x, y}[n%2]] += []int64{step, step, -step, -step}[n%4]
		p.record()
	}
	check("in circles", h.Tick(), spawned, 50)
	last := h.Tick()
	p.rest(restTicks - 1)
	if d.speed[i] == 0 || d.speed[i] >= 50 {
		t.Errorf("soon after it stopped it goes at %d mm a tick", d.speed[i])
	}
	p.rest(100)
	check("at rest", last+restTicks, spawned, 0)
	p.begin()
	p.sims[i][x] += 2 * step
	p.record()
	check("a start", h.Tick(), h.Tick(), 100)
	for range 30 {
		p.begin()
		p.sims[i][x] += 2 * step
		p.record()
	}
	p.begin()
	p.sims[i][x] += 1000 * step
	p.record(i)
	check("a teleport", h.Tick(), h.Tick(), 100)
}
