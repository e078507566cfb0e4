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

// pace decides how often one client is sent records of each moving entity. Where the budget does
// not reach for all of them in every packet, the time from one record of an entity to the next
// grows with its distance, by a scale that makes the sum fit. That time, rounded up to a class, is
// announced with each record and then kept: the client draws the entity later by that much, and no
// more.
type pace struct {
	scale int64 // ticks between records for each millimetre of distance, in 1/2^scaleShift
	cost  int64 // bits of a record of a moving entity, smoothed, in 1/costScale
	other int64 // bits of all else in a packet, smoothed, in 1/costScale
	room  int64 // records of moving entities that fit in a packet, in 1/costScale

	rate, send int                  // that the fields below were made for
	maxClass   uint8                // the greatest that is announced
	gap        int64                // 1/16 ticks between packets
	firstDue   int64                // how soon the next record comes at the latest in class 0, in ticks
	packets    [motion.Bounds]int64 // by class, in how many packets a record comes at the latest
}

const (
	scaleShift    = 28
	costScale     = 1 << 10
	promisedShare = 59             // of 64 parts of what fits are promised: starts and first sights come between
	initialCost   = 80 * costScale // bits of a record, before any was written

	// nearBy is the distance in millimetres below which nearness gives no more priority.
	nearBy = 4000
	// minScale and maxScale bound pace.scale. With maxScale the nearest entity waits for the
	// longest bound.
	minScale = 1 << 8
	maxScale = 1 << (scaleShift - 4)
)

// Scores of due entries. They lie so far apart that no entry of one group comes before an entry of
// the group above it.
const (
	ownScore   = 1 << 62       // the player's own avatar
	goneScore  = 1 << 61       // removals: they are cheap, and the entity must not linger
	spawnScore = goneScore - 1 // first sights of what the player's own commands spawned: it shows them already
	startScore = 1 << 60       // what begins to move: nobody should see it rest any longer
	duty       = 1 << 59       // added where a record must go now to keep what was announced
	exactWorth = 4             // how much more a record is worth with which the player's client compares its prediction
	maxStale   = 1 << 16       // ticks beyond which such a record grows no more urgent
	waitShift  = 40            // of the ticks that an entity waited, before they are divided by its distance
)

// spends notes the content of a packet: n records of moving entities with a sum of moving bits, and
// other bits of all else but first sights, which do not last. even is how many bits a packet may
// have if all are of the same size.
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

// period returns the wanted time between records at a distance in millimetres, in 1/16 ticks.
func (p *pace) period(dist, scale int64) int64 { return dist * scale >> (scaleShift - 4) }

// plan prepares for send packets a second at rate ticks a second.
func (p *pace) plan(rate, send int, maxClass uint8) {
	if p.rate == rate && p.send == send && p.maxClass == maxClass {
		return
	}
	p.rate, p.send, p.maxClass = rate, send, maxClass
	p.firstDue = int64((rate + send - 1) / send)
	p.gap = int64(rate) * 16 / int64(send)
	for c := range p.packets {
		p.packets[c] = (p.firstDue + int64(motion.Wait(uint8(c)))) * int64(send) / int64(rate)
	}
}

// class returns the least class that allows for a wanted time between records, in 1/16 ticks, and
// the share of a packet that such records take, in 1/costScale records. Where the greatest class
// does not allow for it, records come later than it announces.
func (p *pace) class(want int64) (class uint8, share int64) {
	for class < p.maxClass && p.packets[class]*p.gap < want {
		class++
	}
	if got := p.packets[class] * p.gap; got < want {
		return class, p.gap * costScale / want
	}
	return class, costScale / p.packets[class]
}

// adapt changes the scale so that the promised records fit. load is the sum of their shares, less
// what it would be with the scale lower, both in 1/costScale records a packet.
func (p *pace) adapt(load, less, lower int64) {
	switch promised := p.room * promisedShare / 64; {
	case load > p.room*3/2: // a crowd has come, or this is the beginning
		p.scale = min(2*p.scale, maxScale)
	case load > promised:
		p.scale = min(p.scale+p.scale/8, maxScale)
	case less <= promised:
		p.scale = max(lower, minScale)
	}
}

