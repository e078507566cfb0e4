// Package predict runs a player's own commands at once and corrects the result when the server's
// answer differs: a ring of commands and the states they led to, replay, and smoothing of what is
// drawn.
//
// A frame calls Begin, pushes the commands that are due, and calls Catch, which runs them. A state that the server
// sends of some earlier tick goes to Confirm. If it is what was predicted, nothing happens. Otherwise
// it takes the place of the wrong one, and every later command runs again, up to now. A Model says how
// commands and states look.
//
//	base           done            last
//	 |  confirmed   |  computed     |  newest command
//	-+--------------+---------------+---> ticks
//	   may be wrong   debt
//
// While there is debt, new commands run from outdated states at once, and again when their turn
// comes.
//
// A Smoother then hides what the correction moves: the drawn thing keeps its place, and the error
// fades, as a Smoothing says. It also blends a thing that changes from one timeline to another,
// such as a ball that is predicted from now on.
//
// Invariants: done <= last, and base <= done while nothing is owed, unless done is 0: then there is
// nothing to go on from. base falls by Reset and Truncate only, so a state that arrives late or
// twice never moves a player back.
//
// A state may be that of many entities, of which the server sends some at one tick and others at
// another. Then Revise corrects the past before base, and the Model's Run puts into each state what
// the server said of that tick.
package predict

import "meanwhile/netcode/clock"

// RingTicks is how many ticks of commands and states a Predictor keeps.
const RingTicks = 1024

// MaxReplay is how many ticks one Confirm, Revise or Catch runs at most, and all those of a frame
// that Begin begins. The rest stays as debt for the next frame.
const MaxReplay = 64

// A Model says how states S and commands C of a game are handled.
type Model[S, C any] interface {
	// Copy makes dst equal to src, reusing dst's memory.
	Copy(dst, src *S)
	// Same reports whether the server's state equals the predicted one, bit for bit, in everything
	// that the server sent.
	Same(server, predicted *S) bool
	// Adopt makes dst the server's state, with what the server does not send taken from the
	// predicted one. dst may be the predicted one, and that may be a zero S.
	Adopt(dst, server, predicted *S)
	// Repeat makes dst the command that the server assumes for a tick for which none arrived after
	// src: without presses.
	Repeat(tick clock.Tick, dst, src *C)
	// Run turns the state before tick into the state after it. replay says that the tick ran
	// before.
	Run(tick clock.Tick, c *C, s *S, replay bool)
}

type slot[S, C any] struct {
	tick  clock.Tick
	cmd   C
	state S
	valid bool // state is computed
}

// A Predictor keeps one player's commands and the states they lead to. Not safe for concurrent use.
type Predictor[S, C any] struct {
	m     Model[S, C]
	ring  []slot[S, C]
	last  clock.Tick // newest command
	head  clock.Tick // newest state, outdated if it is later than done
	done  clock.Tick // newest state that is computed without a gap from base; 0: none
	base  clock.Tick // newest confirmed state, 0: none
	seen  clock.Tick // newest tick whose first run is over: later runs are replays
	left  int        // ticks that may run in this frame
	bound bool       // left counts: Begin was called
	blank C
	spare C
	none  S
}

// New returns an empty Predictor. Its ring of RingTicks commands and states is all the memory that
// it uses.
func New[S, C any](m Model[S, C]) *Predictor[S, C] {
	return &Predictor[S, C]{m: m, ring: make([]slot[S, C], RingTicks)}
}

// Last returns the tick of the newest command, 0 before the first.
func (p *Predictor[S, C]) Last() clock.Tick { return p.last }

// Begin begins a frame, in which Confirm, Revise and Catch together run at most that many ticks,
// and one more for each command that is pushed: so debt never grows by new commands. 0, and more
// than MaxReplay, mean MaxReplay.
func (p *Predictor[S, C]) Begin(most int) {
	if p.left, p.bound = most, true; most <= 0 || most > MaxReplay {
		p.left = MaxReplay
	}
}

