package client

import (
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
)

// maxForeseen is how many predicted events wait for the server's word. The oldest are taken for
// right beyond it.
const maxForeseen = 64

// foreseen are the events that were shown because they were predicted, and that the server has not
// decided on yet. Each is shown once, and taken back if the server refuses it.
//
// The server sends the events of what a client predicts, but not those of the player's own
// command: of these it says how many there were.
type foreseen struct {
	q    *eventQueue
	list []expected // by tick

	counted bool // a packet brought a count
	count   uint8
}

// An expected event was predicted and shown.
type expected struct {
	event  Event
	sent   bool // the server sends it too
	unsure bool // its tick is predicted again, without it so far
}

// begin notes that the ticks after t are predicted again.
func (f *foreseen) begin(t clock.Tick) {
	for i := range f.list {
		e := &f.list[i]
		e.unsure = e.unsure || e.event.Tick > t
	}
}

// end takes back the events that the new prediction did not have.
func (f *foreseen) end() {
	f.cancel(func(e *expected) bool { return e.unsure })
}

// again reports whether a replay emitted an event that was shown before.
func (f *foreseen) again(event int, actor game.ID, tick clock.Tick) bool {
	for i := range f.list {
		e := &f.list[i]
		if e.unsure && e.event.Event == event && e.event.Actor == actor && e.event.Tick == tick {
			e.unsure = false
			return true
		}
	}
	return false
}

// add notes an event that is shown now.
func (f *foreseen) add(e Event, sent bool) {
	if len(f.list) == maxForeseen {
		first := f.list[0]
		copy(f.list, f.list[1:])
		f.list[len(f.list)-1] = first
	} else if n := len(f.list); n < cap(f.list) {
		f.list = f.list[:n+1] // with the memory of an older payload
	} else {
		f.list = append(f.list, expected{})
	}
	x := &f.list[len(f.list)-1]
	vals := append(x.event.Vals[:0], e.Vals...)
	*x = expected{event: e, sent: sent, unsure: e.Tick > f.q.own.ring.Done()} // where debt has it run again
	x.event.Vals = vals
}

// matches reports whether an event from the server is one that was shown. It may have happened a
// little earlier or later than predicted.
func (f *foreseen) matches(m *reliable.Message, tolerance clock.Tick) bool {
	best, least := -1, tolerance+1
	for i := range f.list {
		e := &f.list[i].event
		off := max(e.Tick, m.Tick) - min(e.Tick, m.Tick)
		if f.list[i].sent && e.Event == int(m.Kind) && f.isBy(e.Actor, m.Entity) && off < least {
			best, least = i, off
		}
	}
	if best < 0 {
		return false
	}
	f.remove(best)
	return true
}

// isBy reports whether the actor of a predicted event is an entity of the server's, or may be: what
// came and went between two packets was never sent.
func (f *foreseen) isBy(actor game.ID, entity uint32) bool {
	return actor == game.ID(entity) || actor.Foreseen() && f.q.play.store.Find(entity) == nil
}

// confirm learns how many events the player's own commands had emitted as of a tick, modulo
// packet.EventsRange, and takes back those that were shown beyond that. A press that came late may
// still run for grace ticks.
func (f *foreseen) confirm(tick clock.Tick, count uint8, grace clock.Tick) {
	more := int((count - f.count) % packet.EventsRange)
	f.count = count
	if !f.counted {
		f.counted, more = true, 0
	}
	for i := 0; i < len(f.list) && more > 0; {
		if e := &f.list[i]; e.sent || e.event.Tick > tick {
			i++
			continue
		}
		f.remove(i)
		more--
	}
	f.cancel(func(e *expected) bool { return !e.sent && e.event.Tick+grace <= tick })
}

// expire takes back what the server should have sent by now.
func (f *foreseen) expire(tick, grace clock.Tick) {
	f.cancel(func(e *expected) bool { return e.sent && e.event.Tick+grace < tick })
}

// rename gives the actor of events another ID.
func (f *foreseen) rename(from, to game.ID) {
	for i := range f.list {
		if f.list[i].event.Actor == from {
			f.list[i].event.Actor = to
		}
	}
	for i := range f.q.delayed.list {
		if e := &f.q.delayed.list[i]; e.Actor == from {
			e.Actor = to
		}
	}
}

// cancel takes back the events for which wrong is true.
func (f *foreseen) cancel(wrong func(e *expected) bool) {
	for i := 0; i < len(f.list); {
		if !wrong(&f.list[i]) {
			i++
			continue
		}
		e := f.list[i].event
		e.Cancelled = true
		if !f.q.withdraw(&e) && len(f.q.next.list) < maxEvents {
			f.q.next.add(e)
			f.q.stats.Prediction.Cancelled++
		}
		f.remove(i)
	}
}

// remove forgets one event and keeps its memory.
func (f *foreseen) remove(i int) {
	x := f.list[i]
	copy(f.list[i:], f.list[i+1:])
	f.list[len(f.list)-1] = x
	f.list = f.list[:len(f.list)-1]
}
