package host

import (
	"slices"
	"time"

	"meanwhile/server"
	"meanwhile/transport"
)

// A PathClass divides humans by the round trip of their paths.
type PathClass int

// The classes. A path is unmeasured during a player's first moments.
const (
	near       PathClass = iota // up to 50 ms
	middle                      // up to 150 ms
	far                         // longer
	unmeasured                  // no round trip is known yet
	PathClasses
)

// String returns the name of a class, for labels.
func (c PathClass) String() string {
	return [...]string{"near", "middle", "far", "unmeasured"}[c]
}

const (
	nearest  = 50 * time.Millisecond
	farthest = 150 * time.Millisecond
)

// pathClass returns the class of a round trip.
func pathClass(rtt time.Duration) PathClass {
	switch {
	case rtt == 0:
		return unmeasured
	case rtt <= nearest:
		return near
	case rtt <= farthest:
		return middle
	}
	return far
}

// Transports are the names of the transports that PathStats are divided by, see transport.Conn. The
// last stands for all others.
var Transports = [...]string{"quic", "webtransport", "websocket", "other"}

// transportOf returns the index in Transports of a player's connection.
func transportOf(p peer) int {
	if c, ok := p.(transport.Conn); ok {
		if i := slices.Index(Transports[:], c.Name()); i >= 0 {
			return i
		}
	}
	return len(Transports) - 1
}

// DelayBounds divide the delays of Delays.
var DelayBounds = [...]time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 35 * time.Millisecond, 50 * time.Millisecond,
	75 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond,
	300 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

// Delays counts delays of players, each once a second.
type Delays struct {
	Counts [len(DelayBounds) + 1]uint64 // up to each of DelayBounds, then longer ones
	Sum    time.Duration
}

func (d *Delays) note(delay time.Duration) {
	i, _ := slices.BinarySearch(DelayBounds[:], delay)
	d.Counts[i]++
	d.Sum += delay
}

func (d *Delays) add(e *Delays) {
	for i, n := range e.Counts {
		d.Counts[i] += n
	}
	d.Sum += e.Sum
}

// PathStats counts what happened to the humans of one class or one transport, while they belonged
// to it.
type PathStats struct {
	RTT     Delays // round trips of the network alone
	ViewAge Delays // of pictures by which players acted, see server.CommandStats
	Hitches uint64 // see server.CommandStats
	Played  time.Duration

	// ReportedDelay, ReportedHitches, Stalls and Corrections are what clients claim of themselves,
	// see server.Reported.
	ReportedDelay                        Delays
	ReportedHitches, Stalls, Corrections uint64

	Sent, Lost uint64 // datagrams to clients
	// SentBytes and AllowedBytes are what was sent and what the players' budgets allowed,
	// wire.Overhead for each datagram included.
	SentBytes, AllowedBytes uint64
	Choked                  uint64 // packets withheld because too much was in flight
	// Bits of what was sent. Messages and wire.Overhead are the rest of SentBytes.
	HeaderBits, FeedbackBits, MovingBits, FirstBits, GoneBits, OtherBits uint64

	Starved, Late, TooEarly uint64 // see server.CommandStats
	Judged, Clamped         uint64
}

// add adds what another one counted.
func (p *PathStats) add(q *PathStats) {
	p.RTT.add(&q.RTT)
	p.ViewAge.add(&q.ViewAge)
	p.ReportedDelay.add(&q.ReportedDelay)
	p.Played += q.Played
	p.AllowedBytes += q.AllowedBytes
	mine, other := p.counters(), q.counters()
	for i, n := range other {
		*mine[i] += *n
	}
}

// counters returns those that a server counts for each player.
func (p *PathStats) counters() [19]*uint64 {
	return [...]*uint64{&p.Hitches, &p.Sent, &p.Lost, &p.SentBytes, &p.Choked, &p.HeaderBits, &p.FeedbackBits,
		&p.MovingBits, &p.FirstBits, &p.GoneBits, &p.OtherBits, &p.Starved, &p.Late, &p.TooEarly, &p.Judged, &p.Clamped,
		&p.ReportedHitches, &p.Stalls, &p.Corrections}
}

// pathStats returns what a server counted for a player so far.
func pathStats(s *server.PlayerStats) PathStats {
	return PathStats{
		Hitches: s.Hitches, Sent: s.DownlinkStats.Sent, Lost: s.Lost, SentBytes: s.SentBytes, Choked: s.Choked,
		HeaderBits: s.HeaderBits, FeedbackBits: s.FeedbackBits, MovingBits: s.MovingBits, FirstBits: s.FirstBits,
		GoneBits: s.GoneBits, OtherBits: s.OtherBits, Starved: s.Starved, Late: s.Late, TooEarly: s.TooEarly,
		Judged: s.Judged, Clamped: s.Clamped, ReportedHitches: s.Reported.Hitches, Stalls: s.Reported.Stalls,
		Corrections: s.Reported.Corrections,
	}
}

// countPath adds what happened to a human since the last call to the class that it belongs to now.
// Its delays are noted where passed, the time since then, is not zero.
func (r *room) countPath(p *player, passed time.Duration) {
	stats, ok := r.srv.Stats(p.id)
	if !ok || p.bot {
		return
	}
	now := pathStats(&stats)
	news, before := now, p.tallied.counters()
	for i, n := range news.counters() {
		*n -= min(*before[i], *n)
	}
	p.tallied = now
	if passed > 0 && !p.absent() {
		news.Played = passed
		news.AllowedBytes = uint64(int64(stats.Budget) * passed.Milliseconds() / 1000)
		if stats.RTT > 0 {
			news.RTT.note(stats.RTT)
		}
		if stats.ViewAge > 0 {
			news.ViewAge.note(stats.ViewAge)
		}
		if n := stats.Reported.Reports; n != p.reports { // at most one a second
			p.reports = n
			news.ReportedDelay.note(stats.Reported.Delay)
		}
	}
	r.n.paths[pathClass(stats.RTT)].add(&news)
	r.n.transports[transportOf(p.peer)].add(&news)
}
