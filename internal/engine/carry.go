package engine

import (
	"math"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

// maxRides is how many entities may stand on top of each other: a rider on a horse on a ferry are two.
const maxRides = 4

// On takes a place that is relative to parent, which the word parent in a tag names, into the world: turned as the parent is and moved to where
// it is, and so on if that is relative to another. A parent of 0 is the world itself. ok is false if a parent is not there or, in a client, not
// known; a client that does not predict it knows its newest record.
//
// A game in the plane adds and drops the height:
//
//	at, ok := w.On(r.On, r.Pos.At(0)) // at.XY()
func (w *World) On(parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.carry(0, parent, at, false)
}

// SeenOn does the same for a place that Seen gave: it is where player me saw it, as its parents were drawn at the same moment, one of them
// being me itself as it is now.
//
//	for id, o := range Riders.Seen(w, me) {
//		if at, ok := w.SeenOn(me, o.On, o.Pos); ok && ray.Hits(at) {
func (w *World) SeenOn(me, parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.carry(me, parent, at, true)
}

func (w *World) carry(me, parent ID, at geom.Vec3, seen bool) (geom.Vec3, bool) {
	for rides := 0; parent != 0; rides++ {
		var k *schema.Kind
		if rides == maxRides {
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
			at = onto(k, w.floats, at)
		}
		if parent = 0; k.Parent >= 0 {
			parent = ID(w.floats[k.Props[k.Parent].At])
		}
	}
	return at, true
}

// values puts what an entity is now into w.floats and returns its kind, nil if it is not there.
func (w *World) values(id ID) *schema.Kind {
	for _, s := range w.stores {
		if r, ok := w.find(s, id); ok {
			s.schema.Extract(r.ptr, s.ints)
			w.floats = s.schema.AppendExact(w.floats[:0], nil, s.ints, 65536)
			return s.schema
		}
	}
	return nil
}

// seenValues puts what player me saw of an entity into w.floats and returns its kind, nil if it did not see it. One that is gone since is of
// some kind all the same.
func (w *World) seenValues(me, id ID) *schema.Kind {
	if w.seer == nil {
		return nil
	}
	for _, s := range w.stores {
		if s.any(id) != nil {
			return w.seenOf(s, me, id)
		}
	}
	for _, s := range w.stores {
		if k := w.seenOf(s, me, id); k != nil {
			return k
		}
	}
	return nil
}

func (w *World) seenOf(s *Store, me, id ID) (k *schema.Kind) {
	if s.kind.Extrapolated {
		return nil // nobody can say where it was drawn
	}
	at := w.look(s, me)
	for i, other := range at.ids {
		if other == id {
			k = s.schema
			w.floats = k.AppendDrawn(w.floats[:0], at.drawn[i*k.Obs:(i+1)*k.Obs])
			break
		}
	}
	w.looks--
	return k
}

// onto takes a place relative to an entity of kind k into what that is relative to. vals are its values, by simulation integers.
func onto(k *schema.Kind, vals []float64, at geom.Vec3) geom.Vec3 {
	if k.Facing >= 0 {
		f := &k.Props[k.Facing]
		switch v := vals[f.At:]; f.Class {
		case schema.Quat:
			ww := 1 - float64(v[0]*v[0]) - float64(v[1]*v[1]) - float64(v[2]*v[2])
			at = geom.Quat{W: math.Sqrt(max(ww, 0)), X: v[0], Y: v[1], Z: v[2]}.Unit().Rotate(at)
		default: // about the upright axis
			at = at.XY().Rotate(geom.Angle(v[0])).At(at.Z)
		}
	}
	p := &k.Props[k.Place]
	v := vals[p.At:]
	at.X, at.Y = at.X+v[0], at.Y+v[1]
	if p.Comps == 3 {
		at.Z += v[2]
	}
	return at
}