func (p *Predictor[S, C]) at(t clock.Tick) *slot[S, C] { return &p.ring[t%RingTicks] }

// Push makes room for the command of a tick later than Last and returns it to be filled in; Catch
// runs it. Ticks that are skipped get the command that the server assumes, RingTicks/2 of them at
// most. For a tick that is not later it returns a command that has no effect.
func (p *Predictor[S, C]) Push(t clock.Tick) *C {
	if t <= p.last {
		return &p.spare
	}
	if p.last != 0 && t > p.last+1 {
		from := max(p.last+1, t-min(t, RingTicks/2))
		src := &p.at(p.last).cmd
		for s := from; s < t; s++ {
			sl := p.at(s)
			sl.tick, sl.valid = s, false
			p.m.Repeat(s, &sl.cmd, src)
			src = &sl.cmd
		}
	}
	sl := p.at(t)
	sl.tick, sl.valid = t, false
	p.last = t
	if p.left++; p.done < p.head {
		p.left++ // it runs from an outdated state first, and from the true one later
	}
	return &sl.cmd
}

// Command returns the command of a tick, nil if it is not kept.
func (p *Predictor[S, C]) Command(t clock.Tick) *C {
	if sl := p.at(t); t != 0 && sl.tick == t && t <= p.last {
		return &sl.cmd
	}
	return nil
}

// State returns the predicted state after a tick, nil if there is none. Ticks that are still debt
// have none: what was computed for them followed from a state that was wrong.
//
//go:noinline // it would be 4 kB of a page's program
func (p *Predictor[S, C]) State(t clock.Tick) *S {
	if sl := p.at(t); t != 0 && t <= p.done && sl.tick == t && sl.valid {
		return &sl.state
	}
	return nil
}

// Drawn is State, and for ticks that are still debt the outdated state: a player goes on from it
// until the true one is computed.
func (p *Predictor[S, C]) Drawn(t clock.Tick) *S {
	if sl := p.at(t); t != 0 && t <= max(p.done, p.head) && p.done != 0 && sl.tick == t && sl.valid {
		return &sl.state
	}
	return nil
}

// Newest returns the newest tick for which Drawn has a state, 0 if there is none.
func (p *Predictor[S, C]) Newest() clock.Tick {
	if p.done == 0 {
		return 0
	}
	return max(p.done, p.head)
}

// Outcome is what a confirmed state meant for the prediction.
type Outcome struct {
	Stale     bool // no newer than one confirmed before, or too old to be compared: ignored
	Unknown   bool // nothing had been predicted for that tick: taken over
	Corrected bool // the prediction was wrong
	Replayed  int  // ticks that were run again
}

// Confirm compares the server's state after tick t with the prediction. A wrong prediction is
// replaced, and everything later runs again, as far as Begin and MaxReplay allow; Catch continues.
// Nothing happens if t is not after Base.
func (p *Predictor[S, C]) Confirm(t clock.Tick, server *S) Outcome {
	if t <= p.base {
		return Outcome{Stale: true}
	}
	o := p.correct(t, server)
	if !o.Stale {
		p.base = t
	}
	return o
}

// Revise corrects the state after tick t by what the server said of a part of it, if a state of
// that tick is kept. t may also be before Base, which stays.
func (p *Predictor[S, C]) Revise(t clock.Tick, server *S) Outcome {
	if p.State(t) == nil {
		return Outcome{Stale: true}
	}
	return p.correct(t, server)
}

// Agrees reports whether the server's state after tick t is as predicted. It is false if nothing
// was.
func (p *Predictor[S, C]) Agrees(t clock.Tick, server *S) bool {
	predicted := p.State(t)
	return predicted != nil && p.m.Same(server, predicted)
}

// Each calls f for all states that are kept, to rename what they speak of.
func (p *Predictor[S, C]) Each(f func(s *S)) {
	for i := range p.ring {
		if p.ring[i].valid {
			f(&p.ring[i].state)
		}
	}
}

