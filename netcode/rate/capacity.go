package rate

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

// How a Capacity reacts, once per round: a round trip, and at least minRound.
const (
	minRound = 100 * time.Millisecond

	// A queue this long, in the least round trip of a round, is either our own or leaves us no
	// room: the rate shrinks. Below calmQueue it may grow.
	fullQueue = 60 * time.Millisecond
	calmQueue = 25 * time.Millisecond
	// Loss beyond these shares in the last lossSpan packets. Radio loses a few per cent whatever is
	// sent.
	fullLoss = 0.15
	calmLoss = 0.08
	lossSpan = 32
	// Beyond this loss a queue is full and shows no gradient any more, or the path carries nothing
	// at all. The rate becomes what gets through.
	heavyLoss = 0.4

	// mostOne limits how much of a queue may be explained by the time that one packet takes.
	mostOne = 120 * time.Millisecond

	growth     = 21 // twentieths: 5 % a round
	growthUnit = 20
	shrink     = 17 // twentieths: by 15 % a round
	// A queue must have lasted this many rounds, and for fullFor: a pause of a radio is no lack of
	// capacity.
	fullRounds   = 3
	longPathCuts = 4 // after so many cuts a long path is believed to be long
	longPath     = 500 * time.Millisecond
	fullFor      = 700 * time.Millisecond
	// A full queue makes the rate drop at once to what was delivered, less 1/drainShare to drain
	// the queue, but not below a half.
	drainShare = 8

	// Parts of the short time over which deliveries show what the path can carry.
	shownParts = 4
	shownPart  = time.Second / 16
	shownFor   = 8 * time.Second // the most of this time counts, and of the one before

	// Parts of the second over which deliveries are added up.
	carriedParts = 8
	carriedPart  = time.Second / carriedParts
)

// CapacityConfig tunes a Capacity.
type CapacityConfig struct {
	// Floor and Ceiling bound the rate: Floor <= Ceiling, both in [MinBudget, MaxBudget].
	Floor, Ceiling BytesPerSecond
	// Start is the first rate, in [Floor, Ceiling]. Zero means Ceiling: nearly every path carries
	// it, and a path that does not shows that within a round.
	Start BytesPerSecond
}

// A Capacity estimates which rate a path carries, between a floor that is always sent and a ceiling
// that is never exceeded. It watches losses, and the least round trip of each round for a queue
// that builds up. Either makes it shrink the rate. It grows the rate by 5 % a round, but only when
// the rate was really the limit: a path that was not asked for more has not shown that it carries
// more. It never sends probes.
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
	fullAt   clock.Time
	mark     int64         // what was delivered when a queue last cut the rate
	before   time.Duration // queue at the last cut, if that was for a queue
	cuts     int           // for a full queue or heavy loss
	limited  bool
	draining clock.Time // no second cut before this

	carried [carriedParts]int64 // bytes delivered, by part
	part    int64               // index of the newest

	quick   [shownParts]int64 // bytes delivered, by part
	shownAt int64
	// When the newest delivery became known, and the newest one after a pause.
	delivered, resumed clock.Time
	// The most in quick, of the present and of the last shownFor.
	best   [2]int64
	bestAt clock.Time

	largest int64 // packet delivered of late, in bytes

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
		return nil, fault.Errorf("rate: Floor %d B/s is above Ceiling %d B/s", cfg.Floor, cfg.Ceiling)
	}
	if cfg.Start == 0 {
		cfg.Start = cfg.Ceiling
	}
	if cfg.Start < cfg.Floor || cfg.Start > cfg.Ceiling {
		return nil, fault.Errorf("rate: Start %d B/s is outside [Floor %d B/s, Ceiling %d B/s]",
			cfg.Start, cfg.Floor, cfg.Ceiling)
	}
	return &Capacity{cfg: cfg, rate: int64(cfg.Start)}, nil
}

// Rate returns the present estimate.
func (c *Capacity) Rate() BytesPerSecond { return BytesPerSecond(c.rate) }

// Limited records that something was left unsent because the rate did not allow it.
func (c *Capacity) Limited() { c.limited = true }

// Delivered records that a packet of size bytes, with overhead, is known at now to have arrived.
// rtt is its round trip without the time that the peer kept it; negative means unknown.
func (c *Capacity) Delivered(now clock.Time, size int, rtt time.Duration) {
	c.outcome(false)
	c.show(now, int64(max(size, 0)))
	c.largest = max(c.largest, int64(size))
	c.carry(now, int64(max(size, 0)))
	if rtt >= 0 {
		c.sample(now, rtt)
	}
	c.advance(now)
}

// Restart forgets everything but the rate, for a clock that was set.
func (c *Capacity) Restart() { *c = Capacity{cfg: c.cfg, rate: c.rate} }

// Sample records a round trip that no newly delivered packet showed. Take off the queue of the way
// back where it is known (see OneWay), or it counts as one of ours. Negative round trips are
// ignored.
func (c *Capacity) Sample(now clock.Time, rtt time.Duration) {
	if rtt < 0 {
		return
	}
	c.sample(now, rtt)
	c.advance(now)
}

func (c *Capacity) sample(now clock.Time, rtt time.Duration) {
	c.rtt.Sample(now, rtt)
	if c.samples == 0 || rtt < c.least {
		c.least = rtt
	}
	c.samples++
}

