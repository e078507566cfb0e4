package schema

import "meanwhile/geom"

// TurnOf returns how an entity is turned, from the kind's numbers as AppendDrawn and AppendExact
// make them: by its Facing, if that is an angle or a rotation. It returns the zero Quat, which is
// none, for other kinds; a view is where a player looks, and turns nothing.
func (k *Kind) TurnOf(vals []float64) geom.Quat {
	p := k.turnProp()
	switch {
	case p == nil:
		return geom.Quat{}
	case p.Rotates():
		return upQuat(vals[p.At : p.At+p.Comps])
	}
	return geom.Around(geom.Vec3{Z: 1}, geom.Angle(vals[p.At]))
}

// Turn turns an entity further by q, in the numbers that TurnOf reads. An angle follows the part of
// q about the Z axis.
func (k *Kind) Turn(vals []float64, q geom.Quat) {
	p := k.turnProp()
	if p == nil || q == (geom.Quat{}) || q == geom.One {
		return
	}
	if p.Rotates() {
		v := vals[p.At : p.At+p.Comps]
		v[0], v[1], v[2] = upright(q.Mul(upQuat(v)))
		return
	}
	by := geom.Angle(2 * geom.Atan2(q.Z, q.W))
	vals[p.At] = float64((geom.Angle(vals[p.At]) + by).Norm())
}

func (k *Kind) turnProp() *Prop {
	if k.Facing < 0 {
		return nil
	}
	if p := &k.Props[k.Facing]; p.Rotates() || p.Shape() == ShapeAngle {
		return p
	}
	return nil
}
