package playout

import (
	"time"

	"meanwhile/netcode/clock"
)

// A gap that no delay bridges stalls the displayed time, while the clock goes on. Afterwards the
// display does not jump to the clock's time. It goes on from where it stood and catches up along
// the way that entities really took, at up to three times their speed, which the eye can follow.
const (
	// mostBehind is the longest gap that the display catches up with. It jumps over longer ones.
	mostBehind = 1500 * time.Millisecond
	// The display catches up within about catchTime. On top of real time it runs at most catchMost
	// and at least catchLeast times as fast.
	catchTime  = 150 * time.Millisecond
	catchMost  = 2
	catchLeast = 0.25
)

// catchUp is how far the displayed time lies behind the clock.
type catchUp struct {
	behind time.Duration
	t      clock.Time    // displayed at the last step
	last   clock.Time    // the last instant that could be drawn then
	calm   bool          // the server had announced silence: nothing was missed
	stood  time.Duration // how long the server itself stood since then, which is no gap
}

// advance moves the displayed time on by dt towards t, the clock's time. last is the last instant
// that can be drawn now.
func (c *catchUp) advance(t, last clock.Time, dt time.Duration, silent bool) {
	// The display stood at what could be drawn last.
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
