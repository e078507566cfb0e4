package baseline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
)

// A Player decides which past moment is drawn.
type Player interface {
	// Arrive records that a snapshot dated stamp (server's clock) arrived at local. Duplicates and
	// old snapshots are reported too.
	Arrive(local, stamp clock.Time)
	// Advance moves on to a local time and returns the instant drawn then, by the server's clock; 0
	// before anything arrived.
	Advance(local clock.Time) clock.Time
}

// A rule chooses a playout delay above the path's floor; follow makes a Player of it.
type rule interface {
	// Observe records x, how old the newest snapshot had become above the floor when the next one
	// came, and n, the delay of that next one above the floor.
	Observe(local clock.Time, x, n time.Duration)
	// Target is the delay above the floor that the rule wants.
	Target() time.Duration
}

// maxTarget bounds every target, ours included: without it an outage of seconds would drive some
// rules to seconds of delay.
const maxTarget = estimate.MaxTarget

// follow returns a Player that keeps to a rule's target. It knows the floor and moves as ours does,
// but never slows down for overdue snapshots.
func follow(r rule) Player { return &follower{rule: r} }

type follower struct {
	rule     rule
	ages     estimate.Ages
	running  bool
	local, t clock.Time
}

func (f *follower) Arrive(local, stamp clock.Time) {
	x, fresh, counts := f.ages.Arrive(local, stamp)
	if fresh && counts {
		f.rule.Observe(local, x, local.Sub(stamp)-f.ages.Floor())
	}
}

func (f *follower) Advance(local clock.Time) clock.Time {
	newest, known := f.ages.Newest()
	if !known {
		return 0
	}
	floor, want := f.ages.Floor(), min(f.rule.Target(), maxTarget)
	if !f.running {
		f.running, f.local, f.t = true, local, local.Add(-floor-want)
		return f.t
	}
	dt := local.Sub(f.local)
	if dt <= 0 {
		return f.t
	}
	f.local = local
	have := local.Add(-dt).Sub(f.t) - floor
	step := dt - (estimate.PlayoutSlew.Step(have, want, dt) - have)
	if f.t >= newest && have < want {
		step = 0 // nothing to draw: the delay grows at no cost
	}
	f.t = f.t.Add(max(step, 0))
	return f.t
}

// A Family is one rule with the one number that tunes it.
type Family struct {
	Name string
	Knob string // name and unit of the number
	// Shipped is the number as its authors publish it, 0 if there is none.
	Shipped float64
	// Low and High bound the number; a larger one means more delay.
	Low, High float64
	// Log is true if the number is searched on a logarithmic scale.
	Log bool
	New func(knob float64, interval time.Duration) Player
}

// Players returns the rivals, in the order of tables.
func Players() []Family {
	following := func(f func(knob float64, interval time.Duration) rule) func(float64, time.Duration) Player {
		return func(knob float64, interval time.Duration) Player { return follow(f(knob, interval)) }
	}
	return []Family{
		{"fixed", "delay_ms", 0, 20, 500, false,
			following(func(k float64, _ time.Duration) rule { return fixed(msec(k)) })},
		{"gaffer", "delay_ms", 350, 350, 350, false,
			following(func(k float64, _ time.Duration) rule { return fixed(msec(k)) })},
		{"intervals", "intervals", 3, 1, 40, true,
			following(func(k float64, interval time.Duration) rule { return fixed(k * float64(interval)) })},
		{"geckos", "intervals", 3, 3, 3, false,
			func(k float64, interval time.Duration) Player { return &snapping{Intervals: k, Interval: interval} }},
		{"mirror", "tolerance", 1, 0.2, 40, true,
			func(k float64, interval time.Duration) Player { return newMirror(interval, k) }},
		{"lightyear", "jitters", 4, 1, 200, true,
			following(func(k float64, interval time.Duration) rule {
				return &lightyear{Interval: interval,
					Jitters: k}
			})},
		{"ramjee-4", "deviations", 4, 0.5, 40, true,
			following(func(k float64, interval time.Duration) rule { return &ramjee{Deviations: k} })},
		{"moon", "quantile_nines", 2, 0.3, 4.5, false,
			following(func(k float64, interval time.Duration) rule { return &moon{Quantile: nines(k)} })},
		{"neteq", "quantile_nines", 1.30103, 0.3, 4.5, false,
			following(func(k float64, interval time.Duration) rule { return &netEQ{Quantile: nines(k)} })},
		{"kansal-karandikar", "deviations", 4, 0.5, 40, true,
			following(func(k float64, interval time.Duration) rule { return &kansal{Deviations: k} })},
		{"ryzom", "lct_ms", 100, 1, 500, true,
			following(func(k float64, interval time.Duration) rule { return &ryzom{LCT: msec(k), Tick: interval} })},
	}
}

