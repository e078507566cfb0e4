package rewind

import (
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
)

// Checks are parts of what Claims does.
type Checks uint8

// The checks.
const (
	CheckPath    Checks = 1 << iota // a picture may be as old as the path asks for
	CheckJumps                      // its age changes slowly
	CheckEarly                      // what is sent early waits at the client's expense
	CheckPackets                    // a picture without the packets of its time is older than it says
)

// Claims is what a server knows of one client's picture: how old it may be on the client's path,
// and how old it was in the commands up to now. A client may state any playout time, acknowledge
// late, and send early or late. What an honest client draws follows from its path, and changes
// slowly. So a picture that is older than that is not believed (Allowed).
//
// What a client does always cannot be told from its path: whoever delays all that it sends plays on
// a slow path, and has the picture of a slow path. The gain is in doing it for a shot.
//
// The zero Claims is ready. All ages are of the picture when its command runs. Not safe for
// concurrent use.
type Claims struct {
	// Without are checks that are left out, for experiments that show what each is good for.
	Without Checks
	// Chosen is the playout delay that the client may choose, whatever its path asks for.
	Chosen time.Duration

	ages   spans            // how old the newest acknowledged state became
	lead   [2]time.Duration // largest slack of commands: of the present leadWindow and of the one before
	leadAt int64            // number of the present leadWindow
	begun  clock.Time       // first acknowledgement

	own time.Duration // Norm.Age, when it was asked for
	// unsteady is how much older than with every packet the newest state becomes in the middle one
	// of the last seconds. It takes half of the time to change that.
	unsteady time.Duration
	usual    time.Duration  // age that the claims have, followed slowly
	tick     clock.Tick     // of the newest claim
	seen     clock.TickFrac // that it states
	since    clock.Tick     // first command that stated this
	frame    time.Duration  // for how long commands state the same, on average
	shot     bool           // the newest command was one
	stalled  clock.Tick     // newest command whose client waited for packets, or that came late

	// Exceptions are counted in bouts: seconds from a shot on. One that has any costs a credit,
	// whether they are believed or not.
	credit   int32      // bouts that may have exceptions, in 1/boutUnit; negative: so many more had
	start    int32      // what the client began with for being unsteady
	rough    int32      // share of seconds with commands beyond the bounds, in 1/boutUnit
	parts    int32      // seconds of its mean, up to roughMean
	part     int64      // number of the present second
	isRough  bool       // it has one
	charged  bool       // the present bout has an exception
	believed bool       // which is granted
	bout     clock.Time // when the present bout ends
}

const (
	leadWindow = 4 * time.Second
	// learnFor is how long nothing is known of a new client's path: it begins with a playout delay
	// of two packets and firstDelay.
	learnFor   = 15 * time.Second
	firstDelay = 40 * time.Millisecond
	// usualLead is how long before their ticks commands come on a path without jitter: they wait
	// for a frame and for each other.
	usualLead = 26 * time.Millisecond
	// pathTolerance is by how much a picture may be older than what is measured says, and a sixth
	// of the playout delay: it is chosen in steps of a tenth.
	pathTolerance = 6 * time.Millisecond
	// Where packets come less often than usualPackets the age is measured less often, too.
	usualPackets = 50 * time.Millisecond
	// A screen shows a picture for leastFrame to mostFrame, as its commands say: players react to
	// the one before the next.
	leastFrame, mostFrame = 17 * time.Millisecond, 34 * time.Millisecond

	framesMean = 32 // pictures of the mean
	// jumpTolerance is by how much the age of a client's picture may differ from what its claims
	// were up to now. These are followed by 1/usualUp of the time that passes where they grow, and
	// by 1/usualDown where they shrink. An honest playout delay moves by up to a tenth, seldom far.
	jumpTolerance      = 20 * time.Millisecond
	newerTolerance     = 26 * time.Millisecond // after a stall pictures get newer fast
	usualUp, usualDown = 20, 4
	// afterStall is for how long a picture that stood still without packets may be catching up: it
	// does so by a tenth of the time.
	afterStall = 4 * time.Second

	boutUnit  = 1 << 16
	boutSpan  = time.Second
	roughMean = 64 // seconds of the mean
	// A client begins with one bout. Each bout earns boutShare times the share of seconds that are
	// rough, up to mostCredit bouts. Where mostRough of the seconds are, that is no exception.
	boutShare  = 2
	mostRough  = boutUnit / 2
	mostCredit = 8 * boutUnit
	// On paths that are unsteady all the time exceptions are common: the client begins with one
	// more for each unsteadyStart of that.
	unsteadyStart = 10 * time.Millisecond
	startParts    = 4 // seconds, from which on that is known
	// Each freeEvery earns one, up to mostFree: also good paths have an outage once in a while.
	freeEvery = time.Minute
	mostFree  = 2 * boutUnit
	mostDebt  = 20 * boutUnit
)

