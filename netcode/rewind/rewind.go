// Package rewind answers on the server what one client saw: which records it held, and how it drew
// them. What can be hit is a pure function of records that arrived and of one playout time that
// each command states, and the server knows both, so it recomputes the picture with the client's
// own maths instead of guessing from latencies.
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

// Reason says why a playout time was used that differs from the stated one.
type Reason uint8

// The reasons.
const (
	Exact  Reason = iota // the stated one
	None                 // none was stated: the present is used
	TooOld               // further back than Bound: that far is used
	Future               // not drawn yet: the present is used
	Off                  // lag compensation is switched off: the present is used
)

func (r Reason) String() string {
	return [...]string{"exact", "none stated", "too old", "in the future", "switched off"}[r]
}

// A Receipt says what a command was judged by.
type Receipt struct {
	Stated clock.TickFrac // playout time that the client claims was on its screen, 0: none
	Used   clock.TickFrac
	Newest wire.Seq // newest packet that it claims to have applied by then
	Reason Reason
	// Oldest is the oldest state that anything which moved since is judged by. A client chooses
	// what it acknowledges, so without this bound one that withholds acknowledgements would choose
	// how old its targets are.
	Oldest clock.Tick
}

// MaxGap is how much older than the playout time the record may be that something is drawn from
// while it moves: more than that between two records is an outage, of which a shooter may not make
// use.
const MaxGap = time.Second

// Judge turns a claim into what is used: a playout time between now-bound and now. Both now and the
// period are the server's; the claim can only choose among pasts that the bound allows.
func Judge(stated clock.TickFrac, newest wire.Seq, now clock.Tick, bound, period time.Duration) Receipt {
	r := Receipt{Stated: stated, Used: stated, Newest: newest, Oldest: now}
	present := now.Frac()
	oldest := max(present-clock.TickFrac(int64(max(bound, 0))*clock.FracPerTick/int64(period)), 0)
	switch {
	case bound < 0:
		r.Used, r.Reason = present, Off
	case stated == 0:
		r.Used, r.Reason = present, None
	case stated > present:
		r.Used, r.Reason = present, Future
	case stated < oldest:
		r.Used, r.Reason = oldest, TooOld
	}
	if r.Reason != Off {
		r.Oldest = max(r.Used-clock.TickFrac(int64(MaxGap)*clock.FracPerTick/int64(period)), 0).Tick()
	}
	return r
}

// A Rewinder draws the past for one client. It reuses its memory; not safe for concurrent use.
type Rewinder struct {
	History *snapshot.History
	View    *snapshot.View
	Log     *wire.Log

	// Substituted counts what was drawn again from a state that is newer than what the client
	// showed, and differs, as that was older than Receipt.Oldest. A shooter who was cut off, or
	// from whom too much was held back, is judged so, by entity and group.
	Substituted uint64

	list  []uint16
	vals  [2][]int64
	was   []int64
	drawn []int64
}

// Each calls f for every entity of a kind that the client showed at the moment of a receipt, also
// those that have died or left its sight since, by rising ID, with the values that it drew:
// observer integers in 1/schema.SubSteps, valid during the call. f returns false to stop. What the
// client did not hold yet is left out. Entity self is left out too.
func (r *Rewinder) Each(kind int, k *schema.Kind, self int32, at Receipt, f func(id uint32, drawn []int64) bool) {
	if cap(r.drawn) < k.Obs {
		r.drawn = make([]int64, k.Obs)
	}
	last := uint32(0)
	r.list = r.View.Shown(at.Newest, r.list, func(n uint16, i int32) bool {
		e := r.History.At(i)
		if e.Kind != kind || i == self || e.ID == last || at.Reason == Off && !e.Alive() {
			return true
		}
		drawn := r.drawn[:k.Obs]
		for g := range k.Groups {
			group := &k.Groups[g]
			var a, b snapshot.Mark
			if at.Reason == Off {
				a.Tick = r.History.Tick()
			} else {
				a, b = r.View.RecordsAround(r.Log, n, g, at.Newest, at.Used)
			}
			if a.Tick == 0 { // drawn before its first record, it stood where that one put it
				a, b = b, snapshot.Mark{}
			}
			if a.Tick == 0 && k.Limited(g) {
				clear(drawn[group.At : group.At+group.N]) // the client was not told
				continue
			}
			if a.Tick == 0 {
				return true
			}
			slack := 2 * motion.Wait(max(a.Bound, b.Bound)) // it is shown that much later, and comes so much less often
			if group.Reckoned != 0 {
				slack += motion.MaxForward // silence is no outage
			}
			oldest := at.Oldest - min(at.Oldest, slack)
			from, ok := r.state(i, g, a, oldest, 0)
			if !ok {
				return true
			}
			var to *motion.State
			if b.Tick != 0 {
				if s, ok := r.state(i, g, b, oldest, 1); ok {
					to = &s
				}
			}
			motion.Draw(k, group, &from, to, at.Used, drawn[group.At:group.At+group.N])
		}
		last = e.ID
		r.History.Spell(k, drawn)
		return f(e.ID, drawn)
	})
}

// state rebuilds what a record said. A record may be older than the history, of a thing that rested
// since: its values are then those of the oldest tick that is still there. If the thing moved since
// a record that is older than the oldest state allowed, it is judged by that state.
func (r *Rewinder) state(i int32, g int, m snapshot.Mark, oldest clock.Tick, scratch int) (motion.State, bool) {
	h, t := r.History, m.Tick
	e := h.At(i)
	at := max(t, e.Spawned, h.Tick()-min(h.Tick()-1, snapshot.HistoryTicks-1))
	moved := e.ChangedIn(g) > t
	if t < oldest && moved {
		at = max(at, min(oldest, h.Tick()))
	}
	vals, ok := h.Values(i, g, at, r.vals[scratch])
	if !ok {
		return motion.State{}, false
	}
	r.vals[scratch] = vals
	if at > t && e.ChangedIn(g) > t && !r.same(i, g, t, vals) {
		r.Substituted++
	}
	schema.Coarsen(h.Kind(e), g, int(m.Level), vals)
	cut, start := e.TimesAt(g, t)
	s := motion.State{Tick: t, Cut: cut, Start: start, Bound: m.Bound, Vals: vals}
	if h.Kind(e).Groups[g].Reckoned != 0 { // drawn on from where and when it was so
		if s.Rest = e.RestedAt(g, t); moved {
			s.Tick, s.Rest = at, e.RestedAt(g, at)
		}
	}
	return s, true
}

// same reports whether a group was at tick t, or at the oldest tick that the history still has, as
// it is in vals.
func (r *Rewinder) same(i int32, g int, t clock.Tick, vals []int64) bool {
	h := r.History
	was, ok := h.Values(i, g, max(t, h.At(i).Spawned, h.Tick()-min(h.Tick()-1, snapshot.HistoryTicks-1)), r.was)
	r.was = was
	return ok && slices.Equal(was, vals)
}
