package geom

import "math"

// Vec2 is a point or a direction in the plane: X to the right, Y up, angles counter-clockwise.
// A game may as well read Y as down; then angles run clockwise and nothing else changes.
type Vec2 struct{ X, Y float64 }

// Add returns v + w.
func (v Vec2) Add(w Vec2) Vec2 { return Vec2{add(v.X, w.X), add(v.Y, w.Y)} }

// Sub returns v - w: the way from w to v.
func (v Vec2) Sub(w Vec2) Vec2 { return Vec2{sub(v.X, w.X), sub(v.Y, w.Y)} }

// Mul returns v with both coordinates multiplied by s.
func (v Vec2) Mul(s float64) Vec2 { return Vec2{float64(v.X * s), float64(v.Y * s)} }

// Neg returns -v.
func (v Vec2) Neg() Vec2 { return Vec2{-float64(v.X), -float64(v.Y)} }

// Dot returns the scalar product: |v| |w| cos of the angle between them.
func (v Vec2) Dot(w Vec2) float64 { return float64(v.X*w.X) + float64(v.Y*w.Y) }

// Cross returns |v| |w| sin of the angle from v to w: positive if w lies to the left of v.
func (v Vec2) Cross(w Vec2) float64 { return float64(v.X*w.Y) - float64(v.Y*w.X) }

// Len returns the length of v, right to 1.5 ulp for every finite v whose length is finite.
func (v Vec2) Len() float64 { return Hypot(v.X, v.Y) }

// Len2 returns the square of the length of v. It overflows to +Inf for lengths above 1e154.
func (v Vec2) Len2() float64 { return float64(v.X*v.X) + float64(v.Y*v.Y) }

// Dist returns the distance between the points v and w.
func (v Vec2) Dist(w Vec2) float64 { return w.Sub(v).Len() }

// Unit returns the vector of length 1 in the direction of v. The zero vector stays zero, and an
// infinite coordinate outweighs finite ones; NaN stays NaN.
func (v Vec2) Unit() Vec2 {
	l2 := v.Len2()
	if l2 > tiny2 && l2 < huge2 {
		l := math.Sqrt(l2)
		return Vec2{v.X / l, v.Y / l}
	}
	return v.unitSlow()
}

// unitSlow serves vectors whose squared length overflows, underflows or is not a number.
func (v Vec2) unitSlow() Vec2 {
	m := max(math.Abs(v.X), math.Abs(v.Y))
	switch {
	case m == 0:
		return Vec2{}
	case math.IsInf(m, 1):
		v = Vec2{infSign(v.X), infSign(v.Y)}
	case m < 1: // powers of two only, so that scaling rounds nothing that counts
		v = v.Mul(0x1p600)
	default:
		v = v.Mul(0x1p-600)
	}
	l := math.Sqrt(v.Len2())
	return Vec2{v.X / l, v.Y / l}
}

// infSign returns a coordinate as it counts beside an infinite one.
func infSign(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.Copysign(1, x)
	}
	return 0
}

// Limit returns v, shortened to length most if it is longer. A negative or NaN most counts as 0.
func (v Vec2) Limit(most float64) Vec2 {
	if !(most > 0) {
		return Vec2{}
	}
	if v.Len() <= most {
		return v
	}
	return v.Unit().Mul(most)
}

// Toward returns v moved toward target by at most maxDelta, and target itself once it is within
// reach. A negative or NaN maxDelta counts as 0.
func (v Vec2) Toward(target Vec2, maxDelta float64) Vec2 {
	if !(maxDelta > 0) {
		return v
	}
	way := target.Sub(v)
	d := way.Len()
	if d <= maxDelta {
		return target
	}
	return v.Add(way.Mul(maxDelta / d))
}

// Lerp returns the point at share t of the way from v to w: v itself at 0, w itself at 1, and
// beyond them for t outside [0, 1].
func (v Vec2) Lerp(w Vec2, t float64) Vec2 { return Vec2{Lerp(v.X, w.X, t), Lerp(v.Y, w.Y, t)} }

