package engine

import (
	"slices"
	"time"

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
	return Receipt{Stated: float64(float64(stated) / clock.FracPerTick),
		Used: float64(float64(used) / clock.FracPerTick), Bound: float64(float64(bound) / clock.FracPerTick), Reason: reason}
}

// Receipt says by which past the command that runs is judged, in a client by what it states itself.
// The zero Receipt is that of other callbacks.
func (w *World) Receipt() (r Receipt) {
	if w.seer != nil {
		r = w.seer.Receipt()
	}
	return r
}

// ViewAge returns how many seconds before its tick the command that runs saw others, as judged.
func (w *World) ViewAge() float64 {
	if r := w.Receipt(); r.Used > 0 && r.Reason != rewind.None {
		return max(float64((float64(w.tick)-r.Used)*w.Dt()), 0)
	}
	return 0
}

// RewindAtMost bounds how far back Seen reaches, in milliseconds, for the rest of an Act: nothing
// after RewindAtMost sees an older picture. It never lets Seen reach further than before. A client
// predicts by the same past, as far as it has newer records than it draws.
func (w *World) RewindAtMost(ms float64) {
	if s, ok := w.seer.(interface{ RewindAtMost(most time.Duration) }); ok {
		s.RewindAtMost(time.Duration(float64(min(max(ms, 0), 1e6) * float64(time.Millisecond))))
	}
}

// MaxTargets is how many entities one command can hit, as far as receipts say. Of more, the newest
// count.
const MaxTargets = 4

// targets are the newest entities that rules got, the oldest first.
type targets struct {
	list [MaxTargets]ID
	n    int
}

func (t *targets) add(id ID) {
	if i := slices.Index(t.list[:t.n], id); i >= 0 {
		copy(t.list[i:], t.list[i+1:t.n])
		t.n--
	} else if t.n == MaxTargets {
		copy(t.list[:], t.list[1:])
		t.n--
	}
	t.list[t.n] = id
	t.n++
}

// aim is what rules did in an Act with what they saw.
type aim struct {
	tick   Tick
	looked uint64 // kinds that they ranged over
	targets
}

// A Hit is an entity that a command hit, and its place in the world in metres as the player saw it.
type Hit struct {
	ID ID
	At geom.Vec3
}

// Looked reports whether the newest Act was of tick t and asked for Seen, as few commands do.
func (e *Engine) Looked(t Tick) bool { return e.w.aim.tick == t && e.w.aim.looked != 0 }

// Hits appends to dst what the rules hit in the newest Act: what they asked Get for, of kinds that
// they had ranged over with Seen, at most MaxTargets. See says what is left out, and hash stands
// for how all of them were drawn.
func (e *Engine) Hits(me ID, seer Seer, dst []Hit) (hits []Hit, hash uint16) {
	a := e.w.aim
	for _, id := range a.list[:a.n] {
		if found, at, h, ok := e.See(me, id, 0, seer); ok {
			dst, hash = append(dst, Hit{found, at}), 31*hash+h
		}
	}
	return dst, hash
}

// See finds an entity among those that rules ranged over with Seen in the newest Act: the first
// whose ID is id modulo IDs, or id itself if modulo is 0. at is its place in the world in metres as
// player me saw it, parents included, and hash one of 4096 that stands for all that Seen showed of
// it but texts, which may reach a client later. ok is false if there is none: me did not see it,
// its kind is one that clients run ahead, or it has no place.
func (e *Engine) See(me, id, modulo ID, seer Seer) (found ID, at geom.Vec3, hash uint16, ok bool) {
	w := e.w
	w.seer, w.looks = seer, 0
	for _, s := range w.stores {
		if w.aim.looked>>s.index&1 == 0 || s.schema.Ahead != schema.Playout {
			continue
		}
		seen, k := s.look(Query{Me: me, ID: id, Modulo: modulo}), s.schema
		for i, other := range seen.ids {
			if ok || other != id && (modulo == 0 || other%modulo != id) {
				continue
			}
			found, hash = other, hashOf(k, seen.at(i))
			w.floats = k.AppendDrawn(w.floats[:0], seen.at(i))
			if at, ok = k.PlaceOf(w.floats); ok && k.Parent >= 0 {
				at, ok = w.SeenOn(me, ID(w.floats[k.Props[k.Parent].At]), at)
			}
		}
		seen.Close()
	}
	w.seer = nil
	return found, at, hash, ok
}

// hashOf mixes drawn values, texts apart, by FNV-1a over whole integers.
func hashOf(k *schema.Kind, drawn []int64) uint16 {
	const bits = 12
	h := uint64(14695981039346656037)
	for i := range k.Props {
		if p := &k.Props[i]; p.ObsAt >= 0 && p.Shape() != schema.ShapeText {
			for c := range p.Comps {
				h = (h ^ uint64(drawn[p.ObsAt+c])) * 1099511628211
			}
		}
	}
	return uint16((h ^ h>>29) * 0x9e3779b97f4a7c15 >> (64 - bits))
}
