package weather

import (
	"fmt"
	"runtime/debug"
	"time"

	"meanwhile/game"
)

// A Result is what became of a plan.
type Result struct {
	Plan        Plan
	Failed      error  // nil: nothing
	hash        uint64 // of every byte sent
	Faults      int
	Played      time.Duration // in virtual time
	ticks       int           // of the server
	Compared    uint64        // states that clients applied, with the server's
	Sights      int           // shots whose picture was compared
	Blurred     int           // those with other details: texts still unknown, what ends with distance
	Substituted int           // shots judged by a newer state than was shown, as it was too old
	Words       int           // messages that arrived
	Sent        int           // datagrams to players
	ends        int           // connections that the server ended
	moves       int           // into another server
	worlds      int           // opened anew

	faults int // errors of the match that were looked at
}

// Add adds the counts of another plan.
func (r *Result) Add(o *Result) {
	r.Faults, r.Played, r.ticks, r.Compared = r.Faults+o.Faults, r.Played+o.Played, r.ticks+o.ticks, r.Compared+o.Compared
	r.Sights, r.Blurred, r.Words = r.Sights+o.Sights, r.Blurred+o.Blurred, r.Words+o.Words
	r.Substituted, r.moves, r.worlds = r.Substituted+o.Substituted, r.moves+o.moves, r.worlds+o.worlds
	r.Sent, r.ends = r.Sent+o.Sent, r.ends+o.ends
}

// twiceEvery is of how many plans one runs twice: the second time must send the same bytes.
const twiceEvery = 16

// Run plays a plan.
func Run(p Plan) Result {
	r := run(p, 1)
	if r.Failed == nil && p.Seed%twiceEvery == 0 {
		if again := run(p, 2); again.hash != r.hash {
			r.Failed = fmt.Errorf("hash: the bytes sent hash to %x, and to %x when two encode at once", r.hash, again.hash)
		}
	}
	return r
}

// run plays a plan where so many encode at once.
func run(p Plan, workers int) (r Result) {
	w, err := newWorld(&p)
	if err != nil {
		return Result{Plan: p, Failed: err}
	}
	w.sim.Workers = workers
	defer func() {
		if v := recover(); v != nil {
			w.fail("panic: %v\n%s", v, debug.Stack())
		}
		r = w.result
		r.Plan, r.Failed, r.hash = p, w.failed, w.sim.Hash()
		r.Compared, _ = w.sim.Checked()
		r.Faults, r.Played = len(p.Faults), time.Duration(w.sim.Loop.Now())
	}()
	w.play()
	return r
}

// play runs the plan until it fails or ends.
func (w *world) play() {
	p := w.plan
	w.run(warm - window)
	for _, s := range w.seats {
		s.watched.before = s.measure()
		s.watched.least = s.watched.before
	}
	w.run(warm)
	w.sim.Measure()
	for _, s := range w.seats {
		s.watched.before = s.watched.before.until(s.measure(), s.watched.least)
	}
	w.run(p.End + settle)
	for _, s := range w.seats {
		s.watched.after = s.measure()
		s.watched.least = s.watched.after
	}
	w.run(p.End + settle + window)
	for _, s := range w.seats {
		s.watched.after = s.watched.after.until(s.measure(), s.watched.least)
		w.compare(s)
	}
	// Where players push each other, and where commands run when they arrive, others and the path
	// change what a command does. Where commands go back the server may have run others already.
	if err := w.sim.Mispredicted(); err != nil && p.Game != "kick" && w.sim.Rules.Mode != game.Queued && !p.goesBack() {
		w.fail("mispredicted: %v", err)
	}
	if p.Game == "arena" {
		return // it does not come to rest by itself
	}
	if w.storm != nil {
		w.storm.calm = true
	}
	w.still = true
	w.sim.Still()
	var err error
	for waited := time.Duration(0); waited < calmBy && w.failed == nil; waited += time.Second / 2 {
		w.sim.Run(time.Second / 2)
		if err = w.sim.Converged(); err == nil {
			return
		}
	}
	w.fail("converge: %v after all stood still: %v", calmBy, err)
}

// run plays until an instant of the plan, in ms.
func (w *world) run(until int) {
	for w.failed == nil && w.sim.Loop.Now() < w.at(until) {
		w.sim.Run(min(100*time.Millisecond, w.at(until).Sub(w.sim.Loop.Now())))
	}
}

// until returns what happened from e to o. Delay and lead are the least in between: while a path
// loses everything for a second, as ocean does by itself, the picture waits, and so is later.
func (e ends) until(o, least ends) ends {
	return ends{
		o.starved - min(e.starved, o.starved),
		o.hitches - min(e.hitches, o.hitches),
		o.ticks - e.ticks,
		least.delay,
		least.lead,
	}
}

// How much worse than before the faults a player may be off at the end, on a path that carries
// everything by itself.
const (
	moreDelay   = 600 * time.Millisecond
	moreLead    = 600 * time.Millisecond
	moreHitches = 8
)

// compare compares a player's end with its begin.
func (w *world) compare(s *seat) {
	b, a, v := s.watched.before, s.watched.after, w.sim.Server.View(s.p.ID)
	if s.guest || v == nil || s.p.Client == nil || s.patience() > 1 || b.ticks == 0 {
		return
	}
	if a.delay > b.delay+moreDelay && w.plan.Budget >= 32_000 || a.lead > b.lead+moreLead ||
		a.hitches > b.hitches+moreHitches {
		w.fail("whole: player %d has a playout delay of %v, before %v; a lead of %v, before %v; %d hitches, before %d", s.i,
			a.delay, b.delay, a.lead, b.lead, a.hitches, b.hitches)
	}
	sees, _ := v.Count()
	if knows := len(s.p.Client.Store().Entities()); 10*knows < 9*sees-20 {
		w.fail("whole: player %d knows %d entities of %d", s.i, knows, sees)
	}
}
