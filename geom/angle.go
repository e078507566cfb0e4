package geom

import "math"

// Angle is in radians, counter-clockwise from the X axis. Methods that return an Angle return it
// in (-π, π]; methods that take one take any. Plain + and - on Angles are fine if Norm follows.
type Angle float64

// Frequent angles, to be multiplied: 45 * geom.Degree.
const (
	Degree Angle = Pi / 180
	Turn   Angle = 2 * Pi
	Pi     Angle = math.Pi
)

// Norm returns the same direction in (-π, π]. Angles that are there already stay as they are to
// the bit; others are reduced by the true 2π, to 1 ulp, however many turns they hold.
// An infinite angle has no direction: it gives NaN.
func (a Angle) Norm() Angle {
	if a > -Pi && a <= Pi {
		return Angle(float64(a))
	}
	return a.norm()
}

func (a Angle) norm() Angle {
	if a == -Pi {
		return Pi
	}
	q, hi, lo := reduce(float64(a))
	switch q {
	case 1:
		hi, lo = twoSum(halfPiHi, hi, halfPiLo+lo)
	case 2:
		if hi > 0 {
			hi, lo = twoSum(-piHi, hi, lo-piLo)
		} else {
			hi, lo = twoSum(piHi, hi, lo+piLo)
		}
	case 3:
		hi, lo = twoSum(-halfPiHi, hi, lo-halfPiLo)
	}
	a = Angle(hi + lo)
	if a <= -Pi || a > Pi { // within half an ulp of the seam
		return Pi
	}
	return a
}

// Dir returns the unit vector in direction a.
func (a Angle) Dir() Vec2 {
	s, c := SinCos(float64(a))
	return Vec2{c, s}
}

// Diff returns the way from a to b, the short way round, in (-π, π].
func (a Angle) Diff(b Angle) Angle { return (b.Norm() - a.Norm()).Norm() }

// Toward returns a turned toward target, the short way round, by at most maxDelta, and target
// once it is within reach. A negative or NaN maxDelta counts as 0.
func (a Angle) Toward(target, maxDelta Angle) Angle {
	if !(maxDelta > 0) {
		return a.Norm()
	}
	maxDelta = Angle(float64(maxDelta))
	d := a.Diff(target)
	switch {
	case d > maxDelta:
		return (a.Norm() + maxDelta).Norm()
	case d < -maxDelta:
		return (a.Norm() - maxDelta).Norm()
	}
	return target.Norm()
}

// Lerp returns the direction at share t of the short way round from a to b.
func (a Angle) Lerp(b Angle, t float64) Angle {
	if t == 1 {
		return b.Norm()
	}
	return (a.Norm() + Angle(float64(float64(a.Diff(b))*t))).Norm()
}

// Degrees returns a in degrees.
func (a Angle) Degrees() float64 { return float64(float64(a) * (180 / math.Pi)) }

// Finite reports whether a is a finite number.
func (a Angle) Finite() bool { return finite(float64(a)) }
