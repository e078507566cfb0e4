package snapshot

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/wire"
)

// A Group is what a client holds of one group of one entity: states by rising tick.
type Group struct {
	states []motion.State
	memory []motion.State // once there are many: states is a window of it that moves on with each new one
	// pin is the newest baseline of a record, named or agreed on: the server goes on using it while
	// it gets no acknowledgement, so it is kept.
	pin clock.Tick
	// dropped is the newest tick that the server made the client drop: states up to it are not
	// kept.
	dropped clock.Tick
	// missing is the newest tick of which a state was let go, or not kept because there was no
	// room.
	missing clock.Tick

	// Carry is for the owner of the Store, which may draw beyond the newest state; nil for each
	// new entity.
	Carry *motion.Carry
}

// slack is how many states the window moves on before it goes back to the beginning of its memory.
const slack = 16

// Newest returns the newest state, or nil.
func (g *Group) Newest() *motion.State {
	if len(g.states) == 0 {
		return nil
	}
	return &g.states[len(g.states)-1]
}

// At returns the state of exactly tick t, or nil.
func (g *Group) At(t clock.Tick) *motion.State {
	for i := len(g.states) - 1; i >= 0 && g.states[i].Tick >= t; i-- {
		if g.states[i].Tick == t {
			return &g.states[i]
		}
	}
	return nil
}

// recent is over how many gaps between states Interval goes at most.
const recent = 8

// Interval returns the mean time between the newest states at tick now, or the age of the newest
// one if that is longer: how often something new comes. It is 0 for what rests, and while there is
// no state.
func (g *Group) Interval(now clock.Tick) clock.TickFrac {
	n := len(g.states)
	if n == 0 || g.states[n-1].Rest {
		return 0
	}
	newest, gaps := g.states[n-1].Tick, min(n-1, recent)
	age := (max(now, newest) - newest).Frac()
	if gaps == 0 {
		return age
	}
	return max(age, (newest-g.states[n-1-gaps].Tick).Frac()/clock.TickFrac(gaps))
}

// Around returns the states that are shown around playout time t: a is the newest at or before it,
// or the oldest there is; b the next one, nil if there is none. Both are nil if there are no
// states.
func (g *Group) Around(t clock.TickFrac) (a, b *motion.State) {
	for i := len(g.states) - 1; i >= 0; i-- {
		if g.states[i].Shown() <= t {
			return &g.states[i], b
		}
		b = &g.states[i]
	}
	return b, nil
}

// CutBy returns the tick of the newest teleport that is shown by playout time t, as far as the
// states tell; 0: none.
func (g *Group) CutBy(t clock.TickFrac) (cut clock.Tick) {
	for i := range g.states {
		if s := &g.states[i]; s.Shown() <= t {
			cut = max(cut, s.Cut)
		}
	}
	return cut
}

// agreed returns the baseline of a record of tick before that names none: the newest state that the
// server knew to be held when it sent the record; and the state before that, if it is recent enough
// to be used. agreed is that of Store.Parse. It fails if one of them was let go.
func (g *Group) agreed(before clock.Tick, agreed uint64) (base, prior *motion.State, err error) {
	for i := len(g.states) - 1; i >= 0; i-- {
		s := &g.states[i]
		if s.Tick >= before {
			continue
		}
		age := before - s.Tick
		if age < wire.AgreedTicks && agreed>>age&1 == 0 {
			continue
		}
		if base == nil {
			base = s
			continue
		}
		if age <= priorTicks {
			prior = s
		}
		break
	}
	if base == nil || g.missing > base.Tick {
		return nil, nil, ErrBaseline
	}
	if g.missing != 0 && before-min(g.missing, before) <= priorTicks && (prior == nil || g.missing > prior.Tick) {
		return nil, nil, ErrBaseline
	}
	return base, prior, nil
}

// Since returns the newest state up to tick t and the next newer one, nil where there is none.
func (g *Group) Since(t clock.Tick) (a, b *motion.State) {
	for i := len(g.states) - 1; i >= 0; i-- {
		if g.states[i].Tick <= t {
			return &g.states[i], b
		}
		b = &g.states[i]
	}
	return nil, b
}

// spares reports whether the state at index out, or s if it belongs before, may be let go when s is
// added at index at: what may still be drawn is drawn from newer ones.
func (g *Group) spares(s *motion.State, at, out int) bool {
	n := len(g.states)
	if n >= MostStates {
		return true
	}
	floor := (max(g.states[n-1].Tick, s.Tick) - (HeldStates - 2)).Frac()
	if at > out && s.Shown() <= floor {
		return true
	}
	for i := min(at, out+1); i < n; i++ { // the first, but for long bounds
		if g.states[i].Shown() <= floor {
			return true
		}
	}
	return false
}

// slide moves the window of states to the beginning of its memory, which grows if it must.
func (g *Group) slide() {
	n := len(g.states)
	if n+slack > len(g.memory) {
		room := HeldStates
		if n >= HeldStates {
			room = n + n/4
		}
		g.memory = make([]motion.State, room+slack)
	}
	copy(g.memory, g.states)
	clear(g.memory[n:])
	g.states = g.memory[:n]
}

// insert adds a copy of s in order. A state that is there already, or older than all others where
// there is no room, is left out.
func (g *Group) insert(s *motion.State) {
	if s.Tick <= g.dropped {
		return
	}
	at := len(g.states)
	for at > 0 && g.states[at-1].Tick >= s.Tick {
		at--
	}
	if at < len(g.states) && g.states[at].Tick == s.Tick {
		return
	}
	var spare []int64 // values of a state that was let go
	for len(g.states) >= HeldStates {
		out := 0
		if g.states[0].Tick == g.pin {
			out = 1
		}
		if !g.spares(s, at, out) {
			break
		}
		if at <= out {
			g.missing = max(g.missing, s.Tick)
			return
		}
		g.missing = max(g.missing, g.states[out].Tick)
		spare = g.states[out].Vals
		if out == 1 {
			g.states[1] = g.states[0]
		}
		g.states[0] = motion.State{} // no memory of values is in two places
		g.states = g.states[1:]
		at--
	}
	if len(g.states) == cap(g.states) && (g.memory != nil || len(g.states) >= HeldStates-1) {
		g.slide()
	}
	if len(g.states) < cap(g.states) {
		g.states = g.states[:len(g.states)+1] // one of a former entity, whose memory is used again
	} else {
		g.states = append(g.states, motion.State{})
	}
	if spare == nil {
		spare = g.states[len(g.states)-1].Vals
	}
	copy(g.states[at+1:], g.states[at:])
	kept := *s
	kept.Vals = append(spare[:0], s.Vals...)
	g.states[at] = kept
}

// forget drops the states up to a tick, for good.
func (g *Group) forget(tick clock.Tick) {
	g.dropped = max(g.dropped, tick)
	n := 0
	for n < len(g.states) && g.states[n].Tick <= tick {
		n++
	}
	for i := n; i < len(g.states); i++ { // each memory of values stays in one place
		g.states[i-n], g.states[i] = g.states[i], g.states[i-n]
	}
	g.states = g.states[:len(g.states)-n]
}
