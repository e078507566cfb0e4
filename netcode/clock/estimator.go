package clock

import (
	"math"
	"time"
)

// How an Estimator weighs its samples.
const (
	// An Estimator normally looks back over window. It looks back over longWindow when no sample in
	// window came near the best known delays, as after an outage.
	window     = 60 * time.Second
	longWindow = 120 * time.Second
	// MaxSkew is the largest difference in rate between two clocks that an Estimator believes, in
	// parts per billion.
	MaxSkew = 500_000
	// MaxExchange is the longest round trip that an Estimator uses, with the peer's own time.
	MaxExchange = 60 * time.Second

	slowSkew   = 50_000                 // ppb by which SteadyError lets the slope be off
	blockSpan  = 500 * time.Millisecond // the best sample of each direction per block is kept
	blockCount = int(longWindow / blockSpan)
	solveEvery = 250 * time.Millisecond
	longEvery  = time.Second          // how often both windows are solved for; in between window alone
	crossing   = 5 * time.Millisecond // a corridor narrower than minus this shows that a clock was set
	nearBest   = 3 * time.Millisecond // from the best line: near enough to trust window alone
	// A slope of b costs the widest corridor 0.1 ms * (b / 100 ppm)^2 = b^2/100000 ns, with b in
	// ppb. meanSlope begins at the slope found so.
	slopeCost = 100_000
	// Instants beyond this are refused, so that no difference of two overflows.
	maxInstant = Time(1) << 60
	// Samples further than this from the best cannot decide a line. They are capped, so that a
	// product with 1e9 fits.
	maxExcess = 4 * time.Second
)

// An Estimator finds the offset between a remote clock and the local one, from stamps on packets
// that flow anyway.
//
// Queues only ever add delay, so each direction bounds the offset from one side. The request gives
// u = t1 - t0, which is never below the offset; the answer gives l = t2 - t3, which is never above
// it. The Estimator keeps the least u and the greatest l of each half second. Two parallel lines of
// slope b (the drift between the clocks) enclose a corridor over the last minute: all u lie above
// the one, all l below the other. The estimate is the middle of the corridor. b is the mean of all
// slopes, each weighted by how closely the samples of both directions gather along such lines
// (meanSlope).
//
// This uses the best of each direction separately, so the path need not be idle in both at once.
// All samples decide how the corridor is tilted, not only the two that touch it. Where the samples
// of one direction leave more doubt about their line, the estimate moves a little to that side. A
// sample that crosses the corridor by 5 ms cannot come from these clocks: one of them was set, and
// the Estimator forgets everything before.
//
// The middle is right when the least delays of both directions are equal. Otherwise it is wrong by
// half their difference, which nothing inside the network can see. MaxError includes that error,
// LikelyError does not.
//
// The zero Estimator is ready. It never allocates and is not safe for concurrent use.
type Estimator struct {
	_ [0]func() // no == for it, which pages would have to load

	ring [blockCount]block
	head int // newest
	n    int

	known    bool
	solvedAt Time // local time of offset, up and lo
	up, lo   time.Duration
	offset   time.Duration
	skew     int64 // ppb: slope of the lines
	rate     int64 // ppb: the same over longWindow
	long     fit   // over longWindow, at longAt
	longAt   Time
	bound    time.Duration
	corr     time.Duration // from the offset to the farther line
	likely   time.Duration

	least    time.Duration
	smoothed time.Duration
	hasRTT   bool

	// The newest remote instant and the local instant of its arrival, for Receive.
	remote   Time
	remoteAt Time
	seen     bool

	// When the newest request and the newest answer left, now and at the begin of the newest block.
	// A packet that left no later than one of an older block is a duplicate or was overtaken, and
	// its delay shows only that.
	asked, left             Time
	askedBefore, leftBefore Time

	latest          Time // newest arrival
	refused, resets uint64
}

// block holds the best samples of blockSpan. ux and lx are the local instants of those samples.
type block struct {
	index        int64
	hasU, hasL   bool
	ux, lx       Time
	u, l         time.Duration
	leastRTT     time.Duration
	hasLeastRTTs bool
}

