package snapshot

import (
	"math"
	"math/bits"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// Where a packet has no room for all that changed, the most urgent goes first. How urgent a slot is
// says its score: the ticks since its last record times a weight. The weight says how fast what the
// client holds of the entity becomes wrong to the eye; it follows from distance and speed, and is
// worked out a few times a second (Look). So the score is a sawtooth that each record resets, and
// everything has its turn.
//
// Scores are logarithms: a sum of two small integers, and an index of Scratch.heads. So the highest
// are found without sorting. In balance a record goes when its score reaches a certain height, the
// line. The line less the weight is then the time between records, which they announce.

// Logarithms are to base 2, in 1/octave.
const (
	octave      = 8
	lineShift   = 5             // the line is in 1/2^lineShift of those
	mostWeight  = 40*octave - 1 // weights are in [0, mostWeight]
	wokenAfter  = 4             // ticks that what changes after a rest counts as having waited
	zone        = 56 * octave   // no sum of a weight and a waiting time is as high
	mustGo      = zone          // added to scores of records that must go now
	firstSees   = 2 * zone      // added to those of first sights
	weightAt    = 30 * octave   // Weight at a distance of 1 mm and a speed of 1/4 mm a tick
	knee        = 133           // 100 m
	nearBy      = 2000          // millimetres below which nearness adds hardly any weight
	slowest     = 8             // speed, in 1/4 mm a tick, of what hardly moves
	walking     = 4 * 2000      // speed, in 1/4 mm a second, with which something may begin to move
	exactLead   = 2 * octave    // records that the client compares its prediction with are so much more urgent
	groupLag    = 2 * octave    // groups that do not move wait so much longer for each property while the others go
	longestWait = 1500          // milliseconds after which a record must go, if it can be helped
	detailLag   = 20            // what was not in the first sight waits so much longer
	edge        = 1             // announced periods are longer than wanted by so much
	spareShare  = 75            // 64 parts, and what is left for what comes between announced records
)

// logs has the logarithm of each byte.
var logs = func() (t [256]uint8) {
	for i := range t {
		t[i] = uint8(log2(int64(i)))
	}
	return t
}()

// logOf returns the logarithm of a number of ticks.
func logOf(waited uint16) int {
	if waited < 256 {
		return int(logs[waited])
	}
	return 8*octave + int(logs[waited>>8])
}

// log2 returns the logarithm of v, 0 for v below 1. Within an octave it grows evenly, which is up to
// 0.7 too low.
func log2(v int64) int {
	if v < 1 {
		return 0
	}
	n := bits.Len64(uint64(v)) - 1
	return n*octave + int(uint64(v)<<(63-uint(n))>>(63-3)&(octave-1))
}

// exp2 returns the number with logarithm v, in 1/2^lineShift of 1/octave. The number is in 1/16, at
// most 1<<30.
func exp2(v int) int64 {
	const whole = octave << lineShift
	v = min(max(v+4*whole, 0), 30*whole)
	return int64(whole+v%whole) << uint(v/whole) / whole
}

// An Order says what goes first where not everything has room.
type Order struct {
	// Weight returns how fast the client's picture of an entity becomes wrong, as a logarithm to
	// base 2 in 1/8, at a distance in millimetres and a speed in 1/4 mm a tick. Nil is best.
	Weight func(distance, speed int64) int
	// Score returns how urgent a record of what a client knows is, from 0 to MostScore. Nil adds
	// the logarithm of the ticks that it waited to its weight, and sends at once what begins to
	// move, what was announced, and what waited for long where nothing is announced.
	Score func(w Waiting) int
	// Unannounced leaves out the announcements of when the next record comes: everything is drawn
	// as if its records came with every packet.
	Unannounced bool
}

// MostScore is the greatest score, greater ones are cut to it.
const MostScore = zone - 1

// Waiting is an entity of which a client may be sent a record.
type Waiting struct {
	Ent    int32
	Weight int        // as of the last Look
	Waited clock.Tick // since the newest record of it, wokenAfter where it rested until now
	Sent   clock.Tick // the tick of the newest record of its movement; 0: none
}

// weight is the Weight where no Order is given. Far away the time between records grows with the
// square root of the distance, which makes the sum of all errors, each divided by its distance,
// least. Up to knee it grows with the distance, which makes near errors smaller still: few things
// are that near, so it costs the others little.
func weight(distance, speed int64) int {
	away := log2(distance + nearBy)
	if away > knee {
		away = (away + knee) / 2
	}
	return weightAt + log2(max(speed, slowest))/2 - away
}

// A Boost makes records of an entity come more often for one client: so many times, as far as there
// is room.
type Boost struct{ Ent, Times int32 }

// A Look is from where, and how, a client looks at the world.
type Look struct {
	X, Y   int32 // millimetres
	Facing Facing
	Order  *Order
	Boosts []Boost
	Pace   Pace
}

// A Facing is a direction in which everything counts twice, a vector of length faced. Zero is none.
type Facing struct{ x, y int32 }

// faced is the length of a Facing.
const faced = 1 << 10

// FacingOf returns the Facing of a vector of any length.
func FacingOf(x, y float64) (f Facing) {
	if d := math.Sqrt(float64(x*x) + float64(y*y)); d > 0 && d <= math.MaxFloat64 {
		f = Facing{int32(float64(x / d * faced)), int32(float64(y / d * faced))}
	}
	return f
}

// has reports whether a place, as seen from the viewer, lies within 60 degrees of the direction.
func (f Facing) has(dx, dy int64) bool {
	dot := dx*int64(f.x) + dy*int64(f.y)
	square := float64(float64(dx)*float64(dx)) + float64(float64(dy)*float64(dy))
	return dot > 0 && float64(2*dot) > float64(faced*math.Sqrt(square))
}

// A Pace is how many records go out.
type Pace struct {
	Rate, Send uint16 // ticks and packets a second
	Records    uint16 // records of moving things for which a packet has room
	MaxClass   uint8  // greatest bound that is announced
}

// gap returns the time between packets in 1/16 ticks.
func (p *Pace) gap() int64 { return int64(p.Rate) * 16 / int64(p.Send) }

// A timetable is what the classes of bounds mean at a Pace.
type timetable struct {
	rate, send uint16
	promised   [motion.Bounds]int64 // how soon a record comes at the latest, in ticks
	// lasts is for how long the promise is kept if the record goes with the last packet that does,
	// in 1/16 ticks.
	lasts [motion.Bounds]int64
}

// follow makes t that of p.
func (t *timetable) follow(p *Pace) {
	if t.rate == p.Rate && t.send == p.Send {
		return
	}
	t.rate, t.send = p.Rate, p.Send
	if p.Send == 0 {
		*t = timetable{}
		return
	}
	firstDue := int64(p.Rate+p.Send-1) / int64(p.Send)
	for c := range t.promised {
		t.promised[c] = firstDue + int64(motion.Wait(uint8(c)))
		t.lasts[c] = t.promised[c] * int64(p.Send) / int64(p.Rate) * p.gap()
	}
}

// Look weighs everything in sight. Until the next call weights, detail levels and which limited
// groups are within reach stay as they are.
func (v *View) Look(l *Look) {
	h, weigh := v.h, weight
	v.pace, v.announces, v.score = l.Pace, true, nil
	if o := l.Order; o != nil {
		if v.announces, v.score = !o.Unannounced, o.Score; o.Weight != nil {
			weigh = o.Weight
		}
	}
	gap, load, least := l.Pace.gap(), int64(0), mostWeight
	var times timetable
	times.follow(&v.pace)
	for n := range v.slots.used {
		s := &v.slots.list[n]
		if !s.inSight() || !v.same(s) {
			continue
		}
		e := &h.ents[s.ent]
		distance, more := int64(0), 0
		if e.Placed {
			v.distance(n, square(int64(l.X)-int64(e.X), int64(l.Y)-int64(e.Y)))
			at := h.carrier(e) // a rider is as late as its parent, or both would come apart where it steps off
			dx, dy := int64(l.X)-int64(at.X), int64(l.Y)-int64(at.Y)
			distance = max(dx, -dx) + max(dy, -dy) // Manhattan: near enough, and cheap
			if l.Facing != (Facing{}) && l.Facing.has(-dx, -dy) {
				more = octave
			}
		}
		speed, quiet := int64(h.dense.paces[s.ent]>>6), v.slots.quiet.has(n)
		if quiet || s.phase() == entering { // as if it began to move now; unseen, what stands is missed as much
			speed = max(speed, walking/int64(l.Pace.Rate))
		}
		w := weigh(distance, speed) + more
		for i := range l.Boosts {
			if b := &l.Boosts[i]; b.Ent == s.ent {
				w += log2(int64(b.Times))
			}
		}
		w = min(max(w, 0), mostWeight)
		s.weight = uint16(w)
		if least = min(least, w); !quiet && !s.exact() {
			load += v.share(s, gap, &times)
		}
	}
	v.balance(load, int64(l.Pace.Records)*256, (least+log2(gap)-log2(16)-4*edge)<<lineShift)
}

// share returns what share of a packet, in 1/256, the records of s take as often as they are wanted:
// where that is announced, as seldom as the announcement allows, and somewhat more, since others come
// between.
func (v *View) share(s *slot, gap int64, times *timetable) int64 {
	period, spare := v.period(s.weight), int64(64)
	if v.announces && !v.h.rules[v.h.ents[s.ent].Kind].present {
		period, spare = times.lasts[v.class(s.weight, times)], spareShare
	}
	return min(gap*4*spare/max(period, 1), 256)
}

// class returns the least bound that allows for the time between records of a weight.
func (v *View) class(weight uint16, times *timetable) (class uint8) {
	want := exp2(int(v.line) - (int(weight)-edge)<<lineShift)
	for class < v.pace.MaxClass && times.lasts[class] < want {
		class++
	}
	return class
}

// balance moves the line so that the records that are wanted in a packet are as many as there is
// room for, both in 1/256. At the line least they are wanted in each packet.
func (v *View) balance(load, room int64, least int) {
	by := (log2(max(load, 1)) - log2(max(room, 1))) << lineShift
	if by > -octave<<lineShift && by < octave<<lineShift {
		by /= 2 // so that it settles
	}
	v.line = int32(min(max(int(v.line)+by, least, 0), (mostWeight+10*octave)<<lineShift))
}

// period returns the time between records of a weight, in 1/16 ticks.
func (v *View) period(weight uint16) int64 { return exp2(int(v.line) - int(weight)<<lineShift) }

// carrier returns the bottom of the entities that an entity stands on, or the entity itself.
func (h *History) carrier(e *Entity) *Entity {
	for range schema.MaxParents {
		if e.On < 0 {
			break
		}
		e = &h.ents[e.On]
	}
	return e
}

// Scratch is memory that Views of one goroutine share.
type Scratch struct {
	heads [3 * zone]uint16 // by score, the first slot with it plus 1
	next  [Slots]uint16    // by slot, the next one with the same score plus 1
	top   [3]int           // of each zone, the highest score that occurs
	list  []uint16
	times timetable
	slots int  // in heads
	full  bool // they are more than are likely to have room

	fetched uint64 // so that reading is not left out
}

func (x *Scratch) begin() {
	clear(x.heads[:])
	x.top, x.slots = [3]int{0, zone, 2 * zone}, 0
}

// put adds a slot with a score.
func (x *Scratch) put(n uint16, score int) {
	x.next[n] = x.heads[score]
	x.heads[score] = n + 1
	z := &x.top[score/zone]
	*z = max(*z, score)
	x.slots++
}

// Due appends to dst what should go into a packet now, the most urgent first: the client's avatar,
// removals and first sights of what its commands spawned; then other first sights; then records. Of
// the last two it appends as many as are likely to have room, want each. A record that is neither
// acknowledged nor lost becomes due again after rto. The next packet can go in next ticks.
func (v *View) Due(
	now clock.Time,
	rto time.Duration,
	next clock.Tick,
	want int,
	x *Scratch,
	dst []Candidate,
) []Candidate {
	v.warm()
	v.followSight()
	late := v.sent.late(now, rto)
	x.begin()
	x.times.follow(&v.pace)
	dst = v.scan(late, next, x, dst)
	x.full = x.slots > want
	v.looked = v.h.tick
	dst, _ = v.pop(2, want, late, next, x, dst)
	dst, left := v.pop(1, want, late, next, x, dst)
	dst, _ = v.pop(0, left, late, next, x, dst)
	v.fetch(x, dst)
	return dst
}

// pop appends candidates of the slots in a zone of x, by falling score, until there are want of
// them. left is how many are missing.
func (v *View) pop(z, want int, late, next clock.Tick, x *Scratch, dst []Candidate) (all []Candidate, left int) {
	for score := x.top[z]; score >= z*zone && want > 0; {
		list := x.list[:0]
		for ; score >= z*zone && len(list) < want; score-- {
			for n := x.heads[score]; n != 0; n = x.next[n-1] {
				list = append(list, n-1)
			}
		}
		for _, n := range list {
			at := len(dst)
			if dst = v.pending(n, late, dst); len(dst) == at {
				v.settle(n)
			} else if !v.finish(&dst[at], next, x) {
				dst = dst[:at]
			} else if !dst[at].Exact {
				want--
			}
		}
		x.list = list
	}
	return dst, want
}

// fetch reads what the records of all candidates are differences from, one after the other. Each is
// far away in memory, and so the processor waits for many of them at once; when they are coded it
// would wait for each.
func (v *View) fetch(x *Scratch, due []Candidate) {
	h := v.h
	for i := range due {
		c := &due[i]
		if c.First || c.Gone || c.Exact {
			continue
		}
		e := &h.ents[c.Ent]
		k := h.kinds[e.Kind]
		r := v.ledger.ref(v.slots.list[c.slot].unit(bits.TrailingZeros32(c.groups)), h.tick)
		if k.Obs > 0 && r.base != 0 {
			x.fetched += uint64(e.obsRow(k, r.base)[0]) + uint64(e.obsRow(k, r.prior)[0])
		}
	}
}

// warm reads all that the View notes of slots and records, in order. It lies in a few kilobytes that no
// other client shares, so it is in no cache by now, and what follows would wait for each entry alone.
func (v *View) warm() {
	sum := uint32(0)
	for i := 0; i < len(v.ledger.known); i += 6 {
		sum += uint32(v.ledger.known[i].flags)
	}
	for i := 0; i < len(v.slots.list); i += 3 {
		sum += uint32(v.slots.list[i].ent)
	}
	v.warmed = sum
}

// scan appends what always goes, and puts all else that may be due into x.
func (v *View) scan(late, next clock.Tick, x *Scratch, dst []Candidate) []Candidate {
	now, begin := uint16(v.h.tick), len(dst)
	promised, longest := &x.times.promised, int(v.pace.Rate)*longestWait/1000
	for w, set := range v.slots.taken {
		quiet, present := v.slots.quiet[w], v.slots.present[w]
		for ; set != 0; set &= set - 1 {
			n, bit := uint16(w<<6+bits.TrailingZeros64(set)), set&-set
			s := &v.slots.list[n]
			is := s.phase()
			if s.mine() || is == leaving || is == entering && s.spawned() {
				at := len(dst)
				if dst = v.pending(n, late, dst); len(dst) > at && s.mine() {
					dst[begin], dst[at] = dst[at], dst[begin]
				}
				continue
			}
			if is == ended || quiet&bit != 0 && !v.wakes(n) {
				continue
			}
			waited := now - s.last
			score := int(s.weight) + logOf(waited)
			switch {
			case is == entering:
				score += firstSees
			case s.exact():
				score += mustGo + exactLead
			case v.score != nil:
				score = min(max(v.score(v.waiting(s, waited)), 0), MostScore)
			case v.slots.eager[w]&bit != 0, int(waited) > longest && (present&bit != 0 || !v.announces),
				v.announces && present&bit == 0 && int64(waited)+int64(next) > promised[s.bound()]:
				score += mustGo
			}
			x.put(n, score)
		}
	}
	return dst
}

// waiting describes the entity of s.
func (v *View) waiting(s *slot, waited uint16) Waiting {
	w := Waiting{Ent: s.ent, Weight: int(s.weight), Waited: clock.Tick(waited)}
	for g := range v.h.kinds[v.h.ents[s.ent].Kind].Groups {
		if v.h.kinds[v.h.ents[s.ent].Kind].Groups[g].Moving {
			w.Sent = max(w.Sent, v.ledger.known[s.unit(g)].sent())
		}
	}
	return w
}

// wakes reports whether the entity of slot n, of which the client had everything, has changed.
func (v *View) wakes(n uint16) bool {
	s, d := &v.slots.list[n], &v.h.dense
	moved := d.moved[s.ent] > v.looked
	if !moved && d.slow[s.ent] <= v.looked {
		return false
	}
	v.slots.quiet.remove(n)
	s.last = uint16(v.h.tick - wokenAfter)
	if moved {
		v.slots.eager.add(n)
	}
	return true
}

// finish chooses the bound that c announces, and leaves out of it the groups that do not move and
// are not worth their bits yet. It returns false if c should wait, so that it can announce a
// shorter bound then.
func (v *View) finish(c *Candidate, next clock.Tick, x *Scratch) bool {
	s := &v.slots.list[c.slot]
	r := &v.h.rules[v.h.ents[c.Ent].Kind]
	if c.Gone || !c.Moves {
		return true
	}
	if v.announces && !r.present {
		was, waits := c.Bound, false
		if c.Bound, waits = v.announce(s.weight, c, &x.times); waits &&
			int64(v.h.tick-c.announced+next) <= x.times.promised[was] {
			return false
		}
	}
	if c.First {
		if x.full { // first where everything is, then what it is
			c.groups &^= r.later
		}
		return true
	}
	for set := c.groups &^ r.moving; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		lag, sent := int(r.lag[g]), v.ledger.known[s.unit(g)].sent()
		if sent == 0 {
			lag = detailLag
		}
		waited := uint16(min(v.h.tick-max(sent, s.since), math.MaxUint16))
		if int(s.weight)+logOf(waited)-lag < int(v.line)>>lineShift {
			c.groups &^= set & -set
		}
	}
	return true
}

