// Package estimate decides how long a delay is worth having.
//
// To wait for something that arrives irregularly, such as snapshots to draw or commands to run,
// is to choose a delay. Players feel a long delay all the time and a short one now and then, as a hitch.
// Here that choice is a price. [Ages] turns arrivals into the one signal that matters: how old the
// newest thing gets before the next one comes. [Estimator] keeps a forgetting histogram of the
// worst of these ages in each half second, and picks the delay v that minimises
//
//	v + price x (hitches a minute that v would have left)
//
// It moves the price until the hitches that really happen keep to a budget. [Overdue] slows a clock
// down before it runs dry, and [Slew] moves a delay towards its target. [Rises] does the same for
// the lead of commands.
//
// All are pure: the caller passes the time. They allocate nothing after New, and give the same bits
// on every platform. They are not safe for concurrent use.
package estimate

import (
	"time"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

const (
	// blockSpan is the stretch of time of which the worst value counts once.
	blockSpan = 500 * time.Millisecond
	// MaxTarget is the longest target. Longer gaps are outages, which no delay is meant to bridge.
	MaxTarget = 500 * time.Millisecond

	blocksPerMinute = float64(time.Minute / blockSpan)
	settled         = 10 // blocks after which the histogram is trusted
	resettled       = 6  // the same on a faster path
)

// Config tunes an Estimator. The zero Config is a sound default for snapshots 50 ms apart.
type Config struct {
	// Interval is the usual spacing of arrivals. Until 5 seconds have been seen, the target is 2
	// intervals + 30 ms. Zero means 50 ms; at most MaxTarget.
	Interval time.Duration
	// Budget is how many hitches a minute the price aims at, in [0, 60]. Zero means 1.2, which
	// leaves about one, because hitches before the price has settled count too, and outages a
	// little. FixedPrice makes it meaningless.
	Budget float64
	// FixedPrice is how much delay one hitch a minute less is worth, at most MaxPrice. Zero lets
	// Budget move the price.
	FixedPrice time.Duration
	// Start is the first price where Budget moves it, at most MaxPrice. Zero means StartPrice.
	Start time.Duration
	// Slows is how the clock that keeps the delay slows down for overdue arrivals; nil if it does
	// not. Gaps that slowing bridges need no delay, so the price is then weighed against the delay
	// that each gap would have needed.
	Slows *Overdue
}

// The price of one hitch a minute, in delay: its first value, and how far the budget may move it.
const (
	StartPrice = 28 * time.Millisecond
	minPrice   = 6 * time.Millisecond
	MaxPrice   = 300 * time.Millisecond

	priceGain = 0.15 // change of the price's logarithm per hitch over budget, in the long run
	// A match lasts minutes, and a price that moves slowly learns little in one. It begins where a
	// bad path needs it and moves three times as fast at first, so that on a good path it has come
	// down within two minutes.
	priceHaste, priceHastens = 2, 240 // blocks

	// spareShare is by which part of what the delay exceeded its target a gap needs less. The whole
	// would save more delay than the budget of hitches allows (docs/tuning/spare-delay.md).
	spareShare = 3

	// No delay prevents an outage, but a longer delay makes the stall shorter, which is worth a
	// little where outages are many.
	outageWeighs = 1. / 16
)

// An Estimator finds the delay above the floor that is worth having.
type Estimator struct {
	_ [0]func() // no == for it, which pages would have to load

	cfg     Config
	hist    histogram // of the blocks' worst values
	needs   histogram // of the delay that they need, where the clock slows down
	price   float64   // nanoseconds
	target  time.Duration
	typical time.Duration

	block   int64 // index of the block that is being filled
	worst   time.Duration
	spare   time.Duration // by which the delay exceeded the target before the gap that is going on
	bridged time.Duration // the same of the worst value
	filling bool

	pending int     // hitches since the last value
	hitches float64 // hitches of the block
	blocks  uint64
	settles uint64 // blocks after which the histogram is trusted
	slower  bool   // than the path before
}

// New returns an Estimator that has seen nothing.
func New(cfg Config) (*Estimator, error) {
	e := &Estimator{cfg: cfg}
	if cfg.Interval < 0 || cfg.Interval > MaxTarget {
		return nil, fault.Errorf("estimate: Interval %v is outside [0, %v]", cfg.Interval, MaxTarget)
	}
	if !(cfg.Budget >= 0 && cfg.Budget <= 60) {
		return nil, fault.Errorf("estimate: Budget %v a minute is outside [0, 60]", cfg.Budget)
	}
	if cfg.FixedPrice < 0 || cfg.FixedPrice > MaxPrice {
		return nil, fault.Errorf("estimate: FixedPrice %v is outside [0, %v]", cfg.FixedPrice, MaxPrice)
	}
	if cfg.Start == 0 {
		e.cfg.Start = StartPrice
	}
	if cfg.Start < 0 || cfg.Start > MaxPrice {
		return nil, fault.Errorf("estimate: Start %v is outside [0, %v]", cfg.Start, MaxPrice)
	}
	if cfg.Slows != nil {
		slows := *cfg.Slows
		e.cfg.Slows = &slows
	}
	if e.cfg.Interval == 0 {
		e.cfg.Interval = 50 * time.Millisecond
	}
	if e.cfg.Budget == 0 {
		e.cfg.Budget = 1.2
	}
	e.reset()
	return e, nil
}

// reset forgets everything.
func (e *Estimator) reset() {
	*e = Estimator{cfg: e.cfg, price: float64(e.cfg.Start), settles: settled}
	if e.cfg.FixedPrice > 0 {
		e.price = float64(e.cfg.FixedPrice)
	}
	e.target = min(2*e.cfg.Interval+30*time.Millisecond, MaxTarget)
}

// Another forgets what was learned: values come over another path from now on, whose floor is
// higher by more, or lower if more is 0. Until the first blocks of values have shown what it needs,
// the target is the first one, but not longer than before on a faster path. On a slower path it is
// by more longer, not shorter than before, and grows with each value above it.
func (e *Estimator) Another(more time.Duration) {
	before := e.target
	e.reset()
	e.typical = e.cfg.Interval
	if e.slower = more > 0; e.slower {
		e.target = min(max(e.target+more, before), MaxTarget)
	} else {
		e.target, e.settles = min(e.target, before), resettled
	}
}

// Anew forgets what was learned, as Another does, where nothing is known of the other path. The
// target is the first one until the first blocks of values have shown what the path needs, and
// grows with each value above it.
func (e *Estimator) Anew() {
	e.reset()
	e.typical, e.settles, e.slower = e.cfg.Interval, resettled, true
}

// Observe records one value x, seen at now: how long, above the floor, nothing newer was there.
// Values above MaxTarget are outages. They are counted and not learned, and of the hitches reported
// since the last value only one moves the price, at a sixteenth. Negative values count as 0. A now
// before that of an earlier call counts as that.
func (e *Estimator) Observe(now clock.Time, x time.Duration) {
	if block := int64(now) / int64(blockSpan); !e.filling {
		e.block = block
	} else if block > e.block {
		e.close()
		e.block = block
	}
	e.filling = true
	if x > MaxTarget {
		e.hitches += float64(outageWeighs * float64(min(e.pending, 1)))
		e.pending = 0
		return
	}
	e.hitches += float64(e.pending)
	e.pending = 0
	if x > e.worst {
		e.worst, e.bridged = x, e.spare
	}
	if e.worst == 0 {
		e.worst = 1 // so that a block with a value counts
	}
}

// Spare records by how much the delay exceeds the target as a gap begins, which the next value
// ends: a clock that slowed down for the gap before has some of that delay left. Negative spans
// count as 0.
func (e *Estimator) Spare(d time.Duration) { e.spare = max(d, 0) }

// Hitch reports n hitches since the last value. Negative n takes some back, never more than were
// reported.
func (e *Estimator) Hitch(n int) { e.pending = min(max(e.pending+n, 0), 100) }

// Excuse takes back the hitches reported since the last value, because their cause is not the
// observed path.
func (e *Estimator) Excuse() { e.pending = 0 }

// close ends a block.
func (e *Estimator) close() {
	if e.worst > 0 { // otherwise the block had outages only
		e.blocks++
		e.hist.Add(e.worst)
		if e.cfg.FixedPrice == 0 && e.blocks > e.settles { // before, the price did not choose the target
			gain := float64(priceGain * (1 + priceHaste*priceHastens/(priceHastens+float64(e.blocks))))
			step := float64(gain * (e.hitches - e.cfg.Budget/blocksPerMinute))
			e.price = min(max(float64(e.price*geom.Exp(step)), float64(minPrice)), float64(MaxPrice))
		}
		e.typical = e.hist.Quantile(0.5)
		weigh := &e.hist
		if e.cfg.Slows != nil {
			weigh = &e.needs
			if need := e.cfg.Slows.need(e.worst, e.typical); need < e.worst {
				weigh.Spread(max(need-e.bridged/spareShare, min(need, e.typical)))
			} else {
				weigh.Add(need) // the usual case, which is known well
			}
		}
		if e.blocks >= e.settles {
			e.target = min(weigh.Cheapest(float64(e.price*blocksPerMinute)), MaxTarget)
		} else if e.slower {
			e.target = min(max(e.target, e.worst), MaxTarget)
		}
	}
	e.worst, e.bridged, e.hitches = 0, 0, 0
}

// Target returns the delay above the floor that is worth having, at most MaxTarget.
func (e *Estimator) Target() time.Duration { return e.target }

// Typical returns the median of the blocks' worst values; 0 before the first block has ended.
func (e *Estimator) Typical() time.Duration { return e.typical }

// Price returns the present price of one hitch a minute, in delay.
func (e *Estimator) Price() time.Duration { return time.Duration(e.price) }

// Settled reports whether enough was seen to base the target on it: five seconds, or three after
// Another on a faster path.
func (e *Estimator) Settled() bool { return e.blocks >= e.settles }

// buckets is the number of buckets of a histogram.
const buckets = 64

// edges are the buckets' upper bounds: 2 ms x 1.1^i, up to 810 ms.
var edges = func() (e [buckets]time.Duration) {
	e[0] = 2 * time.Millisecond
	for i := 1; i < buckets; i++ {
		e[i] = e[i-1] * 11 / 10
	}
	return e
}()

// forgetting is the least weight of a new value, 1 - exp(-blockSpan/90 s). A value that is a minute
// and a half old has lost 63 % of its weight.
const forgetting = 0.00554016

// A histogram is the distribution of spans, in buckets that grow by a tenth. The first values have
// equal weight; later ones let the older ones fade, with a time constant of 180 values. The zero
// histogram is empty.
type histogram struct {
	weight [buckets]float64 // sums to 1 once there is a value
	n      uint32
}

// bucket returns the first bucket whose upper bound is not below x, or the last one.
func bucket(x time.Duration) int {
	lo, hi := 0, buckets-1
	for lo < hi {
		if mid := (lo + hi) / 2; edges[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Add records one value.
func (h *histogram) Add(x time.Duration) { h.weight[bucket(x)] += h.fade() }

// spread is the share of a value's own bucket, of its neighbours and of theirs.
var spread = [5]float64{1. / 8, 1. / 4, 1. / 4, 1. / 4, 1. / 8}

// Spread records one value as if it had also been seen about a tenth smaller and larger, so that
// the tail of a distribution of few values has no gaps.
func (h *histogram) Spread(x time.Duration) {
	share, b := h.fade(), bucket(x)
	for k, part := range spread {
		h.weight[min(max(b+k-len(spread)/2, 0), buckets-1)] += float64(share * part)
	}
}

// fade lets the older values fade and returns the weight of the next.
func (h *histogram) fade() float64 {
	share := max(1/float64(h.n+1), forgetting)
	if h.n < 1<<31 {
		h.n++
	}
	for i := range h.weight {
		h.weight[i] = float64(h.weight[i] * (1 - share))
	}
	return share
}

// Len returns the number of values.
func (h *histogram) Len() int { return int(h.n) }

// Above returns the share of values above x, to the resolution of the buckets: values in the bucket
// of x do not count.
func (h *histogram) Above(x time.Duration) float64 {
	sum := 0.0
	for i := buckets - 1; i > bucket(x); i-- {
		sum += h.weight[i]
	}
	return min(sum, 1)
}

// Cheapest returns the span v, one of the buckets' bounds, with the least v + price x Above(v), and
// the smallest of several. price is in nanoseconds. An empty histogram gives the smallest bound.
func (h *histogram) Cheapest(price float64) time.Duration {
	best, cost := edges[buckets-1], float64(edges[buckets-1])
	above := h.weight[buckets-1]
	for i := buckets - 2; i >= 0; i-- {
		if c := float64(edges[i]) + float64(price*above); c <= cost {
			best, cost = edges[i], c
		}
		above += h.weight[i]
	}
	return best
}

// Quantile returns the span below which the share q of values lies, interpolated within a bucket.
// An empty histogram gives 0.
func (h *histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	q = min(max(q, 0), 1)
	sum := 0.0
	lower, most := time.Duration(0), time.Duration(0)
	for i, w := range h.weight {
		if w > 0 {
			if sum+w >= q {
				part := min(max((q-sum)/w, 0), 1)
				return lower + time.Duration(float64(part*float64(edges[i]-lower)))
			}
			most = edges[i]
		}
		sum += w
		lower = edges[i]
	}
	return most // the weights may sum to a little less than 1
}