func (p *Predictor[S, C]) correct(t clock.Tick, server *S) Outcome {
	if p.last >= RingTicks && t <= p.last-RingTicks {
		return Outcome{Stale: true} // its place in the ring is that of a command which is still needed
	}
	predicted := p.State(t)
	if predicted != nil && p.m.Same(server, predicted) {
		return Outcome{}
	}
	o := Outcome{Corrected: predicted != nil, Unknown: predicted == nil}
	sl := p.at(t)
	if sl.tick != t { // no command of ours: the server ran ahead of us
		sl.tick = t
		p.m.Repeat(t, &sl.cmd, &p.blank)
	}
	if predicted == nil { // what the server does not send is at its newest in the newest state
		switch newest := p.State(p.done); {
		case newest == nil:
			p.m.Copy(&sl.state, &p.none)
		case newest != &sl.state:
			p.m.Copy(&sl.state, newest)
		}
	}
	p.m.Adopt(&sl.state, server, &sl.state)
	sl.valid = true
	p.done = t
	p.last = max(p.last, t)
	o.Replayed = p.Catch()
	return o
}

// Catch computes the states that are missing up to the newest command, as far as Begin and
// MaxReplay allow, and returns how many ticks it ran.
func (p *Predictor[S, C]) Catch() int {
	p.goOn()
	n, most := 0, MaxReplay
	if p.bound {
		most = p.left
	}
	for p.done != 0 && p.done < p.last && n < most {
		if !p.run(p.done) {
			p.done, p.head = 0, 0 // the ring was overrun: wait for the next confirmed state
			break
		}
		p.done++
		n++
	}
	p.head = max(p.head, p.done)
	p.left -= n
	return n
}

// goOn runs the newest command from an outdated state, where debt keeps the true one from it: what
// a player does shows at once.
func (p *Predictor[S, C]) goOn() {
	if p.done != 0 && p.done < p.head && p.head+1 == p.last && p.at(p.head).valid && p.run(p.head) {
		p.head = p.last
		p.left--
	}
}

// run computes the state after tick t+1 from that after tick t. It returns false if the ring does
// not have both.
func (p *Predictor[S, C]) run(t clock.Tick) bool {
	from, to := p.at(t), p.at(t+1)
	if to.tick != t+1 || from.tick != t {
		return false
	}
	p.m.Copy(&to.state, &from.state)
	p.m.Run(t+1, &to.cmd, &to.state, t+1 <= p.seen)
	p.seen = max(p.seen, t+1)
	to.valid = true
	return true
}

// Debt returns how many ticks Catch still has to compute; 0 while there is nothing to go on from.
func (p *Predictor[S, C]) Debt() int {
	if p.done == 0 {
		return 0
	}
	return int(p.last - p.done)
}

// Done returns the newest tick whose state is computed, 0 if there is none.
func (p *Predictor[S, C]) Done() clock.Tick { return p.done }

// Base returns the newest confirmed tick.
func (p *Predictor[S, C]) Base() clock.Tick { return p.base }

// Truncate forgets the commands after tick t and what they led to, as a clock was set: the next
// Push may be of tick t+1. A t that is not older than Last changes nothing.
func (p *Predictor[S, C]) Truncate(t clock.Tick) {
	if t >= p.last {
		return
	}
	p.last, p.done, p.seen, p.head = t, min(p.done, t), min(p.seen, t), min(p.head, t)
	if p.base > t {
		p.base, p.done = t, 0
	}
	if sl := p.at(t); sl.tick != t {
		p.done = 0
		sl.tick, sl.valid = t, false
		p.m.Repeat(t, &sl.cmd, &p.blank)
	}
}

// Reset forgets the states, for another avatar; commands stay.
func (p *Predictor[S, C]) Reset() {
	p.base, p.done, p.head = 0, 0, 0
	for i := range p.ring {
		p.ring[i].valid = false
	}
}
