package server

import (
	"slices"

	"meanwhile/game"
	"meanwhile/netcode/clock"
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
	for _, p := range s.clients {
		if p.avatar == by {
			p.spawns = append(p.spawns, i)
		}
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
