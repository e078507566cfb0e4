package rewind

import (
	"testing"
	"time"

	"meanwhile/netcode/clock"
)

const (
	claimTick = time.Second / 60
	claimTrip = 30 * time.Millisecond
	claimSend = 50 * time.Millisecond
)

// play follows a client for so many ticks, which draws a new picture every frame ticks and stalls
// while stalls says so.
func play(ticks, frame clock.Tick, stalls func(clock.Tick) bool) (c *Claims, now clock.Time) {
	c = &Claims{}
	for t := clock.Tick(1); t <= ticks; t++ {
		now = clock.Time(time.Duration(t) * claimTick)
		seen := (t - t%frame).Frac() - 6*clock.FracPerTick
		if t%3 == 0 {
			c.Acknowledged(now, 60*time.Millisecond)
		}
		c.Arrived(now, 20*time.Millisecond+time.Duration(t%frame)*claimTick)
		claim := Claim{Tick: t, Seen: seen, Norm: c.Norm(now, claimTrip, claimSend)}
		claim.Claimed = time.Duration(t.Frac()-seen) * claimTick / clock.FracPerTick
		if claim.Stalled = stalls(t); claim.Stalled {
			claim.Claimed += claim.Norm.Age
		}
		c.Follow(now, claim, claimTick, false)
	}
	return c, now
}

func never(clock.Tick) bool { return false }

// A picture of a screen that shows 30 a second may be a frame older than of one that shows 60, and
// its commands come in twos.
func TestSlowScreens(t *testing.T) {
	c, now := play(1800, 1, never)
	fast := c.Norm(now, claimTrip, claimSend).Age
	c, now = play(1800, 2, never)
	slow := c.Norm(now, claimTrip, claimSend).Age
	if more := slow - fast; more < 2*claimTick-time.Millisecond || more > 2*claimTick+2*time.Millisecond {
		t.Errorf("at 30 pictures a second they may be %v old, at 60 %v; want two ticks more", slow, fast)
	}
}

// Shots in a stall are believed if the client stalled before, in its first seconds, too, and all of
// a stall at once. Where it never did few are, and none where it is the rule.
func TestShotsInStalls(t *testing.T) {
	believed := func(ticks clock.Tick, stalls func(clock.Tick) bool) (n int) {
		c, now := play(ticks, 1, stalls)
		claim := Claim{Tick: ticks + 1, Norm: c.Norm(now, claimTrip, claimSend), Stalled: true}
		claim.Claimed = claim.Norm.Age + 100*time.Millisecond
		for range 100 {
			if _, _, reason := c.Allowed(claim); reason == Exact {
				n++
			}
		}
		return n
	}
	now, often := func(t clock.Tick) bool { return t%240 < 12 }, func(t clock.Tick) bool { return t%4 == 0 }
	for _, c := range []struct {
		name        string
		ticks       clock.Tick
		stalls      func(clock.Tick) bool
		least, most int
	}{
		{"never", 3600, never, 5, 7},
		{"now and then", 3600, now, 24, 40},
		{"now and then, of a new client", 720, now, 11, 30},
		{"often", 3600, often, 5, 7},
	} {
		if got := believed(c.ticks, c.stalls); got < c.least || got > c.most {
			t.Errorf("%s: %d shots of 100 are believed, want %d to %d", c.name, got, c.least, c.most)
		}
	}
}