// Seed sets the remote time at about the local instant given, from a message that carries it in
// full, so that Receive can place 32-bit stamps. It is no sample.
func (e *Estimator) Seed(local, remote Time) {
	e.remote, e.remoteAt, e.seen = remote, local, true
}

// Receive records one packet. t3 is when it arrived here, sent is the stamp on it, echo is our
// latest stamp that the peer had received, and hold is how long before sending the peer had
// received it. Stamps are placed nearest to what is expected. They may wrap (every 71.6 minutes) as
// often as they like, as long as a packet comes every half hour or Seed is called. It reports
// whether the packet was used, like Exchange.
func (e *Estimator) Receive(t3 Time, sent, echo Stamp, hold time.Duration) bool {
	if t3 < -maxInstant || t3 > maxInstant {
		e.refused++
		return false
	}
	t2 := e.place(t3, sent)
	t0 := t3.Near(echo)
	return e.Exchange(t0, t2.Add(-hold), t2, t3)
}

// ReceiveOneWay records a packet without an echo. Alone it bounds the offset only from below, but
// it keeps the lower line exact.
func (e *Estimator) ReceiveOneWay(t3 Time, sent Stamp) bool {
	if t3 < -maxInstant || t3 > maxInstant {
		e.refused++
		return false
	}
	return e.OneWay(e.place(t3, sent), t3)
}

func (e *Estimator) place(t3 Time, sent Stamp) Time {
	expect := Time(0)
	if e.seen {
		expect = e.remote.Add(t3.Sub(e.remoteAt))
	} else {
		return Time(int64(sent) * 1000)
	}
	return expect.Near(sent)
}

// Exchange records the four instants of a round trip: t0 sent here and t3 received here, by the
// local clock; t1 received there and t2 answered there, by the remote clock. It reports whether
// they were used. They are refused if the peer claims to have kept the packet for a negative time
// or for longer than the round trip, or if the round trip took more than MaxExchange.
func (e *Estimator) Exchange(t0, t1, t2, t3 Time) bool {
	if !sane(t0) || !sane(t1) || !sane(t2) || !sane(t3) {
		e.refused++
		return false
	}
	total, hold := t3.Sub(t0), t2.Sub(t1)
	rtt := total - hold
	if total < 0 || total > MaxExchange || hold < 0 || rtt < -time.Millisecond { // 1 ms: a hold of 2 s at 500 ppm
		e.refused++
		return false
	}
	rtt = max(rtt, 0)
	u, l := t1.Sub(t0), t2.Sub(t3)
	if e.known && (u < e.line(e.lo, t0)-crossing || l > e.line(e.up, t3)+crossing) {
		e.restart()
	}
	b := e.block(t3)
	if t0 > e.askedBefore && (!b.hasU || u < b.u || u == b.u && t0 > b.ux) {
		b.hasU, b.u, b.ux = true, u, t0
	}
	e.asked = max(e.asked, t0)
	e.lower(b, l, t2, t3)
	if !b.hasLeastRTTs || rtt < b.leastRTT {
		b.leastRTT, b.hasLeastRTTs = rtt, true
	}
	if !e.hasRTT {
		e.hasRTT, e.smoothed = true, rtt
	} else {
		e.smoothed += (rtt - e.smoothed) / 8 // RFC 6298 section 2.3
	}
	e.remote, e.remoteAt, e.seen = t2, t3, true
	e.maybeSolve(e.latest)
	return true
}

// OneWay records a packet that was sent there at t2 (remote clock) and arrived here at t3.
func (e *Estimator) OneWay(t2, t3 Time) bool {
	if !sane(t2) || !sane(t3) {
		e.refused++
		return false
	}
	l := t2.Sub(t3)
	if e.known && l > e.line(e.up, t3)+crossing {
		e.restart()
	}
	e.lower(e.block(t3), l, t2, t3)
	e.remote, e.remoteAt, e.seen = t2, t3, true
	e.maybeSolve(e.latest)
	return true
}

