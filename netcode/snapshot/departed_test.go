package snapshot

import "testing"

// A view lets go of what was removed, however many that is and whoever else it sees.
func TestLeaveRemoved(t *testing.T) {
	for _, c := range []struct {
		name         string
		seen, unseen int // how many are removed
	}{
		{"a few", 3, 2},
		{"none that it sees", 0, 4},
		{"more than it sees", 15, 10},
		{"more than are remembered", 19, 3 * departures},
	} {
		p := newPair(t)
		p.begin()
		var seen, unseen []int32
		for range 20 {
			i := p.spawn(gemKind, false)
			p.v.Enter(i, Observed)
			seen = append(seen, i)
		}
		for range c.unseen {
			unseen = append(unseen, p.spawn(gemKind, false))
		}
		p.record()
		p.step(func() {})
		p.begin()
		for n := range max(c.seen, c.unseen) { // in turn
			if n < c.unseen {
				p.remove(unseen[n])
			}
			if n < c.seen {
				p.remove(seen[n])
			}
		}
		p.record()
		p.v.LeaveRemoved()
		for n, i := range seen {
			if p.v.Has(i) != (n >= c.seen) {
				t.Errorf("%s: entity %d is in sight: %v", c.name, i, p.v.Has(i))
			}
		}
		if n, _ := p.v.Count(); n != 20-c.seen || p.v.departed != p.h.departed.n {
			t.Errorf("%s: %d in sight, want %d", c.name, n, 20-c.seen)
		}
	}
}
