package estimate

import (
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// Rises counts, for every possible lead, how often the needed lead rose above it. Each rise is a
// stretch of starved ticks, and counts again for each second that it lasts, because that is what a
// player feels. The need of commands is measured directly, so nothing is summed up by the half
// second or taken from a percentile. An outage rises above every lead alike and so favours none.
//
// Older rises fade with a time constant of two minutes. The zero Rises is empty. It is not safe for
// concurrent use.
type Rises struct {
	_ [0]func() // no == for it, which pages would have to load

	count [riseLevels]float64 // rises over i x riseGrain
	span  float64             // ns, faded like the counts
	level int                 // of the newest value
	now   clock.Time
	begun bool
}

const (
	// risesMemory is the time in which a rise loses 63 % of its weight.
	risesMemory = 120 * time.Second
	// RisesMost is the longest lead. It is longer than MaxTarget, so that commands in two packets a
	// second are in time.
	RisesMost = 640 * time.Millisecond

	riseGrain  = 2 * time.Millisecond
	riseLevels = int(RisesMost / riseGrain)
	riseLeast  = time.Second // the least span that counts are divided by
	riseAgain  = time.Second // a starved stretch counts once more after so long
)

// Observe records the lead that was needed at now. A now before that of an earlier call counts as
// that. Negative needs count as 0, needs above RisesMost as RisesMost.
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
	level := int((x + riseGrain - 1) / riseGrain) // a lead of this many grains is enough
	for i := r.level; i < level; i++ {
		r.count[i]++
	}
	r.level = level
}

// perMinute returns how often a minute a lead of v would have starved; 0 from RisesMost on. That is
// no less than for any longer lead: where the need goes up and down above v, a lead of v starves all
// the time, which counts once a second, and the longer ones at each rise.
func (r *Rises) perMinute(v time.Duration) float64 {
	most := 0.0
	for _, n := range r.count[min(max(int(v/riseGrain), 0), riseLevels):] {
		if n > most {
			most = n
		}
	}
	return float64(most*float64(time.Minute)) / max(r.span, float64(riseLeast))
}

// Cheapest returns the lead v with the least Cost, one of first, first + step and so on up to
// RisesMost, and that cost; the smallest lead of several. margin and price must not be negative,
// first must be at least margin, step positive.
func (r *Rises) Cheapest(price, margin, first, step time.Duration) (best time.Duration, cost float64) {
	best, cost = first, r.Cost(first, margin, price)
	for v := first + step; v <= RisesMost; v += step {
		if c := r.Cost(v, margin, price); c < cost {
			best, cost = v, c
		}
	}
	return best, cost
}

// Cost returns v + price x (the starved stretches a minute with a lead of v - margin), in
// nanoseconds.
func (r *Rises) Cost(v, margin, price time.Duration) float64 {
	return float64(v) + float64(float64(price)*r.perMinute(v-margin))
}
