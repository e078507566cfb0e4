package netsim

import (
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// A Link is one direction of a path. It decides when each datagram arrives; a [Pipe] keeps the
// bytes. It is not safe for concurrent use.
type Link struct {
	cfg   LinkConfig
	stats Stats
	now   clock.Time // of the newest Send
	seed  uint64

	loss, jitter, duplicate, pause, cross, phase geom.Rand

	bad      bool       // state of the loss model
	last     clock.Time // newest arrival, to keep order
	arrived  bool
	pauseAt  clock.Time // the next pause
	pauseEnd clock.Time

	queue   departures
	limit   int        // of the queue, bytes
	busy    clock.Time // Rate: when the last datagram will have left
	source  source     // Cell or Trace: opportunities
	opp     clock.Time // the newest opportunity
	credit  int        // bytes it can still carry
	crossAt clock.Time // next small packet of the other traffic
	burstAt clock.Time // next burst
	burst   int        // bytes of the burst still to come
	burstOn clock.Time // next packet of the burst
}

// source is a capacity made of opportunities.
type source interface {
	next() (clock.Time, int)
}

// Stats counts what happened to the datagrams of a Link.
type Stats struct {
	Sent, SentBytes uint64 // handed over, without Overhead
	Lost            uint64 // by the loss model
	Dropped         uint64 // by the full queue
	Duplicated      uint64
}

// Parameters of the other traffic on a link, see LinkConfig.Cross.
const (
	crossSize       = 1200
	crossShare      = 20 // small packets take 1/20 of the mean rate
	crossBurstEvery = 4 * time.Second
	crossBurstMin   = 40 * time.Millisecond
	crossBurstMax   = 400 * time.Millisecond
	crossBurstShape = 1.3
	crossBurstSpeed = 3 // times the mean rate
)

// NewLink returns a link with the given parameters. Links that differ in seed alone are different
// draws of the same network.
func NewLink(seed uint64, cfg LinkConfig) (*Link, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Link{
		cfg: cfg, seed: seed,
		loss:      geom.NewRand(seed, forLoss),
		jitter:    geom.NewRand(seed, forJitter),
		duplicate: geom.NewRand(seed, forDuplicate),
		pause:     geom.NewRand(seed, forPause),
		cross:     geom.NewRand(seed, forCross),
		phase:     geom.NewRand(seed, forPhase),
	}
	l.startCapacity()
	l.startPauses()
	return l, nil
}

// Config returns the present parameters.
func (l *Link) Config() LinkConfig { return l.cfg }

// Set changes the parameters from the next Send on; datagrams under way keep their arrival. If they
// are not valid, nothing changes.
func (l *Link) Set(cfg LinkConfig) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	old := l.cfg
	l.cfg = cfg
	if cfg.Rate != old.Rate || cfg.Cell != old.Cell || cfg.Trace != old.Trace || cfg.TraceStart != old.TraceStart {
		l.startCapacity()
	} else {
		l.limit = cfg.queue()
		if cfg.Cross != old.Cross {
			l.startCross()
		}
	}
	if cfg.Pause != old.Pause {
		l.startPauses()
	}
	if cfg.Loss != old.Loss {
		l.bad = false
	}
	return nil
}

// Stats returns the counters.
func (l *Link) Stats() Stats { return l.stats }

func (l *Link) startCapacity() {
	l.limit = l.cfg.queue()
	l.source, l.credit, l.opp = nil, 0, -1
	// What still waits in the old queue leaves as it was planned; the new capacity begins after it.
	l.busy = max(l.busy, l.queue.last())
	switch {
	case l.cfg.Cell.Mean != 0:
		l.source = newCell(l.cfg.Cell, l.seed, l.now)
	case l.cfg.Trace != nil:
		l.source = newPlayer(l.cfg.Trace, l.cfg.TraceStart, l.now)
	}
	l.startCross()
}

func (l *Link) startCross() {
	l.burst = 0
	if l.cfg.Cross > 0 {
		l.crossAt = l.now.Add(exponential(&l.cross, l.crossGap()))
		l.burstAt = l.now.Add(exponential(&l.cross, crossBurstEvery))
	}
}

func (l *Link) startPauses() {
	if l.cfg.Pause.Every > 0 {
		l.pauseAt = l.now.Add(exponential(&l.pause, l.cfg.Pause.Every))
		l.pauseEnd = l.pauseAt.Add(l.pauseLength())
	}
}

func (l *Link) pauseLength() time.Duration {
	return l.cfg.Pause.Min + time.Duration(l.pause.IntN(int(l.cfg.Pause.Max-l.cfg.Pause.Min)+1))
}

// crossGap is the mean time between small packets of the other traffic.
func (l *Link) crossGap() time.Duration {
	return time.Duration(crossSize * 8 * crossShare * int64(time.Second) / l.cfg.Mean())
}

// Send passes a datagram of size bytes to the link at now and returns when it arrives: n is 0 if it
// never does, 1, or 2 if it arrives twice. Time does not run backwards: a now before that of the
// last Send counts as that.
func (l *Link) Send(now clock.Time, size int) (arrivals [2]clock.Time, n int) {
	l.now = max(l.now, now)
	size = max(size, 0)
	l.stats.Sent++
	l.stats.SentBytes += uint64(size)
	jitter := l.cfg.Jitter.draw(&l.jitter) // drawn for every datagram, so that loss does not shift the numbers
	twice := l.duplicate.Chance(l.cfg.Duplicate)
	if l.lose() {
		l.stats.Lost++
		return arrivals, 0
	}
	left, ok := l.serve(l.afterPause(l.now), size)
	if !ok {
		l.stats.Dropped++
		return arrivals, 0
	}
	at := left.Add(l.cfg.Delay + jitter)
	if !l.cfg.Reorder && l.arrived {
		at = max(at, l.last)
	}
	l.last, l.arrived = max(l.last, at), true
	arrivals[0], n = at, 1
	if twice {
		l.stats.Duplicated++
		// A copy that went another way: a little later, and past others.
		arrivals[1], n = at.Add(time.Millisecond+l.cfg.Jitter.draw(&l.duplicate)), 2
	}
	return arrivals, n
}

