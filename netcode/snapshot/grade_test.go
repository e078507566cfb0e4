package snapshot

import "testing"

// A thing at rest is sent again when it comes so near that its place must be finer, and not when it
// goes away.
func TestFinerAtRest(t *testing.T) {
	c := newReuse(t, 1, Slots)
	p, i := c.pair, int32(-1)
	for _, other := range c.turns {
		if p.h.At(other).Kind == cartKind {
			i = other
		}
	}
	p.v.Enter(i, Observed)
	sent := func(metres int64) (n int) {
		for range 40 {
			p.begin()
			p.record()
			p.v.far(i, metres*metres*1_000_000)
			if k := p.send(plenty); k != nil {
				n++
				p.mustArrive(k)
				p.ack()
			}
		}
		return n
	}
	sent(10)
	if n := sent(60); n > 1 { // its fuel is forgotten
		t.Errorf("%d packets while a thing at rest goes away", n)
	}
	if n := sent(200); n > 1 {
		t.Errorf("%d packets while a thing at rest goes further away", n)
	}
	p.sims[i][x] += 100_000
	sent(200)
	if l := p.newest(i, 0).Level; l != 3 {
		t.Errorf("level %d at 200 m", l)
	}
	if n := sent(60); n == 0 || p.newest(i, 0).Level > 2 {
		t.Errorf("%d packets while it comes near; its level is %d", n, p.newest(i, 0).Level)
	}
}