// prioritise orders due entries and chooses the class that each announces. The player's own avatar
// comes first, then removals, then what its own commands spawned, then entities that begin to move,
// then records that must go now to keep their announcement, then the rest. Within the last two,
// waiting time over distance decides, which is about how wrong they look on the screen. Ties go by
// entity, so the order is total.
func (s *Server) prioritise(client *player, due []snapshot.Candidate) {
	down := &client.down
	p := &down.pace
	p.plan(s.rules.Rate, down.send, s.maxClass(down.send))
	x, y := int64(0), int64(0)
	if client.ent >= 0 {
		e := s.hist.At(client.ent)
		x, y = int64(e.X), int64(e.Y)
	}
	next := int64(1) // ticks until the next packet
	for !down.isTurn(s.tick+clock.Tick(next), s.rules.Rate) {
		next++
	}
	p.scale = max(p.scale, minScale)
	lower := p.scale * 7 / 8
	load, less := int64(0), int64(0)
	for i := range due {
		d := &due[i]
		e := s.hist.At(d.Ent)
		switch {
		case d.Mine:
			d.Score = ownScore
			continue
		case d.Gone:
			d.Score = goneScore
			continue
		case d.First && d.Spawned:
			d.Score = spawnScore
			continue
		}
		dist := int64(nearBy)
		if e.Placed {
			at := s.carrier(e) // a rider is as late as its parent, or both would come apart where it steps off
			dx, dy := x-int64(at.X), y-int64(at.Y)
			dist += max(dx, -dx) + max(dy, -dy) // Manhattan: near enough, and cheap
		}
		d.Score = int64(d.Stale) << waitShift / dist
		if d.Exact {
			d.Score = exactWorth * int64(min(d.Stale, maxStale)) << waitShift / dist
		}
		if s.cfg.NoBounds {
			continue
		}
		if !d.Moves {
			d.Score += duty
			continue
		}
		want := p.period(dist, p.scale)
		class, share := p.class(want)
		load += share
		_, share = p.class(p.period(dist, lower))
		less += share
		promised := p.firstDue + int64(motion.Wait(d.Bound))
		if d.First {
			promised = want / 16
		}
		d.Score = int64(d.Age) << waitShift / dist
		switch {
		case d.Start && !d.First:
			d.Score = startScore - dist
		case int64(d.Age)+next > promised:
			d.Score += duty
		}
		d.Bound = s.announce(d, class)
	}
	if !s.cfg.NoBounds {
		p.adapt(load, less, lower)
	}
	slices.SortFunc(due, func(a, b snapshot.Candidate) int {
		if a.Score != b.Score {
			return cmp.Compare(b.Score, a.Score)
		}
		return cmp.Compare(a.Ent, b.Ent)
	})
}

// announce returns the class to announce where class is wanted. From record to record it changes by
// no more than a viewer tolerates: a drawn entity slows down to half its speed at most, and runs at
// most half faster than it did. An entity that rested has no such bound.
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

// usualTrip is the round trip up to which shots at far targets are judged by what was drawn, to the
// bit.
const usualTrip = 200 * time.Millisecond

// maxClass returns the greatest class with which a rewind still finds everything that was drawn in
// the history: the playout time may lie as far back as shots are judged, a record is shown later by
// its bound, and the one before it was drawn, too.
func (s *Server) maxClass(send int) uint8 {
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

// carrier returns the bottom of the entities that an entity stands on, or the entity itself.
func (s *Server) carrier(e *snapshot.Entity) *snapshot.Entity {
	for range schema.MaxParents {
		if e.On < 0 {
			break
		}
		e = s.hist.At(e.On)
	}
	return e
}
