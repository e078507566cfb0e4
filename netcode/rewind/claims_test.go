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
		claim := Claim{At: now, Tick: t, Seen: seen, Norm: c.Norm(now, claimTrip, claimSend)}
		claim.Claimed = time.Duration(t.Frac()-seen) * claimTick / clock.FracPerTick
		if claim.Stalled = stalls(t); claim.Stalled {
			claim.Claimed += claim.Norm.Age
		}
		c.Follow(claim, claimTick, false)
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

// Shots in a stall are believed as often as the client stalls where it does not shoot, and a second
// of shots in the first stall. Where nothing is the cause, or every shot is in a stall, none are.
func TestShotsInStalls(t *testing.T) {
	// Every shotEvery ticks the client shoots for a quarter of a second, from a time of the stall on.
	believed := func(shots, stalls func(clock.Tick) bool, lacks bool) (share, suspicion int) {
		c, now := play(900, 1, never)
		believed, all := 0, 0
		for t := clock.Tick(901); t <= 18000; t++ {
			now += clock.Time(claimTick)
			claim := Claim{At: now, Tick: t, Norm: c.Norm(now, claimTrip, claimSend), Claimed: 100 * time.Millisecond}
			if stalls(t) {
				claim.Stalled, claim.Claimed = lacks, claim.Norm.Age+100*time.Millisecond
			}
			if shots(t) && stalls(t) {
				all++
				if _, _, reason := c.Allowed(claim, claimTick); reason == Exact {
					believed++
				}
			} else if shots(t) {
				c.Allowed(claim, claimTick)
			}
			c.Follow(claim, claimTick, shots(t))
		}
		return believed * 100 / max(all, 1), c.Suspicion()
	}
	stalls := func(t clock.Tick) bool { return t%600 < 20 }
	for _, c := range []struct {
		name                    string
		shots                   func(clock.Tick) bool
		lacks                   bool
		least, most, suspicious int // %, %, points
	}{
		{"all the time", func(t clock.Tick) bool { return t%9 == 0 }, true, 100, 100, 0},
		{"now and then", func(t clock.Tick) bool { return t%211 == 0 }, true, 100, 100, 0},
		{"in stalls alone", func(t clock.Tick) bool { return t%600 < 18 && t%6 == 0 }, true, 3, 10, 80},
		{"without a cause", func(t clock.Tick) bool { return t%9 == 0 }, false, 0, 0, 70},
	} {
		share, suspicion := believed(c.shots, stalls, c.lacks)
		if share < c.least || share > c.most {
			t.Errorf("%s: %d %% are believed, want %d to %d", c.name, share, c.least, c.most)
		}
		if suspicion < c.suspicious || c.suspicious == 0 && suspicion != 0 {
			t.Errorf("%s: the suspicion is %d, want %d", c.name, suspicion, c.suspicious)
		}
	}
}
