// Package body is a small rigid-body step for game rules in the plane: balls, crates, carts, doors
// and players that push each other, equal to the bit on every machine.
//
// # Use
//
// The state of things stays in the game's own entities. In each tick the rules fill a Scene from
// them by rising ID, call Step, and write places and velocities back. Nothing else is carried from
// one step to the next: no impulses, no contacts, no timers. A client that goes back to an older
// state and runs again therefore computes what the server computed, also when the state was rounded
// to the simulation's grid in between. The order of the bodies is part of the input.
//
// Bodies that do not touch do not influence each other. The next state of a body depends to the bit
// on what it touches in the step, directly or through others with mass, and on nothing else. A
// client may therefore fill its Scene only with what it knows, as long as nothing is missing from
// the groups that it computes.
//
// # What it does
//
// Bodies are circles and boxes, which may turn. Walls are rects, segments and circles that stand
// still. Contacts have friction and restitution; a row or a small stack of crates comes to rest.
// Bodies without mass are kinematic: they move as the rules say and push without being pushed. A
// body that is slower than StopSpeed is set to rest, and a body at rest that nothing touches keeps
// its state to the bit, so that nothing needs to be sent.
//
// Nothing passes through walls at any speed up to MaxSpeed, and circles do not pass through other
// bodies, unless they were hit toward them in the same step. Boxes pass through other boxes only
// when they move by more than their size in a step.
//
// Collisions never add energy. Kinematic bodies do, and pushing overlapping bodies apart lifts
// them.
//
// # What it leaves out
//
// It is a means, not a physics engine. It has no joints, ropes or motors, no polygons other than
// boxes, no bodies of several shapes, no sensors, no forces that depend on the place, no air, and
// no third dimension. High stacks are soft, since impulses of the last step are not kept. A light
// body between ones that are 20 times heavier gives way by some centimetres, and by more beyond
// that. A body that is hit gets its new velocity after contacts were found: what it would run into
// within the same step is found one step later, except for walls. A box that tips over an edge more
// slowly than StopSpeed stays where it is.
package body
