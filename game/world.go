package game

import (
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// World is what rules see: on the server everything, in a client what it knows. It is not safe for
// concurrent use, and only valid inside the callback that it was passed to.
type World engine.World

func (w *World) engine() *engine.World { return (*engine.World)(w) }

// Tick returns the tick that is being computed.
func (w *World) Tick() Tick { return w.engine().Tick() }

// Dt returns the length of a tick in seconds.
func (w *World) Dt() float64 { return w.engine().Dt() }

// Rand returns random numbers that depend on the world, the tick and who acts, and on nothing else: a
// prediction draws what the server draws. In Act and Step clients know the seed, so a cheat can foresee
// them; those of Join and Referee stay on the server.
func (w *World) Rand() *geom.Rand { return w.engine().Rand() }

// Despawn removes an entity when the callback returns. In a client's prediction it hides what the server
// has not removed yet, and shows it again if the server does not agree.
func (w *World) Despawn(id ID) { w.engine().Despawn(id) }

// Cut marks that an entity was moved by teleport in this tick: nobody draws it as a slide.
func (w *World) Cut(id ID) { w.engine().Cut(id) }

// On takes a place that is relative to parent, which the word parent in a tag names, into the world: turned as the parent is and moved to where
// it is, and so on if that is relative to another. A parent of 0 is the world itself. ok is false if a parent is not there or, in a client, not
// known; a client that does not predict it knows its newest record.
//
// A game in the plane adds and drops the height:
//
//	at, ok := w.On(r.On, r.Pos.At(0)) // at.XY()
func (w *World) On(parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.engine().On(parent, at)
}

// SeenOn does the same for a place that Seen gave: it is where player me saw it, as its parents were drawn at the same moment, one of them
// being me itself as it is now.
//
//	for id, o := range Riders.Seen(w, me) {
//		if at, ok := w.SeenOn(me, o.On, o.Pos); ok && ray.Hits(at) {
func (w *World) SeenOn(me, parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.engine().SeenOn(me, parent, at)
}
