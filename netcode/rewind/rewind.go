// Package rewind reproduces on the server what one client saw, to judge its shots: lag
// compensation. What can be hit is drawn from records that arrived and from one playout time that
// each command states, and from nothing else. The server knows both, so it computes what the client
// drew, with the client's own maths, instead of estimating it from latencies.
//
// Judge bounds the stated playout time; a Rewinder draws the entities as of then.
package rewind

import (
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

// Reason says why the playout time that was used differs from the stated one.
type Reason uint8

// The reasons.
const (
	Exact   Reason = iota // it does not: the stated one is used
	None                  // none was stated: the present is used
	TooOld                // further back than maxRewind: that far is used
	Future                // not drawn yet: the present is used
	Off                   // lag compensation is switched off: the present is used
	Path                  // older than the client's path asks for: as old as that is used
	Jump                  // not as old as in the commands before: about as old as there is used
	Reasons               // how many there are
)

// String returns a reason in words, "" for what is none.
func (r Reason) String() string {
	if words := [...]string{"exact", "none stated", "too old", "in the future", "switched off",
		"older than the path asks for", "a jump"}; int(r) < len(words) {
		return words[r]
	}
	return ""
}

// A Receipt says by which past a command is judged.
type Receipt struct {
	Stated clock.TickFrac // playout time that the client claims was on its screen, 0: none
	Used   clock.TickFrac
	By     wire.Basis     // packets that it claims to have drawn it from
	Bound  clock.TickFrac // the earliest time that may be used
	Reason Reason
	// Oldest is the tick of the oldest state that an entity which moved since is judged by. Without
	// this limit a client that withholds acknowledgements could choose how old its targets are.
	Oldest clock.Tick
	// between is that tick for what is drawn between two records, where clients know the bound of
	// Used and draw the same; 0: Oldest.
	between clock.Tick
}

// MaxGap is how much older than the playout time a record may be that an entity is drawn from, if
// more than mostLost newer ones were sent before that. A longer time between two records is an
// outage, and a shooter may not make use of it.
const (
	MaxGap   = time.Second
	mostLost = 2
)

// Judge turns a client's claim into what is used: a playout time between now-maxRewind and now,
// with period the time of a tick. A claim can only choose among the pasts that maxRewind allows. A
// negative maxRewind switches lag compensation off: the present is used. now and period are the
// server's.
func Judge(stated clock.TickFrac, by wire.Basis, now clock.Tick, maxRewind, period time.Duration) Receipt {
	r := Receipt{Stated: stated, Used: stated, By: by, Oldest: now}
	present := now.Frac()
	oldest := max(present-ticks(max(maxRewind, 0), period), 0)
	r.Bound = oldest
	switch {
	case maxRewind < 0:
		r.Used, r.Reason = present, Off
	case stated == 0:
		r.Used, r.Reason = present, None
	case stated > present:
		r.Used, r.Reason = present, Future
	case stated < oldest:
		r.Used, r.Reason = oldest, TooOld
	}
	switch {
	case r.Reason == Off || r.Reason == None || r.Reason == Future: // judged by the present, not by what was withheld
	case r.Reason == TooOld: // what the client had is older than the bound, too: the target is favoured
		r.Oldest = r.Used.Tick()
	default:
		r.Oldest = max(r.Used-ticks(MaxGap, period), 0).Tick()
	}
	return r
}

// ticks returns a time in ticks.
func ticks(d, period time.Duration) clock.TickFrac {
	return clock.TickFrac(int64(d) * clock.FracPerTick / int64(period))
}

// AtMost bounds how far back r goes, by a bound that the client knows: since it has newer records
// than it draws, it predicts by the same. now and period are the server's.
func (r *Receipt) AtMost(most time.Duration, now clock.Tick, period time.Duration) {
	earliest := max(now.Frac()-ticks(most, period), 0)
	switch {
	case r.Reason == Off || r.Reason == None:
	case most <= 0:
		r.Used, r.Bound, r.Reason, r.Oldest = now.Frac(), now.Frac(), Off, now
	case r.Used < earliest:
		r.Used, r.Bound, r.Reason = earliest, earliest, TooOld
		r.Oldest = max(r.Oldest, earliest.Tick())
		r.between = max(earliest-ticks(MaxGap, period), clock.FracPerTick).Tick()
	}
}

// A Rewinder draws the past for one client. It reuses its memory; not safe for concurrent use.
type Rewinder struct {
	History *snapshot.History
	View    *snapshot.View
	Log     *wire.Log

	// Substituted counts groups of entities that were judged by another state than the client drew:
	// that one was older than Receipt.Oldest. Those of an entity that had ended by then are judged as
	// not there. It also counts those where this may be so, as more packets were sent in an outage
	// than the first acknowledgement after it speaks of. It happens to a shooter after an outage, or
	// if the server sent it too few records.
	Substituted uint64

	list  []uint16
	vals  [2][]int64
	was   []int64
	drawn []int64
}

// A Query says of which entities Each is to speak.
type Query struct {
	Kind   int
	Self   int32  // not of this one, by index; -1: nobody
	ID     uint32 // of this one alone; 0: of all; with Modulo, unless that is 0, of all with this remainder
	Modulo uint32
	Near   *snapshot.Area // of those that may be there, and perhaps of others; nil: of all
}

// Each calls f for every entity that q asks for and that the client showed at the moment of a
// receipt, by rising ID, with the values that it drew: observer integers in 1/schema.SubSteps,
// valid during the call. Entities that have died or left its sight since are included; those that
// the client did not hold yet are not. f returns false to stop.
func (r *Rewinder) Each(k *schema.Kind, q Query, at Receipt, f func(id uint32, drawn []int64) bool) {
	if cap(r.drawn) < k.Obs {
		r.drawn = make([]int64, k.Obs)
	}
	h := r.History
	r.list = r.View.Shown(at.By, r.list[:0], func(i int32) bool {
		if q.Near != nil && !h.MayTouch(i, q.Near) {
			return false
		}
		e := h.At(i)
		return e.Kind == q.Kind && i != q.Self && (q.ID == 0 || e.ID == q.ID || q.Modulo != 0 && e.ID%q.Modulo == q.ID)
	})
	// Places are commonly found in the newest packets. Other groups change seldom and are found
	// long ago, but at the beginning of packets.
	if p := k.PlaceProp(); p != nil && at.Reason != Off {
		r.View.FindRecords(r.Log, r.list, 1<<p.Group, at.By, at.Used)
	}
	if q.Near != nil {
		r.leaveOutFar(k, q.Near, at)
	}
	if at.Reason != Off {
		r.View.FindRecords(r.Log, r.list, 1<<len(k.Groups)-1, at.By, at.Used)
	}
	last := uint32(0)
	for _, n := range r.list {
		i := r.View.EntityOf(n)
		e := h.At(i)
		if e.ID == last || at.Reason == Off && !e.Alive() {
			continue
		}
		drawn := r.drawn[:k.Obs]
		if !r.draw(k, n, i, at, drawn) {
			continue
		}
		last = e.ID
		h.Spell(k, drawn)
		if !f(e.ID, drawn) {
			break
		}
	}
}

// leaveOutFar takes out of the list what was not drawn in an area, by its place alone.
func (r *Rewinder) leaveOutFar(k *schema.Kind, near *snapshot.Area, at Receipt) {
	p := k.PlaceProp()
	if p == nil || p.ObsAt < 0 {
		return
	}
	g, counted := p.Group, r.Substituted
	drawn, kept, last := r.drawn[:k.Obs], r.list[:0], int32(-1)
	for j, n := range r.list {
		i := r.View.EntityOf(n)
		// One with two slots may be drawn by either, which its other groups decide.
		once := i != last && (j+1 == len(r.list) || r.View.EntityOf(r.list[j+1]) != i)
		if last = i; once && r.drawGroup(k, g, n, i, at, drawn) && !r.History.Touches(k, drawn, near) {
			continue
		}
		kept = append(kept, n)
	}
	r.list, r.Substituted = kept, counted
}

// draw writes to drawn what the client drew of entity i, of kind k, in slot n. It returns false if
// the client did not hold it yet.
func (r *Rewinder) draw(k *schema.Kind, n uint16, i int32, at Receipt, drawn []int64) bool {
	for g := range k.Groups {
		if !r.drawGroup(k, g, n, i, at, drawn) {
			return false
		}
	}
	return true
}

// drawGroup is draw for a group.
func (r *Rewinder) drawGroup(k *schema.Kind, g int, n uint16, i int32, at Receipt, drawn []int64) bool {
	group := &k.Groups[g]
	var a, b snapshot.Mark
	if at.Reason == Off {
		a.Tick = r.History.Tick()
	} else {
		a, b = r.View.RecordsAround(r.Log, n, g, at.By, at.Used)
	}
	if at.Reason != Off && r.unsaid(n, g, i, a.Tick) {
		r.Substituted++
	}
	if a.Tick == 0 { // before its first record it is drawn where that one puts it
		a, b = b, snapshot.Mark{}
	}
	if a.Tick == 0 && k.Later(g) {
		clear(drawn[group.At : group.At+group.N]) // the client does not have it
		return true
	}
	if a.Tick == 0 {
		return false
	}
	// A record is shown later by its bound, and the next one comes later by that much.
	slack := 2 * motion.Wait(max(a.Bound, b.Bound))
	if at.Reason == Path || at.Reason == Jump { // that the next one comes later is not believed
		slack /= 2
	}
	if group.Reckoned != 0 {
		slack += motion.MaxForward // silence is no outage
	}
	oldest := at.Oldest
	if b.Tick != 0 && at.between != 0 {
		oldest = min(oldest, at.between)
	}
	oldest -= min(oldest, slack)
	// Records wait for room, at a small budget for seconds. A state is used however old it is if no
	// newer one was sent that a shooter might withhold the arrival of. Two may have been lost: where
	// the picture is believed, it is used then, too, and withholding gains what these losses cost.
	lost := 0
	if at.Reason == Exact {
		lost = mostLost
	}
	if a.Tick < oldest && (lost > 0 || !group.Moving) && r.History.At(i).ChangedIn(g) > a.Tick &&
		!r.View.SentMore(r.Log, n, g, a.Tick, oldest, lost) {
		oldest = a.Tick
	}
	from, ok := r.state(n, g, a, oldest, 0)
	if !ok {
		return false
	}
	var to *motion.State
	if b.Tick != 0 {
		if s, ok := r.state(n, g, b, oldest, 1); ok {
			to = &s
		}
	}
	motion.Draw(k, group, &from, to, at.Used, drawn[group.At:group.At+group.N])
	return true
}

// unsaid reports whether the client may have drawn a newer state of a group than that of a tick: it
// changed since, and was sent in packets of which it is never known whether they arrived.
func (r *Rewinder) unsaid(n uint16, g int, i int32, after clock.Tick) bool {
	t := r.Log.Unsaid()
	return t > after && r.History.At(i).ChangedIn(g) > after && r.View.SentSince(n, g, after, t)
}

// state rebuilds the state of a record of slot n. A record may be older than the history, if its
// entity rested since: its values are then those of the oldest tick that the history has. If the
// entity moved after a record that is older than the oldest state allowed, or than the history, the
// oldest one that may be used takes its place.
func (r *Rewinder) state(n uint16, g int, m snapshot.Mark, oldest clock.Tick, scratch int) (motion.State, bool) {
	h, i, t := r.History, r.View.EntityOf(n), m.Tick
	e := h.At(i)
	moved, from := e.ChangedIn(g) > t, t
	if t < oldest && moved {
		from = min(oldest, h.Tick())
	}
	vals, at, ok := h.Past(i, g, from, r.vals[scratch])
	if !ok {
		if moved { // it had ended by then
			r.Substituted++
		}
		return motion.State{}, false
	}
	r.vals[scratch] = vals
	if at > t && moved && !r.same(i, g, t, vals) {
		r.Substituted++
	}
	schema.Coarsen(h.Kind(e), g, int(m.Level), vals)
	r.View.Hide(n, g, t, vals)
	cut, start := e.TimesAt(g, t)
	s := motion.State{Tick: t, Cut: cut, Start: start, Bound: m.Bound, Vals: vals}
	if h.Kind(e).Groups[g].Reckoned != 0 { // drawn on from where and when it was so
		if s.Rest = e.RestedAt(g, t); moved {
			s.Tick, s.Rest = at, e.RestedAt(g, at)
		}
	}
	return s, true
}

// same reports whether a group is known to have been at tick t as it is in vals. t may lie before
// the history, if the group rested until then.
func (r *Rewinder) same(i int32, g int, t clock.Tick, vals []int64) bool {
	was, at, ok := r.History.Past(i, g, t, r.was)
	if ok {
		r.was = was
	}
	return ok && (at == t || r.History.At(i).ChangedBy(g, at) <= t) && slices.Equal(was, vals)
}