// settle notes that nothing of slot n is due. If its client has all that there is it needs no look
// until something changes.
func (v *View) settle(n uint16) {
	s := &v.slots.list[n]
	v.slots.eager.remove(n)
	if s.phase() != live || s.exact() || !v.same(s) {
		return
	}
	e := v.h.At(s.ent)
	r := &v.h.rules[e.Kind]
	for set := r.all; set != 0; set &= set - 1 {
		g := bits.TrailingZeros32(set)
		unit := s.unit(g)
		if v.changed(s, e, g) > v.ledger.acked(unit) || v.level(s, g) < v.ledger.known[unit].level() {
			s.last += (uint16(v.h.tick) - s.last) / 2 // under way, or too little to be seen as yet
			return
		}
	}
	if len(r.limits) == 0 {
		v.slots.quiet.add(n)
	}
}

// announce returns the bound that a record of s announces. From record to record it changes by no
// more than a viewer tolerates: a drawn entity slows down to half its speed at most, and runs at
// most half faster than it did. An entity that rested has no such bound.
// waits says that a shorter one is wanted, and that it can be announced once more time has passed.
func (v *View) announce(weight uint16, d *Candidate, times *timetable) (class uint8, waits bool) {
	was := d.Bound
	class = v.class(weight, times)
	if d.announced == 0 || d.start {
		return class, false
	}
	gap, wait := v.h.tick-d.announced, motion.Wait(was)
	for class > was && motion.Wait(class) > wait+gap {
		class--
	}
	wanted := class
	for class < was && motion.Wait(class)+gap/3 < wait {
		class++
	}
	return class, class == was && wanted < was
}
