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

	firstLead     = 30 * time.Millisecond // on top of half the round trip, until the server has said more
	leadJump      = 250 * time.Millisecond
	leadFloorPart = 15 * time.Second
)

// A Lead decides how far ahead of the server's time a client makes its commands, so that each is there when its tick is run, and not long
// before: what the lead is too long, the player waits for; what it is too short, the avatar is starved of its command.
//
// The server says by how much new commands preceded their ticks. Not safe for concurrent use.
type Lead struct {
	est     *estimate.Estimator
	lead    time.Duration
	floor   [2]time.Duration
	floorAt clock.Time
	synced  bool
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

// Feedback takes in what the server said at the local time at: the least time by which new commands preceded their ticks, negative if
// one came after it.
func (l *Lead) Feedback(at clock.Time, slack time.Duration) {
	need := l.lead - slack // the transit of the slowest new command, a constant included
	if at.Sub(l.floorAt) > leadFloorPart {
		l.floorAt, l.floor[0], l.floor[1] = at, l.floor[1], need
	}
	l.floor[0], l.floor[1] = min(l.floor[0], need), min(l.floor[1], need)
	if !l.synced {
		l.synced = true
		l.floor = [2]time.Duration{need, need}
	}
	l.est.Observe(at, need-l.floor[0])
}

// Move moves the lead on by dt and returns it. least is the least round trip known, which decides until the server has said more.
func (l *Lead) Move(dt, least time.Duration) time.Duration {
	want := least/2 + firstLead
	if l.synced {
		want = l.floor[0] + l.est.Target()
	}
	if !l.synced || l.lead == 0 || want-l.lead > leadJump {
		l.lead = want
		return l.lead
	}
	l.lead = estimate.InputSlew.Step(l.lead, want, dt)
	return l.lead
}

// Now returns the lead of the last Move.
func (l *Lead) Now() time.Duration { return l.lead }

// Synced reports whether the server has said anything yet.
func (l *Lead) Synced() bool { return l.synced }
