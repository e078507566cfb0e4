package netsim

import (
	"time"
)

// Limits of a LinkConfig.
const (
	MaxDelay = 10 * time.Second // of Delay, of a jitter's scale, of a pause
	MinRate  = 1_000            // bit/s, of Rate and Cell.Mean
	MaxRate  = 100_000_000_000  // bit/s
	MaxQueue = 64 << 20         // bytes
	// Overhead is what each datagram adds on a link whose rate is limited: 14 B Ethernet, 20 B
	// IPv4, 8 B UDP.
	Overhead = 42
)

// LinkConfig describes one direction of a path. The zero LinkConfig delivers everything at once.
//
// A datagram meets, in this order: loss, the radio's pauses, the queue and capacity of the
// bottleneck, delay, jitter, duplication.
type LinkConfig struct {
	// Delay is the least time from end to end, in [0, MaxDelay].
	Delay time.Duration
	// Jitter is added to each datagram's Delay.
	Jitter Jitter
	// Reorder lets a datagram overtake another that drew more jitter. Otherwise order is kept.
	Reorder bool
	// Loss decides which datagrams vanish.
	Loss Loss
	// Duplicate is the share of datagrams that arrive twice, in [0, 1].
	Duplicate float64
	// Pause is when the link carries nothing and keeps what waits, as a radio does that scans other
	// channels.
	Pause Pause

	// At most one of Rate, Cell and Trace limits the capacity. Each datagram then costs its size +
	// Overhead.

	// Rate is a fixed capacity in bit/s. Zero means none.
	Rate int64
	// Cell is a generated cellular capacity. A Cell with Mean 0 means none.
	Cell Cell
	// Trace is a recorded capacity, read from TraceStart on and then again and again. Nil means
	// none.
	Trace      *Trace
	TraceStart time.Duration
	// Queue is the size of the bottleneck's queue in bytes; datagrams that do not fit are dropped.
	// Zero means the larger of 30 kB and 400 ms of the mean rate. Without a capacity there is no
	// queue.
	Queue int
	// Cross is the level of other traffic that shares the queue, in [0, 1]; it needs a capacity. At
	// any level above 0 small packets take 5 % of the mean rate; bursts come every 4 s on average,
	// each worth level x (40 to 400) ms of the link, at three times its rate.
	Cross float64
}

// Shape is a distribution of jitter.
type Shape uint8

// The shapes. For each, Scale is the parameter that is easy to imagine.
const (
	NoJitter         Shape = iota
	UniformJitter          // up to Scale
	HalfNormalJitter       // |normal| with standard deviation Scale
	LogNormalJitter        // with median Scale; Sigma is the deviation of its logarithm
)

// Jitter is a random delay, drawn anew for each datagram and cut off at MaxDelay.
type Jitter struct {
	Shape Shape
	Scale time.Duration
	Sigma float64 // in [0, 3]; LogNormalJitter only
}

// Uniform returns a jitter between 0 and most.
func Uniform(most time.Duration) Jitter { return Jitter{Shape: UniformJitter, Scale: most} }

// LogNormal returns a jitter that is below median half of the time; sigma is the standard deviation
// of its logarithm.
func LogNormal(median time.Duration, sigma float64) Jitter {
	return Jitter{Shape: LogNormalJitter, Scale: median, Sigma: sigma}
}

// HalfNormal returns a jitter that is below p99 in 99 % of cases and most often near 0.
func HalfNormal(p99 time.Duration) Jitter {
	// The 99th percentile of |N(0,1)| is 2.575829.
	return Jitter{Shape: HalfNormalJitter, Scale: p99 * 1_000_000 / 2_575_829}
}

// Loss is the Gilbert-Elliott model: two states, tossed for each datagram. All fields are in [0,
// 1]. For independent loss set InGood alone.
type Loss struct {
	ToBad  float64 // chance per datagram that the good state ends
	ToGood float64 // chance per datagram that the bad state ends; its mean length is 1/ToGood datagrams
	InGood float64 // loss in the good state
	InBad  float64 // loss in the bad state
}

// Bursts returns a Loss of the given share that comes in runs of the given mean length, in
// datagrams, at least 1.
func Bursts(share, mean float64) Loss {
	if share <= 0 || share >= 1 || mean < 1 {
		return Loss{InGood: share}
	}
	// In balance the bad state has the share p/(p+r) for p = ToBad, r = ToGood = 1/mean.
	r := 1 / mean
	return Loss{ToBad: float64(share*r) / (1 - share), ToGood: r, InBad: 1}
}

// Rate returns the share of datagrams lost in the long run.
func (l Loss) Rate() float64 {
	if l.ToBad == 0 {
		return l.InGood
	}
	bad := l.ToBad / (l.ToBad + l.ToGood)
	return float64(bad*l.InBad) + float64((1-bad)*l.InGood)
}

// Pause is when a link keeps everything back: for a time between Min and Max, evenly distributed,
// after being open for a time with mean Every (exponential). Every 0 means never.
type Pause struct {
	Every, Min, Max time.Duration
}

// Mean returns the mean capacity in bit/s, or 0 if it is not limited.
func (c LinkConfig) Mean() int64 {
	switch {
	case c.Rate != 0:
		return c.Rate
	case c.Cell.Mean != 0:
		return c.Cell.Mean
	case c.Trace != nil:
		return c.Trace.Mean()
	}
	return 0
}

// queue returns the size of the bottleneck's queue in bytes.
func (c LinkConfig) queue() int {
	if c.Queue != 0 {
		return c.Queue
	}
	return int(min(max(30_000, c.Mean()/8*400/1000), MaxQueue))
}
