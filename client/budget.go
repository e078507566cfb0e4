package client

import (
	"time"

	"meanwhile/netcode/predict"
)

const (
	// defaultReplayBudget is Config.ReplayBudget where it is zero: a fourth of a frame at 60 Hz.
	defaultReplayBudget = 4 * time.Millisecond
	// MaxReplayBudget bounds Config.ReplayBudget.
	MaxReplayBudget = 100 * time.Millisecond
	// leastReplay is how many ticks a frame may run again whatever they cost, so that the slowest
	// machine catches up.
	leastReplay = 4
)

// budget says how many ticks a frame may run again: as many as Config.ReplayBudget pays for, by
// what they cost in recent frames.
type budget struct {
	ran   uint64        // ticks that ran again in the newest frame
	rest  time.Duration // what a frame takes that runs none again, smoothed
	spent time.Duration // by frames that ran some, without rest; older ones count less
	ticks time.Duration // that ran again in them, likewise, in 1/256
}

// unit is one in budget.ticks.
const unit = 256

// limit returns how many ticks the next frame may run again.
func (b *budget) limit(most time.Duration) int {
	if most == 0 {
		most = defaultReplayBudget
	}
	if b.spent <= 0 {
		return predict.MaxReplay
	}
	return int(min(max(most*b.ticks/(b.spent*unit), leastReplay), predict.MaxReplay))
}

// took notes how long a frame took.
func (b *budget) took(d time.Duration) {
	n := time.Duration(b.ran)
	b.ran = 0
	if d = min(max(d, 0), time.Second); n == 0 {
		b.rest += (d - b.rest) / 8
		return
	}
	d = max(d-b.rest, 0)
	if b.spent > 0 { // the machine may have done something else meanwhile
		d = min(d, 2*n*b.spent*unit/b.ticks)
	}
	b.spent, b.ticks = b.spent*3/4+d, b.ticks*3/4+n*unit
}

// FrameTook says how long the last call of Frame took, by which the client keeps to
// Config.ReplayBudget. Without it a frame runs up to predict.MaxReplay ticks again.
func (c *Client) FrameTook(d time.Duration) { c.replay.took(d) }

// SetReplayBudget changes Config.ReplayBudget. It fails where New would.
func (c *Client) SetReplayBudget(d time.Duration) error {
	cfg := c.cfg
	cfg.ReplayBudget = d
	if err := checkPrediction(&cfg); err != nil {
		return err
	}
	c.cfg = cfg
	return nil
}

// payDebt replays what an earlier frame left. Meanwhile commands run from the outdated states, and
// these are drawn; what they were wrong by is hidden when the true ones take their place.
func (c *Client) payDebt() {
	r := &c.own
	if r.ring.Debt() == 0 || r.me == 0 {
		return
	}
	before := r.pose()
	c.ahead.before()
	c.stats.Prediction.Replayed += uint64(r.ring.Catch())
	c.ahead.after()
	r.hideFrom(before)
	c.events.collect()
	if r.ring.Debt() > 0 {
		c.stats.Prediction.Deferred++
		r.show(r.newestDrawn())
	}
}
