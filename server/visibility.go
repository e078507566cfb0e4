package server

import (
	"slices"

	"meanwhile/geom"
	"meanwhile/netcode/interest"
)

// gridCell is the side of an interest cell in millimetres.
const gridCell = 16000

// visibility is where one player looks from, and how far. The entities that it knows are kept in its
// View alone.
type visibility struct {
	x, y int32 // where the avatar is, or was last, in millimetres
	// reach2 is the squared distance in square millimetres up to which everything is known; negative:
	// there is no limit.
	reach2 int64
	// crowded says that slots are short. They become free as packets are acknowledged, so packets must flow.
	crowded bool
}

// covers reports whether a place lies within sight.
func (v *visibility) covers(at geom.Vec2) bool {
	if v.reach2 < 0 {
		return true
	}
	dx, dy := float64(v.x)-float64(at.X*1000), float64(v.y)-float64(at.Y*1000)
	return float64(dx*dx)+float64(dy*dy) <= float64(v.reach2)
}

// see brings the client's slots in line with what it may know: its own avatar, everything without a place,
// and the nearest others.
func (p *player) see(out *Outbox) {
	s, v, view := p.s, &p.sight, p.down.view
	h := s.hist
	if p.ent >= 0 {
		view.Enter(p.ent, true)
	}
	for _, i := range s.always {
		view.Enter(i, i == p.ent)
	}
	if p.ent >= 0 {
		e := h.At(p.ent)
		v.x, v.y = e.X, e.Y
	}
	out.near = s.grid.Nearest(v.x, v.y, s.rules.See+hysteresis(s.rules.See), out.near[:0])
	v.reach2, v.crowded = -1, false
	if len(out.near) > s.rules.See {
		v.reach2 = out.near[s.rules.See-1].Dist2
	}
	known := len(s.always) // of those that are to be known, how many are
	if p.ent >= 0 && h.At(p.ent).Placed {
		known++
	}
	for rank, n := range out.near {
		view.Distance(n.Index, n.Dist2)
		switch {
		case n.Index == p.ent:
		case rank >= s.rules.See:
			if view.Has(n.Index) {
				known++
			}
		case view.Enter(n.Index, false):
			view.Distance(n.Index, n.Dist2)
			known++
		default:
			v.crowded = true
		}
	}
	if ents, _ := view.Count(); ents > known || v.crowded {
		p.forget(out)
	}
}

// hysteresis is how many ranks beyond the last a visible entity may fall before it is let go.
func hysteresis(see int) int { return max(see/16, 1) }

// forget takes out of sight what is no longer near.
func (p *player) forget(out *Outbox) {
	p.down.view.Retain(func(i int32) bool {
		if i == p.ent || !p.s.hist.At(i).Placed {
			return true
		}
		return slices.ContainsFunc(out.near, func(n interest.Neighbour) bool { return n.Index == i })
	})
}
