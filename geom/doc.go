// Package geom is the arithmetic of game rules: vectors, angles, shapes, rays, random numbers.
//
// It gives the same bits on every platform, so that a browser that predicts and a server that
// decides agree. Go may fuse x*y + z into one instruction with one rounding, and does on arm64 and
// on amd64 with GOAMD64=v3, but not in WebAssembly; so each product here is written float64(x*y),
// which the language forbids to fuse, and the functions that the standard library computes
// differently from machine to machine (sine, arc tangent, exponential, logarithm) are written anew.
// Rules that do arithmetic of their own must write their products the same way.
//
// Values are metres, seconds and radians by convention only. No function panics or loops for any
// input: NaN gives NaN, false or a documented safe value. Of a NaN only that it is one is the same
// everywhere, not its bits. Coordinates up to 1e150 do not overflow.
package geom
