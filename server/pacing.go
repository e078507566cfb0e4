package server

import (
	"cmp"
	"slices"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// pace is how often one client is sent records of what moves, by how far away it is, and what it costScale. Where the budget does not reach for
// all of them in every packet, the time from one record of a thing to the next grows with its distance, all times by the same factor,
// such that they add up to what fits. That time, rounded up to a class, is announced with each record, and then kept: the client
// draws the thing so much later, and no later.
type pace struct {
	scale int64 // ticks from record to record for each millimetre of distance, in 1/2^scaleShift
	cost  int64 // bits of a record of what moves, in 1/costScale, mean of the last ones
	other int64 // bits of all else in a packet, in 1/costScale
	room  int64 // records of what moves that fit in a packet, in 1/costScale

	rate, send int
	last       uint8                // the longest class that is announced
	every      int64                // 1/16 ticks from packet to packet
	first      int64                // the same in ticks, rounded up: how soon the next record comes at the latest in class 0
	packets    [motion.Bounds]int64 // by class, in how many packets a record comes at the latest
}

const (
	scaleShift    = 28
	costScale     = 1 << 10
	promisedShare = 59             // of 64 parts of what fits are promised: starts and first sights come between
	initialCost   = 80 * costScale // bits of a record, before any was written

	// nearBy is the distance in millimetres below which nearness gives no more priority.
	nearBy = 4000
	// maxScale lets what is nearest wait for the longest bound.
	maxScale = 1 << (scaleShift - 4)
)

// spends notes what a packet held: n records of what moves, of so many bits together, and so many bits of all else but first sights, which
// do not last. even is how many bits a packet may have if all are of the same size.
func (p *pace) spends(n, moving, other, even int) {
	if p.cost == 0 {
		p.cost, p.other = initialCost, int64(other)*costScale
	}
	if n > 0 {
		p.cost += (int64(moving)*costScale/int64(n) - p.cost) / 16
	}
	p.other += (int64(other)*costScale - p.other) / 16
	p.room = max(int64(even)*costScale-p.other, 0) * costScale / max(p.cost, costScale)
}

// period returns the time in 1/16 ticks from record to record of what is so far away.
func (p *pace) period(dist, scale int64) int64 { return dist * scale >> (scaleShift - 4) }

// plan prepares for packets at send of rate ticks.
func (p *pace) plan(rate, send int, last uint8) {
	if p.rate == rate && p.send == send && p.last == last {
		return
	}
	p.rate, p.send, p.last = rate, send, last
	p.first = int64((rate + send - 1) / send)
	p.every = int64(rate) * 16 / int64(send)
	for c := range p.packets {
		p.packets[c] = (p.first + int64(motion.Wait(uint8(c)))) * int64(send) / int64(rate)
	}
}

// class returns the least class that is enough for what comes again after so many 1/16 ticks, and the share of a packet that it takes,
// in 1/costScale records.
func (p *pace) class(want int64) (class uint8, share int64) {
	for class < p.last && p.packets[class]*p.every < want {
		class++
	}
	if got := p.packets[class] * p.every; got < want { // it will be broken
		return class, p.every * costScale / want
	}
	return class, costScale / p.packets[class]
}

// prioritise orders what is due and decides what is announced with it: the player's own avatar first, then what is gone (cheap, and it must
// not linger), then what begins to move, so that nobody sees it rest any longer; then what must go now to keep what was announced, then the
// rest, both by how long they waited over how far away they are, which is about how wrong they look on the screen. Ties go by entity, so
// the order is total.
func (s *Server) prioritise(client *player, due []snapshot.Candidate) {
	x, y := int64(0), int64(0)
	if client.ent >= 0 {
		e := s.hist.At(client.ent)
		x, y = int64(e.X), int64(e.Y)
	}
	d := &client.down
	p := &d.pace
	p.plan(s.rules.Rate, d.send, s.lastClass(d.send))
	next := int64(1) // ticks until the next packet
	for !d.isTurn(s.tick+clock.Tick(next), s.rules.Rate) {
		next++
	}
	if p.scale == 0 {
		p.scale = 1 << 8
	}
	lower := p.scale * 7 / 8
	load, less := int64(0), int64(0) // records in each packet if all is as announced, in 1/costScale, and if all came a little more often
	for i := range due {
		d := &due[i]
		e := s.hist.At(d.Ent)
		switch {
		case d.Mine:
			d.Score = 1 << 62
			continue
		case d.Gone:
			d.Score = 1 << 61
			continue
		}
		dist := int64(0)
		if e.Placed {
			at := s.carrier(e) // what rides is as late as what carries it, or both would come apart where it steps off
			dx, dy := x-int64(at.X), y-int64(at.Y)
			dist = max(dx, -dx) + max(dy, -dy) // Manhattan: near enough, and cheap
		}
		dist += nearBy
		if d.Score = int64(d.Stale) << 40 / dist; s.cfg.NoBounds {
			continue
		}
		want := p.period(dist, p.scale)
		if !d.Moves {
			d.Score += 1 << 59
			continue
		}
		class, share := p.class(want)
		load += share
		_, share = p.class(p.period(dist, lower))
		less += share
		promised := p.first + int64(motion.Wait(d.Bound))
		if d.First {
			promised = want / 16
		}
		d.Score = int64(d.Age) << 40 / dist
		switch {
		case d.Start && !d.First:
			d.Score = 1<<60 - dist
		case int64(d.Age)+next > promised:
			d.Score += 1 << 59
		}
		d.Bound = s.announce(d, class)
	}
	switch {
	case s.cfg.NoBounds:
	case load > p.room*3/2: // a crowd has come, or this is the beginning
		p.scale = min(2*p.scale, maxScale)
	case load > p.room*promisedShare/64:
		p.scale = min(p.scale+p.scale/8, maxScale)
	case less <= p.room*promisedShare/64:
		p.scale = max(lower, 1<<8)
	}
	slices.SortFunc(due, func(a, b snapshot.Candidate) int {
		if a.Score != b.Score {
			return cmp.Compare(b.Score, a.Score)
		}
		return cmp.Compare(a.Ent, b.Ent)
	})
}

// announce returns the class for a record of which class is wanted. From record to record it changes by no more than one can look at: what
// is drawn slows down to half at most, and never runs more than half faster than it was. What rested is free of that.
func (s *Server) announce(d *snapshot.Candidate, class uint8) uint8 {
	if d.Announced == 0 || d.Start {
		return class
	}
	gap, was := s.tick-d.Announced, motion.Wait(d.Bound)
	for class > d.Bound && motion.Wait(class) > was+gap {
		class--
	}
	for class < d.Bound && motion.Wait(class)+gap/3 < was {
		class++
	}
	return class
}

// lastClass returns the class of the longest bound with which a rewind still finds all that was drawn in the history: the playout time may lie
// as far back as shots are judged, a record is shown later by its bound, and the one before it was.
func (s *Server) lastClass(send int) uint8 {
	back := int64(0)
	if s.cfg.Rewind > 0 {
		back = int64(min(s.cfg.Rewind+usualTrip, MaxRewind) / s.period)
	}
	room := (snapshot.HistoryTicks - 2 - back - int64((s.rules.Rate+send-1)/send)) / 2
	c := uint8(motion.Bounds - 1)
	for c > 0 && int64(motion.Wait(c)) > room {
		c--
	}
	return c
}

// usualTrip is the round trip up to which shots at what is far away are judged by what was drawn, to the bit.
const usualTrip = 200 * time.Millisecond

// carrier returns what an entity stands on, at the bottom of all, or the entity itself.
func (s *Server) carrier(e *snapshot.Entity) *snapshot.Entity {
	for range schema.MaxParents {
		if e.On < 0 {
			break
		}
		e = s.hist.At(e.On)
	}
	return e
}
