package baseline

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

// Each system goes back by what its authors say, from a command that runs 3 s after the start, of a
// client 80 ms away whose screen showed 2.8 s.
func TestRewinds(t *testing.T) {
	const now, drawn = 3 * clock.Time(time.Second), 2_800 * clock.Time(time.Millisecond)
	want := map[string]time.Duration{
		"article":     140 * time.Millisecond, // 40 and 100
		"article-rtt": 180 * time.Millisecond, // 80 and 100
		"mirror":      40 * time.Millisecond,  // 40 alone
		"lightyear":   200 * time.Millisecond, // as stated
	}
	for _, s := range Rewinds() {
		c := s.New(50 * time.Millisecond)
		for i := range 40 {
			at := clock.Time(i) * clock.Time(50*time.Millisecond)
			c.Arrive(at.Add(40*time.Millisecond), at)
			c.Advance(at.Add(40 * time.Millisecond))
		}
		if back := now.Sub(c.Judge(now, 80*time.Millisecond, drawn)); back != want[s.Name] {
			t.Errorf("%s goes back %v, want %v", s.Name, back, want[s.Name])
		}
		// The newest snapshot is of 1.95 s; it arrived at 1.99 s.
		arrival := clock.Time(1990 * time.Millisecond)
		if late := arrival.Sub(c.Advance(arrival)); late < 90*time.Millisecond || late > 200*time.Millisecond {
			t.Errorf("%s draws others %v late", s.Name, late)
		}
	}
}
