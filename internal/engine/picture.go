package engine

import (
	"iter"
	"time"
	"unsafe"
)

// A DrawnInfo is what a frame shows of an entity beside its state.
type DrawnInfo struct {
	ID ID
	// Mine says that it is the player's own avatar.
	Mine bool
	// Predicted says that it is drawn where the newest command has it, and not in the past.
	Predicted bool
	// Cut says that it was teleported since the frame before: nothing of it should slide.
	Cut bool
	// Stalled says that it stands still because nothing newer has arrived of it.
	Stalled bool
	// Late is by how much it is drawn further in the past than the playout delay, as its records
	// take longer.
	Late time.Duration
}

// A ShownInfo is what a frame shows of an event beside its payload.
type ShownInfo struct {
	Actor ID   // whom it is of; 0: nobody
	Tick  Tick // in which it happened
	// Mine says that the player's own command or avatar did it.
	Mine bool
	// Number names a predicted event, 0 any other. If Cancelled comes with the same number later,
	// the event has not happened: take back what can be.
	Number    uint32
	Cancelled bool
}

// A Picture is what one frame shows, by kind. Package app/play fills one for each frame. Not safe
// for concurrent use.
type Picture struct {
	rules  *Rules
	kinds  []drawnKind
	events []shownEvent
	ints   []int64 // payloads of events
	sims   []int64 // of an entity
}

// drawnKind has the entities of one kind.
type drawnKind struct {
	infos  []DrawnInfo
	floats []float64 // Floats for each
}

type shownEvent struct {
	info      ShownInfo
	event, at int // index of the event; where its payload begins in ints
}

// A Screen shows a Picture: a client of package app/play.
type Screen interface{ Picture() *Picture }

// NewPicture returns an empty Picture.
func NewPicture(r *Rules) *Picture {
	most := 0
	for _, k := range r.Kinds {
		most = max(most, k.Sims)
	}
	return &Picture{rules: r, kinds: make([]drawnKind, len(r.Kinds)), sims: make([]int64, most)}
}

// ResetEntities forgets all entities.
func (p *Picture) ResetEntities() {
	for i := range p.kinds {
		k := &p.kinds[i]
		k.infos, k.floats = k.infos[:0], k.floats[:0]
	}
}

// ResetEvents forgets all events.
func (p *Picture) ResetEvents() { p.events, p.ints = p.events[:0], p.ints[:0] }

// AddEntity adds an entity of the kind with an index, with its numbers as schema.Kind.AppendDrawn
// makes them.
func (p *Picture) AddEntity(kind int, info DrawnInfo, floats []float64) {
	k := &p.kinds[kind]
	k.infos, k.floats = append(k.infos, info), append(k.floats, floats...)
}

// AddEvent adds an event with an index, with the simulation integers of its payload.
func (p *Picture) AddEvent(event int, info ShownInfo, ints []int64) {
	p.events = append(p.events, shownEvent{info, event, len(p.ints)})
	p.ints = append(p.ints, ints...)
}

// DrawnOf ranges over the entities of a kind, by rising ID. v is a struct of the kind's type, which
// each step overwrites with the state.
func (p *Picture) DrawnOf(k *Kind, v unsafe.Pointer) iter.Seq[DrawnInfo] {
	for i, listed := range p.rules.kinds {
		if listed == k {
			return func(yield func(DrawnInfo) bool) {
				s, of := p.rules.Kinds[i], &p.kinds[i]
				for j, info := range of.infos {
					s.StoreFloats(v, of.floats[j*s.Floats():(j+1)*s.Floats()], p.sims)
					if !yield(info) {
						return
					}
				}
			}
		}
	}
	panic(p.rules.notListed("kind", "Kinds", k.title()))
}

// ShownOf ranges over the events of a type, in the order in which they are shown. v is a struct of
// the event's type, which each step overwrites with the payload.
func (p *Picture) ShownOf(k *Kind, v unsafe.Pointer) iter.Seq[ShownInfo] {
	for i, listed := range p.rules.events {
		if listed == k {
			return func(yield func(ShownInfo) bool) {
				s := p.rules.Events[i]
				for _, e := range p.events {
					if e.event != i {
						continue
					}
					s.Store(v, p.ints[e.at:e.at+s.Sims])
					if !yield(e.info) {
						return
					}
				}
			}
		}
	}
	panic(p.rules.notListed("event", "Events", k.title()))
}
