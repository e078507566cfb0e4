package client

import (
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// Entity is one entity as it is to be drawn.
type Entity struct {
	ID   game.ID
	Kind int
	Mine bool
	// Predicted says that the entity is drawn where the prediction has it at the newest command,
	// and not between its records.
	Predicted bool
	// Vals are the kind's properties as numbers, see schema.Kind.AppendDrawn; valid during the
	// call.
	Vals []float64
	// Drawn are the integers behind them, of entities that are drawn between records alone.
	Drawn []int64
	// Replica has the records that arrived of it; nil for what a prediction has spawned until the
	// server's entity arrives.
	Replica *snapshot.Replica

	play  *playback
	track *track // of what is run ahead
}

// Has reports whether the properties of a group of the kind are sent to this player. Those of
// others are zero in Vals.
func (e *Entity) Has(group int) bool {
	return e.Mine || e.Replica == nil || e.Replica.Exact || e.Replica.Groups[group].Newest() != nil
}

// Cut reports whether the entity was teleported since the frame that Client.Drawn marked, so that
// it must not be drawn as sliding. It is false before the first Drawn.
func (e *Entity) Cut() bool {
	p := e.play
	if p.seen.newest == 0 {
		return false
	}
	if e.Mine {
		return p.own.cuts != p.seen.cuts
	}
	if e.track != nil {
		return e.track.cutNow
	}
	k := p.rules.Kinds[e.Kind]
	for g := range k.Groups {
		if k.Groups[g].Moving && p.groupCut(k, &k.Groups[g], &e.Replica.Groups[g]) {
			return true
		}
	}
	return false
}

// groupCut reports whether what is drawn of a group was teleported since the frame that was marked.
func (p *playback) groupCut(k *schema.Kind, g *schema.Group, records *snapshot.Group) bool {
	newest, since := records.Newest(), p.seen
	switch {
	case newest == nil:
		return false
	case p.carry(k, records) != nil && records.Carry.Jumped() > since.newest:
		return true
	case p.cfg.NoInterpolation || p.carry(k, records) != nil:
		return newest.Cut > since.newest || newest.Tick > since.newest && jumped(k, g, records, newest,
			newest.Shown()-1)
	case since.at == 0:
		return false
	}
	t := p.time.drawTick
	a, b := records.Around(t)
	return p.passed(a, t) || b != nil && p.passed(b, t) || a.Shown() <= t && jumped(k, g, records, a, since.at)
}

// passed reports whether the playout time t has passed the teleport that a state tells of since the
// frame that was marked, or had passed it before anything was known of it.
func (p *playback) passed(s *motion.State, t clock.TickFrac) bool {
	shown := s.CutShown()
	return shown > 0 && shown <= t && (shown > p.seen.at || s.Cut > p.seen.newest)
}

// jumped reports whether one of the records from s back to those that were drawn at a playout time
// is further from the one before than the kind's warp= allows to draw as movement.
func jumped(k *schema.Kind, g *schema.Group, records *snapshot.Group, s *motion.State, since clock.TickFrac) bool {
	if len(g.Warps) == 0 {
		return false
	}
	for s.Shown() > since {
		before, _ := records.Around(s.Shown() - 1)
		if before.Shown() >= s.Shown() {
			return false
		}
		if motion.Warped(k, g, before.Vals, s.Vals) {
			return true
		}
		s = before
	}
	return false
}

// Stalled reports whether the entity stands still because nothing newer arrived: it is drawn at its
// newest record, past the time of that, though it does not rest. Dead reckoning goes on and does
// not stall.
func (e *Entity) Stalled() bool {
	p := e.play
	if e.Mine || e.track != nil || p.cfg.NoInterpolation {
		return false
	}
	k := p.rules.Kinds[e.Kind]
	for g := range k.Groups {
		if !k.Groups[g].Moving || k.Groups[g].Reckoned != 0 {
			continue
		}
		records, last := &e.Replica.Groups[g], p.time.drawTick
		s := records.Newest()
		if s == nil || s.Rest {
			continue
		}
		shown := s.Shown()
		if carry := p.carry(k, records); carry != nil {
			shown, last = s.Tick.Frac()+carry.Reach(), p.time.nowTick
		}
		if shown < last {
			return true
		}
	}
	return false
}

// Late returns by how much the entity is drawn further in the past than the playout time, in tick
// time, because the server announced that records of it take longer. It is 0 for entities that do
// not move.
func (e *Entity) Late() clock.TickFrac {
	if e.Mine || e.track != nil {
		return 0
	}
	t, ok := e.play.timeOf(e.Replica)
	if !ok {
		return 0
	}
	return max(e.play.time.drawTick-t, 0)
}

// Interval returns how often records of the entity's movement arrive: the mean time between the
// newest ones, or since the newest one if that is longer. It is 0 for what rests, does not move, or
// is predicted.
func (e *Entity) Interval() clock.TickFrac {
	if e.Mine || e.track != nil {
		return 0
	}
	p := e.play
	k := p.rules.Kinds[e.Kind]
	for g := range k.Groups {
		if k.Groups[g].Moving {
			return e.Replica.Groups[g].Interval(p.down.newestTick)
		}
	}
	return 0
}

// markDrawn is Client.Drawn.
func (p *playback) markDrawn() {
	newest, _, _ := p.time.ticks.Newest()
	p.seen = frameMark{p.time.drawTick, newest, p.own.cuts}
	for i := range p.ahead.tracks {
		p.ahead.tracks[i].cutNow = false
	}
}
