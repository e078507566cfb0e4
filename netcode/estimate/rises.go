package estimate

import (
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// Rises counts, for every lead that one might have had, how often what was needed rose above it.
// Each time is a stretch of starved ticks, which counts again for each second that it lasts. That
// is what a player feels, and for commands it is measured directly, so nothing is taken by the half
// second or learned from a percentile. An outage rises above every lead alike and so favours none.
//
// What is older fades with the time constant risesMemory. The zero Rises is empty. It is not safe
// for concurrent use.
type Rises struct {
	count [riseLevels]float64 // rises over i x riseGrain
	span  float64             // ns, faded like the counts
	level int                 // of the newest value
	now   clock.Time
	begun bool
}

const (
	// risesMemory is how long a Rises takes to lose 63 % of the weight of something.
	risesMemory = 120 * time.Second
	// RisesMost caps every lead. It is more than MaxTarget, so that commands in two packets a
	// second are in time.
	RisesMost = 640 * time.Millisecond

	riseGrain  = 2 * time.Millisecond
	riseLevels = int(RisesMost / riseGrain)
	riseLeast  = time.Second // of what is divided by
	riseAgain  = time.Second // a starved stretch counts once more
)

// Observe takes in how much was needed at now. A now before that of an earlier call counts as that.
func (r *Rises) Observe(now clock.Time, x time.Duration) {
	if !r.begun {
		r.begun, r.now = true, now
	}
	if dt := now.Sub(r.now); dt > 0 {
		r.now = now
		keep := geom.Exp(-float64(dt) / float64(risesMemory))
		r.span = float64(r.span*keep) + float64(dt)
		lasted := min(float64(dt)/float64(riseAgain), 1)
		for i := range r.count {
			r.count[i] = float64(r.count[i] * keep)
			if i < r.level {
				r.count[i] += lasted
			}
		}
	}
	x = min(max(x, 0), RisesMost)
	level := int((x + riseGrain - 1) / riseGrain) // a lead of this many grains suffices
	for i := r.level; i < level; i++ {
		r.count[i]++
	}
	r.level = level
}

// perMinute returns how often a minute a lead of v would have starved; 0 from RisesMost on.
func (r *Rises) perMinute(v time.Duration) float64 {
	i := max(int(v/riseGrain), 0)
	if i >= riseLevels {
		return 0
	}
	return float64(r.count[i]*float64(time.Minute)) / max(r.span, float64(riseLeast))
}

// Cheapest returns the lead v, one of first, first + step and so on up to RisesMost, with the least
// v + price x perMinute(v - margin), and that sum; the smallest of several. Margin and price are
// not negative, first is at least margin, step is positive.
func (r *Rises) Cheapest(price, margin, first, step time.Duration) (best time.Duration, cost float64) {
	best, cost = first, r.Cost(first, margin, price)
	for v := first + step; v <= RisesMost; v += step {
		if c := r.Cost(v, margin, price); c < cost {
			best, cost = v, c
		}
	}
	return best, cost
}

// Cost returns v + price x perMinute(v - margin), in nanoseconds.
func (r *Rises) Cost(v, margin, price time.Duration) float64 {
	return float64(v) + float64(float64(price)*r.perMinute(v-margin))
}
