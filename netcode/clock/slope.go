package clock

import (
	"math"
	"time"
)

// How the slope of a corridor is weighed; docs/tuning/clock-slope.md says what else was tried.
const (
	// The scale is how far samples usually lie above their line: scaleTimes the excess at rank
	// scaleRank percent of all samples, and at least scaleLeast. Below that it is the crystals that
	// wander.
	scaleRank  = 30
	scaleTimes = 2
	scaleLeast = 100 * time.Microsecond
	// Half as many crystals are believed to be off by this much, in ppb, as to be exact.
	priorSkew = 200_000

	slopes   = 17     // slopes tried at once
	around   = 60_000 // ppb on either side of the widest corridor's slope, looked at first
	finest   = 200    // ppb between two slopes; finer steps change nothing
	unlikely = 0.02   // share of the likeliest: less likely slopes are left out of a closer look
	// This many factors fit a float64 together: each is at most 1 + (maxExcess + 60 ms) /
	// scaleLeast, which is below 1<<16.
	normalise = 16
)

// A way holds the samples of one direction. A line of slope b ppb has to stay below y[i] + b*x[i]
// ns at sample i.
type way struct {
	n    int
	x, y [blockCount]float64
	over [blockCount]float64 // scratch: how far each sample lies above the line that touches them all
	inv  float64             // 1 / scale
}

// fill loads the samples p, at least one. Their line rises with sign times the slope.
func (w *way) fill(p []point, sign float64) {
	least := p[0].v
	for _, c := range p {
		least = min(least, c.v)
	}
	w.n = len(p)
	for i, c := range p {
		w.x[i] = float64(sign*float64(c.age)) / 1e9
		w.y[i] = float64(min(c.v-least, maxExcess))
	}
}

// measure sets the scale from the excesses of the samples at slope b.
func (w *way) measure(b float64) {
	w.inv = 1 / max(float64(scaleLeast), float64(scaleTimes*nth(w.above(b), w.n*scaleRank/100)))
}

// nth returns the value that would be at index k of v if v were sorted, and leaves v in another
// order. It is Hoare's selection; a full sort would make the browser's program 5 kB larger.
func nth(v []float64, k int) float64 {
	for lo, hi := 0, len(v)-1; lo < hi; {
		pivot, i, j := v[(lo+hi)/2], lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}

// least returns the begin of the line of slope b that touches the samples from below.
func (w *way) least(b float64) float64 {
	x, y := w.x[:w.n], w.y[:w.n]
	least := math.Inf(1)
	for i, v := range y {
		// Not min, which would have to look for NaN; there is none.
		if v += float64(b * x[i]); v < least {
			least = v
		}
	}
	return least
}

// above returns how far each sample lies above the line of slope b that touches them from below.
func (w *way) above(b float64) []float64 {
	over, x, y := w.over[:w.n], w.x[:w.n], w.y[:w.n]
	least := w.least(b)
	for i, v := range y {
		over[i] = v + float64(b*x[i]) - least
	}
	return over
}

// against returns the product of 1 + excess/scale over all samples at slope b, as m * 2^exp.
func (w *way) against(b, m float64, exp int) (float64, int) {
	x, y, inv := w.x[:w.n], w.y[:w.n], w.inv
	least := w.least(b)
	for i, v := range y {
		over := v + float64(b*x[i]) - least
		m = float64(m * (1 + float64(over*inv)))
		if i%normalise == normalise-1 {
			f, x := math.Frexp(m)
			m, exp = f, exp+x
		}
	}
	f, e := math.Frexp(m)
	return f, exp + e
}

// hidden returns how much queueing the best sample probably still hides: how far the true line of
// slope b lies below the touching one. If it lies d lower, every excess is d more, and the product
// of against grows by about exp(d * sum of 1/(scale + excess)).
func (w *way) hidden(b float64) float64 {
	sum := 0.0
	for _, v := range w.above(b) {
		sum += w.inv / (1 + float64(v*w.inv))
	}
	return 1 / sum
}

// meanSlope returns the mean of all slopes in ppb, each weighted by how well the samples of both
// ways lie along lines of that slope. It begins at the slope start, where it also measures the
// scales.
//
// A sample that lies e above its line counts as 1 / (1 + e/scale). Many samples close to a line
// show that it is one; a sample that had to queue shows next to nothing, however long it queued. A
// slope counts as the root of the product of its samples, because neighbours share their queue and
// are no independent witnesses. That is multiplied by 1 / (1 + (b/priorSkew)^2) for the spread of
// real crystals (Cauchy's distribution: a rare crystal that is far off is believed as soon as
// samples show it).
//
// The mean, unlike the best slope, does not jump from one corner of the hulls to another while many
// slopes fit about as well, as in the first seconds. It uses only sums, products, quotients and
// roots, which are the same on every machine.
func meanSlope(up, lo *way, start int64) float64 {
	up.measure(float64(start))
	lo.measure(float64(start))
	low, high := float64(max(start-around, -MaxSkew)), float64(min(start+around, MaxSkew))
	mean, first, last := weigh(up, lo, low, high)
	if first == 0 || last == slopes-1 {
		low, high = -MaxSkew, MaxSkew
		mean, first, last = weigh(up, lo, low, high)
	}
	for {
		step := float64((high - low) / (slopes - 1))
		if last-first >= slopes/2 || step <= finest {
			return mean
		}
		low, high = max(low, low+float64(float64(first-1)*step)), min(high, low+float64(float64(last+1)*step))
		mean, first, last = weigh(up, lo, low, high)
	}
}

// weigh returns the mean of the slopes from low to high, and the first and the last one that are
// not unlikely.
func weigh(up, lo *way, low, high float64) (mean float64, first, last int) {
	var m [slopes]float64
	var exp [slopes]int
	step := float64((high - low) / (slopes - 1))
	least := math.MaxInt
	for j := range slopes {
		b := low + float64(float64(j)*step)
		m[j], exp[j] = up.against(b, 1, 0)
		m[j], exp[j] = lo.against(b, m[j], exp[j])
		least = min(least, exp[j])
	}
	sum, moment, best := 0.0, 0.0, 0.0
	for j := range slopes {
		root := math.Sqrt(math.Ldexp(1/m[j], least-exp[j]))
		r := (low + float64(float64(j)*step)) / priorSkew
		m[j] = root / (1 + float64(r*r))
		best = max(best, m[j])
		sum += m[j]
		moment += float64(m[j] * float64(j))
	}
	last = slopes - 1
	enough := float64(unlikely * best)
	for m[first] < enough {
		first++
	}
	for m[last] < enough {
		last--
	}
	return low + float64(moment/sum*step), first, last
}
