package baseline

import (
	"time"

	"meanwhile/netcode/clock"
)

// A Compensator is one system's lag compensation: when its client draws others, and by which past
// its server judges a shot. One value serves one shooter.
type Compensator interface {
	Player
	// Judge returns the server time whose world a shot is judged by. now is the server time at
	// which the command runs, rtt the smoothed round trip of the shooter, and drawn what its
	// client's screen showed at the click, which most systems are not told.
	Judge(now clock.Time, rtt time.Duration, drawn clock.Time) clock.Time
}

// A Rewind is a system by name.
type Rewind struct {
	Name string
	// OnArrival says that commands run when they arrive; otherwise at the tick that they were made
	// for.
	OnArrival bool
	// Every is the time between two of the states that the server keeps, Kept their number; between
	// them it interpolates. A zero Every keeps each tick. A shot that is older than all of them
	// hits nothing.
	Every time.Duration
	Kept  int
	// New returns one for a shooter who receives a snapshot each interval.
	New func(interval time.Duration) Compensator
}

// articleInterp is how late others are drawn in Bernier's article, and in Half-Life by default.
const articleInterp = 100 * time.Millisecond

// Rewinds returns the systems, in the order of tables.
//
// Article is Bernier, "Latency Compensating Methods in Client/Server In-game Protocol Design and
// Optimization" (2001): the client takes over the server's time as it arrives, draws 100 ms before
// it, and the server goes back by the player's latency and those 100 ms. The article does not say
// which latency. Half the round trip leaves out the way down, by which the client's clock is late;
// article-rtt takes the whole.
//
// Mirror (LagCompensator of its 2024 sources) goes back by half the round trip and by
// NetworkClient.bufferTime, which is 0 in a dedicated server, among 6 captures 100 ms apart.
//
// Lightyear sends with its inputs how far its interpolation is behind the input's tick, and the
// server looks that up in the 35 ticks that it keeps of each collider.
func Rewinds() []Rewind {
	article := func(trips float64) func(time.Duration) Compensator {
		return func(time.Duration) Compensator {
			return estimated{&snapping{Intervals: 1, Interval: articleInterp}, trips, articleInterp}
		}
	}
	return []Rewind{
		{Name: "article", OnArrival: true, Kept: secondOfTicks, New: article(0.5)},
		{Name: "article-rtt", OnArrival: true, Kept: secondOfTicks, New: article(1)},
		{Name: "mirror", OnArrival: true, Every: 100 * time.Millisecond, Kept: 6,
			New: func(interval time.Duration) Compensator { return estimated{newMirror(interval, 1), 0.5, 0} }},
		{Name: "lightyear", Kept: 35,
			New: func(interval time.Duration) Compensator {
				return stated{follow(&lightyear{Interval: interval, Jitters: 4})}
			}},
	}
}

// secondOfTicks is the history of servers whose authors name no length: a second at 60 Hz.
const secondOfTicks = 60

// estimated judges by a time that the server computes from the round trip and a fixed delay.
type estimated struct {
	Player
	trips  float64
	interp time.Duration
}

func (e estimated) Judge(now clock.Time, rtt time.Duration, _ clock.Time) clock.Time {
	return now.Add(-time.Duration(e.trips*float64(rtt)) - e.interp)
}

// stated judges by the time that the client states.
type stated struct{ Player }

func (stated) Judge(now clock.Time, _ time.Duration, drawn clock.Time) clock.Time {
	return min(drawn, now)
}
