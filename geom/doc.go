// Package geom is the arithmetic of game rules: vectors, angles, shapes, rays, movement along
// walls, random numbers.
//
// # Exactness
//
// It gives the same bits on every platform, so that a browser that predicts and a server that
// decides agree. Go may fuse x*y + z into one instruction with one rounding, and does on arm64 and
// on amd64 with GOAMD64=v3, but not in WebAssembly; and the standard library computes sine, arc
// tangent, exponential and logarithm differently from machine to machine. So here each product is
// written float64(x*y), which the language forbids to fuse, functions that may be inlined round
// what they are given, and the functions that are not exact by IEEE 754 are written anew, with
// their greatest error stated in units in the last place (ulp).
//
// Rules that do arithmetic of their own must write their products the same way, and use geom's
// functions instead of math's; of those Sqrt, Floor, Abs and others that round correctly are safe.
// Products may go into geom's functions as they come: pos.Add(vel.Mul(dt)) is exact.
//
// # Any input
//
// No function panics or runs on for any input. NaN gives NaN, false or a documented safe value.
// Of a NaN only that it is one is the same everywhere: its bits, also its sign, are not. Infinite
// coordinates give what their limit would, or NaN. Coordinates up to 1e150 do not overflow, and
// those below 1e6, if metres are meant, are exact to a nanometre.
//
// # Conventions
//
// Lengths are metres and angles radians by convention only. X and Y span the ground, Z points up,
// angles turn counter-clockwise from X. Edges belong to shapes. Everything is a plain value, safe
// to use from many goroutines, except a Rand, which belongs to one.
package geom
