package playout

import (
	"time"

	"meanwhile/netcode/clock"
)

// After a gap that no delay bridges the picture has stood still while the clock ran on. It does not
// jump to where the clock is: it goes on from where it stood and catches up along the way that
// things really took, at up to three times their speed, which the eye can follow.
const (
	// mostBehind is the longest gap that is caught up with. What was missed of a longer one is
	// jumped over.
	mostBehind = 1500 * time.Millisecond
	// What is missing is made up for within about catchTime, at catchMost of real time on top of it
	// at most and at catchLeast at least.
	catchTime  = 150 * time.Millisecond
	catchMost  = 2
	catchLeast = 0.25
)

// catchUp is how far the picture lies behind the clock.
type catchUp struct {
	behind time.Duration
	t      clock.Time    // of the last picture
	last   clock.Time    // the last instant that could be drawn then
	calm   bool          // the server was silent then: nothing was missed
	stood  time.Duration // for so long the server itself has stood since then: that was not missed
}

// advance moves the picture on by dt towards where the clock is, at t. last is the last instant
// that can be drawn now.
func (c *catchUp) advance(t, last clock.Time, dt time.Duration, silent bool) {
	// the picture stood at what could be drawn last
	if came := last > c.last && !c.calm; came && c.t > c.last && c.t != 0 {
		if c.behind = max(t.Sub(c.last)-dt-c.stood, 0); c.behind > mostBehind {
			c.behind = 0
		}
	}
	if c.behind > 0 {
		gain := min(max(float64(c.behind)/float64(catchTime), catchLeast), catchMost)
		c.behind = max(c.behind-time.Duration(float64(gain*float64(dt))), 0)
	}
	c.t, c.last, c.calm, c.stood = t.Add(-c.behind), last, silent, 0
}
