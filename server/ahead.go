package server

import (
	"math"
	"slices"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/interest"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
)

// ahead says which entities the clients of a game run ahead, besides their own avatars.
type ahead struct {
	any  bool // of some kind
	near bool // of some kind those that are near
}

func aheadOf(rules *game.Rules) (a ahead) {
	a.any = rules.Ahead()
	for _, k := range rules.Kinds {
		a.near = a.near || k.Ahead == schema.Near
	}
	return a
}

// detail returns how a player is to receive an entity; near says that it is near the avatar.
func (p *player) detail(i int32, near bool) snapshot.Detail {
	e := p.s.hist.At(i)
	switch {
	case i == p.ent:
		return snapshot.Mine
	case !e.Exact:
		return snapshot.Observed
	case e.By != 0 && e.By == uint32(p.avatar):
		return snapshot.Spawned
	case near || p.s.hist.Kind(e).Ahead == schema.Predicted:
		return snapshot.Exact
	}
	return snapshot.Observed
}

// noteSpawn notes which player's command spawned a new entity that clients may run ahead. The
// player's client shows one of its own already and waits for the server's, so player.spawns lists
// those that live and whose first sight the client has not acknowledged.
func (s *Server) noteSpawn(i int32) {
	e := s.hist.At(i)
	if !e.Exact {
		return
	}
	by, key := s.eng.Spawner(game.ID(e.ID))
	if by == 0 {
		return
	}
	e.By, e.Spawn = uint32(by), snapshot.Spawn{Tick: key.Tick, N: key.N}
	if p := s.owners.avatars[by]; p != nil {
		p.spawns = append(p.spawns, i)
		s.owners.spawns[i] = p
	}
}

// forgetSpawn notes that an entity is gone.
func (p *player) forgetSpawn(i int32) {
	if at := slices.Index(p.spawns, i); at >= 0 {
		p.spawns = slices.Delete(p.spawns, at, at+1)
	}
}

// seeSpawns brings into sight what the player's commands spawned, wherever it is, until the client
// is known to have it.
func (p *player) seeSpawns() {
	view, kept := p.down.view, p.spawns[:0]
	for _, i := range p.spawns {
		if view.AckedTick(i, snapshot.OwnerGroup) != 0 {
			continue
		}
		kept = append(kept, i)
		if p.allows(i) && !view.Enter(i, snapshot.Spawned) {
			p.sight.crowded = true
		}
	}
	p.spawns = kept
}

// oldestSpawn returns the command of the oldest of those entities that the packet being written
// lacks, 0 if it lacks none. entries are its entries; nil: none yet.
func (p *player) oldestSpawn(entries *snapshot.Writer) clock.Tick {
	for _, i := range p.spawns {
		if p.allows(i) && (entries == nil || !entries.Has(i)) {
			return p.s.hist.At(i).Spawn.Tick
		}
	}
	return 0
}

// What is near is run ahead from closeBy before the avatar could reach it, and for stayExact at
// least. The client does so once it has received a record, and what it does then lies a round trip
// ahead of the server, so that is how early it must know.
const (
	closeBy    = 750 * time.Millisecond
	stayExact  = time.Second
	maxClosing = 60_000 // millimetres a second that count
	speedOver  = 100 * time.Millisecond
	maxMovers  = 16 // things that move, the nearest to the avatar, that others are near to
	speedLooks = 5  // moments of the last stayExact at which the speed counts
)

// approach makes exact what has come near the player's avatar, or near something that moves and
// that the client runs ahead: what such a thing touches must be known as well as the thing. What
// went away from all of them is observed again. members are the entities in sight, movers is memory
// for those that move.
func (p *player) approach(members, movers []interest.Neighbour) []interest.Neighbour {
	s, view := p.s, p.down.view
	movers = movers[:0]
	if p.ent >= 0 {
		movers = append(movers, interest.Neighbour{Dist2: -1, Index: p.ent})
		for _, n := range members {
			if exact, _ := view.ExactSince(n.Index); exact && n.Index != p.ent &&
				s.hist.At(n.Index).ChangedIn(snapshot.OwnerGroup)+clock.Tick(speedOver/s.period) >= s.tick {
				movers = insertNearest(movers, n, maxMovers)
			}
		}
	}
	for _, n := range members {
		e := s.hist.At(n.Index)
		k := s.hist.Kind(e)
		if !e.Exact || k.Ahead != schema.Near {
			continue
		}
		exact, since := view.ExactSince(n.Index)
		near := false
		for _, from := range movers {
			if near = from.Index != n.Index && s.isNear(n.Index, from.Index, int64(float64(k.Reach*1000)), exact); near {
				break
			}
		}
		if !near && exact && s.tick-since < clock.Tick(stayExact/s.period) {
			continue
		}
		if !view.Switch(n.Index, p.detail(n.Index, near)) {
			p.sight.crowded = true
		}
	}
	return movers
}

// insertNearest inserts n into a, which is sorted by distance and index and keeps the nearest most.
func insertNearest(a []interest.Neighbour, n interest.Neighbour, most int) []interest.Neighbour {
	at := len(a)
	for at > 0 && n.Before(a[at-1]) {
		at--
	}
	if at == most {
		return a
	}
	return slices.Insert(a[:min(len(a), most-1)], at, n)
}

// isNear reports whether entity i is within reach millimetres of another, or will soon be if both
// go on as they do. An exact one stays near up to a greater distance, whatever direction both have
// moved in lately, so that none goes back and forth on the border.
func (s *Server) isNear(i, other int32, reach int64, exact bool) bool {
	if exact {
		reach += reach/4 + 1000
	}
	e, o := s.hist.At(i), s.hist.At(other)
	x, y := int64(e.X)-int64(o.X), int64(e.Y)-int64(o.Y)
	fx, fy := float64(x), float64(y)
	dist := int64(math.Sqrt(float64(fx*fx) + float64(fy*fy)))
	soon := func(speed int64) int64 {
		return min(speed, maxClosing) * int64(closeBy/time.Millisecond) / 1000
	}
	switch {
	case dist <= reach:
		return true
	case dist > reach+soon(maxClosing):
		return false
	case !exact:
		vx, vy := s.relative(i, other, 0)
		return dist <= reach+soon(-(x*vx+y*vy)/dist)
	}
	for look := range clock.Tick(speedLooks) {
		vx, vy := s.relative(i, other, look*clock.Tick(stayExact/s.period)/(speedLooks-1))
		if dist <= reach+soon(int64(math.Sqrt(float64(vx*vx+vy*vy)))) {
			return true
		}
	}
	return false
}

// relative returns how fast entity i moved as seen from another so many ticks ago, in millimetres a
// second.
func (s *Server) relative(i, other int32, ago clock.Tick) (x, y int64) {
	h, over := s.hist, clock.Tick(max(speedOver/s.period, 1))
	x, y = h.Velocity(i, ago, over)
	ownX, ownY := h.Velocity(other, ago, over)
	return x - ownX, y - ownY
}
