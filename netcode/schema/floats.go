package schema

import "meanwhile/geom"

// Floats is how many numbers AppendDrawn and AppendExact give for a kind: its simulation integers.
func (k *Kind) Floats() int { return k.Sims }

// AppendDrawn appends the properties of drawn observer integers (1/SubSteps) as numbers, in order of
// properties and components: metres, metres per second, radians, integers as they are, texts in groups of four
// bytes, bytes in groups of at most four, and of a rotation X, Y and Z of the quaternion whose W is not negative. What observers do not receive is 0.
func (k *Kind) AppendDrawn(dst []float64, drawn []int64) []float64 {
	for i := range k.Props {
		q := &k.Props[i]
		if q.Class == Quat {
			rot := geom.One
			if q.ObsAt >= 0 {
				base, m := q.QuatScale()
				rot = floatQuat(drawn[q.ObsAt:q.ObsAt+3], base, m)
			}
			x, y, z := upright(rot)
			dst = append(dst, x, y, z)
			continue
		}
		for c := range q.Comps {
			v := 0.0
			if q.ObsAt >= 0 {
				switch d := drawn[q.ObsAt+c]; {
				case q.Turn > 0:
					v = turnToAngle(d, q.Turn*SubSteps)
				case q.Class == Tick || q.Class == Handle || q.Class == Text || q.Class == Bytes:
					v = float64(uint32(d >> 8))
				case q.Class.graded() || q.Class == Stick:
					v = float64(d) / float64(q.Obs*SubSteps)
				default:
					v = float64(d >> 8)
				}
			}
			dst = append(dst, v)
		}
	}
	return dst
}

// AppendExact does the same for simulation integers, u/65536 of the way from a to b: places, velocities and
// angles in between, all else as in b. a may be nil.
func (k *Kind) AppendExact(dst []float64, a, b []int64, u int64) []float64 {
	for i := range k.Props {
		q := &k.Props[i]
		if q.Class == Quat && q.Audience != Server {
			base, m := quatScale(q.Sim, 1)
			rot := floatQuat(b[q.At:], base, m)
			if a != nil && u < 65536 {
				rot = nlerp(floatQuat(a[q.At:], base, m), rot, float64(u)/65536)
			}
			x, y, z := upright(rot)
			dst = append(dst, x, y, z)
			continue
		}
		for c := q.At; c < q.At+q.Comps; c++ {
			from, to := b[c], b[c]
			if a != nil {
				from = a[c]
			}
			part := float64(u) / 65536
			switch {
			case q.Audience == Server:
				dst = append(dst, 0)
			case q.SimTurn > 0:
				d := wrap(to-from, q.SimTurn)
				if 2*d > q.SimTurn {
					d -= q.SimTurn
				}
				dst = append(dst, float64((float64(from)+float64(float64(d)*part))/q.Sim*twoPi))
				if v := &dst[len(dst)-1]; *v > twoPi/2 {
					*v -= twoPi
				}
			case q.Class.graded():
				dst = append(dst, (float64(from)+float64(float64(to-from)*part))/q.Sim)
			case q.Class == Stick:
				dst = append(dst, float64(to)/q.Sim)
			default:
				dst = append(dst, float64(to))
			}
		}
	}
	return dst
}

// nlerp goes from a to b, the short way round.
func nlerp(a, b geom.Quat, u float64) geom.Quat {
	if a.Dot(b) < 0 {
		b = geom.Quat{W: -b.W, X: -b.X, Y: -b.Y, Z: -b.Z}
	}
	return geom.Quat{W: geom.Lerp(a.W, b.W, u), X: geom.Lerp(a.X, b.X, u), Y: geom.Lerp(a.Y, b.Y, u), Z: geom.Lerp(a.Z, b.Z, u)}.Unit()
}
