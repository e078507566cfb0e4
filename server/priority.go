package server

import (
	"cmp"
	"slices"

	"meanwhile/snapshot"
)

// prioritise orders what is due: the player's own avatar, then what is gone (cheap, and it must not linger),
// then by how long a record waited over how far away its entity is, which is about how wrong it looks on
// the screen. Ties go by entity, so the order is total.
func (s *Server) prioritise(c *conn, due []snapshot.Due) {
	x, y := int64(0), int64(0)
	if c.ent >= 0 {
		e := s.hist.At(c.ent)
		x, y = int64(e.X), int64(e.Y)
	}
	for i := range due {
		d := &due[i]
		switch e := s.hist.At(d.Ent); {
		case d.Mine:
			d.Score = 1 << 62
		case d.Gone:
			d.Score = 1 << 61
		case !e.Placed:
			d.Score = int64(d.Stale) << 30
		default:
			dx, dy := x-int64(e.X), y-int64(e.Y)
			dist := max(dx, -dx) + max(dy, -dy) // Manhattan: near enough, and cheap
			d.Score = int64(d.Stale) << 40 / (dist + nearBy)
		}
	}
	slices.SortFunc(due, func(a, b snapshot.Due) int {
		if a.Score != b.Score {
			return cmp.Compare(b.Score, a.Score)
		}
		return cmp.Compare(a.Ent, b.Ent)
	})
}

// nearBy is the distance in millimetres below which nearness gives no more priority.
const nearBy = 4000