// Rotate returns v turned counter-clockwise by a.
func (v Vec2) Rotate(a Angle) Vec2 {
	s, c := SinCos(float64(a))
	return Vec2{float64(v.X*c) - float64(v.Y*s), float64(v.X*s) + float64(v.Y*c)}
}

// Perp returns v turned counter-clockwise by a quarter turn, exactly.
func (v Vec2) Perp() Vec2 { return Vec2{-float64(v.Y), float64(v.X)} }

// Reflect returns v mirrored at a wall with the unit normal n, as of a ball that bounces without
// loss.
func (v Vec2) Reflect(n Vec2) Vec2 { return v.Sub(n.Mul(float64(2 * v.Dot(n)))) }

// Along returns the part of v that is parallel to a wall with the unit normal n.
func (v Vec2) Along(n Vec2) Vec2 { return v.Sub(n.Mul(v.Dot(n))) }

// Angle returns the direction of v, in (-π, π], and 0 for the zero vector.
func (v Vec2) Angle() Angle {
	a := Angle(Atan2(v.Y, v.X))
	if v.Y == 0 && v.X <= 0 { // -0 would give -π, and a zero vector with a negative zero ±π
		if v.X < 0 {
			return Pi
		}
		return 0
	}
	if a == -Pi {
		return Pi
	}
	return a
}

// Finite reports whether both coordinates are finite numbers.
func (v Vec2) Finite() bool { return finite(v.X) && finite(v.Y) }

// At returns the point at height z above v.
func (v Vec2) At(z float64) Vec3 { return Vec3{float64(v.X), float64(v.Y), float64(z)} }

// Vec3 is a point or a direction in space. X and Y span the ground as in Vec2, Z points up.
type Vec3 struct{ X, Y, Z float64 }

// Add returns v + w.
func (v Vec3) Add(w Vec3) Vec3 { return Vec3{add(v.X, w.X), add(v.Y, w.Y), add(v.Z, w.Z)} }

// Sub returns v - w: the way from w to v.
func (v Vec3) Sub(w Vec3) Vec3 { return Vec3{sub(v.X, w.X), sub(v.Y, w.Y), sub(v.Z, w.Z)} }

// Mul returns v with all coordinates multiplied by s.
func (v Vec3) Mul(s float64) Vec3 {
	return Vec3{float64(v.X * s), float64(v.Y * s), float64(v.Z * s)}
}

// Neg returns -v.
func (v Vec3) Neg() Vec3 { return Vec3{-float64(v.X), -float64(v.Y), -float64(v.Z)} }

// Dot returns the scalar product: |v| |w| cos of the angle between them.
func (v Vec3) Dot(w Vec3) float64 {
	return float64(v.X*w.X) + float64(v.Y*w.Y) + float64(v.Z*w.Z)
}

// Cross returns the vector product: at right angles to v and w, right-handed.
func (v Vec3) Cross(w Vec3) Vec3 {
	return Vec3{
		float64(v.Y*w.Z) - float64(v.Z*w.Y),
		float64(v.Z*w.X) - float64(v.X*w.Z),
		float64(v.X*w.Y) - float64(v.Y*w.X),
	}
}

// Len returns the length of v, right to 2 ulp for every finite v whose length is finite.
func (v Vec3) Len() float64 {
	l2 := v.Len2()
	if l2 > tiny2 && l2 < huge2 {
		return math.Sqrt(l2)
	}
	return Hypot(Hypot(v.X, v.Y), v.Z)
}

// Len2 returns the square of the length of v. It overflows to +Inf for lengths above 1e154.
func (v Vec3) Len2() float64 { return v.Dot(v) }

// Dist returns the distance between the points v and w.
func (v Vec3) Dist(w Vec3) float64 { return w.Sub(v).Len() }

