package baseline

import (
	"math"
	"time"

	"meanwhile/netcode/clock"
)

// InputTick is the length of a tick for the leads here.
const InputTick = time.Second / 60

// InputReport is what a server reports about a client's commands, with each packet down.
type InputReport struct {
	At      clock.Time    // local time of its arrival
	Fresh   bool          // commands arrived that had not before
	Slack   time.Duration // least time by which they preceded their ticks, negative if one came too late
	Newest  time.Duration // the same for the newest command
	Acked   clock.Tick    // newest tick whose command, and all before, arrived
	Starved int           // ticks without a command since the report before that arrived
}

// A Lead chooses how far ahead of the server's time a client makes its commands. All read the same
// clock, so that only the lead differs.
type Lead interface {
	// Exchange records a round trip.
	Exchange(x Exchange)
	// Report records a report of the server.
	Report(r InputReport)
	// Move moves the lead on by dt of local time and returns it: command time minus server time.
	Move(dt time.Duration) time.Duration
}

// Leads returns the rivals by name, in the order of tables.
func Leads() []struct {
	Name string
	New  func() Lead
} {
	return []struct {
		Name string
		New  func() Lead
	}{
		{"rtt-3-ticks", func() Lead { return &roundTripLead{Ticks: 3} }},
		{"lightyear", func() Lead { return &lightyearLead{} }},
		{"unity-slack-4", func() Lead { return &unityLead{Slack: 4} }},
		{"overwatch", func() Lead { return &overwatchLead{} }},
		{"fixed-100ms", func() Lead { return &FixedLead{Extra: 100 * time.Millisecond} }},
	}
}

// smoothed is a round trip with its mean deviation, RFC 6298 section 2.
type smoothed struct {
	rtt, dev float64
	n        int
}

func (s *smoothed) add(x time.Duration) {
	r := float64(x)
	if s.n++; s.n == 1 {
		s.rtt, s.dev = r, r/2
		return
	}
	s.dev += (math.Abs(r-s.rtt) - s.dev) / 4
	s.rtt += (r - s.rtt) / 8
}

// approach moves a lead towards want at no more than rate per unit of time, and at once over more
// than 10 ticks, as these engines do.
func approach(have, want, dt time.Duration, rate float64) time.Duration {
	if off := want - have; off > 10*InputTick || off < -10*InputTick {
		return want
	}
	most := time.Duration(rate * float64(dt))
	return have + min(max(want-have, -most), most)
}

// roundTripLead is half the smoothed round trip and some ticks, which is where most engines begin.
type roundTripLead struct {
	Ticks int
	srtt  smoothed
	lead  time.Duration
}

func (l *roundTripLead) Exchange(x Exchange) { l.srtt.add(x.rtt()) }

func (l *roundTripLead) Report(InputReport) {}

func (l *roundTripLead) Move(dt time.Duration) time.Duration {
	want := time.Duration(l.srtt.rtt/2) + time.Duration(l.Ticks)*InputTick
	l.lead = approach(l.lead, want, dt, 0.1)
	return l.lead
}

// lightyearLead is lightyear's input timeline: half the smoothed round trip, four times its jitter
// and three ticks, approached by up to 10 % once it is off by more than one tick.
type lightyearLead struct {
	pings     int
	srtt, dev float64
	lead      time.Duration
}

func (l *lightyearLead) Exchange(x Exchange) {
	rtt := float64(x.rtt())
	l.pings++
	if l.pings == 1 {
		l.srtt, l.dev = rtt, rtt/2
		return
	}
	most := max(min(l.srtt+float64(3*l.dev), 3*l.srtt, l.srtt+float64(500*time.Millisecond)), 1.2*l.srtt)
	off := min(rtt, most) - l.srtt
	l.srtt += off / 12
	l.dev += (math.Abs(off) - l.dev) / 6
}

func (l *lightyearLead) Report(InputReport) {}

