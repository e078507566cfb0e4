package motion

import "meanwhile/netcode/clock"

// Bounds is how many classes of bounds there are. A record's class says how soon its sender sends
// the next record of the entity at the latest while it moves, see Wait.
const Bounds = 16

// LongestWait is the Wait of the last class, in ticks.
const LongestWait = 113

// waits has the bound of each class in ticks. Each is about a third more than the one before, so
// sixteen classes reach from every packet to more than five seconds at 20 ticks a second.
var waits = [Bounds]clock.Tick{0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85, LongestWait}

// Wait returns the bound of a class in ticks: the next record comes at most so much later than with
// the next packet, and the record is shown so much later than the playout time of its tick. Class 0
// is 0: a record in every packet. Classes beyond the last count as the last.
func Wait(class uint8) clock.Tick { return waits[min(class, Bounds-1)] }

// Shown returns the playout time at which the state is drawn as it is: that of its tick, plus its
// bound. Between two states time passes evenly from one Shown time to the other. So an entity whose
// next record takes longer slows down on the way there and is then drawn further back, instead of
// standing still at its newest record.
func (s *State) Shown() clock.TickFrac { return s.Tick.Frac() + Wait(s.Bound).Frac() }

// CutShown returns the playout time at which the newest teleport of the state is drawn, 0 if there
// is none.
func (s *State) CutShown() clock.TickFrac {
	if s.Cut == 0 {
		return 0
	}
	return s.Cut.Frac() + Wait(s.Bound).Frac()
}

// Time returns the tick time at which an entity is drawn at playout time t between states a and b,
// for what is shown together with it, such as its events. If b is nil, time runs on after a.
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