// Unit returns the vector of length 1 in the direction of v. The zero vector stays zero, and an
// infinite coordinate outweighs finite ones; NaN stays NaN.
func (v Vec3) Unit() Vec3 {
	l2 := v.Len2()
	if l2 > tiny2 && l2 < huge2 {
		l := math.Sqrt(l2)
		return Vec3{v.X / l, v.Y / l, v.Z / l}
	}
	return v.unitSlow()
}

func (v Vec3) unitSlow() Vec3 {
	m := max(math.Abs(v.X), math.Abs(v.Y), math.Abs(v.Z))
	switch {
	case m == 0:
		return Vec3{}
	case math.IsInf(m, 1):
		v = Vec3{infSign(v.X), infSign(v.Y), infSign(v.Z)}
	case m < 1:
		v = v.Mul(0x1p600)
	default:
		v = v.Mul(0x1p-600)
	}
	l := math.Sqrt(v.Len2())
	return Vec3{v.X / l, v.Y / l, v.Z / l}
}

// Limit returns v, shortened to length most if it is longer. A negative or NaN most counts as 0.
func (v Vec3) Limit(most float64) Vec3 {
	if !(most > 0) {
		return Vec3{}
	}
	if v.Len() <= most {
		return v
	}
	return v.Unit().Mul(most)
}

// Toward returns v moved toward target by at most maxDelta, and target itself once it is within
// reach. A negative or NaN maxDelta counts as 0.
func (v Vec3) Toward(target Vec3, maxDelta float64) Vec3 {
	if !(maxDelta > 0) {
		return v
	}
	way := target.Sub(v)
	d := way.Len()
	if d <= maxDelta {
		return target
	}
	return v.Add(way.Mul(maxDelta / d))
}

// Lerp returns the point at share t of the way from v to w: v itself at 0, w itself at 1, and
// beyond them for t outside [0, 1].
func (v Vec3) Lerp(w Vec3, t float64) Vec3 {
	return Vec3{Lerp(v.X, w.X, t), Lerp(v.Y, w.Y, t), Lerp(v.Z, w.Z, t)}
}

// XY returns v as seen from above.
func (v Vec3) XY() Vec2 { return Vec2{float64(v.X), float64(v.Y)} }

// Yaw returns the direction of v on the ground, in (-π, π], and 0 if v is vertical.
func (v Vec3) Yaw() Angle { return v.XY().Angle() }

// Pitch returns the angle of v above the ground, in [-π/2, π/2], and 0 for the zero vector.
func (v Vec3) Pitch() Angle {
	if v.X == 0 && v.Y == 0 && v.Z == 0 {
		return 0
	}
	return Angle(Atan2(v.Z, Hypot(v.X, v.Y)))
}

// Finite reports whether all coordinates are finite numbers.
func (v Vec3) Finite() bool { return finite(v.X) && finite(v.Y) && finite(v.Z) }

// Direction returns the unit vector that looks along yaw on the ground and pitch above it.
func Direction(yaw, pitch Angle) Vec3 {
	sy, cy := SinCos(float64(yaw))
	sp, cp := SinCos(float64(pitch))
	return Vec3{float64(cy * cp), float64(sy * cp), sp}
}

// Lerp returns the number at share t of the way from a to b: a itself at 0, b itself at 1, and a
// itself at every t if they are equal.
func Lerp(a, b, t float64) float64 {
	if t == 1 {
		return float64(b)
	}
	return add(a, float64(sub(b, a)*t))
}

// Clamp returns the number in [lo, hi] that is nearest to x; lo if x is NaN or hi is below lo.
func Clamp(x, lo, hi float64) float64 {
	if x > hi {
		x = hi
	}
	if x >= lo {
		return x
	}
	return lo
}

func finite(x float64) bool { return sub(x, x) == 0 }

// add and sub are for functions that may be inlined with products as arguments. They round their
// arguments, so that no product is fused with the sum.
func add(a, b float64) float64 { return float64(a) + float64(b) }
func sub(a, b float64) float64 { return float64(a) - float64(b) }
