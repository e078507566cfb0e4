package client

import (
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
)

// Event is something that happened, to be shown now.
type Event struct {
	Event int // index in the game's Events
	Actor game.ID
	Tick  clock.Tick
	Vals  []int64   // simulation integers of the payload
	Own   bool      // predicted here
	At    geom.Vec2 // where, as predicted; of own events only
}

// MaxEvents is how many events wait for Events to be called; the oldest are dropped beyond it.
const MaxEvents = 512

// eventList is a list of events with memory of its own for what they hold.
type eventList struct {
	list []Event
	vals []int64
}

func (l *eventList) clear() { l.list, l.vals = l.list[:0], l.vals[:0] }

// add appends an event with room for n integers, and returns those.
func (l *eventList) add(e Event, n int) []int64 {
	at := len(l.vals)
	for range n {
		l.vals = append(l.vals, 0)
	}
	e.Vals = l.vals[at : at+n : at+n]
	l.list = append(l.list, e)
	return e.Vals
}

// collect moves what predicted rules emitted to the events to be shown now, or, without prediction, to those that are shown once the
// server's state of their tick has come.
func (c *Client) collect() {
	for i := range c.eng.Events() {
		e := &c.eng.Events()[i]
		to := c.events
		if c.cfg.NoPrediction {
			to = &c.later
		}
		if len(to.list) >= MaxEvents {
			c.stats.EventsLost++
			continue
		}
		copy(to.add(Event{Event: e.Event, Actor: e.Actor, Tick: e.Tick, Own: true, At: e.At}, len(e.Vals)), e.Vals)
	}
	c.eng.Drain()
}

// Events returns what is to be shown in this frame: what this player's own commands did, at once, and what
// others did, at the moment at which they are drawn doing it. It is valid until the next call.
func (c *Client) Events() []Event {
	for {
		m, ok := c.hold.Take(func(id uint32, t clock.Tick) bool {
			at := c.playT
			if h := c.store.Find(id); h != nil {
				at, _ = c.TimeOf(h)
			}
			return t.Frac() <= at
		})
		if !ok {
			break
		}
		c.show(m)
	}
	if len(c.later.list) > 0 {
		c.release()
	}
	ev := c.events
	c.events, c.shownEvents = c.shownEvents, ev
	c.events.clear()
	return ev.list
}

// release shows own events that waited for the server, and keeps those that still wait.
func (c *Client) release() {
	keep := &c.laterSpare
	keep.clear()
	for _, e := range c.later.list {
		to := c.events
		if e.Tick > c.own.Base() && c.cfg.NoPrediction {
			to = keep
		}
		copy(to.add(e, len(e.Vals)), e.Vals)
	}
	c.later, c.laterSpare = c.laterSpare, c.later
}

// show reads an event that the server sent.
func (c *Client) show(m reliable.Message) {
	if int(m.Kind) >= len(c.rules.Events) {
		c.stats.Malformed++
		return
	}
	if len(c.events.list) >= MaxEvents {
		c.stats.EventsLost++
		return
	}
	k := c.rules.Events[m.Kind]
	vals := c.events.add(Event{Event: int(m.Kind), Actor: game.ID(m.Entity), Tick: m.Tick}, k.Sims)
	if packet.DecodeEvent(m.Body, k, m.Tick, vals) != nil {
		c.stats.Malformed++
		c.events.list = c.events.list[:len(c.events.list)-1]
	}
}