// Acknowledged notes that at now packets were acknowledged for the first time, when the newest of
// those before was as old as age, above the least round trip. A gap that no playout delay bridges
// does not count.
func (c *Claims) Acknowledged(now clock.Time, age time.Duration) {
	if c.begun == 0 {
		c.begun, c.credit = now, boutUnit
	}
	if age <= playout.MaxDelay {
		c.ages.note(now, age)
	}
}

// Arrived notes that a command came so long before its tick; negative: after it.
func (c *Claims) Arrived(now clock.Time, slack time.Duration) {
	if w := int64(now) / int64(leadWindow); w > c.leadAt {
		c.lead[1], c.lead[0], c.leadAt = c.lead[0], 0, w
	}
	c.lead[0] = max(c.lead[0], slack)
}

// A Norm is what a picture is like on a client's path as a rule.
type Norm struct {
	Age time.Duration // when its command runs: no path needs older ones
	// Varies is how much older than usual a picture may be, Newer how much newer.
	Varies, Newer time.Duration
}

// Norm returns the age that a picture has on the client's path as a rule: the least round trip, how
// old the newest state becomes there, and how long before their ticks commands come to be in time.
// packets is the time from one packet of the server to the next.
func (c *Claims) Norm(now clock.Time, trip, packets time.Duration) Norm {
	ages := max(c.ages.most, c.ages.present()) // clients wait longer at once, not from the next second on
	age, frame := max(min(ages, c.ages.second+2*packets), c.Chosen), min(max(c.frame, leastFrame), mostFrame)
	if now.Sub(c.begun) < learnFor {
		age, frame = max(age, 2*packets+firstDelay), mostFrame
	}
	rough := max(age-2*packets, 0) / 2 // one lost packet is nothing unusual
	lead := max(c.lead[0], c.lead[1])
	if c.Without&CheckEarly == 0 { // the path up may be as rough as both ways are together, but seldom is
		lead = min(lead, usualLead+frame-leastFrame+max(age-packets, 0)/2+rough)
	}
	c.own = trip + age + age/6 + lead + frame + pathTolerance + max(packets-usualPackets, 0)/4 + rough
	c.unsteady = max(c.ages.middle-packets, 0)
	n := Norm{c.own, jumpTolerance + c.unsteady, newerTolerance + max(c.unsteady, rough)}
	if c.Without&CheckPath != 0 {
		n.Age = spanMost
	}
	if c.Without&CheckJumps != 0 {
		n.Varies, n.Newer = spanMost, spanMost
	}
	return n
}

// A Claim is what one command claims.
type Claim struct {
	At      clock.Time     // when the command runs
	Tick    clock.Tick     // of the command
	Seen    clock.TickFrac // that it states
	Claimed time.Duration  // age of the picture when the command runs
	Norm                   // of the client's path
	Stalled bool           // the client waited for packets: it drew the newest state that it had
	Late    bool           // it came after its tick
}

// Follow learns from a command that has run. shot says that it was judged by its picture.
func (c *Claims) Follow(claim Claim, period time.Duration, shot bool) {
	passed := time.Duration(claim.Tick-min(c.tick, claim.Tick)) * period
	age := min(claim.Claimed, claim.Norm.Age) // an older one must not make a shot that states less older
	if claim.Stalled {
		c.stalled = claim.Tick
	}
	learns := claim.At.Sub(c.begun) < learnFor
	up, down := passed/usualUp, passed/usualDown
	if c.Chosen != 0 { // whose players may choose older pictures, and then slow down to get there
		up = down
	}
	if learns {
		c.usual = age
	} else {
		c.usual += min(max(age-c.usual, -down), up)
	}
	if claim.Seen != c.seen {
		if shown := time.Duration(claim.Tick-min(c.since, claim.Tick)) * period; shown <= 4*max(period, mostFrame) {
			c.frame += (shown - c.frame) / framesMean
		}
		c.seen, c.since = claim.Seen, claim.Tick
	}
	c.tick = max(c.tick, claim.Tick)
	c.pass(claim.At)
	if !shot || c.shot {
		c.isRough = c.isRough || claim.Claimed > c.most(claim) && c.caused(claim, period)
	}
	c.shot = shot
}

// Late notes a command without a shot that came after its tick, when its picture was so old.
func (c *Claims) Late(now clock.Time, tick clock.Tick, age time.Duration) {
	c.pass(now)
	if age > min(c.usual+jumpTolerance, c.own) {
		c.isRough, c.stalled = true, max(c.stalled, tick)
	}
}

// pass lets time pass.
func (c *Claims) pass(now clock.Time) {
	part := int64(now) / int64(boutSpan)
	if part <= c.part {
		return
	}
	rough := int32(0)
	if c.isRough {
		rough = boutUnit
	}
	c.parts = min(c.parts+1, roughMean)
	c.rough += (rough - c.rough) / c.parts
	c.part, c.isRough = part, false
	if now.Sub(c.begun) < learnFor {
		if more := min(int32(boutUnit*c.unsteady/unsteadyStart), mostCredit) - c.start; more > 0 && c.parts >= startParts {
			c.start += more
			c.credit += more
		}
		return
	}
	c.earn(int32(boutUnit*boutSpan/freeEvery), mostFree)
}