func (l *lightyearLead) Move(dt time.Duration) time.Duration {
	jitter := l.dev / 2
	want := time.Duration(l.srtt/2+float64(4*jitter)) + 3*InputTick
	if (want - l.lead).Abs() > InputTick {
		l.lead = approach(l.lead, want, dt, 0.1)
	}
	return l.lead
}

// unityLead is Netcode for Entities: the server averages how early commands are (7/8 of the old and
// 1/8 of the new), the client runs by a tenth of the error in ticks faster or slower, at most by a
// tenth, and begins anew where it is off by more than 10 ticks.
type unityLead struct {
	Slack int // ticks

	srtt  smoothed
	age   float64 // ticks by which commands are early, averaged
	known bool
	lead  time.Duration
	begun bool
	// Ticks by which the lead changed in the last frames, to know what the server has not seen yet.
	changes [64]float64
	frame   int
}

func (l *unityLead) Exchange(x Exchange) { l.srtt.add(x.rtt()) }

func (l *unityLead) Report(r InputReport) {
	if !r.Fresh {
		return
	}
	age := float64(r.Newest) / float64(InputTick)
	if !l.known {
		l.age, l.known = age, true
		return
	}
	l.age += (age - l.age) / 8
}

func (l *unityLead) Move(dt time.Duration) time.Duration {
	start := time.Duration(l.srtt.rtt/2) + time.Duration(l.Slack)*InputTick
	if !l.known || !l.begun {
		l.begun = l.known
		l.lead = start
		return l.lead
	}
	// What was changed within the last round trip is not in the age yet.
	pending := 0.0
	for i := range min(int(l.srtt.rtt/float64(dt)), len(l.changes)) {
		pending += l.changes[(l.frame-i+len(l.changes))%len(l.changes)]
	}
	off := float64(l.Slack) - (l.age + pending)
	l.frame = (l.frame + 1) % len(l.changes)
	l.changes[l.frame] = 0
	if math.Abs(off) > 10 {
		clear(l.changes[:])
		l.lead, l.known = start, false
		return l.lead
	}
	speed := min(max(0.1*off, -0.1), 0.1)
	l.changes[l.frame] = speed * float64(dt) / float64(InputTick)
	l.lead += time.Duration(speed * float64(dt))
	return l.lead
}

// overwatchLead is what Overwatch's engineers described (GDC 2017), as far as it is public: half
// the round trip and a buffer that grows when the server reports that it starved, and shrinks again
// later; a client that has to catch up runs frames of 15.2 ms instead of 16. The sizes of the steps
// are ours: two ticks up for each report of starvation, one tick down for each second without, from
// one tick to half a second.
type overwatchLead struct {
	srtt   smoothed
	buffer time.Duration
	calm   time.Duration
	lead   time.Duration
}

func (l *overwatchLead) Exchange(x Exchange) { l.srtt.add(x.rtt()) }

func (l *overwatchLead) Report(r InputReport) {
	if r.Starved > 0 {
		l.buffer = min(l.buffer+2*InputTick, 500*time.Millisecond)
		l.calm = 0
	}
}

func (l *overwatchLead) Move(dt time.Duration) time.Duration {
	if l.calm += dt; l.calm > time.Second {
		l.calm -= time.Second
		l.buffer -= InputTick
	}
	l.buffer = max(l.buffer, InputTick)
	l.lead = approach(l.lead, time.Duration(l.srtt.rtt/2)+l.buffer, dt, 0.05)
	return l.lead
}

// FixedLead is half the round trip measured at the start and a constant.
type FixedLead struct {
	Extra time.Duration
	srtt  smoothed
	lead  time.Duration
}

func (l *FixedLead) Exchange(x Exchange) {
	if l.srtt.n < 10 {
		l.srtt.add(x.rtt())
	}
}

func (l *FixedLead) Report(InputReport) {}

func (l *FixedLead) Move(dt time.Duration) time.Duration {
	if l.srtt.n < 10 || l.lead == 0 {
		l.lead = time.Duration(l.srtt.rtt/2) + l.Extra
	}
	return l.lead
}
