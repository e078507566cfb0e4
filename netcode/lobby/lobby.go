// Package lobby draws players who walk about where nothing can be hit: plain snapshot interpolation
// of states that are dated by sequence numbers, for a lobby of up to 256 players. It has the bytes
// of such a state (Place) and what draws them (Interpolator).
//
// The format is that of the first article behind this library, and simpler than the engine's
// records. The sender numbers its places: one number more is one send interval later, whenever the
// packet arrives. Places are floats. While a player moves, its places are sent unreliably; the
// place of each stop is sent reliably, so that in the end everybody draws the player where it
// stopped; at rest nothing is sent. Nothing adapts to the path, and a server cannot compute what a
// player saw.
//
// The package needs no engine: no world, no schema, no estimate of the server's clock. The caller
// brings datagrams, a reliable channel (package reliable is one) and the time.
package lobby

import (
	"errors"
	"time"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

const (
	// DefaultInterval is the Config.Interval of a zero Config: ten states a second.
	DefaultInterval = 100 * time.Millisecond
	// DefaultStartDelay is the Config.StartDelay of a zero Config.
	DefaultStartDelay = 250 * time.Millisecond
)

// maxSpan is the largest Interval and StartDelay.
const maxSpan = 10 * time.Second

// maxStates is how many states an Interpolator keeps.
const maxStates = 32

// ErrNotReset reports that an Interpolator was used before Reset gave it a place.
var ErrNotReset = errors.New("lobby: Interpolator is used before Reset")

// Config tunes an Interpolator. The zero Config expects ten states a second and draws them 350 ms
// late.
type Config struct {
	// Interval is the time between two states of a player who moves: one sequence number. Zero
	// means DefaultInterval. Negative values and values above 10 s are refused.
	Interval time.Duration
	// StartDelay is the time from the arrival of the second state to the moment at which drawing
	// leaves the first one. It adds to the Interval until the second state arrived: the playout
	// delay is the sum of both. Zero means DefaultStartDelay, negative values mean none. Values
	// above 10 s are refused.
	StartDelay time.Duration
}

// An Interpolator draws one player.
//
// Sequence numbers alone date a state; arrival times do not. With one state there is nothing to
// draw between: the player stands there. When the second state arrives, the Interpolator waits for
// the start delay, leaves the first state, and moves at the pace of the numbers. Having reached the
// last state, it waits for the next one and for the start delay again, as a video does that
// rebuffers. So a pause costs one more start delay and nothing else. Lost states are bridged by a
// straight line.
//
//	arrive    0 1 2 3                7 8
//	draw      0 ......0--1--2--3 ....3 .....3-----------7--8
//	            |< start delay >|      |< start delay >|
//
// The result depends on the states and their times of arrival, not on how often Draw is called. An
// Interpolator keeps 32 states: 3.2 s of movement at ten a second. One more state replaces the
// oldest, and drawing goes on from the state after it at the time that this one already had.
//
// The zero Interpolator has the default Config; an array of them, indexed by the player's number,
// serves a whole lobby. It is not safe for concurrent use.
type Interpolator struct {
	interval, startDelay time.Duration // 0: the default
	// states are sorted by sequence number. There is room for one more while a new state is
	// inserted.
	states [maxStates + 1]state
	n      int        // states kept; at least 1 after Reset
	start  clock.Time // when states[0] is drawn; unused while n is 1
}

type state struct {
	seq   wire.Seq
	place geom.Vec2
}

// New returns an Interpolator that waits for Reset. It fails if cfg is outside its bounds.
func New(cfg Config) (*Interpolator, error) {
	if cfg.Interval < 0 || cfg.Interval > maxSpan {
		return nil, fault.Errorf("lobby: Interval %v is outside [0, %v]", cfg.Interval, maxSpan)
	}
	if cfg.StartDelay > maxSpan {
		return nil, fault.Errorf("lobby: StartDelay %v is more than %v", cfg.StartDelay, maxSpan)
	}
	return &Interpolator{interval: cfg.Interval, startDelay: cfg.StartDelay}, nil
}

// Reset puts the player at a place and drops all states: the player joined, or another one was
// given its number. The place has sequence number 0; the first one that is sent has 1.
func (p *Interpolator) Reset(place geom.Vec2) {
	p.states[0], p.n = state{place: place}, 1
}

// Push adds a state that arrived at now. It reports whether the state was added; duplicates and
// states older than what is drawn by now are dropped. It fails with ErrNotReset.
//
// Sequence numbers wrap: a state is newer if its number is less than 1<<15 ahead of the state drawn
// last. A gap in the numbers is drawn for as long as it stands for. A relay that does not trust its
// players should check that their numbers do not run ahead.
func (p *Interpolator) Push(now clock.Time, seq wire.Seq, place geom.Vec2) (bool, error) {
	if p.n == 0 {
		return false, ErrNotReset
	}
	p.advance(now)
	first := p.states[0].seq
	if !seq.Newer(first) {
		return false, nil
	}
	ahead := func(s wire.Seq) uint16 { return uint16(s - first) }
	i := p.n // where the state belongs
	for i > 1 && ahead(p.states[i-1].seq) >= ahead(seq) {
		i--
	}
	if i < p.n && p.states[i].seq == seq {
		return false, nil
	}
	switch {
	case p.n == 1:
		delay := p.startDelay
		if delay == 0 {
			delay = DefaultStartDelay
		}
		p.start = now.Add(max(delay, 0))
	case p.drawnAt(seq) < now:
		return false, nil // drawing already passed it, between states[0] and states[1]
	}
	copy(p.states[i+1:p.n+1], p.states[i:p.n])
	p.states[i] = state{seq, place}
	if p.n++; p.n > maxStates {
		p.drop()
	}
	return true, nil
}

// Draw returns where the player is at now. now must not be before that of an earlier call of Push
// or Draw. It fails with ErrNotReset.
func (p *Interpolator) Draw(now clock.Time) (geom.Vec2, error) {
	if p.n == 0 {
		return geom.Vec2{}, ErrNotReset
	}
	p.advance(now)
	a := p.states[0].place
	if p.n == 1 || now <= p.start {
		return a, nil
	}
	u := float64(now.Sub(p.start)) / float64(p.drawnAt(p.states[1].seq).Sub(p.start))
	return a.Add(p.states[1].place.Sub(a).Mul(u)), nil
}

// drawnAt returns when the state with the given number is drawn.
func (p *Interpolator) drawnAt(seq wire.Seq) clock.Time {
	interval := p.interval
	if interval == 0 {
		interval = DefaultInterval
	}
	return p.start.Add(time.Duration(seq-p.states[0].seq) * interval)
}

// advance drops the states that drawing has passed at now. Afterwards one state is left, or the
// second is yet to be drawn.
func (p *Interpolator) advance(now clock.Time) {
	for p.n > 1 && now > p.drawnAt(p.states[1].seq) {
		p.drop()
	}
}

// drop forgets the first state.
func (p *Interpolator) drop() {
	p.start = p.drawnAt(p.states[1].seq)
	copy(p.states[:], p.states[1:p.n])
	p.n--
}
