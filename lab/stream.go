package lab

import (
	"cmp"
	"math"
	"slices"
	"time"

	"meanwhile/geom"
	"meanwhile/lab/baseline"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netsim"
)

// A stream is one flow of snapshots from a server to a client, as it arrived, and the client's
// frames.
type stream struct {
	interval time.Duration
	span     time.Duration
	arrivals []arrival
	floor    time.Duration // the least arrival - stamp of all
	frames   []clock.Time  // true times at which the client draws
	begin    int           // first frame that is measured
	newest   []clock.Time  // by frame: the newest stamp that had arrived
	outage   []bool        // by frame: it lies in an outage
	peaks    []peak
	outages  int
	missed   clock.Time    // end of the newest outage
	beyond   time.Duration // time in which the newest snapshot was older than floor + outagePeak
	skew     int64         // ppm by which the client's crystal is fast
	offset   clock.Time    // of its clock
}

type arrival struct{ at, stamp clock.Time }

// peak is how old the newest snapshot became before the next one arrived.
type peak struct {
	at    clock.Time // of the arrival that ended it
	stamp clock.Time // of the newest snapshot until then
	age   time.Duration
}

const (
	playoutFrame = time.Second / 60
	playoutSkip  = 10 * time.Second // clocks and delays settle
	outagePeak   = 500 * time.Millisecond
	outageApart  = time.Second // between two outages
)

// snapshotBytes is the size of a snapshot at a rate: rarer ones are larger.
func snapshotBytes(rate int) int {
	switch {
	case rate <= 10:
		return 900
	case rate <= 30:
		return 500
	}
	return 250
}

// newStream sends snapshots over a path, which becomes another with each of later.
func newStream(seed uint64, p netsim.Profile, rate int, span time.Duration, later ...leg) (*stream, error) {
	path, err := netsim.NewPath(seed, p)
	if err != nil {
		return nil, err
	}
	r := geom.NewRand(seed, 97)
	s := &stream{interval: time.Second / time.Duration(rate), span: span, floor: math.MaxInt64}
	s.skew, s.offset = int64(r.IntN(101))-50, clock.Time(r.IntN(int(time.Hour)))
	size := snapshotBytes(rate)
	for t := clock.Time(s.interval); t < clock.Time(span); t = t.Add(s.interval) {
		for len(later) > 0 && later[0].from <= t {
			if err := path.Set(later[0].path); err != nil {
				return nil, err
			}
			later = later[1:]
		}
		at, n := path.Down.Send(t, size)
		for _, a := range at[:n] {
			s.arrivals = append(s.arrivals, arrival{a, t})
		}
	}
	slices.SortStableFunc(s.arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	for _, a := range s.arrivals {
		s.floor = min(s.floor, a.at.Sub(a.stamp))
	}
	for t := clock.Time(r.IntN(int(playoutFrame))); t < clock.Time(span); t = t.Add(playoutFrame) {
		s.frames = append(s.frames, t)
	}
	s.index()
	return s, nil
}

// index finds the newest snapshot at each frame, the peaks and the outages.
func (s *stream) index() {
	s.newest, s.outage = make([]clock.Time, len(s.frames)), make([]bool, len(s.frames))
	for s.begin < len(s.frames) && s.frames[s.begin] < clock.Time(playoutSkip) {
		s.begin++
	}
	var newest, since clock.Time
	f := 0
	for _, a := range s.arrivals {
		if a.stamp <= newest {
			continue
		}
		for ; f < len(s.frames) && s.frames[f] < a.at; f++ {
			s.newest[f] = newest
		}
		if newest > 0 {
			p := peak{a.at, newest, a.at.Sub(newest) - s.floor}
			if p.age > outagePeak {
				from, _ := slices.BinarySearch(s.frames, since)
				for i := from; i < f; i++ {
					s.outage[i] = true
				}
				s.miss(since, a.at, newest)
			} else if a.at >= clock.Time(playoutSkip) {
				s.peaks = append(s.peaks, p)
			}
		}
		newest, since = a.stamp, a.at
	}
	for ; f < len(s.frames); f++ {
		s.newest[f] = newest
	}
}

// miss records an outage: from since to until nothing newer than stamp was there, and that is too
// old from floor + outagePeak on.
func (s *stream) miss(since, until, stamp clock.Time) {
	from := max(since, stamp.Add(s.floor+outagePeak), clock.Time(playoutSkip))
	if until <= from {
		return
	}
	s.beyond += until.Sub(from)
	// Otherwise it is the same outage, though something old came through.
	if s.missed == 0 || from.Sub(s.missed) > outageApart {
		s.outages++
	}
	s.missed = until
}

func (s *stream) local(t clock.Time) clock.Time {
	return s.offset + t + t/1_000_000*clock.Time(s.skew)
}

func (s *stream) measured() time.Duration { return s.span - playoutSkip }

// hitches returns how many hitches n frames in a row are that have nothing newer to draw.
func hitches(n int) int {
	var s playout.Stall
	count := 0
	for range n {
		if s.Add(playoutFrame) {
			count++
		}
	}
	return count
}

// played is how a policy played a stream, or several.
type played struct {
	delay        float64 // sum over frames, ms above the floor
	warp         float64 // sum over frames of |speed - 1|, where it did not stall
	frames       int
	moving       int
	extrapolated int // frames drawn beyond the newest snapshot
	hitches      int
	trail        []xy // delay in ms over seconds, thinned out
}

// play runs a policy over the stream. It may draw up to beyond later than the newest snapshot.
func (s *stream) play(p baseline.Player, beyond time.Duration) (res played) {
	next := 0
	var stall playout.Stall
	var last, furthest clock.Time
	for i, f := range s.frames {
		for next < len(s.arrivals) && s.arrivals[next].at <= f {
			p.Arrive(s.local(s.arrivals[next].at), s.arrivals[next].stamp)
			next++
		}
		t := p.Advance(s.local(f))
		before := last
		last = t
		last := s.newest[i].Add(beyond)
		seen := min(t, last) // a rule may run on beyond what has arrived; what is drawn does not
		again := seen <= furthest
		furthest = max(furthest, seen)
		if i < s.begin {
			continue
		}
		delay := f.Sub(t) - s.floor
		res.delay += ms(delay)
		res.frames++
		if t > s.newest[i] && beyond > 0 {
			res.extrapolated++
		}
		if t >= last || again { // nothing newer is there, or what was drawn before is drawn again
			if !s.outage[i] {
				if stall.Add(playoutFrame) {
					res.hitches++
				}
			}
		} else {
			stall.End()
			res.moving++
			res.warp += math.Abs(float64(t.Sub(before))/float64(playoutFrame) - 1)
		}
		if i%12 == 0 {
			res.trail = append(res.trail, xy{float64(f) / 1e9, ms(delay)})
		}
	}
	return res
}

func (p *played) add(q played) {
	p.delay += q.delay
	p.warp += q.warp
	p.frames += q.frames
	p.moving += q.moving
	p.extrapolated += q.extrapolated
	p.hitches += q.hitches
}

func (p played) meanDelay() float64 { return p.delay / float64(max(p.frames, 1)) }
func (p played) meanWarp() float64  { return p.warp / float64(max(p.moving, 1)) }
func (p played) perMinute() float64 {
	return float64(p.hitches) / (time.Duration(max(p.frames, 1)) * playoutFrame).Minutes()
}

// ourPlayer is our own playout clock.
type ourPlayer struct{ *playout.Clock }

func (p ourPlayer) Arrive(local, stamp clock.Time) { p.Clock.Arrive(local, stamp, false) }
