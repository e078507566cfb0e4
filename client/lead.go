package client

import (
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/estimate"
)

const (
	leadPrice = 9500 * time.Microsecond // how much lead it is worth to have one starved tick a minute less
	// leadPressPrice is leadPrice while presses are sent twice: a late shot costs more than a late
	// step. It keeps the lead what it is without second packets, which alone would let it shrink.
	leadPressPrice = 4 * leadPrice
	leadPressFor   = 15 * time.Second // after the newest such press
	// leadPressSpacing: a server that sends less often shows old pictures as it is. A longer lead
	// would make them older still, and past the age that the server believes.
	leadPressSpacing = 60 * time.Millisecond

	leadMargin  = 4 * time.Millisecond   // on top of what commands are known to need
	leadWorth   = 3 * time.Millisecond   // a better lead must be better by so much
	leadInitial = 50 * time.Millisecond  // on top of half the round trip, or of the floor, until enough is known
	leadJump    = 250 * time.Millisecond // the lead jumps where it is too short by more
	leadFloor   = 15 * time.Second       // the least transit of the last one to two of these counts
	leadRing    = 256                    // commands of which it is kept how far ahead they were made
	leadPause   = 10 * time.Second       // at most so much counts as passed between two reports
	// of reports, until their floor is believed: the first may come out of an outage
	leadSettles = time.Second
	leadLearns  = 2 * time.Second        // of reports, until a lead is chosen from them
	leadEvery   = 250 * time.Millisecond // from one choice to the next
	leadMean    = 64                     // frames, or commands, of a mean
	leadPhase   = 16                     // commands in which the phase is found
	leadGrain   = 2 * time.Millisecond   // between leads that are compared, where frames do not say
)

// How many commands wait for each other, so that they share a packet. The oldest of them waits
// longest, and the lead must be longer by that: the prediction does not feel it, but everybody else
// sees the player so much later. Where commands take a long and uncertain time anyway, it is lost
// in what they have above the floor; where they do not, it is most of it.
const (
	// leadPackets is how many packets a second suffice where waiting costs nothing.
	leadPackets = 30
	// leadShare: commands wait for at most this part of what they have above the floor. From twelve
	// ticks on half the packets cost nothing: lead and starving together are 1 % less on held-6 and
	// held-7. Below they cost 1 to 3 % on lte-c and evdo, 4 to 6 % on wifi, lte-a and lte-b, 40 %
	// and more on fiber and burst (docs/results/input.md).
	leadShare = 12
	// leadShareKept is leadShare for as many commands as wait already, so that the number does not
	// change to and fro.
	leadShareKept = 10
)

// A Lead decides how far ahead of the server's time a client makes its commands: far enough that
// each arrives before its tick runs, and not much further. A lead that is too short starves the
// avatar of its command; one that is too long delays what the player does for everybody else.
// Others call it an input buffer.
//
// The server reports by how much new commands preceded their ticks, the client knows how long
// before their ticks it made them, and the difference is how long they took: through loss, queues
// and waiting to be repeated. That does not depend on the lead. So for any lead an estimate.Rises
// knows how often it would have starved, and the Lead takes the one at which a millisecond more is
// no longer worth the starving that it spares.
//
// Commands are made at frames. Where frames and ticks keep step, the time from a command to its
// tick changes in steps of a frame, whatever the lead. So only leads that are whole steps apart are
// compared, and the chosen one is kept in the middle of its step: at the edge every other command
// would come a frame too late. Not safe for concurrent use.
type Lead struct {
	rises   estimate.Rises
	lead    time.Duration
	ahead   [leadRing]time.Duration // by tick: how long before its tick a command was made
	made    clock.Tick              // newest command
	from    clock.Tick              // commands before it teach nothing
	acked   clock.Tick              // newest that the server is known to have
	floor   [2]time.Duration        // least transit: of the last one to two spans of leadFloor; of the present one
	floorAt time.Duration           // age at which the present span began
	synced  bool                    // the server has reported
	anew    bool                    // the next report is the first about another path
	at      clock.Time              // of the newest report
	age     time.Duration           // since the first report, without pauses
	shift   estimate.Shift          // notices another path
	began   time.Duration           // age at which the present path began
	another bool                    // the path is another, and the lead still that of the path before
	chosen  time.Duration           // age at the newest choice
	target  time.Duration           // what commands are to have above the floor
	learned bool                    // target was chosen from reports
	pressed time.Duration           // age up to which late commands cost leadPressPrice
	period  time.Duration           // of a tick, as a rule
	most    clock.Tick              // commands share a packet at most
	every   clock.Tick              // commands share a packet: those up to one whose tick is a multiple of it
	frame   time.Duration           // usual length
	frames  int                     // that it is the mean of, leadMean at most
	phase   time.Duration           // the time from a command to its tick is this plus whole frames
	scatter time.Duration           // mean distance from that
}

