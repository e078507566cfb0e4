// Package compiled has rules whose machine code is compared with what the check finds. Functions
// called sound must neither be fused nor reported; all others must be reported.
package compiled

import (
	"math"

	"meanwhile/game"
	"meanwhile/geom"
)

type Cmd struct{ X, Y, Z float64 }

type Angle float64

type vec struct{ x, y float64 }

func (v vec) add(w vec) vec { return vec{v.x + w.x, v.y + w.y} }

var Game = game.Definition[Cmd]{
	Act: func(w *game.World, me game.ID, c Cmd) {
		for _, f := range all {
			f(c.X, c.Y, c.Z)
		}
		Single(1, 2, 3)
		soundGeneric(c.X, c.Y, c.Z)
		Generic(c.X, c.Y, c.Z)
		GenericHalf(c.X, c.Y)
	},
}

var all = []func(x, y, z float64) float64{
	Sum, Difference, Negated, Variable, Accumulated, Inlined, Struct, Named, Twice, Angles, Passed, Loop,
	Half, Quarters, Halved,
	soundRounded, soundVariable, soundCompared, soundDivided, soundLimited, soundRoot, soundWhole, soundAngle, soundGeom,
	soundCopied, soundDistance, soundThird, soundHalf,
}

func Sum(x, y, z float64) float64        { return x*y + z }
func Difference(x, y, z float64) float64 { return z - x*y }
func Negated(x, y, z float64) float64    { return -(x * y) + z }

func Variable(x, y, z float64) float64 {
	p := x * y
	q := p
	return q + z
}

func Accumulated(x, y, z float64) float64 {
	for range 3 {
		z += x * y
	}
	return z
}

func product(x, y float64) float64 { return x * y }

func Inlined(x, y, z float64) float64 { return product(x, y) + z }

func Struct(x, y, z float64) float64 { return vec{x * y, x}.add(vec{z, z}).x }

func Named(x, y, z float64) (v float64) {
	v = x
	v *= y
	return v - z
}

func Twice(x, y, z float64) float64 { return x*x + y*y }

func Angles(x, y, z float64) float64 { return float64(Angle(x)*Angle(y) + Angle(z)) }

func plus(a, b float64) float64 { return a + b }

func Passed(x, y, z float64) float64 { return plus(x*y, z) }

func Loop(x, y, z float64) float64 {
	p := 0.0
	for range 3 {
		z += p
		p = x * z
	}
	return z
}

func Single(x, y, z float32) float32 { return x*y + z }

func Generic[T float32 | float64](x, y, z T) T { return x*y + z }

const four = 4

func Half(x, y, z float64) float64     { return x/2 + z }
func Quarters(x, y, z float64) float64 { return y*z/-four - x/0.25 }

func Halved(x, y, z float64) float64 {
	x /= 2
	return y + x
}

func GenericHalf[T float32 | float64](x, y T) T { return y - x/2 }

func soundThird(x, y, z float64) float64 { return x/3 + y/0.1 + z/y }
func soundHalf(x, y, z float64) float64  { return float64(x/2) + z }

func soundRounded(x, y, z float64) float64 { return float64(x*y) + z }

func soundVariable(x, y, z float64) float64 {
	p := x * y
	return float64(p) + z
}

func soundCompared(x, y, z float64) float64 {
	if x*y > z {
		return x + z
	}
	return z + 1
}

func soundDivided(x, y, z float64) float64 { return x*y/3 + z }
func soundLimited(x, y, z float64) float64 { return min(x*y, 3) + max(x*z, 4) + z }

func soundRoot(x, y, z float64) float64 {
	return math.Sqrt(x*y) + math.Abs(x*y) + math.Floor(x*z) + math.Max(x*z, y) + math.Copysign(x*y, z)
}

func soundWhole(x, y, z float64) float64 { return float64(int32(max(min(x*y, 9), 0))+3) + z }

func soundAngle(x, y, z float64) float64 { return float64(Angle(x*y) + Angle(z)) }

func soundGeom(x, y, z float64) float64 {
	return geom.Vec2{X: x * y}.Add(geom.Vec2{X: z, Y: y * z}).X + z
}

func soundCopied(x, y, z float64) float64 {
	p := x * y
	if p != p {
		return z + 1
	}
	return float64(p*z) + 1
}

func far(x, limit float64) bool { return x > limit }

func soundDistance(x, y, z float64) float64 {
	if far(x*y, z) {
		return x + 1
	}
	return z
}

func soundGeneric[T float32 | float64](x, y, z T) T { return T(x*y) + z }
