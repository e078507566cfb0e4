package clock

import (
	"math"
	"slices"
	"time"
)

// How the slope of a corridor is weighed; docs/tuning/clock-slope.md says what else was tried.
const (
	// How far samples usually lie above their line is measured: scaleTimes the excess at rank
	// scaleRank percent of all, and never less than scaleLeast, below which it is the crystals that
	// wander.
	scaleRank  = 30
	scaleTimes = 2
	scaleLeast = 100 * time.Microsecond
	// Half as many crystals are believed to be off by this much, in ppb, as by nothing.
	priorSkew = 200_000

	slopes   = 17     // tried at once
	around   = 60_000 // ppb on either side of the widest corridor's slope that are looked at first
	finest   = 200    // ppb between two of them, below which it is no use to look closer
	unlikely = 0.02   // of the likeliest: slopes beyond are left out of a closer look
	// factors that fit a float64 together: each is at most 1 + (maxExcess + 60 ms) / scaleLeast <
	// 1<<16
	normalise = 16
)

// A way holds one direction's samples: what a line of slope b ppb has to stay below at sample i is
// y[i] + b*x[i] ns.
type way struct {
	n    int
	x, y [blockCount]float64
	over [blockCount]float64 // scratch: how far each sample lies above the line that touches them
	inv  float64             // 1 / scale
}

// fill takes in p, which holds at least one sample and whose line rises with sign times the slope.
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

// measure takes the scale from the samples' excesses at slope b.
func (w *way) measure(b float64) {
	over := w.above(b)
	slices.Sort(over)
	w.inv = 1 / max(float64(scaleLeast), float64(scaleTimes*over[w.n*scaleRank/100]))
}

// least returns where the line of slope b that touches the samples from below begins.
func (w *way) least(b float64) float64 {
	x, y := w.x[:w.n], w.y[:w.n]
	least := math.Inf(1)
	for i, v := range y {
		if v += float64(b * x[i]); v < least { // min would have to ask for NaN, which there is none of
			least = v
		}
	}
	return least
}

// above measures how far each sample lies above the line of slope b that touches them from below.
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

// hidden returns how much queueing the best sample probably still hides: by how much the true line
// of slope b lies below the touching one. If it lies d lower, every excess is d more, and the
// product of against grows by about exp(d * sum of 1/(scale + excess)).
func (w *way) hidden(b float64) float64 {
	sum := 0.0
	for _, v := range w.above(b) {
		sum += w.inv / (1 + float64(v*w.inv))
	}
	return 1 / sum
}

// meanSlope returns the mean of all slopes in ppb, each weighed by how well the samples of both
// ways lie along lines of it. start is where it looks first, and the slope at which the scales are
// measured.
//
// A sample that lies e above its line counts as 1 / (1 + e/scale): many close to a line say that it
// is one, while one that had to queue says next to nothing, however long it queued. A slope counts
// as the root of their product, because neighbours share their queue and are no independent
// witnesses, times 1 / (1 + (b/priorSkew)^2) for what crystals are (Cauchy's distribution: a rare
// one that is far off is believed as soon as samples say so). The mean, unlike the best, does not
// jump from one corner of the hulls to another while many slopes fit about as well, as in the first
// seconds. It takes only sums, products, quotients and roots, which are the same on every machine.
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
		step := (high - low) / (slopes - 1)
		if last-first >= slopes/2 || step <= finest {
			return mean
		}
		low, high = max(low, low+float64(float64(first-1)*step)), min(high, low+float64(float64(last+1)*step))
		mean, first, last = weigh(up, lo, low, high)
	}
}

// weigh returns the mean of the slopes from low to high, and the first and the last that are not
// unlikely.
func weigh(up, lo *way, low, high float64) (mean float64, first, last int) {
	var m [slopes]float64
	var exp [slopes]int
	step := (high - low) / (slopes - 1)
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