// lower records the lower bound l of an answer that left at t2.
func (e *Estimator) lower(b *block, l time.Duration, t2, t3 Time) {
	if t2 > e.leftBefore && (!b.hasL || l > b.l || l == b.l && t3 > b.lx) {
		b.hasL, b.l, b.lx = true, l, t3
	}
	e.left = max(e.left, t2)
}

func sane(t Time) bool { return t > -maxInstant && t < maxInstant }

// line returns the value of a line at local time x. at is its value at solvedAt.
func (e *Estimator) line(at time.Duration, x Time) time.Duration {
	return at + perBillion(x.Sub(e.solvedAt), e.skew)
}

func (e *Estimator) restart() {
	e.n, e.known, e.hasRTT = 0, false, false
	e.skew, e.rate = 0, 0
	e.resets++
}

// block returns the block of a sample that arrives at t: the newest one, or a new one.
func (e *Estimator) block(t Time) *block {
	index := int64(t) / int64(blockSpan)
	if e.n == 0 || t > e.latest {
		e.latest = t
	}
	if e.n > 0 {
		if b := &e.ring[e.head]; index <= b.index {
			return b
		}
		e.head = (e.head + 1) % blockCount
	} else {
		e.asked, e.left = -maxInstant, -maxInstant
	}
	e.askedBefore, e.leftBefore = e.asked, e.left
	e.n = min(e.n+1, blockCount)
	e.ring[e.head] = block{index: index}
	return &e.ring[e.head]
}

// warmup is the number of blocks during which each sample is solved for at once.
const warmup = 8

func (e *Estimator) maybeSolve(now Time) {
	if !e.known || e.n <= warmup || now.Sub(e.solvedAt) >= solveEvery {
		e.solve(now)
	}
}

// fit is a corridor: its two lines at now, their slope, and how far the third best samples lie from
// them.
type fit struct {
	ok           bool
	skew         int64
	up, lo       time.Duration
	more         time.Duration // from the middle to the likelier offset
	upGap, loGap time.Duration
}

// at returns the lines of f some time later.
func (f fit) at(later time.Duration) fit {
	d := perBillion(later, f.skew)
	f.up, f.lo = f.up+d, f.lo+d
	return f
}

func (e *Estimator) solve(now Time) {
	var f fit
	// Beyond window there are two fits, and the long one hardly changes within a second.
	two := e.ring[(e.head-e.n+1+blockCount)%blockCount].index < int64(now.Add(-window))/int64(blockSpan)
	if two && e.known && now.Sub(e.longAt) < longEvery && e.near(now, e.long.at(now.Sub(e.longAt))) {
		f = e.corridor(now, window)
	}
	if !f.ok {
		if f = e.corridor(now, longWindow); !f.ok {
			return
		}
		e.rate, e.long, e.longAt = f.skew, f, now
		if two && e.near(now, f) {
			f = e.corridor(now, window)
		}
	}
	e.known, e.solvedAt, e.skew, e.up, e.lo = true, now, f.skew, f.up, f.lo
	e.offset = f.lo + (f.up-f.lo)/2 + f.more
	e.likely = MaxExchange // until there are three samples of each direction; capped by the bound below
	if f.upGap < MaxExchange && f.loGap < MaxExchange {
		e.likely = 2*(f.upGap+f.loGap) + 50*time.Microsecond
	}

	// The hard bound: no drift within MaxSkew, however it wanders, moves the offset past a sample
	// by more than MaxSkew times the sample's age.
	hi, lo := time.Duration(1<<62), -time.Duration(1<<62)
	least := MaxExchange
	for i := range e.n {
		b := &e.ring[(e.head-i+blockCount)%blockCount]
		if b.hasU {
			hi = min(hi, b.u+perBillion(now.Sub(b.ux), MaxSkew))
		}
		if b.hasL {
			lo = max(lo, b.l-perBillion(now.Sub(b.lx), MaxSkew))
		}
		if b.hasLeastRTTs && b.hasL && now.Sub(b.lx) <= window {
			least = min(least, b.leastRTT)
		}
	}
	if least < MaxExchange { // otherwise window holds none, and the last known one stays
		e.least = least
	}
	if hi < lo { // stepped by less than crossing: both edges are off by at most their distance
		hi, lo = lo, hi
	}
	e.offset = min(max(e.offset, lo), hi)
	e.bound = max(hi-e.offset, e.offset-lo)
	e.corr = max(f.up-e.offset, e.offset-f.lo, 0)
	e.likely = min(e.likely, e.bound)
}