func msec(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }

// nines returns 1 - 10^-k.
func nines(k float64) float64 { return 1 - math.Pow(10, -k) }

// fixed is a constant delay. Gaffer on Games takes three send intervals and room for jitter, 350 ms
// at 10 Hz; others two or three intervals alone.
type fixed time.Duration

func (f fixed) Observe(clock.Time, time.Duration, time.Duration) {}
func (f fixed) Target() time.Duration                            { return time.Duration(f) }

// snapping draws a number of send intervals behind its idea of the server's time, which is set anew
// whenever a snapshot's own idea of it is off by more than 50 ms (geckos.io's snapshot
// interpolation).
type snapping struct {
	Intervals float64
	Interval  time.Duration

	offset  time.Duration // arrival - stamp
	running bool
}

func (s *snapping) Arrive(local, stamp clock.Time) {
	off := local.Sub(stamp)
	if !s.running || (off-s.offset).Abs() > 50*time.Millisecond {
		s.running, s.offset = true, off
	}
}

func (s *snapping) Advance(local clock.Time) clock.Time {
	if !s.running {
		return 0
	}
	return local.Add(-s.offset - min(time.Duration(s.Intervals*float64(s.Interval)), maxTarget))
}

// mirror is the snapshot interpolation of Mirror: the buffer is (interval + deviation of the gaps
// between arrivals) plus tolerance x interval, moving averages over 2 s; the timeline runs at 1.02
// or 0.96 of real time while its averaged distance (1 s) from the newest snapshot is more than one
// interval from the buffer, and is kept within one buffer of its target at each arrival.
type mirror struct {
	interval           time.Duration
	tolerance          float64
	gaps, gapVar       average
	drift              average
	alphaGap, alphaOff float64

	running bool
	newest  clock.Time
	last    clock.Time // local time of the newest arrival
	arrived bool
	local   clock.Time
	t       float64 // server time of the timeline, ns
	speed   float64
}

// newMirror returns a Mirror timeline for snapshots so far apart.
func newMirror(interval time.Duration, tolerance float64) *mirror {
	rate := float64(time.Second) / float64(interval)
	return &mirror{interval: interval, tolerance: tolerance, speed: 1, alphaGap: 2 / (2*rate + 1),
		alphaOff: 2 / (rate + 1)}
}

func (m *mirror) buffer() float64 {
	i := float64(m.interval)
	return min(i*((i+math.Sqrt(m.gapVar.v))/i+m.tolerance), float64(maxTarget))
}

func (m *mirror) Arrive(local, stamp clock.Time) {
	if m.arrived && stamp <= m.newest {
		return
	}
	if m.arrived {
		gap := float64(local.Sub(m.last))
		if !m.gaps.known {
			m.gaps.add(gap, 1)
			m.gapVar.add(0, 1)
		} else {
			d := gap - m.gaps.v
			m.gaps.v += m.alphaGap * d
			m.gapVar.v = (1 - m.alphaGap) * (m.gapVar.v + m.alphaGap*d*d)
		}
	}
	m.newest, m.last, m.arrived = stamp, local, true
	b := m.buffer()
	if !m.running {
		m.running, m.local, m.t = true, local, float64(stamp)-b
	}
	m.step(local)
	target := float64(stamp) - b
	m.t = min(max(m.t, target-b), target+b)
	m.drift.add(float64(stamp)-m.t, m.alphaOff)
	switch off := m.drift.v - b; {
	case off > float64(m.interval):
		m.speed = 1.02
	case off < -float64(m.interval):
		m.speed = 0.96
	default:
		m.speed = 1
	}
}