// NewLead returns a Lead that knows nothing of the path, for ticks of a period. shared says that
// commands may wait for each other to share a packet, as Every says.
func NewLead(period time.Duration, shared bool) *Lead {
	l := &Lead{target: leadInitial, period: period, most: 1, every: 1}
	if shared {
		l.most = max(clock.Tick((time.Second/leadPackets+period/4)/period), 1)
	}
	return l
}

// Every returns how many commands share a packet now: packets go out with each command whose tick
// is a multiple of it. One is a packet for each command.
func (l *Lead) Every() clock.Tick { return l.every }

// wait returns for how long the oldest command of a packet waits if n share it.
func (l *Lead) wait(n clock.Tick) time.Duration { return time.Duration(n-1) * l.period }

// share decides how many commands share a packet.
func (l *Lead) share() {
	most := l.most
	if l.pressing() {
		most = 1 // a press that waits for others has less time left to be repeated in
	}
	for n := most; n > 0; n-- {
		part := time.Duration(leadShare)
		if n <= l.every {
			part = leadShareKept
		}
		if l.wait(n)*part <= l.target {
			l.every = n
			return
		}
	}
}

// Made notes that the command of a tick was made now, so long before the tick runs. Ticks rise;
// those left out had no command.
func (l *Lead) Made(tick clock.Tick, ahead time.Duration) {
	l.noteFrame(ahead)
	// The command waits for others by design, which says nothing of the path.
	ahead -= time.Duration((l.every-tick%l.every)%l.every) * l.period
	for t := max(l.made+1, tick-min(tick, leadRing-1)); t < tick; t++ {
		l.ahead[t%leadRing] = ahead
	}
	l.ahead[tick%leadRing], l.made = ahead, tick
}

// noteFrame notes how the times from commands to their ticks lie within frames.
func (l *Lead) noteFrame(ahead time.Duration) {
	if l.frame > 0 {
		off := (ahead - l.phase) % l.frame
		switch half := l.frame / 2; {
		case off > half:
			off -= l.frame
		case off < -half:
			off += l.frame
		}
		l.phase += off / leadPhase
		l.scatter += (off.Abs() - l.scatter) / leadMean
	}
}

// truncate forgets the commands after a tick: they are made anew, as a clock was set.
func (l *Lead) truncate(tick clock.Tick) {
	l.made, l.acked, l.from = min(l.made, tick), min(l.acked, tick), min(l.from, tick+1)
}

// remapped says that ticks take longer or shorter than assumed when the commands up to now were
// made: it is not known any more how long before their ticks that was.
func (l *Lead) remapped() { l.from = l.made + 1 }

// Feedback learns from a report of the server at the local time at: it has all commands up to
// acked, and the least time by which the new ones preceded their ticks is slack, negative if one
// came after its tick.
func (l *Lead) Feedback(at clock.Time, acked clock.Tick, slack time.Duration) {
	// Commands that come together waited together, the oldest longest.
	oldest := min(max(l.acked+1, acked-min(acked, leadRing-1)), acked)
	l.acked = max(l.acked, acked)
	if oldest == 0 || oldest < l.from || oldest > l.made || l.made-oldest >= leadRing {
		return
	}
	took := l.ahead[oldest%leadRing] - slack
	if took < -leadMargin {
		return // before it was made: a clock was set since
	}
	if !l.synced {
		l.synced, l.anew, l.at = true, true, at
	}
	if l.anew {
		l.anew, l.shift, l.floor = false, estimate.Shift{}, [2]time.Duration{took, took}
	}
	l.age += min(max(at.Sub(l.at), 0), leadPause)
	l.at = at
	if l.age-l.floorAt > leadFloor {
		l.floorAt, l.floor[0], l.floor[1] = l.age, l.floor[1], took
	}
	before := l.floor[0]
	l.floor[0], l.floor[1] = min(l.floor[0], took), min(l.floor[1], took)
	x := took - l.floor[0]
	if more, another := l.shift.Observe(clock.Time(l.age), took-before); another {
		l.anotherPath(more)
		return
	}
	if l.another {
		// While the lead shrinks fast some frames make no command, and those of the next took a
		// frame longer.
		x = max(x-l.frame, 0)
	}
	l.rises.Observe(clock.Time(l.age), x)
	if !l.learned {
		l.target = max(l.target, min(x, estimate.RisesMost))
	}
	if l.age-l.began >= leadLearns && l.age-l.chosen >= leadEvery {
		l.choose()
		l.chosen = l.age
	}
}