// earn adds to the credit, up to most.
func (c *Claims) earn(credit, most int32) { c.credit = max(c.credit, min(c.credit+credit, most)) }

// most returns how old a picture may be that is no exception.
func (c *Claims) most(claim Claim) time.Duration {
	if c.tick == 0 {
		return claim.Norm.Age
	}
	return min(c.usual+claim.Varies, claim.Norm.Age)
}

// caused reports whether the path may be the cause of a picture that is beyond the bounds.
func (c *Claims) caused(claim Claim, period time.Duration) bool {
	return claim.Claimed <= claim.Norm.Age || claim.Late || claim.Stalled ||
		c.stalled != 0 && time.Duration(claim.Tick-min(c.stalled, claim.Tick))*period <= afterStall
}

// except charges an exception, and reports whether it is believed. A mild one makes no debt: leads
// that were not tried yet are a little too long, and in the beginning nothing is known of the path.
func (c *Claims) except(mild bool) bool {
	if pays := c.credit >= boutUnit; !c.charged && (pays || !mild) {
		c.charged, c.believed = true, pays
		c.credit = max(c.credit-boutUnit, -mostDebt)
	}
	return c.charged && c.believed
}

// Suspicion says how much more often a client's shots were beyond the bounds than its path
// explains: 5 for each second of shots with one, 100 at most. What is explained takes it off again.
func (c *Claims) Suspicion() int { return int(max(-c.credit, 0)) * 100 / mostDebt }

// Allowed returns the bounds of the age of the picture by which a shot is judged, and why the
// claimed one is not within them. Exceptions need a cause, and are believed as far as the client
// has earned them: as often among the bouts of its shots as its commands had them in other seconds.
func (c *Claims) Allowed(claim Claim, period time.Duration) (least, most time.Duration, reason Reason) {
	age, own := claim.Claimed, claim.Norm.Age
	if most = c.most(claim); c.tick != 0 {
		least = min(max(c.usual-claim.Newer, 0), own)
	}
	c.pass(claim.At)
	learns := claim.At.Sub(c.begun) < learnFor
	if claim.At >= c.bout {
		c.bout, c.charged = claim.At.Add(boutSpan), false
		if !learns {
			c.earn(boutShare*min(c.rough, max(mostRough-c.rough, 0)), mostCredit)
		}
	}
	switch {
	case age < least:
		return least, most, Jump
	case age <= most:
		return least, most, Exact
	case c.except(learns || age <= most+jumpTolerance) && c.caused(claim, period):
		return least, age, Exact
	case age > own:
		return least, most, Path
	}
	return least, most, Jump
}

// Judge holds a receipt to what is Allowed. A picture that is older than that is replaced whole:
// what moves is not judged by a state from before it, whatever the client did not acknowledge.
func (c *Claims) Judge(r *Receipt, claim Claim, now clock.Tick, period time.Duration) {
	least, most, reason := c.Allowed(claim, period)
	if reason == Exact {
		return
	}
	back := func(age time.Duration) clock.TickFrac {
		return max(now.Frac()-clock.TickFrac(int64(age)*clock.FracPerTick/int64(period)), 0)
	}
	switch {
	case claim.Claimed < least:
		r.Used, r.Reason = max(min(r.Used, back(least)), r.Bound), reason
	case back(most) >= r.Used || r.Reason == Exact:
		r.Used, r.Reason = max(r.Used, back(most)), reason
		r.Oldest = max(r.Oldest, (back(most) + clock.FracPerTick - 1).Tick())
	}
}

// spans keeps the largest value of each of the last 64 seconds in which there was one. The zero
// spans is empty.
type spans struct {
	ring  [spanParts]uint8 // in spanGrain, rounded up
	at    uint8            // of the present second
	part  int64            // its number
	count uint8            // seconds in the ring, without the present one
	// The two largest ones and the middle one, of the seconds before the present one.
	most, second, middle time.Duration
}

// present returns the largest value of the present second, 0 if there is none yet.
func (s *spans) present() time.Duration { return time.Duration(s.ring[s.at]) * spanGrain }

const (
	spanPart  = time.Second
	spanParts = 64
	spanGrain = 4 * time.Millisecond
	spanMost  = 255 * spanGrain
)

// note records a value at now.
func (s *spans) note(now clock.Time, v time.Duration) {
	if part := int64(now) / int64(spanPart); part > s.part {
		s.part, s.at = part, (s.at+1)%spanParts
		s.ring[s.at] = 0
		sorted := s.ring
		slices.Sort(sorted[:])
		s.count = min(s.count+1, spanParts-1) // the present one has nothing yet
		of := func(i int) time.Duration { return time.Duration(sorted[i]) * spanGrain }
		s.most, s.second = of(spanParts-1), of(spanParts-2)
		s.middle = of(spanParts - 1 - int(s.count)/2)
	}
	at := &s.ring[s.at]
	*at = max(*at, uint8((min(max(v, 0), spanMost)+spanGrain-1)/spanGrain))
}