func (m *mirror) step(local clock.Time) {
	if dt := local.Sub(m.local); dt > 0 {
		m.t += float64(dt) * m.speed
		m.local = local
	}
}

func (m *mirror) Advance(local clock.Time) clock.Time {
	if !m.running {
		return 0
	}
	m.step(local)
	return clock.Time(m.t)
}

// lightyear is lightyear's interpolation delay: max(1.7 intervals, 5 ms) + 4 jitters + a tick of
// 1/60 s, behind the usual way down, which is smoothed (gain 1/12) with its mean deviation (gain
// 1/6) as the jitter.
type lightyear struct {
	Interval time.Duration
	Jitters  float64

	n, dev float64
	known  bool
}

func (l *lightyear) Observe(_ clock.Time, _, n time.Duration) {
	x := float64(n)
	if !l.known {
		l.n, l.dev, l.known = x, x/2, true
		return
	}
	off := x - l.n
	l.n += off / 12
	l.dev += (math.Abs(off) - l.dev) / 6
}

func (l *lightyear) Target() time.Duration {
	base := max(l.Interval*17/10, 5*time.Millisecond) + time.Second/60
	return base + time.Duration(l.n+l.Jitters*l.dev)
}

// ramjee is algorithm 4 of Ramjee, Kurose, Towsley and Schulzrinne, "Adaptive Playout Mechanisms
// for Packetized Audio Applications in Wide-Area Networks" (1994): delay and deviation smoothed by
// 0.875, and a mode that follows spikes. It is fed with the age of information instead of each
// packet's delay, which would be blind to loss.
type ramjee struct {
	Deviations float64

	d, v, slope float64
	x1, x2      float64 // the last two samples
	n           int
	spike       bool
}

func (r *ramjee) Observe(_ clock.Time, age, _ time.Duration) {
	const (
		alpha = 0.875
		jump  = 100 * float64(time.Millisecond)
		calm  = 8 * float64(time.Millisecond) // 63 samples of 8 kHz
	)
	x := float64(age)
	defer func() { r.x1, r.x2 = x, r.x1; r.n++ }()
	if r.n == 0 {
		r.d, r.v = x, x/2
		return
	}
	if !r.spike && math.Abs(x-r.x1) > 2*r.v+jump {
		r.spike, r.slope = true, 0
	} else if r.spike {
		r.slope = r.slope/2 + math.Abs((2*x-r.x1-r.x2)/8)
		if r.slope <= calm {
			r.spike = false
			return
		}
	}
	if r.spike {
		r.d += x - r.x1
	} else {
		r.d = alpha*r.d + (1-alpha)*x
	}
	r.v = alpha*r.v + (1-alpha)*math.Abs(x-r.d)
}

func (r *ramjee) Target() time.Duration { return time.Duration(max(r.d+r.Deviations*r.v, 0)) }

// moon is after Moon, Kurose and Towsley, "Packet audio playout delay adjustment: performance
// bounds and algorithms" (1998), of which the abstract was at hand: a quantile of the last 10,000
// delays, and a mode that follows a spike of four times the quantile until it is below twice what
// was before. It is fed with the age of information.
type moon struct {
	Quantile float64

	last   []time.Duration // ring
	next   int
	sorted []time.Duration
	q      time.Duration
	spike  bool
	before time.Duration
	follow time.Duration
}

const moonWindow = 10_000

func (m *moon) Observe(_ clock.Time, x, _ time.Duration) {
	if m.spike {
		if m.follow = x; x < 2*m.before {
			m.spike = false
		}
	} else if m.q > 0 && x > 4*m.q {
		m.spike, m.before, m.follow = true, m.q, x
	}
	if len(m.last) == moonWindow {
		old := m.last[m.next]
		at, _ := slices.BinarySearch(m.sorted, old)
		m.sorted = slices.Delete(m.sorted, at, at+1)
		m.last[m.next] = x
		m.next = (m.next + 1) % moonWindow
	} else {
		m.last = append(m.last, x)
	}
	at, _ := slices.BinarySearchFunc(m.sorted, x, cmp.Compare[time.Duration])
	m.sorted = slices.Insert(m.sorted, at, x)
	m.q = m.sorted[min(int(m.Quantile*float64(len(m.sorted))), len(m.sorted)-1)]
}

