package engine

import (
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/schema"
)

// A Receipt says by which past a command is judged. Times are in ticks, with their fractions.
type Receipt struct {
	// Stated is the time of what the player had on the screen, as its client says; 0: it says
	// nothing.
	Stated float64
	// Used is the time by which Seen shows others.
	Used float64
	// Bound is the earliest time that the server allows; 0 in clients, which do not know it.
	Bound float64
	// Reason says why Used is not Stated.
	Reason rewind.Reason
}

// NewReceipt returns a Receipt of tick times.
func NewReceipt(stated, used, bound clock.TickFrac, reason rewind.Reason) Receipt {
	return Receipt{Stated: float64(stated) / clock.FracPerTick, Used: float64(used) / clock.FracPerTick,
		Bound: float64(bound) / clock.FracPerTick, Reason: reason}
}

// Receipt says by which past the command that runs is judged, in a client by what it states itself.
// The zero Receipt is that of other callbacks.
func (w *World) Receipt() (r Receipt) {
	if w.seer != nil {
		r = w.seer.Receipt()
	}
	return r
}

// aim is what rules did in an Act with what they saw.
type aim struct {
	looked uint64 // kinds that they ranged over
	target ID     // the entity of these that they got last, but for the acting one; 0: none
}

// Target returns the entity that the rules hit in the newest Act: the last one that they asked Get
// for, of kinds that they had ranged over with Seen; 0: none. looked is false if they did not ask
// for Seen, as most commands do.
func (e *Engine) Target() (id ID, looked bool) { return e.w.aim.target, e.w.aim.looked != 0 }

// See finds an entity among those that rules ranged over with Seen in the newest Act: the first
// whose ID is id modulo IDs, or id itself if modulo is 0. at is its place in the world in metres as
// player me saw it, parents included, and hash one of HashRange that stands for all that Seen
// showed of it but texts, which may reach a client later. ok is false if there is none: me did not
// see it, its kind is one that clients run ahead, or it has no place.
func (e *Engine) See(me, id, modulo ID, seer Seer) (found ID, at geom.Vec3, hash uint16, ok bool) {
	w := e.w
	w.seer, w.looks = seer, 0
	for _, s := range w.stores {
		if !ok && w.aim.looked>>s.index&1 != 0 && s.schema.Ahead == schema.Playout {
			found, at, hash, ok = s.see(me, id, modulo)
		}
	}
	w.seer = nil
	return found, at, hash, ok
}

func (s *Store) see(me, id, modulo ID) (found ID, at geom.Vec3, hash uint16, ok bool) {
	w, k := s.world, s.schema
	seen := s.look(Query{Me: me, ID: id, Modulo: modulo})
	defer seen.Close()
	for i, other := range seen.ids {
		if other != id && (modulo == 0 || other%modulo != id) {
			continue
		}
		drawn := seen.at(i)
		w.floats = k.AppendDrawn(w.floats[:0], drawn)
		if at, ok = k.PlaceOf(w.floats); ok && k.Parent >= 0 {
			at, ok = w.SeenOn(me, ID(w.floats[k.Props[k.Parent].At]), at)
		}
		return other, at, hashOf(k, drawn), ok
	}
	return 0, at, 0, false
}

// HashRange is how many hashes Engine.See has.
const HashRange = 1 << hashBits

const hashBits = 12

// hashOf mixes drawn values, texts apart, by FNV-1a over whole integers.
func hashOf(k *schema.Kind, drawn []int64) uint16 {
	h := uint64(14695981039346656037)
	for i := range k.Props {
		if p := &k.Props[i]; p.ObsAt >= 0 && p.Shape() != schema.ShapeText {
			for _, v := range drawn[p.ObsAt : p.ObsAt+p.Comps] {
				h = (h ^ uint64(v)) * 1099511628211
			}
		}
	}
	return uint16((h ^ h>>29) * 0x9e3779b97f4a7c15 >> (64 - hashBits))
}