// near reports whether both directions had a sample near the lines of f within window.
func (e *Estimator) near(now Time, f fit) bool {
	u, l := false, false
	for i := range e.n {
		b := &e.ring[(e.head-i+blockCount)%blockCount]
		if b.hasU && now.Sub(b.ux) <= window && b.u+perBillion(now.Sub(b.ux), f.skew) <= f.up+nearBest {
			u = true
		}
		if b.hasL && now.Sub(b.lx) <= window && b.l+perBillion(now.Sub(b.lx), f.skew) >= f.lo-nearBest {
			l = true
		}
	}
	return u && l
}

// corridor finds the two lines through the samples of the last span. Only corners of their convex
// hulls can touch a line.
func (e *Estimator) corridor(now Time, span time.Duration) fit {
	var upper, lower [blockCount]point
	var above, below way
	us, ls := 0, 0
	for i := e.n - 1; i >= 0; i-- {
		b := &e.ring[(e.head-i+blockCount)%blockCount]
		if b.hasU && now.Sub(b.ux) <= span {
			upper[us] = point{now.Sub(b.ux), b.u}
			us++
		}
		if b.hasL && now.Sub(b.lx) <= span {
			lower[ls] = point{now.Sub(b.lx), -b.l}
			ls++
		}
	}
	if us == 0 || ls == 0 {
		return fit{}
	}
	above.fill(upper[:us], 1)
	below.fill(lower[:ls], -1)
	up, lo := hull(upper[:us]), hull(lower[:ls])
	mean := meanSlope(&above, &below, widest(up, lo))
	low := int64(math.Round(mean))
	f := fit{ok: true, skew: low}
	// The hidden queueing would shift the middle by half the difference. On paths of even jitter
	// that is mostly noise, so half of it is used.
	f.more = time.Duration(below.hidden(mean)-above.hidden(mean)) / 4
	u, l := up[touch(up, low)], lo[touch(lo, -low)]
	f.up = u.v + perBillion(u.age, low)
	f.lo = -(l.v + perBillion(l.age, -low))
	f.upGap, f.loGap = e.gaps(now, span, f)
	return f
}