func (l *Link) lose() bool {
	m := l.cfg.Loss
	toss := l.loss.Float64()
	if l.bad {
		l.bad = toss >= m.ToGood
	} else {
		l.bad = toss < m.ToBad
	}
	if l.bad {
		return l.loss.Chance(m.InBad)
	}
	return l.loss.Chance(m.InGood)
}

// afterPause returns t, or the end of the pause that t lies in.
func (l *Link) afterPause(t clock.Time) clock.Time {
	if l.cfg.Pause.Every <= 0 {
		return t
	}
	for t >= l.pauseEnd {
		l.pauseAt = l.pauseEnd.Add(exponential(&l.pause, l.cfg.Pause.Every) + 1)
		l.pauseEnd = l.pauseAt.Add(l.pauseLength())
	}
	if t >= l.pauseAt {
		return l.pauseEnd
	}
	return t
}

// serve returns when the bottleneck has sent a datagram that reaches it at t, or false if its queue
// is full.
func (l *Link) serve(t clock.Time, size int) (clock.Time, bool) {
	if l.cfg.Mean() == 0 {
		return max(t, l.busy), true
	}
	if l.cfg.Cross > 0 {
		l.serveCross(t)
	}
	return l.enqueue(t, size+Overhead)
}

// serveCross puts the other traffic that came before t into the queue.
func (l *Link) serveCross(t clock.Time) {
	mean := l.cfg.Mean()
	for {
		at := min(l.crossAt, l.burstAt)
		if l.burst > 0 {
			at = min(at, l.burstOn)
		}
		if at > t {
			return
		}
		switch {
		case l.burst > 0 && at == l.burstOn:
			size := min(l.burst, crossSize)
			l.burst -= size
			l.burstOn = at.Add(time.Duration(int64(size) * 8 * int64(time.Second) / (crossBurstSpeed * mean)))
			l.enqueue(at, size)
		case at == l.crossAt:
			l.crossAt = at.Add(exponential(&l.cross, l.crossGap()) + 1)
			l.enqueue(at, crossSize)
		default:
			l.burstAt = at.Add(exponential(&l.cross, crossBurstEvery) + 1)
			length := float64(float64(pareto(&l.cross, crossBurstMin, crossBurstMax, crossBurstShape)) * l.cfg.Cross)
			if l.burst == 0 {
				l.burstOn = at
			}
			l.burst += int(mean / 8 * int64(length) / int64(time.Second))
		}
	}
}

// enqueue serves size bytes that arrive at t, not before any earlier arrival.
func (l *Link) enqueue(t clock.Time, size int) (clock.Time, bool) {
	l.queue.leave(t)
	if l.queue.bytes+size > l.limit {
		return 0, false
	}
	if l.source == nil {
		tx := (int64(size)*8*int64(time.Second) + l.cfg.Rate - 1) / l.cfg.Rate
		l.busy = max(l.busy, t).Add(time.Duration(tx))
		l.queue.join(l.busy, size)
		return l.busy, true
	}
	// An opportunity serves what waits when it comes; what it does not use is lost.
	for from := max(t, l.busy); l.opp < from; {
		l.nextOpportunity()
	}
	for need := size; ; {
		if need <= l.credit {
			l.credit -= need
			break
		}
		need -= l.credit
		l.nextOpportunity()
	}
	l.queue.join(l.opp, size)
	return l.opp, true
}

// nextOpportunity moves to the source's next millisecond. Sources know no finer time, and senders
// that keep to round times would always meet the same phase of it, so the instant within it is
// random.
func (l *Link) nextOpportunity() {
	at, bytes := l.source.next()
	l.opp, l.credit = at.Add(time.Duration(l.phase.IntN(int(cellSlot)))), bytes
}

// departures are the bytes in a queue by the time at which they leave: a ring that grows with the
// queue, by doubling, and is bounded by it.
type departures struct {
	ring        []departure // a power of two long
	first, next int         // indices, not reduced
	bytes       int
}

type departure struct {
	at    clock.Time
	bytes int
}

// leave removes what has left by t.
func (d *departures) leave(t clock.Time) {
	for d.first < d.next {
		e := &d.ring[d.first&(len(d.ring)-1)]
		if e.at > t {
			return
		}
		d.bytes -= e.bytes
		d.first++
	}
}

// last returns when the queue will be empty, or 0 if it is.
func (d *departures) last() clock.Time {
	if d.first == d.next {
		return 0
	}
	return d.ring[(d.next-1)&(len(d.ring)-1)].at
}

// join adds bytes that leave at t, which is not before what joined earlier.
func (d *departures) join(t clock.Time, bytes int) {
	d.bytes += bytes
	if d.first < d.next {
		if e := &d.ring[(d.next-1)&(len(d.ring)-1)]; e.at == t {
			e.bytes += bytes
			return
		}
	}
	if d.next-d.first == len(d.ring) {
		ring := make([]departure, max(16, 2*len(d.ring)))
		for i := d.first; i < d.next; i++ {
			ring[i-d.first] = d.ring[i&(len(d.ring)-1)]
		}
		d.first, d.next, d.ring = 0, d.next-d.first, ring
	}
	d.ring[d.next&(len(d.ring)-1)] = departure{t, bytes}
	d.next++
}
