package game

import (
	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// World is what rules see, valid while a callback runs, for one goroutine.
type World engine.World

func (w *World) engine() *engine.World { return (*engine.World)(w) }

// Tick returns the tick that is being computed.
func (w *World) Tick() Tick { return w.engine().Tick() }

// Moment returns when in its tick the command was pressed, in (0, 1]; 1 also means no press. At
// 0.25 an avatar moves for a quarter of the tick.
func (w *World) Moment() float64 { return w.engine().Moment() }

// Dt returns the length of a tick in seconds.
func (w *World) Dt() float64 { return w.engine().Dt() }

// Rand returns random numbers of the world, the tick, the callback and the acting player. A cheat
// can foresee those of Act and Step.
func (w *World) Rand() *geom.Rand { return w.engine().Rand() }

// Despawn removes an entity when the callback returns; a client hides it.
func (w *World) Despawn(id ID) { w.engine().Despawn(id) }

// Cut marks a teleport in this tick, which nobody draws as a slide.
func (w *World) Cut(id ID) { w.engine().Cut(id) }

// On converts a place relative to parent into one in the world, if known.
func (w *World) On(parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.engine().On(parent, at)
}

// SeenOn is On with parents as player me saw them.
func (w *World) SeenOn(me, parent ID, at geom.Vec3) (place geom.Vec3, ok bool) {
	return w.engine().SeenOn(me, parent, at)
}

// Away reports, on the server, if me is absent or says its page is hidden.
func (w *World) Away(me ID) bool { return w.engine().Away(me) }

// ViewAge returns how many seconds older than the tick Seen is; else 0.
func (w *World) ViewAge() float64 { return w.engine().ViewAge() }

type Receipt = engine.Receipt

// Receipt is that of the command that runs. A client has but its own claim: emit it with actor 0.
func (w *World) Receipt() Receipt { return w.engine().Receipt() }

// RewindAtMost bounds how far back Seen reaches in the rest of the callback, in predictions, too; 0
// switches lag compensation off.
func (w *World) RewindAtMost(ms float64) { w.engine().RewindAtMost(ms) }
