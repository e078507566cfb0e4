package client

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
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
	DefaultLeadPrice  = 9500 * time.Microsecond
	DefaultLeadMargin = 4 * time.Millisecond
)

const (
	firstLead   = 50 * time.Millisecond  // on top of half the round trip, or of the floor, until enough is known
	leadJump    = 250 * time.Millisecond // the lead jumps where it is too short by more
	leadFloor   = 15 * time.Second       // the least transit of the last one to two of these counts
	leadRing    = 256                    // ticks of which it is kept how far ahead they were made
	leadPause   = 10 * time.Second       // no more passes between two reports
	leadSettles = time.Second            // of reports, until their floor is believed: the first may come out of an outage
	leadLearns  = 2 * time.Second        // of reports, until a lead is chosen from them
	leadEvery   = 250 * time.Millisecond // a lead is chosen anew
	leadWorth   = 3 * time.Millisecond   // a better lead must be better by so much
	leadLag     = 64                     // frames, or commands, of a mean
	leadTurn    = 16                     // commands in which the phase is found
	leadGrain   = 2 * time.Millisecond   // between leads that are looked at, where frames do not say
)

// A Lead decides how far ahead of the server's time a client makes its commands: so far that each is there when its tick
// is run, and not much further. A lead that is too short starves the avatar of its command; one that is too long delays what the
// player does for everybody else.
//
// The server says by how much new commands preceded their ticks, the client knows how long before their ticks it made them, and the
// difference is how long they took: through loss, queues and waiting to be repeated. That does not depend on the lead, so for any lead an
// estimate.Rises knows how often it would have starved, and the Lead takes the one at which a millisecond more is no longer worth the starving that it spares.
//
// Commands are made at frames. Where frames and ticks keep step, how long before its tick a command is made moves in steps of a frame,
// whatever the lead; so only such leads are weighed against each other, and the chosen one is kept in the middle of its step: at the edge every other
// command would come a frame too late. Not safe for concurrent use.
type Lead struct {
	cfg     LeadConfig
	rises   estimate.Rises
	lead    time.Duration
	ahead   [leadRing]time.Duration
	made    clock.Tick // newest command
	from    clock.Tick // commands before it say nothing
	acked   clock.Tick // newest that the server is known to have
	floor   [2]time.Duration
	synced  bool
	at      clock.Time    // of the newest report
	age     time.Duration // since the first report, the setting of clocks aside
	floorAt time.Duration // ages
	chosen  time.Duration
	target  time.Duration // what commands are to have above the floor
	learned bool
	frame   time.Duration // usual length
	phase   time.Duration // what commands have is this and a number of frames
	scatter time.Duration // mean distance of what they have from that
}

// NewLead returns a Lead that has heard nothing. It fails on a LeadConfig outside its bounds.
func NewLead(cfg LeadConfig) (*Lead, error) {
	if cfg.Price == 0 {
		cfg.Price = DefaultLeadPrice
	}
	if cfg.Margin == 0 {
		cfg.Margin = DefaultLeadMargin
	}
	if cfg.Price < 0 || cfg.Price > estimate.MaxPrice {
		return nil, fault.Errorf("client: LeadConfig.Price %v is outside [0, %v]", cfg.Price, estimate.MaxPrice)
	}
	if cfg.Margin < 0 || cfg.Margin > estimate.MaxTarget {
		return nil, fault.Errorf("client: LeadConfig.Margin %v is outside [0, %v]", cfg.Margin, estimate.MaxTarget)
	}
	return &Lead{cfg: cfg, target: firstLead}, nil
}

// Made notes that the command of a tick was made, so long before the tick is run. Ticks rise; those left out had no command.
func (l *Lead) Made(tick clock.Tick, ahead time.Duration) {
	for t := max(l.made+1, tick-min(tick, leadRing-1)); t < tick; t++ {
		l.ahead[t%leadRing] = ahead
	}
	l.ahead[tick%leadRing], l.made = ahead, tick
	if l.frame > 0 {
		off := (ahead - l.phase) % l.frame
		switch half := l.frame / 2; {
		case off > half:
			off -= l.frame
		case off < -half:
			off += l.frame
		}
		l.phase += off / leadTurn
		l.scatter += (off.Abs() - l.scatter) / leadLag
	}
}

// Truncate forgets the commands after a tick: they are made anew, as a clock was set.
func (l *Lead) Truncate(tick clock.Tick) {
	l.made, l.acked, l.from = min(l.made, tick), min(l.acked, tick), min(l.from, tick+1)
}

// Remapped says that ticks take longer or shorter than was thought when the commands up to now were made: how long before their ticks that
// was is known no more.
func (l *Lead) Remapped() { l.from = l.made + 1 }

// Feedback takes in what the server said at the local time at: it has all commands up to acked, and the least time by which those that were
// new preceded their ticks is slack, negative if one came after it.
func (l *Lead) Feedback(at clock.Time, acked clock.Tick, slack time.Duration) {
	// Commands that come together waited together, the oldest longest.
	oldest := min(max(l.acked+1, acked-min(acked, leadRing-1)), acked)
	l.acked = max(l.acked, acked)
	if oldest == 0 || oldest < l.from || oldest > l.made || l.made-oldest >= leadRing {
		return
	}
	took := l.ahead[oldest%leadRing] - slack
	if took < -leadJump {
		return // before it was made: a clock was set since
	}
	if !l.synced {
		l.synced, l.floor, l.at = true, [2]time.Duration{took, took}, at
	}
	l.age += min(max(at.Sub(l.at), 0), leadPause)
	l.at = at
	if l.age-l.floorAt > leadFloor {
		l.floorAt, l.floor[0], l.floor[1] = l.age, l.floor[1], took
	}
	l.floor[0], l.floor[1] = min(l.floor[0], took), min(l.floor[1], took)
	x := took - l.floor[0]
	l.rises.Observe(clock.Time(l.age), x)
	if !l.learned {
		l.target = max(l.target, min(x, estimate.RisesMost))
	}
	if l.age >= leadLearns && l.age-l.chosen >= leadEvery {
		l.choose()
		l.chosen = l.age
	}
}

// choose finds the target.
func (l *Lead) choose() {
	// Where frames do not keep step with ticks, what commands have is spread evenly over a frame: four times its mean distance from
	// the middle. Half of that is the least.
	margin := min(l.cfg.Margin+2*l.scatter, estimate.MaxTarget/2)
	first, step := margin, leadGrain
	have := l.target
	if l.frame > leadGrain && l.scatter < l.frame/8 {
		step = l.frame
		if first += (l.phase - l.floor[0] - margin) % step; first < margin {
			first += step
		}
		have = max(first+(have-first+step/2)/step*step, first) // the same one, though the phase moves on
	}
	best, cost := l.rises.Cheapest(l.cfg.Price, margin, first, step)
	if !l.learned || cost+float64(leadWorth) < l.rises.Cost(have, margin, l.cfg.Price) {
		have = best
	}
	l.target, l.learned = have, true
}

// Move moves the lead on by dt and returns it. least is the least round trip known, which decides until the server has said more.
func (l *Lead) Move(dt, least time.Duration) time.Duration {
	want := least/2 + firstLead
	l.frame += (min(max(dt, 0), 4*l.frame+time.Millisecond) - l.frame) / leadLag // not one that hung, or in which a clock was set
	if l.age >= leadSettles {
		want = l.floor[0] + l.target + l.frame/2
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
