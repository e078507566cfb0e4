package server

import (
	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
)

// Priorities of messages: what gives way where the queue is full.
const (
	plain  = iota // events
	urgent        // events that others give way to
	vital         // later records depend on them
)

// queue sends a message reliably and reports whether it found room. Events that give way to it are
// lost.
func (d *downlink) queue(m reliable.Message) bool {
	before := d.messages.Dropped()
	err := d.messages.Send(m)
	lost := d.messages.Dropped() - before
	d.stats.Events -= lost
	d.stats.EventsLost += lost
	return err == nil
}

// queueEvents queues the events of this tick that the player may learn of.
func (p *player) queueEvents(out *Outbox) {
	s, d := p.s, &p.down
	for i := range s.eng.Events() {
		e := &s.eng.Events()[i]
		if e.ByActor && e.Actor == p.avatar {
			p.commands.events++
			continue // its client predicted the event and has shown it already
		}
		if p.absent {
			continue // it would be old when the player comes back
		}
		tell, name := p.witnesses(e)
		if !tell {
			continue
		}
		actor := uint32(0)
		if name {
			actor = uint32(e.Actor)
		}
		w := &out.w
		w.Reset(out.body[:0])
		packet.AppendEvent(w, s.rules.Events[e.Event], e.Tick, p.namesKnown(e, out))
		out.body = w.Bytes()
		m := reliable.Message{Tick: e.Tick, Entity: actor, Kind: uint8(e.Event), Priority: plain, Body: out.body}
		if s.rules.Urgent(e.Event) {
			m.Priority = urgent
		}
		if d.queue(m) {
			d.stats.Events++
		} else {
			d.stats.EventsLost++
		}
	}
}

// namesKnown returns the values of an event for the player: handles to what it does not see are 0,
// unless they name what has just gone from its sight.
func (p *player) namesKnown(e *engine.Emitted, out *Outbox) []int64 {
	k, vals := p.s.rules.Events[e.Event], e.Vals
	for i := range k.Props {
		q := &k.Props[i]
		if q.Class != schema.Handle || i == k.Team || e.Vals[q.At] == 0 || p.knows(uint32(e.Vals[q.At])) {
			continue
		}
		if &vals[0] == &e.Vals[0] {
			out.vals = append(out.vals[:0], e.Vals...)
			vals = out.vals
		}
		vals[q.At] = 0
	}
	return vals
}

// knows reports whether the player sees an entity, will see it at once as it has just appeared, or
// saw it until it was removed.
func (p *player) knows(id uint32) bool {
	i, alive := p.s.hist.Find(id)
	if !alive {
		return p.allowsActor(game.ID(id)) && p.down.view.Saw(id)
	}
	e := p.s.hist.At(i)
	return p.allows(i) && (p.down.view.Has(i) || e.Spawned == p.s.tick && p.sight.reaches(e.X, e.Y))
}

// witnesses reports whether the player may learn of an event, and of its actor's ID. It learns of
// events whose actor it knows, itself included, and of those at a place within its sight. It does
// not learn that an actor exists which it does not see, of nothing that an actor does which the
// rules hide from it, and of no event for another team.
func (p *player) witnesses(e *engine.Emitted) (tell, name bool) {
	k := p.s.rules.Events[e.Event]
	if k.Team >= 0 && (p.team() == 0 || e.Vals[k.Props[k.Team].At] != p.team()) {
		return false, false
	}
	if e.Actor == p.avatar && e.Actor != 0 {
		return true, true
	}
	i, alive := p.s.hist.Find(uint32(e.Actor))
	switch {
	case alive && !p.allows(i), !alive && !p.allowsActor(e.Actor):
		return false, false
	case alive && p.down.view.Has(i):
		return true, true
	}
	return p.sight.covers(e.At), !alive
}
