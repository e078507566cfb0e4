package motion

import "meanwhile/netcode/clock"

// Bounds is how many classes of bounds there are. The class of a record says how soon the sender
// will send the next record of the thing while it moves, see Wait.
const Bounds = 16

// LongestWait is the Wait of the last class, in ticks.
const LongestWait = 113

// waits has the classes: each is about a third more than the one before, so that sixteen reach from
// every packet to more than five seconds at 20 ticks a second.
var waits = [Bounds]clock.Tick{0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85, LongestWait}

// Wait returns how many ticks later than the playout time a record of a class is shown, which is by
// how much the next one may come later than with the next packet. Class 0 is 0: a record in every
// packet. Classes beyond the last count as the last.
func Wait(class uint8) clock.Tick { return waits[min(class, Bounds-1)] }

// Shown returns the playout time at which a state is drawn as it is: that of its tick, later by
// what its class says. between two states time passes evenly from the one's to the other's, so a
// thing whose next record takes longer is drawn further back and slows down on the way there,
// instead of standing still at its newest record.
func (s *State) Shown() clock.TickFrac { return s.Tick.Frac() + Wait(s.Bound).Frac() }

// CutShown returns the playout time at which the newest teleport that a state tells of is drawn, 0
// if there is none.
func (s *State) CutShown() clock.TickFrac {
	if s.Cut == 0 {
		return 0
	}
	return s.Cut.Frac() + Wait(s.Bound).Frac()
}

// Time returns the tick time that a thing is drawn at, at playout time t between a and b as between
// takes them; b may be nil, then it runs on beyond a. For what is shown together with the thing, as
// its events are.
func Time(a, b *State, t clock.TickFrac) clock.TickFrac {
	if b == nil {
		return t - Wait(a.Bound).Frac()
	}
	late := Wait(b.Bound).Frac()
	from, to, at := a.Shown(), b.Shown(), a.Tick.Frac()
	if b.Start > a.Tick+1 {
		at = min((b.Start - 1).Frac(), b.Tick.Frac())
		from = max(from, at+late)
	}
	switch {
	case t >= to:
		return t - late
	case t <= from:
		return min(max(t-late, a.Tick.Frac()), at)
	}
	return at + (b.Tick.Frac()-at)*(t-from)/(to-from)
}
