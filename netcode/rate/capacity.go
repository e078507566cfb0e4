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

	// A queue that builds up while packets keep arriving shows at what rate they do: after busyFor,
	// and busyGaps pauses between arrivals of which the longest does not count, as it may be a
	// radio's.
	busyFor  = 450 * time.Millisecond
	busySpan = 200 * time.Millisecond // without the longest pause
	busyGaps = 4
	// At first, up to firstPackets, fewer pauses are enough.
	firstGaps    = 1
	firstFor     = 300 * time.Millisecond
	firstPackets = 8
	// The rate becomes what arrived, less 1/marginShare, less what drains the queue in drainFor.
	drainFor    = 1250 * time.Millisecond
	marginShare = 16
	// From 1/nearShare below what arrived on the rate grows slowly: by nearGrowth thousandths a
	// second when nearAfter has passed, and by the square of the time since, but by no more than
	// mostGrowth: on a slow path it takes most of a second until a queue is seen.
	nearShare  = 32
	nearGrowth = 10
	mostGrowth = 40
	nearAfter  = 5 * time.Second

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
// that is never exceeded. Packets that keep arriving while a queue builds up show what the path
// carries, and within half a second the rate becomes a little less. It also watches losses, and the
// least round trip of each round for a queue that stays. Either makes it shrink the rate. It grows
// the rate by 5 % a round, but only when the rate was really the limit: a path that was not asked
// for more has not shown that it carries more. It never sends probes.
//
// The zero Capacity is not usable. Not safe for concurrent use; owned by the connection.
type Capacity struct {
	_ [0]func() // no == for it, which pages would have to load

	cfg   CapacityConfig
	rate  int64
	found int64 // rate that the path allowed when the ceiling came below it; 0: it is above

	rtt      RTT
	round    clock.Time // end of the present round
	started  bool
	least    time.Duration // round trip of the present round
	samples  int
	full     int // rounds in a row with a queue
	fullAt   clock.Time
	mark     int64         // what was delivered when a queue last cut the rate
	marked   clock.Time    // when that was
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
	busy    busy

	outcomes uint32 // of the last packets, bit set: lost
	known    int    // how many
	lost     int
}

// busy is a stretch of time in which each packet stood in a queue, so that they arrived as fast as
// the path carries them.
type busy struct {
	_ [0]func() // no == for it, which pages would have to load

	from         clock.Time // the arrival that it begins with
	gaps         int        // between arrivals since; 0: there is no queue
	bytes        int64      // that arrived since
	longest      time.Duration
	longestBytes int64 // that arrived at its end
	inLongest    bool  // the newest pause is the longest

	before, at clock.Time    // the two newest arrivals, whether or not there is a queue
	newest     int64         // bytes of the newest
	queue      time.Duration // at the newest sample
	queued     time.Duration // when the stretch began
	jump       time.Duration // by how much it grew in the longest pause
}

// arrives adds bytes that arrived at now.
func (b *busy) arrives(now clock.Time, bytes int64) {
	if now > b.at {
		b.before, b.at, b.newest = b.at, now, 0
		if b.gaps > 0 {
			b.gaps++
			gap := now.Sub(b.before)
			if b.inLongest = gap > b.longest; b.inLongest {
				b.longest, b.longestBytes = gap, 0
			}
		}
	}
	b.newest += bytes
	if b.gaps > 0 {
		b.bytes += bytes
		if b.inLongest {
			b.longestBytes += bytes
		}
	}
}

// begins starts a stretch with the newest arrival, which stood in a queue for that long. It had the
// one before it just ahead, unless that is longer ago.
func (b *busy) begins(queue time.Duration) {
	if gap := b.at.Sub(b.before); gap <= 2*queue {
		b.from, b.gaps, b.bytes, b.longest, b.longestBytes = b.before, 1, b.newest, gap, b.newest
		b.inLongest, b.queued, b.jump = true, b.queue, 0
	}
}

// samples records how long the newest packet stood in the queue.
func (b *busy) samples(queue time.Duration) {
	if b.gaps > 0 && b.inLongest {
		b.jump = queue - b.queue
	}
	b.queue = queue
}

// carries returns the rate at which packets arrived and how much the queue has grown, both without
// the longest pause; false if too few arrived in too short a time. At first fewer are enough, and
// the longest pause counts.
func (b *busy) carries(first bool) (rate int64, span, grown time.Duration, ok bool) {
	span, grown = b.at.Sub(b.from), b.queue-b.queued
	if first && b.gaps >= firstGaps && span >= firstFor {
		return perSecond(b.bytes, span), span, grown, true
	}
	if b.gaps < busyGaps || span < busyFor || span-b.longest < busySpan {
		return 0, 0, 0, false
	}
	span -= b.longest
	return perSecond(b.bytes-b.longestBytes, span), span, grown - b.jump, true
}