// Missing records that a packet is taken for lost.
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

// loss returns the share of the last packets that were lost, at most 32 of them.
func (c *Capacity) loss() float64 {
	if c.known < lossSpan/4 {
		return 0
	}
	return float64(c.lost) / float64(c.known)
}

// advance ends the round if it is over at now, and changes the rate by what the round has shown.
func (c *Capacity) advance(now clock.Time) {
	if !c.started {
		c.started, c.round = true, now.Add(c.span())
	}
	if now < c.round || c.samples == 0 {
		return
	}
	c.judge(now)
	c.limited, c.samples = false, 0
	c.round = now.Add(c.span())
}

// judge changes the rate by what the round that ends at now has shown.
func (c *Capacity) judge(now clock.Time) {
	empty := c.rtt.Least()
	// A round trip this long from the first packet on is more likely a full queue than a long path.
	if c.cuts < longPathCuts {
		empty = min(empty, longPath)
	}
	queue, loss := c.least-empty, c.loss()
	// On a slow path one packet takes longer than another by more than what is a queue elsewhere.
	one := min(time.Duration(c.largest)*time.Second/time.Duration(c.rate), mostOne)
	c.largest -= c.largest / growthUnit
	if queue > max(fullQueue, one) {
		if c.full++; c.full == 1 {
			c.fullAt = now
		}
	} else {
		c.full = 0
	}
	distrusted := empty == longPath && c.cuts < longPathCuts
	full := (c.full >= fullRounds || distrusted && c.full > 1) && now.Sub(c.fullAt) >= fullFor
	heavy := loss > heavyLoss && c.known >= lossSpan/2
	switch {
	case full || heavy || loss > fullLoss && c.known == lossSpan:
		switch {
		case now < c.draining: // the last cut has not shown yet
		case full && c.cuts > 0 && c.before > 0 && queue > c.before-c.before/16:
			// Sending less did not shorten it, so it is no queue: the path has become longer.
			c.rtt, c.full, c.before = RTT{}, 0, 0
		default:
			c.cut(now, queue, loss, full, heavy, empty == longPath)
		}
	case c.limited && queue < max(calmQueue, one/2) && loss < calmLoss:
		c.grow()
	}
}

// cut lowers the rate: for a full queue, for heavy loss, or for the loss of some. far says that the
// empty path's round trip is at least longPath.
func (c *Capacity) cut(now clock.Time, queue time.Duration, loss float64, full, heavy, far bool) {
	if c.before = 0; full {
		c.before = queue
	}
	rate, carried := c.rate*shrink/growthUnit, c.carry(now, 0)
	switch {
	case full:
		c.mark = carried
		rate = min(rate, carried-carried/drainShare)
	case heavy:
		rate = min(rate, c.rate-int64(float64(float64(c.rate)*loss)))
	default: // where this much arrives, a little less is no cure for what is lost
		rate = max(rate, min(c.rate, carried+carried/2))
	}
	least := c.rate / 2
	if c.cuts == 0 && far {
		least = c.rate / 8 // the first rate was never measured
	}
	shown := c.shown()
	rate = max(rate, least, min(c.rate, shown-shown/drainShare))
	if full || heavy {
		c.cuts++
	}
	c.rate = max(rate, int64(c.cfg.Floor))
	c.draining = now.Add(min(c.rtt.Smoothed()+queue, MaxTimeout))
	c.outcomes, c.known, c.lost = 0, 0, 0
}

// grow raises the rate by a round's share, and more carefully near the rate at which a queue built
// up the last time.
func (c *Capacity) grow() {
	grown := c.rate*growth/growthUnit + 1
	if c.mark > 0 && grown > c.mark-c.mark/10 && grown < 2*c.mark {
		grown = c.rate + c.rate/100 + 1
	}
	c.rate = min(grown, int64(c.cfg.Ceiling))
}

// carry adds bytes delivered at now and returns the bytes of the last second.
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

// show adds bytes delivered at now to what the path has shown to carry in a short time. A path that
// stood still and then delivers its backlog at once is a radio's: it carries more than it is asked
// for, and a lower rate would not have shortened the queue. Acknowledgements after a pause do not
// say when the packets arrived, so they do not count.
func (c *Capacity) show(now clock.Time, bytes int64) {
	if since := now.Sub(c.delivered); since > shownPart {
		c.resumed = now
	}
	c.delivered = now
	if now == c.resumed {
		return
	}
	part := max(int64(now)/int64(shownPart), c.shownAt)
	for range min(part-c.shownAt, shownParts) {
		c.shownAt++
		c.quick[c.shownAt%shownParts] = 0
	}
	c.shownAt = part
	c.quick[part%shownParts] += bytes
	if now.Sub(c.bestAt) > shownFor {
		c.best[1], c.best[0], c.bestAt = c.best[0], 0, now
	}
	var sum int64
	for _, b := range c.quick {
		sum += b
	}
	c.best[0] = max(c.best[0], sum)
}

// shown returns the highest rate at which the path delivered for a quarter of a second in the last
// eight to sixteen seconds.
func (c *Capacity) shown() int64 {
	return max(max(c.best[0], c.best[1])-c.largest, 0) * int64(time.Second) / int64(shownParts*shownPart)
}

// span is the length of a round.
func (c *Capacity) span() time.Duration { return max(min(c.rtt.Smoothed(), MaxTimeout), minRound) }
