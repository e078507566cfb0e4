package client

import (
	"fmt"
	"time"

	"meanwhile/clock"
	"meanwhile/estimate"
)

// LeadConfig tunes a Lead. The zero LeadConfig is a sound default.
type LeadConfig struct {
	// Price is how much lead one starved moment a minute less is worth. Zero means DefaultLeadPrice; at most estimate.MaxPrice.
	Price time.Duration
	// Margin is added to what commands are known to need. Zero means DefaultLeadMargin; at most estimate.MaxTarget.
	Margin time.Duration
}

// Defaults of a LeadConfig.
const (
	DefaultLeadPrice  = 10 * time.Millisecond
	DefaultLeadMargin = 4 * time.Millisecond
)

const (
	firstLead = 40 * time.Millisecond  // on top of half the round trip, until the server has said more
	leadJump  = 250 * time.Millisecond // the lead jumps where it is too short by more
	leadFloor = 15 * time.Second       // the least transit of the last one to two of these counts
	leadRing  = 256                    // ticks of which it is kept how far ahead they were made
	leadLag   = 64                     // commands over which the loss to frames is averaged
)

// A Lead decides how far ahead of the server's time a client makes its commands: so far that each is there when its tick
// is run, and not much further. A lead that is too short starves the avatar of its command; one that is too long delays what the
// player does for everybody else.
//
// The server says by how much new commands preceded their ticks, the client knows how long before their ticks it made them, and the
// difference is how long they took: through loss, queues and waiting to be repeated. That does not depend on the lead, so an Estimator can
// weigh what any lead would have cost. Not safe for concurrent use.
type Lead struct {
	est     *estimate.Estimator
	lead    time.Duration
	lost    time.Duration // what a command loses of the lead because commands are made at frames: its mean
	ahead   [leadRing]time.Duration
	made    clock.Tick // newest command
	acked   clock.Tick // newest that the server is known to have
	floor   [2]time.Duration
	floorAt clock.Time
	synced  bool
	frame   time.Duration // usual length
}

// NewLead returns a Lead that has heard nothing. It fails on a LeadConfig outside its bounds.
func NewLead(cfg LeadConfig) (*Lead, error) {
	if cfg.Price == 0 {
		cfg.Price = DefaultLeadPrice
	}
	if cfg.Margin == 0 {
		cfg.Margin = DefaultLeadMargin
	}
	est, err := estimate.New(estimate.Config{FixedPrice: cfg.Price, Margin: cfg.Margin, Interval: 10 * time.Millisecond})
	if err != nil {
		return nil, fmt.Errorf("client: lead: %w", err)
	}
	return &Lead{est: est}, nil
}

// Made notes that the command of a tick was made, so long before the tick is run. Ticks rise; those left out had no command.
func (l *Lead) Made(tick clock.Tick, ahead time.Duration) {
	for t := max(l.made+1, tick-min(tick, leadRing-1)); t < tick; t++ {
		l.ahead[t%leadRing] = ahead
	}
	l.ahead[tick%leadRing], l.made = ahead, tick
	l.lost += (l.lead - ahead - l.lost) / leadLag
}

// Truncate forgets the commands after a tick: they are made anew, as a clock was set.
func (l *Lead) Truncate(tick clock.Tick) { l.made, l.acked = min(l.made, tick), min(l.acked, tick) }

// Feedback takes in what the server said at the local time at: it has all commands up to acked, and the least time by which those that were
// new preceded their ticks is slack, negative if one came after it.
func (l *Lead) Feedback(at clock.Time, acked clock.Tick, slack time.Duration) {
	// Commands that come together waited together, the oldest longest.
	oldest := min(max(l.acked+1, acked-min(acked, leadRing-1)), acked)
	l.acked = max(l.acked, acked)
	if oldest == 0 || oldest > l.made || l.made-oldest >= leadRing {
		return
	}
	took := l.ahead[oldest%leadRing] - slack
	if took < -leadJump {
		return // before it was made: a clock was set since
	}
	if !l.synced {
		l.synced, l.floor, l.floorAt = true, [2]time.Duration{took, took}, at
	}
	if at.Sub(l.floorAt) > leadFloor {
		l.floorAt, l.floor[0], l.floor[1] = at, l.floor[1], took
	}
	l.floor[0], l.floor[1] = min(l.floor[0], took), min(l.floor[1], took)
	l.est.Observe(at, took-l.floor[0])
}

// Move moves the lead on by dt and returns it. least is the least round trip known, which decides until the server has said more.
func (l *Lead) Move(dt, least time.Duration) time.Duration {
	want := least/2 + firstLead
	l.frame += (min(dt, 4*l.frame+time.Millisecond) - l.frame) / leadLag // not that of a frame that hung
	if l.synced {
		// Commands are made at frames, so how long before its tick one is made moves in steps of a frame. Of these the least that
		// suffices is kept: between two steps the lead would swing to and fro, and every other command come too late.
		switch off := l.floor[0] + l.est.Target() + l.lost - l.lead; {
		case off > 0:
			want = l.lead + off
		case off < -l.frame:
			want = l.lead + off + l.frame
		default:
			want = l.lead
		}
	}
	if !l.synced || l.lead == 0 || want-l.lead > leadJump {
		l.lead = want
		return l.lead
	}
	l.lead = estimate.InputSlew.Step(l.lead, want, dt)
	return l.lead
}

// Now returns the lead of the last Move: command time minus server time.
func (l *Lead) Now() time.Duration { return l.lead }

// Synced reports whether the server has said anything yet.
func (l *Lead) Synced() bool { return l.synced }
