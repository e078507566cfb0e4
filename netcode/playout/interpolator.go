package playout

import (
	"errors"
	"time"

	"meanwhile/geom"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// InterpolatorStates is how many states an Interpolator holds: 3.2 s of movement at ten a second. Where one more comes, the
// oldest goes, and the drawing goes on from the one after it at the time that it had already.
const InterpolatorStates = 32

// Defaults and bounds of InterpolatorConfig.
const (
	DefaultSendInterval = 100 * time.Millisecond
	DefaultStartDelay   = 250 * time.Millisecond
	maxSpan             = 10 * time.Second
)

// ErrNotReset: an Interpolator was used before Reset gave it a place.
var ErrNotReset = errors.New("playout: Interpolator is used before Reset")

// InterpolatorConfig tunes an Interpolator. The zero InterpolatorConfig sends ten states a second and draws them 350 ms late.
type InterpolatorConfig struct {
	// Interval is the sender's spacing of states while it moves: one sequence number. 0 means DefaultSendInterval, the most is 10 s.
	Interval time.Duration
	// StartDelay is how long after the second state the drawing sets off from the first; it comes on top of the Interval that the second
	// state took. 0 means DefaultStartDelay, the most is 10 s; less than nothing means none.
	StartDelay time.Duration
}

// An Interpolator draws one player of a lobby, where nothing can be hit: plain snapshot interpolation with sequence numbers, as
// the sender of wire.Place means them. Nothing is sent at rest; only the place of each stop is sent reliably, so that
// everyone agrees on it in the end.
//
// A state is dated by its sequence number alone: one more is one interval later, whenever it arrives. While fewer than two
// states are held there is nothing to draw between; when the second comes, the drawing waits for the start delay, sets off from the
// first at the pace of the numbers, and when it has reached the last, it waits for the next, as a film does that
// is loaded too slowly. So a pause costs the start delay once more and nothing else, and lost states cost a straight line.
//
//	arrive    0 1 2 3                7 8
//	draw      0 ......0--1--2--3 ....3 .....3-----------7--8
//	            |< start delay >|      |< start delay >|
//
// What is drawn depends on what arrived when, and not on how often Draw was called. What differs from package snapshot's
// records and a Clock: nothing adapts, and places are floats, which is good enough for what is only looked at.
//
// The zero Interpolator has the default Config; an array of them, by the player's number, serves a whole lobby. Not safe for
// concurrent use.
type Interpolator struct {
	interval, start time.Duration                   // 0: the default
	states          [InterpolatorStates + 1]placeAt // by rising seq; one more for the moment in which one too many is put in
	n               int                             // states held; at least 1 after Reset
	at              clock.Time                      // when the first of them is drawn, if there is a second
}

type placeAt struct {
	seq   wire.Seq
	place geom.Vec2
}

// NewInterpolator returns an Interpolator that waits for Reset. It fails on a Config outside its bounds.
func NewInterpolator(cfg InterpolatorConfig) (*Interpolator, error) {
	if cfg.Interval < 0 || cfg.Interval > maxSpan {
		return nil, fault.Errorf("playout: Interval %v is outside [0, %v]", cfg.Interval, maxSpan)
	}
	if cfg.StartDelay > maxSpan {
		return nil, fault.Errorf("playout: StartDelay %v is more than %v", cfg.StartDelay, maxSpan)
	}
	return &Interpolator{interval: cfg.Interval, start: cfg.StartDelay}, nil
}

// when returns when the state with a number is drawn, given that the first one is drawn at p.at.
func (p *Interpolator) when(seq wire.Seq) clock.Time {
	interval := p.interval
	if interval == 0 {
		interval = DefaultSendInterval
	}
	return p.at.Add(time.Duration(seq-p.states[0].seq) * interval)
}

// Reset puts a player at a place: it came, or another one took its number. That place has sequence number 0, the
// first one that is sent has 1.
func (p *Interpolator) Reset(place geom.Vec2) {
	p.states[0], p.n = placeAt{place: place}, 1
}

// Push takes in a state that arrived at now. It reports false, and changes nothing, if the state is of no use: it is held
// already, or lies before what has been drawn by now. It fails with ErrNotReset.
//
// Sequence numbers wrap; one counts as newer if it is less than 1<<15 ahead of what is drawn. A gap in them is drawn for as long as it says, so who
// relays the places of players whom it does not trust checks that numbers do not run ahead.
func (p *Interpolator) Push(now clock.Time, seq wire.Seq, place geom.Vec2) (bool, error) {
	if p.n == 0 {
		return false, ErrNotReset
	}
	p.advance(now)
	ahead := func(s wire.Seq) uint16 { return uint16(s - p.states[0].seq) }
	if !seq.Newer(p.states[0].seq) {
		return false, nil
	}
	i := p.n // where it belongs
	for i > 1 && ahead(p.states[i-1].seq) >= ahead(seq) {
		i--
	}
	if i < p.n && p.states[i].seq == seq {
		return false, nil
	}
	switch {
	case p.n == 1:
		delay := p.start
		if delay == 0 {
			delay = DefaultStartDelay
		}
		p.at = now.Add(max(delay, 0))
	case p.when(seq) < now: // between the two that are being drawn, and past: to draw it would lead back
		return false, nil
	}
	copy(p.states[i+1:p.n+1], p.states[i:p.n])
	p.states[i] = placeAt{seq, place}
	if p.n++; p.n > InterpolatorStates {
		p.drop()
	}
	return true, nil
}

// advance drops the states that are behind at now. Afterwards there is one left, or the second is still to come.
func (p *Interpolator) advance(now clock.Time) {
	for p.n > 1 && now > p.when(p.states[1].seq) {
		p.drop()
	}
}

func (p *Interpolator) drop() {
	p.at = p.when(p.states[1].seq)
	copy(p.states[:], p.states[1:p.n])
	p.n--
}

// Draw returns where the player is drawn at now, which must not lie before that of an earlier call of Push or Draw. It fails with
// ErrNotReset.
func (p *Interpolator) Draw(now clock.Time) (geom.Vec2, error) {
	if p.n == 0 {
		return geom.Vec2{}, ErrNotReset
	}
	p.advance(now)
	a := p.states[0].place
	if p.n == 1 || now <= p.at {
		return a, nil
	}
	u := float64(now.Sub(p.at)) / float64(p.when(p.states[1].seq).Sub(p.at))
	return a.Add(p.states[1].place.Sub(a).Mul(u)), nil
}

// Held returns how many states are held: 0 before Reset, and from then on at least 1.
func (p *Interpolator) Held() int { return p.n }
