// Package playout decides which past moment a client draws everybody else at: as late as needed, so
// that it lies between records that have arrived, and no later.
//
// The playout time runs like a clock, behind the newest that could be known by a delay that is
// either fixed or chosen by package estimate. All spans here lie above the path's floor, the least
// that a packet takes: what a delay of 0 would draw is the newest that can be known at all.
//
//	playout time      newest held      server time less the floor
//	     |------------------|------------------|------> server's clock
//	     |<- age to spare ->|<- age of newest ->|
//	     |<---------------- delay ------------->|
//
// The delay follows its target by running up to a tenth faster or slower. When what should have
// come is overdue the clock slows before it runs dry; when it is dry it stands still until the
// delay has reached two and a half times its target (a fixed one just its length), and then goes on
// without a picture. What can be hit is held where the newest record put it, never extrapolated.
// When something comes the picture goes on from where it stood and catches up with the clock
// (DisplayTime); a gap of more than mostBehind is jumped over.
//
// A client that draws things which nobody can hit may guess where they are for a bounded time
// beyond the newest record (Config.Extrapolate): the delay is then chosen so much shorter.
package playout

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
)

// Limits.
const (
	// MaxDelay is the largest playout delay above the path's floor.
	MaxDelay = estimate.MaxTarget
	// MaxExtrapolate is the farthest beyond the newest state that anything is guessed, that of
	// QuakeWorld: players of shooters are then off by three quarters of a metre in one of twenty
	// cases.
	MaxExtrapolate = 100 * time.Millisecond
	// guessPrice is what a hitch costs at first where guessing bridges most gaps.
	guessPrice = 20 * time.Millisecond
	// A delay that what the server said makes too short, by more than hurryFrom, is made good
	// within about hurryTime, growing by half of real time at most.
	hurry     = 0.5
	hurryTime = 100 * time.Millisecond
	hurryFrom = 10 * time.Millisecond
	// resync is the error beyond which the clock jumps instead of running faster.
	resync = time.Second
)

// Config tunes a Clock. The zero Config adapts.
type Config struct {
	// Fixed is a constant delay above the path's floor; 0 adapts. At most MaxDelay.
	Fixed time.Duration
	// Interval is the usual spacing of packets; 0 means 50 ms.
	Interval time.Duration
	// Extrapolate is how far beyond the newest state the playout time may run before that counts as
	// having nothing to draw; what is drawn there is guessed, see package motion. The delay shrinks
	// by as much as this spares. 0 holds what the newest state says, which is right for what can be
	// hit: the server must be able to tell what was seen. At most MaxExtrapolate.
	Extrapolate time.Duration
	// Budget is how many hitches a minute adaption aims at; 0 means the estimate's default, which
	// leaves about one.
	Budget float64
}

// A Clock is the one playout time of a client. It never runs back, except by Reset. Not safe for
// concurrent use.
type Clock struct {
	cfg     Config
	ages    estimate.Ages
	est     *estimate.Estimator
	overdue estimate.Overdue

	running bool
	local   clock.Time // of the last Advance
	t       clock.Time // playout time, server's clock
	stall   Stall      // nothing newer was there to draw
	hitches uint64
	slow    float64
	silent  bool
	pace    pace
	catch   catchUp
}

// pace is what is known of how regularly the server works, all beyond the usual.
type pace struct {
	late   time.Duration    // of what came with the newest packet: by how much the server itself was late with it
	expect time.Duration    // the same of what comes next, as far as it is foreseen
	least  [2]time.Duration // least time from a state to its sending, of the present and of the last FloorWindow
	since  clock.Time       // when the present one began
	known  bool
}

// New returns a stopped Clock. It runs from the first Advance after a packet on, the whole delay
// behind that packet: the first state is drawn for so long. It fails on a Config outside its
// bounds.
func New(cfg Config) (*Clock, error) {
	if err := check(cfg.Fixed); err != nil {
		return nil, err
	}
	if cfg.Extrapolate < 0 || cfg.Extrapolate > MaxExtrapolate {
		return nil, fault.Errorf("playout: Extrapolate %v is outside [0, %v]", cfg.Extrapolate, MaxExtrapolate)
	}
	c := &Clock{cfg: cfg}
	start := estimate.StartPrice
	if cfg.Extrapolate > 0 {
		start = guessPrice
	}
	est, err := estimate.New(estimate.Config{Interval: cfg.Interval, Budget: cfg.Budget, Start: start,
		Slows: &c.overdue})
	if err != nil {
		return nil, fault.Errorf("playout: %w", err)
	}
	c.est = est
	return c, nil
}

func check(fixed time.Duration) error {
	if fixed < 0 || fixed > MaxDelay {
		return fault.Errorf("playout: Fixed %v is outside [0, %v]", fixed, MaxDelay)
	}
	return nil
}

// SetFixed changes the constant delay; 0 adapts.
func (c *Clock) SetFixed(d time.Duration) error {
	if err := check(d); err != nil {
		return err
	}
	c.cfg.Fixed = d
	return nil
}

// Arrive takes in that a state dated stamp, on the server's clock, arrived at local. quiet says
// that the server is silent from then on until something changes.
func (c *Clock) Arrive(local, stamp clock.Time, quiet bool) {
	x, fresh, counts := c.ages.Arrive(local, stamp)
	if !fresh {
		return
	}
	if counts {
		path := x - min(c.pace.late, x)
		if want := c.adapted() + c.cfg.Extrapolate; x > want && path <= want {
			// what was felt is the server's doing: more delay for the path's sake would not have
			// spared it
			c.est.Excuse()
		}
		if path <= estimate.MaxTarget { // else an outage, however far one may guess
			path -= min(c.cfg.Extrapolate, path)
		}
		c.est.Observe(local, path)
	}
	if c.silent = quiet; quiet {
		c.ages.Quiet()
	}
	c.stall.End()
}

