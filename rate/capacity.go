package rate

import (
	"fmt"
	"time"

	"meanwhile/clock"
)

// How a Capacity reacts, once per round: a round trip, and at least MinRound.
const (
	MinRound = 100 * time.Millisecond

	// A queue of this much, in the least round trip of a round, is one that we cause or that leaves us no room; the rate
	// shrinks. Below calmQueue it may grow.
	fullQueue = 60 * time.Millisecond
	calmQueue = 25 * time.Millisecond
	// Loss beyond these shares in the last lossSpan packets. Radio loses a few per cent whatever is sent.
	fullLoss = 0.15
	calmLoss = 0.08
	lossSpan = 32

	growth     = 21 // twentieths: 5 % a round
	growthUnit = 20
	shrink     = 17 // twentieths: by 15 % a round
	// A queue must have lasted this many rounds: a radio's pause is no lack of capacity.
	fullRounds = 3
	// When a queue makes it shrink and less was delivered, it goes there at once, less 1/drainShare to drain the queue, but not below a half.
	drainShare = 8

	carriedParts = 8 // of a second, over which what was delivered is added up
	carriedPart  = time.Second / carriedParts
)

// CapacityConfig tunes a Capacity.
type CapacityConfig struct {
	// Floor and Ceiling bound the rate, Floor <= Ceiling, both in [MinBudget, MaxBudget].
	Floor, Ceiling BytesPerSecond
	// Start is the first rate. Zero means Ceiling: nearly every path carries it, and one that does not is found out
	// within a round.
	Start BytesPerSecond
}

// A Capacity estimates what rate a path carries, between a floor that is always sent and a ceiling that is never
// exceeded. It watches the least round trip of each round for a queue that builds up, and losses; it shrinks the rate on either,
// and lets it grow by 5 % a round only when the rate was really the limit: a path that was not asked for more has not shown
// that it carries more. Nothing is ever sent as a probe.
//
// The zero Capacity is not usable. Not safe for concurrent use; owned by the connection.
type Capacity struct {
	cfg  CapacityConfig
	rate int64

	rtt      RTT
	round    clock.Time // end of the present round
	started  bool
	least    time.Duration // round trip of the present round
	samples  int
	full     int // rounds in a row with a queue
	limited  bool
	draining clock.Time // no second cut before this

	carried [carriedParts]int64 // bytes delivered, by part
	part    int64               // index of the newest

	outcomes uint32 // of the last packets, bit set: lost
	known    int    // how many
	lost     int
}

// NewCapacity returns a Capacity at its starting rate.
func NewCapacity(cfg CapacityConfig) (*Capacity, error) {
	if err := cfg.Floor.validate("Floor"); err != nil {
		return nil, err
	}
	if err := cfg.Ceiling.validate("Ceiling"); err != nil {
		return nil, err
	}
	if cfg.Floor > cfg.Ceiling {
		return nil, fmt.Errorf("rate: Floor %d B/s is above Ceiling %d B/s", cfg.Floor, cfg.Ceiling)
	}
	if cfg.Start == 0 {
		cfg.Start = cfg.Ceiling
	}
	if cfg.Start < cfg.Floor || cfg.Start > cfg.Ceiling {
		return nil, fmt.Errorf("rate: Start %d B/s is outside [Floor %d B/s, Ceiling %d B/s]", cfg.Start, cfg.Floor, cfg.Ceiling)
	}
	return &Capacity{cfg: cfg, rate: int64(cfg.Start)}, nil
}

// Rate returns the present estimate.
func (c *Capacity) Rate() BytesPerSecond { return BytesPerSecond(c.rate) }

// RTT returns the round-trip estimator that the samples feed.
func (c *Capacity) RTT() *RTT { return &c.rtt }

// Limited says that something was left unsent for lack of budget.
func (c *Capacity) Limited() { c.limited = true }

// Delivered takes in a packet of size bytes, with overhead, that is known at now to have arrived, and its round trip without the
// peer's hold; a negative round trip is none.
func (c *Capacity) Delivered(now clock.Time, size int, rtt time.Duration) {
	c.outcome(false)
	c.carry(now, int64(max(size, 0)))
	if rtt >= 0 {
		c.rtt.Sample(now, rtt)
		if c.samples == 0 || rtt < c.least {
			c.least = rtt
		}
		c.samples++
	}
	c.advance(now)
}

// Missing takes in a packet that is taken for lost.
func (c *Capacity) Missing(now clock.Time) {
	c.outcome(true)
	c.advance(now)
}

func (c *Capacity) outcome(lost bool) {
	if c.known == lossSpan {
		c.lost -= int(c.outcomes >> (lossSpan - 1))
	} else {
		c.known++
	}
	c.outcomes <<= 1
	if lost {
		c.outcomes |= 1
		c.lost++
	}
}

// Loss returns the share of the last packets that were lost, at most 32 of them.
func (c *Capacity) Loss() float64 {
	if c.known < lossSpan/4 {
		return 0
	}
	return float64(c.lost) / float64(c.known)
}

// Queue returns by how much the smoothed round trip exceeds that of the empty path.
func (c *Capacity) Queue() time.Duration { return max(c.rtt.Smoothed()-c.rtt.Least(), 0) }

func (c *Capacity) advance(now clock.Time) {
	if !c.started {
		c.started, c.round = true, now.Add(c.span())
	}
	if now < c.round || c.samples == 0 {
		return
	}
	queue, loss := c.least-c.rtt.Least(), c.Loss()
	if queue > fullQueue {
		c.full++
	} else {
		c.full = 0
	}
	switch {
	case c.full >= fullRounds || loss > fullLoss:
		if now < c.draining { // the last cut has not shown yet
			break
		}
		rate := c.rate * shrink / growthUnit
		if c.full >= fullRounds {
			carried := c.carry(now, 0)
			rate = min(rate, max(carried-carried/drainShare, c.rate/2))
		}
		c.rate = max(rate, int64(c.cfg.Floor))
		c.draining = now.Add(min(c.rtt.Smoothed()+queue, MaxTimeout))
		c.outcomes, c.known, c.lost = 0, 0, 0
	case c.limited && queue < calmQueue && loss < calmLoss:
		c.rate = min(c.rate*growth/growthUnit+1, int64(c.cfg.Ceiling))
	}
	c.limited, c.samples = false, 0
	c.round = now.Add(c.span())
}

// carry adds bytes delivered at now and returns those of the last second.
func (c *Capacity) carry(now clock.Time, bytes int64) (sum int64) {
	part := max(int64(now)/int64(carriedPart), c.part)
	for range min(part-c.part, carriedParts) {
		c.part++
		c.carried[c.part%carriedParts] = 0
	}
	c.part = part
	c.carried[part%carriedParts] += bytes
	for _, b := range c.carried {
		sum += b
	}
	return sum
}

// span is the length of a round.
func (c *Capacity) span() time.Duration { return max(min(c.rtt.Smoothed(), MaxTimeout), MinRound) }