// widest returns the slope that makes the corridor between two hulls widest, after the slope's
// cost. Width minus cost is concave in the slope, and the two touching corners give its derivative
// exactly, so it is bisected in whole parts per billion.
func widest(up, lo []point) int64 {
	low, high := int64(-MaxSkew), int64(MaxSkew)
	for low < high {
		mid := low + (high-low)/2
		// d/db of (up - lo) is (age of u) - (age of l) per 1e9; of the cost 2b/slopeCost.
		gain := int64(up[touch(up, mid)].age-lo[touch(lo, -mid)].age)*(slopeCost/2) - mid*1e9
		if gain > 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// point is a sample that a line must stay below, by its age.
type point struct{ age, v time.Duration }

// hull reduces p to the corners of its lower convex hull, by falling age (Andrew's monotone chain,
// 1979).
func hull(p []point) []point {
	least := p[0].v
	for i := 1; i < len(p); i++ { // insertion sort: p is almost in order
		least = min(least, p[i].v)
		for j := i; j > 0 && p[j-1].age < p[j].age; j-- {
			p[j-1], p[j] = p[j], p[j-1]
		}
	}
	n := 0
	for _, c := range p {
		// Far ones cannot matter, and capped the products below fit: 1.2e8 us x 4e9 ns.
		c.v = min(c.v, least+maxExcess)
		for n > 0 && p[n-1].age == c.age && p[n-1].v >= c.v {
			n--
		}
		for n >= 2 {
			a, b := p[n-2], p[n-1]
			if int64(a.age-b.age)/1000*int64(c.v-a.v) > int64(a.age-c.age)/1000*int64(b.v-a.v) {
				break // b lies below the line from a to c
			}
			n--
		}
		p[n] = c
		n++
	}
	return p[:n]
}

// touch returns the corner that a line of slope b ppb, rising under p, touches.
func touch(p []point, b int64) int {
	best, at := int64(1)<<62, 0
	base := p[0].v
	for i, c := range p {
		if v := int64(c.v-base)*1e9 + int64(c.age)*b; v < best {
			best, at = v, i
		}
	}
	return at
}

// gaps returns how far behind the best sample of each direction the third best lies: about the
// queueing that the best one may still hide.
func (e *Estimator) gaps(now Time, span time.Duration, f fit) (u, l time.Duration) {
	const far = time.Duration(1) << 62
	us, ls := [3]time.Duration{far, far, far}, [3]time.Duration{far, far, far}
	for i := range e.n {
		b := &e.ring[(e.head-i+blockCount)%blockCount]
		if b.hasU && now.Sub(b.ux) <= span {
			insert(&us, b.u+perBillion(now.Sub(b.ux), f.skew)-f.up)
		}
		if b.hasL && now.Sub(b.lx) <= span {
			insert(&ls, f.lo-b.l-perBillion(now.Sub(b.lx), f.skew))
		}
	}
	return us[2], ls[2]
}

func insert(s *[3]time.Duration, v time.Duration) {
	switch {
	case v < s[0]:
		s[0], s[1], s[2] = v, s[0], s[1]
	case v < s[1]:
		s[1], s[2] = v, s[1]
	case v < s[2]:
		s[2] = v
	}
}

// Offset returns how far the remote clock is ahead of the local one, as of the newest solution. It
// is false until samples of both directions have arrived.
func (e *Estimator) Offset() (time.Duration, bool) { return e.offset, e.known }

// At returns the remote time at a local instant, and how wrong that can be. It is false until there
// is an estimate.
func (e *Estimator) At(local Time) (remote Time, bound time.Duration, ok bool) {
	if !e.known {
		return 0, 0, false
	}
	age := local.Sub(e.solvedAt)
	return local.Add(e.line(e.offset, local)), e.bound + perBillion(max(age, -age), 2*MaxSkew), true
}

// MaxError returns the largest possible error of Offset, whatever the path does in either
// direction, as long as the rates of the two clocks differ by at most MaxSkew. A clock that is set
// by less than a round trip cannot be told from a path that changed: for up to a minute the error
// may then exceed this by as much.
func (e *Estimator) MaxError() time.Duration { return e.bound }

// SteadyError returns how wrong At can be at a local instant while both clocks run at a steady
// rate: half the corridor, and 50 ppm of the time since it was found. It is narrower than MaxError
// where the best samples are old, because it trusts the slope.
func (e *Estimator) SteadyError(local Time) time.Duration {
	return e.corr + perBillion(local.Sub(e.solvedAt).Abs(), slowSkew)
}

// LikelyError returns a bound that the error keeps about 19 times in 20 when the least delays of
// both directions are equal. It is judged by how much the three best samples of each direction
// differ. Unlike MaxError it is no promise.
func (e *Estimator) LikelyError() time.Duration { return e.likely }

// Skew returns how much faster than the local clock the remote one runs, in parts per billion, over
// the last two minutes.
func (e *Estimator) Skew() int64 { return e.rate }

// RTT returns the least round trip of the last minute and the smoothed one, both without the time
// that the peer kept the packet.
func (e *Estimator) RTT() (least, smoothed time.Duration) {
	if !e.hasRTT {
		return 0, 0
	}
	return e.least, e.smoothed
}

// Resets returns how often a sample contradicted everything before it.
func (e *Estimator) Resets() uint64 { return e.resets }

// Refused returns the number of samples that no honest path can produce.
func (e *Estimator) Refused() uint64 { return e.refused }