// FasterPath notes that the server's packets come over another path that is faster: commands then
// go another way too, though it may take longer to see.
func (l *Lead) FasterPath() {
	if l.age-l.began >= leadLearns {
		l.anotherPath(0)
	}
}

// startAnew says that commands go over another path from now on, of which nothing is known.
func (l *Lead) startAnew() {
	l.anotherPath(0)
	l.anew = true
}

// anotherPath forgets what was known of the path, as commands go another way now. The least time
// that they take is longer than before by more.
func (l *Lead) anotherPath(more time.Duration) {
	if more > 0 {
		l.floor = [2]time.Duration{l.floor[0] + more, l.floor[0] + more}
		l.target = max(l.target, leadInitial)
	} else {
		l.target = min(l.target, leadInitial)
	}
	l.rises, l.learned, l.another = estimate.Rises{}, false, true
	l.began, l.floorAt, l.chosen = l.age, l.age, l.age
	l.from = l.made + 1 // those under way went both ways
}

// noteSentAgain notes that a press was sent twice at once.
func (l *Lead) noteSentAgain() { l.pressed = l.age + leadPressFor }

// pressing reports whether presses were sent twice of late.
func (l *Lead) pressing() bool { return l.age < l.pressed }

// choose finds the target: what it costs least to have above the floor.
func (l *Lead) choose() {
	// Where frames do not keep step with ticks, the times from commands to their ticks are spread
	// evenly over a frame, which is four times their mean distance from the middle. Half of that is
	// the least.
	margin := min(leadMargin+2*l.scatter, estimate.MaxTarget/2)
	first, step := margin, leadGrain
	have := max(l.target, first)
	if l.frame > leadGrain && l.scatter < l.frame/8 {
		step = l.frame
		if first += (l.phase - l.floor[0] - l.wait(l.every) - margin) % step; first < margin {
			first += step
		}
		have = max(first+(have-first+step/2)/step*step, first) // the same one, though the phase moves on
	}
	price := leadPrice
	if l.pressing() {
		price = leadPressPrice
	}
	best, cost := l.rises.Cheapest(price, margin, first, step)
	if !l.learned || cost+float64(leadWorth) < l.rises.Cost(have, margin, price) {
		have = best
	}
	l.target, l.learned = have, true
	l.share()
}

// Move moves the lead on by dt and returns it. least is the least round trip known, which decides
// until the server has reported more.
func (l *Lead) Move(dt, least time.Duration) time.Duration {
	want := least/2 + leadInitial
	// A frame that hung, or in which a clock was set, counts little.
	l.frames = min(l.frames+1, leadMean)
	l.frame += (min(max(dt, 0), 4*l.frame+time.Millisecond) - l.frame) / time.Duration(l.frames)
	if l.age >= leadSettles {
		want = l.floor[0] + l.target + l.wait(l.every) + l.frame/2
	}
	if !l.synced || l.lead == 0 || want-l.lead > leadJump {
		l.lead = want
		return l.lead
	}
	if !l.learned && l.lead-want > leadJump {
		l.another = true // the first reports came over another path, or out of an outage
	}
	slew := &estimate.InputSlew
	if l.another {
		slew = &estimate.InputChange
		l.another = !l.learned || l.lead > want+leadWorth
	}
	l.lead = slew.Step(l.lead, want, dt)
	return l.lead
}

// Now returns the lead of the last Move: command time minus server time.
func (l *Lead) Now() time.Duration { return l.lead }

// reported reports whether the server has reported anything yet.
func (l *Lead) reported() bool { return l.synced }
