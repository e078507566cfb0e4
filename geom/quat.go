package geom

import "math"

// Quat is a rotation in space: the unit quaternion W + Xi + Yj + Zk. A quaternion and its negative
// are the same rotation. The zero Quat, which is no rotation, counts as none: it is used as One.
type Quat struct{ W, X, Y, Z float64 }

// View is a direction of looking: Yaw counter-clockwise from the X axis, Pitch upwards, within a
// quarter turn.
type View struct{ Yaw, Pitch Angle }

// Dir returns the unit vector of the direction.
func (v View) Dir() Vec3 { return Direction(v.Yaw, v.Pitch) }

// One is the rotation that turns nothing.
var One = Quat{W: 1}

// Around returns the rotation by a about axis, counter-clockwise when axis points at the eye. The
// axis need not be a unit vector; a zero axis gives no rotation.
func Around(axis Vec3, a Angle) Quat {
	axis = axis.Unit()
	if axis == (Vec3{}) || !axis.Finite() {
		return One
	}
	s, c := SinCos(float64(float64(a) / 2))
	return Quat{c, float64(axis.X * s), float64(axis.Y * s), float64(axis.Z * s)}
}

// Unit returns q with length 1, and One for zero, infinities and NaN.
func (q Quat) Unit() Quat {
	big := max(math.Abs(q.W), math.Abs(q.X), math.Abs(q.Y), math.Abs(q.Z))
	if !(big > 0) || math.IsInf(big, 0) {
		return One
	}
	if big < 1e-100 || big > 1e100 { // its square would leave the range
		q = Quat{q.W / big, q.X / big, q.Y / big, q.Z / big}
	}
	n := math.Sqrt(add(add(float64(q.W*q.W), float64(q.X*q.X)), add(float64(q.Y*q.Y), float64(q.Z*q.Z))))
	return Quat{q.W / n, q.X / n, q.Y / n, q.Z / n}
}

// Mul returns the rotation that turns by r first and by q then.
func (q Quat) Mul(r Quat) Quat {
	q, r = q.or(), r.or()
	return Quat{
		W: sub(sub(float64(q.W*r.W), float64(q.X*r.X)), add(float64(q.Y*r.Y), float64(q.Z*r.Z))),
		X: add(add(float64(q.W*r.X), float64(q.X*r.W)), sub(float64(q.Y*r.Z), float64(q.Z*r.Y))),
		Y: add(sub(float64(q.W*r.Y), float64(q.X*r.Z)), add(float64(q.Y*r.W), float64(q.Z*r.X))),
		Z: add(add(float64(q.W*r.Z), float64(q.X*r.Y)), sub(float64(q.Z*r.W), float64(q.Y*r.X))),
	}
}

// or gives the zero Quat its meaning.
func (q Quat) or() Quat {
	if q == (Quat{}) {
		return One
	}
	return q
}

// Conj returns the opposite rotation.
func (q Quat) Conj() Quat {
	q = q.or()
	return Quat{float64(q.W), -float64(q.X), -float64(q.Y), -float64(q.Z)}
}

// Rotate returns v turned by the unit quaternion q.
func (q Quat) Rotate(v Vec3) Vec3 {
	q = q.or()
	u := Vec3{q.X, q.Y, q.Z}
	t := u.Cross(v).Mul(2)
	return v.Add(t.Mul(q.W)).Add(u.Cross(t))
}

// Spun returns q after turning for dt at the angular velocity w, in radians per second about the
// world's axes.
func (q Quat) Spun(w Vec3, dt float64) Quat {
	return Around(w, Angle(float64(w.Len()*dt))).Mul(q).Unit()
}

// Dot is the cosine of half the angle between two unit quaternions, negative where the way round is
// the long one.
func (q Quat) Dot(r Quat) float64 {
	return add(add(float64(q.W*r.W), float64(q.X*r.X)), add(float64(q.Y*r.Y), float64(q.Z*r.Z)))
}
