package netsim

import (
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// Cell is a cellular link's capacity as a random process, in opportunities to deliver up to
// OpportunityBytes, dated in whole milliseconds like those of a recorded trace.
//
// In each millisecond the scheduler grants, by chance, a geometric number of opportunities. Their
// expected rate is log-normal: the sum of a slow wander (moving through the cell) and a fast one
// (fading, other users), both mean-reverting. Fades and outages, which begin at random, stop it.
type Cell struct {
	// Mean is the capacity in bit/s in the long run, with all stops. Zero means there is no Cell.
	Mean int64
	// Grant is the mean number of opportunities in a millisecond that has any, in [1, 32].
	Grant float64
	// Slow and Fast are the two wanders of the logarithm of the rate.
	Slow, Fast Wander
	// Fades are short stops with exponential lengths: FadesPerMinute of mean FadeMean.
	FadesPerMinute float64
	FadeMean       time.Duration
	// Outages are long stops with Pareto lengths: OutagesPerMinute between OutageMin and OutageMax.
	OutagesPerMinute     float64
	OutageMin, OutageMax time.Duration
	OutageShape          float64 // of the Pareto distribution, in [0.2, 5]; smaller means longer
}

// Wander is a mean-reverting random walk (Ornstein-Uhlenbeck) with standard deviation Sigma, in [0,
// 2], which forgets its past with the time constant Time, in [10 ms, 10 min] unless Sigma is 0.
type Wander struct {
	Sigma float64
	Time  time.Duration
}

// OpportunityBytes is what one delivery opportunity carries.
const OpportunityBytes = 1500

const (
	cellSlot = time.Millisecond
	cellStep = 10 * time.Millisecond // the expected rate changes at these
	cellPeak = 8                     // the rate never exceeds this multiple of the mean
	maxGrant = 64                    // opportunities in a millisecond
	maxBusy  = 0.95                  // share of milliseconds with a grant; beyond, grants grow
)

// outageMean returns the mean length of an outage: of the Pareto distribution with minimum a, cut
// off at b (what lies beyond counts as b).
func (c Cell) outageMean() float64 {
	a, b, k := float64(c.OutageMin), float64(c.OutageMax), c.OutageShape
	if a >= b {
		return b
	}
	// a + integral from a to b of (a/x)^k dx
	if k > 0.999 && k < 1.001 {
		return a + float64(a*geom.Log(b/a))
	}
	return a + float64(float64(a/(k-1))*(1-geom.Exp(float64((1-k)*geom.Log(b/a)))))
}

// open returns the share of time in which the link is not stopped. Stops begin at random while it
// is open.
func (c Cell) open() float64 {
	stopped := 0.0 // per nanosecond of being open
	if c.FadesPerMinute > 0 {
		stopped += float64(c.FadesPerMinute*float64(c.FadeMean)) / float64(time.Minute)
	}
	if c.OutagesPerMinute > 0 {
		stopped += float64(c.OutagesPerMinute*c.outageMean()) / float64(time.Minute)
	}
	return 1 / (1 + stopped)
}

// wander is a running Wander.
type wander struct {
	x, keep, kick float64
}

func newWander(w Wander, r *geom.Rand) wander {
	if w.Sigma == 0 {
		return wander{}
	}
	keep := geom.Exp(-float64(cellStep) / float64(w.Time))
	return wander{
		x:    float64(w.Sigma * normal(r)),
		keep: keep,
		kick: float64(w.Sigma * geom.Sqrt(1-float64(keep*keep))),
	}
}

func (w *wander) step(r *geom.Rand) float64 {
	if w.kick > 0 {
		w.x = float64(w.x*w.keep) + float64(w.kick*normal(r))
	}
	return w.x
}

// cell is a running Cell: a source of opportunities.
type cell struct {
	_ [0]func() // no == for it, which pages would have to load

	Cell
	rates, stops geom.Rand
	slow, fast   wander
	mean         float64 // opportunities per open millisecond
	center       float64 // of the logarithm, so that the mean comes out
	ms           int64   // the slot that was looked at last
	grant, more  uint64  // chances of a grant, and of one more opportunity in it, times 1<<64
	fadeAt       int64   // ms; the next stops
	outageAt     int64
	openAt       int64 // no opportunities before this slot
}

// newCell returns a cell whose first opportunity lies at start or later.
func newCell(c Cell, seed uint64, start clock.Time) *cell {
	from := int64(start) / int64(cellSlot)
	s := &cell{Cell: c, rates: geom.NewRand(seed, forCell), stops: geom.NewRand(seed, forFade), ms: from - 1,
		openAt: from}
	s.slow, s.fast = newWander(c.Slow, &s.rates), newWander(c.Fast, &s.rates)
	perMS := float64(c.Mean) / (8 * OpportunityBytes * 1000)
	s.mean = perMS / c.open()
	s.center = float64(-0.5 * (float64(c.Slow.Sigma*c.Slow.Sigma) + float64(c.Fast.Sigma*c.Fast.Sigma)))
	s.fadeAt, s.outageAt = s.wait(c.FadesPerMinute, from), s.wait(c.OutagesPerMinute, from)
	if from%int64(cellStep/cellSlot) != 0 {
		s.adjust() // else next does
	}
	return s
}

const never = int64(1) << 62

// wait returns the slot after from at which something begins that happens perMinute times.
func (s *cell) wait(perMinute float64, from int64) int64 {
	if perMinute <= 0 {
		return never
	}
	d := exponential(&s.stops, time.Duration(float64(time.Minute)/perMinute))
	return from + 1 + int64(d/cellSlot)
}

// next returns the next millisecond with opportunities after the last, and the bytes that it can
// carry.
func (s *cell) next() (clock.Time, int) {
	for {
		s.ms++
		if s.ms%int64(cellStep/cellSlot) == 0 {
			s.adjust()
		}
		if s.ms >= s.fadeAt && s.ms >= s.openAt {
			s.openAt = s.ms + int64(exponential(&s.stops, s.FadeMean)/cellSlot)
			s.fadeAt = s.wait(s.FadesPerMinute, s.openAt)
		}
		if s.ms >= s.outageAt && s.ms >= s.openAt {
			s.openAt = s.ms + int64(pareto(&s.stops, s.OutageMin, s.OutageMax, s.OutageShape)/cellSlot)
			s.outageAt = s.wait(s.OutagesPerMinute, s.openAt)
		}
		if s.ms < s.openAt || s.rates.Uint64() >= s.grant {
			continue
		}
		n := 1
		for n < maxGrant && s.rates.Uint64() < s.more {
			n++
		}
		return clock.Time(s.ms * int64(cellSlot)), n * OpportunityBytes
	}
}

// adjust sets the chances of the next cellStep.
func (s *cell) adjust() {
	x := s.center + s.slow.step(&s.rates) + s.fast.step(&s.rates)
	rate := float64(s.mean * min(geom.Exp(x), cellPeak))
	grant := min(rate/s.Grant, maxBusy)
	s.grant = chance(grant)
	s.more = 0
	if size := rate / grant; size > 1 {
		s.more = chance(1 - 1/size)
	}
}

// chance returns p times 1<<64, p in [0, 1).
func chance(p float64) uint64 { return uint64(float64(p*(1<<53))) << 11 }