// Paced takes in what a packet says of how regularly the server works, in spans by the server's
// clock; it is called before Arrive. late is by how much more than usual the ticks since the packet
// before took, next by how much more those until the next packet will take, as far as is known, and
// hold how long after the instant of its state the packet left. Lateness of the server is no jitter
// of the path: it is added to the delay as long as the server says so, and not learned.
func (c *Clock) Paced(local clock.Time, late, next, hold time.Duration) {
	p := &c.pace
	if !p.known || local.Sub(p.since) > estimate.FloorWindow {
		p.least[1], p.least[0], p.since = p.least[0], hold, local
		if !p.known {
			p.known, p.least[1] = true, hold
		}
	}
	p.least[0] = min(p.least[0], hold)
	over := limit(hold - min(p.least[0], p.least[1]))
	p.late = limit(late) + over
	c.catch.stood = min(c.catch.stood+max(late, 0), mostBehind) // and more is not caught up with anyway
	p.expect = limit(limit(next) + over)
}

// Overdue takes in that the server said that its next tick is late by so much already: what comes
// next will be at least as late.
func (c *Clock) Overdue(d time.Duration) { c.pace.expect = max(c.pace.expect, limit(d)) }

func limit(d time.Duration) time.Duration { return min(max(d, 0), MaxDelay) }

// Target returns the delay above the path's floor that is aimed at.
func (c *Clock) Target() time.Duration {
	if c.cfg.Fixed > 0 {
		return c.cfg.Fixed
	}
	return min(c.adapted()+c.pace.expect, MaxDelay)
}

// adapted is what the path asks for.
func (c *Clock) adapted() time.Duration {
	want := c.est.Target()
	if !c.est.Settled() {
		want -= min(c.cfg.Extrapolate, want) // afterwards it is chosen so
	}
	return want
}

// Advance moves the playout time on to the local instant given and returns it, on the server's
// clock; 0 before anything arrived.
func (c *Clock) Advance(local clock.Time) clock.Time {
	if newest, known := c.ages.Newest(); known {
		c.advance(local, newest)
		return c.Now()
	}
	return 0
}

func (c *Clock) advance(local, newest clock.Time) {
	floor := c.ages.Floor()
	want := c.Target()
	if !c.running {
		c.running, c.local = true, local
		c.t = local.Add(-floor - want) // before the match began, where that has only just happened
		return
	}
	dt := local.Sub(c.local)
	if dt <= 0 {
		return
	}
	c.local = local
	have := local.Add(-dt).Sub(c.t) - floor // the delay before this step
	if off := have - want; off > resync {
		c.t, c.catch = local.Add(-floor-want), catchUp{}
		return
	} else if off < -resync {
		return // the server's clock stands far behind: wait for it
	}
	last := newest.Add(c.cfg.Extrapolate) // the last instant that can be drawn
	moved := estimate.PlayoutSlew.Step(have, want, dt) - have
	c.slow = 0
	if !c.silent {
		more := c.pace.expect
		c.slow = c.overdue.Slow(c.ages.Age(local)-c.cfg.Extrapolate-more, have-more, c.est.Typical(), want-more)
		if short := want - have; more > 0 && short > hurryFrom {
			c.slow = max(c.slow, min(hurry, float64(short)/float64(hurryTime)))
		}
		if c.cfg.Fixed > 0 {
			c.slow = 0
		}
	}
	step := dt - moved - time.Duration(float64(c.slow*float64(dt)))
	dry := c.t >= last && !c.silent
	if grow := have < want || dry && c.cfg.Fixed == 0 && have < min(MaxDelay, want*5/2); grow && !c.silent {
		step = min(step, max(last.Sub(c.t), 0)) // the delay grows for free while there is nothing to draw
	}
	if dry && c.stall.Add(dt) {
		c.hitches++
		c.est.Hitch(1)
	}
	c.t = c.t.Add(max(step, 0))
	c.catch.advance(c.t, last, dt, c.silent)
}

// Reset forgets all arrivals, for a clock that was set: the next packet starts anew, and the
// playout time may lie before that of the last Advance. What was learned of the path's jitter
// stays.
func (c *Clock) Reset() {
	c.ages.Reset()
	c.running, c.silent = false, false
	c.stall, c.slow, c.pace, c.catch = Stall{}, 0, pace{}, catchUp{}
}

// Now returns the playout time of the last Advance: 0 before anything arrived, and at least 1 ns
// then.
func (c *Clock) Now() clock.Time {
	if !c.running {
		return 0
	}
	return max(c.t, 1)
}

// DisplayTime returns which instant is to be drawn: the playout time Now, but after a gap that the
// delay did not bridge an earlier one, from where the picture stood until it has caught up. Like
// Now it runs past the newest state where nothing comes, and back to it when something does: that
// state is what is drawn all the while, so the picture itself never goes back.
func (c *Clock) DisplayTime() clock.Time {
	if !c.running {
		return 0
	}
	return max(c.t.Add(-c.catch.behind), 1)
}

// Delay returns how far the playout time lies behind the newest that could be known: the delay
// above the floor.
func (c *Clock) Delay() time.Duration {
	if !c.running {
		return 0
	}
	return c.local.Sub(c.t) - c.ages.Floor()
}

// Age returns how old the newest state held is, above the floor.
func (c *Clock) Age(local clock.Time) time.Duration { return c.ages.Age(local) }

// Hitches returns how often there was nothing newer to draw.
func (c *Clock) Hitches() uint64 { return c.hitches }
