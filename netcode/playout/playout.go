// Package playout decides at which past moment a client draws everybody else: as late as needed, so
// that the moment lies between records that have arrived, and no later. The field calls this
// interpolation delay, or a jitter buffer.
//
// The playout time runs like a clock. It lies behind the newest state that could be known by the
// playout delay, which is either fixed or chosen by package estimate. All spans here are above the
// path's floor, the least time that a packet takes. A delay of 0 would draw the newest state that
// can be known at all.
//
//	playout time    newest arrived    server time less the floor
//	     |------------------|------------------|------> server's clock
//	     |<-    in hand   ->|<- age of newest ->|
//	     |<---------------- delay ------------->|
//
// The delay moves towards its target: the clock runs up to a tenth faster or slower. When a packet
// is overdue, the clock slows down before it runs dry, that is before it reaches the newest state.
// A dry clock stands still and so lets the delay grow, up to two and a half times its target (a
// fixed delay: up to its length). Then the clock goes on and stalls the displayed time: entities
// that can be hit stay where their newest record put them and are never extrapolated. When a newer
// state arrives, the displayed time goes on from where it stood and catches up with the clock
// (DisplayTime). It jumps over gaps of more than 1.5 s.
//
// Clients may extrapolate kinds that nobody can hit, for a bounded time beyond their newest record
// (Config.Extrapolate). The delay is then chosen that much shorter.
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
	// MaxExtrapolate is the largest Config.Extrapolate, as in QuakeWorld. Players of shooters are
	// then drawn wrong by up to three quarters of a metre in one of twenty cases.
	MaxExtrapolate = 100 * time.Millisecond
	// extrapolatePrice is the first price of a hitch where extrapolation bridges most gaps.
	extrapolatePrice = 20 * time.Millisecond
	// When the server announces that it will be late, and the delay is too short for that by more
	// than hurryFrom, the delay grows to what is needed within about hurryTime, by at most this
	// share of real time.
	hurry     = 0.5
	hurryTime = 100 * time.Millisecond
	hurryFrom = 10 * time.Millisecond
	// changedNear: after a change of path the delay moves fast until it is so near to its target.
	changedNear = 5 * time.Millisecond
	// resync is the error beyond which the clock jumps instead of running faster.
	resync = time.Second
)

// Config tunes a Clock. The zero Config adapts.
type Config struct {
	// Fixed is a constant delay above the path's floor, at most MaxDelay. Zero means an adaptive
	// delay.
	Fixed time.Duration
	// Interval is the usual spacing of packets. Zero means 50 ms.
	Interval time.Duration
	// Extrapolate is how far the playout time may run beyond the newest state before the clock
	// counts as dry. What is drawn there is extrapolated (package motion), and the delay shrinks by
	// as much as that spares. Zero never extrapolates, which is right for kinds that can be hit:
	// the server must be able to reproduce what was seen. At most MaxExtrapolate.
	Extrapolate time.Duration
	// Budget is how many hitches a minute the adaptive delay aims at. Zero means the estimate's
	// default, which leaves about one.
	Budget float64
}

// A Clock is the one playout time of a client. It never runs back, except by Reset. Not safe for
// concurrent use.
type Clock struct {
	// Twin gets every call that the Clock gets, but for SetFixed: what would another delay have
	// shown? Nil: nobody. Programs of pages, which must be small, have none.
	Twin *Clock

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
	another bool // the path is another, and the delay still that of the path before
	pace    pace
	catch   catchUp
}

// pace is what the server says about its own regularity. All spans are beyond the usual.
type pace struct {
	late   time.Duration // how late the server was with the newest packet
	expect time.Duration // how late it will be with the next one, as far as is known
	// The least time from a state to its sending, of the present and of the last FloorWindow.
	least [2]time.Duration
	since clock.Time // begin of the present FloorWindow
	known bool
}

// New returns a stopped Clock. It starts at the first Advance after a packet, the whole delay
// behind that packet, so that the first state is drawn for so long. It fails on a Config outside
// its bounds.
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
		start = extrapolatePrice
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

// SetFixed changes the constant delay; zero makes it adaptive. It fails outside [0, MaxDelay], and
// then changes nothing.
func (c *Clock) SetFixed(d time.Duration) error {
	if err := check(d); err != nil {
		return err
	}
	c.cfg.Fixed = d
	return nil
}

// Arrive records that a state arrived at local, a local instant. stamp is the instant of the state
// by the server's clock. quiet says that the server will send nothing more until something changes.
func (c *Clock) Arrive(local, stamp clock.Time, quiet bool) {
	if t := c.twin(); t != nil {
		t.Arrive(local, stamp, quiet)
	}
	x, fresh, counts := c.ages.Arrive(local, stamp)
	if more, another := c.ages.Another(); another {
		c.another = true
		c.est.Another(more)
	}
	if !fresh {
		return
	}
	if counts {
		path := x - min(c.pace.late, x)
		if want := c.adapted() + c.cfg.Extrapolate; x > want && path <= want {
			// The hitch was the server's doing: more delay for the path's sake would not have
			// spared it.
			c.est.Excuse()
		}
		if path <= estimate.MaxTarget { // otherwise an outage, however far extrapolation reaches
			path -= min(c.cfg.Extrapolate, path)
		}
		c.est.Observe(local, path)
	}
	c.est.Spare(c.Delay() - c.Target())
	if c.silent = quiet; quiet {
		c.ages.Quiet()
	}
	c.stall.End()
}

