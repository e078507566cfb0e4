package clock

import "time"

// Limits of a Pacer.
const (
	// MaxBurst is the largest number of ticks that one call of Due hands out.
	MaxBurst = 2
	// MaxStretch is the longest period under load, in multiples of Step.
	MaxStretch = 8

	paceParts    = 4 // parts of the second over which load is averaged
	pacePart     = time.Second / paceParts
	paceHighLoad = 900 // per mille of the period: above it ticks get longer
	paceLowLoad  = 700 // below it they get shorter again
	paceAimLoad  = 800 // the load that both aim at
	// The period changes by at most 1/80 per part, which is 5 % a second.
	paceSlope = 80
)

// A Pacer says when the next tick is due. It keeps a plan with one tick every Period. It is told
// the time and how long ticks took, and never reads a clock.
//
// It answers overload with longer ticks, never with a burst. It makes up for a late plan with at
// most two ticks at once, and only while there is time to spare. Debt beyond that is forgiven: the
// plan moves. When the ticks of the last second took more than 90 % of their periods, the period
// grows by at most 5 % a second; below 70 % it shrinks again.
//
// Set Step before the first call. Not safe for concurrent use; owned by the loop that runs the
// ticks.
type Pacer struct {
	// Step is the nominal period of a tick. Values outside [MinPeriod, MaxPeriod] count as the
	// nearer bound.
	Step time.Duration

	started bool
	next    Time
	period  time.Duration
	first   Time          // planned time of the first tick of the last Due
	gap     time.Duration // between its ticks
	newest  Time          // planned time of the newest tick
	apart   [3]time.Duration

	took       time.Duration            // by the newest tick
	busy, span [paceParts]time.Duration // of the last parts, ring
	part       int
	parts      int // how many of the ring are filled
}

func (p *Pacer) step() time.Duration { return min(max(p.Step, MinPeriod), MaxPeriod) }

// Due returns how many ticks to run at now: 0 or 1, or 2 after a stall that was not overload.
func (p *Pacer) Due(now Time) int {
	if !p.started {
		p.started, p.next, p.period = true, now, p.step()
		p.newest = now.Add(-p.period)
	}
	late := now.Sub(p.next)
	if late < 0 {
		return 0
	}
	n := 1
	switch {
	case p.loadPerMille() > paceHighLoad || p.took > p.period:
		// Under overload, and after a tick that overran, nothing is made up for.
		p.next = now
	case late >= MaxBurst*p.period:
		p.next = now.Add(-(MaxBurst - 1) * p.period)
		n = MaxBurst
	case late >= p.period:
		n = MaxBurst
	}
	p.first, p.gap = p.next, p.period
	for i := range n {
		p.apart[2], p.apart[1], p.apart[0] = p.apart[1], p.apart[0], p.Planned(i).Sub(p.newest)
		p.newest = p.Planned(i)
	}
	p.next = p.next.Add(time.Duration(n) * p.period)
	return n
}

// Planned returns the time for which the i-th tick of the last Due was planned, i from 0. It is
// never in the future, always increases, and is evenly spaced even where the loop that calls Due is
// not. Announce it as the server time of the tick.
func (p *Pacer) Planned(i int) Time { return p.first.Add(time.Duration(i) * p.gap) }

// Next returns when the next tick is planned: the loop may sleep until then. It is 0 before the
// first Due.
func (p *Pacer) Next() Time { return p.next }

// Period returns the present length of a tick. It is in whole microseconds unless Step is not.
func (p *Pacer) Period() time.Duration {
	if p.period == 0 {
		return p.step()
	}
	return p.period
}

// Spacing returns how far apart ticks really are: the median of the last three distances, or the
// period if that is longer. Announce this to clients. Under overload it shows at once what the
// period only grows to, and a single stall does not move it.
func (p *Pacer) Spacing() time.Duration {
	a, b, c := p.apart[0], p.apart[1], p.apart[2]
	return min(max(p.Period(), min(max(a, b), max(b, c), max(a, c))), MaxPeriod)
}

// Load returns which share of their periods the ticks of the last second took; above 1 they took
// longer than their periods. It is 0 until a quarter of a second was measured.
func (p *Pacer) Load() float64 { return float64(p.loadPerMille()) / 1000 }

func (p *Pacer) loadPerMille() int64 {
	var busy, span time.Duration
	for i := range p.parts {
		busy += p.busy[i]
		span += p.span[i]
	}
	if span < pacePart { // too little is known
		return 0
	}
	return int64(busy) * 1000 / int64(span)
}

// Ran records how long one tick took, from its begin to the point where the loop was free again.
// Call it once per tick. Negative times count as zero, times above a minute as a minute.
func (p *Pacer) Ran(busy time.Duration) {
	busy = min(max(busy, 0), time.Minute)
	p.took = busy
	if p.parts == 0 {
		p.parts = 1
	}
	p.busy[p.part] += busy
	p.span[p.part] += p.Period()
	if p.span[p.part] < pacePart {
		return
	}
	p.adjust()
	p.part = (p.part + 1) % paceParts
	p.parts = min(p.parts+1, paceParts)
	p.busy[p.part], p.span[p.part] = 0, 0
}

func (p *Pacer) adjust() {
	step, load := p.step(), p.loadPerMille()
	want := p.Period()
	switch {
	case load > paceHighLoad:
		want = want * time.Duration(min(load, 10*paceAimLoad)) / paceAimLoad
	case load < paceLowLoad:
		want = want * time.Duration(max(load, 1)) / paceAimLoad
	}
	slope := max(p.Period()/paceSlope, time.Microsecond)
	want = min(max(want, p.Period()-slope), p.Period()+slope).Round(time.Microsecond)
	p.period = min(max(want, step), step*MaxStretch, MaxPeriod)
}
