// Package geom is the arithmetic of game rules: vectors, angles, shapes, rays, movement along walls
// and tiles, random numbers. Package geom/body adds things that push each other.
//
// # Exactness
//
// The package gives the same bits on every platform, so that a browser that predicts and a server
// that decides agree. Two things would differ. Go may fuse x*y + z into one instruction with one
// rounding: it does so on arm64 and on amd64 with GOAMD64=v3, but not in WebAssembly. And the
// standard library computes sine, arc tangent, exponential and logarithm differently on different
// machines. So each product here is written float64(x*y), which the language forbids to fuse.
// Functions that may be inlined round their arguments. Functions that are not exact by IEEE 754 are
// written anew, with their greatest error in units in the last place (ulp).
//
// Rules with arithmetic of their own must write their products the same way. They must use geom's
// functions instead of math's, apart from Sqrt, Floor, Abs and others that round correctly.
// Products may be arguments of geom's functions as they are: pos.Add(vel.Mul(dt)) is exact.
//
// # Any input
//
// No function panics or loops forever, whatever the input. NaN gives NaN, false or a documented
// safe value; the bits of a NaN, with its sign, may differ between platforms. Infinite coordinates
// give their limit, or NaN. Coordinates up to 1e150 do not overflow. Coordinates in metres below
// 1e6 are exact to a nanometre.
//
// # Conventions
//
// Lengths are metres and angles radians by convention only. X and Y span the ground, Z points up,
// angles turn counter-clockwise from X. Edges belong to shapes. Everything is a plain value, safe
// to use from many goroutines, except a Rand, which belongs to one.
package geom