func (m *moon) Target() time.Duration {
	if m.spike {
		return m.follow
	}
	return m.q
}

// netEQ is the delay manager of WebRTC's NetEQ: the worst value of each 500 ms goes into 100
// buckets of 20 ms which forget by 0.983 (faster at first); the target is the upper end of the
// bucket in which the quantile lies. It begins at 80 ms, and is fed with the age of information.
type netEQ struct {
	Quantile float64

	bucket  [100]float64
	n       int
	block   int64
	worst   time.Duration
	filling bool
	target  time.Duration
}

func (q *netEQ) Observe(local clock.Time, x, _ time.Duration) {
	block := int64(local) / int64(500*time.Millisecond)
	if q.filling && block > q.block {
		q.close()
	}
	q.block, q.filling = block, true
	q.worst = max(q.worst, x)
}

func (q *netEQ) close() {
	q.n++
	forget := min(0.983, 1-2/float64(q.n+1))
	i := min(int(q.worst/(20*time.Millisecond)), len(q.bucket)-1)
	for j := range q.bucket {
		q.bucket[j] *= forget
	}
	q.bucket[i] += 1 - forget
	q.worst = 0
	sum := 0.0
	for j, w := range q.bucket {
		if sum += w; sum >= q.Quantile {
			q.target = time.Duration(j+1) * 20 * time.Millisecond
			return
		}
	}
	q.target = time.Duration(len(q.bucket)) * 20 * time.Millisecond
}

func (q *netEQ) Target() time.Duration {
	if q.n == 0 {
		return 80 * time.Millisecond
	}
	return q.target
}

// kansal is our reading of Kansal and Karandikar, "Adaptive delay estimation for low jitter audio
// over Internet" (2001), whose text was not at hand: Ramjee's first algorithm with a memory that
// shrinks from 0.998 to 0.75 as the present variation rises from half to four times its long-run
// mean. It is fed with the age of information.
type kansal struct {
	Deviations float64

	d, v, mean float64
	n          int
}

func (k *kansal) Observe(_ clock.Time, age, _ time.Duration) {
	x := float64(age)
	if k.n++; k.n == 1 {
		k.d, k.v, k.mean = x, x/2, x/2
		return
	}
	ratio := 1.0
	if k.mean > 0 {
		ratio = k.v / k.mean
	}
	share := min(max((ratio-0.5)/3.5, 0), 1)
	alpha := 0.998 - share*(0.998-0.75)
	k.d = alpha*k.d + (1-alpha)*x
	k.v = 0.9*k.v + 0.1*math.Abs(x-k.d)
	k.mean = 0.998*k.mean + 0.002*k.v
}

func (k *kansal) Target() time.Duration { return time.Duration(k.d + k.Deviations*k.v) }

// ryzom is the client of Ryzom: the 80th percentile of the last 25 intervals between updates, in
// whole ticks, plus one tick, on top of a constant "LCT" of 100 ms. An update's interval is that
// between the stamps that arrived.
type ryzom struct {
	LCT, Tick time.Duration

	last [25]time.Duration
	n    int
}

// Observe derives the interval from the age: x - n is how far apart the two stamps were.
func (r *ryzom) Observe(_ clock.Time, x, n time.Duration) {
	r.last[r.n%len(r.last)] = (x - n + r.Tick/2) / r.Tick * r.Tick
	r.n++
}

func (r *ryzom) Target() time.Duration {
	have := r.last // a copy
	s := have[:min(r.n, len(have))]
	if len(s) == 0 {
		return r.LCT + 2*r.Tick
	}
	slices.Sort(s)
	return r.LCT + s[len(s)*4/5] + r.Tick
}
