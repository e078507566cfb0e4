package engine

import (
	"math"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

// On converts a place relative to parent into a place in the world, over up to schema.MaxParents
// parents. A parent of 0 is the world itself. ok is false if a parent does not exist or, in a
// client, is not known.
func (w *World) On(parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.ontoParents(0, parent, at, false)
}

// SeenOn converts a place that Seen returned. It uses the parents as player me saw them, and me as
// it is now.
func (w *World) SeenOn(me, parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.ontoParents(me, parent, at, true)
}

func (w *World) ontoParents(me, parent ID, at geom.Vec3, seen bool) (geom.Vec3, bool) {
	for parents := 0; parent != 0; parents++ {
		var k *schema.Kind
		if parents == schema.MaxParents {
			return at, false
		}
		if seen && parent != me {
			k = w.seenValues(me, parent)
		} else {
			k = w.values(parent)
		}
		if k == nil {
			return at, false
		}
		if k.Place >= 0 {
			at = ontoParent(k, w.floats, at)
		}
		if parent = 0; k.Parent >= 0 {
			parent = ID(w.floats[k.Props[k.Parent].At])
		}
	}
	return at, true
}

// values writes an entity's present values to w.floats and returns its kind, nil if there is no
// such entity.
func (w *World) values(id ID) *schema.Kind {
	s, e := w.entity(id)
	if e == nil || s.isHidden(e) {
		return nil
	}
	s.schema.Extract(s.present(e), s.ints)
	w.floats = s.schema.AppendExact(w.floats[:0], nil, s.ints, 65536)
	return s.schema
}

// seenValues writes to w.floats how player me saw an entity and returns its kind, nil if it did not
// see it. An entity that is gone by now may be of any kind.
func (w *World) seenValues(me, id ID) *schema.Kind {
	if w.seer == nil {
		return nil
	}
	if s, e := w.entity(id); e != nil {
		return s.seenValues(me, id)
	}
	for _, s := range w.stores {
		if k := s.seenValues(me, id); k != nil {
			return k
		}
	}
	return nil
}

func (s *Store) seenValues(me, id ID) (k *schema.Kind) {
	if s.kind.Extrapolated {
		return nil // the server cannot reproduce where it was drawn
	}
	if s.schema.Ahead != schema.Playout {
		if x := s.any(id); x != nil && !s.isHidden(x) {
			s.world.floats = s.schema.AppendExact(s.world.floats[:0], nil, s.shown(x), 65536)
			return s.schema
		}
		return nil
	}
	seen := s.look(Query{Me: me, ID: id})
	for i, other := range seen.ids {
		if other == id {
			k = s.schema
			s.world.floats = k.AppendDrawn(s.world.floats[:0], seen.at(i))
			break
		}
	}
	seen.Close()
	return k
}

// ontoParent turns and moves a place relative to an entity of kind k. vals are the entity's values,
// by simulation integers.
func ontoParent(k *schema.Kind, vals []float64, at geom.Vec3) geom.Vec3 {
	if k.Facing >= 0 {
		f := &k.Props[k.Facing]
		if v := vals[f.At:]; f.Rotates() {
			ww := 1 - float64(v[0]*v[0]) - float64(v[1]*v[1]) - float64(v[2]*v[2])
			at = geom.Quat{W: math.Sqrt(max(ww, 0)), X: v[0], Y: v[1], Z: v[2]}.Unit().Rotate(at)
		} else { // about the upright axis
			at = at.XY().Rotate(geom.Angle(v[0])).At(at.Z)
		}
	}
	parent, _ := k.PlaceOf(vals)
	return at.Add(parent)
}