// AnotherPath says that what arrives from now on comes over another path, of which nothing is known.
// What is left of the delay of the path before shrinks fast.
func (c *Clock) AnotherPath() {
	if t := c.twin(); t != nil {
		t.AnotherPath()
	}
	c.another = true
	c.ages.AnotherPath()
	c.est.Anew()
}

// FasterPath reports whether the newest arrival showed that packets come over another path, whose
// floor is lower.
func (c *Clock) FasterPath() bool {
	more, another := c.ages.Another()
	return another && more == 0
}

// Paced records what a packet says about the server's own regularity. All spans are by the server's
// clock; call it before Arrive. late is how much longer than usual the ticks since the packet
// before took. next is how much longer the ticks until the next packet will take, as far as is
// known. hold is the time from the instant of the packet's state to its sending. The delay grows by
// the server's lateness for as long as the server announces it; nothing is learned from it, because
// it is no jitter of the path. Negative spans count as zero, longer ones than MaxDelay as MaxDelay.
func (c *Clock) Paced(local clock.Time, late, next, hold time.Duration) {
	if t := c.twin(); t != nil {
		t.Paced(local, late, next, hold)
	}
	p := &c.pace
	if !p.known || local.Sub(p.since) > estimate.FloorWindow {
		p.least[1], p.least[0], p.since = p.least[0], hold, local
		if !p.known {
			p.known, p.least[1] = true, hold
		}
	}
	p.least[0] = min(p.least[0], hold)
	c.ages.Held(hold)
	over := limit(hold - min(p.least[0], p.least[1]))
	p.late = limit(late) + over
	c.catch.stood = min(c.catch.stood+max(late, 0), mostBehind) // longer gaps are jumped over anyway
	p.expect = limit(limit(next) + over)
}

// Overdue records the server's message that its next tick is late by d already: the next packet
// will be at least as late. It never shortens what Paced announced.
func (c *Clock) Overdue(d time.Duration) {
	if t := c.twin(); t != nil {
		t.Overdue(d)
	}
	c.pace.expect = max(c.pace.expect, limit(d))
}

func limit(d time.Duration) time.Duration { return min(max(d, 0), MaxDelay) }

// Target returns the delay above the path's floor that the clock moves towards.
func (c *Clock) Target() time.Duration {
	if c.cfg.Fixed > 0 {
		return c.cfg.Fixed
	}
	return min(c.adapted()+c.pace.expect, MaxDelay)
}

// adapted returns the delay that the path needs, without the server's own lateness.
func (c *Clock) adapted() time.Duration {
	want := c.est.Target()
	if !c.est.Settled() {
		want -= min(c.cfg.Extrapolate, want) // once settled, the estimate counts it in
	}
	return want
}

// Advance moves the playout time on to a local instant and returns it, by the server's clock. It is
// 0 before anything arrived. An instant before that of the last call changes nothing.
func (c *Clock) Advance(local clock.Time) clock.Time {
	if t := c.twin(); t != nil {
		t.Advance(local)
	}
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
		c.t = local.Add(-floor - want) // may lie before the match began
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
	slew := &estimate.PlayoutSlew
	if c.another {
		slew = &estimate.PlayoutChange
		c.another = have > want+changedNear || !c.est.Settled()
	}
	moved := slew.Step(have, want, dt) - have
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
		step = min(step, max(last.Sub(c.t), 0)) // the delay grows at no cost while there is nothing to draw
	}
	if dry && c.stall.Add(dt) {
		c.hitches++
		c.est.Hitch(1)
	}
	c.t = c.t.Add(max(step, 0))
	c.catch.advance(c.t, last, dt, c.silent)
}

// Reset forgets all arrivals, for a clock that was set. The next packet starts the clock anew, and
// the playout time may then lie before that of the last Advance. The learned jitter of the path
// stays.
func (c *Clock) Reset() {
	if t := c.twin(); t != nil {
		t.Reset()
	}
	c.ages.Reset()
	c.running, c.silent = false, false
	c.stall, c.slow, c.pace, c.catch = Stall{}, 0, pace{}, catchUp{}
}

// Now returns the playout time of the last Advance. It is 0 before anything arrived, and at least 1
// ns afterwards.
func (c *Clock) Now() clock.Time {
	if !c.running {
		return 0
	}
	return max(c.t, 1)
}

// DisplayTime returns the instant to draw: Now, or an earlier one while the display catches up
// after a gap that the delay did not bridge. While nothing arrives it runs past the newest state,
// as Now does, and falls back when something arrives. What is drawn never goes back, since the
// newest state stands for every later instant.
func (c *Clock) DisplayTime() clock.Time {
	if !c.running {
		return 0
	}
	return max(c.t.Add(-c.catch.behind), 1)
}

// Delay returns the playout delay above the path's floor: how far the playout time lies behind the
// newest state that could be known.
func (c *Clock) Delay() time.Duration {
	if !c.running {
		return 0
	}
	return c.local.Sub(c.t) - c.ages.Floor()
}

// Floor returns the least arrival - stamp of the last estimate.FloorWindow, which Delay is above; 0
// before the first packet.
func (c *Clock) Floor() time.Duration { return c.ages.Floor() }

// Age returns how old the newest state that arrived is at local, above the floor.
func (c *Clock) Age(local clock.Time) time.Duration { return c.ages.Age(local) }

// Hitches returns how many hitches there were (see Stall) in which all entities stood still.
func (c *Clock) Hitches() uint64 { return c.hitches }