func perSecond(bytes int64, span time.Duration) int64 {
	return bytes * int64(time.Second/time.Microsecond) / max(int64(span/time.Microsecond), 1)
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

// SetCeiling changes the ceiling, which may not be below the floor. A rate that was at the old one
// was not limited by the path, and goes to the new one at once; but not above the rate that was
// found before a ceiling came below it.
func (c *Capacity) SetCeiling(ceiling BytesPerSecond) error {
	if err := ceiling.validate("Ceiling"); err != nil {
		return err
	}
	if ceiling < c.cfg.Floor {
		return fault.Errorf("rate: Ceiling %d B/s is below Floor %d B/s", ceiling, c.cfg.Floor)
	}
	most := int64(ceiling)
	switch {
	case c.rate < int64(c.cfg.Ceiling):
		if c.found = 0; c.rate > most {
			c.found = c.rate
		}
	case c.found > 0:
		c.rate = min(c.found, most)
	default:
		c.rate = most
	}
	if c.found <= most {
		c.found = 0
	}
	c.cfg.Ceiling, c.rate = ceiling, min(c.rate, most)
	return nil
}

// Limited records that something was left unsent because the rate did not allow it.
func (c *Capacity) Limited() { c.limited = true }

// Delivered records that a packet of size bytes, with overhead, is known at now to have arrived.
// rtt is its round trip without the time that the peer kept it; negative means unknown.
func (c *Capacity) Delivered(now clock.Time, size int, rtt time.Duration) {
	c.outcome(false)
	c.show(now, int64(max(size, 0)))
	c.largest = max(c.largest, int64(size))
	c.carry(now, int64(max(size, 0)))
	c.busy.arrives(now, int64(max(size, 0)))
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
	c.watch(now, rtt)
}

// one returns by how much a packet may stand in a queue because one of our own is ahead of it: on a
// slow path one takes longer than another by more than what is a queue elsewhere.
func (c *Capacity) one() time.Duration {
	return min(time.Duration(c.largest)*time.Second/time.Duration(c.rate), mostOne)
}

// watch lowers the rate to what arrives as soon as a queue that builds up has shown what that is.
// Where what is shown to be carried in a short time is well above the rate, the queue is a radio's.
func (c *Capacity) watch(now clock.Time, rtt time.Duration) {
	queue, one := rtt-c.rtt.Least(), c.one()
	switch {
	case queue < max(calmQueue, one*3/4):
		c.busy.gaps = 0
	case c.busy.gaps == 0:
		c.busy.begins(queue)
	}
	c.busy.samples(queue)
	carries, span, grown, ok := c.busy.carries(c.cuts == 0 && c.known < firstPackets)
	if !ok || queue < max(fullQueue, one) || now < c.draining || carries >= c.rate-c.rate/marginShare {
		return
	}
	// If the rate was sent, the queue grew by this much. Where it grew by less than half as much,
	// less was sent, and the path has become longer.
	lack := span / time.Microsecond * time.Duration(c.rate-carries) / time.Duration(c.rate) * time.Microsecond
	if grown < lack/2 || c.shown() > c.rate+c.rate/4 {
		return
	}
	c.mark, c.marked, c.before = carries, now, 0
	if c.busy.gaps < busyGaps {
		c.mark = 0 // too rough to be careful about
	}
	drain := min(queue, drainFor*2/5)
	c.rate = max(carries-carries/marginShare-carries*int64(drain)/int64(drainFor), c.rate/8, int64(c.cfg.Floor))
	c.draining = now.Add(min(c.rtt.Least()+queue, MaxTimeout) + minRound)
	c.outcomes, c.known, c.lost = 0, 0, 0
	c.busy.gaps, c.full = 0, 0
	c.cuts++
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
	one := c.one()
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
	case c.limited && queue < max(calmQueue, one*3/4) && loss < calmLoss:
		c.grow(now)
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
		c.mark, c.marked = carried, now
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

// grow raises the rate by a round's share. Near the rate at which a queue built up the last time it
// grows slowly at first, and faster the longer none does.
func (c *Capacity) grow(now clock.Time) {
	grown := c.rate*growth/growthUnit + 1
	if near := c.mark - c.mark/nearShare; grown > near && c.rate < c.mark+c.mark/8 {
		since := int64(min(now.Sub(c.marked), time.Minute) / time.Millisecond)
		after := int64(nearAfter / time.Millisecond)
		perMille := min(nearGrowth*since*since/(after*after), mostGrowth) // a second
		grown = min(grown, max(c.rate, near)+c.rate*perMille/1000*int64(c.span()/time.Millisecond)/1000+1)
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
